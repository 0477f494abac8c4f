"""The curve of epsilon against tries, against the promise of each number of tries; and the paper's best line."""

import math
from itertools import pairwise

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.theorem_one import best_paper_promise, paper_promise
from engine.records.tries import seed_promise, tries_curve

pytestmark = pytest.mark.jit_off

TEST = Acceptance(min_plausible_seeds=1000, threshold_epsilon="0.0175", forced_fail="0.02")


def test_points_are_the_promises_to_a_few_percent() -> None:
    tries = [100, 2_000, 30_000, 284_039]
    found = tries_curve(TEST, n_min=284_039, n_tries=tries, delta="1e-6")
    stated = [float(seed_promise(TEST, n_min=284_039, n_tries=n, delta="1e-6").epsilon) for n in tries]
    assert found.tolist() == pytest.approx(stated, rel=0.03)
    assert (np.diff(found) > 0).all()


def test_tries_that_use_up_delta_have_no_epsilon() -> None:
    few = Acceptance(min_plausible_seeds=300, threshold_epsilon="0.05", forced_fail="0.02")
    found = tries_curve(few, n_min=10_000, n_tries=[10, 100_000], delta="1e-6")
    assert np.isfinite(found[0])
    assert math.isinf(found[1])
    with pytest.raises(ParameterError, match="tries use up"):
        seed_promise(few, n_min=10_000, n_tries=100_000, delta="1e-6")


def test_what_is_not_allowed_is_refused() -> None:
    with pytest.raises(ParameterError, match="tries is 0"):
        tries_curve(TEST, n_min=284_039, n_tries=[100, 0], delta="1e-6")
    with pytest.raises(ParameterError, match="delta is 2"):
        tries_curve(TEST, n_min=284_039, n_tries=[100], delta=2)


def test_the_papers_best_line_is_below_every_rate_and_rises_with_the_tries() -> None:
    lines = [
        best_paper_promise(500, similarity=4, n_tries=n, delta="1e-6") for n in (1_000, 100_000, 476_789)
    ]
    epsilons = [line.epsilon for line in lines if line is not None]
    assert round(epsilons[-1]) == 5_929  # as docs/theory/synthetic-records.md prints it
    assert all(low < high for low, high in pairwise(epsilons))
    for rate in ("0.07", "0.1", "0.15"):
        test = Acceptance(min_plausible_seeds=500, threshold_epsilon=rate)
        assert epsilons[-1] <= paper_promise(test, similarity=4, n_tries=476_789, delta="1e-6").epsilon


def test_a_delta_too_small_for_any_rate_has_no_line() -> None:
    assert best_paper_promise(500, similarity=1, n_tries=10, delta="1e-60") is None
    with pytest.raises(ParameterError, match="at least 2"):
        best_paper_promise(1, similarity=1, n_tries=10, delta="1e-6")
