"""Rows counted by workplace and segment are those of a plain count, and rows that are not sorted have no list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.support.row_runs import row_runs
from tests.oracles.row_runs import counted_rows

pytestmark = pytest.mark.jit_off

Row = tuple[int, int, int]


def found_runs(rows: list[Row]) -> list[tuple[int, int, int, int]] | None:
    columns = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    runs = row_runs(columns[0].copy(), columns[1].astype(np.int8), columns[2].copy())
    if runs is None:
        return None
    assert runs.row_ptr[-1] == len(rows)
    each = (runs.destination, runs.segment, runs.count, runs.row_ptr[:-1])
    return list(zip(*(column.tolist() for column in each), strict=True))


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 5)), max_size=12)


@given(ROWS, st.booleans())
def test_runs_are_those_of_a_plain_count(rows: list[Row], is_sorted: bool) -> None:
    rows = sorted(rows, key=lambda row: row[:2]) if is_sorted else rows
    assert found_runs(rows) == counted_rows(rows)


def test_more_workers_than_32_bits_hold_have_no_list() -> None:
    most = 2**31 - 1
    assert found_runs([(0, 0, most), (0, 1, 1)]) == [(0, 0, most, 0), (0, 1, 1, 1)]
    for rows in ([(0, 0, most), (0, 0, 1)], [(0, 0, most), (0, 0, 1), (1, 0, 1)]):
        assert found_runs(rows) is None
        assert counted_rows(rows) is None


def test_columns_of_unequal_length_are_refused() -> None:
    one = np.ones(1, dtype=np.int32)
    with pytest.raises(ParameterError, match="give as many of each"):
        row_runs(one, one.astype(np.int8), np.ones(2, dtype=np.int32))
