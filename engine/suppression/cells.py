"""Independent cells of a yes-or-no value: safe intervals in closed form, and the exact suppressor.

Symbols: b people of a cell, p the rate, V the value, e epsilon.

Source: Nabar and Mishra, Definition 1 and Algorithm 3; docs/theory/suppressed-tables.md.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray
from engine.suppression.rates import Rates
from engine.suppression.suppressed import (
    Decided,
    Ints,
    check_people,
    check_promise,
    check_values,
    stop_at_breach,
)
from engine.suppression.unsafe import are_rarely_unsafe

__all__ = ["releasable", "safe_interval", "safe_intervals", "suppress_cells"]


def safe_intervals(people: npt.ArrayLike, rates: Rates, epsilon: Fraction) -> tuple[Ints, Ints]:
    """Values of each cell that move nobody's belief by more than epsilon relative to the prior.

    Everyone in a cell has the rate p, so that the posterior of each is V / b. It must lie within p (1 ± e), and
    1 - V / b within (1 - p) (1 ± e).

    Parameters
    ----------
    people : int[C]
        People in each cell, 0 to 10^8.
    rates : Rates
        The prior of each cell's people [C].
    epsilon : Fraction
        0 < epsilon < 1, with a denominator of at most 2^31 - 1.

    Returns
    -------
    low, high : int64[C]
        If ``low > high``, no value is safe.

    Raises
    ------
    ParameterError
        Epsilon or a number of people is out of range, or the arrays have different lengths.
    """
    check_promise(epsilon)
    people = check_people("people", people, len(rates), "rates")
    ones, zeros = rates.numerator, rates.denominator - rates.numerator
    less, more = 1 - epsilon, 1 + epsilon
    low = np.maximum(
        _multiply_up(people, ones, rates.denominator, less),
        people - _multiply_down(people, zeros, rates.denominator, more),
    )
    high = np.minimum(
        _multiply_down(people, ones, rates.denominator, more),
        people - _multiply_up(people, zeros, rates.denominator, less),
    )
    return low, high


def safe_interval(people: int, rate: Fraction, epsilon: Fraction) -> tuple[int, int]:
    """:func:`safe_intervals` of one cell, of any size and without checks."""
    numerator, denominator, base = rate.numerator, rate.denominator, epsilon.denominator
    zero, less, more = denominator - numerator, base - epsilon.numerator, base + epsilon.numerator
    of_all = denominator * base
    low = max(-(-people * numerator * less // of_all), people - people * zero * more // of_all)
    high = min(people * numerator * more // of_all, people + -people * zero * less // of_all)
    return low, high


def _multiply_down(people: Ints, numerator: Ints, denominator: Ints, factor: Fraction) -> Ints:
    """Whole part of people × numerator / denominator × factor.

    Whole parts of quotients may be taken one after another. No product passes 2^63: people are below 2^27, the
    numbers of a rate and of epsilon below 2^31, and so factor.numerator below 2^32.
    """
    whole, rest = np.divmod(people * numerator, denominator)
    times = factor.numerator
    return (whole * times + rest * times // denominator) // factor.denominator


def _multiply_up(people: Ints, numerator: Ints, denominator: Ints, factor: Fraction) -> Ints:
    """The same, rounded up."""
    whole, rest = np.divmod(people * numerator, denominator)
    times = factor.numerator
    return -(-(whole * times - (-(rest * times) // denominator)) // factor.denominator)


def releasable(
    people: npt.ArrayLike, rates: Rates, epsilon: Fraction, decision_delta: Fraction, *, threads: int = 1
) -> BoolArray:
    """Whether each cell may be released: its chance of an unsafe value is certainly at most ``decision_delta``.

    Only public numbers decide, so that the decision says nothing about the values.

    Parameters
    ----------
    people : int[C]
        People in each cell, 0 to 10^8.
    rates : Rates
        The prior of each cell's people [C].
    epsilon : Fraction
        0 < epsilon < 1.
    decision_delta : Fraction
        Delta divided by the number of decisions, 0 < decision_delta < 1.
    threads : int
        Threads to use; the decisions do not depend on it.

    Raises
    ------
    ParameterError
        A parameter is out of range, or the arrays have different lengths.
    """
    check_promise(epsilon, decision_delta)
    low, high = safe_intervals(people, rates, epsilon)
    checked = check_people("people", people, len(rates), "rates")
    return are_rarely_unsafe(checked, rates, low, high, decision_delta, threads)


def suppress_cells(
    people: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    threads: int = 1,
) -> Decided:
    """Decide independent cells in order: the exact suppressor.

    Parameters
    ----------
    people : int[C]
        People in each cell, 0 to 10^8.
    rates : Rates
        The prior of each cell's people [C].
    values : int[C]
        How many of the people have the counted value. Values of suppressed cells are not read: to decide a
        published table again, give 0 for them.
    epsilon : Fraction
        0 < epsilon < 1.
    decision_delta : Fraction
        Delta divided by the number of decisions, 0 < decision_delta < 1.
    threads : int
        Threads to use; the decisions do not depend on it.

    Raises
    ------
    ParameterError
        A parameter is out of range, a value exceeds its people, or the arrays have different lengths.
    """
    check_promise(epsilon, decision_delta)
    checked = check_people("people", people, len(rates), "rates")
    counts = check_values(values, checked)
    low, high = safe_intervals(checked, rates, epsilon)
    may = are_rarely_unsafe(checked, rates, low, high, decision_delta, threads)
    return stop_at_breach(may, counts, low, high)
