"""Counting what an attacker claims batch by batch, against the same measures of all workers at once."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit import tally
from engine.audit.coded_tables import Predictions
from engine.audit.empirical import accuracy_by_confidence, accuracy_by_size, calibration
from engine.audit.tally import BeliefTally, size_classes
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off

Worker = tuple[float, bool, int]

# Few distinct beliefs, so that many tie, and some of any size.
BELIEFS = st.one_of(
    st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.7, 0.70000005, 1.0]), st.floats(0.0, 1.0, width=32)
)
WORKERS = st.lists(st.tuples(BELIEFS, st.booleans(), st.integers(1, 12)), min_size=1, max_size=40)


def columns(
    workers: list[Worker],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    belief, is_right, n = zip(*workers, strict=True)
    return np.array(belief, np.float32), np.array(is_right, np.bool_), np.array(n, np.int64)


def tallied(workers: list[Worker], cuts: list[int]) -> BeliefTally:
    belief, is_right, n = columns(workers)
    found = BeliefTally(belief.size)
    for batch in np.split(np.arange(belief.size), sorted(min(cut, belief.size) for cut in cuts)):
        found.add(belief[batch], is_right[batch], size_classes(n[batch]))
    return found


@given(WORKERS, st.lists(st.integers(0, 40), max_size=4), st.booleans())
def test_batches_give_what_all_workers_at_once_give(
    workers: list[Worker], cuts: list[int], counts_at_once: bool
) -> None:
    belief, is_right, n = columns(workers)
    with pytest.MonkeyPatch.context() as patch:
        if counts_at_once:
            patch.setattr(tally, "_FEWEST_WAITING", 1)
        found = tallied(workers, cuts)
    plain = Predictions(is_right.astype(np.int64), belief.astype(np.float64))
    truth = np.ones(belief.size, np.int64)
    assert found.most_certain() == accuracy_by_confidence(plain, truth)
    expected = calibration(plain, truth)
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_array_equal([one.n_workers for one in found.tally_bins()], expected.n_workers)
    np.testing.assert_array_equal([one.accuracy for one in found.tally_bins()], expected.bin_accuracy)
    np.testing.assert_allclose(
        [one.mean_belief for one in found.tally_bins()], expected.bin_belief, rtol=1e-14, atol=0
    )
    sizes = accuracy_by_size(plain.value, truth, n)
    assert [(one.n_workers, one.n_right) for one in found.tally_classes()] == [
        (one.n_workers, one.n_right) for one in sizes
    ]


@given(WORKERS)
def test_means_are_exact(workers: list[Worker]) -> None:
    belief = columns(workers)[0]
    exact = sum((Fraction(float(one)) for one in belief), Fraction(0)) / belief.size
    assert tallied(workers, []).tally_all().mean_belief == float(exact)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), min_size=1, max_size=20), BELIEFS)
def test_a_belief_that_all_share_may_be_added_by_counts(
    people: list[tuple[bool, int]], belief: float
) -> None:
    workers = [(belief, is_right, n) for is_right, n in people]
    _, is_right, n = columns(workers)
    at = size_classes(n)
    found = BeliefTally(len(workers))
    found.add_constant(belief, np.bincount(at, minlength=3), np.bincount(at[is_right], minlength=3))
    single = tallied(workers, [])
    assert found.most_certain() == single.most_certain()
    for of_counts, of_workers in zip(found.tally_classes(), single.tally_classes(), strict=True):
        np.testing.assert_equal(of_counts, of_workers)
    np.testing.assert_equal(found.tally_bins(), single.tally_bins())


def test_beliefs_that_cannot_be_among_the_most_certain_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_FEWEST_WAITING", 1)
    found = BeliefTally(1000)
    for batch in np.random.default_rng(1).permutation(1000).reshape(10, 100):
        found.add(batch / 1000, np.zeros(100, np.bool_), np.zeros(100, np.int8))
    assert found._key.size == 100
    assert found.most_certain()[-1].least_belief == np.float32(0.9)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ParameterError, match="workers: give"):
        BeliefTally(-1)
    with pytest.raises(ParameterError, match="above 0"):
        BeliefTally(1, shares=[Fraction(0)])
    found, one = BeliefTally(2), np.zeros(1, np.int8)
    for belief in (-0.5, 2.0, float("nan")):
        with pytest.raises(ParameterError, match="beliefs from"):
            found.add(np.array([belief]), one == 0, one)
    with pytest.raises(ParameterError, match="give one each"):
        found.add(np.zeros(2), one == 0, one)
    with pytest.raises(ParameterError, match="announced"):
        found.most_certain()
    assert BeliefTally(0).most_certain() == []
    assert np.isnan(BeliefTally(0).tally_all().mean_belief)
