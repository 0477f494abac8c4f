"""The attributes of a publication and their values, found by the words of their labels.

Nothing here knows a particular attribute: a name is the label itself, a part of it (`Black or African American alone`
has the parts `Black` and `African American`), or how such a part begins (`Educational services` begins with
`educational`). `mapapp.question.sentence.everyday` has what people say instead.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from mapapp.question.filters import CHARACTERISTICS
from mapapp.question.sentence.everyday import (
    ATTRIBUTE_NAMES,
    OFTEN_MISSPELLED,
    Everyday,
    everyday_values_at,
)
from mapapp.question.sentence.meanings import Values
from mapapp.question.sentence.text import folded_words

_LEAST_LETTERS: Final = 4
"""A shorter word is not the name of a value by itself, and is not corrected."""
_MOST_WORDS: Final = 16
_LIKE: Final = 0.8
_SHOWN: Final = 6
_WHOLE, _PART, _BEGINNING = 0, 1, 2
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3})")
_ASIDE: Final = re.compile(r"\([^()]*\)")
_PARTS: Final = re.compile(
    r"[,;/()]|\band\b|\bor\b(?! (?:more|less|fewer|older|younger|over|under|above|below|higher|lower|equivalent)\b)"
)
_WEAK: Final = frozenset(
    (
        *("a", "an", "the", "of", "in", "at", "on", "for", "to", "from", "by", "with", "without", "and"),
        *("or", "not", "no", "non", "any", "all", "other", "another", "some", "most", "many", "more", "less"),
        *(
            "few",
            "fewer",
            "least",
            "than",
            "two",
            "three",
            "over",
            "under",
            "up",
            "new",
            "high",
            "low",
            "large",
        ),
        *(
            "small",
            "real",
            "public",
            "general",
            "special",
            "main",
            "own",
            "alone",
            "only",
            "available",
            "unknown",
        ),
        *("none", "yes", "work", "home", "live", "job", "worker", "people", "person", "resident", "employee"),
        *("where", "who", "age", "year", "old", "young", "part", "full"),
    )
)
"""Words that do not name a value by themselves, and do not begin or end the name of one."""
Name = tuple[str, ...]


class Labeled(Protocol):
    """An attribute of a publication (:class:`mapapp.answers.commutes.attributes.Attribute`)."""

    @property
    def name(self) -> str:
        """Name in questions."""

    @property
    def title(self) -> str:
        """Title for readers."""

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the values, in order."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the values, in order."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A value that has a name: the fewer the grade, the more of the label is said."""

    attribute: Labeled
    place: int
    grade: int


class Labels:
    """An index of attributes and values; safe to use from several threads.

    Parameters
    ----------
    attributes : iterable of Labeled
        Those of a publication. Values of age, earnings, and industry are not indexed: they have words of their own.
    """

    def __init__(self, attributes: Iterable[Labeled] = ()) -> None:
        self._attributes = {attribute.name: attribute for attribute in attributes}
        self._values: dict[Name, list[_Named]] = {}
        for attribute in self.further:
            for place, label in enumerate(attribute.labels):
                for name, grade in _names_of(label):
                    self._values.setdefault(name, []).append(_Named(attribute, place, grade))
        self._names: dict[Name, list[Labeled]] = {}
        for attribute in self._attributes.values():
            for name in _names_of_title(attribute):
                self._names.setdefault(name, []).append(attribute)
        self._begins: dict[str, list[Name]] = {}
        for name in self._values:
            self._begins.setdefault(name[0][:1], []).append(name)

    @property
    def further(self) -> tuple[Labeled, ...]:
        """Attributes other than age, earnings, and industry."""
        return tuple(
            attribute for attribute in self._attributes.values() if attribute.name not in CHARACTERISTICS
        )

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of all attributes, in order; without one that only groups the values of another."""
        finest = {
            _finest(self._names.get(_name(_ASIDE.sub(" ", attribute.title)), [attribute])).name
            for attribute in self._attributes.values()
        }
        return tuple(attribute.title for attribute in self._attributes.values() if attribute.name in finest)

    def title(self, name: str) -> str:
        """Return the title of an attribute."""
        return self._attributes[name].title

    def size(self, name: str) -> int:
        """Return how many values an attribute has."""
        return len(self._attributes[name].codes)

    def has(self, name: str) -> bool:
        """Return whether there is an attribute of this name."""
        return name in self._attributes

    def about(self, names: Iterable[str]) -> Labeled | None:
        """Return the first attribute that is called like one of some everyday names, such as `race`."""
        return next((attribute for name in names for attribute in self._names.get(_name(name), ())), None)

    def values_of(self, attribute: Labeled) -> str:
        """Return the labels of an attribute, as a list that is not long."""
        shown = "; ".join(_short(label) for label in attribute.labels[:_SHOWN])
        more = len(attribute.labels) - _SHOWN
        return f"{shown}; and {more} more" if more > 0 else shown

    def value_at(
        self, words: Sequence[str], joined: str, first: int, position: int
    ) -> tuple[Values, int] | None:
        """Return the value with the longest name that starts at a word, and the number of words of its name.

        Parameters
        ----------
        words, joined : sequence of str, str
            Those of the sentence, and the text in which single spaces separate them.
        first, position : int
            The word, and where it begins in the text.
        """
        best = self._longest_at(words, first)
        for said in everyday_values_at(joined, position):
            values = self._everyday(said)
            if values is not None and (best is None or said.n_words > best[1]):
                best = values, said.n_words
        after = self._after_attribute(words, first)
        return after if after is not None and (best is None or after[1] > best[1]) else best

    def attribute_at(self, words: Sequence[str], first: int) -> tuple[str, int, str] | None:
        """Return the attribute with the longest name that starts at a word, and the number of words of its name.

        Of several attributes of the name, the one with the most values is meant; then a note says so, else it is empty.
        """
        for count in range(min(_MOST_WORDS, len(words) - first), 0, -1):
            attributes = self._names.get(tuple(map(_stem, words[first : first + count])))
            if attributes:
                finest = _finest(attributes)
                others = [attribute for attribute in attributes if attribute.name != finest.name]
                said = " ".join(words[first : first + count])
                return finest.name, count, _choice_note(said, finest, others) if others else ""
        return None

    def value_like(self, words: Sequence[str]) -> Values | None:
        """Return the value whose name some words almost spell, or that a longer word begins."""
        text = " ".join(map(_stem, words))
        if sum(character.isalpha() for character in text) < _LEAST_LETTERS:
            return None
        known = {" ".join(name): name for name in self._begins.get(text[:1], ()) if len(name) == len(words)}
        likely = sorted(
            spelling for spelling in known if abs(len(spelling) - len(text)) <= max(2, len(text) // 4)
        )
        near = difflib.get_close_matches(text, likely, n=1, cutoff=_LIKE)
        if not near and len(words) == 1:
            meant = difflib.get_close_matches(words[0], OFTEN_MISSPELLED, n=1, cutoff=_LIKE)
            meanings = [self._everyday(said) for word in meant for said in everyday_values_at(word, 0)]
            if any(meanings):
                return next(meaning for meaning in meanings if meaning is not None)
        if not near and len(words) == 1 and len(text) > _LEAST_LETTERS:
            begun = [name for name in self._begins.get(text[:1], ()) if name[0].startswith(text)]
            near = [" ".join(name) for name in sorted(begun, key=lambda name: (len(name), name))[:1]]
            known |= {" ".join(name): name for name in begun}
        return self._meaning(self._values[known[near[0]]], "") if near else None

    def _longest_at(self, words: Sequence[str], first: int) -> tuple[Values, int] | None:
        name: list[str] = []
        best: tuple[Values, int] | None = None
        for position in range(first, min(len(words), first + _MOST_WORDS)):
            if words[position] == ",":
                continue
            name.append(_stem(words[position]))
            named = [] if len(name) == 1 and not _is_telling(name[0]) else self._values.get(tuple(name), [])
            if named:
                is_people = words[position].endswith("s") and not named[0].attribute.labels[
                    named[0].place
                ].lower().endswith("s")
                meaning = self._meaning(named, " ".join(words[first : position + 1]))
                best = replace(meaning, is_people=is_people and len(name) == 1), position + 1 - first
        return best

    def _everyday(self, said: Everyday) -> Values | None:
        for name in said.names:
            named = self._values.get(_name(name))
            if named:
                return replace(self._meaning(named, ""), is_people=said.is_people)
        return None

    def _after_attribute(self, words: Sequence[str], first: int) -> tuple[Values, int] | None:
        """Return the value of `education high school` or `union member: no`, whose label may be any word."""
        for count in range(min(_MOST_WORDS, len(words) - first - 1), 0, -1):
            for attribute in self._names.get(tuple(map(_stem, words[first : first + count])), ()):
                start = first + count
                start += words[start] in ("is", "to", "equal", "of", "are") and start + 1 < len(words)
                for last in range(min(len(words), start + _MOST_WORDS), start, -1):
                    name = tuple(_stem(word) for word in words[start:last] if word != ",")
                    named = [entry for entry in self._values.get(name, ()) if entry.attribute is attribute]
                    if named:
                        return self._meaning(named, ""), last - first
        return None

    def _meaning(self, named: Sequence[_Named], said: str) -> Values:
        """Return the values of one attribute that a name means best, and a note if it could mean others."""
        grade = min(entry.grade for entry in named)
        best = [entry for entry in named if entry.grade == grade]
        attribute = best[0].attribute
        chosen = [entry for entry in best if entry.attribute is attribute]
        others = [entry for entry in best if entry.attribute is not attribute]
        labels = tuple(attribute.labels[entry.place] for entry in chosen)
        note = ""
        if said and len(chosen) > 1:
            listed = " and ".join(labels[:_SHOWN])
            note = (
                f"“{said}” could be {listed}; all are included."
                if len(chosen) > 2
                else (f"“{said}” could be {listed}; both are included.")
            )
        if said and others:
            rival = others[0]
            note += f" “{said}” could also be {rival.attribute.title}: {rival.attribute.labels[rival.place]}."
        return Values(
            attribute.name,
            tuple(attribute.codes[entry.place] for entry in chosen),
            attribute.title,
            labels,
            note.strip(),
        )

    def exclude(self, values: Values) -> Values | None:
        """Return all other values of the attribute; None if there are none."""
        attribute = self._attributes[values.attribute]
        kept = [
            (code, label)
            for code, label in zip(attribute.codes, attribute.labels, strict=True)
            if code not in values.codes
        ]
        if not kept:
            return None
        codes, labels = zip(*kept, strict=True)
        return replace(values, codes=tuple(codes), labels=tuple(labels), note="", is_people=False)


def _finest(attributes: Sequence[Labeled]) -> Labeled:
    """Return the one with the most values, such as twenty sectors rather than three groups of them."""
    return max(attributes, key=lambda attribute: len(attribute.codes))


def _choice_note(said: str, chosen: Labeled, others: Sequence[Labeled]) -> str:
    """Return a sentence that says which of several attributes of one name was taken."""
    rest = " and ".join(f"{attribute.title} ({len(attribute.codes)} values)" for attribute in others)
    taken = f"“{said}” is taken as {chosen.title}, which has the most values ({len(chosen.codes)})"
    return f"{taken}; it could also be {rest}."


def _short(label: str, most: int = 60) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _stem(word: str) -> str:
    """Return a word without the ending of a plural."""
    if len(word) > _LEAST_LETTERS and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _name(text: str) -> Name:
    return tuple(map(_stem, folded_words(_THOUSANDS.sub("", text))))


def _is_telling(word: str) -> bool:
    """Return whether a word may name a value by itself."""
    return len(word) >= _LEAST_LETTERS and word.isalpha() and word not in _WEAK


def _names_of(label: str) -> Iterator[tuple[Name, int]]:
    """Yield the names of a value, each once, and how much of the label each is."""
    seen: set[Name] = set()
    for name, grade in _all_names_of(label):
        if name and name not in seen:
            seen.add(name)
            yield name, grade


def _all_names_of(label: str) -> Iterator[tuple[Name, int]]:
    yield _name(label), _WHOLE
    outside = _ASIDE.sub(" ", label)
    yield _name(outside), _WHOLE
    for text in _PARTS.split(outside.lower().replace("&", " and ")):
        part = _drop_weak_end(_name(text))
        if not part or (len(part) == 1 and not _is_telling(part[0])):
            continue
        yield part, _PART
        if len(part) == 2:
            yield ("".join(part),), _PART  # "healthcare"
        for count in range(len(part) - 1, 0, -1):
            begun = part[:count]
            if begun[-1] not in _WEAK and any(map(_is_telling, begun)):
                yield begun, _BEGINNING


def _drop_weak_end(name: Name) -> Name:
    while name and name[-1] in _WEAK:
        name = name[:-1]
    return name


def _names_of_title(attribute: Labeled) -> Iterator[Name]:
    """Yield the names of an attribute: its title, also without or only what is in parentheses, and its name."""
    texts = [attribute.title, _ASIDE.sub(" ", attribute.title), attribute.name.replace("_", " ")]
    texts += [aside.strip("()") for aside in _ASIDE.findall(attribute.title)]
    names = {_name(text) for text in texts}
    for title, *others in ATTRIBUTE_NAMES:
        if _name(title) in names:
            names |= {_name(text) for text in others}
    yield from sorted(
        name for name in names if any(len(word) > 2 and (word == "age" or word not in _WEAK) for word in name)
    )
