"""Budgets of levels: the golden figures, their sum, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.private_tree import LevelBudget, level_epsilon, optimal_epsilon
from engine.errors import ParameterError
from tests.golden import golden


@pytest.mark.parametrize("case", golden("audit")["budgets"]["cases"])
def test_the_golden_budgets(case: dict[str, Any]) -> None:
    height, epsilon = case["h"], case["eps"]
    assert level_epsilon(epsilon, height, "uniform").tolist() == pytest.approx(
        [case["uniform"]] * (height + 1)
    )
    geometric = level_epsilon(epsilon, height, "geometric")
    assert geometric.tolist() == pytest.approx(case["geometric_root_to_leaf"], rel=1e-9)
    assert 1 / geometric[-1] == pytest.approx(case["laplace_scale_leaf"], rel=1e-9)
    assert 2 / geometric[-1] ** 2 == pytest.approx(case["noise_variance_leaf"], rel=1e-9)
    # Equal to the division that is optimal if twice as many boxes are touched at each level.
    assert optimal_epsilon(epsilon, 2.0 ** np.arange(height + 1)).tolist() == pytest.approx(
        geometric.tolist()
    )


@given(
    st.floats(1e-3, 20),
    st.integers(0, 20),
    st.sampled_from(["leaf", "uniform", "geometric", "optimal"]),
    st.integers(1, 6),
)
def test_levels_sum_to_epsilon(epsilon: float, height: int, levels: LevelBudget, n_attributes: int) -> None:
    budget = level_epsilon(epsilon, height, levels, n_attributes)
    assert budget.sum() == pytest.approx(epsilon, rel=1e-12)
    assert budget.size == height + 1
    assert budget[-1] > 0
    assert np.all(np.diff(budget) >= -1e-15)


def test_the_optimal_division_has_the_least_variance() -> None:
    touched = np.array([1.0, 3.0, 5.0, 40.0])
    rng = np.random.default_rng(7)
    best = (touched / optimal_epsilon(2.0, touched) ** 2).sum()
    for other in 2 * rng.dirichlet(np.ones(4), 200):
        assert (touched / other**2).sum() >= best


def test_bad_budgets_are_refused() -> None:
    for said, arguments in {
        "epsilon = 0": (0.0, 2, "leaf", 1),
        "epsilon = nan": (float("nan"), 2, "leaf", 1),
        "height = -1": (1.0, -1, "leaf", 1),
        "n_attributes = 0": (1.0, 1, "optimal", 0),
        "levels = 'best': give one of leaf": (1.0, 1, "best", 1),
    }.items():
        with pytest.raises(ParameterError, match=said):
            level_epsilon(*arguments)  # type: ignore[arg-type]  # some are wrong on purpose
    with pytest.raises(ParameterError, match="a level that no query touches"):
        optimal_epsilon(1.0, [1, 0])
