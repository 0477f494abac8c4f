"""Cleaning: take the expected noise of the exponential mechanism out of each tract's commute ranges.

The mechanism adds the same expected noise to every support point, near or far. Its total is known from the released
tables, so the number of workers whom noise put into each commute range of a destination tract is known, too, within
chance. Workers in ranges that gained are drawn again in ranges that lost, the least plausible first. Only drawn tables
and public numbers are read, so this is post-processing.

Source: docs/theory/method.md, section 7f.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_amounts, as_int
from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels.arrays import Addresses, PointLists
from engine.kernels.chacha import LANE_WORDS
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.expected_noise import ExpectedNoise
from engine.mechanisms.kernels.cleaning import (
    FREED_BITS,
    PointPlaces,
    PointSums,
    Ranges,
    RangeSums,
    StreamSpace,
    clean_range,
    count_workers,
    order_ranges,
    sum_ranges,
)
from engine.streams import SecretKey, new_stream
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening
from engine.threads import run_ranges

__all__ = ["CLEANED_RANGES_MI", "clean_points"]

Ints = npt.NDArray[np.int64]

CLEANED_RANGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Miles between the commute ranges that are cleaned; distances are those of support points.

They are the same for all data and settings, so a certificate need not state them: docs/theory/method.md, section 7f,
says why.
"""

_CHANCE_BITS: Final = 32
_ONE: Final = 1 << FREED_BITS


def clean_points(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    coarsening: Coarsening,
    share: FloatArray,
    noise: ExpectedNoise,
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
        After :func:`engine.mechanisms.dirichlet_multinomial.redraw_remainder`.
    coarsening : Coarsening
        The edited support points.
    share : float64[K]
        Public prior share of each point. Of points with equally many workers, those with the least share lose theirs
        first; ties go by index.
    noise : ExpectedNoise
        From :func:`engine.mechanisms.expected_noise.expected_noise`.
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

    Source: docs/theory/method.md, section 7f.
    """
    n_tracts = coarsening.n_destination_tracts
    shares, numbers = as_amounts("share", share), as_int("tract_number", tract_number)
    if drawn.synthetic_ptr.size != synthesizers.tract.size + 1:
        raise ParameterError("drawn and synthesizers differ in number: give what was drawn for them")
    if shares.size != coarsening.support_level.size or not noise.freed.size == numbers.size == n_tracts:
        raise ParameterError(
            f"{shares.size} shares, {noise.freed.size} expectations and {numbers.size} tract numbers: give "
            f"{coarsening.support_level.size} and {n_tracts} twice"
        )
    points = PointLists(drawn.synthetic_ptr, drawn.synthetic_point.copy())
    ranges = _ranges(
        coarsening, shares, _count_drawn(synthesizers, coarsening, noise, points), noise, ranges_mi
    )
    cells = _cells_by_tract(synthesizers, n_tracts)
    addresses = Addresses(np.arange(n_tracts, dtype=np.int32), numbers, np.zeros(n_tracts, dtype=np.int64))
    most_points = int(coarsening.n_support.max(initial=0))

    def clean(start: int, stop: int) -> int:
        left = np.zeros(most_points, dtype=np.int64)
        room = StreamSpace(new_stream(), np.zeros(LANE_WORDS, dtype=np.uint32))
        return clean_range(
            (start, stop), cells, addresses, ranges, len(ranges_mi) + 1, key.words, room, left, points
        )

    n_workers = np.bincount(synthesizers.tract, np.diff(drawn.synthetic_ptr), n_tracts).astype(np.int64)
    failed = max(run_ranges(clean, n_workers + coarsening.n_support, threads), default=-1)
    if failed >= 0:
        raise OverflowRefusedError(
            f"the random stream of destination tract {numbers[failed]} passed its 2^32 blocks: clean fewer workers"
        )
    return SyntheticPoints(synthetic_ptr=points.ptr, synthetic_point=points.point)


def _count_drawn(
    synthesizers: Synthesizers, coarsening: Coarsening, noise: ExpectedNoise, points: PointLists
) -> PointSums:
    """Drawn workers of each point."""
    n_points = coarsening.support_level.size
    drawn = np.zeros(n_points, dtype=np.int64)
    by_point, in_proportion = noise.by_point, np.zeros(n_points, dtype=np.int64)
    if by_point is None:
        by_point, in_proportion = np.zeros(0, dtype=np.bool_), drawn
    counts = PointSums(drawn, in_proportion)
    if not count_workers(synthesizers.tract, by_point, coarsening.support_ptr, points, counts):
        raise ParameterError(
            "a drawn point is not in its destination tract's support: give its own coarsening"
        )
    return counts


def _cells_by_tract(synthesizers: Synthesizers, n_tracts: int) -> PointLists:
    """Synthesizers of each tract, by destination and segment."""
    tract, destination, segment = synthesizers.tract, synthesizers.destination, synthesizers.segment
    tied = destination[1:] == destination[:-1]
    rises = (destination[1:] > destination[:-1]) | (tied & (segment[1:] > segment[:-1]))
    same = tract[1:] == tract[:-1]
    if np.all((tract[1:] > tract[:-1]) | (same & rises)):
        order = np.arange(tract.size)
    else:
        order = np.lexsort((segment, destination, tract))
    cell_ptr = np.searchsorted(tract[order], np.arange(n_tracts + 1)).astype(np.int64)
    return PointLists(cell_ptr, order.astype(np.int32))


def _ranges(
    coarsening: Coarsening,
    share: FloatArray,
    counts: PointSums,
    noise: ExpectedNoise,
    ranges_mi: tuple[float, ...],
) -> Ranges:
    """What each commute range of each tract loses or gains, and its points, the least plausible first."""
    limits = np.array(ranges_mi, dtype=np.float64)
    places = PointPlaces(
        coarsening.support_ptr, coarsening.support_level, coarsening.support_distance_mi, share
    )
    n_groups = coarsening.n_destination_tracts * (limits.size + 1)
    sums = RangeSums(*np.zeros((4, n_groups), dtype=np.int64))
    sum_ranges(places, limits, counts, sums)
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sums.occupied)))
    # Points without workers lose none and, as workers are added in proportion, gain none.
    n_occupied = int(first[-1])
    changes = _changes(_compute_expected(coarsening, share, sums, noise, limits))
    lists = Ranges(
        first=first,
        taken=changes.taken,
        chance=changes.chance,
        added=np.zeros(n_groups, dtype=np.int64),
        point=np.empty(n_occupied, dtype=np.int32),
        workers=np.empty(n_occupied, dtype=np.int64),
        cumulative=np.empty(n_occupied, dtype=np.int64),
    )
    # No share is below 0, so their bits have their order; 0 is added to make -0 a 0.
    bits = (share + 0.0).view(np.int64)
    order_ranges(places, limits, counts.drawn, bits, np.empty(n_occupied, dtype=np.int64), lists)
    return lists._replace(added=changes.added)


class _Expected(NamedTuple):
    """Workers of the ranges of each tract, [T, ranges]: all that were drawn, and of two kinds of units, those that are
    expected without noise, up to a factor, with the number of workers to which they are scaled, [T].

    The factor is that of the tract, and of its own for each kind: units that are read in proportion, and by points.
    """

    drawn: Ints
    expected: tuple[list[list[int]], list[list[int]]]
    n_workers: tuple[list[int], list[int]]


def _compute_expected(
    coarsening: Coarsening, share: FloatArray, sums: RangeSums, noise: ExpectedNoise, limits: FloatArray
) -> _Expected:
    """What is expected without noise, in exact whole numbers."""
    counts, in_proportion, received = (
        values.reshape(-1, limits.size + 1) for values in (sums.drawn, sums.in_proportion, sums.received)
    )
    least = [
        [
            max(count * (k << (2 * FREED_BITS)) - freed * parts, 0)
            for count, parts in zip(*of_tract, strict=True)
        ]
        for k, freed, *of_tract in zip(
            coarsening.n_support.tolist(),
            noise.freed.tolist(),
            in_proportion.tolist(),
            received.tolist(),
            strict=True,
        )
    ]
    read = np.zeros_like(counts)
    if noise.workers is not None:
        read = _read_by_range(coarsening, share, noise.workers, limits)
    # Nobody can be added to a range without workers.
    n_read = (counts - in_proportion).sum(axis=1).tolist()
    return _Expected(
        counts,
        (least, np.where(counts > 0, np.maximum(read, 0), 0).tolist()),
        (in_proportion.sum(axis=1).tolist(), n_read),
    )


def _read_by_range(coarsening: Coarsening, share: FloatArray, workers: Ints, limits: FloatArray) -> Ints:
    """Real workers of each range, [T, ranges], from those of points: the remainder's are spread by prior share."""
    n_tracts, n_ranges = coarsening.n_destination_tracts, limits.size + 1
    tract = coarsening.tract_of_point
    group = tract * n_ranges + np.searchsorted(limits, coarsening.support_distance_mi, side="right")
    is_remainder = coarsening.support_level == LEVEL_REMAINDER
    has_remainder = np.bincount(tract[is_remainder], minlength=n_tracts)

    def sum_by_range(values: Ints) -> Ints:
        added = np.zeros(n_tracts * n_ranges, dtype=np.int64)
        np.add.at(added, group, values)
        return added.reshape(n_tracts, n_ranges)

    # The remainder's own, 2^-20 of a worker at a time.
    last = np.zeros(n_tracts, dtype=np.int64)
    last[tract[is_remainder]] = workers[is_remainder]
    parts = sum_by_range(has_remainder[tract] * np.floor(share * _ONE).astype(np.int64))
    return sum_by_range(np.where(is_remainder, 0, workers)) + ((last[:, None] * parts) >> FREED_BITS)


class _Changes(NamedTuple):
    """Workers to take out of each range, whole and by chance, and running numbers to add, in 2^-32."""

    taken: Ints
    chance: Ints
    added: Ints


def _changes(expected: _Expected) -> _Changes:
    """What is expected without noise, scaled to the tract's workers, less what was drawn: in exact whole numbers."""
    n_tracts, n_ranges = expected.drawn.shape
    changes = _Changes(*np.zeros((3, n_tracts * n_ranges), dtype=np.int64))
    for tract, counts in enumerate(expected.drawn.tolist()):
        kinds = [
            (n_workers[tract], of_kind[tract], sum(of_kind[tract]))
            for n_workers, of_kind in zip(expected.n_workers, expected.expected, strict=True)
            if n_workers[tract] > 0
        ]
        total = math.prod(whole for _, _, whole in kinds)
        if total == 0:  # nothing is left without noise, so nothing is known
            continue
        running = 0
        for number, count in enumerate(counts):
            at = tract * n_ranges + number
            wanted = sum(n * of_range[number] * (total // whole) for n, of_range, whole in kinds)
            surplus = count * total - wanted
            if surplus > 0:
                changes.taken[at] = surplus // total
                changes.chance[at] = (surplus % total << _CHANCE_BITS) // total
            elif surplus < 0:
                running += (-surplus << _CHANCE_BITS) // total
            changes.added[at] = running
    return changes
