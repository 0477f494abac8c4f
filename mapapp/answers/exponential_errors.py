"""Expected errors of counts under the exponential mechanism, with released tables in place of the real ones.

docs/method.md, section 7d: of a table of n workers over k points, R workers are redrawn as a uniform multiset of all
points. A count over points with shares s in the home area gains R s_mean workers on average (s_mean over all k points)
and loses those of its own workers who are redrawn. For each table, with L_i the workers whom point i loses,

    bias       E[R] s_mean - sum of E[L_i] s_i
    variance   sum of Var[L_i] (s_i - s_mean)^2  +  E[R (k + R)]/(k + 1) (mean of s^2 - s_mean^2)

The released workers whom a point is expected to lose stand for real ones, some of whom it has lost already. So bias and
the first variance are divided by the part of the count's workers who are kept, but by no less than 0.2. If few of them
are kept, the count says little. Its difference from what the public prior expects then takes the place of the bias, if
it is larger.

`mapapp.answers.redrawn` gives E[R], Var[R], E[L_i] and Var[L_i]. Both lines are sums over tables, so all tables of a
workplace tract are added up once, by classes of n.

Approximations: of a work area's tables in a tract, only the numbers of workers are used: they are taken to be like the
tract's other tables of that size, and the count itself sets how many of their workers live in the home area. Domain
editing enters by its probability. Losses of different points of one table are taken to be independent, which
overstates the variance.

Source: docs/method.md, section 7d; docs/validity.md, "Under the exponential mechanism".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.prior_terms import ExponentialTerms
from mapapp.answers.redrawn import redrawn
from mapapp.answers.support_prior import HomeShares, SupportPriors, Synthesizers, TractPrior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Numbers = Ints | Floats

_LEAST_KEPT: Final = 0.2
"""So that the noise in a count that is almost all noise is not taken for a bias."""

_BELIEVED: Final = (0.05, 0.5)
"""If less than the first part of a count is kept, the public prior replaces it; above the second, the count is used."""
_PRIOR_ERROR: Final = 0.5
"""The public prior is taken to be right to within half of it."""

__all__ = ["ExponentialErrors", "ReleasedRows", "ReleasedTables"]


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


class _TractTables(NamedTuple):
    """All tables of a workplace tract, added up by classes of n (J classes, K points).

    Attributes
    ----------
    workers, lost, lost_variance : float64[J, K]
        Released workers of each point, those whom it is expected to lose, and the variance of their number.
    freed, gained : float64[J]
        Sum of E[R], and of E[R (k + R)]/(k + 1).
    presence : float64[K]
        Expected share of each of the K points, the remainder included, in a uniform draw of points.
    """

    workers: Floats
    lost: Floats
    lost_variance: Floats
    freed: Floats
    gained: Floats
    presence: Floats


class ExponentialErrors:
    """The errors that one workplace tract adds under the exponential mechanism.

    Parameters
    ----------
    terms : ExponentialTerms
    support : SupportPriors
    released : callable
        Returns the released commutes to a workplace tract.
    """

    def __init__(self, terms: ExponentialTerms, support: SupportPriors, released: ReleasedTables) -> None:
        self._terms = terms
        self._support = support
        self._released = released
        self._made: dict[int, _TractTables] = {}

    def of_counts(self, tract: int, home: HomeShares, synthesizers: Synthesizers, count: Floats) -> Floats:
        """Return bias, variance and placement of counts; see `mapapp.answers.error_models.ErrorModel`."""
        prior, tables = self._support.of_tract(tract), self._tables(tract)
        s, g = prior.of_points(home, prior.people), prior.of_points(home, prior.gravity)
        part, within = _parts(tables, synthesizers)
        mine = part @ tables.workers
        alike = (mine * s).sum(axis=1)
        scale = np.where(alike > 0, count / np.where(alike > 0, alike, 1.0), 0.0)[:, None]
        mean = (s @ tables.presence)[:, None]
        lost = scale * (part @ tables.lost * s).sum(axis=1, keepdims=True)
        gained = (part @ tables.freed)[:, None] * mean
        kept = _kept(lost, count[:, None])
        known = _known(lost, count[:, None])
        workers = (synthesizers.times @ synthesizers.n_workers)[:, None]
        usual = workers * (s @ prior.share)[:, None]
        from_count = (gained - lost) / kept
        blended = known * from_count + (1.0 - known) * (count[:, None] - usual)
        bias = np.where(np.abs(from_count) > np.abs(blended), from_count, blended)
        varied = (within @ tables.lost_variance) * (s - mean) ** 2 * (1.0 + (scale - 1.0) * s)
        spread = (s**2 @ tables.presence)[:, None] - mean**2
        placed = 2.0 * scale * (mine * s * (1.0 - s)).sum(axis=1, keepdims=True)
        variance = (
            varied.sum(axis=1, keepdims=True) / kept + (within @ tables.gained)[:, None] * spread + placed
        )
        variance += ((1.0 - known) * _PRIOR_ERROR * usual) ** 2
        p = (count + 0.5) / (workers[:, 0] + 1.0)
        variance += (_dealt(synthesizers) * p * (1.0 - p))[:, None]
        moved = scale * (mine * (s - g)).sum(axis=1, keepdims=True)
        return np.concatenate([bias, variance, moved], axis=1).T

    def of_sums(
        self,
        tract: int,
        values: tuple[Floats, Floats],
        synthesizers: Synthesizers,
        found: tuple[Floats, Floats],
    ) -> Floats:
        """Return bias, variance and placement of sums; see `mapapp.answers.error_models.ErrorModel`."""
        prior, tables = self._support.of_tract(tract), self._tables(tract)
        s, g = prior.of_points(values[0], prior.people), prior.of_points(values[0], prior.gravity)
        second = prior.of_points(values[1], prior.people)
        part, within = _parts(tables, synthesizers)
        mine = part @ tables.workers
        mean = (s @ tables.presence)[:, None]
        bias = (part @ tables.freed) * mean[:, 0] - (part @ tables.lost * s).sum(axis=1)
        varied = ((within @ tables.lost_variance) * (s - mean) ** 2).sum(axis=1)
        spread = s**2 @ tables.presence - mean[:, 0] ** 2
        placed = 2.0 * (mine * np.maximum(second - s**2, 0.0)).sum(axis=1)
        variance = varied + (within @ tables.gained) * spread + placed
        workers = np.maximum((synthesizers.times @ synthesizers.n_workers).sum(), 1.0)
        variance += _dealt(synthesizers) * np.maximum(found[1] / workers - (found[0] / workers) ** 2, 0.0)
        return np.stack([bias, variance, (mine * (s - g)).sum(axis=1)])

    def _tables(self, tract: int) -> _TractTables:
        if tract not in self._made:
            self._made[tract] = self._add_up(self._support.of_tract(tract), self._released(tract))
        return self._made[tract]

    def _add_up(self, prior: TractPrior, rows: ReleasedRows) -> _TractTables:
        n_shares = prior.share.size
        unit = {"cell": rows.block * 32 + rows.segment, "block": rows.block, "tract": 0 * rows.block}[
            self._terms.unit
        ]
        table = np.unique(unit, return_inverse=True)[1].reshape(-1)
        key, inverse = np.unique(table * n_shares + prior.point[rows.home_tract], return_inverse=True)
        counts = np.bincount(inverse.reshape(-1), rows.workers).astype(np.int64)
        table, point = key // n_shares, key % n_shares
        n = np.bincount(table, counts).astype(np.int64)
        n_points = prior.stays.sum() + prior.pooled
        at = int(np.argmin(np.abs(self._terms.n_support - n_points)))
        k = int(self._terms.n_support[at])
        kind = np.minimum(n, self._terms.theta.shape[1]) - 1
        lost, varied = np.zeros(counts.size), np.zeros(counts.size)
        freed, gained = np.zeros(n.size), np.zeros(n.size)
        for one in np.unique(kind):
            chosen, of_kind = kind[table] == one, kind == one
            first = np.flatnonzero(np.diff(table[chosen], prepend=-1))
            theta, price = self._terms.theta[at, one], self._terms.price[at, one]
            found = redrawn(k, theta, first, counts[chosen], price)
            lost[chosen], varied[chosen] = found.mean, found.variance
            freed[of_kind] = found.of_table
            gained[of_kind] = (found.of_table**2 + found.variance_of_table + k * found.of_table) / (k + 1.0)
        size = size_class(n)
        n_sizes = int(size.max()) + 1

        def by_size(values: Numbers) -> Floats:
            place = size[table] * n_shares + point
            added = np.bincount(place, values, n_sizes * n_shares).reshape(n_sizes, n_shares)
            return added.astype(np.float64)

        return _TractTables(
            workers=by_size(counts),
            lost=by_size(lost),
            lost_variance=by_size(varied),
            freed=np.bincount(size, freed, n_sizes).astype(np.float64),
            gained=np.bincount(size, gained, n_sizes).astype(np.float64),
            presence=(prior.stays + prior.pooled * prior.share) / n_points,
        )


def size_class(n_workers: Numbers) -> Ints:
    """Return the class of tables by their workers: 1 to 4 by themselves, then two classes for each doubling."""
    n = np.asarray(n_workers, dtype=np.float64)
    return np.where(n <= 4, n - 1, np.floor(2.0 * np.log2(np.maximum(n, 1.0))) - 1.0).astype(np.int64)


def _parts(tables: _TractTables, synthesizers: Synthesizers) -> tuple[Floats, Floats]:
    """Return the part of each class that R counts cover, and the same times their part of a synthesizer: [R, J]."""
    n, times, units = synthesizers
    whole = tables.workers.sum(axis=1)
    size = np.minimum(size_class(n), whole.size - 1)
    of_class = np.zeros((n.size, whole.size))
    of_class[np.arange(n.size), size] = n / np.maximum(whole[size], 1.0)
    share = np.ones_like(times) if units is None else times / np.maximum(units, 1.0)
    return times @ of_class, (times * share) @ of_class


def _kept(lost: Floats, count: Floats) -> Floats:
    """Return the part of the real workers of a count who are expected to be kept.

    The released workers who would be lost stand for real ones, of whom some are lost already.
    """
    return np.maximum(1.0 - lost / np.maximum(count, 1.0), _LEAST_KEPT)


def _known(lost: Floats, count: Floats) -> Floats:
    """Return how far a count is believed, 0 to 1: not at all if nearly all of its workers are redrawn."""
    low, high = _BELIEVED
    kept = 1.0 - lost / np.maximum(count, 1.0)
    return np.clip((kept - low) / (high - low), 0.0, 1.0)


def _dealt(synthesizers: Synthesizers) -> Floats:
    """Return how many draws of a worker are as uncertain as dealing out the units that counts cover in part.

    The real workers of a part of a unit are a sample as well, so both the count and what it estimates vary.
    """
    n, times, units = synthesizers
    if units is None:
        return np.zeros(len(times))
    rest = np.clip(1.0 - times / np.maximum(units, 1.0), 0.0, 1.0)
    return np.asarray(2.0 * (times * rest) @ n)
