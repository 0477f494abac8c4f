"""The expected error of any count from a release, computed only from its certificate and public quantities.

A count C of synthetic workers who work in an area W and live in an area H estimates the real count N, which is secret.
C comes from synthesizers of n workers each (n is public). Let alpha be the prior weights that the certificate states, f
the retention, a the expected prior mass kept in H and A in total, per synthesizer; T = n + A; and p = C/M the share of
H among the M workers of W:

    bias of a synthesizer      E[m_H] - N_H = (A/n) (n a/A - E[m_H]), estimated by a - A p
    variance of its draw       n p (1 - p) (n + T) / (1 + T)            Dirichlet-multinomial
    variance of its pruning    (n/T)^2 sum over points of alpha^2 f (1 - f) (s - p)^2,   s the share of the point in H

Biases add up over synthesizers, and so do variances. If H cuts a support point, synthetic homes within the point are
placed by population, but real homes are not. This has two effects. First, chance: both count as draws, so the variance
there is 2 n p (1 - p). Second, tendency: real homes cluster toward the workplace, as in the public gravity model. With
g the share of the point's gravity mass in H, placing by population may have moved C (1 - g/s) workers; the sum of these
is `placement`. The expected error is the root of bias squared plus variance plus placement squared: the root mean
squared error of C. To estimate p, each tract gets one extra worker, half of it in H, so that a count of 0 does not look
exact.

Approximations: p is estimated from the count itself; a point with workers keeps its whole alpha, which is assumed to be
spread as C is; C is assumed to be spread over points as the prior is; domain editing enters by its probability; the
gravity model is a model. docs/validity.md reports how well the error covers.

Nothing confidential is read and nothing of the engine is imported, so pages may show the result.

Source: docs/method.md, sections 3, 6, 7 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas
import scipy.sparse

from geodata.distance import distance_mi
from mapapp.answers.prior_terms import PriorTerms, is_weighted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["CountError", "ExpectedErrors"]

_CERTAIN: Final = 1.0
_LARGEST_EXPONENT: Final = 700.0
_MOST_TRACTS: Final = 512
_WHOLE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class CountError:
    """The expected error of one count, by its parts.

    Attributes
    ----------
    count : int
        The count itself.
    bias : float
        How much too large the count is expected to be; negative if too small.
    sd : float
        Standard deviation of the random part.
    placement : float
        Workers that placing homes by population within support points may have moved.
    """

    count: int
    bias: float
    sd: float
    placement: float

    @property
    def error(self) -> float:
        """Expected root mean squared error: the number to show as ± beside the count."""
        return math.hypot(self.bias, self.sd, self.placement)

    @property
    def interval(self) -> tuple[float, float]:
        """The count plus and minus two expected errors, not below 0."""
        return max(self.count - 2 * self.error, 0.0), self.count + 2 * self.error


@dataclass(frozen=True, slots=True)
class _TractPrior:
    """Support points of one destination tract: prior shares, retention, and the point of each origin tract."""

    order: Ints  # origin tracts, grouped by point
    first: Ints  # where each point begins in `order`
    people: Floats  # of every origin tract, in that order, as a share of its point
    gravity: Floats  # the same, by gravity mass
    share: Floats
    retention: Floats
    stays: Floats  # probability that editing keeps the point
    pooled: float  # probability that a remainder exists

    def of_points(self, home: Floats, part: Floats) -> Floats:
        """Return the share of each point in R home areas, float64[R, K], by people or by gravity mass."""
        if not scipy.sparse.issparse(home):
            return np.asarray(np.add.reduceat(home[:, self.order] * part, self.first, axis=1))
        ends = np.append(self.first, part.size)
        points = scipy.sparse.csc_array((part, self.order, ends), shape=(part.size, self.first.size))
        return np.asarray((home @ points).toarray())


class ExpectedErrors:
    """Expected errors of the counts of one release; safe to use from several threads.

    Parameters
    ----------
    certificate : mapping
        `certificate.json` of the release.
    tracts : DataFrame
        The release's `tracts`: lon_deg, lat_deg, puma_index, superpuma_index, population; state_id and elsewhere too
        if far states are pooled.
    flows : DataFrame
        The release's `prior`.

    Raises
    ------
    ValueError
        If the mechanism has no prior weights, so that no error is known; see :meth:`is_known`.
    """

    def __init__(
        self, certificate: Mapping[str, Any], tracts: pandas.DataFrame, flows: pandas.DataFrame
    ) -> None:
        if not self.is_known(certificate):
            raise ValueError("no expected error is known for this mechanism; check is_known first")
        self._terms = PriorTerms.of(certificate)
        self._lon, self._lat, self._population = (
            tracts[name].to_numpy(np.float64) for name in ("lon_deg", "lat_deg", "population")
        )
        self._divisions = self._terms.far_divisions(tracts)
        self._units = [tracts[f"{level}_index"].to_numpy(np.int64) for level in ("puma", "superpuma")]
        order = np.argsort(flows["destination_tract_index"].to_numpy(), kind="stable")
        self._flows = [
            flows[name].to_numpy()[order]
            for name in ("destination_tract_index", "origin_tract_index", "weight")
        ]
        self._alpha, self._prunes = self._terms.least_weight, self._terms.prunes
        self._priors: dict[int, _TractPrior] = {}

    @staticmethod
    def is_known(certificate: Mapping[str, Any]) -> bool:
        """Return whether the mechanism of a release has prior weights, from which errors are computed."""
        return is_weighted(certificate)

    def of_count(
        self, home_share: npt.ArrayLike, workplaces: pandas.DataFrame, counts: Mapping[int, int]
    ) -> CountError:
        """Return the expected error of one count.

        Parameters
        ----------
        home_share : float[n_tracts]
            Share of each tract's people in the home area: 1 for a tract inside, 0 for one outside, and the area's share
            of the population for a tract that it cuts.
        workplaces : DataFrame
            `tract_index`, `n_workers`, `n_synthesizers`: the number of (workplace block, segment) pairs with that many
            workers that the work area has in a tract, for the segments in question. Public.
        counts : mapping of int to int
            The count by workplace tract; tracts with 0 may be omitted.

        Returns
        -------
        CountError

        Notes
        -----
        If there are more than 512 workplace tracts, an evenly spaced sample represents all of them.
        """
        n, times = (workplaces[name].to_numpy(np.float64) for name in ("n_workers", "n_synthesizers"))
        tract = workplaces["tract_index"].to_numpy(np.int64)
        by_tract = np.zeros((1, self._lon.size))
        by_tract[0, list(counts)] = list(counts.values())
        home = np.asarray(home_share, dtype=np.float64)[None]
        return self.of_counts(home, by_tract, tract, n, times[None])[0]

    def of_counts(
        self,
        home_shares: Floats | Callable[[int], Any],
        counts: npt.NDArray[Any],
        tract: Ints,
        n_workers: npt.NDArray[Any],
        n_synthesizers: npt.NDArray[Any],
    ) -> list[CountError]:
        """Return expected errors of R counts with one work area, much faster than one by one; see :meth:`of_count`.

        Parameters
        ----------
        home_shares : float64[R, n_tracts], or callable
            As in :meth:`of_count`, or a function of the workplace tract, which may return a sparse array.
        counts : float64[R, n_tracts]
            Counts by workplace tract.
        tract, n_workers : [P]
            Tracts of the work area, and workers per synthesizer.
        n_synthesizers : [R, P]
            Number of such synthesizers in each count.
        """
        order = np.argsort(tract, kind="stable")
        tracts = np.unique(tract)
        first = np.append(np.searchsorted(tract[order], tracts), tract.size)
        n = n_workers[order].astype(np.float64)
        times = n_synthesizers[:, order].astype(np.float64)
        step = max(-(-tracts.size // _MOST_TRACTS), 1)
        sums = np.zeros((3, len(counts)))  # bias, variance, placement
        for number in range(0, tracts.size, step):
            rows = slice(first[number], first[number + 1])
            one = int(tracts[number])
            home = home_shares(one) if callable(home_shares) else home_shares
            sums += self._of_tract(one, home, n[rows], times[:, rows], counts[:, one])
        sums *= tracts.size / max(len(range(0, tracts.size, step)), 1)
        return [
            CountError(int(total), float(bias), math.sqrt(variance), abs(float(placement)))
            for total, (bias, variance, placement) in zip(counts.sum(axis=1), sums.T, strict=True)
        ]

    def of_sums(
        self,
        values: Callable[[int], tuple[Floats, Floats]],
        totals: Floats,
        squares: Floats,
        tract: Ints,
        n_workers: npt.NDArray[Any],
        n_synthesizers: npt.NDArray[Any],
    ) -> list[float]:
        """Return expected errors of R sums over workers, whose values depend on home and workplace.

        A count is the sum of values that are 1 in the home area and 0 elsewhere. The same formula holds, with variances
        of values in place of p (1 - p), including their spread within support points.

        Parameters
        ----------
        values : callable
            For a workplace tract: mean and mean square of the values in each home tract, float64[R, n_tracts].
        totals, squares : float64[R, n_tracts]
            Sums of values and of squared values of the synthetic workers, by workplace tract.
        tract, n_workers, n_synthesizers : [P]
            As in :meth:`of_counts`; the last applies to all sums.

        Returns
        -------
        list of float
            Root mean squared errors, in units of the values.
        """
        order = np.argsort(tract, kind="stable")
        tracts = np.unique(tract)
        first = np.append(np.searchsorted(tract[order], tracts), tract.size)
        n, times = n_workers[order].astype(np.float64), n_synthesizers[order].astype(np.float64)
        step = max(-(-tracts.size // _MOST_TRACTS), 1)
        sums = np.zeros((3, len(totals)))  # bias, variance, placement
        for number in range(0, tracts.size, step):
            rows, one = slice(first[number], first[number + 1]), int(tracts[number])
            sums += self._sums_of_tract(
                one, values(one), n[rows], times[rows], (totals[:, one], squares[:, one])
            )
        sums *= tracts.size / max(len(range(0, tracts.size, step)), 1)
        bias, variance, placement = sums
        return [float(error) for error in np.sqrt(bias**2 + variance + placement**2)]

    def _sums_of_tract(
        self,
        tract: int,
        values: tuple[Floats, Floats],
        n: Floats,
        times: Floats,
        found: tuple[Floats, Floats],
    ) -> Floats:
        """Return bias, variance and placement that one workplace tract adds to each of R sums: float64[3, R]."""
        prior = self._prior(tract)
        workers = float(times @ n)
        s, g = (prior.of_points(values[0], part) for part in (prior.people, prior.gravity))
        second = prior.of_points(values[1], prior.people)
        # Add one worker, drawn from the prior, so that a tract without variety does not look exact.
        mean, square = (
            (total + of_points @ prior.share) / (workers + 1.0)
            for total, of_points in zip(found, (s, second), strict=True)
        )
        alpha, f = self._kept_weights(prior, n)
        a, mass = self._kept_mass(prior, n, s, alpha * f)
        t = n + mass
        spread = np.maximum(square - mean**2, 0.0)
        within = np.minimum(np.maximum(second - s**2, 0.0) @ prior.share, spread)
        pruning = (n / t) ** 2 * ((s - mean[:, None]) ** 2 @ (alpha**2 * f * (1.0 - f)).T)
        drawn = (spread - within)[:, None] * (n + t) / (1.0 + t) + 2.0 * within[:, None]
        bias = times * (a - (found[0] / max(workers, 1.0))[:, None] * mass)
        variance = times * (n * drawn + pruning)
        return np.stack([bias.sum(axis=1), variance.sum(axis=1), ((s - g) @ prior.share) * workers])

    def _of_tract(self, tract: int, home: Floats, n: Floats, times: Floats, count: Floats) -> Floats:
        """Return bias, variance and placement that one workplace tract adds to each of R counts: float64[3, R]."""
        prior = self._prior(tract)
        workers = times @ n
        p = (count + 0.5) / (workers + 1.0)
        s, g = prior.of_points(home, prior.people), prior.of_points(home, prior.gravity)
        alpha, f = self._kept_weights(prior, n)
        a, mass = self._kept_mass(prior, n, s, alpha * f)
        t = n + mass
        spread, moved = _within_points(prior.share, s, g)
        factor = (n + t) / (1.0 + t)
        factor = factor + (2.0 - factor) * spread[:, None]
        pruning = (n / t) ** 2 * ((s - p[:, None]) ** 2 @ (alpha**2 * f * (1.0 - f)).T)
        # Without the extra half worker: it only gives a count of 0 some spread and must not add bias.
        bias = times * (a - (count / np.maximum(workers, 1.0))[:, None] * mass)
        variance = times * (n * (p * (1.0 - p))[:, None] * factor + pruning)
        return np.stack([bias.sum(axis=1), variance.sum(axis=1), moved * count])

    def _least(self, n: Floats) -> Floats:
        """Return the certified least weight of synthesizers of n workers; between listed counts, that of the next."""
        at = np.minimum(np.searchsorted(self._alpha[:, 0], n), len(self._alpha) - 1)
        return np.asarray(self._alpha[at, 1])

    def _kept_weights(self, prior: _TractPrior, n: Floats) -> tuple[Floats, Floats]:
        """Return prior weights and retention probabilities of all points for each n: float64[N, K]."""
        alpha = np.maximum(self._least(n)[:, None], self._terms.strength * prior.share)
        at = np.minimum(np.searchsorted(self._alpha[:, 0], n), len(self._alpha) - 1)
        certain = (alpha > 1.0) | ~self._prunes[at][:, None]
        return alpha, np.where(certain, _CERTAIN, prior.retention)

    def _kept_mass(self, prior: _TractPrior, n: Floats, s: Floats, kept: Floats) -> tuple[Floats, Floats]:
        """Return the prior weight after pruning and domain editing for each n, in each of R areas and in total.

        Parameters
        ----------
        s : float64[R, K]
            Share of each point inside each area.
        kept : float64[N, K]
            Expected weights of all points after pruning.

        Returns
        -------
        float64[R, N], float64[N]
        """
        kept = kept * prior.stays
        least = prior.pooled * self._least(n)
        # The remainder is always kept; what falls in it is drawn again from the prior.
        return s @ kept.T + (s @ prior.share)[:, None] * least, kept.sum(axis=1) + least

    def _prior(self, tract: int) -> _TractPrior:
        if tract not in self._priors:
            self._priors[tract] = self._make_prior(tract)
        return self._priors[tract]

    def _make_prior(self, tract: int) -> _TractPrior:
        """Coarsen, weight and edit for one destination tract, as in docs/method.md, sections 2 to 4."""
        miles = distance_mi(self._lon[tract], self._lat[tract], self._lon, self._lat)
        miles[tract] = 0.0
        near, far = self._terms.tract_radius_mi, self._terms.puma_radius_mi
        n_tracts = miles.size
        unit = np.where(miles < far, n_tracts + self._units[0], 2 * n_tracts + self._units[1])
        unit = np.where(miles < near, np.arange(n_tracts), unit)
        pooled = (self._divisions >= 0) & (miles >= self._terms.far_state_miles)
        unit = np.where(pooled, 3 * n_tracts + self._divisions, unit)
        _, point = np.unique(unit, return_inverse=True)
        people = np.maximum(self._population, 1.0)
        of_point = np.bincount(point, people)
        pull = people * self._decay(miles)
        mass = self._mass(tract, pull, point)
        share = mass / mass.sum()
        away = np.bincount(point, people * miles) / of_point
        gone = np.zeros(share.size)
        for beyond, probability in self._terms.elimination:
            gone[(away > beyond) & (mass == 0)] = probability
        pools = self._terms.editing == "pool"
        order = np.argsort(point, kind="stable")
        placed = np.where(pooled, people / np.maximum(miles, 1.0) ** 2, people)
        return _TractPrior(
            order=order,
            first=np.append(0, np.cumsum(np.bincount(point))[:-1]),
            people=(placed / np.bincount(point, placed)[point])[order],
            gravity=(pull / np.bincount(point, pull)[point])[order],
            share=share,
            retention=np.clip(self._terms.retention_scale * share, self._terms.least_retention, 1.0),
            stays=1.0 - gone,
            pooled=float(1.0 - np.prod(1.0 - gone)) if pools else 0.0,
        )

    def _mass(self, tract: int, pull: Floats, point: Ints) -> Floats:
        """Return the public prior mass of every point; gravity mass if the tract has no flows."""
        n_points = int(point.max()) + 1
        if self._terms.prior == "flows":
            first, last = np.searchsorted(self._flows[0], (tract, tract + 1))
            flow = np.bincount(point[self._flows[1][first:last]], self._flows[2][first:last], n_points)
            if flow.sum() > 0:
                return flow.astype(np.float64)
        if self._terms.gravity is None:
            return np.ones(n_points)
        return np.asarray(np.bincount(point, pull * (self._population > 0), n_points), dtype=np.float64)

    def _decay(self, miles: Floats) -> Floats:
        """Return the decay of commuting with distance in the gravity model; all ones for the uniform prior."""
        if self._terms.gravity is None:
            return np.ones_like(miles)
        scale_mi, shape = self._terms.gravity
        exponent = (miles / scale_mi) ** shape
        return np.asarray(np.exp(-np.minimum(exponent, _LARGEST_EXPONENT)))


def _within_points(share: Floats, s: Floats, g: Floats) -> tuple[Floats, Floats]:
    """Return the share of each count in points that its home area cuts, and the share that placing may have moved.

    A count is assumed to be spread over points as the prior is.
    """
    total = s @ share
    cut = (s > _WHOLE) & (s < 1 - _WHOLE)
    some = total > 0
    total = np.where(some, total, 1.0)
    within = np.where(cut, s, 0.0) @ share / total
    moved = np.where(cut, s - g, 0.0) @ share / total
    return np.where(some, within, 1.0), np.where(some, moved, 0.0)
