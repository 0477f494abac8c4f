"""The chance that a cell's value is unsafe: certified bounds, and whether it exceeds a limit.

The bounds are sums of positive floating-point numbers with a proved error; :mod:`engine.suppression.kernels.unsafe` has
the proof. A chance so close to the limit that they leave the decision open is worked out as an exact fraction if the
cell is small enough, and otherwise counts as too large.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, as_int
from engine.errors import ParameterError
from engine.suppression.kernels import unsafe as kernels
from engine.suppression.rates import Rates
from engine.suppression.suppressed import Ints, check_people
from engine.threads import run_ranges

# The chance of an unsafe value as an exact fraction, for small cells and for decisions that bounds leave open.


def exact_unsafe_probability(people: int, rate: Fraction, low: int, high: int) -> Fraction:
    """P(V < low or V > high) for V ~ Binomial(people, rate), from whole numbers.

    The cost grows with the square of the number of people.

    Parameters
    ----------
    people : int
        At least 0.
    rate : Fraction
        0 to 1.
    low, high : int
        Safe interval; if ``low > high``, every value is unsafe.
    """
    success, failure = rate.numerator, rate.denominator - rate.numerator
    if low > high:
        return Fraction(1)
    if success == 0 or failure == 0:
        certain = people if failure == 0 else 0
        return Fraction(not low <= certain <= high)
    # Terms C(people, k) success^k failure^(people - k); each follows from the one before without a remainder.
    term, unsafe = failure**people, 0
    for k in range(people + 1):
        if not low <= k <= high:
            unsafe += term
        term = term * ((people - k) * success) // ((k + 1) * failure)
    return Fraction(unsafe, rate.denominator**people)


_MOST_EXACT_BITS = 1 << 18
"""Length of the numbers up to which a chance is worked out exactly."""

_MOST_ODDS = 2**100
"""The proof of the bounds takes odds between this and its inverse."""


def unsafe_probability_bounds(
    people: npt.ArrayLike, rates: Rates, low: npt.ArrayLike, high: npt.ArrayLike, *, threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Certified bounds of P(V < low or V > high) for V ~ Binomial(people, rate).

    They differ by a relative 10^-8 or less, unless the chance is below 10^-170: then the lower bound may be 0.

    Parameters
    ----------
    people : int[C]
        People in each cell, 0 to 10^8.
    rates : Rates
        Chance of each of a cell's people [C].
    low, high : int[C]
        Safe intervals; if ``low > high``, every value is unsafe.
    threads : int
        Threads to use; the bounds do not depend on it.

    Returns
    -------
    lower, upper : float64[C]

    Raises
    ------
    ParameterError
        The arrays have different lengths, or a number of people is outside 0 to 10^8.
    """
    cells = _cells(people, rates, as_int("low", low, low=-(2**62)), as_int("high", high, low=-(2**62)))
    lower, upper = np.empty(len(rates)), np.empty(len(rates))
    run_ranges(
        lambda start, stop: kernels.bounds_range(start, stop, cells, kernels.LEAST_NEGLIGIBLE, lower, upper),
        _work(cells.people),
        threads,
    )
    return lower, upper


def are_rarely_unsafe(
    people: Ints, rates: Rates, low: Ints, high: Ints, decision_delta: Fraction, threads: int
) -> BoolArray:
    """Whether each cell's chance of an unsafe value is certainly at most a limit: bool[C]."""
    cells, limit = _cells(people, rates, low, high), limit_below(decision_delta)
    decisions = np.empty(len(rates), dtype=np.int64)
    run_ranges(
        lambda start, stop: kernels.decide_range(start, stop, cells, limit, decisions),
        _work(cells.people),
        threads,
    )
    released: BoolArray = decisions == kernels.RELEASE
    for at in np.flatnonzero(decisions == kernels.OPEN).tolist():
        released[at] = _is_rarely_unsafe_exactly(
            int(people[at]), rates.fraction(at), (int(low[at]), int(high[at])), decision_delta
        )
    return released


def is_rarely_unsafe(
    people: int, odds: tuple[int, int], safe: tuple[int, int], decision_delta: Fraction, limit: float
) -> bool:
    """The same for a single cell whose odds are a quotient of whole numbers of any size.

    Parameters
    ----------
    people : int
    odds : tuple of int
        For, at least 1, and against, at least 0.
    safe : tuple of int
        Lowest and highest safe value.
    decision_delta : Fraction
    limit : float
        :func:`limit_below` of ``decision_delta``.
    """
    yes, no = odds
    if no == 0:
        return safe[0] <= people <= safe[1]
    decision = kernels.OPEN
    if yes <= no * _MOST_ODDS and no <= yes * _MOST_ODDS:
        start = (people + 1) * yes // (yes + no)
        decision = kernels.decide_one(people, yes / no, no / yes, start, *safe, limit)
    if decision != kernels.OPEN:
        return decision == kernels.RELEASE
    return _is_rarely_unsafe_exactly(people, Fraction(yes, yes + no), safe, decision_delta)


def limit_below(decision_delta: Fraction) -> float:
    """Largest float up to ``decision_delta``."""
    near = float(decision_delta)
    return near if Fraction(near) <= decision_delta else float(np.nextafter(near, 0.0))


def _is_rarely_unsafe_exactly(
    people: int, rate: Fraction, safe: tuple[int, int], decision_delta: Fraction
) -> bool:
    if people * rate.denominator.bit_length() > _MOST_EXACT_BITS:
        return False
    return exact_unsafe_probability(people, rate, *safe) <= decision_delta


def _cells(people: npt.ArrayLike, rates: Rates, low: Ints, high: Ints) -> kernels.Cells:
    checked = check_people("people", people, len(rates), "rates")
    if not low.size == high.size == checked.size:
        raise ParameterError(
            f"{low.size} lower and {high.size} upper ends for {checked.size} cells: give one of each per cell"
        )
    return kernels.Cells(checked, rates.numerator, rates.denominator, low, high)


def _work(people: Ints) -> Ints:
    """Relative cost of each cell: the standard deviation of its value, more or less."""
    return np.sqrt(people).astype(np.int64)
