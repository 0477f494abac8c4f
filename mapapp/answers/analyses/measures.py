"""The numbers of answers: counts, distances and ratios of synthetic workers, each with its expected error."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, TypeAlias


def caution(workers: int) -> str:
    """Return the caution that a count calls for; empty for 0 and for 10 or more."""
    if workers >= 10 or workers == 0:
        return ""
    return "caution" if workers >= 3 else "substantial variability"


@dataclass(frozen=True, slots=True)
class Number:
    """One count of synthetic workers.

    Attributes
    ----------
    value : int
        Workers; a change may be negative.
    expected_error : float or None
        Expected root mean squared error of the release's mechanism, in workers; None if it is unknown or was not
        requested (`Release.with_errors`). 0 for a count by workplace alone, because these are published unchanged.
    caution : str
        Result of :func:`caution`.
    """

    value: int
    expected_error: float | None = None
    caution: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Miles:
    """One distance of synthetic workers.

    Attributes
    ----------
    value : float or None
        Great-circle miles; None if there are no workers.
    expected_error : float or None
        Expected root mean squared error of the release's mechanism, in miles; None if it is unknown or was not
        requested (`Release.with_errors`).
    """

    value: float | None
    expected_error: float | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One ratio of counts.

    Attributes
    ----------
    value : float or None
        None if the denominator is too small.
    expected_error : float or None
        Expected root mean squared error of the release's mechanism; None if it is unknown or was not requested
        (`Release.with_errors`).
    caution : str
        Why there is no value; empty if there is one.
    """

    value: float | None
    expected_error: float | None = None
    caution: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return dataclasses.asdict(self)


MEASURES: Final = (Number, Miles, Ratio)
"""Types of the numbers of an answer that may have an expected error."""

Value = Number | Miles | Ratio | float | None
"""A number of an answer: with an expected error, or a plain share; None if neither exists."""


# The type of one row of a table.

Row: TypeAlias = Any
"""A row as `DataFrame.itertuples` yields it. Its columns are attributes, and pandas knows neither names nor types."""
