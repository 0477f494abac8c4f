"""What noise the exponential mechanism is expected to have put into a workplace tract's tables, as they were released.

A table has the n workers of a cell, block or tract over k support points: those whom the mechanism draws together. The
number of workers whom it redraws hardly differs between a real table and the one that it becomes: on Rhode Island the
two agree to within 1% by workplace tract, for epsilon from 2 to 8.98. So released tables take the place of real ones.

A large table shows how many real workers each of its points has, without a prior. The number m of released workers of a
point depends on the others through one number alone, v: given x real workers, it has the weight u^(x - m) below x and
v^(m - x) above, with u v = theta. A point with more workers loses more, but no more than u / (1 - u) in the mean. With
W_x the sum of these weights and Y_0 = 0,

    W_x     = (u + ... + u^x) + 1 / (1 - v)
    Y_x     = x / (1 - v) + u W_(x-1) / (1 - theta)
    T(m)    = Y_m - v Y_(m+1)                                   has the mean x, whatever x is
    Y2_x    = x^2 / (1 - v) + u (2 x - 1) W_(x-1) / (1 - theta)
    T2(m)   = Y2_m - v Y2_(m+1)                                 has the mean x^2
    V(m)    = T(m)^2 - T2(m)                                    has the mean Var[T(m)]

To see the first, let S_x be the sum of weight times T. Then S_x - u S_(x-1) = (1 - theta) Y_x, and Y_x = T(x) + v
Y_(x+1); the mean of T is x if S_x = x W_x, and W_x - u W_(x-1) = (1 - theta) / (1 - v). The same with x^2 gives T2.

The number v is that for which all T add up to the public number of workers. Where u is 1 or more, a point may lose any
number of workers, and the estimates are of no use.

Source: docs/theory/method.md, section 7d; docs/theory/expected-errors.md, "Under the exponential mechanism".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.certificate_terms import ExponentialTerms
from mapapp.answers.errors.redrawn_workers import FULLNESS, expect_redrawn
from mapapp.answers.errors.support_prior import TractPrior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

__all__ = [
    "DrawnTables",
    "ExponentialNoise",
    "NoiseOfTables",
    "ReleasedRows",
    "ReleasedTables",
    "point_estimates",
    "tables_of",
]

_HALVINGS: Final = 40
_LARGEST_U: Final = 0.9
_LEAST_READ: Final = 21  # workers of a table that shows the workers of its points


class ReleasedRows(NamedTuple):
    """The released commutes to one workplace tract.

    Attributes
    ----------
    block, segment : int64[rows]
        Workplace block and segment.
    home_tract : int64[rows]
    workers : int64[rows]
        At least 1.
    """

    block: Ints
    segment: Ints
    home_tract: Ints
    workers: Ints


ReleasedTables = Callable[[int], ReleasedRows]
"""Returns the released commutes to a workplace tract."""


class DrawnTables(NamedTuple):
    """Tables of a workplace tract, point by point.

    Attributes
    ----------
    table, point : int64[rows]
        Number of the table, ascending, and support point.
    workers : int64[rows] or float64[rows]
        Whole numbers, unless the table is what is expected.
    n_workers : int64[tables]
    """

    table: Ints
    point: Ints
    workers: Ints | Floats
    n_workers: Ints


class NoiseOfTables(NamedTuple):
    """What the mechanism is expected to have done to tables over k points.

    Attributes
    ----------
    freed : float64[tables]
        Workers who are expected to be spread over all points.
    gained_variance : float64[tables]
        If the s of a point is its share in a home area, the variance of those who arrive there is this times the
        variance of s over all k points.
    lost_variance : float64[rows]
        Variance of the number of workers whom each point loses.
    kept_at : float64[tables, len(FULLNESS)]
        Part of its workers that a point keeps that has so many.
    lost : float64[rows]
        Workers whom each point loses, where that does not depend on how many it has; otherwise 0.
    gained : float64[tables]
        Workers who seem to have arrived at all points together; those who were freed, unless points are read one by
        one.
    """

    freed: Floats
    gained_variance: Floats
    lost_variance: Floats
    kept_at: Floats
    lost: Floats
    gained: Floats


def tables_of(rows: ReleasedRows, unit: str, prior: TractPrior) -> DrawnTables:
    """Return the tables that were drawn together, over the support points of their tract."""
    n_shares = prior.share.size
    number = {"cell": rows.block * 32 + rows.segment, "block": rows.block, "tract": 0 * rows.block}[unit]
    table = np.unique(number, return_inverse=True)[1].reshape(-1)
    key, inverse = np.unique(table * n_shares + prior.point[rows.home_tract], return_inverse=True)
    workers = np.bincount(inverse.reshape(-1), rows.workers).astype(np.int64)
    table = key // n_shares
    return DrawnTables(table, key % n_shares, workers, np.bincount(table, workers).astype(np.int64))


@dataclass(frozen=True, slots=True)
class ExponentialNoise:
    """Of the exponential mechanism: R workers of a table are freed, and become a uniform multiset of all k points."""

    terms: ExponentialTerms

    @property
    def unit(self) -> str:
        """Return which workers are drawn together."""
        return self.terms.unit

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return E[R], the variance of who arrives, and the variance of who leaves."""
        at = int(np.argmin(np.abs(self.terms.n_support - n_points)))
        k = int(self.terms.n_support[at])
        kind = np.minimum(tables.n_workers, self.terms.theta.shape[1]) - 1
        first = np.flatnonzero(np.diff(tables.table, prepend=-1))
        workers = np.ceil(tables.workers).astype(np.int64)
        moments = expect_redrawn(k, self.terms.theta[at, kind], first, workers, self.terms.price[at, kind])
        freed = moments.of_table
        gained_variance: Floats = (freed**2 + moments.variance_of_table + k * freed) / (k + 1.0)
        most = np.minimum(FULLNESS, np.maximum(tables.n_workers, 1)[:, None])
        kept_at = np.clip(1.0 - moments.lost_at / most, 0.0, 1.0)
        lost = np.zeros(moments.variance.size)
        noise = NoiseOfTables(freed, gained_variance, moments.variance, kept_at, lost, freed)
        large = np.flatnonzero((tables.n_workers >= _LEAST_READ) & (self.terms.price[at, kind] == 1.0))
        if not large.size:
            return noise
        of_large = np.isin(tables.table, large)
        number = np.cumsum(np.isin(np.arange(first.size), large)) - 1
        some = DrawnTables(
            number[tables.table[of_large]],
            tables.point[of_large],
            tables.workers[of_large],
            tables.n_workers[large],
        )
        estimates = point_estimates(n_points, self.terms.theta[at, kind[large]], some)
        return _use_estimates(noise, some, n_points, estimates, (large, of_large))


def _use_estimates(
    noise: NoiseOfTables,
    some: DrawnTables,
    n_points: float,
    estimates: PointEstimates,
    place: tuple[Ints, Bools],
) -> NoiseOfTables:
    """Return the noise of tables, some of which show the real workers of their points without a prior.

    What is estimated of an empty point is taken to have arrived at every point, and the rest to have been lost.
    """
    use = estimates.is_bounded
    row = use[some.table]
    at, at_row = place[0][use], np.flatnonzero(place[1])[row]
    freed, gained_variance, lost_variance, kept_at, lost, gained = (part.copy() for part in noise)
    freed[at] = estimates.freed[use]
    gained[at] = -n_points * estimates.empty[use]
    gained_variance[at] = n_points * estimates.empty_variance[use]
    lost[at_row] = (estimates.workers - estimates.empty[some.table] - some.workers)[row]
    lost_variance[at_row] = (estimates.variance - estimates.empty_variance[some.table])[row]
    kept_at[at] = 1.0
    return NoiseOfTables(freed, gained_variance, lost_variance, kept_at, lost, gained)


class PointEstimates(NamedTuple):
    """Estimates of the real workers of every point, occupied or not.

    Attributes
    ----------
    workers, variance : float64[rows]
        T and V of occupied points.
    empty, empty_variance : float64[tables]
        T and V of an empty point.
    freed : float64[tables]
        Workers who would be expected to be spread over all points if the released table were the real one.
    v : float64[tables]
        Weight of every worker more than there were.
    is_bounded : bool[tables]
        Whether u is small enough for the estimates to be of use.
    """

    workers: Floats
    variance: Floats
    empty: Floats
    empty_variance: Floats
    freed: Floats
    v: Floats
    is_bounded: Bools


class _Law(NamedTuple):
    """The law of released workers in each of several points."""

    theta: Floats
    u: Floats
    v: Floats

    @classmethod
    def of(cls, theta: Floats, v: Floats) -> _Law:
        return cls(theta, theta / v, v)

    def estimate(self, count: Floats) -> Floats:
        """Return T."""
        return self._summed(count) - self.v * self._summed(count + 1.0)

    def estimate_of_square(self, count: Floats) -> Floats:
        """Return T2."""
        return self._squares(count) - self.v * self._squares(count + 1.0)

    def lost(self, count: Floats) -> Floats:
        """Return how many workers more than it gains a point with so many real ones is expected to lose."""
        u, part = self.u, self.u**count
        removed = u * (1.0 - (count + 1.0) * part + count * part * u) / (1.0 - u) ** 2
        return np.asarray((removed - self.v / (1.0 - self.v) ** 2) / self._weight(count))

    def _weight(self, count: Floats) -> Floats:
        """Return W."""
        return np.asarray(self.u * (1.0 - self.u**count) / (1.0 - self.u) + 1.0 / (1.0 - self.v))

    def _summed(self, count: Floats) -> Floats:
        """Return Y."""
        more = self.u * self._weight(np.maximum(count, 1.0) - 1.0) / (1.0 - self.theta)
        return np.where(count > 0, count / (1.0 - self.v) + more, 0.0)

    def _squares(self, count: Floats) -> Floats:
        """Return Y2."""
        more = self.u * self._weight(np.maximum(count, 1.0) - 1.0) / (1.0 - self.theta)
        return np.where(count > 0, count**2 / (1.0 - self.v) + (2.0 * count - 1.0) * more, 0.0)


def point_estimates(n_points: float, theta: Floats, tables: DrawnTables) -> PointEstimates:
    """Return estimates of the real workers of the points of several tables.

    Parameters
    ----------
    n_points : float
        Support points k, occupied or not.
    theta : float64[tables]
        Between 0 and 1.
    tables : DrawnTables
        As released. Of a point with less than one worker, the number is the chance that there is one.
    """
    rows = _Rows(tables.table, tables.workers.astype(np.float64), np.ones(tables.table.size))
    distinct, of_row = rows.distinct()
    size = np.bincount(tables.table, minlength=theta.size)
    empty = np.maximum(n_points - size, 0.0)
    nobody = np.zeros(theta.size)
    n_workers = np.bincount(rows.table, rows.workers, theta.size)

    def add_up_points(law: _Law, value: _Value) -> Floats:
        shown = np.bincount(distinct.table, distinct.values(law, value) * distinct.times, theta.size)
        return np.asarray(shown + empty * value(law, nobody))

    law = _root(theta, lambda law: add_up_points(law, _Law.estimate) - n_workers)
    expected = _root(theta, lambda law: add_up_points(law, _Law.lost))
    square = distinct.values(law, lambda of, count: of.estimate(count) ** 2)
    at_nobody = law.estimate(nobody)
    return PointEstimates(
        distinct.values(law, _Law.estimate)[of_row],
        (square - distinct.values(law, _Law.estimate_of_square))[of_row],
        at_nobody,
        at_nobody**2 - law.estimate_of_square(nobody),
        n_points * expected.v / (1.0 - expected.v),
        law.v,
        law.u < 0.999 * _LARGEST_U,
    )


_Value = Callable[[_Law, Floats], Floats]


class _Rows(NamedTuple):
    """Occupied points of several tables: table, released workers, and how many such points there are."""

    table: Ints
    workers: Floats
    times: Floats

    def distinct(self) -> tuple[_Rows, Ints]:
        """Return a row for each count of a table, of which large tables have few, and which one each row became."""
        order = np.lexsort((self.workers, self.table))
        table, count = self.table[order], self.workers[order]
        starts = np.append(True, (np.diff(table) > 0) | (np.diff(count) > 0))
        of_row = np.empty(order.size, dtype=np.int64)
        of_row[order] = np.cumsum(starts) - 1
        return _Rows(table[starts], count[starts], np.bincount(of_row).astype(np.float64)), of_row

    def values(self, law: _Law, value: _Value) -> Floats:
        """Return values of a law; below one worker, in between those of nobody and of one."""
        of_tables = _Law(*(field[self.table] for field in law))
        values = value(of_tables, np.maximum(self.workers, 1.0))
        if (self.workers >= 1.0).all():
            return values
        at_nobody = value(of_tables, 0.0 * self.workers)
        return np.asarray(at_nobody + np.minimum(self.workers, 1.0) * (values - at_nobody))


def _root(theta: Floats, falling: Callable[[_Law], Floats]) -> _Law:
    """Return the law whose v makes a function of it 0, by bisection."""
    low, high = theta / _LARGEST_U, np.ones(theta.size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        above = falling(_Law.of(theta, middle)) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return _Law.of(theta, (low + high) / 2.0)
