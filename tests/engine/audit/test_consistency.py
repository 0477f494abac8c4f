"""Consistent counts: the golden figures, the normal equations, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.private_tree import least_squares
from engine.errors import ParameterError
from tests.golden import golden
from tests.oracles import audit_least_squares as oracle


@pytest.mark.jit_off
@pytest.mark.parametrize("case", golden("audit")["least_squares"]["cases"])
def test_the_golden_fits(case: dict[str, Any]) -> None:
    found = least_squares(case["parent"], np.array(case["y"])[:, None], case["weights"])
    assert found[:, 0].tolist() == pytest.approx(case["answer"], abs=1e-9)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    """Trees of any shape; inner nodes may have no count of their own."""
    parent = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, draw(st.integers(1, 9))))]
    weights = [
        draw(st.sampled_from([0.5, 1.0, 4.0] if node not in parent else [0.0, 0.5, 1.0, 4.0]))
        for node in range(len(parent))
    ]
    return parent, weights


@pytest.mark.jit_off
@given(trees())
def test_fits_solve_the_normal_equations(tree: tuple[list[int], list[float]]) -> None:
    parent, weights = tree
    counts = np.random.default_rng(len(parent)).normal(10, 5, (len(parent), 2))
    found = least_squares(parent, counts, weights)
    np.testing.assert_allclose(found, oracle.least_squares(parent, counts, weights), atol=1e-9)
    for node in set(parent) - {-1}:
        children = [child for child, above in enumerate(parent) if above == node]
        np.testing.assert_allclose(found[node], found[children].sum(axis=0), atol=1e-9)


def test_bad_trees_are_refused() -> None:
    for said, arguments in {
        "a parent comes after its child": ([1, -1], [[1], [2]], [1, 1]),
        "a leaf has weight 0": ([-1, 0], [[1], [2]], [1, 0]),
        "parent has 2 nodes, weights 1": ([-1, 0], [[1], [2]], [1]),
    }.items():
        with pytest.raises(ParameterError, match=said):
            least_squares(*arguments)
