"""The attributes of a publication's workers, by which answers count and filter.

A publication has age, earnings, and industry, except those that its manifest says it does not show. A publication of
worker records has further ones, which its certificate lists with their public values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.store.shown_margins import shown_segments
from mapapp.answers.publication import is_of_records
from mapapp.answers.records.claims import records_claims
from mapapp.base.errors import UsageError
from mapapp.question.filters import CHARACTERISTICS, Filters, attribute_of, values_by_attribute

TITLES: Final = {"age": "Age", "earnings": "Earnings", "industry": "Industry"}
"""Titles of the attributes that every publication has."""
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute.

    Attributes
    ----------
    name, title : str
        Name in questions and files, and title for readers.
    codes, labels : tuple of str
        Code and label of each value, in order.
    first : int
        Number of the first value in `records`: 1 for age, earnings, and industry, else 0.
    """

    name: str
    title: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    first: int = 0

    @property
    def is_further(self) -> bool:
        """Whether only worker records have it."""
        return self.name not in CHARACTERISTICS

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.codes)

    def place_of(self, code: str) -> int:
        """Return the position of a value, from 0.

        Raises
        ------
        UsageError
            If there is no such value; the message lists those that there are.
        """
        if code in self.codes:
            return self.codes.index(code)
        listed = [f"{code} ({label})" for code, label in zip(self.codes, self.labels, strict=True)]
        more = f", and {self.size - _SHOWN} more" if self.size > _SHOWN else ""
        raise UsageError(
            f"attribute {self.name!r} has no value {code[:40]!r}; its values are {', '.join(listed[:_SHOWN])}{more}"
        )


JOB_ATTRIBUTES: Final = tuple(
    Attribute(name=name, title=TITLES[name], codes=("1", "2", "3"), labels=tuple(labels), first=1)
    for name, labels in CHARACTERISTICS.items()
)
"""The attributes that every publication has."""


def in_sentence(title: str) -> str:
    """Return a title as it is written within a sentence: ``sex``, but ``NAICS sector``."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


class Attributes:
    """The attributes of one publication, in order: those of every job first.

    Parameters
    ----------
    further : iterable of Attribute
        Attributes that only worker records have.
    shown : sequence of str
        Those of age, earnings, and industry that the publication shows, by default all.
    """

    def __init__(
        self, further: Iterable[Attribute] = (), shown: Sequence[str] = tuple(CHARACTERISTICS)
    ) -> None:
        self.shown = tuple(shown)
        of_jobs = (attribute for attribute in JOB_ATTRIBUTES if attribute.name in shown)
        self._known = {attribute.name: attribute for attribute in (*of_jobs, *further)}

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self._known.values())

    @property
    def further(self) -> tuple[Attribute, ...]:
        """Those that only worker records have."""
        return tuple(attribute for attribute in self if attribute.is_further)

    def __getitem__(self, name: str) -> Attribute:
        """Return an attribute by name.

        Raises
        ------
        UsageError
            If there is no such attribute; the message lists those that there are.
        """
        if name not in self._known:
            raise UsageError(
                f"attribute {name[:40]!r}: this publication has only {', '.join(self._known) or 'no attributes'}; "
                "choose from these"
            )
        return self._known[name]

    def has(self, text: str) -> bool:
        """Return whether an attribute, or one of its values, exists: ``sex``, or ``sex:F``.

        Age, earnings, and industry have filters of their own, so their values do not count.
        """
        parts = attribute_of(text)
        if parts is None:
            return text in self._known
        attribute = self._known.get(parts[0])
        return attribute is not None and attribute.is_further and parts[1] in attribute.codes

    def chosen(self, filters: Filters) -> dict[str, list[int]]:
        """Return the positions of the included values, by further attribute that filters restrict.

        Raises
        ------
        UsageError
            If the publication does not have an attribute or a value.
        """
        for name in CHARACTERISTICS:
            if name not in self.shown and getattr(filters, name):
                raise UsageError(f"{name}: this release does not show it; leave the filter out")
        positions: dict[str, list[int]] = {}
        for name, codes in values_by_attribute(filters.attributes).items():
            attribute = self[name]
            if not attribute.is_further:
                raise UsageError(
                    f"attribute {name!r}: {name} has a filter of its own; set {name} to bands such as 1,2"
                )
            positions[name] = sorted(attribute.place_of(code) for code in codes)
        return positions

    def marks(self, filters: Filters) -> dict[str, npt.NDArray[np.bool_]]:
        """Return whether each value is included, by further attribute that filters restrict; raises as `chosen`."""
        return {
            name: np.isin(np.arange(self[name].size), places) for name, places in self.chosen(filters).items()
        }

    def words(self, filters: Filters) -> str:
        """Return the included bands and values in words; empty if all are included."""
        parts = [filters.words] if filters.words else []
        for name, places in self.chosen(filters).items():
            attribute = self[name]
            parts.append(f"{attribute.title}: {' or '.join(attribute.labels[place] for place in places)}")
        return "; ".join(parts)


def attributes_of(
    certificate: Mapping[str, object], columns: Collection[str], facts: Mapping[str, object]
) -> Attributes:
    """Return the attributes of a publication, whose certificate was checked when it was opened.

    Parameters
    ----------
    certificate : mapping
    columns : collection of str
        Columns of the table `records`, which has the further attributes; none for a release.
    facts : mapping
        Of the manifest.
    """
    listed = records_claims(certificate).attributes if is_of_records(certificate) else ()
    further = [
        Attribute(
            name=claim.name,
            title=claim.title,
            codes=tuple(value.code for value in claim.values),
            labels=tuple(value.label for value in claim.values),
        )
        for claim in listed
        if claim.name in columns and claim.name not in CHARACTERISTICS
    ]
    return Attributes(further, shown_segments(facts))
