"""Expected errors of counts: close to the errors of releases of other records of the same model."""

import math

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.records.drawing import draw_records
from engine.records.expected import ErrorTerms, _Bins, _remove_noise, expected_errors
from engine.records.structure import Structure
from engine.records.tables import Model, learn_model
from engine.streams import SecretKey, attempt_key

KEY = SecretKey.for_tests()
STRUCTURE = Structure(domain=(4, 30, 3), parents=((), (0,), (0,)))
RNG = np.random.default_rng(8)
TRUTH = Model.of_weights(
    STRUCTURE,
    [RNG.integers(1, 50, (STRUCTURE.n_configurations(child), size)) for child, size in enumerate((4, 30, 3))],
)
N = 6000


def by_attributes(terms: tuple[ErrorTerms, ...]) -> dict[tuple[int, ...], ErrorTerms]:
    return {one.attributes: one for one in terms}


def test_every_combination_has_terms_and_says_whether_a_table_holds_it() -> None:
    model = learn_model(draw_records(TRUTH, 500, key=KEY), STRUCTURE, epsilon=1, key=KEY)
    terms = by_attributes(expected_errors(model, 500, runs=1))
    assert set(terms) == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)}
    assert {subset for subset, one in terms.items() if not one.is_covered} == {(1, 2), (0, 1, 2)}
    assert expected_errors(model, 500, runs=1, threads=2) == tuple(terms.values())
    assert set(by_attributes(expected_errors(model, 500, runs=1, most_together=1))) == {(0,), (1,), (2,)}


@pytest.mark.parametrize("epsilon", ["1", "20"])
def test_the_terms_foretell_errors_of_other_releases(epsilon: str) -> None:
    """The root mean squared error over 20 releases is within a third of what the terms say."""
    terms: dict[tuple[int, ...], ErrorTerms] = {}
    squares: dict[tuple[int, ...], list[float]] = {(0, 1): [], (1,): [], (1, 2): []}
    foretold: dict[tuple[int, ...], list[float]] = {subset: [] for subset in squares}
    for run in range(1, 21):
        key = attempt_key(KEY, run)
        codes = draw_records(TRUTH, N, key=key)
        model = learn_model(codes, STRUCTURE, epsilon=epsilon, key=key)
        released = draw_records(model, N, first=N, key=key)
        terms = terms or by_attributes(expected_errors(model, N, runs=8))
        for subset in squares:
            sizes = tuple(STRUCTURE.domain[column] for column in subset)
            shape = math.prod(sizes)
            ours, true = (
                np.bincount(np.ravel_multi_index(tuple(one[:, subset].T), sizes), minlength=shape)
                for one in (released, codes)
            )
            squares[subset] += ((ours - true) ** 2.0).tolist()
            foretold[subset] += [terms[subset].rms(count) ** 2 for count in ours.tolist()]
    for subset in squares:
        ratio = math.sqrt(np.mean(squares[subset]) / np.mean(foretold[subset]))
        assert 0.75 < ratio < 1.33, subset


def test_a_large_release_is_simulated_with_fewer_records(monkeypatch: pytest.MonkeyPatch) -> None:
    model = learn_model(draw_records(TRUTH, N, key=KEY), STRUCTURE, epsilon=20, key=KEY)
    whole = by_attributes(expected_errors(model, N, runs=16))
    monkeypatch.setattr("engine.records.expected._MOST_RECORDS", N // 3)
    fewer = by_attributes(expected_errors(model, N, runs=16))
    for subset, count in (((0, 1), 50), ((1,), 200), ((0, 1, 2), 20)):  # about the mean counts
        assert fewer[subset].rms(count) == pytest.approx(whole[subset].rms(count), rel=0.35), subset


def test_a_bin_that_happens_to_be_exact_does_not_decide() -> None:
    """Finds an error of 1 worker beside counts of 80,000: one exact cell had all the weight of the fit."""
    bins = _Bins()
    rng = np.random.default_rng(3)
    truth = rng.integers(20, 80_000, 300)
    bins.add(truth, truth + np.rint(rng.normal(0, 30, 300)).astype(np.int64), 300)
    bins.add(np.array([7]), np.array([7]), 1)
    (constant, slope, curve, small), knee = bins.fit(1)
    term = ErrorTerms(
        attributes=(0,),
        constant=constant,
        per_worker=slope,
        per_worker_squared=curve,
        per_worker_of_small=small,
        knee=knee,
        of_empty=bins.of_empty(1),
        is_covered=True,
    )
    assert 20 < term.rms(40_000) < 45
    assert term.rms(0) > 0


def test_the_noise_is_taken_out_of_the_model_before_it_is_simulated() -> None:
    """Finds a simulation of noise upon noise: its tables are as full of small cells as the noisy ones."""
    codes = draw_records(TRUTH, 500, key=KEY)
    noisy = learn_model(codes, STRUCTURE, epsilon=1, key=KEY)
    likely = _remove_noise(noisy, 500)
    for child, size in enumerate(STRUCTURE.domain):
        weights = likely.weights(child) / likely.scale
        assert weights.sum() == pytest.approx(500, abs=size * STRUCTURE.n_configurations(child) / 100)
    of_noisy, of_likely = (model.weights(1) / model.scale for model in (noisy, likely))
    assert (of_likely > 0.5).sum() < (of_noisy > 0.5).sum()
    exact = learn_model(codes, STRUCTURE, epsilon=None, key=KEY)
    assert _remove_noise(exact, 500) is exact


def test_large_domains_are_counted_by_the_values_that_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    model = learn_model(draw_records(TRUTH, 400, key=KEY), STRUCTURE, epsilon=1, key=KEY)
    whole = expected_errors(model, 400, runs=1)
    monkeypatch.setattr("engine.records.expected._MOST_CELLS_A_RECORD", 0)
    assert expected_errors(model, 400, runs=1) == whole


def test_the_work_ends_where_it_is_told_to() -> None:
    """It asks before and after every draw, before every noisy table, and before every combination is counted."""
    model = learn_model(draw_records(TRUTH, 400, key=KEY), STRUCTURE, epsilon=1, key=KEY)
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 16:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        expected_errors(model, 400, runs=2, check=check)
    assert asked == 16
    asked = 100
    expected_errors(model, 400, runs=1, check=check)
    assert asked == 100 + 3 + len(STRUCTURE.domain) + 7


def test_faulty_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        expected_errors(TRUTH, 0)
