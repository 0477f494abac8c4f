"""Expected errors of the median distance and of the mean of commutes under 100 miles.

Both are ratios of sums over commutes, so their errors follow from errors of sums (delta method). With N commutes under
100 miles and their mean m, a commute of d miles moves the mean by (d - m) / N if d is under 100, and otherwise by 0.
The error of the mean is the error of the sum of these. The error of the median follows from the spacing of distances
around it: let e be the error, in workers, of the sum of (1 below the median, 0 beyond, minus 1/2). The error of the
median is half the difference between the distances of the workers e ranks above and e ranks below it (Woodruff's
method). `ExpectedErrors.of_sums` gives the errors of such sums, including the bias of coarsening and of the prior, from
the internal points of tracts.

Source: docs/theory/expected-errors.md, "Expected error of a median and of a mean".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.distance import distance_mi
from mapapp.answers.commute_pick import MEAN_LIMIT_MI, Pick
from mapapp.answers.errors.expected_error import ExpectedErrors, Floats, Ints
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts
from mapapp.answers.errors.tract_ways import TractWays
from mapapp.answers.errors.workplaces import WorkplaceArrays
from mapapp.answers.flows import Flows

_BETWEEN_PEOPLE: Final = 1.28
"""Mean distance between two points of a disk, in root mean squared distances from its center."""


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
    by_tract = np.stack([np.bincount(tract_of_block[work], each, area_share.size) for each in sums])
    n, below, near, miles, squared = by_tract
    mean, n_near = mean_mi or 0.0, max(near.sum(), 1.0)
    totals = np.stack([below - n / 2, (miles - mean * near) / n_near])
    squares = np.stack([n / 4, (squared - 2 * mean * miles + mean**2 * near) / n_near**2])
    values = _values(tracts, area_share, edge_mi, mean, n_near)
    in_workers, of_mean = formula.of_sums(values, totals, np.maximum(squares, 0.0), *workplaces)
    low, high = flows.quantiles_mi(pick, [0.5 - in_workers / n.sum(), 0.5 + in_workers / n.sum()])
    return (high - low) / 2, None if mean_mi is None else of_mean


def _values(
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
