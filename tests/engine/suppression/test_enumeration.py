"""Suppressors run on every world of small populations: stars say nothing, and the promise holds.

First the plain twin by itself, so that the method is checked before the code. Controls that break the rules must be
caught, or the checks would show nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from engine.suppression.cells import suppress_cells
from engine.suppression.rates import Rates
from tests.engine.suppression.populations import cells_only, sums_then_cells
from tests.golden import golden
from tests.oracles.suppression import (
    Counts,
    Group,
    Output,
    Population,
    Twin,
    certain,
    examine,
    given,
    ordinary,
    posteriors,
    release_chance,
    worlds_by_data_sets,
)

EPSILON = Fraction(3, 4)
DELTA = Fraction(1, 2)


def test_worlds_of_counts_equal_the_list_of_all_data_sets() -> None:
    groups = (Group(3, Fraction(1, 5)), Group(2, Fraction(1, 2)), Group(3, Fraction(7, 10)))
    population = Population(groups, ())
    by_data_sets = worlds_by_data_sets(groups)
    assert {
        counts: Fraction(weight, population.whole()) for counts, weight in population.worlds().items()
    } == by_data_sets


def test_posteriors_of_the_twin_are_the_golden_ones() -> None:
    case = golden("tables")["poisson_binomial"]
    groups = tuple(Group(1, Fraction(p)) for p in case["p"])
    population = Population(groups, (frozenset(range(len(groups))),))
    for total, wanted in case["posterior_given_sum"].items():
        weights = given(population, [(0, int(total))])
        assert posteriors(groups, weights) == [Fraction(text) for text in wanted]
        assert Fraction(sum(weights.values()), population.whole()) == Fraction(case["pmf"][int(total)])


def test_exact_on_sums_then_cells() -> None:
    epsilon, delta, outputs = Fraction(9, 10), Fraction(9, 10), 0
    for population in sums_then_cells(1, (3, 5), 5):
        found = examine(population, certain(Twin(population, epsilon, delta / 9).exact), epsilon)
        assert found.moving == 0
        assert found.not_private <= delta
        outputs += found.outputs
    assert outputs > 40


@pytest.mark.parametrize("population", cells_only(2, 3, (6, 10), 4))
def test_exact_on_cells_only(population: Population) -> None:
    found = examine(population, certain(Twin(population, EPSILON, DELTA / 3).exact), EPSILON)
    assert found.released > Fraction(1, 4)
    assert found.moving == 0
    assert found.not_private <= DELTA


@pytest.mark.parametrize(
    "population", [*cells_only(3, 3, (3, 6), 2), *sums_then_cells(4, (2, 3), 1)], ids=["1x3", "1x3", "2x2"]
)
def test_sampled_with_its_coins(population: Population) -> None:
    twin = Twin(population, EPSILON, DELTA / len(population.queries))
    found = examine(population, twin.sampled, EPSILON)
    assert found.released > 0
    assert found.moving == 0
    assert found.not_private <= DELTA


@pytest.mark.parametrize("population", [*cells_only(5, 3, (3, 6), 2), *sums_then_cells(6, (2, 3), 2)])
def test_a_suppressor_that_reads_the_value_is_caught(population: Population) -> None:
    twin = Twin(population, EPSILON, DELTA / len(population.queries))
    found = examine(population, certain(twin.peeking), EPSILON)
    assert found.moving > found.outputs / 4
    assert found.largest_move > Fraction(1, 100)


def test_ordinary_suppression_is_caught() -> None:
    for population in cells_only(7, 4, (4, 5), 2):
        table = with_totals(population, 2, 2)
        found = examine(table, certain(printed(table, 4, ordinary(2, 2, sensitive=1))), EPSILON)
        assert found.moving > 0
        assert found.largest_move > Fraction(1, 100)
        assert found.not_private > DELTA


def with_totals(population: Population, rows: int, columns: int) -> Population:
    """The row totals and the column totals of a table before its cells."""
    lines = [frozenset(row * columns + column for column in range(columns)) for row in range(rows)]
    lines += [frozenset(row * columns + column for row in range(rows)) for column in range(columns)]
    return Population(population.groups, (*lines, *population.queries))


def printed(
    population: Population, n_totals: int, stars: Callable[[tuple[int, ...]], frozenset[int]]
) -> Callable[[Counts], Output]:
    """All totals, and the cells without a star."""

    def decide(counts: Counts) -> Output:
        values = population.values(counts)
        starred = {n_totals + cell for cell in stars(values[n_totals:])}
        return tuple(None if query in starred else value for query, value in enumerate(values))

    return decide


def test_the_suppressor_of_two_cells_is_the_golden_one() -> None:
    case = golden("tables")["suppressor_1x2"]
    groups = tuple(Group(b, Fraction(p)) for b, p in zip(case["b"], case["p"], strict=True))
    population = Population(groups, (frozenset({0}), frozenset({1})))
    twin = Twin(population, Fraction(case["epsilon"]), Fraction(case["delta"]) / case["T"])
    assert twin.unsafe_probability((), 0) == Fraction(case["unsafe_probability_cell_1"])
    patterns: dict[str, Fraction] = {}
    for counts, weight in population.worlds().items():
        pattern = "".join("*" if value is None else "." for value in twin.exact(counts))
        chance = Fraction(weight, population.whole())
        patterns[pattern] = patterns.get(pattern, Fraction(0)) + chance
    assert patterns == {pattern: Fraction(chance) for pattern, chance in case["patterns"].items()}


@pytest.mark.parametrize("case", golden("tables")["algorithm3"], ids=lambda case: f"T={case['T']}")
def test_algorithm_3_releases_as_often_as_the_golden_figures(case: dict[str, float]) -> None:
    q = Fraction(str(case["delta"])) / int(case["T"])
    assert float(release_chance(q, q)) == pytest.approx(
        case["release_probability_at_delta_over_T"], abs=2**-29
    )


def by_cells(
    population: Population, epsilon: Fraction, decision_delta: Fraction
) -> Callable[[Counts], Output]:
    """`suppress_cells`, run on a world."""
    people = np.array([group.people for group in population.groups])
    rates = rates_of(population)

    def decide(counts: Counts) -> Output:
        decided = suppress_cells(people, rates, counts, epsilon=epsilon, decision_delta=decision_delta)
        return tuple(
            value if released else None for value, released in zip(counts, decided.released, strict=True)
        )

    return decide


def rates_of(population: Population) -> Rates:
    return Rates(
        numerator=np.array([group.rate.numerator for group in population.groups]),
        denominator=np.array([group.rate.denominator for group in population.groups]),
    )


@pytest.mark.parametrize("population", cells_only(8, 3, (5, 9), 3))
def test_the_engines_cells_equal_the_twin_on_every_world(population: Population) -> None:
    decide = by_cells(population, EPSILON, DELTA / 3)
    twin = Twin(population, EPSILON, DELTA / 3)
    assert all(decide(counts) == twin.exact(counts) for counts in population.worlds())
    found = examine(population, certain(decide), EPSILON)
    assert (found.moving, found.not_private <= DELTA) == (0, True)
