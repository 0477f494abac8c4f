"""Which workers a question covers: bands of age, earnings, and industry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from geodata.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS, N_SEGMENTS
from mapapp.errors import UsageError

BANDS: Final = (1, 2, 3)
CHARACTERISTICS: Final = {"age": AGE_BANDS, "earnings": EARNINGS_BANDS, "industry": INDUSTRY_GROUPS}
"""Labels of bands 1, 2 and 3, by characteristic."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Bands to include; an empty tuple includes all of them.

    Attributes
    ----------
    age, earnings, industry : tuple of int
        Bands 1..3, ascending, each once; any sequence is converted to this form.

    Raises
    ------
    UsageError
        If a band is not 1, 2 or 3.
    """

    age: Sequence[int] = ()
    earnings: Sequence[int] = ()
    industry: Sequence[int] = ()

    def __post_init__(self) -> None:
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
        return [
            segment
            for segment in range(N_SEGMENTS)
            if all(
                not kept or band in kept
                for kept, band in zip(
                    (self.age, self.earnings, self.industry), bands_of(segment), strict=True
                )
            )
        ]

    @property
    def words(self) -> str:
        """The included bands in words; empty if all are included."""
        return "; ".join(
            " or ".join(labels[band - 1] for band in getattr(self, name))
            for name, labels in CHARACTERISTICS.items()
            if getattr(self, name)
        )


def check_filters(filters: object) -> None:
    """Raise UsageError if an argument is not :class:`Filters`."""
    if not isinstance(filters, Filters):
        raise UsageError(f"filters {str(filters)[:60]!r}: give Filters, such as Filters(age=(1, 2))")


def _bands(name: str, given: object) -> tuple[object, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UsageError(f"{name} {given!r}: give the bands as a tuple or list, such as (1, 2)")
    return tuple(given)


def bands_of(segment: int) -> tuple[int, int, int]:
    """Return the bands 1..3 of age, earnings, and industry of a joint segment 0..26."""
    return segment // 9 + 1, segment // 3 % 3 + 1, segment % 3 + 1
