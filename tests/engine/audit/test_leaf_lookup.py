"""Lookup in a tree's leaves against a plain count, with ties and with negative counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from engine.audit.criteria import SplitRule
from engine.audit.decomposition import Decomposition, Tree
from engine.audit.lookup import lookup_in_leaf
from engine.audit.syntactic_tree import syntactic_tree
from tests.engine.audit.tables import Table, tables


@pytest.mark.jit_off
@given(tables())
def test_the_most_frequent_value_of_the_leaf_is_predicted(table: Table) -> None:
    tree = syntactic_tree(table.codes, table.sensitive, table.sizes, table.n_values, SplitRule(k=3))
    found = lookup_in_leaf(tree)
    everyone = table.sensitive.tolist()
    for leaf, value, belief in zip(tree.leaf_of, found.value, found.belief, strict=True):
        inside = table.sensitive[tree.leaf_of == leaf].tolist()
        wanted = max(range(table.n_values), key=lambda v: (inside.count(v), everyone.count(v), -v))
        assert value == wanted
        assert belief == pytest.approx(float(Fraction(inside.count(wanted), len(inside))))


@pytest.mark.jit_off
def test_leaves_without_a_count_above_zero_give_the_prior() -> None:
    boxes = Decomposition.of_histogram([[0], [1]], [[0], [1]], [[-2, -1, 0], [0, 3, 1]], [2])
    found = lookup_in_leaf(Tree(boxes, np.array([0, 1])))
    assert found.value.tolist() == [1, 1]
    assert found.belief.tolist() == [0.75, 0.75]
    nobody = Tree(Decomposition.of_histogram([[0]], [[1]], [[-2, 0]], [2]), np.array([0]))
    assert (lookup_in_leaf(nobody).value.tolist(), lookup_in_leaf(nobody).belief.tolist()) == ([0], [0.5])
