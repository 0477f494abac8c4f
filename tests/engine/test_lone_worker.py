"""What a lone worker risks, against the laws of the mechanisms written out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from engine.accountant.lone_worker import stay_apart, stay_weighted
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


@pytest.mark.parametrize(("n", "k"), [(1, 5), (2, 4), (3, 5), (4, 4)])
def test_workers_apart_match_the_law(n: int, k: int) -> None:
    """A worker keeps the point if the release shows anybody there."""
    table = (1,) * n + (0,) * (k - n)
    stay = sum(
        (chance for released, chance in law(table, Fraction(1, 30)).items() if released[0]), Fraction(0)
    )
    assert stay_apart(30.0, k, n) == pytest.approx(float(stay), rel=1e-12)
