"""Published counts of LODES in a store, read one segment at a time, from the table of now or of earlier versions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.json_objects import JsonObject
from geodata.store.characteristic_groups import ALL_WORKERS, ENDS, SEGMENTS, End
from geodata.store.schema import CHARACTERISTIC_CODES, CHARACTERISTIC_COUNTS, CHARACTERISTICS
from geodata.store.store import Store

FACT: Final = "characteristics"
"""The fact of a manifest that lists the files."""


class SegmentCells(NamedTuple):
    """Counts above zero of one segment at one end, by code, then block.

    `block` is int32[n], rows of `blocks`; `count` is int32[n]; `code_ptr` is int64[codes + 1], where the rows of each
    code of `CHARACTERISTIC_CODES` begin.
    """

    block: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    code_ptr: npt.NDArray[np.int64]

    @property
    def n_bytes(self) -> int:
        """Memory of the arrays."""
        return self.block.nbytes + self.count.nbytes + self.code_ptr.nbytes

    def of_code(self, code: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the blocks that have jobs of a code, and how many."""
        place = CHARACTERISTIC_CODES.index(code)
        mine = slice(int(self.code_ptr[place]), int(self.code_ptr[place + 1]))
        return self.block[mine], self.count[mine]

    def by_code(self, inside: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
        """Return the jobs of each code in some of the blocks, or in all: int64[codes]."""
        counted = self.count.astype(np.int64) if inside is None else self.count * inside[self.block]
        summed = np.append(0, np.cumsum(counted, dtype=np.int64))
        return np.diff(summed[self.code_ptr])


@dataclass(frozen=True)
class CharacteristicCounts:
    """The published counts of a store.

    Attributes
    ----------
    store : Store
    files : tuple of dict
        The files they are from, as the manifest lists them; empty without such counts.
    """

    store: Store
    files: tuple[JsonObject, ...]

    @classmethod
    def of(cls, store: Store) -> CharacteristicCounts:
        """Return the published counts of a store; without files if it has none."""
        has_table = any(store.has_table(table.name) for table in (CHARACTERISTIC_COUNTS, CHARACTERISTICS))
        return cls(store, tuple(store.manifest.get(FACT) or ()) if has_table else ())

    def files_of(self, end: End, segment: str) -> list[JsonObject]:
        """Return the files about the jobs at blocks, or of residents, of one segment: one for each state."""
        return [
            file
            for file in self.files
            if file.get("end") == end and file.get("segment", ALL_WORKERS) == segment
        ]

    def cells(self, end: End, segment: str) -> SegmentCells:
        """Read the counts of one segment at one end.

        Raises
        ------
        StoreError
            The file cannot be read.
        """
        if self.store.has_table(CHARACTERISTIC_COUNTS.name):
            return self._sparse(end, segment)
        return self._dense(end) if segment == ALL_WORKERS else _cells_of([])

    def _sparse(self, end: End, segment: str) -> SegmentCells:
        keys, row_ptr = self._row_groups
        mine = np.flatnonzero((keys[:, 0] == ENDS.index(end)) & (keys[:, 1] == SEGMENTS.index(segment)))
        if not mine.size:
            return _cells_of([])
        start, stop = int(row_ptr[mine[0]]), int(row_ptr[mine[-1] + 1])
        found = self.store.slice(CHARACTERISTIC_COUNTS.name, start, stop, ["block_index", "count"])
        sizes = np.zeros(len(CHARACTERISTIC_CODES), dtype=np.int64)
        sizes[keys[mine, 2]] = np.diff(row_ptr)[mine]
        block, count = (np.asarray(found[name], dtype=np.int32) for name in ("block_index", "count"))
        return SegmentCells(block, count, np.append(0, np.cumsum(sizes)))

    @cached_property
    def _row_groups(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        name = CHARACTERISTIC_COUNTS.name
        return self.store.group_keys(name), self.store.row_ptr(name)

    def _dense(self, end: End) -> SegmentCells:
        """Read the table of earlier versions, which has a column for each code."""
        table = self.store.table(CHARACTERISTICS.name)
        table = table[table["end"] == end]
        block = table["block_index"].to_numpy(np.int32)
        parts = []
        for code in CHARACTERISTIC_CODES:
            count = table[code].to_numpy(np.int32)
            parts.append((block[count > 0], count[count > 0]))
        return _cells_of(parts)


def _cells_of(parts: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]) -> SegmentCells:
    """Join the blocks and counts of each code; without parts, nothing is counted."""
    sizes = [block.size for block, _ in parts] or [0] * len(CHARACTERISTIC_CODES)
    nothing = [np.empty(0, dtype=np.int32)]
    return SegmentCells(
        np.concatenate([block for block, _ in parts] or nothing),
        np.concatenate([count for _, count in parts] or nothing),
        np.append(0, np.cumsum(sizes, dtype=np.int64)),
    )
