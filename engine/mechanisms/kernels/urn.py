"""Pruning and the Pólya urn of one synthesizer after another, in exact integers.

The cost of a synthesizer grows with its workers and its kept points, not with its support points. Points that stay by
chance are reached by jumps (:mod:`engine.support.kernels.skipping`), and a mark for each point, which holds the number
of the last synthesizer that kept it, shows which are kept already.

The innermost loops index by unsigned numbers: for a signed one, compiled code first looks whether it is negative and
counts from the end.

Symbols: n real workers, m synthetic workers, k support points; weights in units of 2^-20.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.jit import lean_jit
from engine.kernels.arrays import Addresses, Bools, Indices, Ints, PointLists, Support, Words
from engine.kernels.chacha import (
    BLOCK_BYTES,
    POSITION,
    STAGE_REMAINDER,
    STAGE_RETAIN,
    WIDTH,
    below,
    fill_blocks,
    half_in,
    has_run_out,
    next_half,
    open_stream,
    read_ahead,
    take_blocks,
)
from engine.kernels.units import WEIGHT_BITS
from engine.support.kernels.skipping import (
    CERTAIN_CLASS,
    N_CLASSES,
    ClassLists,
    JumpTables,
    KeptPoints,
    keep_by_chance,
    point_of,
)

# Below this total, 16 random bits times it stay below 2^62.
_HALF_WORD_TOTAL = 1 << 46
_ONE_WORKER = 1 << WEIGHT_BITS

_NEAR = 8


class UrnRules(NamedTuple):
    """How each synthesizer prunes and weighs [S], and the weight above which a point is certain.

    Its least prior weight, whether it prunes, and whether no point of its tract has a greater weight: then all weights
    are equal, and a division says in which of them a value falls.
    """

    min_weight: Ints
    prunes: Bools
    is_even: Bools
    certain_above: int


class Candidates(NamedTuple):
    """What pruning knows of each tract beforehand.

    Points by (tract, class) from :func:`engine.support.kernels.skipping.sort_into_classes`, points of each tract that
    are certain by their own weight, and the blocks of stage RETAIN that a synthesizer of the tract mostly reads [T].
    """

    classes: ClassLists
    heavy: PointLists
    retain_blocks: Ints
    jumps: JumpTables


class UrnSpace(NamedTuple):
    """Scratch space of one thread.

    A mark for every point of a tract (-1 at first), as many running weights, points and workers of a synthesizer,
    lanes, a window, a stream, and digits for long jumps.
    """

    marks: Ints
    cumulative: Ints
    balls: Indices
    lanes: Words
    window: Words
    stream: Ints
    digits: Ints


class RedrawWeights(NamedTuple):
    """Points of each tract that can be drawn [T], the running sum of their weights within the tract [K]."""

    n_points: Ints
    cumulative: Ints


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
def guess_weight(first: int, last: int, total: int, value: int) -> int:
    """Where a value below ``total`` falls if all weights in [first, last) are equal; rounding may be off by one."""
    return first + min(int(value / total * (last - first)), last - first - 1)


@lean_jit
def find_weight_near(cumulative: Ints, first: int, last: int, guess: int, value: int) -> int:
    """As :func:`find_weight`, beginning at a guess within the range; whatever it is, the result is the same."""
    at = guess
    if cumulative[at] > value:
        stop = max(at - _NEAR, first)
        while at > stop and cumulative[at - 1] > value:
            at -= 1
        return at if at > stop else find_weight(cumulative, first, at, value)
    stop = min(at + _NEAR, last)
    at += 1
    while at < stop and cumulative[at] <= value:
        at += 1
    return at if at < stop else find_weight(cumulative, at, last, value)


@lean_jit
def _add_points(points: Indices, kept: KeptPoints, n_kept: int) -> int:
    """Add points to those kept, each once; return how many are kept now."""
    for position in range(points.size):
        point = points[position]
        kept.point[np.uint64(n_kept)] = point
        n_kept += kept.marks[np.uint32(point)] != kept.mark
        kept.marks[np.uint32(point)] = kept.mark
    return n_kept


@lean_jit
def _add_entries(entries: Ints, kept: KeptPoints, n_kept: int) -> int:
    """As :func:`_add_points`, of points that are certain by their class."""
    for position in range(entries.size):
        point = np.uint64(point_of(entries[position]))
        kept.point[np.uint64(n_kept)] = point
        n_kept += kept.marks[point] != kept.mark
        kept.marks[point] = kept.mark
    return n_kept


@lean_jit
def _draw(
    key: Words,
    stream: Ints,
    lanes: Words,
    cumulative: Ints,
    even: int,
    balls: Indices,
    sizes: tuple[int, int, int],
) -> None:
    """Draw workers: a prior point, a real worker's point, or a copy of an earlier draw.

    ``sizes`` holds the numbers of kept points, of real workers and of draws; ``balls`` holds their points in this
    order. ``even`` is the weight of every kept point; if it is 0, ``cumulative`` holds the running sums of their
    weights. A draw is an integer below the weight of all balls before it: ``total`` times 16 random bits, plus an
    unbiased integer below ``total``, all divided by 2^16. The first term mostly says which ball that is, whatever the
    second; only where it does not is the second drawn.
    """
    n_kept, n_workers, n_draws = sizes
    prior_total = _prior_total(cumulative, even, n_kept)
    last = n_kept + n_workers + n_draws
    ball = last - n_draws
    halves = stream[:POSITION].view(np.uint16)
    while ball < last:
        total = prior_total + ((ball - n_kept) << WEIGHT_BITS)
        if total >= _HALF_WORD_TOTAL:
            balls[ball] = balls[_find_ball(cumulative, even, n_kept, below(key, stream, total))]
            ball += 1
            continue
        at_hand = read_ahead(key, lanes, stream) >> 1
        if at_hand == 0:
            next_half(key, stream)  # marks the stream as run out
            return
        # Below the limit, and as long as 16 bits are at hand. The place in the stream is a local number: if it were
        # written to memory, every ball would wait for the one before.
        stop = min(last, ball + at_hand, ball + 1 + ((_HALF_WORD_TOTAL - 1 - total) >> WEIGHT_BITS))
        place = stream[POSITION] >> 1
        scaled = 0
        is_open = False
        while ball < stop:
            scaled = half_in(halves, place) * total
            place += 1
            past = (scaled >> 16) - prior_total
            most_past = ((scaled + total - 1) >> 16) - prior_total
            chosen = n_kept + (past >> WEIGHT_BITS)
            is_open = past >> WEIGHT_BITS != most_past >> WEIGHT_BITS
            if past < 0:
                chosen = _find_point(cumulative, even, n_kept, past + prior_total)
                end = (chosen + 1) * even if even else cumulative[chosen]
                is_open = most_past + prior_total >= end
            if is_open:
                break
            balls[np.uint64(ball)] = balls[np.uint64(chosen)]
            ball += 1
            total += _ONE_WORKER
        stream[POSITION] = place << 1
        if is_open:
            value = (scaled + below(key, stream, total)) >> 16
            balls[ball] = balls[_find_ball(cumulative, even, n_kept, value)]
            ball += 1


@lean_jit
def _prior_total(cumulative: Ints, even: int, n_kept: int) -> int:
    return n_kept * even if even else cumulative[n_kept - 1]


@lean_jit
def _find_point(cumulative: Ints, even: int, n_kept: int, value: int) -> int:
    """Kept point in whose weight ``value`` falls; see :func:`_draw`."""
    if even:
        return value // even
    return find_weight(cumulative, 0, n_kept, value)


@lean_jit
def _find_ball(cumulative: Ints, even: int, n_kept: int, value: int) -> int:
    """Ball in which ``value`` falls when the weights are laid end to end."""
    past = value - _prior_total(cumulative, even, n_kept)
    if past >= 0:
        return n_kept + (past >> WEIGHT_BITS)
    return _find_point(cumulative, even, n_kept, value)


@lean_jit
def _lanes_needed(retain_blocks: Ints, tract: int, n_workers: int, n_draws: int) -> tuple[int, int]:
    """Number of first blocks to prepare for a synthesizer's two streams: as many as most read, at most ``WIDTH``."""
    if n_draws == 0:
        return 0, 0
    retain = min(retain_blocks[tract], WIDTH // 2) if n_workers > 0 else 0
    return retain, min(1 + 2 * n_draws // BLOCK_BYTES, WIDTH - retain)


@lean_jit
def _lay_lanes(
    start: int,
    stop: int,
    worker_ptr: Ints,
    synthetic_ptr: Ints,
    addresses: Addresses,
    retain_blocks: Ints,
    sample_tag: int,
    lanes: Words,
) -> int:
    """Lay out the first blocks of as many synthesizers from ``start`` on as there are lanes; return the end."""
    lane = np.int64(0)
    synthesizer = start
    while synthesizer < stop:
        n_workers = worker_ptr[synthesizer + 1] - worker_ptr[synthesizer]
        n_draws = synthetic_ptr[synthesizer + 1] - synthetic_ptr[synthesizer]
        retain, sample = _lanes_needed(retain_blocks, addresses.tract[synthesizer], n_workers, n_draws)
        if lane + retain + sample > WIDTH:
            break
        for number in range(retain + sample):
            is_retain = number < retain
            lanes[lane] = number if is_retain else number - retain
            lanes[WIDTH + lane] = STAGE_RETAIN if is_retain else sample_tag
            lanes[2 * WIDTH + lane] = addresses.destination[synthesizer]
            lanes[3 * WIDTH + lane] = addresses.segment[synthesizer]
            lane += 1
        synthesizer += 1
    return synthesizer


@lean_jit
def _prune(
    tract: int,
    workers: Indices,
    candidates: Candidates,
    kept: KeptPoints,
    key: Words,
    space: UrnSpace,
) -> int:
    """Keep certain points, points that stay by chance, and the workers' points; return how many.

    What stays by chance is drawn without a look at the workers; their points come after.
    """
    classes, heavy = candidates.classes, candidates.heavy
    certain = tract * N_CLASSES + CERTAIN_CLASS
    n_kept = _add_entries(classes.entry[classes.ptr[certain] : classes.ptr[certain + 1]], kept, 0)
    n_kept = _add_points(heavy.point[heavy.ptr[tract] : heavy.ptr[tract + 1]], kept, n_kept)
    n_kept = keep_by_chance(key, space.stream, candidates.jumps, space.digits, classes, tract, kept, n_kept)
    return _add_points(workers, kept, n_kept)


@lean_jit
def _read_in_order(numbers: Ints) -> int:
    """Bring numbers into the cache: memory is fetched ahead of those who read in order, but not of jumps."""
    together = 0
    for position in range(numbers.size):
        together ^= numbers[position]
    return together


@lean_jit
def _copy(points: Indices, target: Indices) -> None:
    """Copy points to an array of the same size; from position 0 on, which makes vector instructions of the loop."""
    for position in range(target.size):
        target[position] = points[position]


@lean_jit
def _sum_weights(points: Indices, prior_weight: Ints, min_weight: int, cumulative: Ints) -> None:
    """Fill the running weights of some points of one tract."""
    total = np.int64(0)
    for position in range(points.size):
        total += max(prior_weight[np.uint32(points[position])], min_weight)
        cumulative[position] = total


@lean_jit
def synthesize_range(
    bounds: tuple[int, int],
    workers: PointLists,
    addresses: Addresses,
    rules: UrnRules,
    support: Support,
    candidates: Candidates,
    sample_tag: int,
    key: Words,
    space: UrnSpace,
    synthetic: PointLists,
) -> int:
    """Prune and draw synthesizers ``bounds``; return the first whose stream ran out, or -1.

    ``sample_tag`` is the first nonce word of stage SAMPLE.
    """
    balls, stream = space.balls, space.stream
    tract_at_hand = -1
    stop = bounds[0]
    while stop < bounds[1]:
        start = stop
        stop = _lay_lanes(
            start,
            bounds[1],
            workers.ptr,
            synthetic.ptr,
            addresses,
            candidates.retain_blocks,
            sample_tag,
            space.lanes,
        )
        fill_blocks(key, space.lanes, space.window)
        lane = 0
        for synthesizer in range(start, stop):
            tract = addresses.tract[synthesizer]
            real = workers.point[workers.ptr[synthesizer] : workers.ptr[synthesizer + 1]]
            drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
            retain, sample = _lanes_needed(candidates.retain_blocks, tract, real.size, drawn.size)
            if drawn.size == 0:
                continue
            first, last = support.ptr[tract], support.ptr[tract + 1]
            n_kept = 0
            # With no real worker there is nothing to hide and nothing that is sure to stay: keep the whole
            # prior. Which synthesizers these are is known from their total alone, and totals are public.
            # So is which of them do not prune: that follows from the accountant's public numbers.
            if (
                real.size == 0
                or rules.min_weight[synthesizer] > rules.certain_above
                or not rules.prunes[synthesizer]
            ):
                n_kept = last - first
                for point in range(n_kept):
                    balls[point] = point
            else:
                if tract != tract_at_hand:
                    space.digits[0] = _read_in_order(candidates.classes.entry[first:last])
                    tract_at_hand = tract
                open_stream(
                    STAGE_RETAIN, addresses.destination[synthesizer], addresses.segment[synthesizer], stream
                )
                take_blocks(space.window, lane, retain, stream)
                kept = KeptPoints(balls, space.marks, synthesizer)
                n_kept = _prune(tract, real, candidates, kept, key, space)
                if has_run_out(stream):
                    return synthesizer
            even = rules.min_weight[synthesizer] if rules.is_even[synthesizer] else 0
            if even == 0:
                _sum_weights(
                    balls[:n_kept],
                    support.prior_weight[first:last],
                    rules.min_weight[synthesizer],
                    space.cumulative,
                )
            _copy(real, balls[n_kept : n_kept + real.size])
            open_stream(
                sample_tag, addresses.destination[synthesizer], addresses.segment[synthesizer], stream
            )
            take_blocks(space.window, lane + retain, sample, stream)
            _draw(key, stream, space.lanes, space.cumulative, even, balls, (n_kept, real.size, drawn.size))
            if has_run_out(stream):
                return synthesizer
            _copy(balls[n_kept + real.size : n_kept + real.size + drawn.size], drawn)
            lane += retain + sample
    return -1


@lean_jit
def redraw_range(
    bounds: tuple[int, int],
    support_ptr: Ints,
    addresses: Addresses,
    redraw: RedrawWeights,
    key: Words,
    stream: Ints,
    synthetic: PointLists,
) -> int:
    """Draw again, in place, workers that fell in a remainder; return the first stream that ran out, or -1.

    A drawn point at or past its tract's number of points is the remainder. ``stream`` is scratch space for a stream.
    """
    n_points, cumulative, points = redraw.n_points, redraw.cumulative, synthetic.point
    for synthesizer in range(bounds[0], bounds[1]):
        tract = addresses.tract[synthesizer]
        first = support_ptr[tract]
        last = first + n_points[tract]
        is_open = False
        for position in range(synthetic.ptr[synthesizer], synthetic.ptr[synthesizer + 1]):
            if points[position] < n_points[tract]:
                continue
            if not is_open:
                destination, segment = addresses.destination[synthesizer], addresses.segment[synthesizer]
                open_stream(STAGE_REMAINDER, destination, segment, stream)
                is_open = True
            value = below(key, stream, cumulative[last - 1])
            points[position] = find_weight(cumulative, first, last, value) - first
        if is_open and has_run_out(stream):
            return synthesizer
    return -1


# One pass over synthesizers to see that each has support points, workers inside them, and weights in range.


@lean_jit
def check_synthesizers(
    support_ptr: Ints,
    synthetic_ptr: Ints,
    workers: PointLists,
    tract_of: Indices,
    min_weight: Ints,
    largest_weight: Ints,
    limits: tuple[int, int],
) -> tuple[int, int, int]:
    """First synthesizer without a support point, number of workers outside, first with too much weight.

    A position of -1 means that no synthesizer has the fault. ``largest_weight`` holds each tract's largest prior
    weight [T]; ``limits`` what the weights of all balls of a synthesizer, and its number of workers, must stay below.
    """
    most_weight, most_workers = limits
    bare, heavy = -1, -1
    n_outside = 0
    for synthesizer in range(tract_of.size):
        tract = tract_of[synthesizer]
        n_points = support_ptr[tract + 1] - support_ptr[tract]
        first, last = workers.ptr[synthesizer], workers.ptr[synthesizer + 1]
        n_draws = synthetic_ptr[synthesizer + 1] - synthetic_ptr[synthesizer]
        if n_points == 0 and n_draws > 0 and bare < 0:
            bare = synthesizer
        points = workers.point[first:last]
        for worker in range(points.size):
            n_outside += points[worker] >= n_points
        n_workers = last - first + n_draws
        weight = max(largest_weight[tract], min_weight[synthesizer])
        # By division, as the product may pass 2^63.
        is_heavy = n_workers >= most_workers
        if not is_heavy:
            is_heavy = weight > (most_weight - 1 - (n_workers << WEIGHT_BITS)) // max(n_points, 1)
        if is_heavy and heavy < 0:
            heavy = synthesizer
    return bare, n_outside, heavy
