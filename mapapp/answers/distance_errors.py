"""Expected errors of counts by distance and direction, by the formula of `mapapp.answers.expected_error`.

A distance band in one direction is a different home area for every workplace tract. Tracts are assigned to it by their
internal points. Homes in the tract of the workplace count in the first band, evenly in all directions. Commutes within
one block have no direction. Their homes are part of the workplace's tract: the share of its people who live in the
block of a worker of the tract, in the mean over workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from geodata.distance import bearing_deg, distance_mi
from mapapp.answers.expected_error import ExpectedErrors, Floats
from mapapp.answers.prepared import N_OCTANTS, octant
from mapapp.answers.support_prior import ListedShares
from mapapp.answers.workplaces import WorkplaceArrays
from mapapp.question.fields import Side

N_DIRECTIONS = N_OCTANTS + 1
"""The last one is for commutes within one place, which have no direction."""


def errors_of_cells(
    formula: ExpectedErrors,
    places: tuple[Floats, Floats],
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
    places : tuple of float64[n_tracts]
        Longitude and latitude of the tracts, degrees.
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
    flat = _with_margins(counts).reshape(n_tracts, -1).T
    home = _shares(places, shares, np.asarray(edges_mi, dtype=np.float64), side)
    of_rows = np.broadcast_to(times, (len(flat), len(times)))
    found = formula.of_counts(home, flat, tract, n_workers, of_rows, n_units)
    return np.array([one.error for one in found]).reshape(n_bands + 1, N_DIRECTIONS + 1)


def _shares(
    places: tuple[Floats, Floats], shares_of: tuple[Floats, Floats], edges_mi: Floats, side: Side
) -> Callable[[int], ListedShares]:
    lon, lat = places
    area_share, block_share = shares_of
    n_bands, width = edges_mi.size + 1, N_DIRECTIONS + 1
    inside = np.flatnonzero(area_share)

    def of(tract: int) -> ListedShares:
        """Return each tract's share of people in each cell as seen from a workplace tract, then margins."""
        at = inside[inside != tract]
        band = np.searchsorted(edges_mi, distance_mi(lon[tract], lat[tract], lon[at], lat[at]), side="right")
        ends = [(lon[tract], lat[tract]), (lon[at], lat[at])]
        here, there = ends if side == "work" else ends[::-1]
        way = octant(bearing_deg(*here, *there)) % N_DIRECTIONS
        own = area_share[tract]
        everywhere = np.arange(N_OCTANTS)
        # Each tract is in one cell and three margins; the workplace's tract is in every direction, one eighth each.
        rows = [band * width + way, band * width + N_DIRECTIONS, n_bands * width + way]
        rows = [
            *rows,
            np.full(at.size, n_bands * width + N_DIRECTIONS),
            everywhere,
            n_bands * width + everywhere,
        ]
        rows = [*rows, np.array([N_DIRECTIONS, n_bands * width + N_DIRECTIONS])]
        rows = [*rows, np.array([N_OCTANTS, n_bands * width + N_OCTANTS])]
        columns = [*[at] * 4, np.full(2 * N_OCTANTS + 4, tract)]
        within = block_share[tract]
        shares = [*[area_share[at]] * 4, np.full(2 * N_OCTANTS, own / N_OCTANTS), np.array([own, own])]
        shares = [*shares, np.array([within, within])]
        return ListedShares(
            np.concatenate(rows), np.concatenate(columns), np.concatenate(shares), (n_bands + 1) * width
        )

    return of


def _with_margins(cells: Floats) -> Floats:
    """Append sums over bands and over directions along axes 1 and 2."""
    cells = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    return np.concatenate([cells, cells.sum(axis=2, keepdims=True)], axis=2)
