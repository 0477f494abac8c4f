"""Expected errors of counts under the Dirichlet-multinomial, the mechanism with prior weights.

A count C of synthetic workers who work in an area W and live in an area H estimates the real count N, which is secret.
C comes from synthesizers of n workers each (n is public). Let alpha be the prior weights that the certificate states, f
the retention, a the expected prior mass kept in H and A in total, per synthesizer; T = n + A; and p = C/M the share of
H among the M workers of W:

    bias of a synthesizer      E[m_H] - N_H = (A/n) (n a/A - E[m_H]), estimated by a - A p
    variance of its draw       n p (1 - p) (n + T) / (1 + T)            Dirichlet-multinomial
    variance of its pruning    (n/T)^2 sum over points of alpha^2 f (1 - f) (s - p)^2,   s the share of the point in H

If H cuts a support point, synthetic homes within the point are placed by population, but real homes are not. Placing
has the variance n p (1 - p), and the real homes `CLUSTERED` times that, since neighbors work in the same places. To
estimate p, each tract gets one extra worker, half of it in H, so that a count of 0 does not look exact.

And the share s of a point's workers who live in H has a relative error of `HOMES` (1 - s), alike in all points of a
workplace tract. With C_i workers of H in point i, it adds HOMES U to the placement, besides what the gravity model
moves, where U is the sum of C_i (1 - s) in the tract. Of its square, the part `EVERYWHERE` is alike in all workplace
tracts and adds up; the rest is alike among about `NEIGHBORS` tracts, so the sum of U squared counts at most as
NEIGHBORS times the sum of U^2. `benchmarks.homes_within_points` measures these numbers; released counts of support
points that are single tracts show about the same.

Approximations: p is estimated from the count itself; a point with workers keeps its whole alpha, which is assumed to be
spread as C is; C is assumed to be spread over points as the prior is; domain editing enters by its probability.

Source: docs/theory/method.md, sections 3, 6, 7 and 10; docs/theory/expected-errors.md, "The expected error of a count".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.certificate_terms import WeightTerms
from mapapp.answers.errors.home_values import HomeCells, TractValues
from mapapp.answers.errors.support_prior import SupportPriors, TractPrior, within_points
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache

Floats = npt.NDArray[np.float64]

__all__ = ["CLUSTERED", "EVERYWHERE", "HOMES", "NEIGHBORS", "DirichletErrors"]

CLUSTERED: Final = 1.7
"""Variance of how many real workers of a support point live in a part of it, as a multiple of that of drawing homes."""
HOMES: Final = 0.4
"""Relative error of the share of a support point's workers who live in a small part of it."""

EVERYWHERE: Final = 0.12
"""Part of the square of this error that is alike in all workplace tracts."""
NEIGHBORS: Final = 8.0
"""Workplace tracts, as many as in a town, among which the rest of it is alike."""

_CERTAIN: Final = 1.0


class _Kept(NamedTuple):
    """What synthesizers of N sizes in a tract are expected to keep of their prior weights on K points.

    Attributes
    ----------
    weights : float64[K, N]
    mass : float64[N]
        In total, the remainder included.
    remainder : float64[N]
        What is drawn again from the prior.
    varied : float64[K, N]
        Variance of the weights by pruning.
    """

    weights: Floats
    mass: Floats
    remainder: Floats
    varied: Floats


def _size_of(kept: _Kept) -> int:
    return sum(array.nbytes for array in kept)


class DirichletErrors:
    """The errors that one workplace tract adds under a mechanism with prior weights.

    Parameters
    ----------
    terms : WeightTerms
    support : SupportPriors
    """

    def __init__(self, terms: WeightTerms, support: SupportPriors) -> None:
        self._terms = terms
        self._support = support
        self._alpha, self._prunes = terms.least_weight, terms.prunes
        self._kept: ResultCache[_Kept] = ResultCache(max_size=memory_limits.REDRAWN_BYTES, size_of=_size_of)

    def of_tracts(self, asked: TractValues, *, is_count: bool) -> Floats:
        """Return bias, variance, and parts of placement that T tracts add together to R counts or sums: float64[5, R].

        Parameters
        ----------
        asked : TractValues
        is_count : bool
            Whether values are 1 in the home area and 0 elsewhere.
        """
        priors = [self._support.of_tract(tract) for tract in asked.tracts.tolist()]
        values, of_row = asked.values, asked.of_row
        cells = HomeCells(values, int(of_row.max()) + 1, priors)
        s, g = cells.by_people(values.mean), cells.by_gravity()
        means = (s, g) if is_count else (s, g, cells.by_people(values.square), cells.deviation(s))
        sums = np.zeros((5, of_row.size))
        for place, rows in enumerate(asked.synthesizers.in_tracts(len(priors))):
            prior, n = priors[place], asked.synthesizers.n_workers[rows]
            of_tract = _OfTract(
                prior.share,
                self._kept_of(int(asked.tracts[place]), n),
                n,
                asked.synthesizers.times[:, rows],
                (asked.found[0][place], asked.found[1][place]),
            )
            of_points = [mean[place, of_row, : prior.share.size] for mean in means]
            sums += of_tract.of_count(*of_points) if is_count else of_tract.of_sum(*of_points)
        return sums

    def prepare(self, tract: int) -> None:
        """Make the prior of a workplace tract, which its first question would otherwise wait for."""
        self._support.of_tract(tract)

    def errors_of(self, sums: Floats, least: float) -> tuple[Floats, Floats, Floats]:
        """Return bias, variance and placement of R counts or sums from what all tracts add."""
        bias, variance, placement, unlike, squares = sums
        local = np.minimum(unlike**2, NEIGHBORS * squares)
        unlike_squared = EVERYWHERE * unlike**2 + (1.0 - EVERYWHERE) * local
        return bias, variance, np.sqrt(placement**2 + HOMES**2 * unlike_squared)

    def _least(self, n: Floats) -> Floats:
        """Return the certified least weight of synthesizers of n workers; between listed counts, that of the next."""
        at = np.minimum(np.searchsorted(self._alpha[:, 0], n), len(self._alpha) - 1)
        return np.asarray(self._alpha[at, 1])

    def _kept_weights(self, prior: TractPrior, n: Floats) -> tuple[Floats, Floats]:
        """Return prior weights and retention probabilities of all points for each n: float64[N, K]."""
        alpha = np.maximum(self._least(n)[:, None], self._terms.strength * prior.share)
        at = np.minimum(np.searchsorted(self._alpha[:, 0], n), len(self._alpha) - 1)
        certain = (alpha > 1.0) | ~self._prunes[at][:, None]
        return alpha, np.where(certain, _CERTAIN, prior.retention)

    def _kept_of(self, tract: int, n: Floats) -> _Kept:
        """Return the prior weights after pruning and editing; they recur, as most work areas hold whole tracts."""

        def make() -> _Kept:
            prior = self._support.of_tract(tract)
            alpha, f = self._kept_weights(prior, n)
            weights = alpha * f * prior.stays
            # The remainder is always kept; what falls in it is drawn again from the prior.
            least = prior.pooled * self._least(n)
            varied = alpha**2 * f * (1.0 - f)
            return _Kept(weights.T.copy(), weights.sum(axis=1) + least, least, varied.T.copy())

        return self._kept.get_or_make((tract, n.tobytes()), make)


class _OfTract(NamedTuple):
    """One tract of R counts or sums.

    Attributes
    ----------
    share : float64[K]
        Public prior share of each support point.
    kept : _Kept
    n_workers : float64[N]
    times : float64[R or 1, N]
        Of `Synthesizers`.
    found : tuple of float64[R]
        Of `TractValues`.
    """

    share: Floats
    kept: _Kept
    n_workers: Floats
    times: Floats
    found: tuple[Floats, Floats]

    def of_count(self, s: Floats, g: Floats) -> Floats:
        """Return bias, variance, and parts of placement that the tract adds to R counts: float64[5, R].

        Parameters
        ----------
        s, g : float64[R, K]
            Share of each point in each home area, by people and by gravity mass.
        """
        n, times, count, mass = self.n_workers, self.times, self.found[0], self.kept.mass
        workers = times @ n
        p = (count + 0.5) / (workers + 1.0)
        t = n + mass
        spread, moved = within_points(self.share, s, g)
        factor = (n + t) / (1.0 + t)
        factor = factor + (1.0 + CLUSTERED - factor) * spread[:, None]
        pruning = (n / t) ** 2 * ((s - p[:, None]) ** 2 @ self.kept.varied)
        # Without the extra half worker: it only gives a count of 0 some spread and must not add bias.
        bias = times * (self._weight_in(s) - (count / np.maximum(workers, 1.0))[:, None] * mass)
        variance = times * (n * (p * (1.0 - p))[:, None] * factor + pruning)
        inside = s @ self.share
        unlike = count * ((s * (1.0 - s)) @ self.share) / np.where(inside > 0, inside, np.inf)
        return np.stack([bias.sum(axis=1), variance.sum(axis=1), moved * count, unlike, unlike**2])

    def of_sum(self, s: Floats, g: Floats, second: Floats, deviation: Floats) -> Floats:
        """Return bias, variance, and parts of placement that the tract adds to R sums: float64[5, R].

        Parameters
        ----------
        s, g, second, deviation : float64[R, K]
            Mean value in each point by people and by gravity mass, mean square, and mean absolute deviation.
        """
        n, times, mass = self.n_workers, self.times[0], self.kept.mass
        workers = float(times @ n)
        # Add one worker, drawn from the prior, so that a tract without variety does not look exact.
        mean, square = (
            (total + of_points @ self.share) / (workers + 1.0)
            for total, of_points in zip(self.found, (s, second), strict=True)
        )
        t = n + mass
        spread = np.maximum(square - mean**2, 0.0)
        within = np.minimum(np.maximum(second - s**2, 0.0) @ self.share, spread)
        pruning = (n / t) ** 2 * ((s - mean[:, None]) ** 2 @ self.kept.varied)
        drawn = (spread - within)[:, None] * (n + t) / (1.0 + t) + (1.0 + CLUSTERED) * within[:, None]
        bias = times * (self._weight_in(s) - (self.found[0] / max(workers, 1.0))[:, None] * mass)
        variance = times * (n * drawn + pruning)
        moved, unlike = (s - g) @ self.share, deviation @ self.share / 2.0 * workers
        return np.stack([bias.sum(axis=1), variance.sum(axis=1), moved * workers, unlike, unlike**2])

    def _weight_in(self, s: Floats) -> Floats:
        """Return the prior weights that synthesizers are expected to keep in each home area: float64[R, N]."""
        return np.asarray(s @ self.kept.weights + (s @ self.share)[:, None] * self.kept.remainder)
