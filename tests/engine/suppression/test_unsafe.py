"""Bounds of the chance of an unsafe value, and decisions by them, against whole-number arithmetic."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from engine.suppression.cells import releasable, safe_intervals
from engine.suppression.kernels import unsafe as kernels
from engine.suppression.unsafe import (
    are_rarely_unsafe,
    exact_unsafe_probability,
    is_rarely_unsafe,
    limit_below,
    unsafe_probability_bounds,
)
from tests.engine.examples import examples
from tests.engine.suppression.examples import Cells, plain_interval, plain_unsafe, random_cells, rates_of
from tests.oracles.suppression_kernels import unsafe_bounds

TINY = Fraction(1, 10**18)


def bounds(people: int, rate: Fraction, low: int, high: int) -> tuple[Fraction, Fraction]:
    lower, upper = unsafe_probability_bounds([people], rates_of(rate), np.array([low]), np.array([high]))
    return Fraction(float(lower[0])), Fraction(float(upper[0]))


def decisions(cells: Cells, low: list[int], high: list[int], limits: list[Fraction]) -> list[bool]:
    return [
        is_rarely_unsafe(b, (p.numerator, p.denominator - p.numerator), (lo, hi), q, limit_below(q))
        for b, p, lo, hi, q in zip(cells.people, cells.rates, low, high, limits, strict=True)
    ]


def test_intervals_and_chances_of_small_cells_are_those_of_the_definition() -> None:
    cells = random_cells(1000, most_people=40, seed=1)
    for epsilon in (Fraction(1, 2), Fraction(1, 5), Fraction(9, 10), Fraction(123456789, 10**9)):
        low, high = safe_intervals(cells.people, rates_of(*cells.rates), epsilon)
        for b, p, lo, hi in zip(cells.people, cells.rates, low.tolist(), high.tolist(), strict=True):
            safe = plain_interval(b, p, epsilon)
            assert list(range(lo, hi + 1)) == safe
            assert exact_unsafe_probability(b, p, lo, hi) == plain_unsafe(b, p, safe)


@pytest.mark.parametrize("factor", [1 - TINY, Fraction(1), 1 + TINY, Fraction(99, 100), Fraction(101, 100)])
def test_decisions_on_small_cells_are_exact_also_where_the_chance_is_the_limit(factor: Fraction) -> None:
    cells = random_cells(1500, most_people=40, seed=2)
    intervals = [plain_interval(b, p, Fraction(1, 2)) for b, p in zip(cells.people, cells.rates, strict=True)]
    low = [safe[0] if safe else 1 for safe in intervals]
    high = [safe[-1] if safe else 0 for safe in intervals]
    chances = [
        plain_unsafe(b, p, safe) for b, p, safe in zip(cells.people, cells.rates, intervals, strict=True)
    ]
    limits = [chance * factor if 0 < chance * factor < 1 else Fraction(1, 3) for chance in chances]
    wanted = [chance <= limit for chance, limit in zip(chances, limits, strict=True)]
    assert len(set(wanted)) == 2
    assert decisions(cells, low, high, limits) == wanted


def test_bounds_enclose_the_exact_chance_and_are_tight() -> None:
    cells = random_cells(400, most_people=400, seed=3)
    for b, p in zip(cells.people, cells.rates, strict=True):
        low, high = math.floor(b * p * Fraction(2, 3)), math.ceil(b * p * Fraction(4, 3))
        exact = exact_unsafe_probability(b, p, low, high)
        lower, upper = bounds(b, p, low, high)
        assert lower <= exact <= upper
        assert upper - lower <= exact / 10**11 + Fraction(1, 10**170)


@pytest.mark.jit_off
@pytest.mark.parametrize("rate", [Fraction(1, 2**31 - 1), Fraction(2**31 - 2, 2**31 - 1)])
@pytest.mark.parametrize("people", [1, 7, 300])
def test_bounds_hold_for_rates_next_to_0_and_1(rate: Fraction, people: int) -> None:
    for low, high in ((0, 0), (0, people - 1), (1, people), (people, people), (1, people - 1)):
        exact = exact_unsafe_probability(people, rate, low, high)
        lower, upper = bounds(people, rate, low, high)
        assert lower <= exact <= upper


def test_chances_below_the_smallest_float_are_bounded_from_above() -> None:
    low, high = 1, 5999
    exact = exact_unsafe_probability(6000, Fraction(1, 2), low, high)
    assert exact < Fraction(1, 2**1074)
    lower, upper = bounds(6000, Fraction(1, 2), low, high)
    assert lower <= exact <= upper < Fraction(1, 10**170)


def test_a_limit_below_the_smallest_float_is_still_compared_exactly() -> None:
    chance = exact_unsafe_probability(2000, Fraction(1, 2), 1, 1999)
    for limit, wanted in ((chance, True), (chance * (1 - TINY), False)):
        assert is_rarely_unsafe(2000, (1, 1), (1, 1999), limit, limit_below(limit)) is wanted


def test_a_real_cell_is_decided_as_whole_numbers_decide_it() -> None:
    people, rate = 50_000, Fraction(2, 5)
    low, high = 19_500, 20_500
    exact = exact_unsafe_probability(people, rate, low, high)
    lower, upper = bounds(people, rate, low, high)
    assert lower <= exact <= upper
    assert upper - lower < exact / 10**10
    limits = [exact * (1 - Fraction(1, 10**9)), exact, exact * (1 + Fraction(1, 10**9))]
    found = [is_rarely_unsafe(people, (2, 3), (low, high), limit, limit_below(limit)) for limit in limits]
    assert found == [False, True, True]


def test_a_close_call_on_a_large_cell_is_suppressed() -> None:
    people, rate = 10**6, Fraction(1, 2)
    lower, upper = bounds(people, rate, 498_000, 502_000)
    middle = (lower + upper) / 2
    assert not is_rarely_unsafe(people, (1, 1), (498_000, 502_000), middle, limit_below(middle))
    assert is_rarely_unsafe(people, (1, 1), (498_000, 502_000), 2 * upper, limit_below(2 * upper))


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 10**4), Fraction(9_999, 10**4)])
def test_the_largest_cells_have_tight_bounds_symmetric_in_yes_and_no(rate: Fraction) -> None:
    people = 10**8
    low, high = (int(end[0]) for end in safe_intervals([people], rates_of(rate), Fraction(1, 5)))
    lower, upper = bounds(people, rate, low, high)
    mirrored = bounds(people, 1 - rate, people - high, people - low)
    assert lower <= mirrored[1]
    assert mirrored[0] <= upper
    assert upper < Fraction(1, 10**3)
    # An interval of two standard deviations either way, so that the chance is of a usual size.
    middle, width = round(people * rate), round(2 * math.sqrt(people * rate * (1 - rate)))
    lower, upper = bounds(people, rate, middle - width, middle + width)
    assert Fraction(1, 50) < lower <= upper < Fraction(1, 15)
    assert upper - lower < upper / 10**9


def test_decisions_do_not_depend_on_threads() -> None:
    cells = random_cells(2000, most_people=3000, seed=4)
    rates, epsilon = rates_of(*cells.rates), Fraction(1, 2)
    few = releasable(cells.people, rates, epsilon, Fraction(1, 1000))
    many = releasable(cells.people, rates, epsilon, Fraction(1, 1000), threads=3)
    assert 0 < few.sum() < few.size
    assert few.tolist() == many.tolist()


def test_single_cells_and_arrays_are_decided_alike() -> None:
    cells = random_cells(500, most_people=300, seed=5)
    rates, limit = rates_of(*cells.rates), Fraction(1, 50)
    low, high = safe_intervals(cells.people, rates, Fraction(1, 2))
    together = are_rarely_unsafe(np.array(cells.people), rates, low, high, limit, 1)
    assert together.tolist() == decisions(cells, low.tolist(), high.tolist(), [limit] * len(cells.people))


@pytest.mark.jit_off
def test_odds_beyond_the_proof_are_left_to_whole_numbers() -> None:
    odds = (1, 2**200)
    assert is_rarely_unsafe(10, odds, (0, 0), Fraction(1, 2**190), limit_below(Fraction(1, 2**190)))
    assert not is_rarely_unsafe(10, odds, (0, 0), Fraction(1, 2**200), limit_below(Fraction(1, 2**200)))
    assert is_rarely_unsafe(10**8, (1, 0), (10**8, 10**8), Fraction(1, 2), 0.5)
    assert not is_rarely_unsafe(10**8, odds, (0, 0), Fraction(1, 2), 0.5)


def test_the_limit_is_rounded_down() -> None:
    for limit in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(1, 2), Fraction(1, 10**400)):
        below = limit_below(limit)
        assert Fraction(below) <= limit < Fraction(float(np.nextafter(below, 1.0)))


@pytest.mark.jit_off
def test_the_kernel_says_when_the_bounds_leave_a_decision_open() -> None:
    exact = exact_unsafe_probability(30, Fraction(1, 2), 10, 20)
    assert kernels.decide_one(30, 1.0, 1.0, 15, 10, 20, float(exact)) == kernels.OPEN
    assert kernels.decide_one(30, 1.0, 1.0, 15, 10, 20, float(exact) * 1.01) == kernels.RELEASE
    assert kernels.decide_one(30, 1.0, 1.0, 15, 10, 20, float(exact) * 0.99) == kernels.SUPPRESS


@pytest.mark.jit_off
def test_bounds_are_the_twin_s_to_the_last_bit() -> None:
    cells = random_cells(examples(300), most_people=2000, seed=7)
    for b, p in zip(cells.people, cells.rates, strict=True):
        low, high = math.floor(b * p * Fraction(3, 4)), math.ceil(b * p * Fraction(5, 4))
        lower, upper = unsafe_probability_bounds([b], rates_of(p), np.array([low]), np.array([high]))
        assert (lower[0], upper[0]) == unsafe_bounds(b, p, low, high, 2.0**-600)


def test_the_cost_of_a_cell_grows_with_its_standard_deviation() -> None:
    for people in (10**4, 10**6, 10**8):
        cell = kernels.BinomialCell(people, 0.25, 4.0, people // 5, people // 10, people // 3)
        n_steps = kernels._sums_above(cell, kernels.LEAST_NEGLIGIBLE)[3]
        assert n_steps < 40 * math.sqrt(people * 0.2 * 0.8)


def test_no_function_of_a_library_takes_part_in_a_decision() -> None:
    tree = ast.parse(Path(kernels.__file__).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    own = {function.name for function in functions} | {"BinomialCell"}
    called = {
        ast.unparse(node.func)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    }
    assert called - own <= {"max", "min", "np.float64", "range"}
    powers = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Pow)]
    assert powers == []
