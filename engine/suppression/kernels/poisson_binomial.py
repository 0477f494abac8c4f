"""Weights of sums of independent yes-or-no values, with a bound on what is left out and on rounding.

People of one type have one chance p; a type's odds are p / (1 - p). The chance of a sum a is proportional to the
coefficient of z^a in the product of (1 + odds z)^people over the types. Multiplying all odds by one number, the tilt,
multiplies it by tilt^a: with a suitable tilt, any sum lies in the middle of the weights, and none of them underflows.

All terms are positive. Only sums, products and quotients are used, in a fixed order, so every machine finds the
same numbers, and rounding changes each by a bounded part of itself. Weights far from the middle are left out, and a
bound on their sum is kept.

Source: docs/theory/suppressed-tables.md, "Sums".
"""

import math
from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Ints

__all__ = [
    "INFLATE",
    "STEP_ROUNDINGS",
    "Scratch",
    "binomial_window",
    "keep_middle",
    "law_of_types",
    "mean_sum",
    "split_masses",
    "sum_in_order",
    "tilt_for_mean",
]

_FLOOR = 1e-22
"""Weights below this part of the largest are left out."""

INFLATE = 1.0 + 1e-7
"""Covers the rounding of sums that bound what is left out."""

STEP_ROUNDINGS = 6
"""Roundings of one step from a binomial weight to the next: four operations, and the two of the odds."""

_TILT_STEPS = 200
_TILT_TOLERANCE = 1e-6


class Scratch(NamedTuple):
    """Buffers of equal length for the weights, a copy, and one type's weights."""

    weights: Floats
    product: Floats
    window: Floats


@lean_jit
def mean_sum(people: Ints, odds: Floats, tilt: float) -> tuple[float, float]:
    """Mean and variance of the sum under a tilt."""
    mean, variance = 0.0, 0.0
    for number in range(people.size):
        tilted = odds[number] * tilt
        part = people[number] * tilted / (1.0 + tilted)
        mean += part
        variance += part / (1.0 + tilted)
    return mean, variance


@lean_jit
def tilt_for_mean(people: Ints, odds: Floats, target: float) -> float:
    """The tilt under which the sum has about a given mean, strictly between 0 and the number of people."""
    everyone = 0.0
    for number in range(people.size):
        everyone += people[number]
    tilt = 1.0
    for _ in range(_TILT_STEPS):
        mean, _ = mean_sum(people, odds, tilt)
        if abs(mean - target) <= _TILT_TOLERANCE * min(target, everyone - target):
            break
        tilt *= target * (everyone - mean) / (mean * (everyone - target))
    return tilt


@lean_jit
def _steps(people: int, odds: float, center: int, up: bool, most: int, floor: float) -> tuple[int, float]:
    """How many weights on one side of the center are kept, and a bound on the sum of the others there."""
    weight, kept, at = 1.0, 0, center
    while (at < people) if up else (at > 0):
        ratio = (people - at) / (at + 1.0) * odds if up else at / ((people - at + 1.0) * odds)
        weight *= ratio
        if weight < floor or kept == most:
            if ratio >= 1.0:
                return kept, math.inf
            return kept, weight / (1.0 - ratio) * INFLATE
        kept += 1
        at += 1 if up else -1
    return kept, 0.0


@lean_jit
def binomial_window(people: int, odds: float, floor: float, window: Floats) -> tuple[int, int, float, int]:
    """Binomial weights around their mean, where the weight is 1; start, length, bound of the rest, most steps."""
    center = min(int(people * odds / (1.0 + odds)), people)
    most = window.size // 2 - 1
    below, tail_below = _steps(people, odds, center, False, most, floor)
    above, tail_above = _steps(people, odds, center, True, most, floor)
    window[below] = 1.0
    weight = 1.0
    for step in range(below):
        at = center - step
        weight *= at / ((people - at + 1.0) * odds)
        window[below - step - 1] = weight
    weight = 1.0
    for step in range(above):
        at = center + step
        weight *= (people - at) / (at + 1.0) * odds
        window[below + step + 1] = weight
    return center - below, below + above + 1, tail_below + tail_above, max(below, above)


@lean_jit
def _convolve(short: Floats, n_short: int, long: Floats, n_long: int, product: Floats) -> None:
    for at in range(n_short + n_long - 1):
        product[at] = 0.0
    for short_place in range(n_short):
        factor = short[short_place]
        for long_place in range(n_long):
            product[short_place + long_place] += factor * long[long_place]


@lean_jit
def sum_in_order(values: Floats, n: int) -> float:
    """Sum of the first ``n`` values, added up one after the other."""
    total = 0.0
    for at in range(n):
        total += values[at]
    return total


@lean_jit
def keep_middle(product: Floats, length: int, floor: float, weights: Floats) -> tuple[int, int, float, float]:
    """Copy the weights that matter, scaled by a power of two: places cut at the start, length, what was cut, scale."""
    peak = 0.0
    for at in range(length):
        peak = max(peak, product[at])
    _, exponent = math.frexp(peak)
    scale = math.ldexp(1.0, -exponent)
    first, last, cut = 0, length, 0.0
    while product[first] < floor * peak:
        cut += product[first]
        first += 1
    while product[last - 1] < floor * peak:
        cut += product[last - 1]
        last -= 1
    for at in range(first, last):
        weights[at - first] = product[at] * scale
    return first, last - first, cut, scale


@lean_jit
def law_of_types(
    people: Ints, odds: Floats, tilt: float, scratch: Scratch
) -> tuple[int, int, float, float, float]:
    """Weights of the sum of all types under a tilt, in ``scratch.weights``.

    Returns
    -------
    start, length : int
        Sums from ``start`` have these many weights.
    left_out : float
        Bound on the sum of all weights that are left out, also of parts of those that are kept.
    roundings : float
        Each weight is within this many roundings of the sum of the terms that are kept.
    total : float
        Sum of the weights.
    """
    weights, product, window = scratch.weights, scratch.product, scratch.window
    weights[0] = 1.0
    start, length, left_out, roundings, total = 0, 1, 0.0, 2.0, 1.0
    for number in range(people.size):
        if people[number] == 0:
            continue
        first, n_window, tail, steps = binomial_window(people[number], odds[number] * tilt, _FLOOR, window)
        if length + n_window - 1 > product.size:
            return 0, 1, math.inf, roundings, total
        if length < n_window:
            _convolve(weights, length, window, n_window, product)
        else:
            _convolve(window, n_window, weights, length, product)
        of_window = sum_in_order(window, n_window)
        left_out = (left_out * (of_window + tail) + total * tail) * INFLATE
        roundings += STEP_ROUNDINGS * steps + min(length, n_window) + 1.0
        cut_places, length, cut, scale = keep_middle(product, length + n_window - 1, _FLOOR, weights)
        start += first + cut_places
        left_out = (left_out + cut * INFLATE) * scale
        total = sum_in_order(weights, length)
    return start, length, left_out, roundings, total


@lean_jit
def split_masses(
    first: Floats, first_start: int, second: Floats, second_start: int, total: int, low: int, high: int
) -> tuple[float, float]:
    """Mass of the first sum outside [low, high], and all mass, given the total of both sums."""
    unsafe, whole = 0.0, 0.0
    for place in range(first.size):
        value = first_start + place
        second_place = total - value - second_start
        if 0 <= second_place < second.size:
            mass = first[place] * second[second_place]
            whole += mass
            if value < low or value > high:
                unsafe += mass
    return unsafe, whole
