"""Independent cells: safe intervals, decisions, and the stop at the first breach, against exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from engine.errors import ParameterError
from engine.suppression.cells import safe_intervals, suppress_cells
from engine.suppression.unsafe import unsafe_probability_bounds
from tests.engine.suppression.examples import rates_of
from tests.golden import golden

GOLDEN = golden("tables")


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
