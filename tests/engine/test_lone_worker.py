"""What a lone worker risks, against the laws of the mechanisms written out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from engine.lone_worker import stay_apart, stay_geometric, stay_laplace, stay_sparse, stay_weighted
from engine.mechanisms.thetas import THETA_BITS, inverse_theta
from tests.oracles.exponential import law


def by_enumeration(alpha: list[float], retention: list[float], home: list[float]) -> float:
    """Every set of kept points in turn."""
    total = 0.0
    for own, kept in itertools.product(range(len(alpha)), itertools.product((0, 1), repeat=len(alpha))):
        if not kept[own]:
            continue
        chance = home[own]
        for point, stays in enumerate(kept):
            if point != own:
                chance *= retention[point] if stays else 1 - retention[point]
        weight = sum(value for value, stays in zip(alpha, kept, strict=True) if stays)
        total += chance * (1 + alpha[own]) / (1 + weight)
    return total


@pytest.mark.parametrize(
    ("alpha", "retention"),
    [
        ([0.3, 0.5, 1.2, 0.05], [0.2, 0.5, 1.0, 0.025]),
        ([0.01] * 8, [0.025] * 8),
        ([0.01, 2.0, 0.01], [0.025, 1.0, 0.5]),
        ([1.0, 1.0], [1.0, 1.0]),
    ],
)
def test_prior_weights_and_pruning_match_every_kept_set(alpha: list[float], retention: list[float]) -> None:
    home = np.arange(1.0, len(alpha) + 1)
    home /= home.sum()
    found = stay_weighted(np.array(alpha), np.array(retention), home)
    assert found == pytest.approx(by_enumeration(alpha, retention, home.tolist()), rel=1e-9)


def test_without_pruning_the_least_weight_of_epsilon_is_randomized_response() -> None:
    """Weights of 1/(e^epsilon - 1) give the chance of the exponential mechanism at the same epsilon."""
    k, epsilon = 219, 6.5
    alpha = np.full(k, 1 / math.expm1(epsilon))
    found = stay_weighted(alpha, np.ones(k), np.full(k, 1 / k))
    of_exponential = stay_apart(inverse_theta(Fraction("6.5"), k, 1) / (1 << THETA_BITS), k, 1)
    assert found == pytest.approx(of_exponential, rel=1e-5)
    assert found == pytest.approx(0.7532, abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.5])
@pytest.mark.parametrize("k", [2, 4])
def test_laplace_matches_the_sum_over_noise(epsilon: float, k: int) -> None:
    q, most = math.exp(-epsilon / 2), 250
    noise = (1 - q) / (1 + q) * q ** np.arange(most)
    clamped = np.append(1 / (1 + q), noise[1:])
    others = np.array([1.0])
    for _ in range(k - 1):
        others = np.convolve(others, clamped)
    own = np.array([(1 - q) / (1 + q) * q ** abs(y - 1) for y in range(1, most)])
    shown = np.arange(1, most)[:, None] / (np.arange(1, most)[:, None] + np.arange(others.size))
    share = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    none = q / (1 + q) * others[0] * float((share**2).sum())
    assert stay_laplace(epsilon, share) == pytest.approx(own @ shown @ others + none, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_projected_noise_matches_all_noisy_counts(epsilon: float) -> None:
    """Three points; the largest count wins, ties at random."""
    q, most = math.exp(-epsilon / 2), 60
    empty = (1 - q) / (1 + q) * q ** np.arange(most)
    own = np.array([(1 - q) / (1 + q) * q ** abs(y - 1) for y in range(most)])
    empty[0], own[0] = 1 / (1 + q), q / (1 + q)
    stay = 0.0
    for mine, one, other in itertools.product(range(most), repeat=3):
        if mine == max(mine, one, other):
            stay += own[mine] * empty[one] * empty[other] / [mine, one, other].count(mine)
    assert stay_geometric(epsilon, 3) == pytest.approx(stay, rel=1e-6)


def test_a_published_count_or_the_prior_shows_the_point() -> None:
    assert stay_sparse(0.1, np.array([0.5, 0.5])) == pytest.approx(0.1 + 0.9 * 0.5)


@pytest.mark.parametrize(("n", "k"), [(1, 5), (2, 4), (3, 5), (4, 4)])
def test_workers_apart_match_the_law(n: int, k: int) -> None:
    """A worker keeps the point if the release shows anybody there."""
    table = (1,) * n + (0,) * (k - n)
    stay = sum(
        (chance for released, chance in law(table, Fraction(1, 30)).items() if released[0]), Fraction(0)
    )
    assert stay_apart(30.0, k, n) == pytest.approx(float(stay), rel=1e-12)
