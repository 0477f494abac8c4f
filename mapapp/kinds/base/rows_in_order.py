"""Tables of a publication read side by side: all rows of some workplaces at a time.

A publication of a nation does not fit in memory. Its tables are in the order of workplaces, so the rows of one range of
workplaces lie together in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.store import Store

__all__ = ["NotInOrder", "blocks_to_compare", "blocks_with_work", "frames_by_workplace"]

_WORK: Final = "destination_index"
_SAMPLE: Final = 300_000  # blocks


class NotInOrder(Exception):
    """A table is not in the order of workplaces."""


def blocks_with_work(store: Store, table: str) -> npt.NDArray[np.bool_]:
    """Which blocks are workplaces in a table: bool[blocks]."""
    used = np.zeros(int(store.manifest["files"]["blocks.parquet"]["rows"]), dtype=np.bool_)
    for part in store.batches(table, [_WORK]):
        used[part[_WORK].to_numpy()] = True
    return used


def blocks_to_compare(used: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Workplaces and a regular sample of all blocks, where points are drawn again: cells of a nation take gigabytes."""
    chosen = used.copy()
    chosen[:: used.size // _SAMPLE + 1] = True
    return chosen


def frames_by_workplace(store: Store, names: Sequence[str]) -> Iterator[tuple[pandas.DataFrame, ...]]:
    """Yield the rows of all workplaces, some row groups' worth at a time: a frame of each table.

    Raises
    ------
    NotInOrder
        A table is not in the order of workplaces.
    """
    tables = [_Waiting(store, name) for name in names]
    for table in tables:
        table.read()
    while any(table.has_more for table in tables):
        # A table may have more rows of its last workplace.
        stop = min(table.last for table in tables if table.has_more)
        frames = tuple(table.take_before(stop) for table in tables)
        if any(map(len, frames)):
            yield frames
        for table in tables:
            if table.has_more and table.last <= stop:
                table.read()
    rest = tuple(table.rows.reset_index(drop=True) for table in tables)
    if any(map(len, rest)):
        yield rest


class _Waiting:
    """A table whose rows wait for those of the others."""

    def __init__(self, store: Store, name: str) -> None:
        self.rows = pandas.DataFrame({column: [] for column in store.columns(name)})
        self.has_more = True
        self.last = -1
        self._name = name
        self._parts = store.batches(name)

    def read(self) -> None:
        """Read the next row group that has rows."""
        for part in self._parts:
            frame = part.to_pandas()
            work = frame[_WORK].to_numpy()
            if work.size and (work[0] < self.last or (work[1:] < work[:-1]).any()):
                raise NotInOrder(self._name)
            self.rows = pandas.concat([self.rows, frame]) if len(self.rows) else frame
            if work.size:
                self.last = int(work[-1])
                return
        self.has_more = False

    def take_before(self, stop: int) -> pandas.DataFrame:
        """Take the rows of workplaces before one."""
        n = int(np.searchsorted(self.rows[_WORK].to_numpy(), stop))
        taken, self.rows = self.rows.iloc[:n], self.rows.iloc[n:]
        return taken.reset_index(drop=True)
