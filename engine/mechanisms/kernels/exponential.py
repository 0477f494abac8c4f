"""The exponential mechanism over tables of n workers, one synthesizer after another, in exact integers.

A table m is drawn with probability proportional to theta^d, where d workers must move to get from the real table x to
m. The kernel draws it in two steps. First, every occupied point i frees f_i of its x_i workers; then the F = sum(f)
freed workers are laid out on all k points so that every multiset of F points is equally likely. Written as

    theta^d(x, m) = sum of prod(q_i(f_i)) over all f with f_i >= x_i - m_i,
    q_i(f) = (1 - theta) theta^f below x_i, and theta^f at x_i,

this says that f has probability proportional to prod(q_i(f_i)) C(F + k - 1, F), and that m, given f, is the rest of x
and a multiset of F points. So only occupied points and freed workers cost time.

The vector f comes from rejection. For any v below 1 and u = theta / v, propose f_i with weights (1 - theta) u^f below
x_i and u^f at x_i, independently, and accept with probability v^F C(F + k - 1, F), divided by its largest value. The
choice of v changes how many rounds that takes and which bits are read, but not the law.

Symbols: theta = numerator / denominator, v = V / 2^bits, s occupied points.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Addresses, Indices, Ints, PointLists, Words
from engine.kernels.chacha import (
    END,
    POSITION,
    STAGE_DEAL,
    STAGE_MOVE,
    below,
    fill_blocks,
    half_at,
    has_run_out,
    open_stream,
    read_ahead,
)
from engine.kernels.chance import Chance, FreedGuess, chance_of, first_guess, happens, is_slow, next_guess
from engine.kernels.openings import first_blocks, lay_openings, open_prepared
from engine.kernels.sorting import sort_values
from engine.mechanisms.kernels.normalizers import PRICE_UNITS
from engine.mechanisms.kernels.priced import PricedLaw, PricedSpace, free_and_lay_out

DONE = -1
MOST_POINTS = 1 << 20
MOST_WORKERS = 1 << 22
"""Limits of points and workers in one synthesizer, below which no product passes 2^62."""

_LEAST_V = 1 << 19
_BYTES_OF_WORKER = 4  # of the stream, in a usual table
_LONG = 32  # occupied points from which blocks made together cost less than one by one


class Thetas(NamedTuple):
    """Theta of each synthesizer as a fraction, numerator a power of 2 up to 2^20, denominator below 2^40; each [S].

    Its price is in units of 2^-12; below 2^12, a synthesizer has at most 30 workers.
    """

    numerator: Ints
    denominator: Ints
    price: Ints


class MoveSpace(NamedTuple):
    """Scratch space of one thread: a zero for each point, lists for the largest synthesizer, lanes and a stream.

    Occupied points, their numbers of workers, how many of these they free, and the points of those who moved; a window
    of first blocks.
    """

    at_point: Ints
    points: Indices
    counts: Ints
    freed: Ints
    moved: Indices
    lanes: Words
    window: Words
    stream: Ints
    priced: PricedSpace


class _Tuning(NamedTuple):
    """What a synthesizer proposes with: u or its inverse where u is above 1, v = V / 2^bits, the likeliest F.

    ``all`` is the chance (1 - u) / (1 - theta), or (1 - 1/u) / (1 - v) where u is above 1; see :func:`_free`.
    1 - theta = some / whole.
    """

    ratio: Chance
    all: Chance
    is_above_one: bool
    some: int
    whole: int
    v: int
    bits: int
    likeliest: int


@lean_jit
def _count(workers: Indices, at_point: Ints, points: Indices, counts: Ints) -> int:
    """List the points of workers in rising order, and their numbers of workers; return how many points.

    ``at_point`` has a zero for every support point, before and after.
    """
    n_occupied = 0
    for worker in range(workers.size):
        point = workers[worker]
        if at_point[point] == 0:
            points[n_occupied] = point
            n_occupied += 1
        at_point[point] += 1
    sort_values(points[:n_occupied])
    for position in range(n_occupied):
        counts[position], at_point[points[position]] = at_point[points[position]], 0
    return n_occupied


@lean_jit
def _tune(n_freed: int, n_workers: int, n_points: int, numerator: int, denominator: int) -> _Tuning:
    """Propose with v = F / (F + k - 1), at which F is the likeliest number of freed workers."""
    freed = min(max(n_freed, 1), n_workers)
    bits = 19
    while freed << bits < _LEAST_V * (freed + n_points - 1):
        bits += 1
    v = (freed << bits) // (freed + n_points - 1)
    above, under = numerator << bits, denominator * v
    is_above_one = above > under
    some = denominator - numerator
    return _Tuning(
        ratio=chance_of(min(above, under), max(above, under)),
        all=(
            chance_of(above - under, numerator * ((1 << bits) - v))
            if is_above_one
            else chance_of(under - above, v * some)
        ),
        is_above_one=is_above_one,
        some=some,
        whole=denominator,
        v=v,
        bits=bits,
        likeliest=min(n_workers, v * (n_points - 1) // ((1 << bits) - v)),
    )


@lean_jit
def _free(key: Words, stream: Ints, tuning: _Tuning, count: int) -> int:
    """Draw how many of ``count`` workers a point frees: weights (1 - theta) u^f below ``count`` and u^f at it.

    A geometric number that ends below ``count`` is taken; the chance of reaching ``count`` is u^count, of which the
    share (1 - u) / (1 - theta) is kept. Where u is above 1, the number of workers who stay is drawn: none with chance
    (1 - 1/u) / (1 - v), or else 1 and a geometric number of more, at most ``count`` in all.
    """
    if is_slow(tuning.ratio, count):
        return _free_slowly(key, stream, tuning, count)
    while not has_run_out(stream):
        if tuning.is_above_one and happens(key, stream, tuning.all):
            return count
        first = 1 if tuning.is_above_one else 0
        passed = first
        while passed < count + first and happens(key, stream, tuning.ratio):
            passed += 1
        if passed < count + first:
            return count - passed if tuning.is_above_one else passed
        if not tuning.is_above_one and happens(key, stream, tuning.all):
            return count
    return 0


@lean_jit
def _free_slowly(key: Words, stream: Ints, tuning: _Tuning, count: int) -> int:
    """The same where a geometric number would hardly end: weights 1 - theta below ``count`` and 1 at it come first.

    The result is then kept with chance u^f, or u^(f - count) where u is above 1; this is at least 1/4 on average.
    """
    while not has_run_out(stream):
        place = below(key, stream, tuning.whole + count * tuning.some)
        freed = count if place < tuning.whole else (place - tuning.whole) // tuning.some
        stays = True
        for _ in range(count - freed if tuning.is_above_one else freed):
            if not happens(key, stream, tuning.ratio):
                stays = False
                break
        if stays:
            return freed
    return 0


@lean_jit
def _keeps_all(stream: Ints, tuning: _Tuning) -> bool:
    """Whether the next half word says that a point frees nobody; it is read only if it does.

    What :func:`_free` would find, for the usual point, with a geometric number. False if the half word is not at hand
    or equals the first digit of its chance.
    """
    position = stream[POSITION]
    if position + 2 > stream[END] or half_at(stream, position) <= tuning.ratio.digit:
        return False
    stream[POSITION] = position + 2
    return True


@lean_jit
def _is_accepted(key: Words, stream: Ints, tuning: _Tuning, n_points: int, n_freed: int) -> bool:
    """Accept with chance B(F) / B(F*), B(F) = v^F C(F + k - 1, F), F* its likeliest value: one factor at a time."""
    v, bits = tuning.v, tuning.bits
    for step in range(tuning.likeliest, n_freed):
        if below(key, stream, (step + 1) << bits) >= v * (step + n_points):
            return False
    for step in range(n_freed, tuning.likeliest):  # a loop, as numba has no generators here
        if below(key, stream, v * (step + n_points)) >= (step + 1) << bits:
            return False
    return True


@lean_jit
def _free_all(
    key: Words,
    lanes: Words,
    stream: Ints,
    counts: Ints,
    sizes: tuple[int, int],
    theta: tuple[int, int],
    freed: Ints,
) -> int:
    """Draw how many workers every occupied point frees, again until accepted; return their sum.

    A round that was not accepted shows what the proposals free, and the next one is tuned to it. Past rounds say
    nothing about a round's bits, so the law stays the same.
    """
    numerator, denominator = theta
    n_workers, n_points = sizes
    guess = FreedGuess(first_guess(counts.size, n_points, numerator, denominator), 0, n_workers + 1)
    while not has_run_out(stream):
        tuning = _tune(guess.freed, n_workers, n_points, numerator, denominator)
        total = 0
        if counts.size >= _LONG:
            read_ahead(key, lanes, stream)
        # A point with more workers never needs a uniform number if a point with one does not.
        often_keeps = not (tuning.is_above_one or is_slow(tuning.ratio, 1))
        for position in range(counts.size):
            if often_keeps and _keeps_all(stream, tuning):
                freed[position] = 0
                continue
            freed[position] = _free(key, stream, tuning, counts[position])
            total += freed[position]
        if _is_accepted(key, stream, tuning, n_points, total):
            return total
        guess = next_guess(guess, total, tuning.likeliest, n_workers)
    return 0


@lean_jit
def _lay_out(key: Words, stream: Ints, n_points: int, moved: Indices) -> None:
    """Fill ``moved`` with the points of freed workers: a uniform multiset of all points."""
    for worker in range(moved.size):
        # An urn with one ball for each point, to which every draw adds a ball of its point.
        ball = below(key, stream, n_points + worker)
        moved[worker] = ball if ball < n_points else moved[ball - n_points]


@lean_jit
def _merge(points: Indices, left: Ints, moved: Indices, drawn: Indices) -> None:
    """Fill ``drawn``: what is left on each occupied point, and those moved. Sorted, to hide who was freed."""
    sort_values(moved)
    at, next_moved = 0, 0
    for position in range(points.size):
        point = points[position]
        while next_moved < moved.size and moved[next_moved] <= point:
            drawn[at] = moved[next_moved]
            at, next_moved = at + 1, next_moved + 1
        for _ in range(left[position]):
            drawn[at] = point
            at += 1
    for rest in range(next_moved, moved.size):
        drawn[at] = moved[rest]
        at += 1


@lean_jit
def _draw_table(
    synthesizer: int,
    workers: PointLists,
    tract: int,
    support_ptr: Ints,
    thetas: Thetas,
    key: Words,
    space: MoveSpace,
    synthetic: PointLists,
) -> None:
    """Draw the table of one synthesizer, whose stream is open."""
    first, n_workers = workers.ptr[synthesizer], workers.ptr[synthesizer + 1] - workers.ptr[synthesizer]
    n_points = support_ptr[tract + 1] - support_ptr[tract]
    drawn = synthetic.point[synthetic.ptr[synthesizer] : synthetic.ptr[synthesizer + 1]]
    if n_workers == 0 or n_points == 1:
        # Nothing to draw: of no workers, or of workers that can live in one place alone, there is one table.
        drawn[:] = 0
        return
    stream = space.stream
    n_occupied = _count(workers.point[first : first + n_workers], space.at_point, space.points, space.counts)
    points, counts = space.points[:n_occupied], space.counts[:n_occupied]
    numerator, denominator, price = (
        thetas.numerator[synthesizer],
        thetas.denominator[synthesizer],
        thetas.price[synthesizer],
    )
    if price < PRICE_UNITS:
        law = PricedLaw(numerator, denominator, price, n_points)
        n_freed = free_and_lay_out(key, stream, law, points, counts, space.freed, space.priced)
        moved = space.priced.moved[:n_freed]
    else:
        n_freed = _free_all(
            key, space.lanes, stream, counts, (n_workers, n_points), (numerator, denominator), space.freed
        )
        moved = space.moved[:n_freed]
        _lay_out(key, stream, n_points, moved)
    for position in range(n_occupied):
        counts[position] -= space.freed[position]
    _merge(points, counts, moved, drawn)


@lean_jit
def exponential_range(
    bounds: tuple[int, int],
    workers: PointLists,
    addresses: Addresses,
    support_ptr: Ints,
    thetas: Thetas,
    key: Words,
    space: MoveSpace,
    synthetic: PointLists,
) -> int:
    """Draw synthesizers ``bounds``; return the first whose stream ran out, or `DONE`."""
    stop = bounds[0]
    while stop < bounds[1]:
        start, lane = stop, 0
        stop = lay_openings(
            start, bounds[1], STAGE_MOVE, workers.ptr, _BYTES_OF_WORKER, addresses, space.lanes
        )
        fill_blocks(key, space.lanes, space.window)
        for synthesizer in range(start, stop):
            n_blocks = first_blocks(workers.ptr[synthesizer + 1] - workers.ptr[synthesizer], _BYTES_OF_WORKER)
            open_prepared(
                STAGE_MOVE,
                addresses.destination[synthesizer],
                addresses.segment[synthesizer],
                space.window,
                lane,
                n_blocks,
                space.stream,
            )
            lane += n_blocks
            _draw_table(
                synthesizer, workers, addresses.tract[synthesizer], support_ptr, thetas, key, space, synthetic
            )
            if has_run_out(space.stream):
                return synthesizer
    return DONE


# The workers of a unit dealt out to its cells by chance: a keyed random permutation of each unit.


@lean_jit
def shuffle_range(
    bounds: tuple[int, int], number: Ints, ptr: Ints, points: Indices, key: Words, stream: Ints
) -> int:
    """Shuffle the points of units ``bounds`` in place; return the first whose stream ran out, or -1.

    Every order is equally likely. Streams are addressed by the unit's number, with 0 for the segment.
    """
    for unit in range(bounds[0], bounds[1]):
        first = ptr[unit]
        open_stream(STAGE_DEAL, number[unit], 0, stream)
        for left in range(ptr[unit + 1] - first, 1, -1):
            chosen = first + below(key, stream, left)
            last = first + left - 1
            points[chosen], points[last] = points[last], points[chosen]
        if has_run_out(stream):
            return unit
    return -1
