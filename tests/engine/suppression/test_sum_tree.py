"""Forests of sums: against the plain twin on every world, and certified bounds against exact integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression import safe_sums as safe
from engine.suppression.cells import suppress_cells
from engine.suppression.poisson_binomial import Types, bounded_law, exact_weights, posterior
from engine.suppression.rates import Rates
from engine.suppression.sum_tree import DecidedTree, SumTree, expected_values, suppress_tree
from tests.golden import golden
from tests.oracles.suppression import Counts, Group, Output, Population, Twin, certain, examine, given

EPSILON, DELTA = Fraction(9, 10), Fraction(9, 10)
HALF, FIFTH, TWO_FIFTHS, SEVEN_TENTHS = (Fraction(text) for text in ("1/2", "1/5", "2/5", "7/10"))

TREES = {
    "row total, then cells": ([-1, 0, 0, 0], {1: [(4, HALF)], 2: [(5, TWO_FIFTHS)], 3: [(3, HALF)]}),
    "cells, then their remainder": ([3, 3, 3, -1], {0: [(5, HALF)], 1: [(2, FIFTH)], 2: [(7, TWO_FIFTHS)]}),
    "two types in a cell": (
        [-1, 0, 0],
        {1: [(3, HALF), (2, SEVEN_TENTHS)], 2: [(4, TWO_FIFTHS), (2, HALF)]},
    ),
    "a table that refines another": (
        [-1, -1, 0, 0, 1, 1],
        {2: [(3, HALF)], 3: [(4, TWO_FIFTHS)], 4: [(3, HALF)], 5: [(2, SEVEN_TENTHS)]},
    ),
    "three levels, people outside all cells": (
        [-1, 0, 0, 1, 1],
        {0: [(2, HALF)], 2: [(4, HALF)], 3: [(3, TWO_FIFTHS)], 4: [(3, SEVEN_TENTHS)]},
    ),
}


def tree_of(parent: list[int], types: dict[int, list[tuple[int, Fraction]]]) -> SumTree:
    pairs = [types.get(node, []) for node in range(len(parent))]
    flat = [pair for own in pairs for pair in own]
    return SumTree(
        parent=np.array(parent),
        type_ptr=np.cumsum([0, *(len(own) for own in pairs)]),
        type_people=np.array([people for people, _ in flat]),
        type_rates=Rates(
            numerator=np.array([rate.numerator for _, rate in flat]),
            denominator=np.array([rate.denominator for _, rate in flat]),
        ),
    )


def population_of(parent: list[int], types: dict[int, list[tuple[int, Fraction]]]) -> Population:
    """The groups are the types, in the order of their nodes; the queries are the nodes."""
    groups: list[Group] = []
    queries = [set[int]() for _ in parent]
    for node in range(len(parent)):
        for people, rate in types.get(node, []):
            above = node
            while above >= 0:
                queries[above].add(len(groups))
                above = parent[above]
            groups.append(Group(people, rate))
    return Population(tuple(groups), tuple(frozenset(query) for query in queries))


def decided(tree: SumTree, population: Population, counts: Counts, q: Fraction) -> DecidedTree:
    return suppress_tree(tree, list(population.values(counts)), epsilon=EPSILON, decision_delta=q)


def outputs(tree: SumTree, population: Population, q: Fraction) -> Callable[[Counts], Output]:
    def decide(counts: Counts) -> Output:
        released = decided(tree, population, counts, q).released
        values = population.values(counts)
        return tuple(value if kept else None for value, kept in zip(values, released, strict=True))

    return decide


@pytest.mark.parametrize("exact_people", [64, 0], ids=["exact", "bounds"])
@pytest.mark.parametrize("name", TREES)
def test_trees_equal_the_twin_on_every_world(
    name: str, exact_people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe, "EXACT_PEOPLE", exact_people)
    tree, population = tree_of(*TREES[name]), population_of(*TREES[name])
    q = DELTA / len(tree)
    decide, twin = outputs(tree, population, q), Twin(population, EPSILON, q)
    worlds = list(population.worlds())[:: 1 if exact_people else 7]
    assert [counts for counts in worlds if decide(counts) != twin.exact(counts)] == []
    if exact_people:
        found = examine(population, certain(decide), EPSILON)
        assert found.released > 0
        assert (found.moving, found.not_private <= DELTA) == (0, True)


@pytest.mark.jit_off
@pytest.mark.parametrize("name", TREES)
def test_intervals_and_derived_values_are_those_of_the_definitions(name: str) -> None:
    tree, population = tree_of(*TREES[name]), population_of(*TREES[name])
    twin = Twin(population, EPSILON, DELTA / len(tree))
    for counts in list(population.worlds())[::23]:
        found, values = decided(tree, population, counts, twin.decision_delta), population.values(counts)
        released: tuple[tuple[int, int], ...] = ()
        for node, value in enumerate(values):
            if found.breach < 0 or node <= found.breach:
                possible = {population.value(node, one) for one in given(population, released)}
                wanted = {one for one in possible if twin.safe((*released, (node, one)))}
                assert {one for one in possible if found.low[node] <= one <= found.high[node]} == wanted
            if found.released[node]:
                released = (*released, (node, value))
        for node in np.flatnonzero(~found.released).tolist():
            left = {population.value(node, one) for one in given(population, released)}
            assert found.derived[node] == (len(left) == 1)


def test_roots_without_children_are_decided_like_cells() -> None:
    rng = np.random.default_rng(5)
    people, numerator = rng.integers(1, 4000, 60), rng.integers(1, 1000, 60)
    values = rng.binomial(people, numerator / 1000)
    rates = Rates(numerator=numerator, denominator=np.full(60, 1000))
    tree = SumTree(parent=np.full(60, -1), type_ptr=np.arange(61), type_people=people, type_rates=rates)
    epsilon, q = Fraction(1, 2), Fraction(1, 600)
    alone = suppress_cells(people, rates, values, epsilon=epsilon, decision_delta=q)
    found = suppress_tree(tree, values, epsilon=epsilon, decision_delta=q)
    assert found.released.tolist() == alone.released.tolist()
    assert found.breach == alone.breach
    safe_at_all = alone.low <= alone.high
    assert found.low[safe_at_all].tolist() == alone.low[safe_at_all].tolist()
    assert found.high[safe_at_all].tolist() == alone.high[safe_at_all].tolist()


MANY = [
    Types((60, 45, 30), (Fraction(1, 10), Fraction(2, 5), Fraction(4, 5))),
    Types((200, 3), (Fraction(1, 50), Fraction(49, 50))),
    Types((90, 80, 5, 40), (Fraction(3, 10), Fraction(1, 3), Fraction(2, 5), Fraction(1, 2))),
    Types((150, 150), (Fraction(1, 500), Fraction(1, 300))),
]


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("types", MANY)
def test_bounded_intervals_equal_exact_ones(types: Types, epsilon: Fraction) -> None:
    exact = safe._exact_interval(types, epsilon)
    bounded = safe._bounded_interval(types, epsilon)
    assert bounded == exact or (bounded[0] > bounded[1] and exact[0] > exact[1])


@pytest.mark.jit_off
@pytest.mark.parametrize("total", [None, 60, 95])
@pytest.mark.parametrize(("asked", "others"), [(MANY[0], MANY[2]), (MANY[1], MANY[0])])
def test_the_bound_of_an_unsafe_sum_is_just_above_its_chance(
    asked: Types, others: Types, total: int | None
) -> None:
    for interval in ((20, 60), (30, 90), (0, 50), (0, asked.everyone)):
        exact = safe._exact_unsafe(asked, others if total else Types((), ()), total, interval)
        bound = safe._bounded_unsafe(asked, others if total else Types((), ()), total, interval)
        assert exact <= bound <= float(exact) * (1 + 1e-9) + 1e-14


@pytest.mark.jit_off
@pytest.mark.parametrize("tilt", [0.5, 1.0, 2.0])
def test_weights_lie_between_their_bounds(tilt: float) -> None:
    types = MANY[0]
    law, exact = bounded_law(types, tilt), exact_weights(types)
    scale = Fraction(law.weights[10]) / (exact[law.start + 10] * Fraction(tilt) ** (law.start + 10))
    for total, weight in enumerate(exact):
        low, high = law.bounds(total)
        true = weight * Fraction(tilt) ** total * scale
        assert low * (1 - 2 * law.error) <= true <= high * (1 + 2 * law.error)
    assert law.error < 1e-10


def test_the_golden_poisson_binomial_and_its_posteriors() -> None:
    case = golden("tables")["poisson_binomial"]
    types = Types.of((1, Fraction(rate)) for rate in case["p"])
    whole = sum(exact_weights(types))
    assert [Fraction(weight, whole) for weight in exact_weights(types)] == [Fraction(p) for p in case["pmf"]]
    for total, wanted in case["posterior_given_sum"].items():
        for rate, one in zip(case["p"], wanted, strict=True):
            assert posterior(types, types.rates.index(Fraction(rate)), int(total)) == Fraction(one)


@pytest.mark.jit_off
@pytest.mark.parametrize("number", range(3))
def test_the_golden_splits_of_a_row_total(number: int) -> None:
    case = golden("tables")[f"row_total_{number}"]
    first, second = (
        Types.of([(people, Fraction(rate))]) for people, rate in zip(case["b"], case["p"], strict=True)
    )
    pmf = [
        1 - float(safe.unsafe_sum_bound(first, second, case["total"], (value, value)))
        for value in range(len(case["pmf_cell_1"]))
    ]
    assert pmf == pytest.approx(case["pmf_cell_1"], abs=1e-12)
    mean = sum(value * chance for value, chance in enumerate(pmf))
    assert mean / case["b"][0] == pytest.approx(case["posterior_person_cell_1"], rel=1e-9)


def real_sized_tree() -> tuple[SumTree, list[int]]:
    """Towns of up to 60,000 workers in nine cells: row totals first."""
    rng = np.random.default_rng(39)
    rows, columns = 6, 9
    people = rng.integers(1000, 9000, (rows, columns))
    rates = rng.integers(50, 600, (rows, columns))
    values = rng.binomial(people, rates / 1000)
    tree = SumTree(
        parent=np.concatenate((np.full(rows, -1), np.repeat(np.arange(rows), columns))),
        type_ptr=np.concatenate((np.zeros(rows, np.int64), np.arange(rows * columns + 1))),
        type_people=people.ravel(),
        type_rates=Rates(numerator=rates.ravel(), denominator=np.full(rows * columns, 1000)),
    )
    return tree, np.concatenate((values.sum(axis=1), values.ravel())).tolist()


def test_a_table_of_real_size_is_decided_with_its_totals() -> None:
    tree, values = real_sized_tree()
    decide = partial(suppress_tree, tree, epsilon=Fraction(1, 2), decision_delta=Fraction(1, 1000))
    found = decide(values)
    assert found.released.all()
    assert found.breach == -1
    assert ((found.low <= values) & (values <= found.high)).all()
    expected = decide(expected_values(tree))
    assert expected.released.all()


def test_the_first_breach_stops_a_tree() -> None:
    tree, values = real_sized_tree()
    values[0] -= values[6]
    values[6] = 0  # nobody in the first cell
    found = suppress_tree(tree, values, epsilon=Fraction(1, 2), decision_delta=Fraction(1, 1000))
    assert found.breach == 6
    assert found.released.tolist() == [True] * 7 + [False] * (len(tree) - 7)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("parent", "values", "message"),
    [
        ([1, 0, -1], [1, 1, 1], "cycle"),
        ([-1, 0, 3], [1, 1, 1], "runs from -1 to 3"),
        ([-1, 0, 0], [5, 1, 1], "leaves 3 for its 0 people"),
        ([-1, 0, 0], [2, 1], "2 values for 3 nodes"),
        ([-1, 0, 0], [20, 10, 10], "leaves 10 for its 4 people"),
    ],
)
def test_trees_that_contradict_themselves_are_refused(
    parent: list[int], values: list[int], message: str
) -> None:
    def decide() -> DecidedTree:
        tree = tree_of(parent, {1: [(4, HALF)], 2: [(4, FIFTH)]})
        return suppress_tree(tree, values, epsilon=EPSILON, decision_delta=DELTA)

    with pytest.raises(ParameterError, match=message):
        decide()


@pytest.mark.jit_off
def test_a_tree_that_is_too_large_is_refused_before_it_starts() -> None:
    cells = 30_000
    tree = SumTree(
        parent=np.concatenate(([-1], np.zeros(cells, np.int64))),
        type_ptr=np.concatenate(([0], np.arange(cells + 1))),
        type_people=np.full(cells, 1000),
        type_rates=Rates(numerator=np.arange(1, cells + 1), denominator=np.full(cells, 2 * cells)),
    )
    with pytest.raises(OverflowRefusedError, match="leave out the totals"):
        suppress_tree(tree, np.zeros(cells + 1, np.int64), epsilon=EPSILON, decision_delta=DELTA)
