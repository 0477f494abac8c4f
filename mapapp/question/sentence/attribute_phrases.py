"""Phrases of attributes and their values: `by sex and education`, `without a bachelor's degree`."""

from __future__ import annotations

import re
from typing import Final

from mapapp.question.fields import MAX_NAMES
from mapapp.question.filters import CHARACTERISTICS
from mapapp.question.sentence.gazetteer import Gazetteer
from mapapp.question.sentence.meanings import By, Item, Values
from mapapp.question.sentence.text import Sentence

_LEAD: Final = re.compile(
    r"(?:in (?:the )?|by |for |(?:in |at |of )?(?:firms?|compan(?:y|ies)|employers?|businesses) (?:with|of) )"
)
_NOT: Final = re.compile(
    r"(?:but )?(?:not|non|without|no|except(?: for)?|excluding|other than|who (?:are|is) not|do not have|leaving out)"
    r" (?:in )?(?:an? |any |the )?"
)
_INDUSTRY: Final = re.compile(r" (?:industry|industries|sectors?)(?!\S)")
_BY: Final = re.compile(
    r"(?:(?:broken down |split |divided |grouped )?by|per|across|for each|according to) (?:their |the )?"
)
_WHICH: Final = re.compile(r"(?:in )?(?:which|what)(?: kinds? of)? ")
_JOINT: Final = re.compile(
    r"(?: ,)?(?: and| by| x| versus| vs| against| plus| or| with)?(?: by)? (?:their |the )?"
)


def value_at(sentence: Sentence, gazetteer: Gazetteer, first: int) -> Item | None:
    """Return the values of an attribute that start at a word, with `in` before and `industry` behind them."""
    item = _value(sentence, gazetteer, first)
    not_ = _NOT.match(sentence.joined, sentence.starts[first])
    if not_ is None:
        return item
    start = _word_at(sentence, not_.end())
    inside = _value(sentence, gazetteer, start) if start is not None else None
    if (
        inside is None
        or not isinstance(inside.meaning, Values)
        or (item is not None and item.last >= inside.last)
    ):
        return item
    others = gazetteer.labels.exclude(inside.meaning)
    return None if others is None else Item(first, inside.last, others)


def _value(sentence: Sentence, gazetteer: Gazetteer, first: int) -> Item | None:
    words = [word.text for word in sentence.words]
    lead = _LEAD.match(sentence.joined, sentence.starts[first])
    starts = [first]
    if lead and (start := _word_at(sentence, lead.end())) is not None:
        starts.append(start)
    best: Item | None = None
    for start in starts:
        named = gazetteer.labels.value_at(words, sentence.joined, start, sentence.starts[start])
        if named is None:
            continue
        last = start + named[1]
        if start > first and _is_place(sentence, gazetteer, words, start, last):
            continue  # "in White" is in the town, if there is one
        end = sentence.starts[last - 1] + len(words[last - 1])
        behind = _INDUSTRY.match(sentence.joined, end)
        last += len(behind[0].split()) if behind else 0
        if best is None or last > best.last:
            best = Item(first, last, named[0])
    return best


def _is_place(sentence: Sentence, gazetteer: Gazetteer, words: list[str], start: int, last: int) -> bool:
    place = gazetteer.place_at(words, start, sentence.codes)
    return place is not None and start + place[1] >= last


def by_at(sentence: Sentence, gazetteer: Gazetteer, first: int) -> Item | None:
    """Return the attributes that start at a word and that workers are counted by.

    A list has a further attribute, or the sentence asks for a cross table. Otherwise it is left to the phrases that
    every publication understands.
    """
    labels = gazetteer.labels
    words = [word.text for word in sentence.words]
    position = sentence.starts[first]
    lead = _BY.match(sentence.joined, position)
    which = _WHICH.match(sentence.joined, position)
    opening = lead or which
    start = _word_at(sentence, opening.end()) if opening else first
    names: list[str] = []
    notes: list[str] = []
    last = first
    while start is not None and len(names) < MAX_NAMES:
        named = labels.attribute_at(words, start)
        if (
            named is None
            or named[0] in names
            or (names and _begins_value(sentence, gazetteer, start, named[1]))
        ):
            break
        names.append(named[0])
        notes += [named[2]] if named[2] else []
        last = start + named[1]
        joint = _JOINT.match(sentence.joined, sentence.starts[last - 1] + len(words[last - 1]))
        start = _word_at(sentence, joint.end()) if joint else None
    if not names or (
        all(name in CHARACTERISTICS for name in names) and "cross" not in sentence.joined.split()
    ):
        return None
    return Item(first, last, By(tuple(names), which is not None and lead is None, " ".join(notes)))


def _begins_value(sentence: Sentence, gazetteer: Gazetteer, start: int, n_words: int) -> bool:
    """Return whether words behind a list name a value instead: `by sex in education services`."""
    item = value_at(sentence, gazetteer, start)
    return item is not None and item.last > start + n_words


def _word_at(sentence: Sentence, position: int) -> int | None:
    """Return the word that starts at a position of `Sentence.joined`; None without one."""
    return sentence.starts.index(position) if position in sentence.starts else None


def merge_values(values: list[Values]) -> dict[str, tuple[str, ...]]:
    """Return the codes that several values of the same attributes include, by attribute."""
    by_attribute: dict[str, dict[str, None]] = {}
    for meaning in values:
        by_attribute.setdefault(meaning.attribute, {}).update(dict.fromkeys(meaning.codes))
    return {name: tuple(codes) for name, codes in by_attribute.items()}
