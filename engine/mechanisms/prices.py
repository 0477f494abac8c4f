"""Theta and price of the exponential mechanism, for every number of workers and support points.

Up to 30 workers a table m is drawn with probability proportional to theta^d c^(occupied points of m). With a suitable
public price c below 1, the normalizers of neighbors differ less, so that a smaller theta keeps the same promise. The
largest ratio of neighbors is found over all partitions of n; no formula is relied on. For one worker, for more than 30,
and where the price would not help, c is 1. Theta is then that of the theorem's ratio for n workers, up to 200, and that
of its limit for more.

Source: docs/theory/method.md, section 7d.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Final, Literal, NamedTuple

import numpy as np

from engine.mechanisms.kernels.normalizers import (
    PRICE_UNITS,
    Partitions,
    RatioSpace,
    apart_moves,
    plain_inverse,
    plain_ratio,
    search_price,
    worst_ratio,
)
from engine.mechanisms.thetas import MOST_EXACT_WORKERS, THETA_UNITS, inverse_theta, least_growth

__all__ = [
    "LAWS",
    "MOST_OWN_WORKERS",
    "MOST_PRICED_WORKERS",
    "PRICE_BITS",
    "PRICE_UNITS",
    "LawFinder",
    "LawVersion",
    "TableLaw",
    "law_of",
    "unpriced_law",
]

PRICE_BITS = PRICE_UNITS.bit_length() - 1
"""The price is a whole number of 2^-12."""

MOST_PRICED_WORKERS = 30
"""Up to this many workers all partitions are looked through: there are 5,604 of 30, and 37,338 of 40."""

MOST_OWN_WORKERS = 200
"""For more workers theta is that of any number, which hardly differs."""

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


LawFinder = Callable[[Fraction, int, int], TableLaw]
"""Takes epsilon, k, and n."""


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
    plain = unpriced_law if n_workers <= MOST_EXACT_WORKERS else _own_law
    return _better_law(epsilon, n_points, n_workers, MOST_PRICED_WORKERS, plain)


def _law_to_twenty(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw:
    """Return the law that releases of version 0.1 were drawn with: prices up to 20 workers, the limit for more."""
    return _better_law(epsilon, n_points, n_workers, MOST_EXACT_WORKERS, unpriced_law)


def unpriced_law(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw:
    """Return the law with a price of 1, and the limit beyond 20 workers; the first releases were drawn with it."""
    return TableLaw(inverse_theta(epsilon, n_points, n_workers), PRICE_UNITS)


LawVersion = Literal["unpriced", "priced to 20", "by number"]
"""Which laws a release was drawn with: those of the first releases, of version 0.1, and today's."""

LAWS: Final[Mapping[LawVersion, LawFinder]] = {
    "unpriced": unpriced_law,
    "priced to 20": _law_to_twenty,
    "by number": law_of,
}


def _better_law(
    epsilon: Fraction, n_points: int, n_workers: int, most_priced: int, plain_law: LawFinder
) -> TableLaw:
    """The law with a price where it helps, else the one without."""
    if not 1 < n_workers <= most_priced or n_points == 1:
        return plain_law(epsilon, n_points, n_workers)
    priced = _find_priced_law(epsilon, n_points, n_workers)
    if priced is not None and _helps_surely(priced, epsilon, n_workers, n_points):
        return priced
    plain = plain_law(epsilon, n_points, n_workers)
    return priced if priced is not None and _helps(priced, plain, n_workers, n_points) else plain


def _own_law(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw:
    """The law without a price whose theta is certified for this very number of workers, if that is below the limit's.

    The theorem's ratio in floating point, raised by what rounding may have taken off.
    """
    of_any = unpriced_law(epsilon, n_points, n_workers)
    if n_workers > MOST_OWN_WORKERS or n_points == 1:
        return of_any
    growth = least_growth(epsilon)

    def ratio(inverse: int) -> float:
        return plain_ratio(n_workers, n_points, THETA_UNITS / inverse)

    start = int(plain_inverse(n_workers, n_points, float(growth)) * THETA_UNITS)
    inverse = _certify(start, growth, ratio, n_roundings=4096 + 16 * n_workers)
    return of_any if inverse is None or inverse < of_any.inverse_theta else TableLaw(inverse, PRICE_UNITS)


def _find_priced_law(epsilon: Fraction, n_points: int, n_workers: int) -> TableLaw | None:
    """Return a certified law with a price below 1, or None if none is found."""
    growth = least_growth(epsilon)
    most = MOST_EXACT_WORKERS if n_workers <= MOST_EXACT_WORKERS else MOST_PRICED_WORKERS
    partitions, space = _partitions(most), _space(most)
    price, theta = search_price(n_workers, n_points, float(growth), space)
    if price == 0 or not theta > 0.0:
        return None

    def ratio(inverse: int) -> float:
        # All coefficients are at least 0, and no difference loses digits.
        if not THETA_UNITS < inverse < _LARGEST_INVERSE or price * inverse < 2 * PRICE_UNITS * THETA_UNITS:
            return math.inf
        return worst_ratio(n_workers, n_points, THETA_UNITS / inverse, price / PRICE_UNITS, partitions, space)

    # The ratio of two sums of products of numbers of at least 0, each rounded fewer than 2,000 + 32 k times on any way
    # for 20 workers, and fewer than 8,000 + 64 k times for 30.
    n_roundings = 4096 + 64 * n_points if most == MOST_EXACT_WORKERS else 16384 + 128 * n_points
    start = min(int(THETA_UNITS / theta), int(growth * THETA_UNITS))
    inverse = _certify(start, growth, ratio, n_roundings)
    return None if inverse is None else TableLaw(inverse, price)


def _certify(start: int, growth: Fraction, ratio: Callable[[int], float], n_roundings: int) -> int | None:
    """The first 1 / theta in units of 2^-20, from ``start`` down, that growth allows at its own ratio, or None.

    ``ratio`` is that of normalizers at 1 / theta, rounded at most so many times; infinite where it is not known.
    """
    inverse = start
    for _ in range(_TRIALS):
        here = ratio(inverse)
        if not math.isfinite(here):
            return None
        allowed = _find_largest_inverse(growth, here, n_roundings)
        if inverse <= allowed:
            return inverse
        inverse = allowed - 1
    return None


def _find_largest_inverse(growth: Fraction, ratio: float, n_roundings: int) -> int:
    """The largest 1 / theta, in units of 2^-20, that growth allows at most this ratio, whatever its rounding."""
    numerator, denominator = ratio.as_integer_ratio()
    rounded = (1 << _ROUNDING_BITS) + n_roundings
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


def _space(most: int) -> RatioSpace:
    side = most + 1
    n_partitions = _partitions(most).parent.size
    return RatioSpace(
        totals=np.empty(n_partitions),
        products=np.empty((n_partitions, side)),
        empties=np.zeros((side, side)),
        factors=np.zeros((side, side)),
        singly=np.zeros((side, side)),
        rows=np.zeros((3, side)),
    )


@cache
def _partitions(most: int) -> Partitions:
    """All partitions of 0 to ``most``."""
    every: list[tuple[int, ...]] = []
    first = [0]
    for n in range(most + 1):
        every.extend(_partitions_of(n, n))
        first.append(len(every))
    number = {parts: place for place, parts in enumerate(every)}
    joined = [
        sorted(number[larger] for larger in _add_worker(parts)) if place < first[most] else []
        for place, parts in enumerate(every)
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


def _add_worker(parts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The partitions after one more worker has joined a part or a new point."""
    # Of equal parts, the first grows: so the parts go on falling.
    joined = [at for at, part in enumerate(parts) if at == 0 or part < parts[at - 1]]
    return [(*parts[:at], parts[at] + 1, *parts[at + 1 :]) for at in joined] + [(*parts, 1)]
