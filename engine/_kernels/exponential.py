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

import math
from typing import NamedTuple

from engine._jit import lean_jit
from engine._kernels.arrays import Addresses, Indices, Ints, PointLists, Words
from engine._kernels.chacha import (
    END,
    POSITION,
    STAGE_MOVE,
    below,
    half_at,
    has_run_out,
    next_half,
    open_stream,
    read_ahead,
)
from engine._kernels.sorting import sort_values

__all__ = ["DONE", "MOST_POINTS", "MOST_WORKERS", "MoveSpace", "Thetas", "exponential_range"]

DONE = -1
MOST_POINTS = 1 << 20
MOST_WORKERS = 1 << 22
"""Limits of points and workers in one synthesizer, below which no product passes 2^62."""

_LEAST_V = 1 << 19
_LONG = 32  # occupied points from which blocks made together cost less than one by one


class Thetas(NamedTuple):
    """Theta of each synthesizer as a fraction, numerator a power of 2 up to 2^20, denominator below 2^40; each [S]."""

    numerator: Ints
    denominator: Ints


class MoveSpace(NamedTuple):
    """Scratch space of one thread: a zero for each point, lists for the largest synthesizer, lanes and a stream.

    Occupied points, their numbers of workers, how many of these they free, and the points of those who moved.
    """

    at_point: Ints
    points: Indices
    counts: Ints
    freed: Ints
    moved: Indices
    lanes: Words
    stream: Ints


class _Chance(NamedTuple):
    """A chance as a fraction: its first 16 binary digits, and rest / whole of a unit of the last of them."""

    digit: int
    rest: int
    whole: int


class _Tuning(NamedTuple):
    """What a synthesizer proposes with: u or its inverse where u is above 1, v = V / 2^bits, the likeliest F.

    ``all`` is the chance (1 - u) / (1 - theta), or (1 - 1/u) / (1 - v) where u is above 1; see :func:`_free`.
    1 - theta = some / whole.
    """

    ratio: _Chance
    all: _Chance
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
def _next_digit(rest: int, whole: int) -> tuple[int, int]:
    """Next 16 binary digits of rest / whole, at most 1, and what is left; doubling stays below 2^63."""
    digit = 0
    for _ in range(16):
        rest, digit = rest << 1, digit << 1
        if rest >= whole:
            rest, digit = rest - whole, digit + 1
    return digit, rest


@lean_jit
def _chance(part: int, whole: int) -> _Chance:
    """The chance part / whole, for whole below 2^62."""
    if part == whole:
        return _Chance(1 << 16, 0, whole)
    digit, rest = _next_digit(part, whole)
    return _Chance(digit, rest, whole)


@lean_jit
def _happens(key: Words, stream: Ints, chance: _Chance) -> bool:
    """Draw an event of this chance: whether a uniform number, drawn 16 digits at a time, is below it."""
    drawn, digit, rest = next_half(key, stream), chance.digit, chance.rest
    while drawn == digit and rest > 0:
        digit, rest = _next_digit(rest, chance.whole)
        drawn = next_half(key, stream)
    return bool(drawn < digit)


@lean_jit
def _root(value: int) -> int:
    """Whole part of the square root of 0 to 2^62."""
    root = int(math.sqrt(value))
    while root * root > value:
        root -= 1
    while (root + 1) * (root + 1) <= value:
        root += 1
    return root


@lean_jit
def _first_guess(n_occupied: int, n_points: int, numerator: int, denominator: int) -> int:
    """About the number of workers freed where few of each point are: F with F^2 = s theta (F + k)."""
    # In units of 2^-8 of a worker; s theta is below 2^22 workers, and k below 2^20.
    product = (((n_occupied * numerator) << 8) // denominator) >> 1
    return (product + _root(product * product + ((product * n_points) << 9))) >> 8


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
        ratio=_chance(min(above, under), max(above, under)),
        all=(
            _chance(above - under, numerator * ((1 << bits) - v))
            if is_above_one
            else _chance(under - above, v * some)
        ),
        is_above_one=is_above_one,
        some=some,
        whole=denominator,
        v=v,
        bits=bits,
        likeliest=min(n_workers, v * (n_points - 1) // ((1 << bits) - v)),
    )


@lean_jit
def _is_slow(ratio: _Chance, count: int) -> bool:
    """Whether a geometric number of this ratio is likely to pass ``count``: (count + 1) (1 - ratio) is below 1."""
    return (count + 1) * ((1 << 16) - ratio.digit) < 1 << 16


@lean_jit
def _free(key: Words, stream: Ints, tuning: _Tuning, count: int) -> int:
    """Draw how many of ``count`` workers a point frees: weights (1 - theta) u^f below ``count`` and u^f at it.

    A geometric number that ends below ``count`` is taken; the chance of reaching ``count`` is u^count, of which the
    share (1 - u) / (1 - theta) is kept. Where u is above 1, the number of workers who stay is drawn: none with chance
    (1 - 1/u) / (1 - v), or else 1 and a geometric number of more, at most ``count`` in all.
    """
    if _is_slow(tuning.ratio, count):
        return _free_slowly(key, stream, tuning, count)
    while not has_run_out(stream):
        if tuning.is_above_one and _happens(key, stream, tuning.all):
            return count
        first = 1 if tuning.is_above_one else 0
        passed = first
        while passed < count + first and _happens(key, stream, tuning.ratio):
            passed += 1
        if passed < count + first:
            return count - passed if tuning.is_above_one else passed
        if not tuning.is_above_one and _happens(key, stream, tuning.all):
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
            if not _happens(key, stream, tuning.ratio):
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
    for one in range(tuning.likeliest, n_freed):
        if below(key, stream, (one + 1) << bits) >= v * (one + n_points):
            return False
    for one in range(n_freed, tuning.likeliest):  # noqa: SIM110 - numba has no generators here
        if below(key, stream, v * (one + n_points)) >= (one + 1) << bits:
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

    A round that was not accepted shows what the proposals free. The next one proposes half-way between that and what
    is likeliest, where the two agree better, unless an earlier round found that to be too few or too many. Past rounds
    say nothing about a round's bits, so the law stays the same.
    """
    numerator, denominator = theta
    n_workers, n_points = sizes
    guess = _first_guess(counts.size, n_points, numerator, denominator)
    too_few, too_many = 0, n_workers + 1
    while not has_run_out(stream):
        tuning = _tune(guess, n_workers, n_points, numerator, denominator)
        total = 0
        if counts.size >= _LONG:
            read_ahead(key, lanes, stream)
        # A point with more workers never needs a uniform number if a point with one does not.
        often_keeps = not (tuning.is_above_one or _is_slow(tuning.ratio, 1))
        for position in range(counts.size):
            if often_keeps and _keeps_all(stream, tuning):
                freed[position] = 0
                continue
            freed[position] = _free(key, stream, tuning, counts[position])
            total += freed[position]
        if _is_accepted(key, stream, tuning, n_points, total):
            return total
        guess = min(max(guess, 1), n_workers)
        if total > tuning.likeliest:
            too_few = guess
        else:
            too_many = guess
        if too_many - too_few <= 1:
            # Chance led the search astray, or the guess is right and the round was bad luck.
            too_few, too_many = 0, n_workers + 1
        guess = (total + tuning.likeliest) >> 1
        if not too_few < guess < too_many:
            # One worker more in few points may free all of them instead of hardly any: halve what is left.
            guess = (too_few + too_many) >> 1
    return 0


@lean_jit
def _lay_out(
    key: Words, stream: Ints, points: Indices, left: Ints, n_points: int, moved: Indices, drawn: Indices
) -> None:
    """Fill ``drawn``: what is left on each occupied point, and freed workers as a uniform multiset of all points.

    Sorted, since the order would show who was freed. ``moved`` has room for those freed.
    """
    for one in range(moved.size):
        # An urn with one ball for each point, to which every draw adds a ball of its point.
        ball = below(key, stream, n_points + one)
        moved[one] = ball if ball < n_points else moved[ball - n_points]
    sort_values(moved)
    at, one = 0, 0
    for position in range(points.size):
        point = points[position]
        while one < moved.size and moved[one] <= point:
            drawn[at] = moved[one]
            at, one = at + 1, one + 1
        for _ in range(left[position]):
            drawn[at] = point
            at += 1
    for rest in range(one, moved.size):
        drawn[at] = moved[rest]
        at += 1


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
    stream = space.stream
    for one in range(bounds[0], bounds[1]):
        first, n_workers = workers.ptr[one], workers.ptr[one + 1] - workers.ptr[one]
        n_points = support_ptr[addresses.tract[one] + 1] - support_ptr[addresses.tract[one]]
        drawn = synthetic.point[synthetic.ptr[one] : synthetic.ptr[one + 1]]
        if n_workers == 0 or n_points == 1:
            # Nothing to draw: of no workers, or of workers that can live in one place alone, there is one table.
            drawn[:] = 0
            continue
        n_occupied = _count(
            workers.point[first : first + n_workers], space.at_point, space.points, space.counts
        )
        points, counts = space.points[:n_occupied], space.counts[:n_occupied]
        theta = (thetas.numerator[one], thetas.denominator[one])
        open_stream(STAGE_MOVE, addresses.destination[one], addresses.segment[one], stream)
        n_freed = _free_all(key, space.lanes, stream, counts, (n_workers, n_points), theta, space.freed)
        for position in range(n_occupied):
            counts[position] -= space.freed[position]
        _lay_out(key, stream, points, counts, n_points, space.moved[:n_freed], drawn)
        if has_run_out(stream):
            return one
    return DONE
