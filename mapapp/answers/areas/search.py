"""Find areas and landmarks by what people type: words in any order, short forms, states, and small typing errors.

Every word typed must begin a word of the name. Words are compared without case, accents and punctuation, and with short
forms written out (`St.`, `Mt`, `N`). The state's name and postal code count as words of every area in it. The index
holds, for each known word in alphabetical order, the areas that have it, so that the areas of all words with one
beginning are one slice. Looking something up therefore reads only slices, however many areas a release has.

Sentences look up whole names in the same index: the longest name that starts at a word, or one that is spelled alike.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.geography.elsewhere import states
from geodata.store.store import Store
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.levels import LANDMARK, NAMED
from mapapp.answers.areas.unit_names import spellings
from mapapp.answers.areas.units import ReleaseUnits
from mapapp.question.area_text import MAX_LABEL, Circle, Step
from mapapp.question.sentence.text import folded_words

MAX_WORDS: Final = 8
MAX_LETTERS: Final = 200
_SPELLED: Final = {
    "saint": "st",
    "sainte": "ste",
    "mount": "mt",
    "mountain": "mtn",
    "fort": "ft",
    "point": "pt",
    "heights": "hts",
    "township": "twp",
    "university": "univ",
    "north": "n",
    "south": "s",
    "east": "e",
    "west": "w",
}
"""Short forms: a name that has one of the two can be found by the other."""
_WRITTEN_OUT: Final = {short: word for word, short in _SPELLED.items()}
CENTERS: Final = ("downtown", "central", "midtown", "uptown")
"""Words for the center of a city, which few releases have as an area of its own."""
_LEFT_OUT: Final = (
    *("the", "of", "in", "at", "near", "and", "city", "town", "county", "state", "usa"),
    *(*CENTERS, "area", "zip", "code"),
)
"""Words that may be missing from a name; they are dropped if nothing has all the words."""
LEAST_LETTERS: Final = 4
"""A shorter word is not corrected."""
_LIKE: Final = 0.75
_LIKE_WHOLE: Final = 0.8
_MOST_CHANGED: Final = 2
_LAST: Final = "\uffff"
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that can be found.

    Attributes
    ----------
    name : str
        Name that is searched.
    code : str
        Identifier, which can be searched as well.
    state_id : str
        FIPS code of its state; empty if it is in no single state.
    is_guessed : bool
        Whether a misspelled word may be taken for a word of this name.
    other_name : str
        Another whole name, such as the postal code of a state; its words are not searched by themselves.
    """

    name: str
    code: str = ""
    state_id: str = ""
    is_guessed: bool = False
    other_name: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes
    ----------
    rows : tuple of int
        Positions of the entries, best first.
    is_guess : bool
        Whether words were corrected or dropped, so that the reader should be asked.
    """

    rows: tuple[int, ...]
    is_guess: bool = False


class AreaSearch:
    """An index of names.

    Parameters
    ----------
    entries : sequence of Entry
        In the order in which equally good matches are listed.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._n = len(entries)
        of_state = _words_of_states()
        pairs: dict[str, list[int]] = {}
        self._exact: dict[str, list[int]] = {}
        self._spelled: dict[str, set[str]] = {}
        begins: list[tuple[str, int]] = []
        guessed: set[str] = set()
        for row, entry in enumerate(entries):
            words = folded_words(entry.name)
            own = {*words, *map(_short, words), *(_WRITTEN_OUT.get(word, word) for word in words)}
            for word in own | {*folded_words(entry.code)} | of_state.get(entry.state_id, set()):
                pairs.setdefault(word, []).append(row)
            forms = {words, *map(folded_words, spellings(entry.name) - {entry.name})}
            forms = (forms | {folded_words(entry.other_name)}) - {()}
            for text in {_shorter_text(form) for form in forms}:
                self._exact.setdefault(text, []).append(row)
            begins += [(text, row) for text in {" ".join(words), _shorter_text(words)}]
            if entry.is_guessed:
                guessed |= {word for word in words if len(word) >= LEAST_LETTERS and word.isalpha()}
                for form in forms:
                    self._spelled.setdefault(form[0][0], set()).add(" ".join(form))
        self._most_words = max((text.count(" ") + 1 for text in self._exact), default=0)
        self._words = sorted(pairs)
        self._ptr = np.cumsum([0, *(len(pairs[word]) for word in self._words)])
        self._rows = np.array([row for word in self._words for row in pairs[word]], dtype=np.int64)
        begins.sort()
        self._begins = [text for text, _ in begins]
        self._begin_rows = np.array([row for _, row in begins], dtype=np.int64)
        self._like = _deletions(guessed)

    def find(self, text: str, limit: int, *, near: bool = False) -> Found:
        """Find at most `limit` entries that have every word; without any, find similar ones if `near` is true."""
        words = _split_words(text)
        if text.strip() and not words:
            return Found(())
        rows = self._order_matches(words, limit)
        if len(rows) or not near:
            return Found(rows)
        for guess in self._guesses(words):
            rows = self._order_matches(guess, limit)
            if len(rows):
                return Found(rows, is_guess=True)
        return Found(())

    def find_called(self, text: str) -> list[int]:
        """Return the entries whose whole name, or name without legal description, this is, with or without a state."""
        words = _split_words(text)
        has = self._mark_having(words)
        exact = [self._exact.get(form, []) for form in _remove_state([_short(word) for word in words])]
        return list(dict.fromkeys(row for rows in exact for row in rows if has[row]))

    def named(self, words: Sequence[str]) -> list[int]:
        """Return the entries whose whole name, in one of its spellings, has these words."""
        return self._exact.get(_shorter_text(words), [])

    def longest_at(self, words: Sequence[str], first: int) -> tuple[list[int], int]:
        """Return the entries with the longest whole name that starts at a word, and how many words it takes up.

        Commas within a name are passed over. Without such a name, return no entries.
        """
        longest: tuple[list[int], int] = ([], 0)
        for name, count in runs(words, first, self._most_words):
            rows = self.named(name)
            if rows:
                longest = (rows, count)
        return longest

    def spelled_like(self, words: Sequence[str]) -> list[int]:
        """Return the entries whose whole name some words almost spell."""
        text = " ".join(words)
        known = [
            name
            for name in self._spelled.get(text[:1], ())
            if abs(len(name) - len(text)) <= _MOST_CHANGED and name.count(" ") == len(words) - 1
        ]
        near = difflib.get_close_matches(text, sorted(known), n=1, cutoff=_LIKE_WHOLE)
        return self.named(near[0].split()) if near else []

    def _guesses(self, words: list[str]) -> Iterable[list[str]]:
        """Yield what else the words may mean: without common words, corrected, and with shorter numbers."""
        kept = [word for word in words if word not in _LEFT_OUT]
        near = [self._nearest(word) for word in kept]
        yield [self._nearest(word) for word in words]
        if kept:
            yield kept
            yield near
        if len(kept) == 1 and kept[0].isdigit() and len(kept[0]) == 5:
            yield from ([kept[0][:count]] for count in (4, 3))
        known = [word for word in near if not word.isdigit() and self._slice(word)[0] < self._slice(word)[1]]
        if known and known != near and sum(map(len, known)) * 2 > sum(map(len, near)):
            yield known
        longest = max(known, key=len, default="")
        if len(longest) * 2 > sum(map(len, near)):
            yield [longest]  # "Warwick Mall", if some names begin with "Mall" but none has both words

    def _order_matches(self, words: list[str], limit: int) -> tuple[int, ...]:
        """Return entries that have all words: those whose name this is, then those that begin so, then the others."""
        has = self._mark_having(words)
        rows: dict[int, None] = {}
        for text in _remove_state([_short(word) for word in words]):
            rows |= dict.fromkeys(row for row in self._exact.get(text, []) if has[row])
        for text in (" ".join(words), " ".join(map(_short, words))):
            first, last = bisect_left(self._begins, text), bisect_left(self._begins, text + _LAST)
            begin = np.sort(self._begin_rows[first:last])
            rows |= dict.fromkeys(begin[has[begin]][: limit + len(rows)].tolist())
        rows |= dict.fromkeys(np.flatnonzero(has)[: limit + len(rows)].tolist())
        return tuple(rows)[:limit]

    def _mark_having(self, words: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which entries have all words."""
        has = np.ones(self._n, dtype=bool)
        for word in words:
            first, last = self._slice(word)
            has_word = np.zeros(self._n, dtype=bool)
            has_word[self._rows[first:last]] = True
            has &= has_word
        return has

    def _slice(self, word: str) -> tuple[int, int]:
        """Return where the entries of all words that begin with a word are."""
        first, last = bisect_left(self._words, word), bisect_left(self._words, word + _LAST)
        return int(self._ptr[first]), int(self._ptr[last])

    def _nearest(self, word: str) -> str:
        """Return the word itself if a known word begins with it, else the most similar known word, or else itself."""
        first, last = self._slice(word)
        if first < last or len(word) < LEAST_LETTERS:
            return word
        known = {known_word for short in (word, *_shorter(word)) for known_word in self._like.get(short, ())}
        near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=_LIKE)
        return near[0] if near else word


def _split_words(text: str) -> list[str]:
    """Return the words of what was typed; a letter with a period is a word."""
    plain = re.sub(r"\b([A-Za-z])\.", r"\1 ", text[:MAX_LETTERS])
    return list(folded_words(plain))[:MAX_WORDS]


def _short(word: str) -> str:
    return _SPELLED.get(word, word)


def _shorter_text(words: Iterable[str]) -> str:
    """Return words in their short forms, separated by spaces."""
    return " ".join(map(_short, words))


def runs(words: Sequence[str], first: int, most: int) -> Iterator[tuple[Words, int]]:
    """Yield the first word, the first two and so on, without commas, and the number of words they take up."""
    name: list[str] = []
    for position in range(first, len(words)):
        if words[position] == ",":
            continue
        name.append(words[position])
        if len(name) > most:
            return
        yield tuple(name), position + 1 - first


def _remove_state(words: list[str]) -> list[str]:
    """Return the words as a text, and without the state that is named at their end or at their beginning."""
    texts = [" ".join(words)]
    for state in _SHORT_STATES:
        n = len(state)
        if len(words) > n and tuple(words[-n:]) == state:
            texts.append(" ".join(words[:-n]))
        if len(words) > n and tuple(words[:n]) == state:
            texts.append(" ".join(words[n:]))
    return texts


STATE_IDS: Final[dict[Words, str]] = {
    words: state_id
    for state_id, state in states().items()
    for words in (folded_words(state.name), (state.postal.lower(),))
}
"""The FIPS code of each state by the words of its name, and by its postal code."""
_SHORT_STATES: Final = [tuple(map(_short, words)) for words in STATE_IDS]


def _words_of_states() -> dict[str, set[str]]:
    by_state: dict[str, set[str]] = {}
    for words, state_id in STATE_IDS.items():
        by_state.setdefault(state_id, set()).update(words)
    return by_state


def _shorter(word: str) -> Iterable[str]:
    """Yield a word with each one of its letters left out."""
    return (word[:at] + word[at + 1 :] for at in range(len(word)))


def _deletions(words: Iterable[str]) -> dict[str, list[str]]:
    """Return words, keyed by themselves and by themselves without one of their letters.

    Two words that differ by one letter, or by two letters that change places, have such a key in common.
    """
    by_short: dict[str, list[str]] = {}
    for word in words:
        for short in {word, *_shorter(word)}:
            by_short.setdefault(short, []).append(word)
    return by_short


# The areas and landmarks that a search can find, and how likely people are to mean each.

LANDMARK_MI: Final = 0.5
"""Radius of the circle that represents a landmark."""
_GUESSED: Final = (*NAMED, "county", "cbsa", LANDMARK)
_BY_PEOPLE: Final = (*NAMED, "county", "cbsa", "zcta")
"""Layers whose larger units come first."""
_LATER: Final = ("state", "puma", "zcta", LANDMARK, "tract")
_WITHOUT_STATE: Final = ("zcta", "cbsa", "necta", "trib", "tsub", "mil", "state")
"""Layers whose identifiers do not begin with a state."""


def landmarks_of(store: Store) -> Iterator[Area]:
    """Yield the landmarks of a store; each is a named circle around its location."""
    if not store.has_table("landmarks"):
        return
    counties: dict[str, str] = dict(store.table("counties", ["county_id", "name"]).itertuples(index=False))
    columns = ["name", "county_id", "lon_deg", "lat_deg"]
    for name, county_id, lon_deg, lat_deg in store.table("landmarks", columns).itertuples(index=False):
        step = Step("+", Circle(lon_deg, lat_deg, 0.0, LANDMARK_MI), name[:MAX_LABEL])
        county = counties.get(county_id, "")
        shown = f"{name} ({county})" if county else name
        yield Area(str(step).removeprefix("+"), LANDMARK, county_id, shown)


Rank = tuple[bool, int]


@dataclass(frozen=True, slots=True)
class Findable:
    """An area that can be found by its name.

    Attributes
    ----------
    area : Area
    rank : (bool, int)
        How likely people are to mean it: whether the release lacks its jobs, and its layer in the order of
        `_levels_in_order`. The least rank is the most likely.
    people : float
        How many people live there, as far as it matters for the order of names; otherwise 0.
    """

    area: Area
    rank: Rank
    people: float = 0.0


def findable_areas(units: ReleaseUnits, usual: str, listed: Iterable[Area]) -> list[Findable]:
    """Return areas in search order: those with jobs in the release come before others, cities and towns before
    larger and smaller units, and then the larger ones first. `usual` is the layer that people name.
    """
    order = {level: rank for rank, level in enumerate(_levels_in_order(usual))}
    people: dict[str, dict[str, tuple[bool, float]]] = {
        level: _people_of(units, level) for level in (*_BY_PEOPLE, "state") if level in units.columns
    }

    def findable(area: Area) -> Findable:
        in_state, _ = people.get("state", {}).get(state_of(area), (True, 0.0))
        has_jobs, n = people.get(area.level, {}).get(area.unit_id, (in_state, 0.0))
        return Findable(area, (not has_jobs, order.get(area.level, len(order))), n)

    return sorted(map(findable, listed), key=lambda entry: (entry.rank, -entry.people, entry.area.name))


def _levels_in_order(usual: str) -> list[str]:
    """Return the layers that people name, most likely first."""
    return [usual, *(level for level in (*NAMED, "county", "cbsa") if level != usual), *_LATER]


def entry_of_area(area: Area) -> Entry:
    """Return what is searched of an area: its full name."""
    code = "" if area.level == LANDMARK else area.unit_id
    state = states().get(area.unit_id) if area.level == "state" else None
    other_name = landmark_name(area) if area.level == LANDMARK else state.postal if state else ""
    return Entry(
        area.names[0], code, state_of(area), is_guessed=area.level in _GUESSED, other_name=other_name
    )


def landmark_name(area: Area) -> str:
    """Return the name of a landmark without the county that :func:`landmarks_of` appends."""
    return area.name.rpartition(" (")[0] if area.unit_id and area.name.endswith(")") else area.name


def state_of(area: Area) -> str:
    """Return the FIPS code of the state that an area is in; empty if the layer crosses states."""
    return "" if area.level in _WITHOUT_STATE else area.unit_id[:2]


def _people_of(release: ReleaseUnits, level: str) -> dict[str, tuple[bool, float]]:
    """Return for each unit whether the release has its jobs, and how many people live there."""
    units = release.units(level)
    weights = release.places["population"].to_numpy(np.float64)
    people = np.bincount(units.code, weights=weights, minlength=len(units.rows))
    covered = release.keep_workplaces(np.arange(len(weights), dtype=np.int32))
    jobs = np.bincount(units.code if covered is None else units.code[covered], minlength=len(units.rows))
    return dict(zip(units.rows["unit_id"], zip(jobs > 0, people.tolist(), strict=True), strict=True))
