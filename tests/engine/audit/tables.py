"""Small tables and decompositions for the audit's tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from engine.audit.decomposition import Decomposition
from tests.oracles.audit_boxes import Box

__all__ = ["Table", "boxes_of", "tables"]


@dataclass(frozen=True)
class Table:
    """Coded records: quasi-identifiers [N, d], sensitive values [N], and the numbers of their codes."""

    codes: npt.NDArray[np.int64]
    sensitive: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    n_values: int


@st.composite
def tables(draw: st.DrawFn, *, most: int = 40) -> Table:
    """Tables of at most three attributes, with at least one record."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    n_values = draw(st.integers(1, 4))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes), st.integers(0, n_values - 1))
    rows = np.array(draw(st.lists(row, min_size=1, max_size=most)))
    return Table(rows[:, :-1], rows[:, -1], np.array(sizes), n_values)


def boxes_of(decomposition: Decomposition) -> list[Box]:
    """The same boxes for the plain twin; counts must be whole."""
    counts = decomposition.histogram.astype(np.int64)
    return [
        Box(lo.tolist(), hi.tolist(), row.tolist())
        for lo, hi, row in zip(decomposition.lo, decomposition.hi, counts, strict=True)
    ]
