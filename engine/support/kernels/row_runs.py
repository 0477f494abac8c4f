"""Rows of workers, sorted by workplace and segment, counted by both in one pass."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Indices, Ints

__all__ = ["FALLS", "TOO_MANY", "Codes", "Runs", "SortedRows", "list_runs"]

Codes = npt.NDArray[np.int8]

FALLS = -1
"""What :func:`list_runs` returns if the rows are not sorted."""

TOO_MANY = -2
"""What it returns if the workers of a run are more than 32 bits hold."""

_MOST = (1 << 31) - 1


class SortedRows(NamedTuple):
    """Workplace, segment, and number of workers of each row [N]."""

    destination: Indices
    segment: Codes
    count: Indices  # type: ignore[assignment]  # also a method of tuples, which nothing here calls


class Runs(NamedTuple):
    """Runs of rows of one workplace and segment: both, their workers, and the first row of each [N, if all differ]."""

    destination: Indices
    segment: Codes
    count: Indices  # type: ignore[assignment]  # also a method of tuples, which nothing here calls
    first: Ints


@lean_jit
def list_runs(rows: SortedRows, runs: Runs) -> int:
    """List the runs; return how many there are, or why there is no list."""
    destination, segment, count = rows
    n_runs, total, place, part = 0, 0, -1, -1
    for row in range(destination.size):
        if destination[row] == place and segment[row] == part:
            total += int(count[row])
            continue
        if destination[row] < place or (destination[row] == place and segment[row] < part):
            return FALLS
        if total > _MOST:
            return TOO_MANY
        if n_runs > 0:
            runs.count[n_runs - 1] = total
        place, part, total = destination[row], segment[row], int(count[row])
        runs.destination[n_runs], runs.segment[n_runs], runs.first[n_runs] = place, part, row
        n_runs += 1
    if total > _MOST:
        return TOO_MANY
    if n_runs > 0:
        runs.count[n_runs - 1] = total
    return n_runs
