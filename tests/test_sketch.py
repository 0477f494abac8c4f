"""The normal sketch against the exact law of Figure 3's table, and its stamp."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.sketch import STAMP, Sketch, both_totals, sketch_table
from engine.errors import ParameterError
from tests.golden import golden
from tests.oracles.suppression import Group, Population, given

pytestmark = pytest.mark.jit_off

FIGURE_3 = golden("tables")["figure3"]
PEOPLE = np.array(FIGURE_3["b"], dtype=np.float64).ravel()
RATES = np.tile([float(Fraction(rate)) for rate in FIGURE_3["p_cols"]], 3)
VALUES = np.array(FIGURE_3["value"], dtype=np.float64)
BY_QUERY = np.concatenate((VALUES.sum(axis=1), VALUES.sum(axis=0), VALUES.ravel()))


def test_figure_3_given_its_totals_has_the_mean_and_deviation_of_the_sketch() -> None:
    sketch, queries = Sketch(PEOPLE, RATES), both_totals(3, 3)
    for query, value in zip(queries[:6], BY_QUERY[:6], strict=True):
        sketch.release(query, float(value))
    assert sketch.mean[0] == pytest.approx(89.516, abs=5e-4)
    assert np.sqrt(sketch.covariance[0, 0]) == pytest.approx(3.660, abs=5e-4)


def test_the_sketch_releases_all_cells_of_figure_3_and_says_that_it_certifies_nothing() -> None:
    sketch = Sketch(PEOPLE, RATES)
    found = sketch_table(sketch, np.eye(9), VALUES.ravel(), epsilon=0.5, decision_delta=0.2 / 9)
    assert found.released.all()
    assert found.stamp == STAMP == "approximate: not certified"
    assert sketch.largest_shift() == pytest.approx(9 / 32, abs=1e-9)


def test_after_its_totals_two_cells_of_figure_3_are_suppressed() -> None:
    """The paper prints all of them: its own totals make the second cell unsafe with a chance of 0.029, above 0.0125."""
    found = sketch_table(
        Sketch(PEOPLE, RATES), both_totals(3, 3), BY_QUERY, epsilon=0.5, decision_delta=0.2 / 16
    )
    assert np.flatnonzero(~found.released).tolist() == [7, 8]


def test_the_sketch_is_near_the_exact_law_of_a_small_table() -> None:
    groups = tuple(Group(20, Fraction(rate, 10)) for rate in (5, 4, 3))
    population = Population(groups, (frozenset({0, 1, 2}), frozenset({0}), frozenset({1}), frozenset({2})))
    weights = given(population, [(0, 27)])
    exact = sum(weight * counts[0] for counts, weight in weights.items()) / sum(weights.values())
    sketch = Sketch([20, 20, 20], [0.5, 0.4, 0.3])
    sketch.release(np.ones(3), 27.0)
    assert sketch.mean[0] == pytest.approx(exact, abs=0.05)


def test_a_small_cell_is_suppressed_and_a_known_sum_is_released() -> None:
    found = sketch_table(
        Sketch([4, 900], [0.5, 0.4]),
        np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
        [2, 360, 360],
        epsilon=0.5,
        decision_delta=0.01,
    )
    assert found.released.tolist() == [False, True, True]


def test_an_empty_cell_is_refused() -> None:
    with pytest.raises(ParameterError, match="people in every cell"):
        Sketch([0, 5], [0.5, 0.5])
