"""Sums of workers by group. Sums of whole numbers are exact far beyond the workers of any country."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from mapapp.answers import commute_rows
from mapapp.answers.commute_rows import PART, Ints

DENSE: Final = 8
"""Groups are counted in an array of all possible ones if these are at most so many times the rows."""
FAR: Final = 4
"""Rows are added up by parts if the groups of each part are within so many times its rows."""


def most_first(n: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the row, the column, and the value of the cells above 0 of a table, largest first."""
    key = np.flatnonzero(n)
    n_of_key = n.reshape(-1)[key]
    order = np.argsort(-n_of_key, kind="stable")
    row, column = np.divmod(key[order], n.shape[1])
    return row, column, n_of_key[order]


def _added(group: npt.NDArray[np.integer], workers: npt.NDArray[np.integer], size: int) -> Ints:
    """Return the workers of each group; sums of whole numbers are exact far beyond those of any country.

    Where there are many groups, those of successive rows are mostly near each other.
    """
    total = np.zeros(size, dtype=np.int64)
    for part in commute_rows.parts(group.size):
        mine, first = group[part], 0
        if size > PART:
            first = int(mine.min())
            if int(mine.max()) - first > FAR * PART:
                return np.bincount(group, workers, size).astype(np.int64)
            mine = mine - first
        n = _counted(mine, workers[part])
        total[first : first + n.size] += n
    return total


def _counted(group: npt.NDArray[np.integer], workers: npt.NDArray[np.integer]) -> Ints:
    """Return the workers of each group. Most rows are one worker: to count these takes half the time of adding."""
    several = np.flatnonzero(workers != 1)
    if 4 * several.size > workers.size:
        return np.bincount(group, workers).astype(np.int64)
    found: Ints = np.bincount(group)
    found += np.bincount(group[several], workers[several].astype(np.int64) - 1, found.size).astype(np.int64)
    return found


def grouped(key: npt.NDArray[np.integer], workers: npt.NDArray[np.integer], size: int) -> tuple[Ints, Ints]:
    """Return the keys that occur, ascending, and the workers of each; keys are below `size`."""
    if size <= max(DENSE * key.size, 1 << 12):
        n = _added(key, workers, size)
        there = np.flatnonzero(n)
        return there, n[there]
    order = np.argsort(key, kind="stable")
    found = key[order]
    first = np.flatnonzero(np.append(found.size > 0, found[1:] != found[:-1]))
    n = np.add.reduceat(workers[order].astype(np.int64), first) if first.size else first
    return found[first].astype(np.int64), n


def parts_of(arrays: tuple[Ints, Ints, Ints], n_rows: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield three arrays of equal length in parts."""
    for first in range(0, arrays[0].size, n_rows):
        home, work, n = (each[first : first + n_rows] for each in arrays)
        yield home, work, n
