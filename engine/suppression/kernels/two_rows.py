"""Two rows with both totals: tilts, products of laws, and the values of a query that are safe.

Weights of sums are stored from a first sum on. The *parts* of a law are its weights times the share of each type's
people who have the value, one column for each type; so a part never exceeds its weight.

All terms are positive, and only sums, products and quotients are used, in a fixed order. So rounding changes each
number by a bounded part of itself, and every machine finds the same numbers.

Source: docs/theory/suppressed-tables.md, "Both totals".
"""

import math
from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Bools, Floats, Ints
from engine.suppression.kernels.poisson_binomial import INFLATE, sum_in_order

__all__ = [
    "FARTHEST_TILT",
    "Factors",
    "Found",
    "Law",
    "Limits",
    "Queried",
    "Scratch",
    "convolve",
    "convolve_parts",
    "decide_values",
    "fit_tilts",
]

FARTHEST_TILT = 2.0**60
"""Tilts lie between this and its inverse."""

_SWEEPS = 300
_TOLERANCE = 1e-7
_TILT_BITS = 24
_ROUNDING = 1.01 * 2.0**-53

_NEGLIGIBLE = 2.0**-20
"""Values whose weight is certainly below this part of what is checked are not weighed, but counted as missing."""

_SLACK = 1.0 + 2.0**-48
"""Covers the roundings of a comparison."""


class Law(NamedTuple):
    """First sum, weights [L], and parts [L, types]."""

    start: int
    weights: Floats
    parts: Floats


class Factors(NamedTuple):
    """Independent laws: the query's people by row, the other people without a column total by row, known columns."""

    first: Law
    second: Law
    pool_first: Law
    pool_second: Law
    known: Law


class Queried(NamedTuple):
    """Values that a query may have [V], and what each implies.

    The query has ``x`` ones in the first row, from ``least`` to ``most``, and ``in_query`` in both rows; the pool has
    ``in_pool`` in both rows. A value that is not allowed is not safe.
    """

    least: Ints
    most: Ints
    in_query: Ints
    in_pool: Ints
    allowed: Bools


class Limits(NamedTuple):
    """Safe shares of each type's people [types], those of ``Factors`` in order; and how precise the laws are.

    ``missing`` is a bound of what the laws leave out, of all values together, and of any type's part of it. Each
    weight has at most so many ``roundings``. No weight of the known columns exceeds ``highest``. Weights below
    ``floor`` times the largest are left out, and values whose weight is below ``least`` times the largest are not
    checked.
    """

    low: Floats
    high: Floats
    missing: float
    roundings: float
    highest: float
    floor: float
    least: float


class Scratch(NamedTuple):
    """Buffers: weights of the query and the pool, and what goes with each; of the known columns; of the types."""

    query: Floats
    beside_query: Floats
    pool: Floats
    beside_pool: Floats
    beside_known: Floats
    ones: Floats


class Found(NamedTuple):
    """Of each value [V]: its weight, a bound of what that lacks, and whether it was checked and is certainly safe."""

    weight: Floats
    missing: Floats
    safe: Bools


@lean_jit
def _few_bits(value: float) -> float:
    """The value cut off after a few bits, so that products of two such numbers are exact."""
    mantissa, exponent = math.frexp(min(max(value, 1.0 / FARTHEST_TILT), FARTHEST_TILT))
    return math.ldexp(math.floor(math.ldexp(mantissa, _TILT_BITS)), exponent - _TILT_BITS)


@lean_jit
def _correct_tilt(tilt: float, mean: float, everyone: float, target: float) -> float:
    """A tilt under which the mean is nearer its target."""
    if target <= 0.0 or mean <= 0.0:
        return 1.0 / FARTHEST_TILT if target <= 0.0 else FARTHEST_TILT
    if target >= everyone or mean >= everyone:
        return FARTHEST_TILT if target >= everyone else 1.0 / FARTHEST_TILT
    better = tilt * (target * (everyone - mean) / (mean * (everyone - target)))
    return min(max(better, 1.0 / FARTHEST_TILT), FARTHEST_TILT)


@lean_jit
def _means(people: Ints, odds: Floats, start: int, stop: int, tilt: float) -> tuple[float, float]:
    """Mean and people of some types under a tilt."""
    mean, everyone = 0.0, 0.0
    for at in range(start, stop):
        tilted = odds[at] * tilt
        mean += people[at] * tilted / (1.0 + tilted)
        everyone += people[at]
    return mean, everyone


@lean_jit
def fit_tilts(ptr: Ints, people: Ints, odds: Floats, totals: Ints, row_total: int, tilts: Floats) -> float:
    """Find tilts of the columns, and one more of the first row, that move the means to the totals, more or less.

    Parameters
    ----------
    ptr : int64[2 * G + 1]
        Offsets of the types of each column's first row and second row.
    people, odds : int64[Y], float64[Y]
    totals : int64[G]
        Of the columns; -1 leaves a column's tilt at 1.
    row_total : int
        Of the first row.
    tilts : float64[G]
        Receives the columns' tilts.

    Returns
    -------
    float
        The tilt of the first row. All are cut off after some bits, so that their products are exact.
    """
    of_row = 1.0
    tilts[:] = 1.0
    for _ in range(_SWEEPS):
        off, row_mean, row_people = 0.0, 0.0, 0.0
        for column in range(totals.size):
            start, middle, stop = ptr[2 * column], ptr[2 * column + 1], ptr[2 * column + 2]
            mean, everyone = _means(people, odds, start, middle, tilts[column] * of_row)
            row_mean += mean
            row_people += everyone
            if totals[column] >= 0:
                other_mean, others = _means(people, odds, middle, stop, tilts[column])
                better = _correct_tilt(tilts[column], mean + other_mean, everyone + others, totals[column])
                off = max(off, abs(better / tilts[column] - 1.0))
                tilts[column] = better
        better = _correct_tilt(of_row, row_mean, row_people, row_total)
        off = max(off, abs(better / of_row - 1.0))
        of_row = better
        if off <= _TOLERANCE:
            break
    for column in range(totals.size):
        tilts[column] = _few_bits(tilts[column])
    return _few_bits(of_row)


@lean_jit
def _add_scaled(factor: float, values: Floats, sums: Floats) -> None:
    """Add multiples of some values. The loop runs from zero, or it would check each place for a negative one."""
    for at in range(sums.size):
        sums[at] += factor * values[at]


@lean_jit
def convolve(short: Floats, long: Floats, product: Floats) -> None:
    """Weights of the sum of two independent counts."""
    product[:] = 0.0
    for place in range(short.size):
        _add_scaled(short[place], long, product[place : place + long.size])


@lean_jit
def convolve_parts(weights: Floats, parts: Floats, n_types: int, first: int, product: Floats) -> None:
    """The same for parts, flattened, of the sums from ``first`` places on; as many as ``product`` holds."""
    product[:] = 0.0
    for place in range(weights.size):
        factor = weights[place]
        shift = (place - first) * n_types
        start, stop = max(0, -shift), min(parts.size, product.size - shift)
        if start < stop:
            _add_scaled(factor, parts[start:stop], product[start + shift : stop + shift])


@lean_jit
def _joint(
    first: Law, second: Law, least: int, most: int, both: int, floor: float, weights: Floats
) -> tuple[int, int, float]:
    """Weights of the first count given the sum of both: where they start, how many, and a bound of what is cut."""
    least = max(least, max(first.start, both - second.start - second.weights.size + 1))
    most = min(most, min(first.start + first.weights.size - 1, both - second.start))
    peak = 0.0
    for value in range(least, most + 1):
        weight = first.weights[value - first.start] * second.weights[both - value - second.start]
        weights[value - least] = weight
        peak = max(peak, weight)
    start, stop, cut = 0, most + 1 - least, 0.0
    while start < stop and weights[start] < floor * peak:
        cut += weights[start]
        start += 1
    while start < stop and weights[stop - 1] < floor * peak:
        cut += weights[stop - 1]
        stop -= 1
    for at in range(start, stop):
        weights[at - start] = weights[at]
    return least + start, max(stop - start, 0), cut * INFLATE


@lean_jit
def _reverse(values: Floats, n: int) -> None:
    for at in range(n // 2):
        values[at], values[n - 1 - at] = values[n - 1 - at], values[at]


@lean_jit
def _spread(known: Law, top: int, n_query: int, n_pool: int, scratch: Scratch) -> None:
    """What goes with each count of the pool and of the known columns.

    Pool counts are in falling order; ``top`` is the place of the known columns' sum that goes with the query's first
    count and the pool's first, that is, largest one.
    """
    for at in range(n_pool):
        scratch.beside_pool[at] = 0.0
    for at in range(known.weights.size):
        scratch.beside_known[at] = 0.0
    for query_count in range(n_query):
        factor, shift = scratch.query[query_count], top - query_count
        start, stop = max(0, -shift), min(n_pool, known.weights.size - shift)
        if start < stop:
            _add_scaled(factor, scratch.pool[start:stop], scratch.beside_known[start + shift : stop + shift])
            _add_scaled(factor, known.weights[start + shift : stop + shift], scratch.beside_pool[start:stop])


@lean_jit
def _spread_to_query(known: Law, top: int, n_query: int, n_pool: int, scratch: Scratch) -> None:
    """What goes with each count of the query, in falling order like the pool's."""
    for at in range(n_query):
        scratch.beside_query[at] = 0.0
    bottom = top - n_query + 1
    for pool_count in range(n_pool):
        factor, shift = scratch.pool[pool_count], bottom + pool_count
        start, stop = max(0, -shift), min(n_query, known.weights.size - shift)
        if start < stop:
            _add_scaled(factor, known.weights[start + shift : stop + shift], scratch.beside_query[start:stop])


@lean_jit
def _add_parts(parts: Floats, place: int, factor: float, first: int, ones: Floats) -> None:
    _add_scaled(factor, parts[place], ones[first : first + parts.shape[1]])


@lean_jit
def _add_pair(left: Law, right: Law, value: int, both: int, beside: float, first: int, ones: Floats) -> None:
    """Parts of two laws whose sum is known, where the first count has a value."""
    place, place_right = value - left.start, both - value - right.start
    _add_parts(left.parts, place, right.weights[place_right] * beside, first, ones)
    _add_parts(right.parts, place_right, left.weights[place] * beside, first + left.parts.shape[1], ones)


@lean_jit
def _all_within(limits: Limits, whole: float, missing: float, error: float, ones: Floats) -> bool:
    """Whether every type's share of ones is certainly within its limits."""
    lowest, highest = whole * (1.0 - error), whole * (1.0 + error) + missing
    for number in range(limits.low.size):
        if ones[number] * (1.0 - error) < limits.low[number] * highest * _SLACK:
            return False
        if (ones[number] * (1.0 + error) + missing) * _SLACK > limits.high[number] * lowest:
            return False
    return True


@lean_jit
def _weigh_types(
    factors: Factors,
    top: int,
    starts: tuple[int, int],
    lengths: tuple[int, int],
    both: tuple[int, int],
    scratch: Scratch,
) -> None:
    """Weights times shares of all types, in ``scratch.ones``."""
    n_query, n_pool = lengths
    ones = scratch.ones
    ones[:] = 0.0
    for place in range(factors.known.weights.size):
        if scratch.beside_known[place] > 0.0:
            _add_parts(factors.known.parts, place, scratch.beside_known[place], 0, ones)
    first = factors.known.parts.shape[1]
    for at in range(n_pool):
        value = starts[1] + n_pool - 1 - at
        _add_pair(
            factors.pool_first, factors.pool_second, value, both[1], scratch.beside_pool[at], first, ones
        )
    first += factors.pool_first.parts.shape[1] + factors.pool_second.parts.shape[1]
    if first < ones.size:
        _spread_to_query(factors.known, top, n_query, n_pool, scratch)
        for at in range(n_query):
            value = starts[0] + n_query - 1 - at
            _add_pair(factors.first, factors.second, value, both[0], scratch.beside_query[at], first, ones)


@lean_jit
def _decide_value(
    factors: Factors, queried: Queried, at: int, row_total: int, limits: Limits, peak: float, scratch: Scratch
) -> tuple[float, float, bool]:
    """Weight of a value, a bound of what it lacks, and whether the value was checked and is certainly safe."""
    known, both = factors.known, (queried.in_query[at], queried.in_pool[at])
    first, n_query, cut_query = _joint(
        factors.first,
        factors.second,
        queried.least[at],
        queried.most[at],
        both[0],
        limits.floor,
        scratch.query,
    )
    pool, n_pool, cut_pool = _joint(
        factors.pool_first, factors.pool_second, 0, row_total, both[1], limits.floor, scratch.pool
    )
    if n_query == 0 or n_pool == 0:
        return 0.0, 0.0, False
    in_query, in_pool = sum_in_order(scratch.query, n_query), sum_in_order(scratch.pool, n_pool)
    missing = (cut_query * (in_pool + cut_pool) + in_query * cut_pool) * limits.highest * INFLATE
    at_most = in_query * in_pool * limits.highest * INFLATE
    if at_most < limits.least * _NEGLIGIBLE * peak:
        return 0.0, missing + at_most, False
    _reverse(scratch.pool, n_pool)
    top = row_total - first - (pool + n_pool - 1) - known.start
    _spread(known, top, n_query, n_pool, scratch)
    whole = 0.0
    for place in range(known.weights.size):
        whole += known.weights[place] * scratch.beside_known[place]
    if not queried.allowed[at] or whole <= 0.0 or whole < limits.least * peak:
        return whole, missing, False
    _weigh_types(factors, top, (first, pool), (n_query, n_pool), both, scratch)
    error = (limits.roundings + n_query + n_pool + known.weights.size) * _ROUNDING
    return whole, missing, _all_within(limits, whole, limits.missing + missing, error, scratch.ones)


@lean_jit
def decide_values(
    factors: Factors, queried: Queried, row_total: int, limits: Limits, scratch: Scratch, decided: Found
) -> float:
    """Decide which values of a query are safe, from the middle of the values outward.

    Returns
    -------
    float
        Relative rounding error of each weight.
    """
    n, peak = decided.weight.size, 0.0
    for step in range(2 * n):
        at = n // 2 + (step // 2 if step % 2 == 0 else -1 - step // 2)
        if 0 <= at < n:
            weight, missing, safe = _decide_value(factors, queried, at, row_total, limits, peak, scratch)
            decided.weight[at], decided.missing[at], decided.safe[at] = weight, missing, safe
            peak = max(peak, weight)
    longest = scratch.query.size + scratch.pool.size + factors.known.weights.size
    return (limits.roundings + longest) * _ROUNDING
