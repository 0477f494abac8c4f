"""The exponential mechanism with a price below 1, for tables of up to 30 workers, in exact integers.

A table m is drawn with probability proportional to theta^d c^(occupied points of m). Every point that is open weighs c
times what it weighs without a price, and a closed one, which receives nobody and frees all its x workers, weighs
(1 - c) theta^x. So every occupied point frees f of its workers with weight c (1 - theta) theta^f below x and theta^x at
x, and of those at x the share 1 - c is closed. The F freed workers are laid out as a multiset of the open points, and
each point that is empty before and not after weighs c less than others.

Workers are laid out one by one: an open or already reached point takes the next one with a weight of 1 plus those
it got, and an empty point that was not reached yet with weight c. After i workers, j of them in new points, all weights
sum to T = o + i + j + c (e - j), for o open and e empty points, and T <= K + (2 - c) i with K = s + c e. A step is
accepted with T / (K + (2 - c) i). With that, every outcome has its exact weight if F has the additional weight
prod (K + (2 - c) i) / (i + 1), i from 0 to F - 1. F gets that as without a price: u = theta / v, and accepted with
v^F times this product, divided by its largest value.

Symbols: theta = numerator / denominator, c = price / 2^12, v = V / 2^bits, s occupied points, k points, e = k - s.

Source: docs/theory/method.md, section 7d.
"""

from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Indices, Ints, Words
from engine.kernels.chacha import below, has_run_out
from engine.kernels.chance import Chance, FreedGuess, chance_of, first_guess, happens, is_slow, next_guess
from engine.mechanisms.kernels.normalizers import PRICE_UNITS

__all__ = ["PricedLaw", "PricedSpace", "free_and_lay_out"]

_LEAST_V = 1 << 7  # so that no product of theta, v and the price passes 2^62


class PricedLaw(NamedTuple):
    """Theta as a fraction, the price in 2^-12, and the number of support points."""

    numerator: int
    denominator: int
    price: int
    n_points: int


class PricedSpace(NamedTuple):
    """Scratch space: open points, new points reached, points occupied or reached in order, points of those freed."""

    open: Indices
    reached: Indices
    taken: Indices
    moved: Indices


class _Tuning(NamedTuple):
    """What a round proposes with.

    ``ratio`` is u, or 1/u where u is above 1; ``single`` the chance u / (u + q) that a lone worker is freed, q = c (1 -
    theta) = some / whole; ``all`` the chance (1 - w) / (1 - w + q w) with w = 1/u where u is above 1. ``weight`` is K,
    ``more`` is 2 - c, both in 2^-12; ``likeliest`` the likeliest F.
    """

    ratio: Chance
    single: Chance
    all: Chance
    is_above_one: bool
    some: int
    whole: int
    v: int
    bits: int
    weight: int
    more: int
    likeliest: int


@lean_jit
def _tune(n_freed: int, n_workers: int, n_occupied: int, law: PricedLaw) -> _Tuning:
    """Propose with v = F / (F + K - 1), at which F is about the likeliest number of freed workers."""
    more = 2 * PRICE_UNITS - law.price
    weight = max(n_occupied * PRICE_UNITS + law.price * (law.n_points - n_occupied), more)
    freed = min(max(n_freed, 1), n_workers) * PRICE_UNITS
    under = freed + weight - PRICE_UNITS
    bits = 7
    while freed << bits < _LEAST_V * under:
        bits += 1
    v = (freed << bits) // under
    likeliest = 0
    while likeliest < n_workers and v * (weight + more * likeliest) >= (likeliest + 1) * PRICE_UNITS << bits:
        likeliest += 1
    some = law.price * (law.denominator - law.numerator)
    above, at_one = law.numerator << bits, law.denominator * v
    is_above_one = above > at_one
    odds = above * PRICE_UNITS
    frees_all = chance_of(0, 1)
    if is_above_one:
        rest = (above - at_one) * PRICE_UNITS
        frees_all = chance_of(rest, rest + some * v)
    return _Tuning(
        ratio=chance_of(min(above, at_one), max(above, at_one)),
        single=chance_of(odds, odds + some * v),
        all=frees_all,
        is_above_one=is_above_one,
        some=some,
        whole=law.denominator * PRICE_UNITS,
        v=v,
        bits=bits,
        weight=weight,
        more=more,
        likeliest=likeliest,
    )


@lean_jit
def _goes_on(key: Words, stream: Ints, ratio: Chance, most: int) -> int:
    """How many events of this chance happen before one does not, ``most`` at the most."""
    passed = 0
    while passed < most and happens(key, stream, ratio):
        passed += 1
    return passed


@lean_jit
def _free(key: Words, stream: Ints, tuning: _Tuning, count: int) -> int:
    """Draw how many of ``count`` workers a point frees: weights q u^f below ``count`` and u^f at it.

    For one worker, one event decides. For more and u at most 1, that event says whether all are proposed, which is
    kept with chance (1 - u) u^(count - 1), or a geometric number, kept if it is below ``count``. Where u is above 1,
    the number of workers who stay is drawn: none, or else 1 and a geometric number of more, ``count`` at most.
    """
    if count == 1:
        return 1 if happens(key, stream, tuning.single) else 0
    if is_slow(tuning.ratio, count):
        return _free_slowly(key, stream, tuning, count)
    while not has_run_out(stream):
        if tuning.is_above_one:
            if happens(key, stream, tuning.all):
                return count
            stay = 1 + _goes_on(key, stream, tuning.ratio, count)
            if stay <= count:
                return count - stay
        elif happens(key, stream, tuning.single):
            if (
                not happens(key, stream, tuning.ratio)
                and _goes_on(key, stream, tuning.ratio, count - 1) == count - 1
            ):
                return count
        else:
            freed = _goes_on(key, stream, tuning.ratio, count)
            if freed < count:
                return freed
    return 0


@lean_jit
def _free_slowly(key: Words, stream: Ints, tuning: _Tuning, count: int) -> int:
    """The same where a geometric number would hardly end: weights q below ``count`` and 1 at it come first."""
    while not has_run_out(stream):
        place = below(key, stream, tuning.whole + count * tuning.some)
        freed = count if place < tuning.whole else (place - tuning.whole) // tuning.some
        trials = count - freed if tuning.is_above_one else freed
        if _goes_on(key, stream, tuning.ratio, trials) == trials:
            return freed
    return 0


@lean_jit
def _is_accepted(key: Words, stream: Ints, tuning: _Tuning, n_freed: int) -> bool:
    """Accept with B(F) / B(F*), B(F) = v^F prod (K + (2 - c) i) / (i + 1), F* its likeliest value."""
    for step in range(tuning.likeliest, n_freed):
        if below(key, stream, (step + 1) * PRICE_UNITS << tuning.bits) >= tuning.v * (
            tuning.weight + tuning.more * step
        ):
            return False
    for step in range(n_freed, tuning.likeliest):
        if (
            below(key, stream, tuning.v * (tuning.weight + tuning.more * step))
            >= (step + 1) * PRICE_UNITS << tuning.bits
        ):
            return False
    return True


@lean_jit
def _take(point: int, taken: Indices, n_taken: int) -> int:
    """The ``point``-th point, from 0, that is not taken; it is then put into ``taken``, which stays sorted."""
    at = 0
    while at < n_taken and taken[at] <= point:
        point += 1
        at += 1
    for place in range(n_taken, at, -1):
        taken[place] = taken[place - 1]
    taken[at] = point
    return point


@lean_jit
def _lay_out(
    key: Words,
    stream: Ints,
    tuning: _Tuning,
    law: PricedLaw,
    points: Indices,
    numbers: tuple[int, int],
    space: PricedSpace,
) -> bool:
    """Lay out ``numbers`` = (freed workers, open points) one by one; return whether all steps were accepted."""
    n_freed, n_open = numbers
    n_empty = law.n_points - points.size
    for at in range(points.size):
        space.taken[at] = points[at]
    n_reached = 0
    for worker in range(n_freed):
        place = below(key, stream, tuning.weight + tuning.more * worker)
        solid = (n_open + worker + n_reached) * PRICE_UNITS
        if place < solid:
            ball = place // PRICE_UNITS
            if ball < n_open:
                space.moved[worker] = space.open[ball]
            elif ball < n_open + worker:
                space.moved[worker] = space.moved[ball - n_open]
            else:
                space.moved[worker] = space.reached[ball - n_open - worker]
        elif place < solid + law.price * (n_empty - n_reached):
            new = _take((place - solid) // law.price, space.taken, points.size + n_reached)
            space.moved[worker] = space.reached[n_reached] = new
            n_reached += 1
        else:
            return False
    return True


@lean_jit
def free_and_lay_out(
    key: Words,
    stream: Ints,
    law: PricedLaw,
    points: Indices,
    counts: Ints,
    freed: Ints,
    space: PricedSpace,
) -> int:
    """Draw how many workers every occupied point frees, and where they move; return how many.

    ``points`` are in rising order, with their numbers of workers in ``counts``. ``freed`` is filled by point, and
    ``space.moved`` with the points of freed workers, in no order.
    """
    n_workers = 0
    for position in range(points.size):
        n_workers += counts[position]
    start = first_guess(
        points.size,
        (law.price * law.n_points) // PRICE_UNITS + points.size,
        law.numerator * PRICE_UNITS,
        law.denominator * law.price,
    )
    guess = FreedGuess(start, 0, n_workers + 1)
    while not has_run_out(stream):
        tuning = _tune(guess.freed, n_workers, points.size, law)
        total = n_open = 0
        for position in range(points.size):
            here = _free(key, stream, tuning, counts[position])
            freed[position] = here
            total += here
            if here < counts[position] or below(key, stream, PRICE_UNITS) < law.price:
                space.open[n_open] = points[position]
                n_open += 1
        if not _is_accepted(key, stream, tuning, total):
            guess = next_guess(guess, total, tuning.likeliest, n_workers)
        elif _lay_out(key, stream, tuning, law, points, (total, n_open), space):
            return total
    return 0
