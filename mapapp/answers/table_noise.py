"""The noise of each mechanism that draws workers again, with released tables in place of the real ones.

Mechanisms that add noise to counts are described in the same terms (docs/validity.md, "Under mechanisms that add
noise"): noise that is put in an empty point takes the place of a worker who was freed elsewhere.

The number of workers whom a mechanism redraws hardly differs between a real table and the one that it becomes: on Rhode
Island the two agree to within 1% by workplace tract, for epsilon from 2 to 8.98.

Source: docs/method.md, sections 7b, 7d and 7e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mapapp.answers.noisy_tables import DrawnTables, NoiseOfTables
from mapapp.answers.point_estimates import PointEstimates, point_estimates
from mapapp.answers.prior_terms import ExponentialTerms
from mapapp.answers.redrawn import redrawn

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["ExponentialNoise", "GeometricNoise", "LaplaceNoise", "RedrawNoise", "SparseNoise"]


@dataclass(frozen=True, slots=True)
class ExponentialNoise:
    """Of the exponential mechanism: R workers of a table are freed, and become a uniform multiset of all k points."""

    terms: ExponentialTerms

    @property
    def unit(self) -> str:
        """Return which workers are drawn together."""
        return self.terms.unit

    @property
    def is_even(self) -> bool:
        """Freed workers are spread evenly."""
        return True

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return E[R], the variance of who arrives, and the variance of who leaves; see `Noise`."""
        at = int(np.argmin(np.abs(self.terms.n_support - n_points)))
        k = int(self.terms.n_support[at])
        kind = np.minimum(tables.n_workers, self.terms.theta.shape[1]) - 1
        first = np.flatnonzero(np.diff(tables.table, prepend=-1))
        workers = np.ceil(tables.workers).astype(np.int64)
        found = redrawn(k, self.terms.theta[at, kind], first, workers, self.terms.price[at, kind])
        freed = found.of_table
        gained: Floats = (freed**2 + found.variance_of_table + k * freed) / (k + 1.0)
        noise = NoiseOfTables(freed, gained, found.variance)
        large = np.flatnonzero(tables.n_workers >= self.terms.theta.shape[1])
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
        return _with_estimates(noise, some, n_points, estimates, (large, of_large))


def _with_estimates(
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
    freed, gained, gained_variance = noise.freed.copy(), noise.freed.copy(), noise.gained_variance.copy()
    lost, lost_variance = np.zeros(noise.lost_variance.size), noise.lost_variance.copy()
    freed[at] = estimates.freed[use]
    gained[at] = -n_points * estimates.empty[use]
    gained_variance[at] = n_points * estimates.empty_variance[use]
    lost[at_row] = (estimates.workers - estimates.empty[some.table] - some.workers)[row]
    lost_variance[at_row] = (estimates.variance - estimates.empty_variance[some.table])[row]
    return NoiseOfTables(freed, gained_variance, lost_variance, lost=lost, gained=gained)


@dataclass(frozen=True, slots=True)
class RedrawNoise:
    """Of keep-or-redraw: every worker is redrawn uniformly over all k points with chance k/(e^epsilon - 1 + k)."""

    unit: str
    epsilon: float

    @property
    def is_even(self) -> bool:
        """Freed workers are spread evenly."""
        return True

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return the same for workers who are redrawn independently; see `Noise`."""
        chance = n_points / (math.expm1(self.epsilon) + n_points)
        freed = chance * tables.n_workers.astype(np.float64)
        return NoiseOfTables(freed, freed, chance * (1.0 - chance) * tables.workers.astype(np.float64))


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Of Laplace noise on every count, clamped at 0 and scaled to the public total.

    A point with x workers gets max(x + Z, 0) noisy workers, an empty one a = q/(1 - q^2) on average. All are scaled by
    n/Y, Y their sum. So a worker is expected to stay with the chance kappa = E[n/(n + noise of k points)].
    """

    epsilon: float

    @property
    def unit(self) -> str:
        """Every cell gets noise of its own."""
        return "cell"

    @property
    def is_even(self) -> bool:
        """All points get the same noise."""
        return True

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return what noise and scaling do to tables of these sizes; see `Noise`."""
        q = math.exp(-self.epsilon / 2.0)
        sizes, kind = np.unique(tables.n_workers, return_inverse=True)
        kept = np.array([_kept_of_noise(q, int(n), n_points) for n in sizes])[kind.reshape(-1)]
        freed = (1.0 - kept) * tables.n_workers
        noise = q / (1.0 - q) ** 2 - (q / (1.0 - q**2)) ** 2
        stays = kept[tables.table]
        return NoiseOfTables(
            freed,
            freed + n_points * kept**2 * noise,
            stays * (1.0 - stays) * tables.workers.astype(np.float64),
        )


def _kept_of_noise(q: float, n_workers: int, n_points: float) -> float:
    """Return E[n/(n + Y)], Y the clamped noise of k empty points: n times the integral of t^(n-1) g(t)^k, 0 to 1.

    g(t) = (1 - q^2 t)/((1 + q)(1 - q t)) is the generating function of the noise of one point.
    """
    scale = n_workers + n_points * q / (1.0 - q**2)
    node, weight = np.polynomial.laguerre.laggauss(48)
    t = np.exp(-node / scale)
    log_g = np.log((1.0 - q**2 * t) / ((1.0 + q) * (1.0 - q * t)))
    return float(
        n_workers / scale * (weight * np.exp(node * (1.0 - n_workers / scale) + n_points * log_g)).sum()
    )


@dataclass(frozen=True, slots=True)
class SparseNoise:
    """Of the sparse histogram: counts of occupied points with noise, if that reaches a threshold.

    Points that show less were filled by the public prior. Real workers of points that were not published are among as
    many, wherever the prior puts them.
    """

    epsilon: float
    delta: float

    @property
    def unit(self) -> str:
        """Every cell is published by itself."""
        return "cell"

    @property
    def is_even(self) -> bool:
        """Workers who are missing come from the public prior."""
        return False

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return which points were filled by the prior, and the noise of the others; see `Noise`."""
        q = math.exp(-self.epsilon / 2.0)
        threshold = 1.0 + max(math.log(self.delta * (1.0 + q)) / math.log(q), 0.0)
        hidden = tables.workers < threshold
        freed = np.bincount(tables.table, tables.workers * hidden, tables.n_workers.size).astype(np.float64)
        return NoiseOfTables(freed, freed, np.where(hidden, 0.0, 2.0 * q / (1.0 - q) ** 2), hidden=hidden)


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """Of geometric noise on every count, projected on the public total, for the workers of a whole tract.

    The projection lowers every point that still shows workers by the same number, lambda. So a point with workers loses
    lambda, and the empty points that show noise gain these workers. It is the number for
    which the mean of max(Z - lambda, 0), for all points that are really empty, adds up to lambda for all others.
    """

    epsilon: float

    @property
    def unit(self) -> str:
        """Tables of a tract are large enough to be lowered by lambda."""
        return "tract"

    @property
    def is_even(self) -> bool:
        """All points get the same noise."""
        return True

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return what points lost and what was spread over all; see `Noise`."""
        q = math.exp(-self.epsilon / 2.0)
        shown = np.bincount(tables.table).astype(np.float64)
        lowered = np.array([_lowered(q, float(each), n_points) for each in shown])
        lost = lowered[tables.table]
        freed = lowered * shown
        noise = 2.0 * q / (1.0 - q) ** 2
        return NoiseOfTables(
            freed, np.full(freed.size, n_points * noise), np.zeros(tables.table.size), lost=lost
        )


def _lowered(q: float, shown: float, n_points: float) -> float:
    """Return lambda for a table that shows workers in a given number of points: by bisection."""
    low, high = 0.0, 1.0 + math.log(n_points) / -math.log(q)
    for _ in range(50):
        middle = (low + high) / 2.0
        # Lambda is a whole number, and one more for a part of the points: linear between whole numbers.
        chance = q ** (math.floor(middle) + 1.0) * (1.0 - (middle % 1.0) * (1.0 - q)) / (1.0 + q)
        empty = (n_points - shown) / (1.0 - chance)
        gained = max(empty, 0.0) * chance / (1.0 - q)
        if gained > middle * max(n_points - empty, 0.0):
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
