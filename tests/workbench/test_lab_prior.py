"""The page on a careless prior: what it shows is what the engine decides."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from engine.suppression.cells import suppress_cells
from engine.suppression.rates import Rates
from mapapp.workbench import lab_prior
from mapapp.workbench.lab_prior_example import COLUMNS, TOWNS, decided_tables
from tests.workbench.test_lab import cells, parts, texts

DELTA = Fraction(1, 10)


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1, 2)])
def test_a_careless_prior_breaks_its_promise_and_the_right_one_keeps_it(epsilon: Fraction) -> None:
    right, careless = decided_tables(0.8, epsilon, DELTA)
    assert right.released.sum() > 0
    assert not right.outside.any()
    assert right.n_printed == right.released.sum()
    assert careless.outside.sum() > 10
    assert careless.n_printed <= 5


def test_towns_that_are_alike_need_one_rate_only() -> None:
    right, careless = decided_tables(0, Fraction(1, 2), DELTA)
    assert not right.outside.any()
    assert not careless.outside.any()


def test_it_stops_where_the_suppressor_stops() -> None:
    _, careless = decided_tables(0.5, Fraction(1, 2), DELTA)
    millionths = [
        round(10**6 * share)
        for share in (careless.values.reshape(-1, 3).sum(axis=0) / careless.people.reshape(-1, 3).sum(axis=0))
    ] * len(TOWNS)
    n = careless.people.size
    prior = Rates(numerator=np.array(millionths), denominator=np.full(n, 10**6))
    decided = suppress_cells(
        careless.people,
        prior,
        careless.values,
        epsilon=Fraction(1, 2),
        decision_delta=DELTA / careless.people.size,
    )
    assert (decided.breach, int(decided.released.sum())) == (careless.stop, careless.n_printed)


def test_the_page_marks_the_counts_that_break_the_promise() -> None:
    right, careless = decided_tables(0.8, Fraction(1, 2), DELTA)
    sums, first, second = (cells(table) for table in parts(lab_prior.answer(0.8, 0.5, "0.1"), "Table"))
    assert [row[1] for row in sums] == [
        str(int(careless.released.sum())),
        str(int(careless.outside.sum())),
        str(careless.n_printed),
    ]
    for grid, decided in ((first, right), (second, careless)):
        marks = ["✗" in cell for row in grid for cell in row]
        assert marks == decided.outside.tolist()
        assert ["*" in cell for row in grid for cell in row] == (~decided.released).tolist()
    assert len(first) == len(TOWNS)
    assert len(first[0]) == len(COLUMNS)


def test_the_page_says_when_nothing_breaks() -> None:
    assert "no released count is outside" in " ".join(texts(lab_prior.answer(0, 0.5, "0.1")))
