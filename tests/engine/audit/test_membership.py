"""The membership game: exact binomial bounds, and a bound of epsilon that holds."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from engine.audit.membership import binomial_bounds, epsilon_shown, share_right
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (40, 1000)])
def test_bounds_are_those_of_clopper_and_pearson(hits: int, n: int) -> None:
    expected = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="exact")
    assert binomial_bounds(hits, n, 0.025) == pytest.approx((expected.low, expected.high))


def test_bounds_by_their_definition() -> None:
    low, high = binomial_bounds(3, 12, 0.01)
    assert binom.sf(2, 12, low) == pytest.approx(0.01)
    assert binom.cdf(3, 12, high) == pytest.approx(0.01)


def test_the_bound_holds_as_often_as_it_says() -> None:
    # Randomized response with epsilon 1; 400 games at 10% error exceed it more than 65 times once in 10,000.
    random, share = np.random.default_rng(7), np.e / (1 + np.e)
    shown = []
    for _ in range(400):
        scores = random.random((2, 400))
        with_worker, without = (scores[0] < share).astype(float), (scores[1] < 1 - share).astype(float)
        shown.append(epsilon_shown(with_worker, without, delta=0.0, error=0.1).epsilon)
    assert sum(epsilon > 1 for epsilon in shown) <= 65
    assert np.median(shown) > 0.5, "a bound that shows nothing would always hold"


def test_perfectly_separated_draws_show_as_much_as_their_number_allows() -> None:
    found = epsilon_shown(np.ones(200), np.zeros(200), delta=0.0, error=0.05)
    low, high = 0.025 ** (1 / 100), 1 - 0.025 ** (1 / 100)
    assert found.epsilon == pytest.approx(log(low / high))
    assert (found.n_draws, found.with_worker, found.without_worker) in ((100, 100, 0), (100, 0, 100))
    assert epsilon_shown(np.zeros(200), np.ones(200), delta=0.0, error=0.05).epsilon == pytest.approx(
        found.epsilon
    )


def test_equal_draws_show_nothing_and_delta_is_taken_off() -> None:
    scores = np.arange(500.0)
    assert epsilon_shown(scores, scores, delta=0.0, error=0.05).epsilon == 0.0
    random = np.random.default_rng(3)
    apart = random.normal(2.0, 1.0, 1000), random.normal(0.0, 1.0, 1000)
    strict, lax = (epsilon_shown(*apart, delta=delta, error=0.05).epsilon for delta in (0.0, 0.3))
    assert 0 < lax < strict


def test_the_share_that_is_right() -> None:
    assert share_right(np.ones(10), np.zeros(10)) == 1.0
    assert share_right(np.zeros(10), np.ones(10)) == 1.0
    assert share_right(np.ones(10), np.ones(10)) == 0.5
    random = np.random.default_rng(3)
    found = share_right(random.normal(1.0, 1.0, 20_000), random.normal(0.0, 1.0, 20_000))
    assert found == pytest.approx(0.6915, abs=0.015), "the normal law below half of the distance"


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="3 of 2 draws"):
        binomial_bounds(3, 2, 0.1)
    with pytest.raises(ParameterError, match="error"):
        binomial_bounds(1, 2, 0.0)
    with pytest.raises(ParameterError, match="as many of each"):
        epsilon_shown(np.ones(3), np.ones(2), delta=0.0, error=0.05)
    with pytest.raises(ParameterError, match="as many of each"):
        epsilon_shown(np.ones(1), np.ones(1), delta=0.0, error=0.05)
