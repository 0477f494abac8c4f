"""Figure 1 of Nabar and Mishra, to the number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from engine.suppression.attack.consistent import fill_in, list_consistent
from engine.suppression.attack.ordinary import Layout, OrdinarySuppressor, Rule
from engine.suppression.attack.rule_check import Outcome, agrees_with_rule, outcomes, stars_of
from engine.suppression.tables_given import SUPPRESSED, GivenTable

pytestmark = pytest.mark.jit_off

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "tables.json").read_text())["figure1"]
ALL_STARRED = GivenTable(
    values=np.array([[SUPPRESSED] * 3 + [110], [SUPPRESSED] * 3 + [105], [55, 105, 55, 215]], dtype=np.int64)
)


def attacked(table: GivenTable) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All tables with the published totals, and those that get six stars."""
    sums = table.sums()
    values = list_consistent(sums)
    suppressor = OrdinarySuppressor(Layout.of(table), Rule(low=0, high=5))
    agrees = agrees_with_rule(values, stars_of(table, sums), suppressor)
    whole = fill_in(table.values, sums, values)[:, :2, :3]
    return whole, whole[agrees]


def test_every_table_has_the_published_totals_and_is_listed_once() -> None:
    tables, _ = attacked(ALL_STARRED)
    assert tables.shape == (GOLDEN["tables"], 2, 3) == (56**2 - 15, 2, 3)
    assert tables.min() >= 0
    np.testing.assert_array_equal(tables.sum(axis=2), np.broadcast_to(GOLDEN["rows"], (3121, 2)))
    np.testing.assert_array_equal(tables.sum(axis=1), np.broadcast_to(GOLDEN["cols"], (3121, 3)))
    assert len(np.unique(tables, axis=0)) == 3121


def test_the_rule_leaves_two_sets_of_small_cells_with_21_tables_each() -> None:
    _, left = attacked(ALL_STARRED)
    assert len(left) == GOLDEN["tables_hiding_all_six"]
    patterns, counts = np.unique(left.reshape(-1, 6) <= 5, axis=0, return_counts=True)
    cells = {
        ",".join(map(str, np.flatnonzero(row) + 1)): int(n) for row, n in zip(patterns, counts, strict=True)
    }
    assert cells == GOLDEN["primary_patterns_hiding_all_six"] == {"1,3,5": 21, "2,4,6": 21}


def test_the_other_tables_get_no_star_or_four() -> None:
    sums = ALL_STARRED.sums()
    suppressor = OrdinarySuppressor(Layout.of(ALL_STARRED), Rule(low=0, high=5))
    found = outcomes(list_consistent(sums), stars_of(ALL_STARRED, sums), suppressor)
    assert found == [Outcome(n_tables=1936, n_stars=0), Outcome(n_tables=1143, n_stars=4)]


def test_six_are_left_if_the_brown_haired_who_are_not_blue_eyed_are_100() -> None:
    _, left = attacked(ALL_STARRED.add_known_range(1, 1, 100, 100))
    assert len(left) == GOLDEN["left_if_100_people_brown_not_blue"]


def test_eight_stars_can_give_every_cell_away() -> None:
    """A smaller version of the example in docs/attack.md, with 0 and 1 as small values."""
    values = np.full((3, 5), SUPPRESSED, dtype=np.int64)
    values[:, 4], values[2] = [31, 24, 55], [13, 14, 15, 13, 55]
    table = GivenTable(values=values)
    sums = table.sums()
    listed = list_consistent(sums)
    suppressor = OrdinarySuppressor(Layout.of(table), Rule(low=0, high=1))
    assert len(listed) == 1968
    left = listed[agrees_with_rule(listed, stars_of(table, sums), suppressor)]
    assert left.tolist() == [[1, 14, 15, 1, 12, 0, 0, 12]]


def test_that_100_people_are_in_the_cell_settles_nothing_alone() -> None:
    """The paper says that it does ("it is clear that they must all possess the gene")."""
    _, left = attacked(ALL_STARRED.add_known_range(1, 1, 0, 100))
    assert len(left) == 27
    assert sorted(set(left[:, 1, 1].tolist())) == [0, 1, 2, 3, 4, 5, 100]
