"""Keep-or-redraw and projected geometric noise: the compiled draws against their exact laws."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from engine.comparison.randomizing import geometric_histogram, keep_or_redraw
from engine.errors import ParameterError
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.thetas import inverse_theta
from engine.parameters import Unit
from engine.streams import SecretKey
from engine.support.support_table import SupportTable
from tests.oracles.mechanisms import Law
from tests.oracles.unit_mechanisms import geometric_law, keep_or_redraw_law

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6
MECHANISMS = [keep_or_redraw, geometric_histogram]


def of_table(table: tuple[int, ...], times: int) -> tuple[Synthesizers, SupportTable]:
    """The same table of workers many times, each a synthesizer with streams of its own."""
    n, k = sum(table), len(table)
    points = np.repeat(np.arange(k), table).astype(np.int32)
    synthesizers = Synthesizers(
        tract=np.zeros(times, dtype=np.int32),
        destination=np.arange(times),
        segment=np.zeros(times, dtype=np.int64),
        worker_ptr=np.arange(times + 1) * n,
        worker_point=np.tile(points, times),
        min_prior_weight=np.ones(times, dtype=np.int64),
    )
    return synthesizers, support_of([k])


def support_of(sizes: list[int]) -> SupportTable:
    total = sum(sizes)
    return SupportTable(
        support_ptr=np.append(0, np.cumsum(sizes)),
        base_weight=np.ones(total, dtype=np.int64),
        retention=np.full(total, 1 << 32),
    )


def drawn_tables(drawn: SyntheticPoints, k: int) -> Counter[tuple[int, ...]]:
    n = int(drawn.synthetic_ptr[1])
    points = drawn.synthetic_point.reshape(-1, n)
    assert (np.diff(points, axis=1) >= 0).all()
    return Counter(
        map(tuple, np.stack([(points == point).sum(axis=1) for point in range(k)], axis=1).tolist())
    )


def p_value(found: Counter[tuple[int, ...]], law: Law, times: int) -> float:
    """Chi-square with rare tables taken together."""
    assert set(found) <= set(law)
    expected = sorted((float(chance) * times, found[table]) for table, chance in law.items())
    common = [(mean, seen) for mean, seen in expected if mean >= 8]
    rare = [(mean, seen) for mean, seen in expected if mean < 8]
    if rare and sum(mean for mean, _ in rare) >= 8:
        common.append((sum(mean for mean, _ in rare), sum(seen for _, seen in rare)))
    statistic = sum((seen - mean) ** 2 / mean for mean, seen in common)
    return float(stats.chi2.sf(statistic, len(common) - 1))


@pytest.mark.parametrize("epsilon", ["0.25", "1.5", "4"])
@pytest.mark.parametrize("table", [(1, 0, 0), (2, 1, 0), (3, 0), (0, 2, 2, 1)])
def test_keep_or_redraw_follows_its_law(table: tuple[int, ...], epsilon: str) -> None:
    """Fixed key; one false alarm in a million for each case."""
    times = 40_000
    found = drawn_tables(keep_or_redraw(KEY, *of_table(table, times), epsilon=epsilon), len(table))
    odds = Fraction(inverse_theta(Fraction(epsilon), 1, 1), 1 << 20)
    assert p_value(found, keep_or_redraw_law(table, odds), times) > FALSE_ALARM


@pytest.mark.parametrize("epsilon", ["1.5", "4"])
@pytest.mark.parametrize("table", [(1, 0, 0), (2, 1, 0), (3, 0), (5, 0, 1)])
def test_projected_noise_follows_its_law(table: tuple[int, ...], epsilon: str) -> None:
    """Fixed key; one false alarm in a million for each case. Noise above the top has a chance below one in 10^6."""
    times, top = 40_000, 18
    found = drawn_tables(geometric_histogram(KEY, *of_table(table, times), epsilon=epsilon), len(table))
    q = Fraction(float(np.exp(-float(epsilon) / 2))).limit_denominator(
        1000
    )  # far within what chi-square sees
    law = geometric_law(table, q, top)
    assert p_value(found, law, times) > FALSE_ALARM


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("unit", ["cell", "block", "tract"])
def test_totals_stay_and_neither_threads_nor_order_change_a_worker(mechanism: object, unit: Unit) -> None:
    assert callable(mechanism)
    rng = np.random.default_rng(4)
    n = rng.integers(0, 9, 60)
    cells = Synthesizers(
        tract=np.repeat([0, 1], 30).astype(np.int32),
        destination=np.repeat(np.arange(20), 3),
        segment=np.tile(np.arange(3), 20),
        worker_ptr=np.append(0, np.cumsum(n)),
        worker_point=rng.integers(0, 7, n.sum()).astype(np.int32),
        min_prior_weight=np.ones(60, dtype=np.int64),
    )
    numbers = np.array([70, 3])
    one = mechanism(KEY, cells, support_of([7, 9]), epsilon="2", unit=unit, tract_number=numbers)
    two = mechanism(KEY, cells, support_of([7, 9]), epsilon="2", unit=unit, tract_number=numbers, threads=3)
    np.testing.assert_array_equal(one.synthetic_point, two.synthetic_point)
    np.testing.assert_array_equal(np.diff(one.synthetic_ptr), n)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", ["0", "-1", "26", "nan"])
def test_an_epsilon_out_of_range_is_refused(mechanism: object, epsilon: str) -> None:
    assert callable(mechanism)
    with pytest.raises(ParameterError, match="epsilon is"):
        mechanism(KEY, *of_table((1, 1), 1), epsilon=epsilon)
