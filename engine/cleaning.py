"""Cleaning: take the expected noise of the exponential mechanism out of each tract's commute ranges.

The mechanism adds the same expected noise to every support point, near or far. Its total is known from the released
tables, so the number of workers whom noise put into each commute range of a destination tract is known, too, within
chance. Workers in ranges that gained are drawn again in ranges that lost, the least plausible first. Only drawn tables
and public numbers are read, so this is post-processing.

Source: docs/method.md, section 7f.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, as_amounts, as_int
from engine._kernels.arrays import Addresses, PointLists
from engine._kernels.cleaning import (
    FREED_BITS,
    MOST_FREED,
    FreedSpace,
    Ranges,
    clean_range,
    expected_freed_range,
)
from engine._threads import run_ranges
from engine.coarsening import LEVEL_REMAINDER, Coarsening
from engine.errors import OverflowRefusedError, ParameterError
from engine.mechanisms.exponential import unit_thetas
from engine.mechanisms.thetas import exponential_epsilon
from engine.mechanisms.unit import pool_cells
from engine.parameters import Number, Unit
from engine.streams import SecretKey, new_stream
from engine.support_table import SupportTable
from engine.synthesis import Synthesizers, SyntheticPoints

__all__ = ["CLEANED_RANGES_MI", "clean_points", "expected_freed"]

Ints = npt.NDArray[np.int64]

CLEANED_RANGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Miles between the commute ranges that are cleaned; distances are those of support points.

They are the same for all data and settings, so a certificate need not state them: docs/method.md, section 7f, says why.
"""

_CHANCE_BITS: Final = 32
_ONE: Final = 1 << FREED_BITS


def expected_freed(
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    support: SupportTable,
    *,
    epsilon: Number,
    unit: Unit = "cell",
    tract_number: npt.NDArray[np.int64] | None = None,
    threads: int = 1,
) -> Ints:
    """Workers whom the exponential mechanism is expected to have freed and spread evenly over all points, by tract.

    Parameters
    ----------
    synthesizers, support, epsilon, unit, tract_number
        As for :func:`engine.mechanisms.exponential.exponential`.
    drawn : SyntheticPoints
        What it returned: the expectation is that of the released tables.
    threads : int

    Returns
    -------
    int64[T]
        In units of 2^-20 of a worker, rounded down for every unit.

    Raises
    ------
    ParameterError
        Epsilon is out of range, or the arrays do not agree.

    Notes
    -----
    Exact to the rounding of floating point where up to 24 workers are expected to be freed; beyond, the number at which
    as many are expected to be freed as to be added.

    Source: docs/method.md, sections 7d and 7f.
    """
    cells = Synthesizers(
        tract=synthesizers.tract,
        destination=synthesizers.destination,
        segment=synthesizers.segment,
        worker_ptr=drawn.synthetic_ptr,
        worker_point=drawn.synthetic_point,
        min_prior_weight=synthesizers.min_prior_weight,
    )
    units = pool_cells(cells, unit, tract_number).units
    thetas = unit_thetas(exponential_epsilon(epsilon), units, support)
    workers = PointLists(units.worker_ptr, units.worker_point)
    most = int(units.n_likelihood.max(initial=0))
    expected = np.zeros(units.tract.size, dtype=np.int64)

    def run(start: int, stop: int) -> int:
        space = FreedSpace(
            np.empty(most, dtype=np.int32),
            np.empty(most, dtype=np.int64),
            np.empty(MOST_FREED + 1),
            np.empty(MOST_FREED + 1),
        )
        return expected_freed_range(
            (start, stop), workers, units.tract, support.n_support, thetas, space, expected
        )

    run_ranges(run, units.n_likelihood + 1, threads)
    by_tract = np.zeros(support.n_support.size, dtype=np.int64)
    np.add.at(by_tract, units.tract, expected)
    return by_tract


def clean_points(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    coarsening: Coarsening,
    share: FloatArray,
    freed: Ints,
    tract_number: npt.NDArray[np.int64],
    *,
    ranges_mi: tuple[float, ...] = CLEANED_RANGES_MI,
    threads: int = 1,
) -> SyntheticPoints:
    """Draw again, in ranges that lost workers to noise, as many workers as noise is expected to have put elsewhere.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage CLEAN, addressed by (destination tract number, 0).
    synthesizers : Synthesizers
        All those of every destination tract among them.
    drawn : SyntheticPoints
        After :func:`engine.synthesis.redraw_remainder`.
    coarsening : Coarsening
        The edited support points.
    share : float64[K]
        Public prior share of each point. Of points with equally many workers, those with the least share lose theirs
        first; ties go by index.
    freed : int64[T]
        From :func:`expected_freed`.
    tract_number : int64[T]
        Global number of each destination tract, the same in every batch.
    ranges_mi : tuple of float
        Miles between commute ranges, rising. Releases have the default; `benchmarks.cleaning_ranges` tries others.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints
        Every synthesizer keeps its number of workers.

    Raises
    ------
    ParameterError
        If the arrays do not agree.

    Source: docs/method.md, section 7f.
    """
    n_tracts = coarsening.n_destination_tracts
    shares, numbers = as_amounts("share", share), as_int("tract_number", tract_number)
    if drawn.synthetic_ptr.size != synthesizers.tract.size + 1:
        raise ParameterError("drawn and synthesizers differ in number: give what was drawn for them")
    if shares.size != coarsening.support_level.size or not freed.size == numbers.size == n_tracts:
        raise ParameterError(
            f"{shares.size} shares, {freed.size} expectations and {numbers.size} tract numbers: give "
            f"{coarsening.support_level.size} and {n_tracts} twice"
        )
    tract = np.repeat(synthesizers.tract, np.diff(drawn.synthetic_ptr))
    at = coarsening.support_ptr[tract] + drawn.synthetic_point
    counts = np.bincount(at, minlength=shares.size).astype(np.int64)
    ranges = _ranges(coarsening, shares, counts, as_int("freed", freed), ranges_mi)
    order = np.lexsort((synthesizers.segment, synthesizers.destination, synthesizers.tract))
    cell_ptr = np.searchsorted(synthesizers.tract[order], np.arange(n_tracts + 1)).astype(np.int64)
    cells = PointLists(cell_ptr, order.astype(np.int32))
    addresses = Addresses(np.arange(n_tracts, dtype=np.int32), numbers, np.zeros(n_tracts, dtype=np.int64))
    points = PointLists(drawn.synthetic_ptr, drawn.synthetic_point.copy())
    most_points = int(coarsening.n_support.max(initial=0))

    def clean(start: int, stop: int) -> int:
        left = np.zeros(most_points, dtype=np.int64)
        return clean_range(
            (start, stop), cells, addresses, ranges, len(ranges_mi) + 1, key.words, new_stream(), left, points
        )

    work = np.bincount(tract, minlength=n_tracts) + coarsening.n_support
    failed = max(run_ranges(clean, work.astype(np.int64), threads), default=-1)
    if failed >= 0:
        raise OverflowRefusedError(
            f"the random stream of destination tract {numbers[failed]} passed its 2^32 blocks: clean fewer workers"
        )
    return SyntheticPoints(synthetic_ptr=points.ptr, synthetic_point=points.point)


def _ranges(
    coarsening: Coarsening, share: FloatArray, counts: Ints, freed: Ints, ranges_mi: tuple[float, ...]
) -> Ranges:
    """What each commute range of each tract loses or gains, and its points, the least plausible first."""
    n_ranges = len(ranges_mi) + 1
    range_of_point = np.searchsorted(ranges_mi, coarsening.support_distance_mi, side="right")
    group = coarsening.tract_of_point * n_ranges + range_of_point
    n_groups = coarsening.n_destination_tracts * n_ranges
    # Points without workers lose none and, as workers are added in proportion, gain none. Ties stay in order.
    occupied = np.flatnonzero(counts)
    order = occupied[np.lexsort((share[occupied], counts[occupied], group[occupied]))]
    first = np.searchsorted(group[order], np.arange(n_groups + 1)).astype(np.int64)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts[order])))
    local = np.arange(share.size) - np.repeat(coarsening.support_ptr[:-1], coarsening.n_support)
    changes = _changes(coarsening, share, counts, freed, group, n_ranges)
    return Ranges(
        first=first,
        taken=changes.taken,
        chance=changes.chance,
        added=changes.added,
        point=local[order].astype(np.int32),
        workers=counts[order],
        cumulative=before[1:] - before[first[group[order]]],
    )


class _Changes(NamedTuple):
    """Workers to take out of each range, whole and by chance, and running numbers to add, in 2^-32."""

    taken: Ints
    chance: Ints
    added: Ints


def _changes(
    coarsening: Coarsening, share: FloatArray, counts: Ints, freed: Ints, group: Ints, n_ranges: int
) -> _Changes:
    """What is expected without noise, scaled to the tract's workers, less what was drawn: in exact whole numbers."""
    n_tracts, shape = coarsening.n_destination_tracts, (coarsening.n_destination_tracts, n_ranges)
    is_remainder = coarsening.support_level == LEVEL_REMAINDER
    has_remainder = np.bincount(coarsening.tract_of_point[is_remainder], minlength=n_tracts)
    # Noise in the remainder was drawn again by prior share.
    received = np.where(is_remainder, 0, _ONE)
    received += has_remainder[coarsening.tract_of_point] * np.floor(share * _ONE).astype(np.int64)
    noise, drawn = np.zeros((2, n_tracts * n_ranges), dtype=np.int64)
    np.add.at(noise, group, received)
    np.add.at(drawn, group, counts)
    found = _Changes(*np.zeros((3, n_tracts * n_ranges), dtype=np.int64))
    n_support = coarsening.n_support.tolist()
    for tract, (of_noise, of_drawn) in enumerate(
        zip(noise.reshape(shape).tolist(), drawn.reshape(shape).tolist(), strict=True)
    ):
        scale = n_support[tract] << (2 * FREED_BITS)
        least = [
            max(count * scale - int(freed[tract]) * parts, 0)
            for count, parts in zip(of_drawn, of_noise, strict=True)
        ]
        total = sum(least)
        running = 0
        for number, (wanted, count) in enumerate(zip(least, of_drawn, strict=True)):
            at = tract * n_ranges + number
            surplus = count * total - sum(of_drawn) * wanted
            if surplus > 0:
                found.taken[at] = surplus // total
                found.chance[at] = (surplus % total << _CHANCE_BITS) // total
            elif surplus < 0:
                running += (-surplus << _CHANCE_BITS) // total
            found.added[at] = running
    return found
