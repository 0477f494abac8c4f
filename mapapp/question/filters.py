"""Which workers a question covers: bands of age, earnings, and industry, and values of further attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from geodata.store.schema import JOB_LABELS, N_SEGMENTS
from mapapp.base.errors import UsageError

BANDS: Final = (1, 2, 3)
CHARACTERISTICS: Final = JOB_LABELS
"""Labels of bands 1, 2 and 3, by characteristic."""
MAX_ATTRIBUTE_VALUES: Final = 200
MAX_ATTRIBUTE_TEXT: Final = 200
ATTRIBUTE_FORM: Final = "an attribute and the code of one of its values, such as sex:F"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Filters:
    """Bands to include; an empty tuple includes all of them.

    Attributes
    ----------
    age, earnings, industry : tuple of int
        Bands 1..3, ascending, each once; any sequence is converted to this form.
    attributes : tuple of str
        Values of further attributes to include, such as ``sex:F``: an attribute's name and the code of a value. An
        attribute without any is not restricted. Only publications of worker records have such attributes.

    Raises
    ------
    UsageError
        If a band is not 1, 2 or 3, or the text of an attribute does not have that form.
    """

    age: Sequence[int] = ()
    earnings: Sequence[int] = ()
    industry: Sequence[int] = ()
    attributes: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", attribute_texts(self.attributes))
        for name in CHARACTERISTICS:
            given = _bands(name, getattr(self, name))
            wrong = [band for band in given if band not in BANDS]
            if wrong:
                raise UsageError(f"{name} {wrong[0]!r}: the bands are 1, 2, and 3; choose from these")
            kept = tuple(band for band in BANDS if band in given)
            object.__setattr__(self, name, kept if len(kept) < len(BANDS) else ())

    @property
    def segments(self) -> list[int]:
        """Joint segments 0..26 that are included, ascending."""
        return list(_segments((tuple(self.age), tuple(self.earnings), tuple(self.industry))))

    @property
    def words(self) -> str:
        """The included bands in words; empty if all are included."""
        return "; ".join(
            " or ".join(labels[band - 1] for band in getattr(self, name))
            for name, labels in CHARACTERISTICS.items()
            if getattr(self, name)
        )


def attribute_of(text: object) -> tuple[str, str] | None:
    """Return the attribute and the code that a text such as ``sex:F`` names; None for any other text."""
    if not isinstance(text, str) or len(text) > MAX_ATTRIBUTE_TEXT or not text.isprintable():
        return None
    name, _, code = text.partition(":")
    return (name, code) if is_attribute_name(name) and code else None


def is_attribute_name(text: object) -> bool:
    """Return whether a text could be the name of an attribute."""
    return isinstance(text, str) and bool(_NAME.fullmatch(text))


def attribute_texts(given: object) -> tuple[str, ...]:
    """Return values of attributes in normal form: sorted, each once.

    Raises
    ------
    UsageError
        If there are too many, or one does not name an attribute and a code.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"attributes {str(given)[:40]!r}: give a tuple or list, such as ('sex:F',)")
    texts = list(given)
    wrong = [text for text in texts if attribute_of(text) is None]
    if wrong:
        raise UsageError(f"attribute {str(wrong[0])[:40]!r}: give {ATTRIBUTE_FORM}")
    kept = tuple(sorted(set(texts)))
    if len(kept) > MAX_ATTRIBUTE_VALUES:
        raise UsageError(
            f"{len(kept)} values of attributes: at most {MAX_ATTRIBUTE_VALUES} can be included; leave some out"
        )
    return kept


def values_by_attribute(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the codes of values in normal form, by attribute."""
    by_attribute: dict[str, list[str]] = {}
    for text in texts:
        name, _, code = text.partition(":")
        by_attribute.setdefault(name, []).append(code)
    return by_attribute


def check_filters(filters: object) -> None:
    """Raise UsageError if an argument is not :class:`Filters`."""
    if not isinstance(filters, Filters):
        raise UsageError(f"filters {str(filters)[:60]!r}: give Filters, such as Filters(age=(1, 2))")


@lru_cache(maxsize=512)  # all choices of bands
def _segments(kept: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Return the joint segments whose bands are all kept; an empty tuple keeps every band."""
    return tuple(
        segment
        for segment in range(N_SEGMENTS)
        if all(not bands or band in bands for bands, band in zip(kept, bands_of(segment), strict=True))
    )


def _bands(name: str, given: object) -> tuple[object, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"{name} {given!r}: give the bands as a tuple or list, such as (1, 2)")
    return tuple(given)


def bands_of(segment: int) -> tuple[int, int, int]:
    """Return the bands 1..3 of age, earnings, and industry of a joint segment 0..26."""
    return segment // 9 + 1, segment // 3 % 3 + 1, segment % 3 + 1
