"""Pruning and the Pólya urn of one synthesizer after another, in exact integers.

What a synthesizer costs grows with its workers and its kept points, not with its support points: those that
stay by chance are reached by jumps (:mod:`engine._kernels.skipping`), and a mark per point, renewed for each
synthesizer by its number alone, says which are kept already.

Symbols: n real workers, m synthetic workers, k support points; weights in units of 2^-20.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import lean_jit
from engine._kernels.chacha import (
    BLOCK_BYTES,
    STAGE_REMAINDER,
    STAGE_RETAIN,
    WIDTH,
    below,
    fill_blocks,
    has_run_out,
    next_half,
    open_stream,
    read_ahead,
    take_blocks,
)
from engine._kernels.skipping import CERTAIN_CLASS, N_CLASSES, keep_by_chance

__all__ = ["find_weight", "redraw_range", "synthesize_range"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]

_WEIGHT_BITS = 20
# Below this total, 16 random bits times it stay below 2^62.
_HALF_WORD_TOTAL = 1 << 46


@lean_jit
def find_weight(cumulative: Ints, first: int, last: int, value: int) -> int:
    """First position in [first, last) whose running sum exceeds ``value``."""
    while first < last:
        middle = (first + last) >> 1
        if cumulative[middle] > value:
            last = middle
        else:
            first = middle + 1
    return first


@lean_jit
def _add_points(points: Indices, found: tuple[Any, Any, int], n_kept: int) -> int:
    """Add points to those kept, each once; return how many are kept now. ``found`` as in keep_by_chance."""
    kept, marks, mark = found
    for position in range(points.size):
        point = points[position]
        kept[n_kept] = point
        n_kept += marks[point] != mark
        marks[point] = mark
    return n_kept


@lean_jit
def _draw(
    key: Words, stream: Ints, lanes: Words, cumulative: Ints, balls: Indices, sizes: tuple[int, int, int]
) -> None:
    """Draw workers: a prior point, a real worker's point, or a copy of an earlier draw.

    ``sizes`` holds the numbers of kept points, of real workers and of draws; their points stand in ``balls``
    in this order. A draw is an integer below the weight of all balls before it: ``total`` times 16 random
    bits, plus an unbiased integer below ``total``, all divided by 2^16. The first term mostly says which
    ball that is, whatever the second; only where it does not is the second drawn.
    """
    n_kept, n_workers, n_draws = sizes
    prior_total = cumulative[n_kept - 1]
    last = n_kept + n_workers + n_draws
    stop = last - n_draws
    while stop < last:
        start = stop
        stop = min(last, start + max(read_ahead(key, lanes, stream) >> 1, 1))
        for ball in range(start, stop):
            total = prior_total + (np.int64(ball - n_kept) << _WEIGHT_BITS)
            if total >= _HALF_WORD_TOTAL:
                balls[ball] = balls[_find_ball(cumulative, n_kept, below(key, stream, total))]
                continue
            scaled = next_half(key, stream) * total
            past = (scaled >> 16) - prior_total
            most_past = ((scaled + total - 1) >> 16) - prior_total
            chosen = n_kept + (past >> _WEIGHT_BITS)
            is_open = past >> _WEIGHT_BITS != most_past >> _WEIGHT_BITS
            if past < 0:
                chosen = find_weight(cumulative, 0, n_kept, past + prior_total)
                is_open = most_past + prior_total >= cumulative[chosen]
            if is_open:
                value = (scaled + below(key, stream, total)) >> 16
                chosen = _find_ball(cumulative, n_kept, value)
            balls[ball] = balls[chosen]


@lean_jit
def _find_ball(cumulative: Ints, n_kept: int, value: int) -> int:
    """Ball in which ``value`` falls when the weights are laid end to end."""
    past = value - cumulative[n_kept - 1]
    if past >= 0:
        return n_kept + (past >> _WEIGHT_BITS)  # type: ignore[no-any-return]
    return find_weight(cumulative, 0, n_kept, value)


@lean_jit
def _lanes_needed(retain_blocks: Ints, tract: int, n_workers: int, n_draws: int) -> tuple[int, int]:
    """First blocks worth preparing for a synthesizer's two streams: what most will read, at most ``WIDTH``."""
    if n_draws == 0:
        return 0, 0
    retain = min(retain_blocks[tract], WIDTH // 2) if n_workers > 0 else 0
    return retain, min(1 + 2 * n_draws // BLOCK_BYTES, WIDTH - retain)


@lean_jit
def _lay_lanes(
    start: int,
    stop: int,
    sizes: tuple[Any, Any],
    addresses: tuple[Any, Any, Any, Any, Any],
    retain_blocks: Ints,
    sample_tag: int,
    lanes: Words,
) -> int:
    """Lay out the first blocks of as many synthesizers from ``start`` on as there are lanes; return the end."""
    worker_ptr, synthetic_ptr = sizes
    tract_of, destination, segment, _, _ = addresses
    lane = np.int64(0)
    synthesizer = start
    while synthesizer < stop:
        n_workers = worker_ptr[synthesizer + 1] - worker_ptr[synthesizer]
        n_draws = synthetic_ptr[synthesizer + 1] - synthetic_ptr[synthesizer]
        retain, sample = _lanes_needed(retain_blocks, tract_of[synthesizer], n_workers, n_draws)
        if lane + retain + sample > WIDTH:
            break
        for number in range(retain + sample):
            is_retain = number < retain
            lanes[lane] = number if is_retain else number - retain
            lanes[WIDTH + lane] = STAGE_RETAIN if is_retain else sample_tag
            lanes[2 * WIDTH + lane] = destination[synthesizer]
            lanes[3 * WIDTH + lane] = segment[synthesizer]
            lane += 1
        synthesizer += 1
    return synthesizer


@lean_jit
def synthesize_range(
    bounds: tuple[int, int],
    sizes: tuple[Any, Any],
    worker_point: Indices,
    addresses: tuple[Any, Any, Any, Any, Any],
    support: tuple[Any, Any, Any, Any, Any, Any],
    tables: tuple[Any, Any, Any],
    limits: tuple[int, int],
    key: Words,
    scratch: tuple[Any, Any, Any, Any, Any, Any],
    synthetic_point: Indices,
) -> int:
    """Prune and draw synthesizers ``bounds``; return the first whose stream ran out, or -1.

    ``sizes`` holds worker_ptr and synthetic_ptr (each [S + 1]); ``addresses`` tract, destination, segment,
    least weight and whether it prunes (each [S]); ``support`` support_ptr [T + 1], prior weight [K], retention
    threshold [K], the classes of :func:`sort_into_classes`, a CSR list of the points heavy enough to be certain,
    and the blocks of stage RETAIN that a synthesizer of each tract mostly reads [T];
    ``tables`` those of :func:`keep_by_chance`; ``limits`` the weight above which points are certain, and the
    first nonce word of stage SAMPLE. ``scratch`` is room to work in: a mark for every point of a tract (-1 at
    first), as many running weights, the points and workers of a synthesizer, lanes, a window and a stream.
    """
    worker_ptr, synthetic_ptr = sizes
    tract_of, destination, segment, min_weight, prunes = addresses
    support_ptr, prior_weight, threshold, classes, (heavy_ptr, heavy_point), retain_blocks = support
    class_ptr, class_point = classes
    marks, cumulative, balls, lanes, window, stream = scratch
    stop = bounds[0]
    while stop < bounds[1]:
        start = stop
        stop = _lay_lanes(start, bounds[1], sizes, addresses, retain_blocks, limits[1], lanes)
        fill_blocks(key, lanes, window)
        lane: Any = np.int64(0)
        for synthesizer in range(start, stop):
            tract = tract_of[synthesizer]
            workers = worker_point[worker_ptr[synthesizer] : worker_ptr[synthesizer + 1]]
            drawn = synthetic_point[synthetic_ptr[synthesizer] : synthetic_ptr[synthesizer + 1]]
            retain, sample = _lanes_needed(retain_blocks, tract, workers.size, drawn.size)
            if drawn.size == 0:
                continue
            first, last = support_ptr[tract], support_ptr[tract + 1]
            n_kept: Any = np.int64(0)
            # With no real worker there is nothing to hide and nothing that is sure to stay: keep the whole
            # prior. Which synthesizers these are is known from their total alone, and totals are public.
            # So is which of them do not prune: that follows from the accountant's public numbers.
            if workers.size == 0 or min_weight[synthesizer] > limits[0] or not prunes[synthesizer]:
                n_kept = last - first
                for point in range(n_kept):
                    balls[point] = point
            else:
                found = (balls, marks, synthesizer)
                certain = tract * N_CLASSES + CERTAIN_CLASS
                n_kept = _add_points(class_point[class_ptr[certain] : class_ptr[certain + 1]], found, n_kept)
                n_kept = _add_points(heavy_point[heavy_ptr[tract] : heavy_ptr[tract + 1]], found, n_kept)
                # What stays by chance is drawn without a look at the workers; occupied points come after.
                open_stream(STAGE_RETAIN, destination[synthesizer], segment[synthesizer], stream)
                take_blocks(window, lane, retain, stream)
                n_kept = keep_by_chance(
                    key, stream, tables, classes, tract, threshold[first:last], found, n_kept
                )
                if has_run_out(stream):
                    return synthesizer
                n_kept = _add_points(workers, found, n_kept)
            total = np.int64(0)
            for position in range(n_kept):
                total += max(prior_weight[first + balls[position]], min_weight[synthesizer])
                cumulative[position] = total
            for worker in range(workers.size):
                balls[n_kept + worker] = workers[worker]
            open_stream(limits[1], destination[synthesizer], segment[synthesizer], stream)
            take_blocks(window, lane + retain, sample, stream)
            _draw(key, stream, lanes, cumulative, balls, (n_kept, workers.size, drawn.size))
            if has_run_out(stream):
                return synthesizer
            before = n_kept + workers.size
            for position in range(drawn.size):
                drawn[position] = balls[before + position]
            lane += retain + sample
    return -1


@lean_jit
def redraw_range(
    bounds: tuple[int, int],
    synthetic_ptr: Ints,
    support_ptr: Ints,
    addresses: tuple[Any, Any, Any],
    redraw: tuple[Any, Any],
    key: Words,
    stream: Ints,
    synthetic_point: Indices,
) -> int:
    """Draw again, in place, what fell in a remainder; return the first stream that ran out, or -1.

    ``addresses`` holds tract, destination and segment (each [S]); ``redraw`` holds each tract's number of
    points that can be drawn [T] and the running sum of their weights within the tract [K]. A drawn
    point at or past that number is the remainder. ``stream`` is room for a stream.
    """
    tract_of, destination, segment = addresses
    n_points, cumulative = redraw
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
