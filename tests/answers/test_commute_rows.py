"""Rows of columns in one piece, in several, and one by one, against lists of their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.answers.commutes import rows as commute_rows
from mapapp.answers.commutes.rows import Rows, Runs

N_ROWS = 60
COLUMN = (np.arange(N_ROWS) * 7 % 27).astype(np.int8)
KINDS = ("slice", "runs", "one by one")


def rows_of(kind: str, ends: list[int]) -> tuple[Rows, list[int]]:
    """Rows between pairs of ends, and their numbers."""
    if kind == "slice":
        return slice(ends[0], ends[-1]), list(range(ends[0], ends[-1]))
    pieces = list(zip(ends[::2], ends[1::2], strict=True))
    listed = [row for first, end in pieces for row in range(first, end)]
    if kind == "runs":
        first, end = (np.array(each, dtype=np.int64) for each in zip(*pieces, strict=True))
        return Runs(first, end - first), listed
    return np.array(listed, dtype=np.int64), listed


@given(
    kind=st.sampled_from(KINDS),
    ends=st.lists(st.integers(0, N_ROWS), min_size=2, max_size=8)
    .filter(lambda ends: len(ends) % 2 == 0)
    .map(sorted),
    some=st.sets(st.integers(0, N_ROWS - 1)),
    part=st.integers(1, 9),
)
def test_rows_are_those_listed(kind: str, ends: list[int], some: set[int], part: int) -> None:
    rows, listed = rows_of(kind, ends)
    every = np.array(sorted(some), dtype=np.int64)
    mark = np.isin(np.arange(N_ROWS), every)
    assert commute_rows.n_of(rows) == len(listed)
    assert commute_rows.take_rows(COLUMN, rows).tolist() == COLUMN[listed].tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(commute_rows, "PART", part)
        parts = list(commute_rows.split_column(COLUMN, rows))
        marked = commute_rows.is_marked(mark, np.arange(N_ROWS), rows)
    assert [value for each in parts for value in each.tolist()] == COLUMN[listed].tolist()
    assert {each.size for each in parts[:-1]} <= {part}
    assert marked.tolist() == mark[listed].tolist()
    assert commute_rows.is_among(COLUMN, rows, [3, 26]).tolist() == np.isin(COLUMN[listed], [3, 26]).tolist()
    places = np.flatnonzero(marked)
    assert commute_rows.numbers(rows, places).tolist() == [listed[place] for place in places]
    assert _numbers(commute_rows.keep_rows(rows, marked)) == [listed[place] for place in places]
    if not isinstance(rows, np.ndarray):
        assert commute_rows.places_among(rows, every).tolist() == places.tolist()


def _numbers(rows: Any) -> list[int]:
    found: list[int] = commute_rows.take_rows(np.arange(N_ROWS), rows).tolist()
    return found
