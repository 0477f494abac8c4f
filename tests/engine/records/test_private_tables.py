"""Noisy tables keep their promise: exact laws for neighboring data on tiny domains, and noise that has these laws."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from engine.records.structure import Structure
from engine.records.tables import learn_model
from engine.streams import SecretKey, attempt_key
from tests.oracles.records_model import Record, all_records, family_counts, noisy_count_chance

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6
Q = Fraction(3, 5)
"""e^-rate, a rational one, so that chances of whole tables are exact."""
TOP = 6
STRUCTURE = Structure(domain=(2, 2), parents=((), (0,)))


def table_chance(records: tuple[Record, ...], child: int, noisy: dict[tuple[int, int], int]) -> Fraction:
    """Chance of one noisy table."""
    counted = family_counts(STRUCTURE, list(records), child)
    chance = Fraction(1)
    for cell, value in noisy.items():
        chance *= noisy_count_chance(counted[cell], value, Q)
    return chance


def most_ratio(one: tuple[Record, ...], other: tuple[Record, ...], child: int) -> Fraction:
    """Largest ratio of the chances of a table under two data sets, either way: cells are independent.

    The ratio of a cell no longer changes from its larger count on, so values up to TOP are all that matter.
    """
    cells = list(product(range(STRUCTURE.n_configurations(child)), range(STRUCTURE.domain[child])))
    ratios = [
        table_chance(one, child, dict(zip(cells, values, strict=True)))
        / table_chance(other, child, dict(zip(cells, values, strict=True)))
        for values in product((0, 1, TOP), repeat=len(cells))
    ]
    return max(*ratios, *(1 / ratio for ratio in ratios))


@pytest.mark.parametrize("n", range(3))
def test_adding_a_record_changes_each_table_by_one_rate_at_most(n: int) -> None:
    for records in combinations_with_replacement(all_records(STRUCTURE), n):
        for added in all_records(STRUCTURE):
            by_table = [most_ratio(records, (*records, added), child) for child in range(2)]
            assert by_table == [1 / Q, 1 / Q]


def test_replacing_a_record_changes_each_table_by_two_rates_at_most() -> None:
    worst = max(
        most_ratio((one,), (other,), child)
        for one in all_records(STRUCTURE)
        for other in all_records(STRUCTURE)
        for child in range(2)
    )
    assert worst == 1 / Q**2


def test_chances_of_a_noisy_count_add_up() -> None:
    for count in range(5):
        listed = sum(noisy_count_chance(count, value, Q) for value in range(count + 40))
        rest = Q ** (40) / (1 + Q)
        assert listed + rest == 1


@pytest.mark.parametrize("child", [0, 1])
def test_noise_of_a_model_has_the_exact_law(child: int) -> None:
    """Models of one data set with many keys; each table has half of the epsilon."""
    codes = np.array([[0, 0]] * 3 + [[1, 0]] + [[1, 1]] * 2, dtype=np.int32)
    counted = family_counts(STRUCTURE, [tuple(row) for row in codes.tolist()], child)
    n_runs, epsilon = 600, Fraction(2)
    q = Fraction(float(np.exp(-1.0)))
    seen: dict[tuple[int, int], Counter[int]] = {}
    for run in range(1, n_runs + 1):
        model = learn_model(
            codes, STRUCTURE, epsilon=epsilon, key=attempt_key(KEY, run), alpha=Fraction(1, 1000)
        )
        for cell, weight in np.ndenumerate(model.weights(child)):
            value, rest = divmod(int(weight) - 1, 1000)
            assert rest == 0
            seen.setdefault(cell, Counter())[min(value, TOP)] += 1
    for cell, values in seen.items():
        chances = [float(noisy_count_chance(counted[cell], value, q)) for value in range(TOP)]
        expected = np.array([*chances, 1 - sum(chances)]) * n_runs
        observed = np.array([values[value] for value in range(TOP + 1)])
        assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM
