"""The support points of a workplace tract and their public prior, made again from a release's public tables.

Points are those of docs/theory/method.md, sections 2 to 4. Domain editing is random, so a point that it may have
removed counts by the probability that it was kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from geodata.geography.distance import distance_mi
from mapapp.answers.errors.certificate_terms import SupportTerms
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


__all__ = [
    "WHOLE",
    "SupportPriors",
    "Synthesizers",
    "TractPrior",
    "within_points",
]

_LARGEST_EXPONENT: Final = 700.0
WHOLE: Final = 1e-9
"""A home area does not cut a point of which it holds less than this share, or all but this share."""


class Synthesizers(NamedTuple):
    """The synthesizers of a work area in T workplace tracts, by size.

    Attributes
    ----------
    place : int64[P]
        Which of the T tracts they are in, ascending.
    n_workers : float64[P]
        Workers of a synthesizer of each size.
    times : float64[R, P] or float64[1, P]
        Their number in each of R counts, or in all of them alike; one of which a count covers a part counts by that
        part of its workers.
    n_units : float64[P] or None
        Their number in all, if counts may cover parts of them.
    """

    place: Ints
    n_workers: Floats
    times: Floats
    n_units: Floats | None = None

    def in_tracts(self, n_tracts: int) -> list[slice]:
        """Return where those of each of the T tracts are listed."""
        ends = np.searchsorted(self.place, np.arange(n_tracts + 1)).tolist()
        return [slice(*pair) for pair in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class TractPrior:
    """Support points of one destination tract: prior shares, retention, and the point of each origin tract."""

    point: npt.NDArray[np.int32]  # of every origin tract
    people: Floats  # of every origin tract, as a share of its point
    gravity: Floats  # the same, by gravity mass
    share: Floats
    retention: Floats
    stays: Floats  # probability that editing keeps the point
    pooled: float  # probability that a remainder exists
    away_mi: Floats  # distance of each point: the mean of its people

    @property
    def n_points(self) -> float:
        """Expected number of support points, the remainder included."""
        return float(self.stays.sum() + self.pooled)

    @property
    def even(self) -> Floats:
        """Expected share of each point in a uniform draw of points."""
        return np.asarray((self.stays + self.pooled * self.share) / self.n_points)

    @property
    def squares(self) -> Floats:
        """Sum of the squared shares of people of each point's tracts."""
        return np.bincount(self.point, self.people**2, self.share.size).astype(np.float64)


def _size_of(prior: TractPrior) -> int:
    return prior.point.nbytes + prior.people.nbytes + prior.gravity.nbytes


class SupportPriors:
    """Support points of workplace tracts, each made on first use; safe to use from several threads.

    Parameters
    ----------
    terms : SupportTerms
    tracts : DataFrame
        The release's `tracts`: lon_deg, lat_deg, puma_index, superpuma_index, population; state_id and elsewhere too
        if far states are pooled.
    flows : DataFrame
        The release's `prior`.
    """

    def __init__(self, terms: SupportTerms, tracts: pandas.DataFrame, flows: pandas.DataFrame) -> None:
        self._terms = terms
        self._lon, self._lat, self._population = (
            tracts[name].to_numpy(np.float64) for name in ("lon_deg", "lat_deg", "population")
        )
        self._divisions = terms.far_divisions(tracts)
        self._units = [tracts[f"{level}_index"].to_numpy(np.int64) for level in ("puma", "superpuma")]
        order = np.argsort(flows["destination_tract_index"].to_numpy(), kind="stable")
        self._flows = [
            flows[name].to_numpy()[order]
            for name in ("destination_tract_index", "origin_tract_index", "weight")
        ]
        self._made: ResultCache[TractPrior] = ResultCache(
            max_size=memory_limits.PRIOR_BYTES, size_of=_size_of
        )

    @property
    def n_tracts(self) -> int:
        """Number of home tracts, which is that of all tracts."""
        return int(self._lon.size)

    def of_tract(self, tract: int) -> TractPrior:
        """Return the support points of one workplace tract."""
        return self._made.get_or_make(tract, lambda: self._make(tract))

    def _make(self, tract: int) -> TractPrior:
        """Coarsen, weight and edit for one destination tract, as in docs/theory/method.md, sections 2 to 4."""
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
        pull = people * self.decay(miles)
        mass = self._mass(tract, pull, point)
        share = mass / mass.sum()
        away = np.bincount(point, people * miles) / of_point
        gone = np.zeros(share.size)
        for beyond, probability in self._terms.elimination:
            gone[(away > beyond) & (mass == 0)] = probability
        pools = self._terms.editing == "pool"
        placed = np.where(pooled, people / np.maximum(miles, 1.0) ** 2, people)
        return TractPrior(
            point=point.astype(np.int32),
            people=placed / np.bincount(point, placed)[point],
            gravity=pull / np.bincount(point, pull)[point],
            share=share,
            retention=np.clip(self._terms.retention_scale * share, self._terms.least_retention, 1.0),
            stays=1.0 - gone,
            pooled=float(1.0 - np.prod(1.0 - gone)) if pools else 0.0,
            away_mi=away,
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

    def decay(self, miles: Floats) -> Floats:
        """Return the decay of commuting with distance in the gravity model; all ones for the uniform prior."""
        if self._terms.gravity is None:
            return np.ones_like(miles)
        scale_mi, shape = self._terms.gravity
        exponent = (miles / scale_mi) ** shape
        return np.asarray(np.exp(-np.minimum(exponent, _LARGEST_EXPONENT)))


def within_points(share: Floats, s: Floats, g: Floats) -> tuple[Floats, Floats]:
    """Return the share of each count in points that its home area cuts, and the share that placing may have moved.

    A count is assumed to be spread over points as the prior is.
    """
    total = s @ share
    cut = (s > WHOLE) & (s < 1 - WHOLE)
    some = total > 0
    total = np.where(some, total, 1.0)
    within = np.where(cut, s, 0.0) @ share / total
    moved = np.where(cut, s - g, 0.0) @ share / total
    return np.where(some, within, 1.0), np.where(some, moved, 0.0)
