"""The words of a sentence and their meanings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from mapapp.question.fields import Side
from mapapp.question.sentence.amounts import amount_at
from mapapp.question.sentence.attribute_phrases import by_at, value_at
from mapapp.question.sentence.class_phrases import class_at
from mapapp.question.sentence.gazetteer import Gazetteer
from mapapp.question.sentence.meanings import (
    Asks,
    Bands,
    By,
    Empty,
    Item,
    Layer,
    Meaning,
    Missing,
    Place,
    Values,
)
from mapapp.question.sentence.text import Sentence
from mapapp.question.sentence.vocabulary import WORDS, phrase_at

_LONGEST_MISSPELLED: Final = 4
_LIKE: Final = 0.8
_NUMBERS: Final = r"(?:\d+|two|three|five|ten|twenty)"
_BEFORE: Final = re.compile(
    rf"(?:(?:for )?each|by|per|every|which|what|(?:the )?(?:top|largest|biggest|main|leading)(?: {_NUMBERS})?|"
    rf"(?:the )?{_NUMBERS} (?:largest|biggest|main|top)|each)(?!\S)"
)
_END: Final = re.compile(
    r"(?:their )?(home|residence|origin|residential|workplace|work|destination|job)(?!\S)"
)
_AFTER: Final = re.compile(
    r"(?: level)?(?: of (residence|origin|homes?|work|employment|destination|workplaces?|jobs?)|"
    r" where they (live|work))?"
    r"(?!\S)"
)
_OTHER: Final = re.compile(r"(?: level)? to (?:every |each |all )?(?:other )?")
_OPENS_PAIR: Final = re.compile(
    r"(?:flows? )?(?:between|among|(?:from|to) (?:every|each|all)) (?:all )?(?:the )?"
)
_PREPOSITIONS: Final = (
    "in",
    "of",
    "from",
    "to",
    "at",
    "near",
    "around",
    "into",
    "within",
    "inside",
    "between",
)
"""Behind one of these, words that name both an area and a value are the area."""
_WORK_WORDS: Final = ("workplace", "workplaces", "work", "destination", "job", "jobs", "employment")


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a sentence.

    Attributes
    ----------
    sentence : Sentence
    items : tuple of Item
        What was understood, in order.
    unknown : tuple of (int, int)
        First and last word (not included) of each part that was not.
    corrected : tuple of str
        A sentence for each word that was taken for another word.
    """

    sentence: Sentence
    items: tuple[Item, ...]
    unknown: tuple[tuple[int, int], ...]
    corrected: tuple[str, ...] = ()

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """Unknown parts that are written as names."""
        return tuple(self.sentence.said(*part) for part in self.unknown if _is_named(self.sentence, *part))


def read(sentence: Sentence, gazetteer: Gazetteer) -> Reading:
    """Find the meanings of the words of a sentence: at each word, the longest phrase or name counts."""
    items: list[Item] = []
    unknown: list[tuple[int, int]] = []
    first = 0
    while first < len(sentence.words):
        phrase = _at(sentence, gazetteer, first)
        if phrase is not None:
            items.append(phrase)
            first = phrase.last
            continue
        if unknown and unknown[-1][1] == first:
            unknown[-1] = (unknown[-1][0], first + 1)
        else:
            unknown.append((first, first + 1))
        first += 1
    left: list[tuple[int, int]] = []
    corrected: list[str] = []
    for run in map(partial(_whole_name, sentence, items), unknown):
        for item in _correct_words(sentence, gazetteer, run):
            match item:
                case Item(first=first, meaning=meaning):
                    items.append(item)
                    if not isinstance(meaning, Place | Values):  # their notes say so themselves
                        word = sentence.words[first].text
                        corrected.append(
                            f"“{sentence.said(first, first + 1)}” is taken as {_known_word(word)}."
                        )
                case part:
                    left.append(part)
    ordered = tuple(sorted(items, key=lambda item: item.first))
    return Reading(sentence, ordered, tuple(left), tuple(corrected))


def _whole_name(sentence: Sentence, items: list[Item], run: tuple[int, int]) -> tuple[int, int]:
    """Return unknown words with the rest of their name: in `Brown University` the second word is not an industry."""
    first, last = run
    if not _is_named(sentence, last - 1, last):
        return run
    for item in items:
        if (
            item.first == last
            and isinstance(item.meaning, Bands | Values)
            and _is_named(sentence, last, item.last)
        ):
            items.remove(item)
            return first, item.last
    return run


def _at(sentence: Sentence, gazetteer: Gazetteer, first: int) -> Item | None:
    """Return the longest item that starts at a word; of equally long ones, numbers, then phrases, then names.

    `_value_wins` says when the value of an attribute counts instead.
    """
    position = sentence.starts[first]
    items = [
        Item(first, _word_after(sentence, end), meaning)
        for meaning, end in filter(
            None,
            (
                class_at(sentence.joined, position) if gazetteer.has_published_counts else None,
                amount_at(sentence.joined, position),
                phrase_at(sentence.joined, position),
            ),
        )
    ]
    words = [word.text for word in sentence.words]
    layer = _layer_at(sentence, words, gazetteer, first)
    if layer is not None:
        items.insert(0, layer)
    place = gazetteer.place_at(words, first, sentence.codes)
    if place is not None:
        items.append(Item(first, first + place[1], place[0]))
    best = max(items, key=lambda item: item.last, default=None)
    of_attribute = [
        item for item in (by_at(sentence, gazetteer, first), value_at(sentence, gazetteer, first)) if item
    ]
    of_workers = max(of_attribute, key=lambda item: item.last, default=None)
    if of_workers is None or (best is not None and best.last > of_workers.last):
        return best
    rivals = [item for item in items if item.last == of_workers.last]
    return _choose_of_equal(words, of_workers, rivals)


def _choose_of_equal(words: list[str], of_workers: Item, rivals: list[Item]) -> Item:
    """Return what equally long words mean: an attribute or a value, or something else.

    The words of the grammar itself, such as `work`, keep their meaning, and so does an area behind a preposition:
    `jobs in White`. Otherwise the value counts: `White workers`.
    """
    known = (Place, Bands, Missing, Asks) if isinstance(of_workers.meaning, By) else (Place, Bands, Missing)
    grammar = [item for item in rivals if not isinstance(item.meaning, known)]
    if grammar:
        return grammar[0]
    places = [item for item in rivals if isinstance(item.meaning, Place)]
    if not places:
        return of_workers
    place, value = places[0].meaning, of_workers.meaning
    is_place = of_workers.first > 0 and words[of_workers.first - 1] in _PREPOSITIONS
    if not isinstance(place, Place) or not isinstance(value, Values):
        return of_workers
    said = " ".join(words[of_workers.first : of_workers.last]).capitalize()
    if is_place:
        note = f"“{said}” could also be {value.title}: {value.labels[0]}; the area is used."
        return replace(places[0], meaning=replace(place, note=f"{place.note} {note}".strip()))
    note = f"“{said}” could also be the area {place.name}; write “in {said}” for the area."
    return replace(of_workers, meaning=replace(value, note=f"{value.note} {note}".strip()))


def _word_after(sentence: Sentence, end: int) -> int:
    """Return the number of words that start before a position of `Sentence.joined`."""
    return sum(start < end for start in sentence.starts)


def _layer_at(sentence: Sentence, words: list[str], gazetteer: Gazetteer, first: int) -> Item | None:
    """Return the layer named at a word, along with `by`, `which`, `home` and the like around its name."""
    opened = _read_opening(sentence, words, gazetteer, first)
    if opened is not None:
        return opened
    before = _BEFORE.match(sentence.joined, sentence.starts[first])
    start = _word_after(sentence, before.end()) if before else first
    named = _read_layer_name(sentence, words, gazetteer, start)
    if named is None:
        return _around_place(words, gazetteer, first, start) if before else None
    level, last, is_plural, end = named
    pair_end = _other(sentence, words, gazetteer, last)
    if pair_end is not None:
        return Item(first, pair_end, Layer(level, paired=True))
    if not (before or is_plural or end):
        return Item(first, last, Empty())  # "the 02840 ZIP code", "Newport town"
    after = _AFTER.match(sentence.joined, sentence.starts[last - 1] + len(words[last - 1]))
    if after and (said := after[1] or after[2]):
        end = _end_of(said)
        last = _word_after(sentence, after.end())
    return Item(first, last, Layer(level, end))


def _read_opening(sentence: Sentence, words: list[str], gazetteer: Gazetteer, first: int) -> Item | None:
    """Return the layer of `between towns`, `from every town`, and `to each town`."""
    opens = _OPENS_PAIR.match(sentence.joined, sentence.starts[first])
    pair = _read_layer_name(sentence, words, gazetteer, _word_after(sentence, opens.end())) if opens else None
    if opens is None or pair is None:
        return None
    level, last, is_plural, _ = pair
    preposition = opens[0].split()[0]
    if preposition not in ("from", "to"):
        return Item(first, last, Layer(level, paired=True)) if is_plural else None
    pair_end = _other(sentence, words, gazetteer, last)
    if pair_end is not None:
        return Item(first, pair_end, Layer(level, paired=True))
    return Item(first, last, Layer(level, "home" if preposition == "from" else "work", opens=True))


def _around_place(words: list[str], gazetteer: Gazetteer, first: int, start: int) -> Item | None:
    """Return the layer whose name follows a place: `each Rhode Island town`; the place is read later."""
    place = gazetteer.place_at(words, start) if start < len(words) else None
    after = start + place[1] if place else len(words)
    layer = gazetteer.layer_at(words, after) if after < len(words) else None
    return Item(first, start, Layer(layer[0])) if layer else None


def _read_layer_name(
    sentence: Sentence, words: list[str], gazetteer: Gazetteer, start: int
) -> tuple[str, int, bool, Side | None] | None:
    """Return a layer, the word after its name, whether the name is a plural, and the end that it says."""
    if start >= len(words):
        return None
    end = _END.match(sentence.joined, sentence.starts[start])
    place = start + (len(end[0].split()) if end else 0)
    named = gazetteer.layer_at(words, place) if place < len(words) else None
    if named is None:
        return None
    level, count, is_plural = named
    return level, place + count, is_plural, _end_of(end[1]) if end else None


def _other(sentence: Sentence, words: list[str], gazetteer: Gazetteer, last: int) -> int | None:
    """Return the word after the second layer of `town to town`; None without a second layer."""
    if last >= len(words):
        return None
    joint = _OTHER.match(sentence.joined, sentence.starts[last] - 1)
    if joint is None:
        return None
    second = _read_layer_name(sentence, words, gazetteer, _word_after(sentence, joint.end()))
    return second[1] if second else None


def _end_of(word: str) -> Side:
    return "work" if word in _WORK_WORDS else "home"


def _correct_words(
    sentence: Sentence, gazetteer: Gazetteer, run: tuple[int, int]
) -> Iterator[Item | tuple[int, int]]:
    """Yield what misspelled words mean, and the parts that stay unknown."""
    first, last = run
    unknown: int | None = None
    while first < last:
        item = _read_misspelled(sentence, gazetteer, first, run)
        if item is None:
            unknown = first if unknown is None else unknown
            first += 1
            continue
        if unknown is not None:
            yield unknown, first
            unknown = None
        yield item
        first = item.last
    if unknown is not None:
        yield unknown, last


def _is_named(sentence: Sentence, first: int, last: int) -> bool:
    """Return whether one of some words is written as a name."""
    return any(sentence.text[word.first].isupper() for word in sentence.words[first:last])


def _read_misspelled(
    sentence: Sentence, gazetteer: Gazetteer, first: int, run: tuple[int, int]
) -> Item | None:
    start, last = run
    for until in range(min(last, first + _LONGEST_MISSPELLED), first, -1):
        words = [word.text for word in sentence.words[first:until]]
        if _is_named(sentence, start, first) or _is_named(sentence, until, last):
            continue  # "Green" alone does not mean the unknown name "Green Airport"
        place = gazetteer.place_like(words)
        if place is not None:
            said = sentence.said(first, until)
            note = f"“{said}” is taken as {place.name}."
            return Item(first, until, replace(place, note=f"{note} {place.note}".strip()))
        values = gazetteer.labels.value_like(words)
        if values is not None:
            note = (
                f"“{sentence.said(first, until)}” is taken as {values.title}: {' or '.join(values.labels)}."
            )
            return Item(first, until, replace(values, note=note))
    known = _known_word(sentence.words[first].text)
    meaning: Meaning | None = None
    if known and (phrase := phrase_at(known, 0)) is not None:
        meaning = phrase[0]
    if meaning is None or isinstance(meaning, Empty | Place):
        return None
    return Item(first, first + 1, meaning)


def _known_word(word: str) -> str:
    """Return the known word that a word almost spells; empty without one."""
    return next(iter(difflib.get_close_matches(word, WORDS, n=1, cutoff=_LIKE)), "")
