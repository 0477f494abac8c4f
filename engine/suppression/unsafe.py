"""Bounds of the chance that a cell's value is unsafe."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, as_int
from engine.suppression.exact import exact_unsafe_probability
from engine.suppression.rates import Rates
from engine.suppression.suppressed import check_people

__all__ = ["unsafe_probability_bounds"]


def unsafe_probability_bounds(
    people: npt.ArrayLike, rates: Rates, low: npt.ArrayLike, high: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Certified bounds of P(V < low or V > high) for V ~ Binomial(people, rate): lower and upper, each float64[C].

    Raises
    ------
    ParameterError
        The arrays have different lengths, or a number of people is outside 0 to 10^8.
    """
    people = check_people("people", people, len(rates), "rates")
    low, high = as_int("low", low), as_int("high", high, low=-1)
    exact = [
        exact_unsafe_probability(int(people[at]), rates.fraction(at), int(low[at]), int(high[at]))
        for at in range(people.size)
    ]
    return (np.array([_rounded(one, -1) for one in exact]), np.array([_rounded(one, 1) for one in exact]))


def _rounded(value: Fraction, direction: int) -> float:
    near = float(value)
    if (Fraction(near) - value) * direction >= 0:
        return near
    return float(np.nextafter(near, direction * np.inf))
