"""Theta and price of the exponential mechanism, for every number of workers and support points.

Up to 20 workers a table m is drawn with probability proportional to theta^d c^(occupied points of m). With a suitable
public price c below 1, the normalizers of neighbors differ less, so that a smaller theta keeps the same promise. The
largest ratio of neighbors is found over all partitions of n; no formula is relied on. For one worker, for more than 20,
and where the price would not help, c is 1.

Source: docs/theory/method.md, section 7d.
"""

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from engine.mechanisms.kernels.normalizers import (
    PRICE_UNITS,
    Partitions,
    RatioSpace,
    apart_moves,
    plain_inverse,
    search_price,
    worst_ratio,
)
from engine.mechanisms.thetas import MOST_EXACT_WORKERS, THETA_UNITS, inverse_theta, least_growth

__all__ = ["PRICE_BITS", "PRICE_UNITS", "TableLaw", "law_of", "unpriced_law"]

PRICE_BITS = PRICE_UNITS.bit_length() - 1
"""The price is a whole number of 2^-12."""

_ROUNDING_BITS = 53

_LARGEST_INVERSE = 1 << 40
"""Beyond, theta would be rounded once more for the kernel; a price is only certified for theta as it is."""

_TRIALS = 20

_DOUBT = 1e-6
"""Far more than a floating-point 1 / theta may be off."""


class TableLaw(NamedTuple):
    """1 / theta in units of 2^-20 and the price c in units of 2^-12."""

    inverse_theta: int
    price: int


@cache
def law_of(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw:
    """Return the law of the tables of n workers over k support points.

    Parameters
    ----------
    epsilon : Fraction
        From :func:`engine.mechanisms.thetas.exponential_epsilon`.
    n_points, n_workers : int
        k and n, at least 1.
    """
    if not 1 < n_workers <= MOST_EXACT_WORKERS or n_points == 1:
        return unpriced_law(epsilon, n_points, n_workers)
    priced = _find_priced_law(epsilon, n_points, n_workers)
    if priced is not None and _helps_surely(priced, epsilon, n_workers, n_points):
        return priced
    plain = unpriced_law(epsilon, n_points, n_workers)
    return priced if priced is not None and _helps(priced, plain, n_workers, n_points) else plain


def unpriced_law(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw:
    """Return the law with a price of 1; earlier releases were drawn with it."""
    return TableLaw(inverse_theta(epsilon, n_points, n_workers), PRICE_UNITS)


def _find_priced_law(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw | None:
    """Return a certified law with a price below 1, or None if none is found."""
    growth = least_growth(epsilon)
    partitions, space = _partitions(), _space()
    price, theta = search_price(n_workers, n_points, float(growth), space)
    if price == 0 or not theta > 0.0:
        return None
    inverse = min(int(THETA_UNITS / theta), int(growth * THETA_UNITS))
    for _ in range(_TRIALS):
        # All coefficients are at least 0, and no difference loses digits.
        if not THETA_UNITS < inverse < _LARGEST_INVERSE or price * inverse < 2 * PRICE_UNITS * THETA_UNITS:
            return None
        ratio = worst_ratio(
            n_workers, n_points, THETA_UNITS / inverse, price / PRICE_UNITS, partitions, space
        )
        if not math.isfinite(ratio):
            return None
        allowed = _find_largest_inverse(growth, ratio, n_points)
        if inverse <= allowed:
            return TableLaw(inverse, price)
        inverse = allowed - 1
    return None


def _find_largest_inverse(growth: Fraction, ratio: float, n_points: int) -> int:
    """The largest 1 / theta, in units of 2^-20, that growth allows at most this ratio, whatever its rounding."""
    numerator, denominator = ratio.as_integer_ratio()
    # The ratio of two sums of products of numbers of at least 0, each rounded fewer than 2,000 + 32 k times on any way.
    rounded = (1 << _ROUNDING_BITS) + 4096 + 64 * n_points
    allowed: int = (growth.numerator * THETA_UNITS * denominator << _ROUNDING_BITS) // (
        growth.denominator * numerator * rounded
    )
    return allowed


def _helps_surely(priced: TableLaw, epsilon: Fraction, n_workers: int, n_points: int) -> bool:
    """Whether :func:`_helps` is true for any 1 / theta that the law without a price could have.

    That is a search in exact numbers, which takes far longer than this; where it is needed, this is False.
    """
    if n_workers > n_points:
        return False
    largest = plain_inverse(n_workers, n_points, float(least_growth(epsilon))) * (1.0 + _DOUBT)
    fewest = apart_moves(n_workers, n_points, 1.0 / largest, 1.0)
    moves = apart_moves(n_workers, n_points, THETA_UNITS / priced.inverse_theta, priced.price / PRICE_UNITS)
    return moves * (1.0 + _DOUBT) < fewest


def _helps(priced: TableLaw, plain: TableLaw, n_workers: int, n_points: int) -> bool:
    """Whether fewer workers move even if all live in different points: these tables gain least from a price."""
    if n_workers > n_points:
        return priced.inverse_theta > plain.inverse_theta
    moves = [
        apart_moves(n_workers, n_points, THETA_UNITS / law.inverse_theta, law.price / PRICE_UNITS)
        for law in (priced, plain)
    ]
    return moves[0] < moves[1]


def _space() -> RatioSpace:
    side = MOST_EXACT_WORKERS + 1
    n_partitions = _partitions().parent.size
    return RatioSpace(
        totals=np.empty(n_partitions),
        products=np.empty((n_partitions, side)),
        empties=np.zeros((side, side)),
        factors=np.zeros((side, side)),
        singly=np.zeros((side, side)),
        rows=np.zeros((3, side)),
    )


@cache
def _partitions() -> Partitions:
    """All partitions of 0 to 20."""
    every: list[tuple[int, ...]] = []
    first = [0]
    for n in range(MOST_EXACT_WORKERS + 1):
        every.extend(_partitions_of(n, n))
        first.append(len(every))
    number = {parts: place for place, parts in enumerate(every)}
    joined = [
        sorted({number[larger] for larger in _add_worker(parts)}) if sum(parts) < MOST_EXACT_WORKERS else []
        for parts in every
    ]
    return Partitions(
        first=np.array(first),
        parent=np.array([number[parts[:-1]] for parts in every]),
        last=np.array([parts[-1] if parts else 0 for parts in every]),
        parts=np.array([len(parts) for parts in every]),
        joined_ptr=np.cumsum([0, *map(len, joined)]),
        joined=np.array([partition for numbers in joined for partition in numbers]),
    )


def _partitions_of(n: int, largest: int) -> list[tuple[int, ...]]:
    if n == 0:
        return [()]
    return [
        (part, *rest) for part in range(min(n, largest), 0, -1) for rest in _partitions_of(n - part, part)
    ]


def _add_worker(parts: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The partitions after one more worker has joined a part or a new point."""
    points = (*parts, 0)
    larger = set()
    for joined in range(len(points)):
        counts = [count + (point == joined) for point, count in enumerate(points)]
        larger.add(tuple(sorted((count for count in counts if count), reverse=True)))
    return larger
