"""Jobs by row of `blocks`: from those of each OD file to the table of the schema, without sorting a nation at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import SourceFileError
from geodata.store.schema import JOBS, N_SEGMENTS

_ROWS_AT_ONCE: Final = 1 << 20
"""About so many rows are sorted at a time."""
_LARGEST: Final = 2**31 - 1  # what a store has room for

Ints = npt.NDArray[np.int64]


class PlacedJobs(NamedTuple):
    """Jobs of one OD file, sorted by workplace.

    Attributes
    ----------
    destination, origin : int32[R]
        Rows of `blocks`.
    segment : int8[R]
        Joint segment, 0 … 26.
    n_jobs : int32[R]
        Above zero.
    """

    destination: npt.NDArray[np.int32]
    origin: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int8]
    n_jobs: npt.NDArray[np.int32]

    def rows(self, wanted: slice | Ints) -> PlacedJobs:
        """Some of the rows; views of them if `wanted` is a slice."""
        return PlacedJobs(
            self.destination[wanted], self.origin[wanted], self.segment[wanted], self.n_jobs[wanted]
        )


def sort_by_workplace(
    destination: npt.NDArray[np.int32],
    origin: npt.NDArray[np.int32],
    segment: npt.NDArray[np.int8],
    count: npt.NDArray[np.int32],
) -> PlacedJobs:
    """Sort the jobs of a file by workplace, if they are not in this order as published."""
    jobs = PlacedJobs(destination, origin, segment, count)
    if (destination[1:] >= destination[:-1]).all():
        return jobs
    return jobs.rows(np.argsort(destination, kind="stable"))


def jobs_table(parts: list[PlacedJobs], n_blocks: int) -> pandas.DataFrame:
    """Join the jobs of all files into the table of the schema, sorted by destination, segment, and origin.

    Homes in different blocks of one state become one elsewhere unit, so equal rows are added up.

    Parameters
    ----------
    parts : list of PlacedJobs
        Emptied: a file's rows are given back as soon as they are in the table, so that those of a nation are not
        held twice. Files of different states may have the same workplaces (after a correction of the state line).
    n_blocks : int
        Rows of `blocks`.

    Raises
    ------
    SourceFileError
        A count is larger than a store has room for.
    """
    ends = _ends_of_ranges(parts, n_blocks)
    n_rows = sum(part.n_jobs.size for part in parts)
    column = {name: np.empty(n_rows, dtype=dtype) for name, dtype in JOBS.columns.items()}
    waiting = sorted(parts, key=lambda part: int(part.destination[0]) if part.destination.size else -1)
    parts.clear()
    done = 0
    for end in ends:
        pieces, left = list[PlacedJobs](), list[PlacedJobs]()
        for part in waiting:
            cut = int(np.searchsorted(part.destination, end))
            pieces.append(part.rows(slice(cut)))
            if cut < part.n_jobs.size:
                left.append(part.rows(slice(cut, None)))
        waiting = left
        if not pieces:
            break
        columns = _join_jobs(pieces, n_blocks)
        n = columns["count"].size
        for name, values in columns.items():
            column[name][done : done + n] = values
        done += n
    return pandas.DataFrame({name: values[:done] for name, values in column.items()}, copy=False)


def _ends_of_ranges(parts: list[PlacedJobs], n_blocks: int) -> list[int]:
    """Ranges of workplaces that are sorted together: the first workplace after each."""
    n_jobs = np.zeros(n_blocks, dtype=np.int64)
    for part in parts:
        n_jobs += np.bincount(part.destination, minlength=n_blocks)
    before = np.cumsum(n_jobs)
    total = int(before[-1]) if n_blocks else 0
    steps = np.arange(_ROWS_AT_ONCE, total, _ROWS_AT_ONCE)
    ends = np.unique(np.searchsorted(before, steps) + 1).tolist()
    return [*(end for end in ends if end < n_blocks), n_blocks]


def _join_jobs(pieces: list[PlacedJobs], n_blocks: int) -> dict[str, npt.NDArray[np.generic]]:
    """Sort the jobs of some workplaces, and add up equal rows: columns of the schema."""
    destination, origin, segment, count = (np.concatenate(column) for column in zip(*pieces, strict=True))
    if not count.size:
        return {name: np.empty(0, dtype=dtype) for name, dtype in JOBS.columns.items()}
    # Fits in 64 bits for up to half a billion blocks.
    key = (destination.astype(np.int64) * N_SEGMENTS + segment) * n_blocks + origin
    order = np.argsort(key)
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    total = np.add.reduceat(count[order], first, dtype=np.int64)
    if total.max() > _LARGEST:
        raise SourceFileError(
            "the OD files: more than 2,147,483,647 jobs of one segment between two units; correct their counts"
        )
    row = order[first]
    segment = segment[row]
    return {
        "destination_index": destination[row],
        "origin_index": origin[row],
        "age": segment // 9 + 1,
        "earnings": segment // 3 % 3 + 1,
        "industry": segment % 3 + 1,
        "count": total.astype(np.int32),
    }
