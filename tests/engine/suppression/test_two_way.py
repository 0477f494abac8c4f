"""Tables with both totals: the counter and the sampler against lists of all tables, the suppressor against the twin."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression.poisson_binomial import Types, exact_weights
from engine.suppression.rates import Rates
from engine.suppression.sum_tree import DecidedTree
from engine.suppression.two_way import Known, TwoWay, draw_people, suppress_two_way
from tests.golden import golden
from tests.oracles.suppression import Counts, Group, Output, Population, Twin, certain, examine

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


TABLES = {
    "2x2": (2, 2, [[(3, HALF)], [(4, Fraction(2, 5))], [(4, Fraction(3, 5))], [(3, HALF)]]),
    "2x2, two types in a cell": (
        2,
        2,
        [[(2, HALF), (2, Fraction(2, 5))], [(4, HALF)], [(3, HALF)], [(3, Fraction(3, 5))]],
    ),
    "3x1": (3, 1, [[(4, HALF)], [(5, Fraction(2, 5))], [(4, Fraction(3, 5))]]),
}
EPSILON, DELTA = Fraction(9, 10), Fraction(9, 10)


def decided(name: str, values: list[int], q: Fraction) -> DecidedTree:
    rows, columns, cells = TABLES[name]
    flat = [pair for types in cells for pair in types]
    return suppress_two_way(
        (rows, columns),
        np.cumsum([0, *(len(types) for types in cells)]),
        np.array([people for people, _ in flat]),
        Rates(
            numerator=np.array([rate.numerator for _, rate in flat]),
            denominator=np.array([rate.denominator for _, rate in flat]),
        ),
        values,
        epsilon=EPSILON,
        decision_delta=q,
    )


def population_of(name: str) -> Population:
    rows, columns, cells = TABLES[name]
    places = [place for place, types in enumerate(cells) for _ in types]
    of_cell = [{at for at, one in enumerate(places) if one == place} for place in range(rows * columns)]
    lines = [range(row * columns, (row + 1) * columns) for row in range(rows)]
    lines += [range(column, rows * columns, columns) for column in range(columns)]
    queries = [frozenset[int]().union(*(of_cell[place] for place in line)) for line in lines]
    groups = tuple(Group(*pair) for types in cells for pair in types)
    return Population(groups, (*queries, *(frozenset(one) for one in of_cell)))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.jit_off) if name == "3x1" else name for name in TABLES]
)
def test_both_totals_equal_the_twin(name: str) -> None:
    population = population_of(name)
    q = DELTA / len(population.queries)
    twin = Twin(population, EPSILON, q)
    outputs: dict[Counts, Output] = {}
    for counts in list(population.worlds())[::19]:
        values = population.values(counts)
        released = decided(name, list(values), q).released
        outputs[counts] = tuple(value if kept else None for value, kept in zip(values, released, strict=True))
        assert outputs[counts] == twin.exact(counts)
    assert any(value is not None for output in outputs.values() for value in output)
    found = examine(population, certain(twin.exact), EPSILON)
    assert (found.moving, found.not_private <= DELTA) == (0, True)


@pytest.mark.jit_off
def test_four_rows_are_refused_and_a_tree_is_offered() -> None:
    with pytest.raises(ParameterError, match="4 rows with both totals; up to 3 are possible"):
        TwoWay(4, 1, [Types.of([(3, HALF)])] * 4)


@pytest.mark.jit_off
def test_a_large_table_is_refused_before_it_starts() -> None:
    rates = Rates(numerator=np.full(6, 1), denominator=np.full(6, 2))
    values = np.concatenate((np.full(2, 150), np.full(3, 100), np.full(6, 50)))
    with pytest.raises(OverflowRefusedError, match="give row totals or column totals only"):
        suppress_two_way(
            (2, 3), np.arange(7), np.full(6, 100), rates, values, epsilon=EPSILON, decision_delta=DELTA
        )


@pytest.mark.jit_off
def test_totals_that_are_not_sums_are_refused() -> None:
    with pytest.raises(ParameterError, match="not the sums of the cells"):
        decided("2x2", [3, 3, 3, 3, 1, 1, 1, 1], DELTA)


@pytest.mark.jit_off
def test_no_table_is_drawn_from_impossible_totals() -> None:
    table, known = equal_rates()
    with pytest.raises(ParameterError, match="no table"):
        table.sample(known._replace(rows=(6, 6)), random.Random(1).randrange)
