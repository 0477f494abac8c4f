"""Estimates from projected geometric noise, against the law of one point."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from mapapp.answers.projected_points import ProjectedPoints, projected_points

Q = math.exp(-1.0)
K = 400.0


def estimates_by_law(q: float, found: ProjectedPoints, real: int) -> tuple[float, float, float]:
    """Mean of T, variance of T, and mean of V of a point with so many real workers: every noise up to +-400."""
    lowered = float(found.lowered[0])
    whole, part = math.floor(lowered), lowered % 1.0
    noise = np.arange(-400, 401)
    chance = (1 - q) / (1 + q) * q ** np.abs(noise)
    above = np.maximum(real + noise - whole, 0)
    shown = np.stack([above, np.maximum(above - 1, 0)])
    weight = np.stack([(1 - part) * chance, part * chance])
    t = np.where(shown > 0, shown + lowered, found.empty[0])
    v = np.where(shown > 0, found.variance[0], found.empty_variance[0])
    mean = float((weight * t).sum())
    return mean, float((weight * t**2).sum()) - mean**2, float((weight * v).sum())


@pytest.mark.parametrize("shown", [380.0, 200.0, 40.0])
@pytest.mark.parametrize("q", [Q, 0.1])
def test_empty_and_full_points_are_estimated_without_bias(q: float, shown: float) -> None:
    found = projected_points(q, np.array([shown]), K)
    assert estimates_by_law(q, found, 100)[0] == pytest.approx(100, abs=1e-9)
    mean, variance, stated = estimates_by_law(q, found, 0)
    assert mean == pytest.approx(0, abs=1e-9)
    assert stated == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("epsilon", [4.0, 6.5])
def test_full_points_vary_by_their_noise_and_by_which_of_them_lose_one_more(epsilon: float) -> None:
    """300 projections of 400 points, of which 150 are empty; the others have 60 workers each."""
    q, draw = math.exp(-epsilon / 2), np.random.default_rng(12)
    real = np.repeat([0, 60], [150, 250])
    errors, stated = [], []
    for _ in range(300):
        noisy = np.maximum(real + draw.geometric(1 - q, real.size) - draw.geometric(1 - q, real.size), 0)
        shown = projected(noisy, int(real.sum()), draw)
        found = projected_points(q, np.array([np.count_nonzero(shown)], dtype=np.float64), float(real.size))
        errors.append((shown - real)[real > 0] + found.lowered[0])
        stated.append(found.variance[0])
    assert np.mean(stated) == pytest.approx(np.mean(np.square(errors)), rel=0.04)


def projected(noisy: npt.NDArray[np.int64], total: int, draw: np.random.Generator) -> npt.NDArray[np.int64]:
    """The nearest table of so many workers: all are lowered alike, and some by one more."""
    level = next(one for one in range(40, -40, -1) if np.maximum(noisy - one, 0).sum() >= total)
    table = np.maximum(noisy - level, 0)
    lose = draw.choice(np.flatnonzero(table), table.sum() - total, replace=False)
    table[lose] -= 1
    return table


@pytest.mark.parametrize("shown", [380.0, 200.0, 40.0])
def test_estimates_add_up_to_the_workers_of_the_table(shown: float) -> None:
    found = projected_points(Q, np.array([shown]), K)
    assert shown * found.lowered[0] + (K - shown) * found.empty[0] == pytest.approx(0.0, abs=1e-9)


def test_points_that_lose_less_than_a_worker_are_estimated_nearly_without_bias() -> None:
    found = projected_points(0.1, np.array([200.0]), K)
    assert found.lowered[0] < 0.2
    for real in (1, 2, 5):
        assert estimates_by_law(0.1, found, real)[0] == pytest.approx(real, abs=0.02)


def test_a_table_that_shows_workers_in_all_points_was_not_lowered() -> None:
    found = projected_points(Q, np.array([K]), K)
    assert found.lowered[0] == pytest.approx(0.0, abs=1e-9)
