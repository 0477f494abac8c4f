"""The names of a publication's areas, layers, and attributes, as `mapapp.question.sentence` looks them up.

Areas and landmarks are found in the index of the search box (`mapapp.answers.areas.areas`), so that a name means the
same in a sentence, in the box, and on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from mapapp.answers.areas.area import Area
from mapapp.answers.areas.areas import AreaNames
from mapapp.answers.areas.levels import LANDMARK, LEVEL_LABELS, level_label, level_named
from mapapp.answers.areas.search import CENTERS, LEAST_LETTERS, STATE_IDS, landmark_name, runs, state_of
from mapapp.answers.areas.unit_names import base_name
from mapapp.answers.commutes.attributes import Attributes
from mapapp.question.sentence.labels import Labels
from mapapp.question.sentence.meanings import Place

_RIVAL_LAYERS: Final = ("stplc", "ctycsub", "county", "cbsa", "mil")
"""Layers whose areas can be taken for an area of another state with the same name."""
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
_ALSO_WORDS: Final = ("in", "or", "me", "hi", "ok", "oh", "la", "de", "al", "as")
"""Postal codes of states that are also words."""
_PEOPLE: Final = ("ers", "er", "ians", "ian", "ans", "an", "s")
"""Endings of the names of the people of a place: Rhode Islanders."""
_RIVALS: Final = 3
_STATE_WORDS: Final = 4
_SHOWN: Final = 3


class NamedAreas(Protocol):
    """What is needed of the areas of a release (:class:`mapapp.answers.areas.areas.Areas`)."""

    @property
    def names(self) -> AreaNames:
        """The index of areas and landmarks by name."""

    def has_units(self, level: str) -> bool:
        """Whether the release has units of a layer."""


class SentenceNames:
    """The names of one publication; safe to use from several threads.

    Parameters
    ----------
    areas : NamedAreas
    attributes : Attributes, optional
        By default those that every publication has.
    has_published_counts : bool
        Whether it has published counts of jobs by class.
    core : callable
        The core of an area, called by one of `CENTERS`; None if it has none, as by default.
    """

    def __init__(
        self,
        areas: NamedAreas,
        attributes: Attributes | None = None,
        *,
        has_published_counts: bool = False,
        core: Callable[[Area, str], Place | None] = lambda _area, _word: None,
    ) -> None:
        self.has_published_counts = has_published_counts
        self._areas = areas
        self._core = core
        known = Attributes() if attributes is None else attributes
        self.labels = Labels(known)
        self.here = "these records" if known.further else "this release"

    def place_at(
        self, words: Sequence[str], first: int, codes: Collection[int] = ()
    ) -> tuple[Place, int] | None:
        """Return the area with the longest name that starts at a word, and the number of words of its name.

        A comma within a name and a state behind it count as parts of the name: `Newport, Rhode Island`. The code of a
        state that is also a word, such as `OR`, counts only behind a name: where it is written in capitals (`codes` are
        the positions of such words), or at the end of the sentence.
        """
        if words[first] == ",":
            return None
        named, count = self._longest_at(words, first, codes)
        if words[first] in CENTERS and count < 2:
            return self._center(words, first, codes)
        if not named or (count == 1 and words[first] in _ALSO_WORDS):
            return None
        in_state, more = self._in_state(named, words, first + count, codes)
        return _place(in_state or named, words[first : first + count]), count + more

    def place_like(self, words: Sequence[str]) -> Place | None:
        """Return the area whose name all the words almost spell."""
        if sum(character.isalpha() for character in " ".join(words)) < LEAST_LETTERS:
            return None
        names = self._areas.names
        for ending in _PEOPLE:
            place = (*words[:-1], words[-1].removesuffix(ending))
            if place != tuple(words) and (named := names.named(place)):
                return _place(named, place)
        # Almost any single word is like the name of some landmark.
        near = [area for area in names.spelled_like(words) if len(words) > 1 or area.level != LANDMARK]
        return _place(near, words) if near else None

    def nearest_names(self, text: str) -> list[str]:
        """Return a few names of areas that have all words of an unknown name, most likely first."""
        areas, _ = self._areas.names.search(text, _SHOWN)
        return list(dict.fromkeys(_shown_name(area) for area in areas))

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
        label = level_label(level)
        return label if label[:2].isupper() else label[0].lower() + label[1:]

    def _level(self, text: str) -> str | None:
        """Return the layer that words name, if this release has it."""
        singular = f"{text[:-3]}y" if text.endswith("ies") else text.removesuffix("s")
        for name in (text, singular):
            for level in _COMMON.get(name.replace("ies ", "y ").replace("towns", "town"), ()):
                if self._areas.has_units(level):
                    return level
        level = level_named(text)
        known = level in LEVEL_LABELS and len(text) > 3 and self._areas.has_units(level)
        return level if known else None

    def _longest_at(self, words: Sequence[str], first: int, codes: Collection[int]) -> tuple[list[Area], int]:
        """Return the areas with the longest name at a word: `Salem`, not `Salem or`, unless Oregon is meant."""
        names = self._areas.names
        named, count = names.longest_at(words, first)
        last = first + count - 1
        if count > 1 and _is_word(words, last, codes):
            shorter = names.longest_at(words[:last], first)
            return shorter if shorter[0] else (named, count)
        return named, count

    def _center(self, words: Sequence[str], first: int, codes: Collection[int]) -> tuple[Place, int] | None:
        """Return the core of a city, or the whole city with a note if it has none."""
        whole = self.place_at(words, first + 1, codes) if first + 1 < len(words) else None
        if whole is None:
            return None
        place, count = whole
        area = self._areas.names.with_key(place.step)
        core = None if area is None else self._core(area, words[first].capitalize())
        if core is not None:
            return Place(core.step, core.name, f"{core.note} {place.note}".strip()), count + 1
        note = f"“{words[first].capitalize()}” is not an area of this release; all of {place.name} is used."
        return Place(place.step, place.name, f"{note} {place.note}".strip()), count + 1

    def _in_state(
        self, areas: Sequence[Area], words: Sequence[str], after: int, codes: Collection[int]
    ) -> tuple[list[Area], int]:
        """Return the areas in the state that is named behind them, and the number of its words."""
        start = after + (words[after : after + 1] == ["in"])  # "Newport in Rhode Island"
        for name, count in runs(words, start, _STATE_WORDS):
            state_id = STATE_IDS.get(name)
            last = start + count - 1
            if state_id is None or _is_word(words, last, codes):
                continue
            in_state = [area for area in areas if state_of(area) == state_id]
            if in_state:
                return in_state, last + 1 - after
        return [], 0


def _place(areas: Sequence[Area], words: Sequence[str]) -> Place:
    """Return the first of several areas with one name, and a note on the others."""
    first, *others = {area.key: area for area in areas}.values()
    name = _shown_name(first)
    rivals = [area for area in others if _is_rival(area, first)]
    if not rivals:
        return Place(first.key, name)
    listed = "; ".join(area.name for area in rivals[:_RIVALS])
    more = f", or {len(rivals) - _RIVALS} more" if len(rivals) > _RIVALS else ""
    said = " ".join(words).title()
    return Place(first.key, name, f"“{said}” could also be {listed}{more}; {first.name} is used.")


def _shown_name(area: Area) -> str:
    return landmark_name(area) if area.level == LANDMARK else area.name


def _is_word(words: Sequence[str], position: int, codes: Collection[int]) -> bool:
    """Return whether a word that could be the code of a state is more likely a word: neither in capitals nor last."""
    return words[position] in _ALSO_WORDS and position not in codes and position + 1 < len(words)


def _is_rival(area: Area, first: Area) -> bool:
    """Return whether people could mean another area: one of the same layer, or a place or county elsewhere."""
    return area.level == first.level or (
        area.level in _RIVAL_LAYERS and area.unit_id[:2] != first.unit_id[:2]
    )


def why_not_understood(areas: NamedAreas) -> str:
    """Return what to tell somebody of whose sentence nothing was understood, with examples that are."""
    place = example_place(areas)
    return (
        f"nothing in this sentence names a place or asks for something; ask, for example, "
        f'"Where do workers of {place} live?" or "How far do residents of {place} commute?"'
    )


def example_place(areas: NamedAreas) -> str:
    """Return the short name of an area with jobs, for an example."""
    return base_name(areas.names.areas[0].name)
