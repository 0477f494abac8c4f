"""Pruning and the Pólya urn of one synthesizer after another, in exact integers.

Symbols: n real workers, m synthetic workers, k support points; weights in units of 2^-20.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import jit
from engine._kernels.chacha import (
    BLOCK_BYTES,
    POSITION,
    STAGE_REMAINDER,
    STAGE_RETAIN,
    STAGE_SAMPLE,
    STREAM_FIELDS,
    below,
    has_run_out,
    next_byte,
    open_stream,
    refill,
)

__all__ = ["find_weight", "redraw_range", "synthesize_range"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]

_WEIGHT_BITS = 20
_RETENTION_ONE = 1 << 32


@jit
def _stays_after_tie(key: Words, stream: Ints, threshold: int) -> bool:
    """Rest of a retention draw whose first byte was equal to the threshold's."""
    for shift in (16, 8, 0):
        drawn = next_byte(key, stream)
        wanted = (threshold >> shift) & 255
        if drawn != wanted:
            return bool(drawn < wanted)
    return False


@jit
def find_weight(cumulative: Ints, first: int, last: int, value: int) -> int:
    """First position in [first, last) whose running sum exceeds ``value``."""
    while first < last:
        middle = (first + last) >> 1
        if cumulative[middle] > value:
            last = middle
        else:
            first = middle + 1
    return first


@jit
def _prune(
    key: Words,
    stream: Ints,
    weights: Ints,
    thresholds: Ints,
    scalars: tuple[int, int, int, bool],
    occupied_by: Ints,
    kept: Indices,
    cumulative: Ints,
) -> int:
    """List the kept points and the running sum of their prior weights; return how many are kept.

    A retention draw is Bernoulli(threshold / 2^32): a uniform 32-bit number is compared with the threshold
    byte by byte from the top, reading on only while the bytes are equal, so about one byte in all. It is
    made for every point that is not certain, occupied or not, so that what the stream has given up to any
    point does not depend on the real workers. ``scalars`` holds the synthesizer's number, its least weight,
    the weight above which points are certain, and whether all points are.
    """
    synthesizer, min_weight, certain_above, keep_all = scalars
    n_kept = 0
    total = np.int64(0)
    for point in range(weights.size):
        weight = max(weights[point], min_weight)
        threshold = thresholds[point]
        stays = keep_all or weight > certain_above or threshold >= _RETENTION_ONE
        if not stays:
            # next_byte, written out: a call for each point would cost five times the draw.
            position = stream[POSITION]
            if position >= BLOCK_BYTES:
                refill(key, stream)
                position = np.int64(0)
            stream[POSITION] = position + 1
            drawn = (stream[position >> 2] >> (8 * (position & 3))) & 255
            wanted = threshold >> 24
            stays = drawn < wanted
            if drawn == wanted:
                stays = _stays_after_tie(key, stream, threshold)
        if stays or occupied_by[point] == synthesizer:
            total += weight
            kept[n_kept] = point
            cumulative[n_kept] = total
            n_kept += 1
    return n_kept


@jit
def _draw(
    key: Words, stream: Ints, kept: Indices, cumulative: Ints, n_kept: int, workers: Indices, drawn: Indices
) -> None:
    """Draw ``drawn.size`` workers: a prior point, a real worker's point, or a copy of an earlier draw."""
    prior_total = cumulative[n_kept - 1]
    worker_total = prior_total + (np.int64(workers.size) << _WEIGHT_BITS)
    for position in range(drawn.size):
        value = below(key, stream, worker_total + (np.int64(position) << _WEIGHT_BITS))
        if value < prior_total:
            drawn[position] = kept[find_weight(cumulative, 0, n_kept, value)]
        elif value < worker_total:
            drawn[position] = workers[(value - prior_total) >> _WEIGHT_BITS]
        else:
            drawn[position] = drawn[(value - worker_total) >> _WEIGHT_BITS]


@jit
def synthesize_range(
    bounds: tuple[int, int],
    worker_ptr: Ints,
    worker_point: Indices,
    addresses: tuple[Any, Any, Any, Any],
    support: tuple[Any, Any, Any],
    certain_above: int,
    key: Words,
    synthetic_ptr: Ints,
    synthetic_point: Indices,
) -> int:
    """Prune and draw synthesizers ``bounds``; return the first whose stream ran out, or -1.

    ``addresses`` holds tract, destination, segment and least weight (each [S]); ``support`` holds
    support_ptr [T + 1], prior weight [K] and retention threshold [K].
    """
    tract_of, destination, segment, min_weight = addresses
    support_ptr, prior_weight, threshold = support
    most_points = 0
    for tract in range(support_ptr.size - 1):
        most_points = max(most_points, support_ptr[tract + 1] - support_ptr[tract])
    occupied_by = np.full(most_points, -1, dtype=np.int64)
    kept = np.empty(most_points, dtype=np.int32)
    cumulative = np.empty(most_points, dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        drawn = synthetic_point[synthetic_ptr[synthesizer] : synthetic_ptr[synthesizer + 1]]
        if drawn.size == 0:
            continue
        workers = worker_point[worker_ptr[synthesizer] : worker_ptr[synthesizer + 1]]
        for worker in range(workers.size):
            occupied_by[workers[worker]] = synthesizer
        first, last = support_ptr[tract_of[synthesizer]], support_ptr[tract_of[synthesizer] + 1]
        open_stream(STAGE_RETAIN, destination[synthesizer], segment[synthesizer], stream)
        # With no real worker there is nothing to hide and nothing that is sure to stay: keep the whole
        # prior. Which synthesizers these are is known from their total alone, and totals are public.
        scalars = (synthesizer, min_weight[synthesizer], certain_above, workers.size == 0)
        weights, thresholds = prior_weight[first:last], threshold[first:last]
        n_kept = _prune(key, stream, weights, thresholds, scalars, occupied_by, kept, cumulative)
        if has_run_out(stream):
            return synthesizer
        open_stream(STAGE_SAMPLE, destination[synthesizer], segment[synthesizer], stream)
        _draw(key, stream, kept, cumulative, n_kept, workers, drawn)
        if has_run_out(stream):
            return synthesizer
    return -1


@jit
def redraw_range(
    bounds: tuple[int, int],
    synthetic_ptr: Ints,
    support_ptr: Ints,
    addresses: tuple[Any, Any, Any],
    redraw: tuple[Any, Any],
    key: Words,
    synthetic_point: Indices,
) -> int:
    """Draw again, in place, what fell in a remainder; return the first stream that ran out, or -1.

    ``addresses`` holds tract, destination and segment (each [S]); ``redraw`` holds each tract's number of
    points that can be drawn [T] and the running sum of their weights within the tract [K]. A drawn
    point at or past that number is the remainder.
    """
    tract_of, destination, segment = addresses
    n_points, cumulative = redraw
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    for synthesizer in range(bounds[0], bounds[1]):
        tract = tract_of[synthesizer]
        first = support_ptr[tract]
        last = first + n_points[tract]
        is_open = False
        for position in range(synthetic_ptr[synthesizer], synthetic_ptr[synthesizer + 1]):
            if synthetic_point[position] < n_points[tract]:
                continue
            if not is_open:
                open_stream(STAGE_REMAINDER, destination[synthesizer], segment[synthesizer], stream)
                is_open = True
            value = below(key, stream, cumulative[last - 1])
            synthetic_point[position] = find_weight(cumulative, first, last, value) - first
        if is_open and has_run_out(stream):
            return synthesizer
    return -1
