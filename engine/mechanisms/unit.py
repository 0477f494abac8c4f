"""Units of drawing larger than a cell (workplace block, segment): cells pooled into units, and dealt out again.

A mechanism that is private for each unit is private for the release as long as every worker is in exactly one unit.
Within a unit, homes no longer go with segments or, in a tract, with blocks: the unit's synthetic workers are dealt out
to its cells by a random permutation, which keeps every public n and reads nothing confidential.

Source: docs/theory/method.md, section 7d.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import as_int
from engine.errors import OverflowRefusedError, ParameterError
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.kernels.exponential import shuffle_range
from engine.parameters import Unit
from engine.placement.kernels.points import sort_ranges
from engine.streams import SecretKey, new_stream
from engine.threads import run_ranges

__all__ = ["Pooled", "UnitSizes", "deal_to_cells", "draw_by_unit", "pool_cells", "sizes_of_units"]


class Pooled(NamedTuple):
    """Cells pooled into units.

    Attributes
    ----------
    units : Synthesizers
        One for each unit, with the workers of its cells.
    order : int64[S]
        Cells in the order of their units, within a unit by block and segment.
    """

    units: Synthesizers
    order: npt.NDArray[np.int64]


class UnitSizes(NamedTuple):
    """Destination tract and number of workers of every unit: int32[U] and int64[U]; public."""

    tract: npt.NDArray[np.int32]
    n_workers: npt.NDArray[np.int64]


def sizes_of_units(
    unit: Unit,
    destination: npt.NDArray[np.int64],
    tract: npt.NDArray[np.int32],
    count: npt.NDArray[np.int64],
) -> UnitSizes:
    """Return the destination tract and number of workers of every unit that is drawn by itself.

    Parameters
    ----------
    unit : {"cell", "block", "tract"}
    destination, tract, count : int64[S], int32[S], int64[S]
        Destination block, destination tract, and number of workers of each cell.
    """
    if unit == "cell":
        return UnitSizes(tract, count)
    number = destination if unit == "block" else tract.astype(np.int64)
    _, first, at = np.unique(number, return_index=True, return_inverse=True)
    return UnitSizes(tract[first], np.bincount(at.reshape(-1), count).astype(np.int64))


def draw_by_unit(
    key: SecretKey,
    cells: Synthesizers,
    unit: Unit,
    tract_number: npt.NDArray[np.int64] | None,
    draw: Callable[[Synthesizers], SyntheticPoints],
    *,
    threads: int = 1,
) -> SyntheticPoints:
    """Pool cells into units, draw these, and deal what was drawn out to the cells.

    Parameters
    ----------
    key, cells, unit, tract_number, threads
        As for :func:`pool_cells` and :func:`deal_to_cells`.
    draw : callable
        Takes units, and returns as many workers for each as it has real ones.

    Returns
    -------
    SyntheticPoints
        Of the cells.

    Raises
    ------
    ParameterError
        Published counts differ from real ones, or tract numbers are missing or do not agree.
    """
    _require_fixed(cells)
    pooled = pool_cells(cells, unit, tract_number)
    return deal_to_cells(key, cells, pooled, draw(pooled.units), threads=threads)


def _require_fixed(cells: Synthesizers) -> None:
    """Refuse synthesizers that draw another number of workers than they have."""
    changed = int(np.count_nonzero(cells.n_likelihood != cells.n_synthetic))
    if changed:
        raise ParameterError(
            f"{changed} published counts differ from the real ones; this mechanism draws as many workers as "
            "there are: leave published counts out"
        )


def pool_cells(cells: Synthesizers, unit: Unit, tract_number: npt.NDArray[np.int64] | None) -> Pooled:
    """Pool the workers of cells into units.

    Parameters
    ----------
    cells : Synthesizers
        One for each (destination block, segment).
    unit : {"cell", "block", "tract"}
        "cell" pools nothing.
    tract_number : int64[T], optional
        Global number of each destination tract, the same in every batch, 0 to 2^32 - 1; needed for "tract" alone.

    Returns
    -------
    Pooled
        Units are addressed by (block, 0) or (tract number, 0).

    Raises
    ------
    ParameterError
        Tract numbers are needed and missing, or a unit is in two destination tracts.
    """
    if unit == "cell":
        return Pooled(cells, np.arange(cells.tract.size))
    number = cells.destination if unit == "block" else _numbers(cells, tract_number)
    order = np.lexsort((cells.segment, cells.destination, number))
    ordered = number[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    tract = cells.tract[order]
    split = np.flatnonzero((np.diff(ordered) == 0) & (np.diff(tract) != 0))
    if split.size:
        at = split[0]
        raise ParameterError(
            f"unit {ordered[at]} is in tracts {tract[at]} and {tract[at + 1]}; workers are drawn together from the "
            "support points of one tract: give each block one tract, and each tract a number of its own"
        )
    n_of_cell = cells.n_likelihood[order]
    # Workers of one cell after the other: where each cell's workers begin in the source, less where in the result.
    ends = np.cumsum(n_of_cell)
    shift = cells.worker_ptr[:-1][order] - (ends - n_of_cell)
    source = np.arange(cells.worker_point.size) + np.repeat(shift, n_of_cell)
    bounds = np.append(first, order.size)
    running = np.concatenate((np.zeros(1, dtype=np.int64), ends))
    representative = order[first]
    units = Synthesizers(
        tract=cells.tract[representative],
        destination=ordered[first],
        segment=np.zeros(first.size, dtype=np.int64),
        worker_ptr=running[bounds],
        worker_point=cells.worker_point[source],
        min_prior_weight=cells.min_prior_weight[representative],
    )
    return Pooled(units, order)


def _numbers(cells: Synthesizers, tract_number: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    if tract_number is None:
        raise ParameterError(
            "unit 'tract' needs the global number of each destination tract: give tract_number"
        )
    numbers = as_int("tract_number", tract_number)
    if cells.tract.size and int(cells.tract.max()) >= numbers.size:
        raise ParameterError(
            f"{numbers.size} tract numbers, but tract reaches {cells.tract.max()}: give one for each tract"
        )
    return numbers[cells.tract]


def deal_to_cells(
    key: SecretKey, cells: Synthesizers, pooled: Pooled, drawn: SyntheticPoints, *, threads: int = 1
) -> SyntheticPoints:
    """Deal the synthetic workers of units out to their cells, as many to each as it has real workers.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage DEAL, addressed by (unit, 0).
    cells : Synthesizers
    pooled : Pooled
        From :func:`pool_cells`.
    drawn : SyntheticPoints
        Of the units.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints
        Of the cells; points of one cell in rising order.
    """
    if pooled.units is cells:
        return drawn
    units, unit_ptr, points = pooled.units, drawn.synthetic_ptr, drawn.synthetic_point.copy()

    def shuffle(start: int, stop: int) -> int:
        return shuffle_range((start, stop), units.destination, unit_ptr, points, key.words, new_stream())

    failed = max(run_ranges(shuffle, np.diff(unit_ptr), threads), default=-1)
    if failed >= 0:
        raise OverflowRefusedError(
            f"the random stream of unit {units.destination[failed]} passed its 2^32 blocks: choose a smaller unit"
        )
    n_of_cell = cells.n_likelihood
    cell_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_of_cell)))
    in_order = n_of_cell[pooled.order]
    ends = np.cumsum(in_order)
    target = np.arange(points.size) + np.repeat(cell_ptr[:-1][pooled.order] - (ends - in_order), in_order)
    dealt = np.empty_like(points)
    dealt[target] = points
    run_ranges(lambda start, stop: sort_ranges((start, stop), cell_ptr, dealt), n_of_cell, threads)
    return SyntheticPoints(synthetic_ptr=cell_ptr, synthetic_point=dealt)
