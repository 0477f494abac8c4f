"""Accuracy, breach increase, the most certain predictions, and calibration: against counts made one by one."""

from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.coded_tables import Predictions
from engine.audit.empirical import (
    CONFIDENT_SHARES,
    accuracy,
    accuracy_by_confidence,
    accuracy_by_size,
    baseline_accuracy,
    breach_increase,
    calibration,
    empirical_privacy,
)
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off

CASES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0])),
    min_size=1,
    max_size=60,
)


def predictions_of(cases: list[tuple[int, int, float]]) -> tuple[Predictions, npt.NDArray[np.int64]]:
    value, truth, belief = (np.array(column) for column in zip(*cases, strict=True))
    return Predictions(value.astype(np.int64), belief), truth.astype(np.int64)


@given(CASES)
def test_accuracy_and_privacy_add_up_to_one(cases: list[tuple[int, int, float]]) -> None:
    predictions, truth = predictions_of(cases)
    right = sum(value == real for value, real, _ in cases) / len(cases)
    assert accuracy(predictions.value, truth) == pytest.approx(right)
    assert empirical_privacy(predictions.value, truth) == pytest.approx(1 - right)


@given(CASES)
def test_always_saying_the_most_frequent_value_has_no_breach_increase(
    cases: list[tuple[int, int, float]],
) -> None:
    _, truth = predictions_of(cases)
    most = np.full_like(truth, np.bincount(truth).argmax())
    assert breach_increase(accuracy(most, truth), baseline_accuracy(truth)) == 0.0


def test_the_breach_increase_of_c13() -> None:
    """The root of every tree: 4,038 of 30,162 tuples of Adult, and C13's rho of 11%."""
    assert breach_increase(4038 / 30162, 0.11) == pytest.approx(0.2170642168652912)


@given(CASES)
def test_the_most_certain_predictions_with_ties_chosen_at_random(cases: list[tuple[int, int, float]]) -> None:
    predictions, truth = predictions_of(cases)
    for found in accuracy_by_confidence(predictions, truth, (*CONFIDENT_SHARES, Fraction(1, 2), Fraction(1))):
        wanted = ceil(found.share * len(cases))
        by_belief: dict[float, list[bool]] = {}
        for value, real, belief in cases:
            by_belief.setdefault(belief, []).append(value == real)
        left, right = wanted, Fraction(0)
        for belief in sorted(by_belief, reverse=True):
            here = by_belief[belief]
            taken = min(left, len(here))
            right += Fraction(taken * sum(here), len(here))
            if left and taken == left:
                assert (found.least_belief, found.n_tied) == (belief, len(here))
            left -= taken
        assert found.n_workers == wanted
        assert found.accuracy == pytest.approx(float(right / wanted))


def test_a_share_of_the_most_certain_must_be_possible() -> None:
    predictions, truth = predictions_of([(0, 0, 1.0)])
    with pytest.raises(ParameterError, match="above 0"):
        accuracy_by_confidence(predictions, truth, (Fraction(0),))
    with pytest.raises(ParameterError, match="2 predictions for 1 workers"):
        accuracy(np.zeros(2, dtype=np.int64), truth)


def test_accuracy_by_the_number_of_workers() -> None:
    value = np.zeros(6, dtype=np.int64)
    truth = np.array([0, 1, 0, 0, 1, 1])
    n = np.array([1, 1, 2, 9, 9, 8])
    found = accuracy_by_size(value, truth, n)
    assert [(one.least, one.greatest, one.n_workers, one.n_right) for one in found] == [
        (1, 1, 2, 1),
        (2, 9, 4, 2),
        (10, None, 0, 0),
    ]
    assert found[0].accuracy == 0.5
    assert np.isnan(found[2].accuracy)


@given(CASES)
def test_calibration_means_are_those_of_the_bins(cases: list[tuple[int, int, float]]) -> None:
    predictions, truth = predictions_of(cases)
    found = calibration(predictions, truth, n_bins=4)
    assert found.n_workers.sum() == len(cases)
    for one, (low, high) in enumerate(pairwise(found.edges)):
        here = [
            (belief, value == real)
            for value, real, belief in cases
            if low <= belief < high or (belief == high == 1.0)
        ]
        assert found.n_workers[one] == len(here)
        if here:
            assert found.bin_belief[one] == pytest.approx(np.mean([belief for belief, _ in here]))
            assert found.bin_accuracy[one] == pytest.approx(np.mean([right for _, right in here]))
