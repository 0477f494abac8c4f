"""Released tables of one workplace tract, added up by size, with what the mechanism's noise is expected to have done.

A table has the n workers of a cell, block or tract over k support points: those whom the mechanism draws together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mapapp.answers.errors.support_prior import Synthesizers, TractPrior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = [
    "DrawnTables",
    "Noise",
    "NoiseOfTables",
    "NoisyTables",
    "ReleasedRows",
    "ReleasedTables",
    "add_up_tables",
    "padded",
    "parts_of_sizes",
    "tables_of",
]


class ReleasedRows(NamedTuple):
    """The released commutes to one workplace tract.

    Attributes
    ----------
    block, segment : int64[rows]
        Workplace block and segment.
    home_tract : int64[rows]
    workers : int64[rows]
        At least 1.
    """

    block: Ints
    segment: Ints
    home_tract: Ints
    workers: Ints


ReleasedTables = Callable[[int], ReleasedRows]
"""Returns the released commutes to a workplace tract."""


class DrawnTables(NamedTuple):
    """Tables of a workplace tract, point by point.

    Attributes
    ----------
    table, point : int64[rows]
        Number of the table, ascending, and support point.
    workers : int64[rows] or float64[rows]
        Whole numbers, unless the table is what is expected.
    n_workers : int64[tables]
    """

    table: Ints
    point: Ints
    workers: Ints | Floats
    n_workers: Ints


class NoiseOfTables(NamedTuple):
    """What a mechanism is expected to have done to tables over k points.

    Attributes
    ----------
    freed : float64[tables]
        Workers who are expected to be spread over all points.
    gained_variance : float64[tables]
        If the s of a point is its share in a home area, the variance of those who arrive there is this times the
        variance of s over all k points.
    lost_variance : float64[rows]
        Variance of the number of workers whom each point loses.
    lost : float64[rows], optional
        Workers whom each point loses, where that does not depend on how many it has.
    gained : float64[tables], optional
        Workers who seem to have arrived at all points together, if they are not those who were freed.
    kept_at : float64[tables, len(FULLNESS)]
        Part of its workers that a point keeps that has so many.
    """

    freed: Floats
    gained_variance: Floats
    lost_variance: Floats
    kept_at: Floats
    lost: Floats | None = None
    gained: Floats | None = None


class Noise(Protocol):
    """The noise of a mechanism that draws some workers again, evenly over all points."""

    @property
    def unit(self) -> str:
        """Which workers are drawn together: "cell", "block" or "tract"."""

    def of_tables(self, tables: DrawnTables, n_points: float) -> NoiseOfTables:
        """Return what the mechanism is expected to have done to released tables with these support points."""


class NoisyTables(NamedTuple):
    """All tables of a workplace tract, added up by J classes of n, over K points.

    Attributes
    ----------
    workers, lost, lost_variance : float64[J, K]
        Released workers of each point, those whom it lost in any case, and the variance of the number whom it loses.
    freed, gained, gained_variance : float64[J]
        Workers who are expected to be spread over all points, those who seem to have arrived, and their variance.
    even : float64[K]
        Expected share of each point in the draw of freed workers.
    n_tables : float64[J]
        Tables of each class.
    kept_at : float64[J, len(FULLNESS)]
        Part of its workers that a point keeps that has so many.
    """

    workers: Floats
    lost: Floats
    lost_variance: Floats
    freed: Floats
    gained: Floats
    gained_variance: Floats
    even: Floats
    n_tables: Floats
    kept_at: Floats

    @property
    def kept(self) -> Floats:
        """Part of the workers of each class who are expected to stay: float64[J]."""
        part = (self.gained - self.lost.sum(axis=-1)) / np.maximum(self.workers.sum(axis=-1), 1.0)
        return np.asarray(np.clip(1.0 - part, 0.0, 1.0))


def padded(arrays: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Return arrays of at most this shape as one, with a further first dimension and zeros behind shorter ones."""
    found = np.zeros((len(arrays), *shape))
    for place, each in enumerate(arrays):
        filled: tuple[int | slice, ...] = (place, *(slice(n) for n in each.shape))
        found[filled] = each
    return found


def tables_of(rows: ReleasedRows, unit: str, prior: TractPrior) -> DrawnTables:
    """Return the tables that were drawn together, over the support points of their tract."""
    n_shares = prior.share.size
    number = {"cell": rows.block * 32 + rows.segment, "block": rows.block, "tract": 0 * rows.block}[unit]
    table = np.unique(number, return_inverse=True)[1].reshape(-1)
    key, inverse = np.unique(table * n_shares + prior.point[rows.home_tract], return_inverse=True)
    workers = np.bincount(inverse.reshape(-1), rows.workers).astype(np.int64)
    table = key // n_shares
    return DrawnTables(table, key % n_shares, workers, np.bincount(table, workers).astype(np.int64))


def add_up_tables(tables: DrawnTables, noise: Noise, prior: TractPrior) -> NoisyTables:
    """Add tables of about the same number of workers up, with what noise is expected to have done to them."""
    found = noise.of_tables(tables, prior.n_points)
    n_shares = prior.share.size
    size = size_class(tables.n_workers)
    n_sizes = int(size.max()) + 1
    key = size[tables.table] * n_shares + tables.point

    def by_point(values: Floats | Ints) -> Floats:
        added = np.bincount(key, values, n_sizes * n_shares)
        return added.reshape(n_sizes, n_shares).astype(np.float64)

    def by_class(values: Floats) -> Floats:
        return np.bincount(size, values, n_sizes).astype(np.float64)

    return NoisyTables(
        workers=by_point(tables.workers),
        lost=by_point(np.zeros(tables.table.size) if found.lost is None else found.lost),
        lost_variance=by_point(found.lost_variance),
        freed=by_class(found.freed),
        gained=by_class(found.freed if found.gained is None else found.gained),
        gained_variance=by_class(found.gained_variance),
        even=prior.even,
        n_tables=np.bincount(size, minlength=n_sizes).astype(np.float64),
        kept_at=_means(found.kept_at, size, n_sizes),
    )


def _means(values: Floats, size: Ints, n_sizes: int) -> Floats:
    """Return the means of the tables' values by class."""
    added = np.zeros((n_sizes, values.shape[1]))
    np.add.at(added, size, values)
    return added / np.maximum(np.bincount(size, minlength=n_sizes), 1)[:, None]


def size_class(n_workers: Floats | Ints) -> Ints:
    """Return the class of tables by their workers: 1 to 4 by themselves, then two classes for each doubling."""
    n = np.asarray(n_workers, dtype=np.float64)
    return np.where(n <= 4, n - 1, np.floor(2.0 * np.log2(np.maximum(n, 1.0))) - 1.0).astype(np.int64)


def parts_of_sizes(workers: Floats, n_sizes: Ints, synthesizers: Synthesizers) -> tuple[Floats, Floats]:
    """Return the part of each class of n that counts cover in T tracts, and the same times their part of a synthesizer.

    Parameters
    ----------
    workers : float64[T, S]
        Workers of each class of n; where a tract has fewer classes, the last are empty.
    n_sizes : int64[T]
        Classes of n of each tract.
    synthesizers : Synthesizers

    Returns
    -------
    tuple of float64[T, R or 1, S]
    """
    place, n, times, units = synthesizers
    size = np.minimum(size_class(n), n_sizes[place] - 1)
    cell, of_size = place * workers.shape[1] + size, n / np.maximum(workers[place, size], 1.0)

    def added(values: Floats) -> Floats:
        found = [np.bincount(cell, each, workers.size).reshape(workers.shape) for each in values]
        return np.stack(found, axis=1).astype(np.float64, copy=False)

    part = added(times * of_size)
    return part, part if units is None else added(times * (times / np.maximum(units, 1.0)) * of_size)
