"""Independent cells: safe intervals, decisions, and the stop at the first breach, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.suppression.cells import safe_intervals, suppress_cells
from engine.suppression.rates import Rates
from engine.suppression.suppressed import share_delta
from engine.suppression.unsafe import limit_below, unsafe_probability_bounds
from tests.engine.suppression.examples import rates_of
from tests.golden import golden

GOLDEN = golden("tables")
HALF = Fraction(1, 2)
TINY = Fraction(1, 10**30)


@pytest.mark.jit_off
@pytest.mark.parametrize("case", GOLDEN["one_cell"])
def test_a_cell_has_the_golden_interval_and_chance(case: dict[str, Any]) -> None:
    rates = rates_of(Fraction(case["p"]))
    low, high = safe_intervals([case["b"]], rates, Fraction(case["epsilon"]))
    if case["safe"] is None:
        assert low[0] > high[0]
    else:
        assert [low[0], high[0]] == case["safe"]
    lower, upper = unsafe_probability_bounds([case["b"]], rates, low, high)
    assert lower[0] == pytest.approx(case["unsafe_probability"], rel=1e-12)
    assert upper[0] == pytest.approx(case["unsafe_probability"], rel=1e-12)
    assert lower[0] <= upper[0]


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(Fraction(0), Fraction(1, 2)), (Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(0))],
)
def test_a_promise_of_nothing_is_refused(epsilon: Fraction, delta: Fraction) -> None:
    with pytest.raises(ParameterError, match="above 0 and below 1"):
        suppress_cells([5], rates_of(Fraction(1, 2)), [2], epsilon=epsilon, decision_delta=delta)


@pytest.mark.jit_off
def test_the_first_breach_stops_the_table() -> None:
    rates = rates_of(*[Fraction(1, 2)] * 3)
    decided = suppress_cells(
        [100, 100, 100], rates, [50, 0, 50], epsilon=Fraction(1, 2), decision_delta=Fraction(1, 1000)
    )
    assert decided.released.tolist() == [True, True, False]
    assert decided.breach == 1


def test_a_posterior_on_the_edge_is_safe_and_its_likelihood_ratio_is_golden() -> None:
    case = GOLDEN["definitions"]
    prior, epsilon = Fraction(case["prior"]), Fraction(case["epsilon_semantic"])
    posterior = Fraction(case["posterior"])
    _, high = safe_intervals([4], rates_of(prior), epsilon)
    assert Fraction(int(high[0]), 4) == posterior
    ratio = posterior / (1 - posterior) / (prior / (1 - prior))
    assert ratio == Fraction(case["likelihood_ratio"]) == 1 + 2 * epsilon / (1 - epsilon)


def test_a_cell_without_people_is_released_and_a_zero_among_people_is_never_safe() -> None:
    rates = rates_of(*[Fraction(1, 1000)] * 2)
    low, high = safe_intervals([0, 10**6], rates, Fraction(999, 1000))
    assert (low[0], high[0]) == (0, 0)
    assert low[1] > 0
    decided = suppress_cells([0], rates_of(HALF), [0], epsilon=HALF, decision_delta=TINY)
    assert decided.released.tolist() == [True]


def test_intervals_of_the_largest_cells_with_the_longest_fractions_do_not_overflow() -> None:
    people, rate, epsilon = 10**8, Fraction(2**31 - 3, 2**31 - 1), Fraction(2**31 - 2, 2**31 - 1)
    low, high = safe_intervals([people, people], rates_of(rate, 1 - rate), epsilon)
    for at, p in enumerate((rate, 1 - rate)):
        no = 1 - p
        least = max(people * p * (1 - epsilon), people - people * no * (1 + epsilon))
        most = min(people * p * (1 + epsilon), people - people * no * (1 - epsilon))
        assert (low[at], high[at]) == (math.ceil(least), math.floor(most))


@pytest.mark.parametrize(
    ("numerator", "denominator", "words"),
    [
        ([0], [2], "the rate of cell 0 is 0/2"),
        ([1, 2], [2, 2], "the rate of cell 1 is 2/2"),
        ([1], [2**31], "allowed are 0 to 2147483647"),
        ([1], [2, 2], "1 numerators and 2 denominators"),
        ([-1], [2], "allowed are 0"),
    ],
)
def test_rates_outside_0_to_1_are_refused(numerator: list[int], denominator: list[int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Rates(numerator=np.array(numerator), denominator=np.array(denominator))


def test_input_that_makes_no_table_is_refused_in_one_line_without_values() -> None:
    half = rates_of(HALF, HALF)
    for people, values, epsilon, delta, words in (
        ([10, 10], [5, 11], HALF, HALF, "the value of cell 1 exceeds its 10 people"),
        ([10], [5, 5], HALF, HALF, "1 values of people for 2 rates"),
        ([10, 10], [5], HALF, HALF, "1 values for 2 cells"),
        ([10, 10**8 + 1], [5, 5], HALF, HALF, "allowed are 0 to 100000000"),
        ([10, 10], [5, 5], Fraction(1, 10**10), HALF, "give at most 9 decimals"),
        ([10, 10], [5, 5], HALF, Fraction(1), "delta of a decision = 1: give a number above 0 and below 1"),
    ):
        with pytest.raises(ParameterError, match=words) as caught:
            suppress_cells(people, half, values, epsilon=epsilon, decision_delta=delta)
        assert "\n" not in str(caught.value)
        assert "11" not in str(caught.value)


def test_the_shares_of_all_decisions_add_up_to_delta() -> None:
    delta = Fraction("0.1")
    for n_decisions in (1, 3, 7, 101):
        share = share_delta(delta, n_decisions)
        assert sum([share] * n_decisions) == delta
        assert Fraction(limit_below(share)) * n_decisions <= delta


def test_the_pattern_depends_on_released_values_only() -> None:
    rates = rates_of(HALF, Fraction(1, 50), HALF)
    patterns = {
        tuple(
            suppress_cells(
                [200, 40, 200], rates, [100, value, 100], epsilon=HALF, decision_delta=Fraction(1, 100)
            ).released.tolist()
        )
        for value in range(41)
    }
    assert patterns == {(True, False, True)}
