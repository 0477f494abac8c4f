"""The support points of a workplace tract and their public prior, made again from a release's public tables.

Points are those of docs/method.md, sections 2 to 4. Domain editing is random, so a point that it may have removed
counts by the probability that it was kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas

from geodata.distance import distance_mi
from mapapp.answers.prior_terms import SupportTerms

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class ListedShares(NamedTuple):
    """Shares of R home areas, most of which hold nobody of most tracts; what is listed twice adds up.

    Attributes
    ----------
    area, tract : int64[N]
    share : float64[N]
    n_areas : int
    """

    area: Ints
    tract: Ints
    share: Floats
    n_areas: int


HomeShares: TypeAlias = Floats | ListedShares
"""Share of the people of each tract who live in each of R home areas: float64[R, tracts]."""

__all__ = [
    "WHOLE",
    "ListedShares",
    "SupportPriors",
    "Synthesizers",
    "TractPrior",
    "TractValues",
    "within_points",
]

_LARGEST_EXPONENT: Final = 700.0
WHOLE: Final = 1e-9
"""A home area does not cut a point of which it holds less than this share, or all but this share."""


class Synthesizers(NamedTuple):
    """The synthesizers of a work area in one workplace tract, by size.

    Attributes
    ----------
    n_workers : float64[P]
        Workers of a synthesizer of each size.
    times : float64[R, P] or float64[1, P]
        Their number in each of R counts, or in all of them alike; one of which a count covers a part counts by that
        part of its workers.
    n_units : float64[P] or None
        Their number in all, if counts may cover parts of them.
    """

    n_workers: Floats
    times: Floats
    n_units: Floats | None = None


class TractValues(NamedTuple):
    """What R counts, or R sums over workers, are of one workplace tract.

    Attributes
    ----------
    tract : int
    values : tuple of float64[R, n_tracts], or listed
        Mean and mean square of a worker's value by home tract; in a count, twice the same: the share of each tract's
        people in each home area.
    synthesizers : Synthesizers
        Those of the work area in the tract.
    found : tuple of float64[R]
        Sums of values and of squared values of the synthetic workers; in a count, twice the count.
    """

    tract: int
    values: tuple[HomeShares, HomeShares]
    synthesizers: Synthesizers
    found: tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class TractPrior:
    """Support points of one destination tract: prior shares, retention, and the point of each origin tract."""

    point: Ints  # of every origin tract
    order: Ints  # origin tracts, grouped by point
    first: Ints  # where each point begins in `order`
    people: Floats  # of every origin tract, in that order, as a share of its point
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

    def within(self, values: tuple[HomeShares, HomeShares], mean: Floats) -> Floats:
        """Return the variance of the mean value in each point if each of its tracts' shares had a relative error of 1.

        Parameters
        ----------
        values : tuple of float64[R, n_tracts]
            Mean and mean square of a worker's value by home tract.
        mean : float64[R, K]
            By point.
        """
        squares = self.people**2
        (first,) = self.of_points(values[0], squares)
        (second,) = (first,) if values[1] is values[0] else self.of_points(values[1], squares)
        found = second - 2.0 * mean * first + mean**2 * np.add.reduceat(squares, self.first)
        return np.asarray(np.maximum(found, 0.0))

    def deviation(self, values: Floats, mean: Floats) -> Floats:
        """Return the mean absolute deviation of a worker's value in each point from its mean: float64[R, K].

        Parameters
        ----------
        values : float64[R, n_tracts]
        mean : float64[R, K]
            By point.
        """
        times = np.diff(np.append(self.first, self.order.size))
        off = np.abs(values[:, self.order] - np.repeat(mean, times, axis=1))
        return np.asarray(np.add.reduceat(off * self.people, self.first, axis=1))

    def shares_in(self, points: Ints, home: HomeShares) -> HomeShares:
        """Return the shares of R home areas without those of tracts in other points, where that saves anything."""
        if isinstance(home, np.ndarray):
            return home
        there = np.zeros(self.first.size, dtype=np.bool_)
        there[points] = True
        kept = there[self.point[home.tract]]
        return ListedShares(home.area[kept], home.tract[kept], home.share[kept], home.n_areas)

    def of_points(self, home: HomeShares, *parts: Floats) -> list[Floats]:
        """Return the share of each point in R home areas, float64[R, K], by people, or by gravity mass."""
        if isinstance(home, np.ndarray):
            held = home[:, self.order]
            return [np.asarray(np.add.reduceat(held * part, self.first, axis=1)) for part in parts]
        n_points = self.first.size
        cell, size = home.area * n_points + self.point[home.tract], home.n_areas * n_points
        found = []
        for part in parts:
            of_tract = np.empty_like(part)
            of_tract[self.order] = part
            shares = np.bincount(cell, home.share * of_tract[home.tract], size)
            found.append(shares.reshape(-1, n_points).astype(np.float64, copy=False))
        return found


class SupportPriors:
    """Support points of all workplace tracts, each made on first use; safe to use from several threads.

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
        self._made: dict[int, TractPrior] = {}

    @property
    def n_tracts(self) -> int:
        """Number of home tracts, which is that of all tracts."""
        return int(self._lon.size)

    def of_tract(self, tract: int) -> TractPrior:
        """Return the support points of one workplace tract."""
        if tract not in self._made:
            self._made[tract] = self._make(tract)
        return self._made[tract]

    def _make(self, tract: int) -> TractPrior:
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
        pull = people * self.decay(miles)
        mass = self._mass(tract, pull, point)
        share = mass / mass.sum()
        away = np.bincount(point, people * miles) / of_point
        gone = np.zeros(share.size)
        for beyond, probability in self._terms.elimination:
            gone[(away > beyond) & (mass == 0)] = probability
        pools = self._terms.editing == "pool"
        order = np.argsort(point, kind="stable")
        placed = np.where(pooled, people / np.maximum(miles, 1.0) ** 2, people)
        return TractPrior(
            point=point.astype(np.int64),
            order=order,
            first=np.append(0, np.cumsum(np.bincount(point))[:-1]),
            people=(placed / np.bincount(point, placed)[point])[order],
            gravity=(pull / np.bincount(point, pull)[point])[order],
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
