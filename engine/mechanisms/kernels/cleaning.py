"""Cleaning: how many workers the exponential mechanism is expected to have freed, and who is drawn again."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Addresses, Bools, Floats, Indices, Ints, PointLists, Words
from engine.kernels.chacha import STAGE_CLEAN, below, has_run_out, next_word, open_stream, read_ahead
from engine.kernels.sorting import sort_values
from engine.mechanisms.kernels.exponential import Thetas
from engine.mechanisms.kernels.normalizers import PRICE_UNITS
from engine.mechanisms.kernels.urn import find_weight
from engine.support.kernels.coarsening import REMAINDER, Levels

__all__ = [
    "FREED_BITS",
    "MOST_FREED",
    "FreedSpace",
    "PointPlaces",
    "PointSums",
    "RangeSums",
    "Ranges",
    "StreamSpace",
    "clean_range",
    "count_workers",
    "expected_freed_range",
    "occupied_points",
    "order_ranges",
    "sum_ranges",
]

FREED_BITS = 20
"""Expected numbers of freed workers are whole numbers of 2^-20."""

MOST_FREED = 128
"""Most freed workers in the exact sum."""

_FEW_FREED = 24.0  # up to here the sum over 0 to MOST_FREED leaves out nothing that would change 2^-20
_STEPS = 50
_MANY_LEFT = 20  # workers yet to be drawn from which blocks made together cost less than one by one
_KEY_BITS = 51  # of a share in a key
_MOST_KEY = (1 << 12) - 1


PowerTable = npt.NDArray[np.float64]


class FreedSpace(NamedTuple):
    """Scratch space of one thread.

    A unit's workers by point, its points and their counts; two lists of weights; a mean for every count; powers of
    theta times weights.
    """

    points: Indices
    occupied: Indices
    counts: Ints
    weights: Floats
    longer: Floats
    means: Floats
    powers: PowerTable


class PointSums(NamedTuple):
    """Drawn workers of each support point [K]: all, and those of units that are read in proportion."""

    drawn: Ints
    in_proportion: Ints


class PointPlaces(NamedTuple):
    """Support points of each destination tract: CSR offsets [T + 1], level, distance in miles, and prior share [K]."""

    ptr: Ints
    level: Levels
    distance_mi: Floats
    share: Floats


class RangeSums(NamedTuple):
    """Of each range of each tract [T * G]: workers drawn, those read in proportion, and points with workers.

    ``received`` is the part of noise that is spread evenly over points: 2^-20 for each point that has a whole share.
    """

    drawn: Ints
    in_proportion: Ints
    occupied: Ints
    received: Ints


class StreamSpace(NamedTuple):
    """A stream, and lanes in which several of its blocks are made together."""

    stream: Ints
    lanes: Words


class _Law(NamedTuple):
    """Theta, the price c, and the weight that prod (weight + more i) / (i + 1) gives to F freed workers.

    ``spread`` is the part of them that is spread evenly over all points.
    """

    theta: float
    price: float
    weight: float
    more: float
    spread: float


class Ranges(NamedTuple):
    """What is known of the G commute ranges of each destination tract, [T * G] unless said otherwise.

    Where the points of each range begin in the lists [T * G + 1]; workers to take out, as a whole number and a chance
    in 2^-32; running numbers of workers to add within the tract, in 2^-32. Lists of the points that have workers, by
    range and the least plausible first: local numbers, workers, and running workers within the range.
    """

    first: Ints
    taken: Ints
    chance: Ints
    added: Ints
    point: Indices
    workers: Ints
    cumulative: Ints


@lean_jit
def _mean_of_one(count: int, theta: float, tilt: float) -> float:
    """Mean of r from 0 to ``count`` with weights (1 - theta) tilt^r, and tilt^r for the last; the tilt is above 1."""
    total, mean, weight = 0.0, 0.0, 1.0
    for step in range(count + 1):
        r = count - step
        times = weight if r == count else weight * (1.0 - theta)
        total += times
        mean += r * times
        weight *= 1.0 / tilt
    return mean / total


@lean_jit
def _set_means(most: int, theta: float, tilt: float, means: Floats) -> None:
    """The same for every count up to ``most``, each from the sums of the one before; the tilt is at most 1."""
    total, mean, weight = 0.0, 0.0, 1.0
    for count in range(most + 1):
        means[count] = (mean + count * weight) / (total + weight)
        total += weight * (1.0 - theta)
        mean += count * (weight * (1.0 - theta))
        weight *= tilt


@lean_jit
def _are_more_freed(counts: Ints, most: int, n_points: int, theta: float, v: float, means: Floats) -> bool:
    """Whether more workers are expected to be freed than to be added, each point getting another with odds v.

    ``counts`` holds the workers of the occupied points, ``most`` the largest of them.
    """
    freed, tilt = 0.0, theta / v
    if tilt <= 1.0:
        _set_means(most, theta, tilt, means)
        for place in range(counts.size):
            freed += means[counts[place]]
    else:
        for place in range(counts.size):
            freed += _mean_of_one(counts[place], theta, tilt)
    return freed > n_points * v / (1.0 - v)


@lean_jit
def _mean_by_balance(counts: Ints, most: int, n_points: int, theta: float, means: Floats) -> float:
    """Number of workers at which as many are expected to be freed as to be added: close where it is large."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        v = (low + high) / 2.0
        if _are_more_freed(counts, most, n_points, theta, v, means):
            low = v
        else:
            high = v
    return n_points * low / (1.0 - low)


@lean_jit
def _law(n_occupied: int, n_points: int, theta: float, price: float) -> _Law:
    """The weight of an empty point is the price, and 1 once a worker is there; that of all others is 1."""
    empty = price * (n_points - n_occupied)
    weight = n_occupied + empty
    return _Law(theta, price, weight, 1.0 + (1.0 - price) * empty / weight, price * n_points / weight)


@lean_jit
def _free_one(theta: float, stays: float, before: Floats, after: Floats) -> None:
    """Weights of numbers of freed workers after a point of one worker, who is freed or stays.

    Of arrays from position 0 on, which makes vector instructions of the loop.
    """
    after[0] = before[0] * stays
    one_more, all_here, one_less = after[1:], before[1:], before
    for freed in range(one_more.size):
        one_more[freed] = all_here[freed] * stays + one_less[freed] * theta


@lean_jit
def _scale(values: Floats, factor: float, target: Floats) -> None:
    """Multiply numbers, from position 0 on, which makes vector instructions of the loop."""
    for at in range(target.size):
        target[at] = values[at] * factor


@lean_jit
def _add(values: Floats, factor: float, target: Floats) -> None:
    """Add multiples of numbers, from position 0 on as well."""
    for at in range(values.size):
        target[at] += values[at] * factor


@lean_jit
def _free_some(
    count: int, theta: float, stays: float, before: Floats, after: Floats, powers: PowerTable
) -> None:
    """The same after a point of ``count`` workers: r are freed with weight theta^r, and all others stay.

    Row r of ``powers`` holds the weights before it times theta^r. What makes up a weight after it is added by falling
    r.
    """
    top = after.size - 1
    most = min(count, top)
    _scale(before, 1.0, powers[0, : before.size])
    for r in range(1, most + 1):
        n_left = min(before.size, top - r + 1)
        _scale(powers[r - 1], theta, powers[r, :n_left])
    for freed in range(top + 1):
        after[freed] = 0.0
    for r in range(most, -1, -1):
        n_left = min(before.size, top - r + 1)
        _add(powers[r, :n_left], 1.0 if r == count else stays, after[r:])


@lean_jit
def _mean_by_sum(counts: Ints, n_workers: int, law: _Law, space: FreedSpace) -> float:
    """Mean number of freed workers: weights of each point convolved, times those of the law."""
    weights, longer = space.weights, space.longer
    theta, stays = law.theta, law.price * (1.0 - law.theta)
    top = min(n_workers, MOST_FREED)
    weights[0] = 1.0
    reached = 0  # beyond it, weights are zero and not set
    for place in range(counts.size):
        before, reached = reached, min(reached + counts[place], top)
        if counts[place] == 1:  # most points
            if reached > before:
                weights[reached] = 0.0
            _free_one(theta, stays, weights[: reached + 1], longer[: reached + 1])
        else:
            _free_some(
                counts[place], theta, stays, weights[: before + 1], longer[: reached + 1], space.powers
            )
        weights, longer = longer, weights
    total, mean, ways = 0.0, 0.0, 1.0
    for freed in range(reached + 1):
        if freed > 0:
            ways *= (law.weight + law.more * (freed - 1.0)) / freed
        total += weights[freed] * ways
        mean += freed * weights[freed] * ways
    return mean / total


@lean_jit
def occupied_points(workers: PointLists, unit: int, space: FreedSpace) -> int:
    """Set the occupied points of a unit, ascending, and their numbers of workers; return how many there are."""
    n_workers = workers.ptr[unit + 1] - workers.ptr[unit]
    points = space.points[:n_workers]
    for worker in range(n_workers):
        points[worker] = workers.point[workers.ptr[unit] + worker]
    sort_values(points)
    n_occupied = 0
    for worker in range(n_workers):
        if worker > 0 and points[worker] == points[worker - 1]:
            space.counts[n_occupied - 1] += 1
        else:
            space.occupied[n_occupied] = points[worker]
            space.counts[n_occupied] = 1
            n_occupied += 1
    return n_occupied


@lean_jit
def expected_freed_range(
    bounds: tuple[int, int],
    workers: PointLists,
    tract: Indices,
    n_support: Ints,
    thetas: Thetas,
    space: FreedSpace,
    expected: Ints,
) -> int:
    """Expected number of freed workers of units ``bounds``, given their released tables, in 2^-20; returns -1.

    Only sums, products and quotients of floating-point numbers, so that every machine finds the same.
    """
    for unit in range(bounds[0], bounds[1]):
        n_workers = workers.ptr[unit + 1] - workers.ptr[unit]
        n_occupied = occupied_points(workers, unit, space)
        counts, most = space.counts[:n_occupied], 0
        for place in range(n_occupied):
            most = max(most, counts[place])
        theta = thetas.numerator[unit] / thetas.denominator[unit]
        n_points = n_support[tract[unit]]
        odds = _FEW_FREED / (n_points + _FEW_FREED)  # with which as many are added
        is_plain = thetas.price[unit] == PRICE_UNITS
        if (
            is_plain
            and n_workers > _FEW_FREED
            and _are_more_freed(counts, most, n_points, theta, odds, space.means)
        ):
            mean = _mean_by_balance(counts, most, n_points, theta, space.means)
        else:
            law = _law(n_occupied, n_points, theta, thetas.price[unit] / PRICE_UNITS)
            mean = _mean_by_sum(counts, n_workers, law, space) * law.spread
        expected[unit] = np.int64(mean * (1 << FREED_BITS))
    return -1


@lean_jit
def count_workers(
    tract: Indices, by_point: Bools, support_ptr: Ints, synthetic: PointLists, counts: PointSums
) -> bool:
    """Count the workers of every support point; ``by_point`` may be empty, and then both counts are one array.

    Returns whether all workers are in a point of their tract.
    """
    some_by_point = by_point.size > 0
    for cell in range(tract.size):
        first, last = support_ptr[tract[cell]], support_ptr[tract[cell] + 1]
        for worker in range(synthetic.ptr[cell], synthetic.ptr[cell + 1]):
            point = first + synthetic.point[worker]
            if point >= last:
                return False
            counts.drawn[point] += 1
            if some_by_point and not by_point[cell]:
                counts.in_proportion[point] += 1
    return True


@lean_jit
def _range_of(distance_mi: float, limits: Floats) -> int:
    """Number of limits up to and with a distance."""
    number = 0
    for position in range(limits.size):
        number += distance_mi >= limits[position]
    return number


@lean_jit
def sum_ranges(places: PointPlaces, limits: Floats, counts: PointSums, sums: RangeSums) -> None:
    """Add up each commute range of each destination tract into ``sums``, zeros at first."""
    n_ranges = limits.size + 1
    for tract in range(places.ptr.size - 1):
        first, last = places.ptr[tract], places.ptr[tract + 1]
        has_remainder = last > first and places.level[last - 1] == REMAINDER
        for point in range(first, last):
            here = tract * n_ranges + _range_of(places.distance_mi[point], limits)
            sums.drawn[here] += counts.drawn[point]
            sums.in_proportion[here] += counts.in_proportion[point]
            sums.occupied[here] += counts.drawn[point] > 0
            if places.level[point] != REMAINDER:
                sums.received[here] += 1 << FREED_BITS
            if has_remainder:
                # Workers of the remainder, noise among them, were drawn again by prior share.
                sums.received[here] += np.int64(places.share[point] * (1 << FREED_BITS))


@lean_jit
def _comes_before(
    candidate: tuple[int, int], rival: tuple[int, int], first: int, drawn: Ints, share_bits: Ints
) -> bool:
    """Whether a (key, point) is less plausible than another: by workers, then by share, then by point."""
    if candidate[0] != rival[0]:
        return candidate[0] < rival[0]
    here, there = first + candidate[1], first + rival[1]
    if drawn[here] != drawn[there]:
        return bool(drawn[here] < drawn[there])
    if share_bits[here] != share_bits[there]:
        return bool(share_bits[here] < share_bits[there])
    return candidate[1] < rival[1]


@lean_jit
def _sort_range(keys: Ints, points: Indices, first: int, drawn: Ints, share_bits: Ints) -> None:
    """Sort the points of one range, with their keys: Shell's sort, as they are some dozens."""
    gap = 1
    while gap < keys.size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, keys.size):
            key, point, j = keys[i], points[i], i
            while j >= gap and _comes_before(
                (key, point), (keys[j - gap], points[j - gap]), first, drawn, share_bits
            ):
                keys[j], points[j] = keys[j - gap], points[j - gap]
                j -= gap
            keys[j], points[j] = key, point
        gap //= 3


@lean_jit
def order_ranges(
    places: PointPlaces, limits: Floats, drawn: Ints, share_bits: Ints, keys: Ints, ranges: Ranges
) -> None:
    """List the points with workers of each range in ``ranges``, the least plausible first, with running workers.

    ``ranges.first`` is given, with running offsets of the same numbers. ``share_bits`` holds the shares as integers of
    the same order: their bits, as none is below 0. ``keys`` has room for a number for each such point: its workers, up
    to 2^12, and then the first bits of its share, which mostly decide.
    """
    n_ranges = limits.size + 1
    for tract in range(places.ptr.size - 1):
        first = places.ptr[tract]
        begin = tract * n_ranges
        # While the lists are filled, the numbers of workers to add count how far they are.
        for here in range(begin, begin + n_ranges):
            ranges.added[here] = ranges.first[here]
        for point in range(first, places.ptr[tract + 1]):
            if drawn[point] == 0:
                continue
            here = begin + _range_of(places.distance_mi[point], limits)
            at = ranges.added[here]
            ranges.added[here] += 1
            keys[at] = (min(drawn[point], _MOST_KEY) << _KEY_BITS) | (share_bits[point] >> (63 - _KEY_BITS))
            ranges.point[at] = point - first
        for here in range(begin, begin + n_ranges):
            start, stop = ranges.first[here], ranges.first[here + 1]
            _sort_range(keys[start:stop], ranges.point[start:stop], first, drawn, share_bits)
            total = np.int64(0)
            for at in range(start, stop):
                count = drawn[first + ranges.point[at]]
                total += count
                ranges.workers[at], ranges.cumulative[at] = count, total
            ranges.added[here] = 0


@lean_jit
def _spread_takes(tract: int, n_ranges: int, ranges: Ranges, key: Words, stream: Ints, left: Ints) -> int:
    """Set how many workers each point of a tract loses, the least plausible points first; return how many in all."""
    total = 0
    for position in range(tract * n_ranges, (tract + 1) * n_ranges):
        take = ranges.taken[position]
        if ranges.chance[position] > 0 and np.int64(next_word(key, stream)) < ranges.chance[position]:
            take += 1
        for place in range(ranges.first[position], ranges.first[position + 1]):
            if take == 0:
                break
            here = min(take, ranges.workers[place])
            left[ranges.point[place]] = here
            take -= here
            total += here
    return total


@lean_jit
def clean_range(
    bounds: tuple[int, int],
    cells: PointLists,
    addresses: Addresses,
    ranges: Ranges,
    n_ranges: int,
    key: Words,
    room: StreamSpace,
    left: Ints,
    synthetic: PointLists,
) -> int:
    """Draw workers of destination tracts ``bounds`` again, in place; return the first whose stream ran out, or -1.

    ``cells`` lists the synthesizers of each tract; ``addresses`` holds the tracts' numbers. ``left`` has a zero for
    each point of a tract, and is zeros again at the end.
    """
    points, stream = synthetic.point, room.stream
    for tract in range(bounds[0], bounds[1]):
        open_stream(STAGE_CLEAN, addresses.destination[tract], addresses.segment[tract], stream)
        read_ahead(key, room.lanes, stream)
        n_left = _spread_takes(tract, n_ranges, ranges, key, stream, left)
        begin, end = tract * n_ranges, (tract + 1) * n_ranges
        for place in range(cells.ptr[tract], cells.ptr[tract + 1]):
            if n_left == 0:
                break
            cell = cells.point[place]
            for worker in range(synthetic.ptr[cell], synthetic.ptr[cell + 1]):
                if left[points[worker]] == 0:
                    continue
                left[points[worker]] -= 1
                n_left -= 1
                if n_left >= _MANY_LEFT:
                    read_ahead(key, room.lanes, stream)
                chosen = find_weight(ranges.added, begin, end, below(key, stream, ranges.added[end - 1]))
                first, last = ranges.first[chosen], ranges.first[chosen + 1]
                value = below(key, stream, ranges.cumulative[last - 1])
                points[worker] = ranges.point[find_weight(ranges.cumulative, first, last, value)]
        if has_run_out(stream):
            return tract
    return -1
