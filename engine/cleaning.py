"""Cleaning: take the expected noise of the exponential mechanism out of each tract's commute ranges.

The mechanism adds the same expected noise to every support point, near or far. Its total is known from the released
tables, so the number of workers whom noise put into each commute range of a destination tract is known, too, within
chance. Workers in ranges that gained are drawn again in ranges that lost, the least plausible first. Only drawn tables
and public numbers are read, so this is post-processing.

Source: docs/method.md, section 7f.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, as_amounts, as_int
from engine._kernels.arrays import Addresses, PointLists
from engine._kernels.cleaning import FREED_BITS, Ranges, clean_range
from engine._threads import run_ranges
from engine.coarsening import LEVEL_REMAINDER, Coarsening
from engine.errors import OverflowRefusedError, ParameterError
from engine.expected_noise import ExpectedNoise
from engine.streams import SecretKey, new_stream
from engine.synthesis import Synthesizers, SyntheticPoints

__all__ = ["CLEANED_RANGES_MI", "clean_points"]

Ints = npt.NDArray[np.int64]

CLEANED_RANGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Miles between the commute ranges that are cleaned; distances are those of support points.

They are the same for all data and settings, so a certificate need not state them: docs/method.md, section 7f, says why.
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
        After :func:`engine.synthesis.redraw_remainder`.
    coarsening : Coarsening
        The edited support points.
    share : float64[K]
        Public prior share of each point. Of points with equally many workers, those with the least share lose theirs
        first; ties go by index.
    noise : ExpectedNoise
        From :func:`engine.expected_noise.expected_noise`.
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
    if shares.size != coarsening.support_level.size or not noise.freed.size == numbers.size == n_tracts:
        raise ParameterError(
            f"{shares.size} shares, {noise.freed.size} expectations and {numbers.size} tract numbers: give "
            f"{coarsening.support_level.size} and {n_tracts} twice"
        )
    tract = np.repeat(synthesizers.tract, np.diff(drawn.synthetic_ptr))
    at = coarsening.support_ptr[tract] + drawn.synthetic_point
    counts = np.bincount(at, minlength=shares.size).astype(np.int64)
    by_point = np.zeros(at.size, dtype=np.bool_)
    if noise.by_point is not None:
        by_point = np.repeat(noise.by_point, np.diff(drawn.synthetic_ptr))
    in_proportion = np.bincount(at[~by_point], minlength=shares.size).astype(np.int64)
    ranges = _ranges(coarsening, shares, _Drawn(counts, in_proportion), noise, ranges_mi)
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


class _Drawn(NamedTuple):
    """Drawn workers of each point, [K]: all, and those of units that are read in proportion."""

    counts: Ints
    in_proportion: Ints


def _ranges(
    coarsening: Coarsening,
    share: FloatArray,
    drawn: _Drawn,
    noise: ExpectedNoise,
    ranges_mi: tuple[float, ...],
) -> Ranges:
    """What each commute range of each tract loses or gains, and its points, the least plausible first."""
    n_ranges, counts = len(ranges_mi) + 1, drawn.counts
    range_of_point = np.searchsorted(ranges_mi, coarsening.support_distance_mi, side="right")
    group = coarsening.tract_of_point * n_ranges + range_of_point
    n_groups = coarsening.n_destination_tracts * n_ranges
    # Points without workers lose none and, as workers are added in proportion, gain none. Ties stay in order.
    occupied = np.flatnonzero(counts)
    order = occupied[np.lexsort((share[occupied], counts[occupied], group[occupied]))]
    first = np.searchsorted(group[order], np.arange(n_groups + 1)).astype(np.int64)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts[order])))
    local = np.arange(share.size) - np.repeat(coarsening.support_ptr[:-1], coarsening.n_support)
    changes = _changes(_expected(coarsening, share, drawn, noise, group, n_ranges))
    return Ranges(
        first=first,
        taken=changes.taken,
        chance=changes.chance,
        added=changes.added,
        point=local[order].astype(np.int32),
        workers=counts[order],
        cumulative=before[1:] - before[first[group[order]]],
    )


class _Expected(NamedTuple):
    """Workers of the ranges of each tract, [T, ranges]: all that were drawn, and of two kinds of units, those that are
    expected without noise, up to a factor, with the number of workers to which they are scaled, [T].

    The factor is that of the tract, and of its own for each kind: units that are read in proportion, and by points.
    """

    drawn: Ints
    expected: tuple[list[list[int]], list[list[int]]]
    n_workers: tuple[list[int], list[int]]


def _expected(
    coarsening: Coarsening, share: FloatArray, drawn: _Drawn, noise: ExpectedNoise, group: Ints, n_ranges: int
) -> _Expected:
    """What is expected without noise, in exact whole numbers."""
    n_tracts = coarsening.n_destination_tracts
    is_remainder = coarsening.support_level == LEVEL_REMAINDER
    has_remainder = np.bincount(coarsening.tract_of_point[is_remainder], minlength=n_tracts)
    # Workers of the remainder, noise among them, were drawn again by prior share.
    of_remainder = np.floor(share * _ONE).astype(np.int64)
    received = np.where(is_remainder, 0, _ONE)
    received += has_remainder[coarsening.tract_of_point] * of_remainder

    def by_range(values: Ints) -> Ints:
        added = np.zeros(n_tracts * n_ranges, dtype=np.int64)
        np.add.at(added, group, values)
        return added.reshape(n_tracts, n_ranges)

    counts, in_proportion = by_range(drawn.counts), by_range(drawn.in_proportion)
    scale = coarsening.n_support.tolist()
    least = [
        [
            max(count * (k << (2 * FREED_BITS)) - freed * parts, 0)
            for count, parts in zip(*of_tract, strict=True)
        ]
        for k, freed, *of_tract in zip(
            scale, noise.freed.tolist(), in_proportion.tolist(), by_range(received).tolist(), strict=True
        )
    ]
    read = np.zeros((n_tracts, n_ranges), dtype=np.int64)
    if noise.workers is not None:
        read = by_range(np.where(is_remainder, 0, noise.workers))
        # The remainder's own, 2^-20 of a worker at a time.
        last = np.zeros(n_tracts, dtype=np.int64)
        last[coarsening.tract_of_point[is_remainder]] = noise.workers[is_remainder]
        parts = by_range(has_remainder[coarsening.tract_of_point] * of_remainder)
        read += (last[:, None] * parts) >> FREED_BITS
    # Nobody can be added to a range without workers.
    n_read = (counts - in_proportion).sum(axis=1).tolist()
    return _Expected(
        counts,
        (least, np.where(counts > 0, np.maximum(read, 0), 0).tolist()),
        (in_proportion.sum(axis=1).tolist(), n_read),
    )


class _Changes(NamedTuple):
    """Workers to take out of each range, whole and by chance, and running numbers to add, in 2^-32."""

    taken: Ints
    chance: Ints
    added: Ints


def _changes(expected: _Expected) -> _Changes:
    """What is expected without noise, scaled to the tract's workers, less what was drawn: in exact whole numbers."""
    n_tracts, n_ranges = expected.drawn.shape
    found = _Changes(*np.zeros((3, n_tracts * n_ranges), dtype=np.int64))
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
                found.taken[at] = surplus // total
                found.chance[at] = (surplus % total << _CHANCE_BITS) // total
            elif surplus < 0:
                running += (-surplus << _CHANCE_BITS) // total
            found.added[at] = running
    return found
