"""What readers are told in place of American words, by role, where a publication is of zones of any country.

Every sentence, label, and heading is written for census blocks, counties, workers, and jobs. In a publication of zones
they are put into other words here, at once for all of them: a zone takes the place of blocks, tracts, and counties, and
the unit of count, such as commuters or pupils, that of workers and jobs. Names of places are not changed: they are
capitalized, and only words in lower case, or at the beginning of a text, are.

Texts of other publications are returned as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from geodata.store.zones import ZONES

__all__ = ["Nouns", "nouns_of", "reader_text"]


class Nouns(NamedTuple):
    """What is counted: `commuter` and `commuters`."""

    one: str
    many: str


PHRASES: Final = (
    (
        r" Some employers report all jobs at a head office, so people who live far away may work elsewhere\.",
        "",
    ),
    (r", in [\d,]+ other states?, listed", ", listed"),
    (r"(in|from) (?:\d+ )?states? beyond the mapped area", r"\1 elsewhere"),
    (r"\d+ states? beyond the mapped area", "elsewhere"),
    (r"known by state only", "known as elsewhere only"),
    (r"[Tt]heir distance is measured from the middle of the state", "Their distance means nothing"),
    (r"counts as the middle of its state", "counts as a point outside the area"),
    (r"[Nn]ear state borders", "Near the edge of the area"),
    (r"in other states", "elsewhere"),
    (r" and states where they live", " where they live"),
    (r"Other states\b", "Elsewhere"),
    (r"the states of work", "the area"),
    (r"Place, ZIP code, or question", "Place or question"),
    (r"Nothing has that name, ZIP code, or question", "Nothing has that name or question"),
    (r"kind of worker", "destination"),
    (r"Jobs per resident worker", "{Many} arriving per resident {one}"),
    (r"^jobs( per resident)?$", r"{many} arriving\1"),
    (r"jobs for each resident worker", "arriving {many} for each resident {one}"),
    (r"Jobs by industry, education, and more", "{Many} by class"),
    (r"Which sectors, and who holds the jobs\?", "Published classes, if there are any"),
)
"""Phrases that have no counterpart word for word, and what is said instead: of one or many of what is counted."""
PLACES: Final = (
    (r"census blocks|census tracts|blocks|tracts|counties", "zones"),
    (r"census block|census tract|block|tract|county", "zone"),
    (r"SuperPUMAs|PUMAs", "groups"),
    (r"SuperPUMA|PUMA", "group"),
)
"""Words for places, and the role that zones and groups of zones have in their place."""
COUNTED: Final = ((r"workers|jobs", "many"), (r"worker|job", "one"))
"""Words for what is counted, and the form of the unit of count."""

_START: Final = r"(?:(?<=^)|(?<=[.:·(] ))"
_VOWELS: Final = "aeiou"


def nouns_of(facts: Mapping[str, object]) -> Nouns | None:
    """Return what a publication counts, from the facts of its manifest; None if it is not of zones."""
    stated = facts.get(ZONES)
    if not isinstance(stated, Mapping):
        return None
    count = stated.get("count")
    if not isinstance(count, list) or len(count) != 2:
        return Nouns("commuter", "commuters")
    return Nouns(str(count[0]), str(count[1]))


def reader_text(text: str, nouns: Nouns | None) -> str:
    """Return a text in the words of a publication; as it is without nouns."""
    if nouns is None or not text:
        return text
    for pattern, words in _rules(nouns):
        text = pattern.sub(words, text)
    return text


@lru_cache(maxsize=64)
def _rules(nouns: Nouns) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns in order and what replaces each: phrases, places, and then what is counted, small and capital."""
    many = nouns.many[0].upper() + nouns.many[1:]
    rules = [
        (
            re.compile(pattern),
            words.replace("{one}", nouns.one).replace("{many}", nouns.many).replace("{Many}", many),
        )
        for pattern, words in PHRASES
    ]
    words = [*PLACES, *((pattern, getattr(nouns, form)) for pattern, form in COUNTED)]
    for pattern, noun in words:
        capital = "|".join(word[0].upper() + word[1:] for word in pattern.split("|"))
        rules.append((re.compile(rf"\b(?:{pattern})\b"), noun.replace("\\", "")))
        rules.append((re.compile(rf"{_START}(?:{capital})\b"), noun[0].upper() + noun[1:]))
    if nouns.one[0].lower() in _VOWELS:
        rules.append((re.compile(rf"\b([Aa]) (?={re.escape(nouns.one)}\b)"), r"\1n "))
    return tuple(rules)
