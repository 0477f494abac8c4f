"""Expected errors by distance: of counts in bands and directions, of a median, and of a mean under 100 miles.

A distance band in one direction is a different home area for every workplace tract. Tracts are assigned to it by their
internal points. Homes in the tract of the workplace count in the first band, evenly in all directions. Commutes within
one block have no direction. Their homes are part of the workplace's tract: the share of its people who live in the
block of a worker of the tract, in the mean over workers.

A median and a mean of commutes under 100 miles are ratios of sums over commutes, so their errors follow from errors of
sums (delta method). With N commutes under 100 miles and their mean m, a commute of d miles moves the mean by
(d - m) / N if d is under 100, and otherwise by 0.
The error of the mean is the error of the sum of these. The error of the median follows from the spacing of distances
around it: let e be the error, in workers, of the sum of (1 below the median, 0 beyond, minus 1/2). The error of the
median is half the difference between the distances of the workers e ranks above and e ranks below it (Woodruff's
method). `ExpectedErrors.of_sums` gives the errors of such sums, including the bias of coarsening and of the prior, from
the internal points of tracts.

Source: docs/theory/expected-errors.md, "Expected error of a median and of a mean".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.geography.distance import bearing_deg, distance_mi
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import MEAN_LIMIT_MI, Pick
from mapapp.answers.commutes.prepared import N_OCTANTS, octant
from mapapp.answers.errors.expected_error import ExpectedErrors, Floats, Ints, WorkplaceArrays
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts
from mapapp.base import memory_limits, watch
from mapapp.base.result_cache import ResultCache
from mapapp.question.fields import Side

Octants = npt.NDArray[np.int8]

N_DIRECTIONS = N_OCTANTS + 1
"""The last one is for commutes within one place, which have no direction."""
_BETWEEN_PEOPLE: Final = 1.28
"""Mean distance between two points of a disk, in root mean squared distances from its center."""


class _Ways(NamedTuple):
    """Ways from one tract to all tracts, and the octants of the ways there and back."""

    miles: Floats
    there: Octants
    back: Octants


def _size_of(ways: _Ways) -> int:
    return ways.miles.nbytes + ways.there.nbytes + ways.back.nbytes


class TractWays:
    """Ways between the internal points of tracts; safe to use from several threads.

    Parameters
    ----------
    lon_deg, lat_deg : float64[n_tracts]
    """

    def __init__(self, lon_deg: Floats, lat_deg: Floats) -> None:
        self._lon, self._lat = lon_deg, lat_deg
        self._made: ResultCache[_Ways] = ResultCache(max_size=memory_limits.MILES_BYTES, size_of=_size_of)

    def prepare(self, works: Ints) -> None:
        """Compute the ways from some workplace tracts."""
        for tract in works.tolist():
            watch.check()
            self._of(tract)

    def miles(self, works: Ints, homes: Ints) -> Floats:
        """Return the distances from workplace tracts to home tracts: float64[works, homes]."""
        return np.stack([self._of(tract).miles[homes] for tract in works.tolist()])

    def octants(self, works: Ints, homes: Ints, side: Side) -> Ints:
        """Return the directions between workplace tracts and home tracts: int64[works, homes].

        Parameters
        ----------
        works, homes : int64[...]
        side : {"work", "home"}
            The end from which directions are measured.
        """
        ways = [self._of(tract) for tract in works.tolist()]
        octants = [(way.there if side == "work" else way.back)[homes] for way in ways]
        return np.stack(octants).astype(np.int64)

    def _of(self, tract: int) -> _Ways:
        return self._made.get_or_make(tract, lambda: self._make(tract))

    def _make(self, tract: int) -> _Ways:
        here, there = (self._lon[tract], self._lat[tract]), (self._lon, self._lat)
        octants = (octant(bearing_deg(*ends)) for ends in ((*here, *there), (*there, *here)))
        return _Ways(distance_mi(*here, *there), *(directions.astype(np.int8) for directions in octants))


class Tracts(NamedTuple):
    """Ways between tracts, and the mean distance between people of one tract in miles."""

    ways: TractWays
    within_mi: Floats


def miles_within(tract: npt.NDArray[np.integer], blocks: tuple[Floats, Floats], people: Floats) -> Floats:
    """Estimate the mean distance between two people of each tract, miles, from its blocks.

    Parameters
    ----------
    tract : int[blocks]
    blocks : tuple of float64[blocks]
        Longitude and latitude of internal points, degrees.
    people : float64[blocks]
        Weight of each block; every tract has a positive total.
    """
    total = np.bincount(tract, people)
    lon, lat = (np.bincount(tract, people * at) / total for at in blocks)
    away = distance_mi(*blocks, lon[tract], lat[tract])
    return np.asarray(_BETWEEN_PEOPLE * np.sqrt(np.bincount(tract, people * away**2) / total))


def errors_of_cells(
    formula: ExpectedErrors,
    ways: TractWays,
    shares: tuple[Floats, Floats],
    counts: Floats,
    workplaces: WorkplaceArrays,
    edges_mi: Sequence[float],
    side: Side,
) -> Floats:
    """Return expected errors of every (band, direction), of the bands, and of the directions.

    Parameters
    ----------
    formula : ExpectedErrors
    ways : TractWays
    shares : tuple of float64[n_tracts]
        Share of each tract's people who live in the home area, and in a worker's own block there.
    counts : float64[n_tracts, bands, 9]
        Counts by workplace tract.
    workplaces : tuple
        Tract, workers per synthesizer, number of such synthesizers, and number of units or None, as
        `ExpectedErrors.of_counts` takes them.
    edges_mi : sequence of float
    side : {"work", "home"}
        The end from which directions are measured.

    Returns
    -------
    float64[bands + 1, 10]
        The last row and the last column are of the sums over bands and over directions.
    """
    tract, n_workers, times, n_units = workplaces
    n_tracts, n_bands, _ = counts.shape
    flat = _append_margins(counts).reshape(n_tracts, -1).T
    home = _band_values(ways, shares, edges_mi, side)
    of_rows = np.broadcast_to(times, (len(flat), len(times)))
    errors = formula.of_counts(home, flat, tract, n_workers, of_rows, n_units)
    return np.array([error.error for error in errors]).reshape(n_bands + 1, N_DIRECTIONS + 1)


def _band_values(
    ways: TractWays, shares_of: tuple[Floats, Floats], edges_mi: Sequence[float], side: Side
) -> ValuesOfTracts:
    """Return each tract's share of people in each cell as seen from workplace tracts, then in margins."""
    area_share, block_share = shares_of
    n_bands, width = len(edges_mi) + 1, N_DIRECTIONS + 1
    inside = np.flatnonzero(area_share)
    margin, everywhere = n_bands * width, np.arange(N_OCTANTS)
    # The workplace's own tract is in every direction of the first band, one eighth each, and in three margins.
    own_rows = [*everywhere, *(margin + everywhere), N_DIRECTIONS, margin + N_DIRECTIONS]
    own_parts = np.array([1.0 / N_OCTANTS] * (2 * N_OCTANTS) + [1.0, 1.0])
    rows_there = np.array([*own_rows, N_OCTANTS, margin + N_OCTANTS])

    def of(works: Ints) -> HomeValues:
        band = np.searchsorted(edges_mi, ways.miles(works, inside), side="right")
        way = ways.octants(works, inside, side) % N_DIRECTIONS
        # Every other tract is in one cell and in three margins.
        cell, whole = band * width + way, np.full(way.shape, margin + N_DIRECTIONS)
        rows = [cell, cell - way + N_DIRECTIONS, margin + way, whole]
        share = np.where(inside == works[:, None], 0.0, area_share[inside])
        own, block = area_share[works][:, None] * own_parts, np.repeat(block_share[works][:, None], 2, axis=1)
        homes = np.broadcast_to(np.tile(inside, 4), (works.size, 4 * inside.size))
        there = np.broadcast_to(works[:, None], (works.size, rows_there.size))
        shares = np.concatenate([np.tile(share, 4), own, block], axis=1)
        rows.append(np.broadcast_to(rows_there, there.shape))
        return HomeValues(
            np.concatenate(rows, axis=1), np.concatenate([homes, there], axis=1), shares, shares
        )

    return ValuesOfTracts(of, np.arange(margin + width), 4 * inside.size + rows_there.size)


def _append_margins(cells: Floats) -> Floats:
    """Append sums over bands and over directions along axes 1 and 2."""
    cells = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    return np.concatenate([cells, cells.sum(axis=2, keepdims=True)], axis=2)


def errors_of_miles(
    formula: ExpectedErrors,
    flows: Flows,
    pick: Pick,
    tract_of_block: npt.NDArray[np.integer],
    tracts: Tracts,
    area_share: Floats,
    workplaces: WorkplaceArrays,
    median_mi: float,
    mean_mi: float | None,
) -> tuple[float, float | None]:
    """Return expected errors of a median, and of a mean of commutes under 100 miles.

    Parameters
    ----------
    formula : ExpectedErrors
    flows : Flows
    pick : Pick
        The commutes.
    tract_of_block : int[blocks]
    tracts : Tracts
    area_share : float64[n_tracts]
        Share of each tract's people who live in the home area.
    workplaces : tuple
        Tract, workers per synthesizer, number of such synthesizers, and number of units or None, as
        `ExpectedErrors.of_sums` takes them.
    median_mi, mean_mi : float
        Median and mean of the pick; the mean is None if no commute is under 100 miles.

    Returns
    -------
    tuple of float
        Miles; the second is None without a mean.
    """
    # The prior cannot resolve distances smaller than those between people of one tract.
    edge_mi = max(median_mi, float(np.median(tracts.within_mi[workplaces[0]])))
    work, sums = flows.distance_sums(pick, edge_mi)
    by_tract = np.stack([np.bincount(tract_of_block[work], column, area_share.size) for column in sums])
    n, below, near, miles, squared = by_tract
    mean, n_near = mean_mi or 0.0, max(near.sum(), 1.0)
    totals = np.stack([below - n / 2, (miles - mean * near) / n_near])
    squares = np.stack([n / 4, (squared - 2 * mean * miles + mean**2 * near) / n_near**2])
    values = _mile_values(tracts, area_share, edge_mi, mean, n_near)
    in_workers, of_mean = formula.of_sums(values, totals, np.maximum(squares, 0.0), *workplaces)
    low, high = flows.quantiles_mi(pick, [0.5 - in_workers / n.sum(), 0.5 + in_workers / n.sum()])
    return (high - low) / 2, None if mean_mi is None else of_mean


def _mile_values(
    tracts: Tracts, area_share: Floats, edge_mi: float, mean_mi: float, n_near: float
) -> ValuesOfTracts:
    """Return mean and mean square of a worker's values in both sums, by workplace tract and home tract."""
    home = np.flatnonzero(area_share)
    share = np.tile(area_share[home], 2)
    row = np.repeat(np.arange(2), home.size)[None]

    def of(works: Ints) -> HomeValues:
        own = home == works[:, None]
        away = np.where(own, tracts.within_mi[works][:, None], tracts.ways.miles(works, home))
        # As in distance bands, homes in the workplace's tract count as near.
        near = np.where((away < edge_mi) | own, 0.5, -0.5)
        mean = np.where(away < MEAN_LIMIT_MI, (away - mean_mi) / n_near, 0.0)
        value = np.concatenate([near, mean], axis=1)
        return HomeValues(row, np.tile(home, 2)[None], share * value, share * value**2)

    return ValuesOfTracts(of, np.arange(2), 2 * home.size)
