"""Published counts of LODES in a store, read one segment at a time, from the table of now or of earlier versions."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Counts above zero of some codes of one segment at one end, by code, then block.

    `block` is int32[n], rows of `blocks`; `jobs` is int32[n]; the rows of code i of `codes` are those from
    `code_ptr[i]` to before `code_ptr[i + 1]`.
    """

    codes: tuple[str, ...]
    block: npt.NDArray[np.int32]
    jobs: npt.NDArray[np.int32]
    code_ptr: npt.NDArray[np.int64]

    @property
    def n_bytes(self) -> int:
        """Memory of the arrays."""
        return self.block.nbytes + self.jobs.nbytes + self.code_ptr.nbytes

    def blocks_of_code(self, code: str) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the blocks that have jobs of a code, and how many."""
        place = self.codes.index(code)
        cells = slice(int(self.code_ptr[place]), int(self.code_ptr[place + 1]))
        return self.block[cells], self.jobs[cells]

    def sum_by_code(self, inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the jobs of each code in some of the blocks (bool[blocks]): int64[codes]."""
        counted = self.jobs * inside[self.block]
        summed = np.append(0, np.cumsum(counted, dtype=np.int64))
        jobs_by_code: npt.NDArray[np.int64] = np.diff(summed[self.code_ptr])
        return jobs_by_code


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

    def cells(self, end: End, segment: str, codes: Sequence[str] = CHARACTERISTIC_CODES) -> SegmentCells:
        """Read the counts of one segment at one end.

        Parameters
        ----------
        end : {"work", "home"}
        segment : str
        codes : sequence of str
            Codes that follow each other in `schema.CHARACTERISTIC_CODES`, such as those of a group.

        Raises
        ------
        StoreError
            The file cannot be read.
        """
        if self.store.has_table(CHARACTERISTIC_COUNTS.name):
            return self._read_sparse(end, segment, tuple(codes))
        return self._read_dense(end, tuple(codes), is_counted=segment == ALL_WORKERS)

    def _read_sparse(self, end: End, segment: str, codes: tuple[str, ...]) -> SegmentCells:
        keys, row_ptr = self._row_groups
        first = CHARACTERISTIC_CODES.index(codes[0])
        groups = np.flatnonzero(
            (keys[:, 0] == ENDS.index(end))
            & (keys[:, 1] == SEGMENTS.index(segment))
            & (keys[:, 2] >= first)
            & (keys[:, 2] < first + len(codes))
        )
        sizes = np.zeros(len(codes), dtype=np.int64)
        sizes[keys[groups, 2] - first] = np.diff(row_ptr)[groups]
        start, stop = (int(row_ptr[groups[0]]), int(row_ptr[groups[-1] + 1])) if groups.size else (0, 0)
        cells = self.store.slice(CHARACTERISTIC_COUNTS.name, start, stop, ["block_index", "count"])
        block, count = (np.asarray(cells[name], dtype=np.int32) for name in ("block_index", "count"))
        return SegmentCells(codes, block, count, np.append(0, np.cumsum(sizes)))

    @cached_property
    def _row_groups(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        name = CHARACTERISTIC_COUNTS.name
        return self.store.group_keys(name), self.store.row_ptr(name)

    def _read_dense(self, end: End, codes: tuple[str, ...], *, is_counted: bool) -> SegmentCells:
        """Read the table of earlier versions, which has a column for each code, of all workers."""
        table = self.store.table(CHARACTERISTICS.name, ["end", "block_index", *codes])
        table = table[(table["end"] == end) & is_counted]
        block = table["block_index"].to_numpy(np.int32)
        counts = [table[code].to_numpy(np.int32) for code in codes]
        return SegmentCells(
            codes,
            np.concatenate([block[count > 0] for count in counts]),
            np.concatenate([count[count > 0] for count in counts]),
            np.append(0, np.cumsum([np.count_nonzero(count) for count in counts], dtype=np.int64)),
        )
