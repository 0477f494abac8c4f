"""Some rows of columns that are mapped into memory, and what the columns have there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Column = npt.NDArray[np.generic]
Value = TypeVar("Value", bound=np.generic)

PART: Final = 1 << 15
"""Rows that are read at once, so that what is computed of them stays in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows in several pieces, ascending: the first row and the number of rows of each piece."""

    first: Ints
    size: Ints


Rows = slice | Runs | Ints
"""Some rows, ascending: in one piece, in several, or one by one."""


def n_of(rows: Rows) -> int:
    """Return the number of rows."""
    if isinstance(rows, slice):
        n: int = rows.stop - rows.start
        return n
    return int(rows.size.sum()) if isinstance(rows, Runs) else rows.size


def take_rows(column: npt.NDArray[Value], rows: Rows) -> npt.NDArray[Value]:
    """Return some rows of a column."""
    if not isinstance(rows, Runs):
        return column[rows]
    return np.concatenate([column[piece] for piece in _pieces(rows)])


def numbers(rows: Rows, places: Ints) -> Ints:
    """Return the rows at some places among the rows, both ascending."""
    if isinstance(rows, slice):
        return np.asarray(places + rows.start)
    if not isinstance(rows, Runs):
        return np.asarray(rows[places])
    ends = np.cumsum(rows.size)
    n_in_piece = np.diff(np.searchsorted(places, ends), prepend=0)
    return np.asarray(places + np.repeat(rows.first - (ends - rows.size), n_in_piece))


def places_among(rows: slice | Runs, every: Ints) -> Ints:
    """Return the places of those of some rows of a column, ascending, that are among the rows."""
    if isinstance(rows, slice):
        low, high = np.searchsorted(every, (rows.start, rows.stop))
        return np.asarray(every[low:high] - rows.start)
    piece = np.searchsorted(rows.first, every, side="right") - 1
    start = np.cumsum(rows.size) - rows.size
    after = every - rows.first[piece]
    return (start[piece] + after)[(piece >= 0) & (after < rows.size[piece])]


def keep_rows(rows: Rows, is_kept: npt.NDArray[np.bool_]) -> Rows:
    """Return the rows for which a condition holds."""
    return rows if is_kept.all() else numbers(rows, np.flatnonzero(is_kept))


def split_column(column: npt.NDArray[Value], rows: Rows) -> Iterator[npt.NDArray[Value]]:
    """Yield some rows of a column, `PART` at a time."""
    if isinstance(rows, slice):
        for first in range(rows.start, rows.stop, PART):
            yield column[first : min(first + PART, rows.stop)]
    elif not isinstance(rows, Runs):
        for part in parts(rows.size):
            yield column[rows[part]]
    else:
        ends = np.cumsum(rows.size)
        for part in parts(int(ends[-1]) if ends.size else 0):
            low, high = np.searchsorted(ends, (part.start, part.stop - 1), side="right")
            some = Runs(rows.first[low : high + 1].copy(), rows.size[low : high + 1].copy())
            skipped = part.start - (ends[low] - rows.size[low])
            some.first[0] += skipped
            some.size[0] -= skipped
            some.size[-1] -= ends[high] - part.stop
            yield take_rows(column, some)


def is_among(column: Column, rows: Rows, values: list[int]) -> npt.NDArray[np.bool_]:
    """Return whether a column of bytes, from 0, has one of some values at each row."""
    table = bytes(value in values for value in range(256))
    # Bytes are translated in less time than NumPy takes to look up as many indices.
    read = (
        b"".join(column[piece].data for piece in _pieces(rows))
        if isinstance(rows, Runs)
        else column[rows].tobytes()
    )
    return np.frombuffer(read.translate(table), dtype=np.bool_)


def is_marked(mark: npt.NDArray[np.bool_], column: Column, rows: Rows) -> npt.NDArray[np.bool_]:
    """Return whether what a column has at each row, such as its block, is marked."""
    flags = np.empty(n_of(rows), dtype=np.bool_)
    for part, values in zip(parts(flags.size), split_column(column, rows), strict=True):
        mark.take(values.astype(np.intp), out=flags[part], mode="clip")  # with "raise", `out` would be copied
    return flags


def parts(n_rows: int) -> Iterator[slice]:
    """Yield the slices of some rows, `PART` each."""
    return (slice(first, min(first + PART, n_rows)) for first in range(0, n_rows, PART))


def _pieces(rows: Runs) -> Iterator[slice]:
    return (
        slice(first, end)
        for first, end in zip(rows.first.tolist(), (rows.first + rows.size).tolist(), strict=True)
    )


# Sums of workers by group. Sums of whole numbers are exact far beyond the workers of any country.

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


def _sum_groups(group: npt.NDArray[np.integer], workers: npt.NDArray[np.integer], size: int) -> Ints:
    """Return the workers of each group; sums of whole numbers are exact far beyond those of any country.

    Where there are many groups, those of successive rows are mostly near each other.
    """
    total = np.zeros(size, dtype=np.int64)
    for part in parts(group.size):
        codes, first = group[part], 0
        if size > PART:
            first = int(codes.min())
            if int(codes.max()) - first > FAR * PART:
                np.add.at(total, codes.astype(np.intp), workers[part].astype(np.int64))
                continue
            codes = codes - first
        n = _count_groups(codes, workers[part])
        total[first : first + n.size] += n
    return total


def _count_groups(group: npt.NDArray[np.integer], workers: npt.NDArray[np.integer]) -> Ints:
    """Return the workers of each group. Most rows are one worker: to count these takes half the time of adding."""
    several = np.flatnonzero(workers != 1)
    if 4 * several.size > workers.size:
        return np.bincount(group, workers).astype(np.int64)
    counts: Ints = np.bincount(group)
    counts += np.bincount(group[several], workers[several].astype(np.int64) - 1, counts.size).astype(np.int64)
    return counts


def group_workers(
    key: npt.NDArray[np.integer], workers: npt.NDArray[np.integer], size: int
) -> tuple[Ints, Ints]:
    """Return the keys that occur, ascending, and the workers of each; keys are below `size`."""
    if size <= max(DENSE * key.size, 1 << 12):
        n = _sum_groups(key, workers, size)
        there = np.flatnonzero(n)
        return there, n[there]
    order = np.argsort(key, kind="stable")
    keys = key[order]
    first = np.flatnonzero(np.append(keys.size > 0, keys[1:] != keys[:-1]))
    n = np.add.reduceat(workers[order].astype(np.int64), first) if first.size else first
    return keys[first].astype(np.int64), n


def parts_of(arrays: tuple[Ints, Ints, Ints], n_rows: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield three arrays of equal length in parts."""
    for first in range(0, arrays[0].size, n_rows):
        home, work, n = (array[first : first + n_rows] for array in arrays)
        yield home, work, n
