"""Boxes with counts: queries against exact fractions and the golden figure, and refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit import decomposition as module
from engine.audit.decomposition import Decomposition
from engine.errors import ParameterError
from tests.engine.audit.tables import Table, boxes_of, tables
from tests.golden import golden
from tests.oracles import audit_boxes as oracle

SIZES = [3, 2]


def halves() -> Decomposition:
    return Decomposition.of_histogram([[0, 0], [2, 0]], [[1, 1], [2, 1]], [[6, 2], [1, 3]], SIZES)


@pytest.mark.jit_off
def test_the_golden_query() -> None:
    case = golden("audit")["query"]
    boxes = Decomposition.of_histogram(case["lo"], case["hi"], case["hist"], SIZES)
    found = boxes.answer([case["query_lo"]], [case["query_hi"]])
    assert found.tolist() == [case["answer"]]


@st.composite
def queries(draw: st.DrawFn) -> tuple[Table, list[list[int]], list[list[int]], list[list[bool]]]:
    table = draw(tables())
    pairs = [draw(st.tuples(*[st.integers(0, size - 1)] * 2)) for size in table.sizes.tolist()]
    values = draw(st.lists(st.booleans(), min_size=table.n_values, max_size=table.n_values))
    return table, [[min(pair) for pair in pairs]], [[max(pair) for pair in pairs]], [values]


@pytest.mark.jit_off
@given(queries())
def test_records_answer_with_their_exact_count(
    case: tuple[Table, list[list[int]], list[list[int]], list[list[bool]]],
) -> None:
    table, lo, hi, values = case
    boxes = Decomposition.from_records(table.codes, table.sensitive, table.sizes, table.n_values)
    inside = np.all((table.codes >= lo[0]) & (table.codes <= hi[0]), axis=1)
    assert boxes.answer(lo, hi).tolist() == [inside.sum()]
    wanted = np.array(values)
    assert boxes.answer(lo, hi, wanted).tolist() == [(inside & wanted[0][table.sensitive]).sum()]


@pytest.mark.jit_off
@pytest.mark.parametrize("histogram", [[[6, 2], [1, 3]], [[-4, 2], [0, 3]]], ids=["counts", "noisy"])
def test_boxes_are_filled_evenly(histogram: list[list[int]]) -> None:
    boxes = Decomposition.of_histogram([[0, 0], [2, 0]], [[1, 1], [2, 1]], histogram, SIZES)
    for lo in oracle.cells([0, 0], [2, 1]):
        for hi in oracle.cells(lo, [2, 1]):
            for values in ([True, True], [False, True], [False, False]):
                wanted = oracle.answer(boxes_of(boxes), lo, hi, values)
                found = boxes.answer([lo], [hi], np.array([values]))
                assert found[0] == pytest.approx(float(wanted), abs=1e-12)


@given(tables())
def test_equal_records_are_one_box(table: Table) -> None:
    boxes = Decomposition.from_records(table.codes, table.sensitive, table.sizes, table.n_values)
    assert boxes.n_boxes == len({tuple(row) for row in table.codes.tolist()})
    assert boxes.histogram.sum() == table.sensitive.size
    assert np.array_equal(boxes.lo, boxes.hi)


def test_bad_boxes_and_queries_are_refused_in_one_line() -> None:
    boxes = halves()
    faults: dict[str, Callable[[], object]] = {
        "a box ends before it begins": lambda: Decomposition.of_histogram(
            [[1, 0]], [[0, 1]], [[1, 1]], SIZES
        ),
        "column 0 of hi runs from 3 to 3": lambda: Decomposition.of_histogram(
            [[1, 0]], [[3, 1]], [[1, 1]], SIZES
        ),
        "histogram has 1 dimensions": lambda: Decomposition.of_histogram([[1, 0]], [[1, 1]], [1], SIZES),
        "no quasi-identifiers": lambda: Decomposition.of_histogram([[1, 0]], [[1, 1]], [[1]], []),
        "sensitive has 1 values for 2 rows": lambda: Decomposition.from_records([[0, 0]] * 2, [0], SIZES, 1),
        "allowed are 0 to 0": lambda: Decomposition.from_records([[0, 0]], [1], SIZES, 1),
        "n_values = 0": lambda: Decomposition.from_records([[0, 0]], [1], SIZES, 0),
        "column 1 of query_hi": lambda: boxes.answer([[0, 0]], [[0, 2]]),
        r"query_hi has shape \(1, 2\) and values \(1, 3\)": lambda: boxes.answer(
            [[0, 0]], [[0, 0]], np.ones((1, 3), dtype=np.bool_)
        ),
    }
    for said, fault in faults.items():
        with pytest.raises(ParameterError, match=said) as refusal:
            fault()
        assert "\n" not in str(refusal.value)


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_COUNTS", 3)
    with pytest.raises(ParameterError, match="2 boxes times 2 values is too large"):
        _ = halves().histogram
