"""Tables with both totals: the counter and the sampler against lists of all tables."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from scipy import stats

from engine.errors import ParameterError
from engine.suppression.poisson_binomial import Types, exact_weights
from engine.suppression.two_way import Known, TwoWay, draw_people
from tests.golden import golden

HALF = Fraction(1, 2)
GOLDEN = golden("tables")
FALSE_ALARM = 1e-4
"""Chance that a statistical test of this file fails by bad luck; their keys are fixed."""


def equal_rates() -> tuple[TwoWay, Known]:
    case = GOLDEN["equal_p_tables"]
    cells = [Types.of([(people, HALF)]) for row in case["b"] for people in row]
    return TwoWay(2, 3, cells), Known(tuple(case["rows"]), tuple(case["cols"]), (None,) * 6)


def test_the_counter_gives_the_golden_number_of_data_sets() -> None:
    table, known = equal_rates()
    assert table.total_weight(known) == GOLDEN["equal_p_tables"]["datasets"]


@pytest.mark.jit_off
def test_every_golden_table_has_its_weight() -> None:
    table, known = equal_rates()
    for cells, weight in GOLDEN["equal_p_tables"]["tables"]:
        flat = tuple(value for row in cells for value in row)
        assert table.total_weight(known._replace(cells=flat)) == weight


def test_tables_are_drawn_with_their_chances() -> None:
    table, known = equal_rates()
    case, generator, n = GOLDEN["equal_p_tables"], random.Random(521), 4000
    drawn = Counter(tuple(table.sample(known, generator.randrange)) for _ in range(n))
    tables = {tuple(value for row in cells for value in row): weight for cells, weight in case["tables"]}
    assert set(drawn) <= set(tables)
    expected = [n * weight / case["datasets"] for weight in tables.values()]
    observed = [drawn[one] for one in tables]
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


@pytest.mark.jit_off
def test_people_of_a_cell_are_drawn_by_their_rates() -> None:
    types = Types.of([(3, Fraction(1, 5)), (2, HALF), (2, Fraction(7, 10))])
    generator, n, total = random.Random(17), 3000, 3
    drawn = Counter(tuple(draw_people(types, total, generator.randrange)) for _ in range(n))
    laws = [exact_weights(Types((people,), (rate,))) for people, rate in zip(*types, strict=True)]
    chances = {
        (a, b, c): laws[0][a] * laws[1][b] * laws[2][c]
        for a in range(4)
        for b in range(3)
        for c in range(3)
        if a + b + c == total
    }
    whole = sum(chances.values())
    expected = [n * chance / whole for chance in chances.values()]
    assert stats.chisquare([drawn[one] for one in chances], expected).pvalue > FALSE_ALARM


@pytest.mark.jit_off
def test_different_rates_have_the_golden_chance_and_posteriors() -> None:
    case = GOLDEN["distinct_p_2x2"]
    cells = [
        Types.of((1, Fraction(rate)) for rate in case["people"][f"{row},{column}"])
        for row in range(2)
        for column in range(2)
    ]
    table = TwoWay(2, 2, cells)
    known = Known((case["row_0"], None), (case["col_0"], None), (None,) * 4)
    assert table.probability(known) == Fraction(case["probability"])
    posteriors = table.posteriors(known)
    for name, wanted in case["posterior"].items():
        cell, rate = name.split(":")
        row, column = map(int, cell.split(","))
        place = 2 * row + column
        at = cells[place].rates.index(Fraction(rate))
        assert posteriors[place][at] == Fraction(wanted)


def test_figure_3_moves_no_belief_by_more_than_the_golden_shift() -> None:
    case = GOLDEN["figure3"]
    rates = [Fraction(rate) for rate in case["p_cols"]]
    shifts = [
        max(abs(1 - Fraction(value, people) / rate), abs(1 - (1 - Fraction(value, people)) / (1 - rate)))
        for people_of_row, values in zip(case["b"], case["value"], strict=True)
        for people, value, rate in zip(people_of_row, values, rates, strict=True)
    ]
    assert max(shifts) == Fraction(case["largest_shift"])


@pytest.mark.jit_off
def test_four_rows_are_refused_and_a_tree_is_offered() -> None:
    with pytest.raises(ParameterError, match="4 rows with both totals; up to 3 are possible"):
        TwoWay(4, 1, [Types.of([(3, HALF)])] * 4)


@pytest.mark.jit_off
def test_no_table_is_drawn_from_impossible_totals() -> None:
    table, known = equal_rates()
    with pytest.raises(ParameterError, match="no table"):
        table.sample(known._replace(rows=(6, 6)), random.Random(1).randrange)
