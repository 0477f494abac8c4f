"""Bounds of what a query of two rows would reveal, against whole numbers."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from engine.suppression.poisson_binomial import Types
from engine.suppression.two_rows import TwoRows
from engine.suppression.two_rows_ways import Ways
from engine.suppression.two_way import Known, TwoWay

N_COLUMNS = 3


def exact_unsafe(
    table: TwoWay, known: Known, query: int, safe: tuple[int, int], epsilon: Fraction
) -> Fraction:
    """Chance of a value outside an interval, all values of which must be safe."""
    law = table.law(known, query)
    for value in law:
        if safe[0] <= value <= safe[1]:
            assert table.is_safe(known.add_value(query, value), epsilon)
    outside = sum(weight for value, weight in law.items() if not safe[0] <= value <= safe[1])
    return Fraction(outside, sum(law.values()))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_just_above_the_chance_of_an_unsafe_value(seed: int) -> None:
    generator, epsilon, q = random.Random(seed), Fraction(7, 10), Fraction(1, 50)
    cells = [
        Types.of([(generator.randint(2, 5), Fraction(generator.randint(300, 700), 1009))])
        for _ in range(2 * N_COLUMNS)
    ]
    ones = [sum(generator.random() < types.rates[0] for _ in range(types.people[0])) for types in cells]
    lines = [ones[:N_COLUMNS], ones[N_COLUMNS:]]
    values = [*map(sum, lines), *map(sum, zip(*lines, strict=True)), *ones]
    exact, known = TwoWay(2, N_COLUMNS, cells), Known.nothing(2, N_COLUMNS)
    table = TwoRows([cells[:N_COLUMNS], cells[N_COLUMNS:]], epsilon, q)
    for query, value in enumerate(values):
        outlook = table.outlook(query)
        chance = exact_unsafe(exact, known, query, outlook.safe, epsilon)
        assert chance <= outlook.unsafe <= float(chance) * (1 + 1e-6) + 1e-18
        if outlook.safe[0] <= value <= outlook.safe[1] and generator.random() < 0.7:
            table.release(query, value)
            known = known.add_value(query, value)


@pytest.mark.jit_off
def test_totals_determine_what_has_one_value_in_all_tables() -> None:
    open_columns = {0: (3, 4, 2), 1: (1, 1, 5)}  # total, people by row
    free = Ways.of(open_columns, (2, 2), (None, None))
    assert (free.least, free.most) == (1, 4)
    assert not free.determines_column(0)
    assert not free.determines_pool(1, 0)
    full = Ways.of(open_columns, (2, 2), (6, None))
    assert (full.least, full.most) == (4, 4)
    assert full.determines_column(0)
    assert full.determines_column(1)
    assert full.determines_pool(1, 0)
    assert not full.determines_pool(0, 1)
