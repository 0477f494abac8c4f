"""Which sums over a set of people are safe to know, and how likely an unsafe one is.

A sum is safe if it moves nobody's belief by more than epsilon relative to the prior (Nabar and Mishra, Definition 1).
With r = PB_{-k}(a - 1) / PB_{-k}(a), PB_{-k} the law of the sum without person k, the posterior of k is
p r / (p r + 1 - p). So each person allows r an interval. r rises with the sum a, because the law is log-concave:
safe sums form an interval.

Two people's posteriors compare as their rates do. Where the sum is at least two above the mean, the person of least
rate has the largest posterior relative to the prior, and the person of largest rate the smallest chance of a zero
relative to the prior; below the mean the converse. So the two extreme rates decide, unless the interval ends within
two of the mean; then every type is checked. docs/theory/suppressed-tables.md, "Sums", has the proof.

With one rate the interval has a closed form. Otherwise few people are decided exactly, many by certified bounds: what
bounds leave open counts as unsafe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from engine.suppression.cells import safe_interval
from engine.suppression.kernels import poisson_binomial as kernels
from engine.suppression.poisson_binomial import BoundedLaw, Types, bounded_law, exact_weights

__all__ = ["EXACT_PEOPLE", "NEVER", "safe_split", "safe_sums", "unsafe_sum_bound"]

EXACT_PEOPLE = 64
"""Sums over so many people are decided in exact integers."""

NEVER = (0, -1)
"""The interval without a safe sum."""

_FARTHEST = 100
"""An end lies within a few sums of where the tilted mean says; after so many, no sum counts as safe."""

_DOUBT = 1e-9
"""A mean of exact sums of rounded terms is much nearer to the exact one, as a part of it."""

_SLACK = 1.0 + 1e-14
"""Covers the few roundings between a weight's bounds and a ratio's."""


def _lower_limit(rate: Fraction, epsilon: Fraction) -> Fraction:
    """The smallest r at which a person's belief moves by at most epsilon."""
    numerator, denominator, base = rate.numerator, rate.denominator, epsilon.denominator
    zero, less, more = denominator - numerator, base - epsilon.numerator, base + epsilon.numerator
    of_one = less * zero, base * denominator - numerator * less
    of_zero = base * denominator - zero * more, more * numerator
    return Fraction(*(of_one if of_one[0] * of_zero[1] >= of_zero[0] * of_one[1] else of_zero))


def _upper_limit(rate: Fraction, epsilon: Fraction) -> Fraction:
    """The largest r at which a person's belief moves by at most epsilon."""
    numerator, denominator, base = rate.numerator, rate.denominator, epsilon.denominator
    zero, less, more = denominator - numerator, base - epsilon.numerator, base + epsilon.numerator
    of_zero = base * denominator - zero * less, less * numerator
    of_one = more * zero, base * denominator - numerator * more
    if of_one[1] > 0 and of_one[0] * of_zero[1] <= of_zero[0] * of_one[1]:
        return Fraction(*of_one)
    return Fraction(*of_zero)


def _round_down(number: Fraction) -> float:
    """The largest float that is not above a number: a float is at most the one if it is at most the other."""
    near = number.numerator / number.denominator
    return near if near <= number else math.nextafter(near, -math.inf)


def _round_up(number: Fraction) -> float:
    """The smallest float that is not below a number."""
    return -_round_down(-number)


def safe_sums(types: Types, epsilon: Fraction) -> tuple[int, int]:
    """Interval of safe sums over these people; ``low > high`` if no sum is safe.

    Exact with one rate or few people. Otherwise each end may be further in than the true one, where bounds cannot
    decide; a relative error below 1e-9 makes that rare.
    """
    if not types.people:
        return 0, 0
    if len(types.people) == 1:
        return safe_interval(types.people[0], types.rates[0], epsilon)
    if types.everyone <= EXACT_PEOPLE:
        return _exact_interval(types, epsilon)
    return _bounded_interval(types, epsilon)


def _exact_interval(types: Types, epsilon: Fraction) -> tuple[int, int]:
    low, high = 0, types.everyone
    for number, rate in enumerate(types.rates):
        limits = _lower_limit(rate, epsilon), _upper_limit(rate, epsilon)
        others = exact_weights(types.drop_one_each(number))
        safe = [
            total
            for total in range(low, high + 1)
            if _is_within(
                limits, others[total - 1] if total else 0, others[total] if total < len(others) else 0
            )
        ]
        if not safe:
            return NEVER
        low, high = safe[0], safe[-1]
    return low, high


def _is_within(limits: tuple[Fraction, Fraction], above: int, below: int) -> bool:
    low, high = limits
    return (
        above * low.denominator >= below * low.numerator
        and above * high.denominator <= below * high.numerator
    )


def _bounded_interval(types: Types, epsilon: Fraction) -> tuple[int, int]:
    first, last = 0, len(types.rates) - 1
    high = _last_safe(types, (first, last), epsilon)
    low = _first_safe(types, (first, last), epsilon)
    if _holds_middle(types, low, high):
        return low, high
    for number in range(1, last):
        if low > high:
            return NEVER
        low = max(low, _first_safe(types, (number,), epsilon))
        high = min(high, _last_safe(types, (number,), epsilon))
    return low, high


def _holds_middle(types: Types, low: int, high: int) -> bool:
    """Whether an interval reaches two beyond the mean on both sides, in floats if these leave no doubt."""
    parts = list(zip(types.people, types.rates, strict=True))
    near = math.fsum(people * rate.numerator / rate.denominator for people, rate in parts)
    doubt = _DOUBT * (1.0 + near)
    if low <= math.floor(near - doubt) - 2 and high >= math.ceil(near + doubt) + 2:
        return True
    mean = sum(people * rate for people, rate in parts)
    return low <= math.floor(mean) - 2 and high >= math.ceil(mean) + 2


def _last_safe(types: Types, checked: tuple[int, ...], epsilon: Fraction) -> int:
    """Largest sum at which r is certainly within the upper limits of the checked types."""
    limits = [_upper_limit(types.rates[number], epsilon) for number in checked]
    ratios, middle = _ratios(types, checked, float(min(limits)))
    highest = [_round_down(limit) for limit in limits]

    def is_safe(total: int) -> bool:
        return all(ratio(total)[1] <= limit for ratio, limit in zip(ratios, highest, strict=True))

    return _search(is_safe, middle, 1, types.everyone)


def _first_safe(types: Types, checked: tuple[int, ...], epsilon: Fraction) -> int:
    """Smallest sum at which r is certainly within the lower limits of the checked types."""
    limits = [_lower_limit(types.rates[number], epsilon) for number in checked]
    ratios, middle = _ratios(types, checked, float(max(limits)))
    lowest = [_round_up(limit) for limit in limits]

    def is_safe(total: int) -> bool:
        return all(ratio(total)[0] >= limit for ratio, limit in zip(ratios, lowest, strict=True))

    return _search(is_safe, middle, -1, types.everyone)


def _search(is_safe: Callable[[int], bool], middle: int, outward: int, everyone: int) -> int:
    """The outermost safe sum, from a sum near it; one beyond the range if none is safe."""
    total = min(max(middle, 0), everyone)
    if is_safe(total):
        while 0 <= total + outward <= everyone and is_safe(total + outward):
            total += outward
        return total
    for _ in range(_FARTHEST):
        total -= outward
        if 0 <= total <= everyone and is_safe(total):
            return total
    return -1 if outward > 0 else everyone + 1


_Ratio = Callable[[int], tuple[float, float]]


def _ratios(types: Types, checked: tuple[int, ...], tilt: float) -> tuple[list[_Ratio], int]:
    """Bounds of r as functions of the sum, for one or two types, and a sum at which r is near ``tilt``."""
    law, odds = bounded_law(types.drop_one_each(*checked), tilt), types.odds() * tilt
    others = [
        [float(odds[other_number]) for other_number in checked if other_number != number]
        for number in checked
    ]

    def ratio_for(partner: list[float]) -> _Ratio:
        def weight(total: int) -> tuple[float, float]:
            low, high = law.bounds(total)
            for tilted in partner:
                low_before, high_before = law.bounds(total - 1)
                low, high = low + tilted * low_before, high + tilted * high_before
            return low / _SLACK, high * _SLACK

        def ratio(total: int) -> tuple[float, float]:
            (low, high), (low_before, high_before) = weight(total), weight(total - 1)
            return (
                tilt * low_before / high / _SLACK if high else math.inf,
                tilt * high_before / low * _SLACK if low else math.inf,
            )

        return ratio

    mean, _ = kernels.mean_sum(np.array(types.people, dtype=np.int64), types.odds(), tilt)
    return [ratio_for(partner) for partner in others], round(mean)


def safe_split(asked: Types, others: Types, total: int | None, epsilon: Fraction) -> tuple[int, int]:
    """Interval of sums over ``asked`` that are safe for them, and for the people with whom they have a known sum.

    Parameters
    ----------
    asked, others, total
        As in :func:`unsafe_sum_bound`.
    epsilon : Fraction

    Returns
    -------
    tuple of int
        ``NEVER`` if no sum is safe.
    """
    low, high = safe_sums(asked, epsilon)
    if low > high or total is None:
        return (low, high) if low <= high else NEVER
    least, most = safe_sums(others, epsilon)
    low, high = max(low, total - most), min(high, total - least)
    return (low, high) if least <= most and low <= high else NEVER


def unsafe_sum_bound(
    asked: Types, others: Types, total: int | None, interval: tuple[int, int]
) -> Fraction | float:
    """Upper bound of the chance that the sum over ``asked`` lies outside an interval.

    Parameters
    ----------
    asked : Types
        The people whose sum may be released.
    others : Types
        People with whom they have a known sum; ignored if ``total`` is None.
    total : int or None
        The known sum over both, None if none is known.
    interval : tuple of int
        Safe sums over ``asked``.

    Returns
    -------
    Fraction or float
        Exact for few people.
    """
    low, high = interval
    if low > high:
        return Fraction(1)
    if not asked.people:
        return Fraction(not low <= 0 <= high)
    beside = others if total is not None else Types((), ())
    if not beside.people and total is not None:
        return Fraction(not low <= total <= high)
    everyone = asked.everyone + beside.everyone
    if total is not None and total in (0, everyone):
        return Fraction(not low <= min(total, asked.everyone) <= high)
    if everyone <= EXACT_PEOPLE:
        return _exact_unsafe(asked, beside, total, interval)
    return _bounded_unsafe(asked, beside, total, interval)


def _exact_unsafe(asked: Types, beside: Types, total: int | None, interval: tuple[int, int]) -> Fraction:
    of_asked, of_beside = exact_weights(asked), exact_weights(beside)
    if total is not None:
        of_asked = [
            weight * of_beside[total - value] if 0 <= total - value < len(of_beside) else 0
            for value, weight in enumerate(of_asked)
        ]
    low, high = interval
    unsafe = sum(weight for value, weight in enumerate(of_asked) if not low <= value <= high)
    return Fraction(unsafe, sum(of_asked))


def _bounded_unsafe(asked: Types, beside: Types, total: int | None, interval: tuple[int, int]) -> float:
    if total is None:
        first, second, total = bounded_law(asked, 1.0), _EVERYTHING, 0
        unsafe, whole = _masses_alone(first, interval)
    else:
        both = asked.join(beside)
        tilt = kernels.tilt_for_mean(np.array(both.people, dtype=np.int64), both.odds(), float(total))
        first, second = bounded_law(asked, tilt), bounded_law(beside, tilt)
        unsafe, whole = kernels.split_masses(
            first.weights, first.start, second.weights, second.start, total, *interval
        )
    left_out = first.left_out * second.highest + first.highest * second.left_out
    error = 2.0 * (first.error + second.error) + 4.0 * first.weights.size * 2.0**-53
    lowest = whole * (1.0 - error)
    return (unsafe * (1.0 + error) + left_out) / lowest * _SLACK if lowest > 0.0 else math.inf


_EVERYTHING = BoundedLaw(0, np.ones(1), 0.0, 0.0, 0)


def _masses_alone(law: BoundedLaw, interval: tuple[int, int]) -> tuple[float, float]:
    """Mass outside an interval, and all mass, added up in order."""
    low, high = interval
    value = law.start + np.arange(law.weights.size)
    outside = np.where((value < low) | (value > high), law.weights, 0.0)
    # Unlike np.sum, a running sum adds one number after another on every machine.
    return float(np.cumsum(outside)[-1]), float(np.cumsum(law.weights)[-1])
