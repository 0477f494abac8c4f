"""How many workers the exponential mechanism redraws: the quick form against the exact law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from mapapp.answers.errors.redrawn_workers import FULLNESS, expect_redrawn
from tests.oracles.exponential import law, mean_squared_error, multisets, redrawn_law

FloatArray = npt.NDArray[np.float64]
TABLES = [(1,), (2,), (5,), (1,) * 6, (2, 1, 1), (5, 3, 1, 1), (3, 3, 3), (4,) + (1,) * 8]


def exact_moments(table: tuple[int, ...], n_points: int, theta: Fraction) -> tuple[float, float]:
    """Mean and variance of the number of redrawn workers."""
    weights = [chance * multisets(r, n_points) for r, chance in enumerate(redrawn_law(table, theta))]
    total = sum(weights)
    mean = sum((r * weight for r, weight in enumerate(weights)), start=Fraction(0)) / total
    square = sum((r * r * weight for r, weight in enumerate(weights)), start=Fraction(0)) / total
    return float(mean), float(square - mean**2)


@pytest.mark.parametrize("n_points", [20, 219])
@pytest.mark.parametrize("inverse", [4, 27, 600])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_redrawn_workers_are_those_of_the_exact_law(
    table: tuple[int, ...], inverse: int, n_points: int
) -> None:
    found = expect_redrawn(n_points, 1 / inverse, np.array([0]), np.array(table))
    mean, variance = exact_moments(table, n_points, Fraction(1, inverse))
    assert found.of_table[0] == pytest.approx(mean, rel=1e-2 if len(table) == 1 else 0.06)
    assert 0.6 * variance < found.variance_of_table[0] < 1.2 * variance
    assert found.mean.sum() == pytest.approx(found.of_table[0])


@pytest.mark.parametrize("shown", [{0}, {1}, {0, 1, 2}, set(range(10)), {19}])
@pytest.mark.parametrize("inverse", [8, 60, 600])
def test_the_error_of_a_count_is_about_the_exact_one(inverse: int, shown: set[int]) -> None:
    """Bias and variance as `mapapp.answers.errors.exponential_mechanism` adds them up, from redrawn workers."""
    counts, k = (4, 3, 2, 1, 1, 1, 1), 20
    found = expect_redrawn(k, 1 / inverse, np.array([0]), np.array(counts))
    s = np.array([float(point in shown) for point in range(k)])
    mean, mine = s.mean(), s[: len(counts)]
    freed = found.of_table[0]
    bias = freed * mean - (found.mean * mine).sum()
    gained = (freed**2 + found.variance_of_table[0] + k * freed) / (k + 1)
    variance = (found.variance * (mine - mean) ** 2).sum() + gained * (mean - mean**2)
    exact = mean_squared_error(counts + (0,) * (k - len(counts)), shown, Fraction(1, inverse))
    assert 0.95 < np.sqrt((bias**2 + variance) / float(exact)) < 1.25


def test_tables_are_redrawn_one_by_one() -> None:
    """Several tables at once give what each gives alone."""
    tables = [(3, 1), (1,), (2, 2, 2)]
    first = np.array([0, 2, 3])
    together = expect_redrawn(50, 1 / 30, first, np.concatenate(tables))
    for number, table in enumerate(tables):
        alone = expect_redrawn(50, 1 / 30, np.array([0]), np.array(table))
        assert together.of_table[number] == pytest.approx(alone.of_table[0], rel=5e-3)


def test_more_noise_redraws_more() -> None:
    counts = np.array([6, 2, 1, 1])
    freed = [
        expect_redrawn(100, theta, np.array([0]), counts).of_table[0]
        for theta in (1e-4, 1e-3, 1e-2, 0.1, 0.9)
    ]
    assert np.all(np.diff(freed) > 0)
    assert freed[-1] < counts.sum()


@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize(("inverse", "price"), [(40, 0.4), (50, 0.36), (600, 0.8)])
def test_with_a_price_released_counts_are_those_of_the_law(
    table: tuple[int, ...], inverse: int, price: float
) -> None:
    """A point loses its redrawn workers, and every point gains the same number of those spread evenly."""
    k, n = 219, sum(table)
    found = expect_redrawn(k, 1 / inverse, np.array([0]), np.array(table), price)
    gained = found.of_table[0] / k
    assert found.mean.sum() == pytest.approx(found.of_table[0])
    drawn = np.arange(n + 1)

    def of_point(count: int) -> FloatArray:
        weights: FloatArray = (1 / inverse) ** np.maximum(count - drawn, 0) * np.where(drawn > 0, price, 1.0)
        return weights

    counts = [*table, *[0] * (k - len(table))]
    for point, lost in enumerate(found.mean):
        others = np.eye(1, n + 1)[0]
        for count in counts[:point] + counts[point + 1 :]:
            others = np.convolve(others, of_point(count))[: n + 1]
        weights = of_point(table[point]) * others[::-1]
        mean = weights @ drawn / weights.sum()
        assert table[point] - lost + gained == pytest.approx(mean, abs=0.06 * (table[point] - mean) + 1e-4)


@pytest.mark.parametrize("inverse", [2, 6, 40])
@pytest.mark.parametrize("full", [1, 2, 3, 5])
def test_what_a_full_point_keeps_is_what_all_releases_of_its_table_say(full: int, inverse: int) -> None:
    """A table of five workers over six points, one of which has several; every release by the exact law."""
    counts = (full,) + (1,) * (5 - full)
    k, theta = 6, Fraction(1, inverse)
    real = counts + (0,) * (k - len(counts))
    arrived = exact_moments(counts, k, theta)[0] / k
    shown = sum(float(chance) * released[0] for released, chance in law(real, theta).items())
    found = expect_redrawn(k, 1 / inverse, np.array([0]), np.array(counts))
    kept = 1.0 - found.lost_at[0, FULLNESS.tolist().index(full)] / full
    assert kept == pytest.approx((shown - arrived) / full, abs=0.03)
