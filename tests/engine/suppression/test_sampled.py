"""Algorithm 3: its plan, the law of its draws, how often it releases, and its decisions beside the exact ones.

Each statistical test has a fixed key, so that it always ends the same way; the false-alarm rate of a new key is stated.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.errors import ParameterError
from engine.kernels import chacha
from engine.streams import SecretKey, new_stream
from engine.suppression.cells import suppress_cells
from engine.suppression.kernels import sampled_tables
from engine.suppression.rows import Query
from engine.suppression.sampled import (
    draw_values,
    sampling_plan,
    suppress_cells_sampled,
    suppress_rows_sampled,
)
from engine.suppression.unsafe import exact_unsafe_probability
from tests.engine.suppression.examples import random_cells, rates_of
from tests.golden import golden
from tests.oracles.suppression_kernels import sampled_values

KEY = SecretKey.for_tests()


@pytest.mark.parametrize("case", golden("tables")["algorithm3"])
def test_the_plan_and_the_chance_of_a_release_are_golden(case: dict[str, Any]) -> None:
    q = Fraction(str(case["delta"])) / case["T"]
    samples, most = sampling_plan(q)
    assert samples == case["samples"]
    assert most == math.floor(case["limit"])
    assert stats.binom.cdf(most, samples, float(q)) == pytest.approx(
        case["release_probability_at_delta_over_T"], rel=1e-10
    )


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1), Fraction(1, 10**9)])
def test_a_plan_without_end_is_refused(q: Fraction) -> None:
    with pytest.raises(ParameterError, match="delta"):
        sampling_plan(q)


@pytest.mark.parametrize(
    ("people", "odds"), [(1, (1, 2)), (12, (2, 3)), (40, (1, 1)), (75, (1, 9)), (33, (10**40, 10**40 + 7))]
)
def test_draws_are_binomial(people: int, odds: tuple[int, int]) -> None:
    """Chi-square at a false-alarm rate of 1e-3 each."""
    n = 20_000
    values = draw_values(KEY, Query(people, people, odds, (0, people)), n)
    expected = n * stats.binom.pmf(np.arange(people + 1), people, odds[0] / sum(odds))
    seen = np.bincount(values, minlength=people + 1).astype(float)
    common = expected >= 5
    expected = np.append(expected[common], expected[~common].sum())
    seen = np.append(seen[common], seen[~common].sum())
    statistic = float(((seen - expected)[expected > 0] ** 2 / expected[expected > 0]).sum())
    assert stats.chi2.sf(statistic, int((expected > 0).sum()) - 1) > 1e-3


@pytest.mark.jit_off
@pytest.mark.parametrize("people", [1, 31, 32, 33, 70, 400])
@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(2, 7), Fraction(999, 1000)])
def test_draws_are_the_twin_s(people: int, rate: Fraction) -> None:
    odds = (rate.numerator, rate.denominator - rate.numerator)
    values = draw_values(KEY, Query(people, people, odds, (0, people)), 6)
    assert values.tolist() == sampled_values(people, people, rate, 6)


@pytest.mark.jit_off
def test_a_certain_value_is_drawn_and_nobody_gives_zero() -> None:
    assert set(draw_values(KEY, Query(0, 1000, (5, 0), (0, 0)), 20).tolist()) == {1000}
    assert set(draw_values(KEY, Query(0, 0, (1, 1), (0, 0)), 20).tolist()) == {0}


def test_more_digits_leave_the_draws_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query(3, 4000, (1, 2), (0, 4000))
    wanted = draw_values(KEY, query, 50)
    lengths = []
    original = sampled_tables.draw_counts

    def wanting(*arguments: Any) -> int:
        lengths.append(len(arguments[3]))
        result = original(*arguments)
        return sampled_tables.TOO_FEW_DIGITS if len(arguments[3]) < 16 else result

    monkeypatch.setattr(sampled_tables, "draw_counts", wanting)
    assert draw_values(KEY, query, 50).tolist() == wanted.tolist()
    assert lengths == [4, 8, 16]


@pytest.mark.jit_off
def test_a_count_that_needs_more_digits_says_so() -> None:
    stream, lanes = new_stream(), np.zeros(chacha.LANE_WORDS, np.uint32)
    cell, counts = sampled_tables.SampledCell(0, 10, 0, 10), np.zeros(1, np.int64)
    no_digits = np.zeros(0, np.int64)
    result = sampled_tables.draw_counts(KEY.words, stream, lanes, no_digits, cell, counts)
    assert result == sampled_tables.TOO_FEW_DIGITS


def test_the_share_released_is_that_of_the_binomial_expression() -> None:
    """1,500 like cells whose chance is exactly the limit, each with its own stream: 5 standard deviations."""
    people, rate, safe = 60, Fraction(1, 10), (3, 9)
    chance = exact_unsafe_probability(people, rate, *safe)
    n = 1500
    decided = suppress_cells_sampled(
        np.full(n, people),
        rates_of(*[rate] * n),
        np.full(n, 6),
        epsilon=Fraction(1, 2),
        decision_delta=chance,
        key=KEY,
    )
    samples, most = sampling_plan(chance)
    wanted = float(stats.binom.cdf(most, samples, float(chance)))
    assert abs(decided.released.mean() - wanted) < 5 * math.sqrt(wanted * (1 - wanted) / n)


def test_the_same_cells_are_safe_and_clear_cases_are_decided_alike() -> None:
    """Chances of a tenth of the limit or ten times it: sampling errs with a chance below 1e-3 a cell."""
    cells = random_cells(150, most_people=400, seed=6)
    rates, epsilon, q = rates_of(*cells.rates), Fraction(1, 2), Fraction(1, 50)
    values = np.array([round(b * p) for b, p in zip(cells.people, cells.rates, strict=True)])
    exact = suppress_cells(cells.people, rates, values, epsilon=epsilon, decision_delta=q)
    drawn = suppress_cells_sampled(cells.people, rates, values, epsilon=epsilon, decision_delta=q, key=KEY)
    assert exact.low.tolist() == drawn.low.tolist()
    assert exact.high.tolist() == drawn.high.tolist()
    chances = [
        exact_unsafe_probability(b, p, lo, hi)
        for b, p, lo, hi in zip(
            cells.people, cells.rates, exact.low.tolist(), exact.high.tolist(), strict=True
        )
    ]
    clear = [not q / 20 < chance < 5 * q for chance in chances]
    assert sum(clear) > 50
    assert exact.released[clear].tolist() == drawn.released[clear].tolist()
    assert not np.any(drawn.released & ~exact.released & clear)


def test_the_key_decides_and_a_cell_does_not_depend_on_the_others() -> None:
    rate, people, q = Fraction(1, 10), 60, Fraction(1, 8)
    several = suppress_cells_sampled(
        np.full(40, people),
        rates_of(*[rate] * 40),
        np.full(40, 6),
        epsilon=Fraction(1, 2),
        decision_delta=q,
        key=KEY,
    )
    fewer = suppress_cells_sampled(
        np.full(10, people),
        rates_of(*[rate] * 10),
        np.full(10, 6),
        epsilon=Fraction(1, 2),
        decision_delta=q,
        key=KEY,
    )
    assert 0 < several.released.sum() < 40
    assert several.released[:10].tolist() == fewer.released.tolist()


@pytest.mark.jit_off
def test_rows_are_decided_by_sampling_too() -> None:
    rates = rates_of(Fraction(1, 2), Fraction(3, 10), Fraction(1, 1000))
    decided = suppress_rows_sampled(
        [800],
        [0, 3],
        rates,
        [405, 242, 1],
        epsilon=Fraction(1, 2),
        decision_delta=Fraction(1, 20),
        key=KEY,
    )
    assert decided.released.tolist() == [True, True, False]
    assert decided.breach == -1
