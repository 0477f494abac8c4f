"""The plain twin of the exponential mechanism: laws, normalizers and promises by brute force, in exact fractions.

Chi-square tests have a false-alarm rate of 1e-6 each; the seeds are fixed, so a test that passes goes on passing.
"""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.engine.test_synthesis_law import assert_follows
from tests.golden import golden
from tests.oracles import exponential as twin
from tests.oracles.exponential_draws import by_moves, by_redrawing, by_suffixes, removal_base
from tests.oracles.mechanisms import exponential as e_to_minus

THETAS = [Fraction(1, 10_000), Fraction(1, 27), Fraction(1, 4), Fraction(3, 5), Fraction(99, 100)]
Extremes = dict[tuple[tuple[int, ...], tuple[int, ...]], int]
Pairs = dict[tuple[int, int], Extremes]
Sampler = Callable[["Seeded", tuple[int, ...], Fraction], tuple[int, ...]]
SIZES = [(n, k) for n in range(1, 7) for k in range(2, 6)]


def e_to(epsilon: str) -> Fraction:
    """A fraction just below e^epsilon."""
    return Fraction(int(2**80 / e_to_minus(Fraction(epsilon))), 2**80)


def extremes(n: int, k: int) -> Extremes:
    """For each pair of neighbors (Z counts of both, most workers by which an output is nearer to the first)."""
    tables = np.array(list(twin.tables(n, k)))
    apart = np.abs(tables[:, None] - tables[None]).sum(axis=2) // 2
    counts = [np.bincount(row, minlength=n + 1).tolist() for row in apart]
    found: Extremes = {}
    for one, other in zip(*np.nonzero(apart == 1), strict=True):
        pair = (tuple(counts[one]), tuple(counts[other]))
        found[pair] = max(found.get(pair, 0), int((apart[other] - apart[one]).max()))
    return found


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return {size: extremes(*size) for size in SIZES}


def worst(pairs: Extremes, theta: Fraction) -> Fraction:
    return max(
        theta**-nearer * twin.normalizer(other, theta) / twin.normalizer(one, theta)
        for (one, other), nearer in pairs.items()
    )


@pytest.mark.parametrize("case", golden("exponential")["laws"], ids=lambda case: str(case["x"]))
def test_laws_and_normalizers_equal_the_golden_fractions(case: dict[str, Any]) -> None:
    table, theta = tuple(case["x"]), Fraction(case["theta"])
    wanted = {tuple(map(int, key.split(","))): Fraction(chance) for key, chance in case["law"].items()}
    assert twin.law(table, theta) == wanted
    assert twin.law_by_redrawing(table, theta) == wanted
    normalizer = Fraction(case["normaliser"])
    assert twin.normalizer(twin.counted_by_enumeration(table), theta) == normalizer
    assert twin.normalizer(twin.counted_by_convolution(table, len(table)), theta) == normalizer
    assert twin.normalizer_by_redrawing(table, theta) == normalizer


@pytest.mark.parametrize("case", golden("exponential")["ratios"], ids=lambda case: f"{case['n']},{case['k']}")
def test_worst_ratios_equal_the_golden_fractions(case: dict[str, Any]) -> None:
    n, k, theta = case["n"], case["k"], Fraction(case["theta"])
    assert twin.worst_ratio(n, k, theta) == Fraction(case["worst_ratio"])
    assert twin.certified_ratio(n, k, theta) == Fraction(case["certified"])


@pytest.mark.parametrize("case", golden("exponential")["expected_moved"], ids=lambda case: str(case["x"]))
def test_expected_moves_equal_the_golden_fractions(case: dict[str, Any]) -> None:
    table, theta = tuple(case["x"]), Fraction(case["theta"])
    counts = twin.counted_by_convolution(table, len(table))
    assert twin.expected_moved(counts, theta) == Fraction(case["value"])
    by_table = sum(chance * twin.distance(table, other) for other, chance in twin.law(table, theta).items())
    assert by_table == Fraction(case["value"])


@pytest.mark.parametrize(
    "case", golden("exponential")["inverse_theta"], ids=lambda case: f"{case['epsilon']},{case['k']}"
)
def test_inverse_theta_agrees_with_the_golden_figures(case: dict[str, Any]) -> None:
    growth = e_to(case["epsilon"])
    t = twin.inverse_theta_of_bound(case["k"], growth)
    assert t / twin.THETA_UNITS == pytest.approx(case["inverse_theta_below"], abs=6e-5)
    assert float(growth) == pytest.approx(case["n_1"], abs=6e-5)
    assert float(growth) ** 0.5 == pytest.approx(case["alternative_half"], abs=6e-5)
    units = twin.THETA_UNITS
    assert twin.certified_ratio(2, case["k"], Fraction(units, t)) <= growth
    assert twin.certified_ratio(2, case["k"], Fraction(units, t + 1)) > growth


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_normalizers_agree_three_ways(size: tuple[int, int]) -> None:
    for table in twin.tables(*size):
        counts = twin.counted_by_convolution(table, size[1])
        assert counts == twin.counted_by_enumeration(table)
        assert twin.normalizer(counts, Fraction(2, 7)) == twin.normalizer_by_redrawing(table, Fraction(2, 7))


@pytest.mark.parametrize("theta", THETAS, ids=str)
def test_no_worst_ratio_exceeds_a_bound_and_the_exact_one_is_attained(pairs: Pairs, theta: Fraction) -> None:
    for n, k in SIZES:
        found = worst(pairs[n, k], theta)
        assert found == twin.exact_ratio(n, k, theta)
        assert found == twin.partition_ratio(n, k, theta)
        assert found <= twin.sharp_ratio(n, k, theta)
        assert twin.sharp_ratio(n, k, theta) <= twin.certified_ratio(n, k, theta)
        assert found <= twin.halved_ratio(theta)


@pytest.mark.parametrize("k", [2, 3, 5, 40, 433])
@pytest.mark.parametrize(
    "theta", [Fraction(1, 7523), Fraction(1, 27), Fraction(1, 3), Fraction(4, 5)], ids=str
)
def test_the_exact_ratio_is_that_of_all_partitions_and_grows_with_n_to_its_limit(
    k: int, theta: Fraction
) -> None:
    ratios = [twin.exact_ratio(n, k, theta) for n in range(1, 13)]
    assert ratios == [twin.partition_ratio(n, k, theta) for n in range(1, 13)]
    assert ratios == sorted(ratios)
    limit = twin.sharp_ratio(2, k, theta)
    assert ratios[-1] <= limit <= min(twin.certified_ratio(2, k, theta), twin.halved_ratio(theta))


@pytest.mark.parametrize(
    ("k", "theta"), [(2, Fraction(1, 3)), (40, Fraction(1, 5)), (150, Fraction(1, 7523))], ids=str
)
def test_the_sharp_bound_is_the_limit_of_the_exact_ratio(k: int, theta: Fraction) -> None:
    assert 1 - 1e-6 < float(twin.exact_ratio(60, k, theta) / twin.sharp_ratio(60, k, theta)) <= 1


@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
def test_a_small_total_allows_less_noise_than_the_bound(n: int) -> None:
    growth, k = e_to("4"), 219
    by_bound = twin.inverse_theta_of_bound(k, growth)
    t = twin.inverse_theta(lambda theta: twin.exact_ratio(n, k, theta), growth)
    assert t > twin.inverse_theta_of_bound(k, growth, sharp=True) > by_bound
    assert t == twin.inverse_theta_of_total(n, k, growth)
    assert twin.partition_ratio(n, k, Fraction(twin.THETA_UNITS, t)) <= growth
    assert twin.exact_ratio(n, k, Fraction(twin.THETA_UNITS, t + 1)) > growth
    if n == 2:
        assert t / twin.THETA_UNITS == pytest.approx(43.3, abs=0.05)
        assert by_bound / twin.THETA_UNITS == pytest.approx(27.3, abs=0.05)
        assert t == twin.inverse_theta(lambda theta: twin.partition_ratio(n, k, theta), growth)


@pytest.mark.parametrize(("epsilon", "k"), [("8.98", 433), ("2", 150), ("0.3", 30)])
def test_noise_for_the_total_is_never_more_than_the_bound_needs_and_grows_to_it(epsilon: str, k: int) -> None:
    growth = e_to(epsilon)
    found = [twin.inverse_theta_of_total(n, k, growth) for n in (1, 2, 3, 10, 60, 400)]
    assert found[0] == int(growth * twin.THETA_UNITS)
    assert found == sorted(found, reverse=True)
    limit = twin.inverse_theta_of_bound(k, growth, sharp=True)
    assert limit <= found[-1] <= limit * 1.001


def test_the_sharp_bound_has_a_theta_for_every_epsilon_and_the_other_two_do_not() -> None:
    for epsilon, k in [("0.05", 100), ("0.6", 30), ("1.2", 3), ("1.3", 400)]:
        growth = e_to(epsilon)
        theta = Fraction(twin.THETA_UNITS, twin.inverse_theta_of_bound(k, growth, sharp=True))
        assert twin.sharp_ratio(2, k, theta) <= growth < twin.halved_ratio(theta)
    assert twin.inverse_theta_of_bound(30, e_to("0.6")) == 0
    with pytest.raises(ValueError, match="no theta"):
        twin.inverse_theta(lambda theta: twin.certified_ratio(2, 30, theta), e_to("0.6"))


@pytest.mark.parametrize("theta", [Fraction(1, 50), Fraction(2, 5), Fraction(9, 10)], ids=str)
def test_each_step_of_the_proof_holds_as_an_equation(theta: Fraction) -> None:
    for n, k in SIZES:
        for table in twin.tables(n, k):
            here, there = table[0], table[1]
            if there == 0:
                continue
            other = (here + 1, there - 1, *table[2:])
            signed = range(there, here + 1), range(here + 1, there)
            gain = sum(
                chance * (1 - theta) * sign * theta**t * twin.multisets(rest + t, k - 1)
                for rest, chance in enumerate(twin.redrawn_law(table[2:], theta))
                for sign, steps in zip((1, -1), signed, strict=True)
                for t in steps
            )
            first, second = (
                twin.normalizer(twin.counted_by_convolution(each, k), theta) for each in (table, other)
            )
            assert first - second == gain


@pytest.mark.parametrize(("n", "k"), SIZES, ids=str)
def test_the_exact_ratio_falls_with_theta_since_these_counts_do(n: int, k: int) -> None:
    apart = twin.counted_by_enumeration((n - 1, 1, *[0] * (k - 2)))
    together = twin.counted_by_enumeration((n, *[0] * (k - 1)))
    falling = [Fraction(apart[moved], together[moved - 1]) for moved in range(1, n + 1)]
    assert falling == sorted(falling, reverse=True)
    ratios = [twin.exact_ratio(n, k, Fraction(step, 40)) for step in range(1, 41)]
    assert all(first > second for first, second in pairwise(ratios))


class Seeded:
    """Whole numbers from Python's generator; ``n_asked`` counts them."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self.n_asked = 0

    def below(self, bound: int) -> int:
        self.n_asked += 1
        return self._random.randrange(bound)


DRAWN = [
    ((2, 1, 0), Fraction(1, 10)),
    ((1, 1, 1), Fraction(1, 5)),
    ((1, 0, 0, 0), Fraction(2, 5)),
    ((3, 0), Fraction(1, 2)),
    ((2, 0, 0, 0, 0), Fraction(3, 5)),
]


@pytest.mark.parametrize(
    "sampler", [by_suffixes, by_moves, by_redrawing], ids=lambda sampler: sampler.__name__
)
@pytest.mark.parametrize(("table", "theta"), DRAWN, ids=str)
def test_the_samplers_follow_the_law(sampler: Sampler, table: tuple[int, ...], theta: Fraction) -> None:
    source = Seeded(f"{table} {theta}")
    drawn = Counter(sampler(source, table, theta) for _ in range(1_200))
    assert_follows(drawn, twin.law(table, theta))


def test_both_cases_of_the_removals_were_drawn() -> None:
    bases = [removal_base(sum(count > 0 for count in table), len(table), theta)[0] for table, theta in DRAWN]
    assert min(bases) < 1 < max(bases)


@pytest.mark.parametrize("k", [2, 3])
def test_redrawing_asks_for_few_numbers_even_where_almost_nobody_stays(k: int) -> None:
    # Removing and adding independently takes thousands here.
    source, table, theta = Seeded("few"), (3, 2, *[1] * (k - 2)), Fraction(99, 100)
    drawn = Counter(by_redrawing(source, table, theta) for _ in range(500))
    assert_follows(drawn, twin.law(table, theta))
    assert source.n_asked / 500 < 60


def test_expected_moves_quickly_and_exactly() -> None:
    cases = [((5, 4, 3, 3, 2, 1, 1, 1) * 4, 60, Fraction(1, 4)), ((1,) * 40, 150, Fraction(1, 27))]
    for parts, k, theta in cases:
        exact = float(twin.expected_moved(twin.counted_by_convolution(parts, k), theta))
        assert exact > 8
        assert twin.quick_expected_moved(parts, k, float(theta)) == pytest.approx(exact, rel=0.02)
    apart = twin.counted_by_convolution((1,) * 6, 40)
    closed = [twin.multisets(0, 1)] + [0] * 6
    for taken in range(1, 7):
        ways = twin.multisets(6 - taken, taken + 1)
        closed[taken] = ways * twin.multisets(taken, 40 - taken)
    assert apart == closed


@pytest.mark.parametrize("theta", [Fraction(1, 500), Fraction(1, 27), Fraction(2, 3)], ids=str)
@pytest.mark.parametrize(
    ("table", "shown"),
    [((2, 1, 1, 0, 0), {0}), ((2, 1, 1, 0, 0), {1, 3}), ((3, 0, 1), {1, 2}), ((1, 0), {0, 1})],
)
def test_the_error_of_a_count_is_exact(table: twin.Table, shown: set[int], theta: Fraction) -> None:
    def count(counts: twin.Table) -> int:
        return sum(counts[point] for point in shown)

    error = sum(
        chance * (count(released) - count(table)) ** 2 for released, chance in twin.law(table, theta).items()
    )
    assert twin.mean_squared_error(table, shown, theta) == error


def test_the_quick_error_of_a_count_understates_the_loss_of_a_point_with_several_workers() -> None:
    # It spreads the losses evenly over occupied points; in fact a fuller point loses more.
    table, theta = (3, *[1] * 5, *[0] * 60), Fraction(1, 27)
    moved = float(twin.expected_moved(twin.counted_by_convolution(table, 66), theta))
    ratios = [
        twin.quick_count_error(moved * len(shown) / 66, moved * occupied / 6)
        / float(twin.mean_squared_error(table, shown, theta)) ** 0.5
        for shown, occupied in [({0}, 1), ({3}, 1), ({10}, 0)]
    ]
    assert ratios[0] < 0.7
    assert 0.8 < min(ratios[1:]) < max(ratios[1:]) < 1.4
