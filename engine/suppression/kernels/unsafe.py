"""Certified bounds of the chance that a binomial count lies outside an interval, and decisions by them.

V ~ Binomial(b, p). Weights w_k = P(V = k) / P(V = s) are computed from a start s near the mode, upward and downward,
by w_{k+1} = w_k r_k with r_k = (b - k) o / (k + 1) and the odds o = p / (1 - p). Then

    P(V outside) = (sum of w_k outside) / (sum of all w_k).

*Why the bounds hold.* Only positive numbers are added, multiplied and divided, each operation rounded once, by a
factor 1 + d with |d| ≤ u = 2^-53. Whole numbers up to 10^8 are exact, and o is rounded once. So r_k carries 3 such
factors and w_k, after n steps, 4 n, either way up. A sum of N weights adds at most N factors to each of them. Where a
side is cut after w_k, the ratios still to come fall, so that the rest is at most w_k r_k / (1 - r_k); r_k is raised by
1 + 8 u before, which covers its own error. The rest takes 8 factors more. Both sums are therefore within
(1 - u)^-m of the truth, m = 5 N + 12, and their quotient within (1 - u)^-(2 m + 4) ≤ 1 + (16 N + 64) u, for every
N ≤ 10^8 + 1. This is the factor by which a bound is moved outward.

*No underflow.* A side is cut once the rest is at most ``negligible`` ≥ 2^-600. Until then w_k is above
``negligible`` × 2^-54, and one step divides it by at most 2^128, since the odds lie within 2^-100 to 2^100.

Multiplication, division and addition are correctly rounded on every processor, the order is fixed, and no function of
a mathematical library is called. So the bounds are the same numbers wherever they are computed.

Symbols: b people, k value, o odds, w weight, r ratio.
"""

from typing import NamedTuple

import numpy as np

from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Ints

__all__ = [
    "LEAST_NEGLIGIBLE",
    "OPEN",
    "RELEASE",
    "SUPPRESS",
    "BinomialCell",
    "Cells",
    "bounds_range",
    "decide_one",
    "decide_range",
]

SUPPRESS = 0
RELEASE = 1
OPEN = 2
"""The bounds lie on both sides of the limit."""

LEAST_NEGLIGIBLE = 2.0**-600
"""Least rest of a side at which it may be cut, relative to the likeliest value."""

_ROUNDING = 2.0**-53
_RAISED = 1 + 8 * _ROUNDING
_COARSE = 2.0**-12
_FINE = 2.0**-64


class BinomialCell(NamedTuple):
    """People, odds of a yes and of a no (each rounded once), a value near the mode, and the safe interval."""

    people: int
    odds: float
    odds_against: float
    start: int
    low: int
    high: int


class Cells(NamedTuple):
    """Cells with rational rates; each [C]."""

    people: Ints
    numerator: Ints
    denominator: Ints
    low: Ints
    high: Ints


@lean_jit
def _sums_above(cell: BinomialCell, negligible: float) -> tuple[float, float, float, int]:
    """Weights of the values above the start: sums within and outside the interval, the rest, number of weights."""
    people, odds, low, high = cell.people, cell.odds, cell.low, cell.high
    within, outside, rest, weight = 0.0, 0.0, 0.0, 1.0
    k = cell.start
    while k < people:
        ratio = np.float64(people - k) * odds / np.float64(k + 1)
        if weight < negligible:
            raised = ratio * _RAISED
            if raised < 1:
                rest = weight * raised / (1 - raised)
                if rest <= negligible:
                    return within, outside, rest, k - cell.start
        weight *= ratio
        k += 1
        if low <= k <= high:
            within += weight
        else:
            outside += weight
    return within, outside, 0.0, people - cell.start


@lean_jit
def _bounds_of(cell: BinomialCell, negligible: float) -> tuple[float, float]:
    """Lower and upper bound of P(V < low or V > high)."""
    if cell.low > cell.high:
        return 1.0, 1.0
    if cell.low <= 0 and cell.high >= cell.people:
        return 0.0, 0.0
    people = cell.people
    is_within = cell.low <= cell.start <= cell.high
    within, outside, rest, n = _sums_above(cell, negligible)
    mirrored = BinomialCell(
        people, cell.odds_against, cell.odds, people - cell.start, people - cell.high, people - cell.low
    )
    within_below, outside_below, rest_below, n_below = _sums_above(mirrored, negligible)
    within = within + within_below + (1.0 if is_within else 0.0)
    outside = outside + outside_below + (0.0 if is_within else 1.0)
    rest = rest + rest_below
    total = within + outside
    slack = np.float64(16 * (n + n_below + 1) + 64) * _ROUNDING
    lower = outside / (total + rest) * (1 - slack)
    upper = (outside + rest) / total * (1 + slack)
    return lower, min(upper, 1.0)


@lean_jit
def _decide(cell: BinomialCell, limit: float) -> int:
    """Whether P(V < low or V > high) is at most a limit: ``RELEASE``, ``SUPPRESS``, or ``OPEN``.

    The limit is the largest float up to the true one. A bound is a float, so that it exceeds one if it exceeds
    the other. A coarse cut of the sides decides nearly always; otherwise a finer one is tried.
    """
    for cut in (_COARSE, _FINE):
        lower, upper = _bounds_of(cell, max(limit * cut, LEAST_NEGLIGIBLE))
        if upper <= limit:
            return RELEASE
        if lower > limit:
            return SUPPRESS
    return OPEN


@lean_jit
def decide_one(
    people: int, odds: float, odds_against: float, start: int, low: int, high: int, limit: float
) -> int:
    """Decide one cell, given by the fields of a :class:`BinomialCell`."""
    return _decide(BinomialCell(people, odds, odds_against, start, low, high), limit)


@lean_jit
def _cell(cells: Cells, at: int) -> BinomialCell:
    people = cells.people[at]
    ones = cells.numerator[at]
    zeros = cells.denominator[at] - ones
    return BinomialCell(
        people,
        np.float64(ones) / np.float64(zeros),
        np.float64(zeros) / np.float64(ones),
        (people + 1) * ones // cells.denominator[at],
        cells.low[at],
        cells.high[at],
    )


@lean_jit
def decide_range(start: int, stop: int, cells: Cells, limit: float, decisions: Ints) -> int:
    """Decide cells ``start`` to ``stop - 1``; return how many remain open."""
    n_open = 0
    for at in range(start, stop):
        decisions[at] = _decide(_cell(cells, at), limit)
        n_open += decisions[at] == OPEN
    return n_open


@lean_jit
def bounds_range(start: int, stop: int, cells: Cells, negligible: float, lower: Floats, upper: Floats) -> int:
    """Bounds for cells ``start`` to ``stop - 1``."""
    for at in range(start, stop):
        lower[at], upper[at] = _bounds_of(_cell(cells, at), negligible)
    return stop - start
