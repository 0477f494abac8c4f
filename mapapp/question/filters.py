"""Which workers a question is about: bands of age, earnings and industry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from geodata.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS, N_SEGMENTS
from mapapp.errors import UsageError

BANDS: Final = (1, 2, 3)
CHARACTERISTICS: Final = {"age": AGE_BANDS, "earnings": EARNINGS_BANDS, "industry": INDUSTRY_GROUPS}
"""Characteristic to the labels of its bands 1, 2 and 3."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Bands to keep; all of them where there are none.

    Attributes
    ----------
    age, earnings, industry : tuple of int
        Bands 1..3, ascending, each once; other orders and lists are brought into that form.

    Raises
    ------
    UsageError
        For a band that is none.
    """

    age: Sequence[int] = ()
    earnings: Sequence[int] = ()
    industry: Sequence[int] = ()

    def __post_init__(self) -> None:
        for name in CHARACTERISTICS:
            given = tuple(getattr(self, name))
            wrong = [band for band in given if band not in BANDS]
            if wrong:
                raise UsageError(f"{name} {wrong[0]!r}: bands are 1, 2 and 3; choose among these")
            kept = tuple(sorted(set(given)))
            object.__setattr__(self, name, kept if len(kept) < len(BANDS) else ())

    @property
    def segments(self) -> list[int]:
        """Joint segments 0..26 that are kept, ascending."""
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
        """The kept bands in words; empty when all are kept."""
        return "; ".join(
            " or ".join(labels[band - 1] for band in getattr(self, name))
            for name, labels in CHARACTERISTICS.items()
            if getattr(self, name)
        )


def bands_of(segment: int) -> tuple[int, int, int]:
    """Bands 1..3 of age, earnings and industry of a joint segment 0..26."""
    return segment // 9 + 1, segment // 3 % 3 + 1, segment % 3 + 1
