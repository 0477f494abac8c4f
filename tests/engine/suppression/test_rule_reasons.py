"""Short arguments for what a rule adds: they are true of every table that the rule leaves."""

from __future__ import annotations

import numpy as np
import pytest

from engine.suppression.attack.attack import Attack, attack_table
from engine.suppression.attack.ordinary import Rule
from engine.suppression.tables_given import ContradictionError, GivenTable


def attacked(values: list[list[int]], rule: Rule, *, totals: bool = True) -> Attack:
    given = GivenTable(values=np.array(values, dtype=np.int64), total_row=totals, total_column=totals)
    return attack_table(given, rule)


def test_figure_1_has_three_small_cells_one_in_each_column() -> None:
    found = attacked([[-1, -1, -1, 110], [-1, -1, -1, 105], [55, 105, 55, 215]], Rule(low=0, high=5))
    assert found.reasons is not None
    assert found.reasons.fewest == 3
    assert found.reasons.at_most == [(0, 2), (1, 2), (3, 1), (4, 1), (5, 1)]
    assert found.reasons.reasons == []


def test_without_totals_every_star_is_there_for_itself() -> None:
    given = GivenTable(
        values=np.array([[-1, 9], [8, -1]], dtype=np.int64),
        total_row=False,
        total_column=False,
        most=np.full((2, 2), 20, dtype=np.int64),
    )
    found = attack_table(given, Rule(low=1, high=5))
    assert found.reasons is not None
    assert [(each.star, each.is_primary, each.why) for each in found.reasons.reasons] == [
        (0, True, "needed"),
        (1, True, "needed"),
    ]


def test_what_follows_from_the_rule_line_by_line() -> None:
    """Without complementary cells each star is small, and the row's total tells the rest."""
    found = attacked([[-1, -1, 9], [-1, -1, 7], [8, 8, 16]], Rule(low=1, high=5, complementary="none"))
    assert found.reasons is not None
    assert {each.why for each in found.reasons.reasons} == {"every"}
    assert found.after is not None
    assert (found.after.low, found.after.high) == ([4, 4, 3, 3], [5, 5, 4, 4])
    reached = {(step.star, step.is_low): step.bound for step in found.reasons.steps}
    assert reached == {(0, True): 4, (1, True): 4, (2, False): 4, (3, False): 4, (2, True): 3, (3, True): 3}


@pytest.mark.parametrize("seed", range(8))
def test_arguments_hold_in_every_table_that_is_left(seed: int) -> None:
    """Random tables with stars by the rule's consequences: skip those that no table fits."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 14, (3, 3))
    whole = np.zeros((4, 4), dtype=np.int64)
    whole[:3, :3] = truth
    whole[3], whole[:, 3] = whole.sum(axis=0), whole.sum(axis=1)
    whole[3, 3] = truth.sum()
    hidden = truth <= 3
    values = whole.copy()
    values[:3, :3][hidden] = -1
    rule = Rule(low=0, high=3, complementary="none")
    try:
        found = attacked(values.tolist(), rule)
    except ContradictionError:
        pytest.fail("the rule made these stars")
    if not found.sums.stars:
        return
    assert found.reasons is not None
    assert found.after is not None
    assert found.after.tables is not None
    for reason in found.reasons.reasons:
        small = (found.after.tables[:, reason.star] >= 0) & (found.after.tables[:, reason.star] <= 3)
        assert (small == reason.is_primary).all()
    for step in found.reasons.steps:
        mine = found.after.tables[:, step.star]
        assert ((mine >= step.bound) if step.is_low else (mine <= step.bound)).all()
