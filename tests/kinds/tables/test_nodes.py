"""Decisions on small tables made by hand: what is published is true, and follows from public numbers alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from mapapp.base.errors import UsageError
from mapapp.kinds.tables.make.decide import Rule, Sealed, decide_twice
from mapapp.kinds.tables.make.frames import cell_rows
from mapapp.kinds.tables.make.nodes import fill_in
from tests.kinds.tables.by_hand import by_hand

RULE = Rule(Fraction(4, 5), Fraction(1, 10))


CASES = [
    ("none", True, [[9, 3, 12], [4, 30, 2], [1, 1, 1]]),
    ("rows", False, [[9, 3, 12], [4, 30, 2], [0, 1, 40]]),
    ("columns", False, [[9, 3, 12], [4, 30, 2], [0, 1, 40], [3, 3, 3]]),
    ("both", False, [[5, 6, 0], [7, 8, 3]]),
]


@pytest.mark.parametrize(("totals", "remainders", "people"), CASES, ids=[case[0] for case in CASES])
def test_what_is_shown_is_true_and_follows_from_what_is_released(
    totals: str, remainders: bool, people: list[list[int]]
) -> None:
    nodes = by_hand(people, totals, remainders=remainders)
    random = np.random.default_rng(5)
    n_shown = 0
    for _ in range(12):
        truth = random.binomial(nodes.plan.people, 0.5).astype(np.int64)
        decided, shown = decide_twice(nodes, Sealed(truth), RULE)
        real = nodes.sum_cells(truth)
        assert np.where(shown >= 0, real, -1).tolist() == shown.tolist()
        assert (shown[decided.released | decided.derived] >= 0).all()
        consistent = fill_in(nodes, decided.released, shown)
        assert (consistent[decided.released] == real[decided.released]).all()
        assert (consistent[nodes.cells] <= nodes.plan.people).all()
        n_shown += int(decided.released.sum())
    assert n_shown > 0


def test_a_remainder_shows_the_sum_of_its_rows_stars_alone() -> None:
    nodes = by_hand([[60, 4, 4], [60, 4, 70]], "none", remainders=True)
    truth = np.array([30, 2, 3, 30, 3, 35], dtype=np.int64)
    decided, shown = decide_twice(nodes, Sealed(truth), Rule(Fraction(4, 5), Fraction(1, 20)))
    assert decided.released[nodes.cells].tolist() == [True, False, False, True, False, True]
    rows = cell_rows(nodes, decided, shown)
    (rest,) = rows[rows["kind"] == "remainder"].to_dict("records")
    assert (rest["row_id"], rest["people"]) == ("r0", 8)
    assert rest["state"] == "released"
    assert rest["value"] == 5
    assert rest["low"] <= 5 <= rest["high"] <= 8


def test_a_row_total_and_all_cells_but_one_determine_that_one() -> None:
    nodes = by_hand([[200, 200, 0], [200, 12, 0]], "rows")
    truth = np.array([100, 100, 100, 6], dtype=np.int64)
    decided, shown = decide_twice(nodes, Sealed(truth), Rule(Fraction(4, 5), Fraction(1, 1000)))
    rows = cell_rows(nodes, decided, shown)
    assert list(rows["kind"]) == ["row_total"] * 2 + ["cell"] * 4
    for first, last in pairwise([0, 2, 4]):
        cells = rows[rows["kind"] == "cell"].iloc[first:last]
        assert (cells["value"] < 0).sum() != 1


def test_sums_that_contradict_each_other_are_refused() -> None:
    for totals, people in (("rows", [[5, 5, 0]]), ("both", [[5, 5, 0], [5, 5, 0]])):
        nodes = by_hand(people, totals)
        released = np.zeros(len(nodes), dtype=np.bool_)
        released[0] = True
        values = np.full(len(nodes), -1, dtype=np.int64)
        values[0] = 11
        with pytest.raises(UsageError, match="contradict"):
            fill_in(nodes, released, values)
