"""Errors of flows and of the largest home areas, against plain twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.validity import FLOW_SIZES, flow_errors, pair_counts, top_areas
from tests.oracles import validity as oracle

pytestmark = pytest.mark.jit_off

COUNTS = st.one_of(st.integers(0, 12), st.sampled_from([49, 50, 99, 100, 499, 500, 10_000]))


@given(st.lists(st.tuples(COUNTS, COUNTS), max_size=40), st.booleans())
def test_errors_by_size_are_those_of_the_plain_twin(pairs: list[tuple[int, int]], by_real: bool) -> None:
    real, drawn = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    by = real if by_real else drawn
    found = np.stack(flow_errors(real, drawn, by))
    expected = oracle.flow_sums(real.tolist(), drawn.tolist(), by.tolist())
    assert list(expected) == list(FLOW_SIZES)
    assert found.T.tolist() == [[float(value) for value in row] for row in expected.values()]


@given(st.lists(st.integers(0, 8), max_size=30), st.lists(st.integers(0, 8), max_size=30))
def test_pairs_are_counted(real: list[int], drawn: list[int]) -> None:
    found = pair_counts(np.array(real, dtype=np.int64), np.array(drawn, dtype=np.int64))
    assert found.pair.tolist() == sorted(set(real) | set(drawn))
    assert found.real.tolist() == [real.count(pair) for pair in found.pair]
    assert found.drawn.tolist() == [drawn.count(pair) for pair in found.pair]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=9), max_size=4),
    st.integers(1, 5),
)
def test_top_areas_are_those_of_the_plain_twin(rows: list[list[tuple[int, int]]], n_top: int) -> None:
    ptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    real, drawn = (np.array([pair[i] for row in rows for pair in row], dtype=np.int64) for i in (0, 1))
    found = top_areas(ptr, real, drawn, n_top)
    for d, row in enumerate(rows):
        before, after = ({area: pair[i] for area, pair in enumerate(row)} for i in (0, 1))
        assert tuple(int(values[d]) for values in found) == oracle.top_areas(before, after, n_top)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flow_errors(np.array([1]), np.array([1, 2]), np.array([1])), "give one each"),
        (lambda: flow_errors(np.array([-1]), np.array([1]), np.array([1])), "allowed are 0"),
        (lambda: top_areas([0, 1], np.array([1]), np.array([1]), 0), "a top of at least 1"),
        (lambda: top_areas([0, 2], np.array([1]), np.array([1])), "it must end at 1"),
    ],
)
def test_counts_that_do_not_fit_are_refused(call: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()
