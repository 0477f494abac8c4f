"""What Nabar and Mishra's theorems say about tables, as functions: for tests and replications, never for decisions.

The bounds of Theorems 5 and 6 hold, but they are loose, and their proofs have gaps. docs/theory/suppressed-tables.md,
"What differs from the paper", lists them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from engine.errors import ParameterError
from engine.suppression.cells import safe_intervals
from engine.suppression.rates import Rates
from engine.suppression.unsafe import exact_unsafe_probability

__all__ = [
    "ChernoffTerms",
    "chernoff_terms",
    "folklore_private",
    "folklore_semantic",
    "likelihood_ratio",
    "release_bound",
    "safe_share",
    "whole_table_bound",
]


class ChernoffTerms(NamedTuple):
    """Bounds of the chances that a cell's value is more than rho above and below its mean."""

    above: float
    below: float


def folklore_semantic(epsilon: Fraction) -> Fraction:
    """Semantic privacy that follows from epsilon-privacy (Definition 3): the same epsilon, for any set of values."""
    return epsilon


def folklore_private(epsilon: Fraction) -> Fraction:
    """Epsilon of Definition 3 that follows from semantic privacy: 2 epsilon / (1 - epsilon), which is attained."""
    if not 0 < epsilon < 1:
        raise ParameterError(f"epsilon = {epsilon}: give a number above 0 and below 1")
    return 2 * epsilon / (1 - epsilon)


def likelihood_ratio(people: int, rate: Fraction, value: int | Fraction) -> Fraction:
    """P(V | X = 1) / P(V | X = 0) for a person of a cell whose people all have one rate."""
    return Fraction(value) / (people - value) * (1 - rate) / rate


def chernoff_terms(people: int, margin: float, epsilon: float) -> ChernoffTerms:
    """The terms of Theorems 5 and 6 for a cell.

    Parameters
    ----------
    people : int
        People in the cell.
    margin : float
        Delta: all rates lie between it and 1 minus it, 0 < margin ≤ ½.
    epsilon : float
        Bound on the relative shift of a belief.
    """
    if not 0 < margin <= 0.5:
        raise ParameterError(f"margin = {margin}: give a number above 0, at most 0.5")
    rho = margin * math.log1p(epsilon)
    expected = people * margin
    above = math.exp(expected * (rho - (1 + rho) * math.log1p(rho)))
    return ChernoffTerms(above, math.exp(-(rho**2) * expected / 2))


def whole_table_bound(people: int, margin: float, epsilon: float, n_cells: int) -> float:
    """Theorem 5: a lower bound of the chance that a table can be released whole.

    As printed, the base is negative for few people, and an even number of cells turns it into a large chance. Here it
    is at least 0.
    """
    return max(0.0, 1.0 - sum(chernoff_terms(people, margin, epsilon))) ** n_cells


def release_bound(delta: float, ell: float) -> float:
    """Theorem 6: a lower bound of the chance that the total of a single cell is released.

    It applies if the terms of the cell add up to less than delta / ell. The paper does not say that ell must
    exceed 2.
    """
    if ell <= 2:
        raise ParameterError(f"ell = {ell}: give a number above 2")
    half = ell / 2
    return 1.0 - math.exp((half - 1 - half * math.log(half)) / ell * math.log(1 / delta))


def safe_share(people: int, rate: Fraction, epsilon: Fraction) -> Fraction:
    """Chance that the value of a cell is safe to release, exactly."""
    rates = Rates(numerator=np.array([rate.numerator]), denominator=np.array([rate.denominator]))
    low, high = safe_intervals(np.array([people]), rates, epsilon)
    return 1 - exact_unsafe_probability(people, rate, int(low[0]), int(high[0]))
