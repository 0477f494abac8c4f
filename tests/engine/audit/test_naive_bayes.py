"""The naive Bayes attacker against exact fractions, the golden figures and scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit import naive_bayes
from engine.audit.decomposition import Decomposition
from engine.audit.naive_bayes import CodeCounts, KeptPredictions, NaiveBayes
from engine.errors import ParameterError
from tests.engine.audit.tables import Table, boxes_of, tables
from tests.golden import golden
from tests.oracles import audit_boxes as oracle


def beliefs(model: NaiveBayes, row: list[int]) -> list[float]:
    n_values = model.prior.size
    return [float(one) for one in model.belief_of([row] * n_values, np.arange(n_values))]


def golden_cases() -> list[tuple[Decomposition, dict[str, Any]]]:
    cases = golden("audit")["naive_bayes"]
    table, leaves = cases["table"], cases["leaves"]
    return [
        (Decomposition.from_records(table["rows"], table["sensitive"], [3, 2], 2), table),
        (Decomposition.of_histogram(leaves["lo"], leaves["hi"], leaves["hist"], leaves["sizes"]), leaves),
    ]


@pytest.mark.jit_off
@pytest.mark.parametrize(("boxes", "case"), golden_cases(), ids=["table", "leaves"])
def test_the_golden_posteriors(boxes: Decomposition, case: dict[str, Any]) -> None:
    model = NaiveBayes.of(boxes)
    for row, posterior in zip(case["asked"], case["posterior"], strict=True):
        wanted = [Fraction(one) for one in posterior]
        assert oracle.posterior(boxes_of(boxes), row) == wanted
        assert beliefs(model, row) == pytest.approx([float(one) for one in wanted], abs=1e-12)


@pytest.mark.jit_off
@given(tables())
def test_predictions_are_those_of_exact_fractions(table: Table) -> None:
    # Boxes two codes wide in the first attribute, so that counts are spread.
    boxes = Decomposition.from_records(table.codes, table.sensitive, table.sizes, table.n_values)
    wide = Decomposition.of_histogram(
        boxes.lo, np.minimum(boxes.hi + 1, table.sizes - 1), boxes.histogram, table.sizes
    )
    model = NaiveBayes.of(wide)
    everywhere = oracle.cells([0] * table.sizes.size, (table.sizes - 1).tolist())
    found = model.predict(np.array(everywhere))
    assert np.array_equal(model.values(np.array(everywhere)), found.value)
    plain, prior = (
        boxes_of(wide),
        [Fraction(int(n), table.sensitive.size) for n in wide.histogram.sum(axis=0)],
    )
    for row, value, belief in zip(everywhere, found.value, found.belief, strict=True):
        wanted = oracle.posterior(plain, row)
        assert value == oracle.predicted(wanted, prior)
        assert belief == pytest.approx(float(wanted[value]), abs=1e-9)
        assert beliefs(model, list(row)) == pytest.approx([float(one) for one in wanted], abs=1e-9)


def test_records_give_the_categorical_classifier_of_scikit_learn() -> None:
    from sklearn.naive_bayes import CategoricalNB

    rng = np.random.default_rng(20131)
    sizes, n_values = np.array([5, 2, 3]), 4
    sensitive = np.concatenate((np.arange(n_values), rng.integers(0, n_values, 300)))
    codes = (rng.integers(0, 9, (sensitive.size, 3)) + sensitive[:, None]) % sizes
    theirs = CategoricalNB(alpha=1e-12, force_alpha=True, min_categories=sizes).fit(codes, sensitive)
    model = NaiveBayes.of(Decomposition.from_records(codes, sensitive, sizes, n_values))
    wanted = theirs.predict_proba(codes)
    for value in range(n_values):
        found = model.belief_of(codes, np.full(sensitive.size, value))
        np.testing.assert_allclose(found, wanted[:, value], atol=1e-8)
    assert np.array_equal(model.predict(codes).value, theirs.predict(codes))


@pytest.mark.jit_off
def test_a_box_of_everything_teaches_the_prior_alone() -> None:
    root = Decomposition.of_histogram([[0, 0]], [[3, 1]], [[2, 5, 3]], [4, 2])
    found = NaiveBayes.of(root).predict([[0, 0], [3, 1]])
    assert found.value.tolist() == [1, 1]
    assert found.belief.tolist() == pytest.approx([0.5, 0.5])


@pytest.mark.jit_off
def test_negative_counts_are_zero_and_no_counts_are_no_knowledge() -> None:
    noisy = NaiveBayes.of(Decomposition.of_histogram([[0], [1]], [[0], [1]], [[-3, 2], [1, -1]], [2]))
    assert noisy.predict([[0], [1]]).value.tolist() == [1, 0]
    empty = NaiveBayes.of(Decomposition.of_histogram([[0]], [[1]], [[-3, -1]], [2])).predict([[0], [1]])
    assert (empty.value.tolist(), empty.belief.tolist()) == ([0, 0], [0.5, 0.5])


@pytest.mark.jit_off
def test_where_no_value_is_possible_the_belief_is_the_prior() -> None:
    # Where boxes of a value end, the running sums must be 0 and not what rounding leaves of 1/3 + 1/7 - 1/3 - 1/7.
    lo, hi = [[0], [0], [5]], [[2], [6], [6]]
    model = NaiveBayes.of(Decomposition.of_histogram(lo, hi, [[1, 0], [1, 0], [0, 5]], [8]))
    assert model.table[7].tolist() == [0, 0]
    found = model.predict([[7], [0]])
    assert (found.value.tolist(), found.belief.tolist()) == ([1, 0], pytest.approx([5 / 7, 1]))


def test_a_victim_outside_the_attribute_space_is_refused() -> None:
    model = NaiveBayes.of(Decomposition.of_histogram([[0]], [[1]], [[1, 1]], [2]))
    with pytest.raises(ParameterError, match="column 0 of codes runs from 2 to 2: allowed are 0 to 1"):
        model.predict([[2]])
    with pytest.raises(ParameterError, match="value runs from 2 to 2: allowed are 0 to 1"):
        model.belief_of([[1]], [2])


@pytest.mark.jit_off
@given(tables(), st.integers(0, 8))
def test_records_counted_in_batches_teach_the_same(table: Table, cut: int) -> None:
    counts = CodeCounts(table.sizes, table.n_values)
    for batch in (slice(0, cut), slice(cut, None)):
        counts.add(table.codes[batch], table.sensitive[batch])
    boxes = Decomposition.from_records(table.codes, table.sensitive, table.sizes, table.n_values)
    found, wanted = counts.model(), NaiveBayes.of(boxes)
    np.testing.assert_array_equal(found.prior, wanted.prior)
    np.testing.assert_array_equal(found.table, wanted.table)


@pytest.mark.jit_off
def test_without_records_every_value_is_equally_likely() -> None:
    model = CodeCounts([2], 4).model()
    assert model.prior.tolist() == [0.25] * 4
    assert not model.table.any()


@pytest.mark.jit_off
@given(tables(), st.integers(0, 8), st.booleans(), st.booleans())
def test_predictions_are_the_same_however_they_are_made(
    table: Table, cut: int, has_few_values: bool, has_many_cells: bool
) -> None:
    """Victim by victim, once for all equal victims, or once for all batches."""
    boxes = Decomposition.from_records(table.codes, table.sensitive, table.sizes, table.n_values)
    model = NaiveBayes.of(boxes)
    wanted = model.predict(table.codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_bayes, "_FEW_VALUES", 100 if has_few_values else 0)
        patch.setattr(naive_bayes, "_MOST_CELLS", 0 if has_many_cells else 1 << 20)
        kept = KeptPredictions(model)
        found = [kept.predict(table.codes[batch]) for batch in (slice(0, cut), slice(cut, None))]
    np.testing.assert_array_equal(np.concatenate([one.value for one in found]), wanted.value)
    np.testing.assert_array_equal(np.concatenate([one.belief for one in found]), wanted.belief)
