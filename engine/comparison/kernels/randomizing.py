"""Keep-or-redraw, and geometric noise projected on the public total: one synthesizer after another, in exact integers.

Symbols: k support points, n workers; y noisy counts above 0, Y their sum; E = e^epsilon in units of 2^-20.

Synthetic workers of a synthesizer come in rising order of their points, so that the order shows nothing.
"""

import numpy as np

from engine.comparison.kernels.histograms import (
    DONE,
    MOST_NOISY,
    TOO_LARGE,
    HistogramInputs,
    LaplaceNoise,
    most_points,
    noise_everywhere,
)
from engine.jit import jit
from engine.kernels.arrays import Indices, Ints, PointLists, Words
from engine.kernels.chacha import (
    STAGE_MOVE,
    STAGE_NOISE,
    STAGE_TOTAL,
    STREAM_FIELDS,
    below,
    has_run_out,
    open_stream,
)
from engine.kernels.sorting import sort_values

__all__ = ["geometric_range", "keep_or_redraw_range"]

_UNITS = 20


@jit
def keep_or_redraw_range(
    bounds: tuple[int, int], inputs: HistogramInputs, odds: int, key: Words, synthetic: PointLists
) -> int:
    """Redraw each worker uniformly with chance k / (E - 1 + k); return the first whose stream ran out, or `DONE`.

    One number below E - 1 + k, in units of 2^-20, says both whether and where.
    """
    addresses, support_ptr = inputs.addresses, inputs.support_ptr
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
        if drawn.size == 0:
            continue
        tract = addresses.tract[synthesizer]
        redrawn = (support_ptr[tract + 1] - support_ptr[tract]) << _UNITS
        whole = odds - (1 << _UNITS) + redrawn
        # Sorted first, so that the order of workers in a file decides nothing.
        drawn[:] = inputs.workers.point[inputs.workers.ptr[synthesizer] : inputs.workers.ptr[synthesizer + 1]]
        sort_values(drawn)
        open_stream(STAGE_MOVE, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        for worker in range(drawn.size):
            value = below(key, stream, whole)
            if value < redrawn:
                drawn[worker] = value >> _UNITS
        sort_values(drawn)
        if has_run_out(stream):
            return synthesizer
    return DONE


@jit
def _above(noisy: Ints, level: int) -> tuple[int, int]:
    """Workers above a level of at least 0, and how many points have any."""
    workers, points = 0, 0
    for value in noisy:
        if value > level:
            workers += value - level
            points += 1
    return workers, points


@jit
def _level(noisy: Ints, n_workers: int) -> int:
    """The highest level of at least 0 above which the counts, in all at least ``n_workers``, hold as many."""
    low, high = 0, noisy.max()
    while low < high:
        middle = (low + high + 1) >> 1
        if _above(noisy, middle)[0] >= n_workers:
            low = middle
        else:
            high = middle - 1
    return low


@jit
def _project(key: Words, stream: Ints, points: Indices, noisy: Ints, n_points: int, drawn: Indices) -> None:
    """Fill ``drawn`` with a table of its size at the least squared distance from noisy counts, which are 0 elsewhere.

    Every count is lowered to what is above a level, and of the points that have any left, as many as there are workers
    too many lose one more, all choices being as likely. If there are too few, the level is below 0 and all points gain.
    """
    total = noisy.sum()
    level, surplus, left = 0, 0, n_points
    if total >= drawn.size:
        level = _level(noisy, drawn.size)
        workers, left = _above(noisy, level)
        surplus = workers - drawn.size
    else:
        level = -((drawn.size - total + n_points - 1) // n_points)
        surplus = total - level * n_points - drawn.size
    at, listed = 0, 0
    for point in range(n_points):
        value = -level
        if listed < points.size and points[listed] == point:
            value += noisy[listed]
            listed += 1
        if value <= 0:
            continue
        if below(key, stream, left) < surplus:
            surplus -= 1
            value -= 1
        left -= 1
        for _ in range(value):
            drawn[at] = point
            at += 1


@jit
def geometric_range(
    bounds: tuple[int, int], inputs: HistogramInputs, noise: LaplaceNoise, key: Words, synthetic: PointLists
) -> int:
    """Geometric noise on every point, clamped at 0 and projected on the total; returned as by the Laplace kernel."""
    addresses, support_ptr = inputs.addresses, inputs.support_ptr
    most = most_points(support_ptr)
    points, noisy = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
        if drawn.size == 0:
            continue
        n_points = support_ptr[addresses.tract[synthesizer] + 1] - support_ptr[addresses.tract[synthesizer]]
        workers = np.sort(
            inputs.workers.point[inputs.workers.ptr[synthesizer] : inputs.workers.ptr[synthesizer + 1]]
        )
        open_stream(STAGE_NOISE, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        listed, total = noise_everywhere(key, stream, noise, workers, n_points, points, noisy)
        if has_run_out(stream):
            return synthesizer
        if total > MOST_NOISY:
            return TOO_LARGE - synthesizer
        open_stream(STAGE_TOTAL, addresses.destination[synthesizer], addresses.segment[synthesizer], stream)
        _project(key, stream, points[:listed], noisy[:listed], n_points, drawn)
        if has_run_out(stream):
            return synthesizer
    return DONE
