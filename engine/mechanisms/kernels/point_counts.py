"""How many real workers of each point a large table of the exponential mechanism shows: the law of one point, inverted.

Source: docs/theory/method.md, section 7f.
"""

from typing import NamedTuple

import numpy as np

from engine.jit import lean_jit
from engine.kernels.arrays import Bools, Indices, Ints, PointLists
from engine.mechanisms.kernels.cleaning import FREED_BITS, FreedSpace, occupied_points
from engine.mechanisms.kernels.exponential import Thetas
from engine.mechanisms.kernels.normalizers import PRICE_UNITS

__all__ = ["PointCounts", "read_units_range"]

_HALVINGS = 40
_LARGEST_U = 0.9  # above, a point may lose any number of workers, and its released number says too little
_NEARLY_LARGEST_U = 0.8991


class PointCounts(NamedTuple):
    """What is read of units, in 2^-20 of a worker.

    Whether a unit could be read, and the real workers of a point that it shows empty, [units]. The occupied points of
    each unit and how many more real workers each has than an empty one, at the places of its workers.
    """

    is_read: Bools
    empty: Ints
    point: Indices
    more: Ints


@lean_jit
def _power(base: float, exponent: int) -> float:
    """Power by repeated squaring: products only, so that every machine finds the same."""
    result = 1.0
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@lean_jit
def _sum_terms(count: int, theta: float, v: float) -> float:
    """Y of docs/theory/method.md, section 7f."""
    if count == 0:
        return 0.0
    u = theta / v
    weight = u * (1.0 - _power(u, count - 1)) / (1.0 - u) + 1.0 / (1.0 - v)
    return count / (1.0 - v) + u * weight / (1.0 - theta)


@lean_jit
def _estimate(count: int, theta: float, v: float) -> float:
    """Real workers of a point that shows so many: its mean is the real number, whatever that is."""
    return _sum_terms(count, theta, v) - v * _sum_terms(count + 1, theta, v)


@lean_jit
def _odds(counts: Ints, n_occupied: int, n_workers: int, n_points: int, theta: float) -> float:
    """Odds v of one more worker in a point, for which the estimates add up to the unit's workers."""
    low, high = theta / _LARGEST_U, 1.0
    for _ in range(_HALVINGS):
        v = (low + high) / 2.0
        total = (n_points - n_occupied) * _estimate(0, theta, v)
        for place in range(n_occupied):
            total += _estimate(counts[place], theta, v)
        if total > n_workers:
            low = v
        else:
            high = v
    return (low + high) / 2.0


@lean_jit
def read_units_range(
    bounds: tuple[int, int],
    workers: PointLists,
    tract: Indices,
    n_support: Ints,
    thetas: Thetas,
    least_workers: int,
    space: FreedSpace,
    point_counts: PointCounts,
) -> int:
    """Read units ``bounds`` of at least so many workers point by point, as far as they can be read; returns -1.

    Units with a price are left out: what a point shows of its workers then depends on more than its own count.
    """
    for unit in range(bounds[0], bounds[1]):
        start = workers.ptr[unit]
        n_workers = workers.ptr[unit + 1] - start
        theta = thetas.numerator[unit] / thetas.denominator[unit]
        if n_workers < least_workers or theta >= _LARGEST_U or thetas.price[unit] < PRICE_UNITS:
            continue
        n_occupied = occupied_points(workers, unit, space)
        n_points = n_support[tract[unit]]
        v = _odds(space.counts, n_occupied, n_workers, n_points, theta)
        if theta >= _NEARLY_LARGEST_U * v:
            continue
        point_counts.is_read[unit] = True
        empty = np.int64(np.floor(_estimate(0, theta, v) * (1 << FREED_BITS)))
        point_counts.empty[unit] = empty
        for place in range(n_occupied):
            shown = np.int64(np.floor(_estimate(space.counts[place], theta, v) * (1 << FREED_BITS)))
            point_counts.point[start + place] = space.occupied[place]
            point_counts.more[start + place] = shown - empty
    return -1
