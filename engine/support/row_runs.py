"""Rows of workers, sorted by workplace and segment, counted by both."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.arrays import IntArray, as_int
from engine.errors import ParameterError
from engine.support.kernels.row_runs import Runs, SortedRows, list_runs

__all__ = ["RowRuns", "row_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRuns:
    """Runs of rows of the same workplace and segment.

    Attributes
    ----------
    destination : int32[S]
        Workplace of each run; with the segment, it rises.
    segment : int8[S]
    count : int32[S]
        Workers of each run.
    row_ptr : int64[S + 1]
        The rows of run s are ``row_ptr[s]`` up to ``row_ptr[s + 1]``.
    """

    destination: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int8]
    count: npt.NDArray[np.int32]
    row_ptr: npt.NDArray[np.int64]


def row_runs(destination: IntArray, segment: IntArray, count: IntArray) -> RowRuns | None:
    """Count the workers of each workplace and segment from rows that are sorted by both.

    Parameters
    ----------
    destination : int32[N]
        Workplace of each row.
    segment : int8[N]
    count : int32[N]
        Workers of each row.

    Returns
    -------
    RowRuns or None
        None if the rows are not sorted, or the workers of one run are more than 32 bits hold.

    Raises
    ------
    ParameterError
        If the arrays differ in length.
    """
    rows = SortedRows(
        as_int("destination", destination, dtype=np.int32),
        as_int("segment", segment, dtype=np.int8),
        as_int("count", count, dtype=np.int32),
    )
    sizes = {column.size for column in rows}
    if len(sizes) > 1:
        raise ParameterError(f"columns have {sorted(sizes)} rows: give as many of each")
    n_rows = rows.destination.size
    runs = Runs(
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int8),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int64),
    )
    n_runs = list_runs(rows, runs)
    if n_runs < 0:
        return None
    return RowRuns(
        destination=runs.destination[:n_runs].copy(),
        segment=runs.segment[:n_runs].copy(),
        count=runs.count[:n_runs].copy(),
        row_ptr=np.append(runs.first[:n_runs], n_rows),
    )
