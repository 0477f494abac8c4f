"""The numbers of answers: counts, distances and ratios of synthetic workers, each with its expected error.

In Python they behave as numbers: `int(n)`, `n + m`, `n / m`, `n > 10`, and `n == 10` use their values. The result is a
plain number without an expected error, because the errors of two numbers of one release are not independent.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mapapp.base.errors import UsageError


def caution(workers: int) -> str:
    """Return the caution that a count calls for; empty for 0 and for 10 or more."""
    if workers >= 10 or workers == 0:
        return ""
    return "caution" if workers >= 3 else "substantial variability"


class _Measure:
    """What numbers have in common: arithmetic with their values, and `error` as a short name."""

    __slots__: tuple[str, ...] = ()

    value: float | None
    expected_error: float | None

    @property
    def error(self) -> float | None:
        """The expected error; the same as `expected_error`."""
        return self.expected_error

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {name: getattr(self, name) for name in self.__slots__}

    def _number(self) -> float:
        """Return the value.

        Raises
        ------
        UsageError
            If there is none.
        """
        if self.value is None:
            raise UsageError(
                f"this {type(self).__name__} has no value: {self._why_not()}; check for None first"
            )
        return self.value

    def _why_not(self) -> str:
        return getattr(self, "caution", "") or "nobody is counted"

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __round__(self, digits: int | None = None) -> float:
        return round(self._number(), digits)

    def __format__(self, form: str) -> str:
        return format(self._number(), form) if form else str(self)

    def __neg__(self) -> float:
        return -self._number()

    def __abs__(self) -> float:
        return abs(self._number())

    def __add__(self, other: object) -> float:
        return _apply(operator.add, self, other)

    def __radd__(self, other: object) -> float:
        return _apply(operator.add, other, self)

    def __sub__(self, other: object) -> float:
        return _apply(operator.sub, self, other)

    def __rsub__(self, other: object) -> float:
        return _apply(operator.sub, other, self)

    def __mul__(self, other: object) -> float:
        return _apply(operator.mul, self, other)

    def __rmul__(self, other: object) -> float:
        return _apply(operator.mul, other, self)

    def __truediv__(self, other: object) -> float:
        return _apply(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> float:
        return _apply(operator.truediv, other, self)

    def __lt__(self, other: object) -> bool:
        return bool(_apply(operator.lt, self, other))

    def __le__(self, other: object) -> bool:
        return bool(_apply(operator.le, self, other))

    def __gt__(self, other: object) -> bool:
        return bool(_apply(operator.gt, self, other))

    def __ge__(self, other: object) -> bool:
        return bool(_apply(operator.ge, self, other))

    def __eq__(self, other: object) -> bool:
        """Compare two numbers of answers in every field, and any other number with the value."""
        if isinstance(other, type(self)):
            return self.to_dict() == other.to_dict()
        return bool(self.value == other) if isinstance(other, int | float) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)


def _apply(operation: Callable[[float, float], float], first: object, second: object) -> float:
    """Return the result of an operator on values; NotImplemented if an operand is not a number."""
    values = [part._number() if isinstance(part, _Measure) else part for part in (first, second)]
    numbers = [part for part in values if isinstance(part, int | float)]
    if len(numbers) < 2:
        return NotImplemented  # type: ignore[no-any-return]  # as Python wants it of an operator
    return operation(*numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Number(_Measure):
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


@dataclass(frozen=True, slots=True, eq=False)
class Miles(_Measure):
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


@dataclass(frozen=True, slots=True, eq=False)
class Ratio(_Measure):
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


MEASURES: Final = (Number, Miles, Ratio)
"""Types of the numbers of an answer that may have an expected error."""

Value = Number | Miles | Ratio | float | None
"""A number of an answer: with an expected error, or a plain share; None if neither exists."""


# The type of one row of a table.

Row: TypeAlias = Any
"""A row as `DataFrame.itertuples` yields it. Its columns are attributes, and pandas knows neither names nor types."""
