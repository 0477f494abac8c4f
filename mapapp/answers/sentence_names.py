"""The names of a release's areas and layers, as `mapapp.question.sentence` looks them up.

Names are found in an index by their words, so that reading a sentence costs little however many areas a release has.
Which of several areas with one name is meant follows the same rules as for names on the command line (`Areas.find`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Final, Protocol

from geodata.elsewhere import states
from mapapp.answers.area import Area
from mapapp.answers.areas import LEVEL_LABELS, level_named
from mapapp.answers.unit_names import base_name, name_parts, unplaced_name
from mapapp.errors import UsageError
from mapapp.question.sentence.meanings import Place
from mapapp.question.sentence.text import folded_words

Words = tuple[str, ...]

_NOT_NAMED: Final = ("bgrp", "block")
"""Layers whose names are only numbers."""
_CENTERS: Final = ("downtown", "central", "midtown", "uptown")
_GUESSED: Final = ("stplc", "ctycsub", "county", "cbsa", "mil")
"""Layers whose names people misspell; names of the others are numbers or long."""
_LIKE: Final = 0.8
_LEAST_LETTERS: Final = 4
_COMMON: Final = {
    "municipality": ("ctycsub", "stplc", "county"),
    "community": ("ctycsub", "stplc", "county"),
    "town": ("ctycsub", "stplc"),
    "city": ("stplc", "ctycsub"),
    "village": ("stplc", "ctycsub"),
    "city or town": ("ctycsub", "stplc"),
    "city and town": ("ctycsub", "stplc"),
    "town and city": ("ctycsub", "stplc"),
    "zip": ("zcta",),
    "neighborhood": ("tract", "bgrp"),
    "neighbourhood": ("tract", "bgrp"),
}
"""Everyday words for layers, and what they mean where a release has it."""
_LAYER_WORDS: Final = 4
_ALSO_WORDS: Final = frozenset(
    {("in",), ("or",), ("me",), ("hi",), ("ok",), ("oh",), ("la",), ("de",), ("al",), ("as",)}
)
"""Postal codes of states that are also words."""
_PEOPLE: Final = ("ers", "er", "ians", "ian", "ans", "an", "s")
"""Endings of the names of the people of a place: Rhode Islanders."""
_RIVALS: Final = 3


class NamedAreas(Protocol):
    """What is needed of the areas of a release (:class:`mapapp.answers.areas.Areas`)."""

    def named(self) -> Iterable[Area]:
        """Every area that has a name."""

    def has_jobs(self, area: Area) -> bool:
        """Whether the release has jobs in an area."""

    def has_units(self, level: str) -> bool:
        """Whether the release has units of a layer."""

    def find(self, text: str) -> str:
        """The key of the area that a name means; UsageError if that is not clear."""


class SentenceNames:
    """The names of one release; safe to use from several threads.

    Parameters
    ----------
    areas : NamedAreas
    """

    def __init__(self, areas: NamedAreas) -> None:
        self._areas = areas
        self._lock = Lock()
        self._index: dict[Words, list[Area]] | None = None
        self._most_words = 0
        self._by_letter: dict[str, list[str]] = {}
        self._states = _state_words()

    def place_at(self, words: Sequence[str], first: int) -> tuple[Place, int] | None:
        """Return the area with the longest name that starts at a word, and the number of words of its name.

        A comma within a name and a state behind it count as parts of the name: `Newport, Rhode Island`.
        """
        if words[first] == ",":
            return None
        if words[first] in _CENTERS:
            return self._center(words, first)
        index = self._names()
        found: tuple[list[Area], int] | None = None
        for name, count in _runs(words, first, self._most_words):
            if name in index:
                found = (index[name], count)
        if found is None:
            return None
        named, count = found
        in_state, more = self._in_state(named, words, first + count)
        return self._place(in_state or named, words[first : first + count]), count + (more if in_state else 0)

    def place_like(self, words: Sequence[str]) -> Place | None:
        """Return the area whose name all the words almost spell."""
        text = " ".join(words)
        if sum(character.isalpha() for character in text) < _LEAST_LETTERS:
            return None
        index = self._names()
        for ending in _PEOPLE:
            place = (*words[:-1], words[-1].removesuffix(ending))
            if place != tuple(words) and place in index:
                return self._place(index[place], place)
        known = [
            name
            for name in self._by_letter.get(text[0], [])
            if abs(len(name) - len(text)) <= 2 and name.count(" ") == len(words) - 1
        ]
        near = difflib.get_close_matches(text, known, n=1, cutoff=_LIKE)
        return self._place(index[tuple(near[0].split())], near[0].split()) if near else None

    def layer_at(self, words: Sequence[str], first: int) -> tuple[str, int, bool] | None:
        """Return the layer named at a word, the number of words of its name, and whether that is a plural."""
        for count in range(min(_LAYER_WORDS, len(words) - first), 0, -1):
            text = " ".join(words[first : first + count])
            if not text.replace(" ", "").isalpha():
                continue
            level = self._level(text)
            if level is not None:
                return level, count, text.endswith("s") and text != "census"
        return None

    def layer_name(self, level: str) -> str:
        """Return the name of a layer for readers, in lower case."""
        label = LEVEL_LABELS.get(level, level)
        return label if label[:2].isupper() else label[0].lower() + label[1:]

    def _level(self, text: str) -> str | None:
        """Return the layer that words name, if this release has it."""
        singular = f"{text[:-3]}y" if text.endswith("ies") else text.removesuffix("s")
        for each in (text, singular):
            for level in _COMMON.get(each.replace("ies ", "y ").replace("towns", "town"), ()):
                if self._areas.has_units(level):
                    return level
        level = level_named(text)
        known = level in LEVEL_LABELS and len(text) > 3 and self._areas.has_units(level)
        return level if known else None

    def _names(self) -> dict[Words, list[Area]]:
        with self._lock:
            if self._index is None:
                index: dict[Words, list[Area]] = {}
                self._index = index
                for area in self._areas.named():
                    if area.level not in _NOT_NAMED:
                        for name in _spellings(area.names[0]):
                            index.setdefault(name, []).append(area)
                there = {area.unit_id: area for area in self._areas.named() if area.level == "state"}
                for postal, state_id in self._states.items():
                    if len(postal) == 1 and postal not in _ALSO_WORDS and state_id in there:
                        index.setdefault(postal, [there[state_id]])
                self._most_words = max(map(len, index), default=0)
                for name, areas in index.items():
                    if any(area.level in _GUESSED for area in areas) and name[0][:1].isalpha():
                        self._by_letter.setdefault(name[0][0], []).append(" ".join(name))
            return self._index

    def _center(self, words: Sequence[str], first: int) -> tuple[Place, int] | None:
        """Return the center of a city, or the whole city with a note if the release does not have its center."""
        index = self._names()
        for name, count in _runs(words, first, self._most_words):
            if name in index:
                return self._place(index[name], words[first : first + count]), count
        whole = self.place_at(words, first + 1) if first + 1 < len(words) else None
        if whole is None:
            return None
        place, count = whole
        note = f"“{words[first].capitalize()}” is not an area of this release; all of {place.name} is used."
        return Place(place.step, place.name, f"{note} {place.note}".strip()), count + 1

    def _in_state(self, areas: Sequence[Area], words: Sequence[str], after: int) -> tuple[list[Area], int]:
        """Return the areas in the state that is named behind them, and the number of its words."""
        for name, count in _runs(words, after, 4):
            state_id = self._states.get(name)
            if state_id is None or name in _ALSO_WORDS:
                continue
            found = [area for area in areas if area.unit_id.startswith(state_id) and area.level != "zcta"]
            if found:
                return found, count
        return [], 0

    def _place(self, areas: Sequence[Area], words: Sequence[str]) -> Place:
        """Return the area that people mean by a name that several may have."""
        keys = {area.key: area for area in areas}
        if len(keys) == 1:
            return Place(areas[0].key, areas[0].name)
        try:
            meant = keys.get(self._areas.find(" ".join(words)))
        except UsageError:
            meant = None
        first, *others = sorted(keys.values(), key=lambda area: (*self._rank(area), area != meant, area.name))
        rivals = [area for area in others if _is_rival(area, first)]
        if not rivals:
            return Place(first.key, first.name)
        listed = "; ".join(area.name for area in rivals[:_RIVALS])
        more = f", or {len(rivals) - _RIVALS} more" if len(rivals) > _RIVALS else ""
        said = " ".join(words).title()
        return Place(first.key, first.name, f"“{said}” could also be {listed}{more}; {first.name} is used.")

    def _rank(self, area: Area) -> tuple[bool, int]:
        """Areas with jobs come first, then the layer that people most likely mean."""
        order = [*_GUESSED, *LEVEL_LABELS]
        return not self._areas.has_jobs(area), order.index(area.level) if area.level in order else len(order)


def _is_rival(area: Area, first: Area) -> bool:
    """Return whether people could mean another area: one of the same layer, or a place or county elsewhere."""
    return area.level == first.level or (area.level in _GUESSED and area.unit_id[:2] != first.unit_id[:2])


def example_place(areas: NamedAreas) -> str:
    """Return the short name of an area with jobs, for an example."""
    for level in ("ctycsub", "stplc", "county", "state"):
        if areas.has_units(level):
            named = (area for area in areas.named() if area.level == level and areas.has_jobs(area))
            first = min(named, key=lambda area: area.unit_id, default=None)
            if first is not None:
                return base_name(first.name)
    return "Newport"


def _runs(words: Sequence[str], first: int, most: int) -> Iterator[tuple[Words, int]]:
    """Yield the first word, the first two and so on, without commas, and the number of words they take up."""
    name: list[str] = []
    for position in range(first, len(words)):
        if words[position] == ",":
            continue
        name.append(words[position])
        if len(name) > most:
            return
        yield tuple(name), position + 1 - first


def _spellings(name: str) -> set[Words]:
    """Return the words by which people call an area: its whole name, and shorter forms."""
    own, place = name_parts(name)
    plain, base = unplaced_name(name), base_name(name)
    forms = {name, own, plain, base}
    if place:
        forms |= {f"{each} {where}" for each in (plain, base) for where in (place, name_parts(place)[0])}
    return {words for words in map(folded_words, forms) if words}


def _state_words() -> dict[Words, str]:
    """Return the FIPS code of each state by the words of its name and by its postal code."""
    found: dict[Words, str] = {}
    for state_id, state in states().items():
        found[folded_words(state.name)] = state_id
        found[(state.postal.lower(),)] = state_id
    return found
