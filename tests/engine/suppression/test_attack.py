"""Ranges by listing and by programming are the same, and the rule never excludes the real table."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression.attack.attack import attack_table
from engine.suppression.attack.consistent import list_consistent
from engine.suppression.attack.narrowing import narrow, narrow_ranges
from engine.suppression.attack.ordinary import Rule
from engine.suppression.attack.ranges import exact_ranges
from engine.suppression.tables_given import LARGEST, SUPPRESSED, ContradictionError, GivenTable
from tests.engine.suppression.given_tables import ordinary, random_tables, starred, with_totals

pytestmark = pytest.mark.jit_off

S = SUPPRESSED


def under(values: np.ndarray[tuple[int, int], np.dtype[np.int64]], table: GivenTable) -> list[int]:
    found: list[int] = values[table.suppressed].tolist()
    return found


@pytest.mark.parametrize("stars_in_totals", [False, True])
def test_certified_ranges_equal_those_of_all_tables(stars_in_totals: bool) -> None:
    n_compared = 0
    for values, table in random_tables(40, stars_in_totals=stars_in_totals):
        sums = table.sums()
        narrowed = narrow(table, sums)
        ranges = exact_ranges(table, sums, narrowed.low, narrowed.high, seconds=60)
        assert ranges.certified.all()
        pairs = zip(under(values, table), ranges.low, ranges.high, strict=True)
        assert all(low <= value and (high is None or value <= high) for value, low, high in pairs)
        try:
            listed = list_consistent(narrow_ranges(sums, narrowed.low, narrowed.high), limit=500_000)
        except OverflowRefusedError:
            continue
        n_compared += 1
        assert ranges.low == listed.min(axis=0).tolist()
        assert ranges.high == listed.max(axis=0).tolist()
        # Ranges of one row or column at a time are never too narrow.
        assert (listed >= narrowed.low).all()
    assert n_compared > 15


def test_listing_does_not_need_narrowed_ranges() -> None:
    _, table = random_tables(1, stars_in_totals=False)[0]
    sums = table.sums()
    narrowed = narrow(table, sums)
    np.testing.assert_array_equal(
        list_consistent(sums), list_consistent(narrow_ranges(sums, narrowed.low, narrowed.high))
    )


@pytest.mark.parametrize("complementary", ["fewest", "none"])
def test_the_rule_by_programming_contains_the_rule_by_listing(complementary: str) -> None:
    rule = Rule(low=1, high=4, complementary="none" if complementary == "none" else "fewest")
    rng = np.random.default_rng(3)
    n_compared = 0
    while n_compared < 12:
        values = with_totals(rng.integers(0, 12, rng.integers(2, 5, 2)))
        table = ordinary(values, rule)
        if not table.suppressed.any():
            continue
        n_compared += 1
        listed, programmed = attack_table(table, rule), attack_table(table, rule, limit=0)
        assert (programmed.before.tables, listed.rule_used) == (None, "whole")
        assert programmed.before.low == listed.before.low
        assert programmed.before.high == listed.before.high
        assert listed.after is not None
        assert programmed.after is not None
        for value, low, high in zip(under(values, table), listed.after.low, listed.after.high, strict=True):
            assert high is not None
            assert low <= value <= high
        ends = (programmed.after.low, programmed.after.high, listed.after.low, listed.after.high)
        if complementary == "none":
            assert programmed.rule_used == "whole"
            assert ends[:2] == ends[2:]
            assert programmed.after.settled.all()
        else:
            assert programmed.rule_used == "consequences"
            assert not programmed.after.settled.any()
            assert all(outer <= inner for outer, inner in zip(ends[0], ends[2], strict=True))
            assert all((outer or 0) >= (inner or 0) for outer, inner in zip(ends[1], ends[3], strict=True))


def test_figure_one_by_programming() -> None:
    table = GivenTable(values=np.array([[S, S, S, 110], [S, S, S, 105], [55, 105, 55, 215]]))
    found = attack_table(table, Rule(low=0, high=5), limit=1000)
    assert found.before.tables is None
    assert found.before.low == [0] * 6
    assert found.before.high == [55, 105, 55] * 2
    assert found.before.settled.all()
    assert found.share_left is None


def test_progress_is_reported_for_each_cell() -> None:
    table = GivenTable(values=np.array([[S, S, S, 110], [S, S, S, 105], [55, 105, 55, 215]]))
    reported: list[tuple[str, int, int]] = []
    attack_table(table, Rule(low=0, high=5), limit=1000, progress=lambda *step: reported.append(step))
    assert reported == [
        (stage, done, 6) for stage in ("ranges from totals", "ranges with the rule") for done in range(6)
    ]


def test_figure_one_by_listing() -> None:
    table = GivenTable(values=np.array([[S, S, S, 110], [S, S, S, 105], [55, 105, 55, 215]]))
    found = attack_table(table, Rule(low=0, high=5))
    assert found.share_left == 42 / 3121
    assert found.after is not None
    assert found.after.runs(0) == [(0, 5), (50, 55)]
    assert found.after.runs(1) == [(0, 5), (100, 105)]
    assert found.before.runs(0) == [(0, 55)]


def test_a_search_for_smallest_patterns_that_takes_too_long_uses_consequences() -> None:
    """Four rectangles in a table of 100 cells: too many other patterns could be smaller."""
    values = with_totals(np.full((10, 10), 50))
    for corner in (0, 2, 4, 6):
        values[corner, corner] = 5
    values = with_totals(values[:-1, :-1])
    stars = np.zeros(values.shape, dtype=np.bool_)
    stars[:8, :8] = np.kron(np.eye(4), np.ones((2, 2))) > 0
    found = attack_table(starred(values, stars), Rule(low=0, high=5))
    assert found.rule_used == "consequences"
    assert found.after is not None
    assert not found.after.settled.any()


def test_a_cell_known_exactly_and_a_cell_without_a_limit() -> None:
    rows_only = GivenTable(values=np.array([[S, 4, 10], [S, S, 10]]), total_row=False)
    found = attack_table(rows_only)
    assert found.before.exact() == [True, False, False]
    assert found.before.low[0] == 6
    no_totals = GivenTable(values=np.array([[S, 40], [80, S]]), total_row=False, total_column=False)
    found = attack_table(no_totals, Rule(low=0, high=5))
    assert found.before.high == [None, None]
    assert found.before.runs(0) == [(0, None)]
    # Without totals no further cell is needed, so the rule alone says that both are small.
    assert found.after is not None
    assert found.after.within(0, 5) == [True, True]


def test_without_stars_there_is_nothing_to_find() -> None:
    found = attack_table(GivenTable(values=with_totals([[8, 9], [10, 11]])), Rule())
    assert found.sums.stars == ()
    assert found.after is None


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([[10, 20, 31], [5, 5, 10], [15, 25, 41]], r"row 1: the cells add up to 30, but the total is 31"),
        ([[S, 20, 10], [S, 5, 30], [15, 25, 40]], r"row 1 does not add up.*at least 0 and at most -10"),
        ([[10, 20, 30], [5, 5, 10], [15, 26, 41]], r"column 2: the cells add up to 25, but the total is 26"),
        ([[S, S, 5], [S, S, 5], [3, 3, 10]], r"row 3: the cells add up to 6, but the total is 10"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused_by_row_or_column(
    values: list[list[int]], named: str
) -> None:
    with pytest.raises(ContradictionError, match=named):
        attack_table(GivenTable(values=np.array(values)))


@pytest.mark.parametrize("limit", [1, 10**7])
def test_rows_and_columns_that_disagree_only_together_are_named(limit: int) -> None:
    """Two rows need eight people from columns that have seven for them, if no cell has more than one."""
    values = np.full((6, 6), S)
    values[5] = values[:, 5] = [4, 4, 1, 1, 1, 11]
    people = np.ones((6, 6), dtype=np.int64)
    people[5] = people[:, 5] = S
    table = GivenTable(values=values).add_limits(people)
    with pytest.raises(ContradictionError, match=r"no whole numbers fit .* totals of (row|column) \d"):
        attack_table(table, limit=limit)


def test_a_rule_that_would_suppress_a_shown_cell_is_refused() -> None:
    table = GivenTable(values=np.array([[3, S, 10], [S, S, 20], [9, 21, 30]]))
    with pytest.raises(
        ContradictionError, match=r"row 1, column 1 shows 3, which the rule 0\.\.5 suppresses"
    ):
        attack_table(table, Rule(low=0, high=5))


@pytest.mark.parametrize("limit", [1, 10**7])
def test_stars_that_the_rule_cannot_give_are_refused(limit: int) -> None:
    values = with_totals([[50, 60, 70], [80, 90, 100]])
    stars = np.zeros(values.shape, dtype=np.bool_)
    stars[0, :2] = True
    with pytest.raises(ContradictionError, match="made by another rule"):
        attack_table(starred(values, stars), Rule(low=0, high=5), limit=limit)


def test_knowledge_that_contradicts_a_shown_cell_is_refused() -> None:
    table = GivenTable(values=with_totals([[8, 9], [10, 11]])).add_known_range(0, 1, 10, None)
    with pytest.raises(ContradictionError, match="is 9, but at least 10 is known"):
        attack_table(table)


def test_limits_of_people_are_combined_with_knowledge() -> None:
    table = GivenTable(values=np.array([[S, S, 10], [S, S, 10], [10, 10, 20]]))
    people = np.array([[7, 9, S], [9, 9, S], [S, S, S]])
    found = attack_table(table.add_limits(people).add_known_range(0, 0, 4, None).add_known_range(1, 1, 0, 6))
    assert found.before.low[0] == 4
    assert found.before.high[0] == 6
    assert attack_table(table.add_known_range(0, 0, 0, 3).add_known_range(0, 0, 2, 8)).before.runs(0) == [
        (2, 3)
    ]


def test_large_values_are_exact_or_not_settled() -> None:
    rng = np.random.default_rng(1)
    values = with_totals(rng.integers(0, 10**10, (4, 4)))
    stars = np.zeros(values.shape, dtype=np.bool_)
    stars[:3, :3] = True
    table = starred(values, stars)
    found = attack_table(table)
    for value, low, high in zip(under(values, table), found.before.low, found.before.high, strict=True):
        assert high is not None
        assert low <= value <= high
    assert found.before.low == [max(0, low) for low in found.before.low]


@pytest.mark.parametrize(
    "wrong", [np.array([[-2, 1]]), np.array([[LARGEST + 1, 1]]), np.array([[1.5]]), np.array([1])]
)
def test_arrays_that_are_no_table_are_refused(wrong: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    with pytest.raises(ParameterError):
        GivenTable(values=wrong, total_row=False, total_column=False)
