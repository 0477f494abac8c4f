"""Expected errors of counts by distance and direction, by the formula of `mapapp.answers.errors.expected_error`.

A distance band in one direction is a different home area for every workplace tract. Tracts are assigned to it by their
internal points. Homes in the tract of the workplace count in the first band, evenly in all directions. Commutes within
one block have no direction. Their homes are part of the workplace's tract: the share of its people who live in the
block of a worker of the tract, in the mean over workers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mapapp.answers.errors.expected_error import ExpectedErrors, Floats, Ints
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts
from mapapp.answers.errors.tract_ways import TractWays
from mapapp.answers.errors.workplaces import WorkplaceArrays
from mapapp.answers.prepared import N_OCTANTS
from mapapp.question.fields import Side

N_DIRECTIONS = N_OCTANTS + 1
"""The last one is for commutes within one place, which have no direction."""


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
    flat = _with_margins(counts).reshape(n_tracts, -1).T
    home = _values(ways, shares, edges_mi, side)
    of_rows = np.broadcast_to(times, (len(flat), len(times)))
    found = formula.of_counts(home, flat, tract, n_workers, of_rows, n_units)
    return np.array([one.error for one in found]).reshape(n_bands + 1, N_DIRECTIONS + 1)


def _values(
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


def _with_margins(cells: Floats) -> Floats:
    """Append sums over bands and over directions along axes 1 and 2."""
    cells = np.concatenate([cells, cells.sum(axis=1, keepdims=True)], axis=1)
    return np.concatenate([cells, cells.sum(axis=2, keepdims=True)], axis=2)
