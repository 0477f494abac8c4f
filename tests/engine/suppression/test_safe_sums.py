"""Bounds of unsafe sums are never too small, also at the ends of what is possible."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from engine.suppression.cells import safe_interval, safe_intervals
from engine.suppression.poisson_binomial import Types, exact_weights, posterior
from engine.suppression.rates import Rates
from engine.suppression.safe_sums import (
    _bounded_interval,
    _bounded_unsafe,
    _lower_limit,
    _round_down,
    _round_up,
    _upper_limit,
    safe_sums,
    unsafe_sum_bound,
)

pytestmark = pytest.mark.jit_off

NOBODY = Types((), ())


def random_types(draw: random.Random, most_types: int) -> Types:
    return Types.of(
        (draw.choice([1, 2, 5]), Fraction(draw.randint(1, 96), 97))
        for _ in range(draw.randint(1, most_types))
    )


def enumerated(asked: Types, beside: Types, total: int | None, low: int, high: int) -> Fraction:
    """The chance of a sum outside [low, high], from the two laws."""
    first, second = exact_weights(asked), exact_weights(beside)
    mass = {
        value: weight * (1 if total is None else second[total - value])
        for value, weight in enumerate(first)
        if total is None or 0 <= total - value < len(second)
    }
    return Fraction(
        sum(weight for value, weight in mass.items() if not low <= value <= high), sum(mass.values())
    )


def test_unsafe_sums_equal_enumeration_and_bounds_lie_above_it() -> None:
    draw = random.Random(15)
    for _ in range(60):
        asked, beside = random_types(draw, 3), random_types(draw, 3)
        total = draw.choice([None, draw.randint(0, asked.everyone + beside.everyone)])
        low = draw.randint(-3, asked.everyone + 1)
        high = draw.randint(low, asked.everyone + 2)
        expected = enumerated(asked, beside, total, low, high)
        assert unsafe_sum_bound(asked, beside, total, (low, high)) == expected
        if total is None or 0 < total < asked.everyone + beside.everyone:
            bound = _bounded_unsafe(asked, beside if total is not None else NOBODY, total, (low, high))
            assert expected <= Fraction(bound) <= expected * (1 + Fraction(1, 10**6)) + Fraction(1, 10**15)


def test_a_known_sum_of_nobody_or_everybody_leaves_no_doubt() -> None:
    """Also where bounds decide: a sum of 0 or of all people has no tilt."""
    asked = Types.of([(60, Fraction(1, 3)), (10, Fraction(1, 5))])
    beside = Types.of([(40, Fraction(1, 2))])
    assert unsafe_sum_bound(asked, beside, 0, (0, 5)) == 0
    assert unsafe_sum_bound(asked, beside, 0, (1, 5)) == 1
    assert unsafe_sum_bound(asked, beside, 110, (60, 70)) == 0
    assert unsafe_sum_bound(asked, beside, 110, (60, 69)) == 1


def test_safe_sums_are_those_that_move_no_belief_and_bounds_never_add_one() -> None:
    draw = random.Random(16)
    n_compared = 0
    while n_compared < 25:
        types, epsilon = random_types(draw, 4), Fraction(draw.randint(5, 95), 100)
        if len(types.people) < 2:
            continue
        n_compared += 1
        safe = [total for total in range(types.everyone + 1) if is_safe(types, total, epsilon)]
        low, high = safe_sums(types, epsilon)
        assert list(range(low, high + 1)) == safe
        low, high = _bounded_interval(types, epsilon)
        assert set(range(low, high + 1)) <= set(safe)


def is_safe(types: Types, total: int, epsilon: Fraction) -> bool:
    """Definition 1, for every person and both values."""
    return all(
        abs(1 - found / rate) <= epsilon and abs(1 - (1 - found) / (1 - rate)) <= epsilon
        for number, rate in enumerate(types.rates)
        for found in [posterior(types, number, total)]
    )


def test_limits_are_where_a_belief_has_moved_by_epsilon() -> None:
    """At the limits, the posterior of one or of zero is off by exactly epsilon, and neither by more."""
    draw = random.Random(3)
    for _ in range(200):
        rate, epsilon = Fraction(draw.randint(1, 96), 97), Fraction(draw.randint(1, 99), 100)
        for r in (_lower_limit(rate, epsilon), _upper_limit(rate, epsilon)):
            one = rate * r / (rate * r + 1 - rate)
            moved = abs(one / rate - 1), abs((1 - one) / (1 - rate) - 1)
            assert max(moved) == epsilon


def test_the_nearest_float_on_one_side_decides_as_the_number_does() -> None:
    draw = random.Random(4)
    for _ in range(300):
        number = Fraction(draw.randint(1, 10**20), draw.randint(1, 10**18))
        down, up = _round_down(number), _round_up(number)
        assert down <= number <= up
        assert math.nextafter(down, math.inf) > number
        assert math.nextafter(up, -math.inf) < number
    assert _round_down(Fraction(1, 4)) == _round_up(Fraction(1, 4)) == 0.25


def test_the_interval_of_one_cell_is_that_of_many_at_once() -> None:
    draw = random.Random(5)
    for _ in range(300):
        people, rate = draw.randint(0, 10**8), Fraction(draw.randint(1, 2**31 - 3), 2**31 - 2)
        epsilon = Fraction(draw.randint(1, 99), 100)
        rates = Rates(numerator=np.array([rate.numerator]), denominator=np.array([rate.denominator]))
        low, high = safe_intervals(np.array([people]), rates, epsilon)
        assert safe_interval(people, rate, epsilon) == (low[0], high[0])


def test_types_together_are_those_of_all_their_people() -> None:
    draw = random.Random(6)
    for _ in range(100):
        one, other = random_types(draw, 5), random_types(draw, 5)
        pairs = [*zip(*one, strict=True), *zip(*other, strict=True)]
        assert one.join(other) == Types.of(pairs) == other.join(one)
    assert one.join(NOBODY) == one == NOBODY.join(one)
