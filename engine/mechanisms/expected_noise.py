"""What noise the exponential mechanism is expected to have put into tables, from the released tables alone.

Of a small table, the number of freed workers is known within chance, and every point loses about the same part of its
workers. A large table loses a bounded number from each point, however many workers it has. So where tables are larger
than cells, those of more than 20 workers are read point by point, by inverting the law of one point.

Source: docs/theory/method.md, sections 7d and 7f.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.kernels.arrays import PointLists
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.exponential import unit_thetas
from engine.mechanisms.kernels.cleaning import MOST_FREED, FreedSpace, expected_freed_range
from engine.mechanisms.kernels.exponential import Thetas
from engine.mechanisms.kernels.point_counts import PointCounts, read_units_range
from engine.mechanisms.thetas import MOST_EXACT_WORKERS, exponential_epsilon
from engine.mechanisms.unit import Pooled, pool_cells
from engine.parameters import Number, Unit
from engine.support.support_table import SupportTable
from engine.threads import run_ranges

__all__ = ["ExpectedNoise", "expect_freed", "expected_noise"]

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class ExpectedNoise(NamedTuple):
    """Expected noise of released tables, in units of 2^-20 of a worker.

    Attributes
    ----------
    freed : int64[T]
        Workers freed and spread evenly over all points, by tract, of the units that are read in proportion.
    workers : int64[K] or None
        Real workers of each support point, of the units that are read by points; below 0 by chance.
    by_point : bool[S] or None
        Whether a synthesizer's unit is read by points; None if none is.
    """

    freed: Ints
    workers: Ints | None = None
    by_point: Bools | None = None


def expected_noise(
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    support: SupportTable,
    *,
    epsilon: Number,
    unit: Unit = "cell",
    tract_number: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> ExpectedNoise:
    """Return what the exponential mechanism is expected to have done to released tables.

    Parameters
    ----------
    synthesizers, support, epsilon, unit, tract_number
        As for :func:`engine.mechanisms.exponential.exponential`.
    drawn : SyntheticPoints
        What it returned: the expectation is that of the released tables.
    threads : int

    Returns
    -------
    ExpectedNoise
        Rounded down for every unit and point. Cells are read in proportion, whatever their size.

    Raises
    ------
    ParameterError
        Epsilon is out of range, or the arrays do not agree.

    Notes
    -----
    Numbers of freed workers are exact to the rounding of floating point where up to 24 are expected; beyond, they are
    the number at which as many are expected to be freed as to be added.

    Source: docs/theory/method.md, sections 7d and 7f.
    """
    cells = Synthesizers(
        tract=synthesizers.tract,
        destination=synthesizers.destination,
        segment=synthesizers.segment,
        worker_ptr=drawn.synthetic_ptr,
        worker_point=drawn.synthetic_point,
        min_prior_weight=synthesizers.min_prior_weight,
    )
    pooled = pool_cells(cells, unit, tract_number)
    thetas = unit_thetas(exponential_epsilon(epsilon), pooled.units, support)
    freed = expect_freed(pooled.units, support, thetas, threads)
    if unit == "cell":
        return ExpectedNoise(_sum_by_tract(pooled.units, freed, support))
    point_counts = _read(pooled.units, support, thetas, threads)
    freed[point_counts.is_read] = 0
    return ExpectedNoise(
        _sum_by_tract(pooled.units, freed, support),
        _workers(pooled.units, point_counts, support),
        _are_cells_read(cells, pooled, point_counts.is_read),
    )


def _sum_by_tract(units: Synthesizers, freed: Ints, support: SupportTable) -> Ints:
    by_tract = np.zeros(support.n_support.size, dtype=np.int64)
    np.add.at(by_tract, units.tract, freed)
    return by_tract


def _space(units: Synthesizers) -> FreedSpace:
    most = int(units.n_likelihood.max(initial=0))
    return FreedSpace(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int64),
        np.empty(MOST_FREED + 1),
        np.empty(MOST_FREED + 1),
        np.empty(most + 1),
        np.empty((MOST_FREED + 1, MOST_FREED + 1)),
    )


def expect_freed(units: Synthesizers, support: SupportTable, thetas: Thetas, threads: int) -> Ints:
    """Workers whom each unit is expected to have freed and spread over all points, in 2^-20: int64[U].

    Units hold released tables.
    """
    workers = PointLists(units.worker_ptr, units.worker_point)
    expected = np.zeros(units.tract.size, dtype=np.int64)

    def run(start: int, stop: int) -> int:
        return expected_freed_range(
            (start, stop), workers, units.tract, support.n_support, thetas, _space(units), expected
        )

    run_ranges(run, units.n_likelihood + 1, threads)
    return expected


def _read(units: Synthesizers, support: SupportTable, thetas: Thetas, threads: int) -> PointCounts:
    """What units of more than 20 workers that have no price show of their points."""
    workers = PointLists(units.worker_ptr, units.worker_point)
    n_workers = units.worker_point.size
    point_counts = PointCounts(
        np.zeros(units.tract.size, dtype=np.bool_),
        np.zeros(units.tract.size, dtype=np.int64),
        np.zeros(n_workers, dtype=np.int32),
        np.zeros(n_workers, dtype=np.int64),
    )
    least = MOST_EXACT_WORKERS + 1

    def run(start: int, stop: int) -> int:
        space = _space(units)
        return read_units_range(
            (start, stop), workers, units.tract, support.n_support, thetas, least, space, point_counts
        )

    run_ranges(run, units.n_likelihood + 1, threads)
    return point_counts


def _workers(units: Synthesizers, point_counts: PointCounts, support: SupportTable) -> Ints:
    """Real workers of each support point, added up over the units that were read."""
    everywhere = _sum_by_tract(units, point_counts.empty, support)
    workers = np.repeat(everywhere, support.n_support)
    tract = np.repeat(units.tract, units.n_likelihood)
    np.add.at(workers, support.support_ptr[tract] + point_counts.point, point_counts.more)
    return workers


def _are_cells_read(cells: Synthesizers, pooled: Pooled, is_read: Bools) -> Bools:
    """Whether the unit of each cell was read; cells without workers may say anything."""
    n = cells.n_likelihood[pooled.order]
    unit = np.searchsorted(pooled.units.worker_ptr, np.cumsum(n) - n, side="right") - 1
    by_point = np.zeros(n.size, dtype=np.bool_)
    by_point[pooled.order] = is_read[np.minimum(unit, is_read.size - 1)]
    return by_point
