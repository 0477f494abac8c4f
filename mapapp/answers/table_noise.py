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
from typing import Final

import numpy as np
import numpy.typing as npt

from mapapp.answers.noisy_tables import DrawnTables, NoiseOfTables
from mapapp.answers.point_estimates import PointEstimates, point_estimates
from mapapp.answers.prior_terms import ExponentialTerms
from mapapp.answers.projected_points import projected_points
from mapapp.answers.redrawn import FULLNESS, redrawn

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["ExponentialNoise", "GeometricNoise", "LaplaceNoise", "RedrawNoise", "SparseNoise"]

_LEGIBLE: Final = 0.5
"""Tables that keep more than this part of their workers show how many points are really empty."""


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

    @property
    def is_alike(self) -> bool:
        """Tables keep a part of their workers that depends on their size."""
        return False

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
        most = np.minimum(FULLNESS, np.maximum(tables.n_workers, 1)[:, None])
        kept_at = np.clip(1.0 - found.lost_at / most, 0.0, 1.0)
        noise = NoiseOfTables(freed, gained, found.variance, kept_at=kept_at)
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
    kept_at = np.ones((noise.freed.size, FULLNESS.size)) if noise.kept_at is None else noise.kept_at.copy()
    kept_at[at] = 1.0
    return NoiseOfTables(freed, gained_variance, lost_variance, lost=lost, gained=gained, kept_at=kept_at)


@dataclass(frozen=True, slots=True)
class RedrawNoise:
    """Of keep-or-redraw: every worker is redrawn uniformly over all k points with chance k/(e^epsilon - 1 + k)."""

    unit: str
    epsilon: float

    @property
    def is_even(self) -> bool:
        """Freed workers are spread evenly."""
        return True

    @property
    def is_alike(self) -> bool:
        """Every worker is redrawn with the same chance."""
        return True

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return the same for workers who are redrawn independently; see `Noise`."""
        chance = n_points / (math.expm1(self.epsilon) + n_points)
        freed = chance * tables.n_workers.astype(np.float64)
        return NoiseOfTables(freed, freed, chance * (1.0 - chance) * tables.workers.astype(np.float64))


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Of Laplace noise on every count, clamped at 0 and scaled to the public total.

    A point with x workers gets max(x + Z, 0) noisy workers, on average x + a q^x with a = q/(1 - q^2). With B the sum
    of 1 - q^x over all points, the k points gain a (k - B) workers, as k - B empty points do. All are scaled by
    n/(n + Y), Y the noise, which is kappa = E[n/(n + noise of k - B empty points)] on average. So if every point is
    taken to gain kappa a, the part kappa (1 - a B/n) of the workers stays.
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

    @property
    def is_alike(self) -> bool:
        """Tables keep a part of their workers that depends on their size."""
        return False

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return what noise and scaling do to tables of these sizes; see `Noise`."""
        q = math.exp(-self.epsilon / 2.0)
        of_empty, n = q / (1.0 - q**2), tables.n_workers.astype(np.float64)
        spared = _spared(q, tables, n_points)
        cases, kind = np.unique(np.stack([n, np.round(spared, 1)]), axis=1, return_inverse=True)
        scaled = np.array([_kept_of_noise(q, size, n_points - less) for size, less in cases.T.tolist()])
        scaled = scaled[kind.reshape(-1)]
        kept = scaled * np.maximum(1.0 - of_empty * spared / n, 0.0)
        freed = (1.0 - kept) * n
        noise = q / (1.0 - q) ** 2 - of_empty**2
        stays = kept[tables.table]
        return NoiseOfTables(
            freed,
            freed + n_points * scaled**2 * noise,
            stays * (1.0 - stays) * tables.workers.astype(np.float64),
        )


def _spared(q: float, tables: DrawnTables, n_points: float) -> Floats:
    """Return B of every table: how many points' noise is missing because they have workers.

    Of a point with x workers, the chance to have none after noise is q^x/(1 + q). So 1 + q times the number of such
    points is k - B on average. A point with one noisy worker is shown with the chance kappa. Where noise hides how many
    workers share a point, all are taken to live apart.
    """
    n = tables.n_workers.astype(np.float64)
    apart = (1.0 - q) * np.minimum(n, n_points)
    kept = n / (n + q / (1.0 - q**2) * (n_points - apart))
    shown = np.bincount(tables.table, minlength=n.size)
    single = np.bincount(tables.table, tables.workers <= 1, n.size)
    none = n_points - shown - (1.0 - kept) / kept * single
    return np.where(kept < _LEGIBLE, apart, np.clip(n_points - (1.0 + q) * none, 1.0 - q, apart))


def _kept_of_noise(q: float, n_workers: float, n_points: float) -> float:
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

    @property
    def is_alike(self) -> bool:
        """Tables keep a part of their workers that depends on their size."""
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

    The projection lowers every point that still shows workers by the same number, lambda. So m workers who are shown
    are an estimate of m + lambda. Only points that are really empty gained workers, so what they show is taken from
    the points that show nobody, each of which is estimated to have a little less than nobody
    (`mapapp.answers.projected_points`).
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

    @property
    def is_alike(self) -> bool:
        """Tables keep a part of their workers that depends on their size."""
        return False

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return what points lost and what really empty points gained; see `Noise`."""
        shown = np.bincount(tables.table).astype(np.float64)
        found = projected_points(math.exp(-self.epsilon / 2.0), shown, n_points)
        lost, variance = found.lowered - found.empty, found.variance - found.empty_variance
        return NoiseOfTables(
            found.lowered * shown,
            n_points * found.empty_variance,
            variance[tables.table],
            lost=lost[tables.table],
            gained=-n_points * found.empty,
        )
