"""Rows found by safe splits of a hierarchy: the decisions follow from public numbers and released sums alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.suppression.poisson_binomial import Types
from engine.suppression.rates import Rates
from engine.suppression.safe_sums import safe_sums, unsafe_sum_bound
from engine.suppression.sum_tree import SumTree
from tests.engine.suppression.binning import Binning, bin_rows, halved
from tests.engine.suppression.test_sum_tree import HALF, TWO_FIFTHS, population_of, tree_of
from tests.oracles.suppression import Counts, Output, Population, Twin, certain, examine

pytestmark = pytest.mark.jit_off

EPSILON, DELTA = Fraction(9, 10), Fraction(1, 2)
PARENT = [-1, 0, 0, 1, 1]
TYPES = {2: [(5, HALF)], 3: [(5, TWO_FIFTHS)], 4: [(6, HALF)]}


def binned(tree: SumTree, values: tuple[int, ...], q: Fraction, most_rows: int = 9) -> Binning:
    return bin_rows(tree, list(values), epsilon=EPSILON, decision_delta=q, most_rows=most_rows)


def outputs(tree: SumTree, population: Population, q: Fraction) -> Callable[[Counts], Output]:
    """The values of the rows, and of what contains them since those are their sums; None elsewhere."""

    def decide(counts: Counts) -> Output:
        values = population.values(counts)
        rows = set(binned(tree, values, q).rows)
        return tuple(value if node in rows else None for node, value in enumerate(values))

    return decide


@pytest.mark.parametrize("q", [Fraction(1, 6), Fraction(1, 12), Fraction(1, 40), Fraction(1, 1000)])
def test_splits_say_nothing_and_keep_the_promise(q: Fraction) -> None:
    tree, population = tree_of(PARENT, TYPES), population_of(PARENT, TYPES)
    found = examine(population, certain(outputs(tree, population, q)), EPSILON)
    assert found.moving == 0
    assert found.not_private <= DELTA


def test_a_split_is_made_only_if_the_chance_of_unsafe_sums_allows_it() -> None:
    tree, population = tree_of(PARENT, TYPES), population_of(PARENT, TYPES)
    twin = Twin(population, EPSILON, Fraction(1, 6))
    for counts in list(population.worlds())[::11]:
        values = population.values(counts)
        rows = binned(tree, values, twin.decision_delta).rows
        if rows != (0,):
            unsafe = sum(
                weight
                for one, weight in population.worlds().items()
                if not twin.safe(((1, population.value(1, one)), (2, population.value(2, one))))
            )
            assert Fraction(unsafe, population.whole()) <= twin.decision_delta


def test_no_table_is_published_if_not_even_the_whole_is_safe() -> None:
    tree = tree_of([-1, 0, 0], {1: [(1, HALF)], 2: [(1, HALF)]})
    assert binned(tree, (1, 1, 0), Fraction(1, 100)) == Binning((), 2, -1)


def large(n_units: int) -> tuple[SumTree, tuple[int, ...]]:
    """Units of 200 to 900 people in a row; every value as expected."""
    people = np.linspace(200, 900, n_units).astype(np.int64)
    tree = halved(people, Rates(numerator=np.full(n_units, 2), denominator=np.full(n_units, 5)))
    own = tree.type_people * 2 // 5
    values = np.zeros(len(tree), np.int64)
    values[np.diff(tree.type_ptr) > 0] = own
    for node in range(len(tree) - 1, 0, -1):
        values[tree.parent[node]] += values[node]
    return tree, tuple(values.tolist())


def test_rows_are_split_in_order_up_to_their_limit() -> None:
    tree, values = large(16)
    all_rows = binned(tree, values, Fraction(1, 1000), most_rows=16).rows
    assert len(all_rows) == 16
    assert sum(values[row] for row in all_rows) == values[0]
    some = binned(tree, values, Fraction(1, 1000), most_rows=5)
    assert len(some.rows) == 5
    assert sum(values[row] for row in some.rows) == values[0]


def test_a_breach_stops_the_splitting() -> None:
    tree = tree_of([-1, 0, 0, 1, 1], {2: [(400, HALF)], 3: [(400, HALF)], 4: [(400, TWO_FIFTHS)]})
    found = binned(tree, (390, 0, 390, 0, 0), Fraction(1, 1000))
    assert found.rows == (1, 2)
    assert found.breach == 1


def test_intervals_are_halved_at_the_median_of_people_ties_below() -> None:
    rates = Rates(numerator=np.ones(4, np.int64), denominator=np.full(4, 2))
    tree = halved([1, 1, 1, 1], rates)
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0, 4, 4]
    skewed = halved([7, 1, 1, 1], rates)
    assert skewed.parent.tolist() == [-1, 0, 0, 2, 2, 4, 4]
    tied = halved([1, 2, 1], Rates(numerator=np.ones(3, np.int64), denominator=np.full(3, 2)))
    assert tied.children()[0] == [1, 2]
    assert tied.children()[1] == []


def test_several_roots_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 roots"):
        binned(tree_of([-1, -1], {0: [(2, HALF)], 1: [(2, HALF)]}), (1, 1), DELTA)


def test_a_split_is_decided_to_the_last_digit() -> None:
    """The chances of the parts add up exactly: a limit equal to their sum allows the split, a smaller one does not."""
    types = {number: [(people, Fraction(1, 3))] for number, people in ((1, 31), (2, 37), (3, 41), (4, 43))}
    parent = [-1, 0, 0, 0, 0]
    tree, nobody = tree_of(parent, types), Types((), ())
    values = (52, 10, 13, 14, 15)
    parts = [Types.of(types[number]) for number in (1, 2, 3, 4)]
    bounds = [Fraction(unsafe_sum_bound(part, nobody, None, safe_sums(part, EPSILON))) for part in parts]
    chance = sum(bounds, Fraction(0))
    assert 0 < chance < 1
    assert binned(tree, values, chance).rows == (1, 2, 3, 4)
    assert binned(tree, values, chance * (1 - Fraction(1, 10**30))).rows == (0,)
