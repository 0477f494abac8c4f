"""The ordinary suppressor and the rule check equal brute force on tiny tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression.attack.consistent import fill_in, list_consistent
from engine.suppression.attack.ordinary import Layout, OrdinarySuppressor, Rule, follows_from_totals
from engine.suppression.attack.rule_check import agrees_with_rule, patterns_of, stars_of
from engine.suppression.tables_given import SUPPRESSED, GivenTable
from tests.engine.suppression.given_tables import with_totals
from tests.oracles import ordinary_suppressor as oracle

pytestmark = pytest.mark.jit_off


tables = st.sampled_from([(2, 2, 4), (2, 3, 3), (3, 2, 3), (3, 3, 1)]).flatmap(
    lambda shape: st.tuples(*[st.tuples(*[st.integers(0, shape[2])] * shape[1])] * shape[0])
)


@given(tables, st.integers(0, 1), st.integers(0, 1), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_attack_equals_brute_force(table: oracle.Table, low: int, width: int, first_only: bool) -> None:
    rule = Rule(low=low, high=low + width, ties="first" if first_only else "any")
    stars, agreeing, left = oracle.attack(table, rule.low, rule.high, first_only=first_only)
    values = with_totals(table)
    n_rows, n_columns = len(table), len(table[0])
    layout = Layout(n_rows + 1, n_columns + 1, total_row=True, total_column=True)
    suppressor = OrdinarySuppressor(layout, rule)
    suppressed = suppressor.suppress(values)
    assert {row * n_columns + column for row, column in np.argwhere(suppressed).tolist()} == stars
    given_table = GivenTable(values=np.where(suppressed, SUPPRESSED, values))
    sums = given_table.sums()
    listed = list_consistent(sums)
    whole = fill_in(given_table.values, sums, listed)[:, :-1, :-1]
    assert [tuple(map(tuple, each)) for each in whole.tolist()] == agreeing
    agrees = agrees_with_rule(listed, stars_of(given_table, sums), suppressor)
    assert [tuple(map(tuple, each)) for each in whole[agrees].tolist()] == left


@given(st.sets(st.integers(0, 8)))
@settings(max_examples=60, deadline=None)
def test_cells_on_no_cycle_follow_from_the_totals(pattern: set[int]) -> None:
    layout = Layout(4, 4, total_row=True, total_column=True)
    placed = frozenset(cell // 3 * 4 + cell % 3 for cell in pattern)
    expected = {cell // 3 * 4 + cell % 3 for cell in pattern if oracle.is_given_away(3, 3, pattern, cell)}
    assert follows_from_totals(layout, placed) == expected


@pytest.mark.parametrize("n_stars", [1, 8, 9, 64, 65, 130])
def test_sets_of_primary_cells_are_those_of_the_tables(n_stars: int) -> None:
    values = np.random.default_rng(n_stars).integers(0, 3, (40, n_stars))
    values = np.repeat(values, 2, axis=0)
    found = patterns_of(values, Rule(low=1, high=1))
    np.testing.assert_array_equal(found.primary[found.which], values == 1)
    assert len(np.unique(found.primary, axis=0)) == len(found.primary)
    np.testing.assert_array_equal(np.bincount(found.which), found.n_tables)


def test_without_totals_every_cell_is_protected_alone() -> None:
    suppressor = OrdinarySuppressor(Layout(2, 2, total_row=False, total_column=False), Rule())
    values = np.array([[3, 90], [80, 70]])
    assert suppressor.suppress(values).tolist() == [[True, False], [False, False]]


def test_with_totals_of_columns_alone_a_second_cell_of_the_column_is_enough() -> None:
    suppressor = OrdinarySuppressor(Layout(4, 2, total_row=True, total_column=False), Rule())
    values = np.array([[3, 90], [80, 70], [10, 10], [93, 170]])
    assert np.argwhere(suppressor.suppress(values)).tolist() == [[0, 0], [1, 0]]


def test_totals_are_suppressed_only_where_stars_may_be_in_totals() -> None:
    values = with_totals(((3, 90), (80, 70)))
    layout = Layout(3, 3, total_row=True, total_column=True, stars_in_totals=True)
    assert set(layout.cells()) == set(range(9))
    table = GivenTable(values=np.where(values == 93, SUPPRESSED, values))
    assert Layout.of(table).stars_in_totals
    assert not Layout.of(GivenTable(values=values)).stars_in_totals


def test_no_complementary_cells() -> None:
    rule = Rule(low=1, high=5, complementary="none")
    suppressor = OrdinarySuppressor(Layout(3, 3, total_row=True, total_column=True), rule)
    values = with_totals(((3, 90), (80, 0)))
    assert np.argwhere(suppressor.suppress(values)).tolist() == [[0, 0]]


def test_a_row_of_one_cell_cannot_be_protected() -> None:
    suppressor = OrdinarySuppressor(Layout(2, 2, total_row=True, total_column=True), Rule())
    with pytest.raises(ParameterError, match="single cell"):
        suppressor.suppress(np.array([[3, 3], [3, 3]]))


def test_a_search_that_would_take_too_long_is_refused() -> None:
    values = with_totals(np.where(np.eye(9) > 0, 3, 50))
    suppressor = OrdinarySuppressor(Layout(10, 10, total_row=True, total_column=True), Rule())
    with pytest.raises(OverflowRefusedError, match="patterns would have to be tried"):
        suppressor.suppress(values)


@pytest.mark.parametrize(("low", "high"), [(-1, 5), (4, 3)])
def test_an_impossible_rule_is_refused(low: int, high: int) -> None:
    with pytest.raises(ParameterError, match=r"LOW\.\.HIGH"):
        Rule(low=low, high=high)
