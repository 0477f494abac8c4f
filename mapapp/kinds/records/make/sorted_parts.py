"""Records between drawing and writing: parts on disk, each sorted by workplace, and then read range by range.

Records are drawn in the order of their numbers and written in the order of their workplaces. So each part goes into a
file of its own, on the file system of the records and readable by its owner alone, until the rows of one range of
workplaces are collected from all of them. Nothing here is confidential: it is what is released, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow

from geodata.store.private_files import write_private

__all__ = [
    "Bounds",
    "Columns",
    "PlacedBlocks",
    "cut_ranges",
    "read_range",
    "write_sorted",
]

Columns = dict[str, npt.NDArray[np.generic]]
Ints = npt.NDArray[np.int64]
Bounds = tuple[int, int]
"""Rows of `blocks`: the first workplace of a range, and the first one after it."""

_WORK: Final = "destination_index"
_HOME: Final = "origin_index"


def write_sorted(file: Path, columns: Columns) -> None:
    """Write rows in the order of their workplaces."""
    order = np.argsort(columns[_WORK], kind="stable")
    rows = pyarrow.record_batch({name: values[order] for name, values in columns.items()})
    with write_private(file) as stream, pyarrow.ipc.new_file(stream, rows.schema) as writer:
        writer.write_batch(rows)


def read_range(files: Sequence[Path], bounds: Bounds) -> Columns:
    """Return the rows of all parts whose workplaces are in a range."""
    parts = []
    for file in files:
        with pyarrow.memory_map(str(file)) as source:
            rows = pyarrow.ipc.open_file(source).get_batch(0)
            start, stop = np.searchsorted(rows[_WORK].to_numpy(), bounds).tolist()
            parts.append({name: rows[name].to_numpy()[start:stop].copy() for name in rows.schema.names})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class PlacedBlocks:
    """How many records work in each block, and which blocks are anybody's home or workplace.

    Parameters
    ----------
    n_blocks : int
    """

    def __init__(self, n_blocks: int) -> None:
        self.n_working: Ints = np.zeros(n_blocks, dtype=np.int64)
        self.used = np.zeros(n_blocks, dtype=np.bool_)

    def add(self, file: Path) -> None:
        """Add the records of a part."""
        with pyarrow.memory_map(str(file)) as source:
            rows = pyarrow.ipc.open_file(source).get_batch(0)
            work, home = rows[_WORK].to_numpy(), rows[_HOME].to_numpy()
            start = np.flatnonzero(np.append(True, work[1:] != work[:-1]))[: work.size]
            self.n_working[work[start]] += np.diff(np.append(start, work.size))
            self.used[work[start]] = True
            self.used[home] = True
            del rows, work, home


def cut_ranges(n_working: Ints, most: int) -> list[Bounds]:
    """Cut all workplaces into ranges of at most `most` records; a range of one workplace may have more."""
    before = np.append(0, np.cumsum(n_working))
    ranges, first = list[Bounds](), 0
    while before[-1] > before[first]:
        stop = int(np.searchsorted(before, before[first] + most, side="right")) - 1
        # A workplace with more records than that is a range of its own, with empty ones before it.
        stop = max(stop, int(np.searchsorted(before, before[first], side="right")))
        ranges.append((first, stop))
        first = stop
    return ranges
