"""Keep-or-redraw and projected geometric noise keep their promises by brute force, in exact fractions."""

from fractions import Fraction
from itertools import product

import pytest

from tests.oracles.exponential import law as exponential_law
from tests.oracles.exponential import moves, tables
from tests.oracles.mechanisms import excess
from tests.oracles.unit_mechanisms import (
    geometric_law,
    keep_or_redraw_law,
    level_and_surplus,
    projections,
    stay_chance,
)


@pytest.mark.parametrize("growth", [Fraction(3, 2), Fraction(8), Fraction(7943)], ids=str)
@pytest.mark.parametrize(("n", "k"), [(1, 2), (1, 4), (3, 2), (2, 3), (4, 3), (3, 4)])
def test_keep_or_redraw_is_within_epsilon_and_reaches_it(n: int, k: int, growth: Fraction) -> None:
    laws = {table: keep_or_redraw_law(table, growth) for table in tables(n, k)}
    assert all(sum(law.values()) == 1 for law in laws.values())
    worst = max(
        chance / laws[other][released]
        for table, law in laws.items()
        for other in moves(table)
        for released, chance in law.items()
    )
    assert worst == growth


def test_a_lone_worker_has_the_same_law_under_keep_or_redraw_and_the_exponential_mechanism() -> None:
    growth = Fraction(2981, 1)
    lone = keep_or_redraw_law((0, 1, 0, 0), growth)
    assert lone == exponential_law((0, 1, 0, 0), 1 / growth)
    assert lone[0, 1, 0, 0] == stay_chance(4, growth) == growth / (growth + 3)


@pytest.mark.parametrize(("n", "k"), [(1, 2), (4, 2), (3, 3), (5, 3)])
def test_a_projection_is_a_nearest_table_of_the_public_total(n: int, k: int) -> None:
    for noisy in product(range(7), repeat=k):
        found = projections(noisy, n)
        cost = {
            table: sum((count - noise) ** 2 for count, noise in zip(table, noisy, strict=True))
            for table in tables(n, k)
        }
        least = min(cost.values())
        assert len(set(found)) == len(found) > 0
        assert set(found) == {table for table, value in cost.items() if value == least}


def test_a_projection_leaves_a_table_of_the_right_total_alone() -> None:
    assert projections((4, 0, 1), 5) == [(4, 0, 1)]
    assert level_and_surplus((4, 0, 1), 5) == (0, 0)
    assert level_and_surplus((0, 0), 3) == (-2, 1)


@pytest.mark.parametrize("q", [Fraction(1, 3), Fraction(7, 10)], ids=str)
@pytest.mark.parametrize(("n", "k"), [(1, 2), (3, 2), (2, 3)])
def test_projected_geometric_noise_is_within_epsilon(n: int, k: int, q: Fraction) -> None:
    # Noisy counts end at 7 here, with the chance of more on 7: coarser, so within epsilon all the same.
    laws = {table: geometric_law(table, q, 7) for table in tables(n, k)}
    for table, law in laws.items():
        assert sum(law.values()) == 1
        assert all(excess(law, laws[other], q**-2) == 0 for other in moves(table))
