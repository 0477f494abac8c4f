"""Worker records between reading and writing: too many for memory, so they wait in a file without a name."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from os import pread
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from geodata.progress import yield_in_order
from geodata.store.atomic_writes import name_failed_place
from geodata.store.schema import JOBS, workers_table
from geodata.workers.order import sort_workers
from geodata.workers.persons import JOB_NUMBER

WorkerArrays = dict[str, npt.NDArray[np.generic]]
_ROW: Final = "row"
_BUCKETS: Final = 1 << 14
"""Ranges of workplaces by which every batch is grouped."""
_ROWS_AT_ONCE: Final = 1 << 18
"""Workers from which on a part has no further range, so that memory does not grow with their number."""


class WorkerSource(Protocol):
    """Worker records in the order of the store, a part at a time."""

    domains: Mapping[str, int]

    def parts(self) -> Iterator[WorkerArrays]:
        """Yield columns of `workers`; no destination is in two parts."""
        ...


class WorkerSpool:
    """Takes workers in the order of their file, and gives them back in the order of `workers`.

    They wait, grouped by destination, in a temporary file that has no name and that the system removes when this
    process ends. No other user can open it.

    Parameters
    ----------
    folder : Path, optional
        Where the temporary file is; by default the system's folder for such files.
    n_blocks : int
        Rows of `blocks`.
    domains : mapping of str to int
        Number of values of each further attribute.
    threads : int
        Threads that sort.
    """

    def __init__(
        self, folder: Path | None, n_blocks: int, domains: Mapping[str, int], *, threads: int = 2
    ) -> None:
        self.domains = domains
        self._n_blocks = n_blocks
        self._threads = threads
        self._folder = folder or Path(tempfile.gettempdir())
        self._width = -(-max(n_blocks, 1) // _BUCKETS)
        columns = workers_table(domains).columns
        self._dtype = np.dtype([*columns.items(), *([(_ROW, "int64")] if JOB_NUMBER in domains else [])])
        self._job_numbers = np.zeros(0, dtype=np.int16)
        self._ends: list[
            npt.NDArray[np.int64]
        ] = []  # for each batch, the first row of every bucket, and its end
        self._rows = 0
        with name_failed_place(self._folder):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (open as long as this object)
        weakref.finalize(self, self._file.close)

    def add(self, columns: WorkerArrays) -> None:
        """Keep some workers.

        Raises
        ------
        StoreError
            The disk is full.
        """
        bucket = columns["destination_index"].astype(np.int64) // self._width
        order = np.argsort(bucket.astype(np.uint16), kind="stable")
        rows = np.zeros(order.size, dtype=self._dtype)
        for name, values in columns.items():
            rows[name] = values[order]
        if _ROW in (self._dtype.names or ()):
            rows[_ROW] = self._rows + order
        with name_failed_place(self._folder):
            content = memoryview(rows.tobytes())
            while content:
                content = content[self._file.write(content) :]
        self._ends.append(self._rows + np.searchsorted(bucket[order], np.arange(_BUCKETS + 1)))
        self._rows += order.size

    def number_jobs(self, numbers: npt.NDArray[np.int16]) -> None:
        """Say which job of its person each worker is, in the order in which workers were added."""
        self._job_numbers = numbers

    def parts(self) -> Iterator[WorkerArrays]:
        """Yield all workers, sorted."""
        with ThreadPoolExecutor(max_workers=self._threads) as pool:
            yield from yield_in_order(pool, self._part, self._ranges(), ahead=self._threads)

    def _ranges(self) -> list[tuple[int, int]]:
        """Consecutive buckets that are sorted together: the first, and the one after the last."""
        n_rows = sum((np.diff(ends) for ends in self._ends), start=np.zeros(_BUCKETS, dtype=np.int64))
        ranges, first, rows = list[tuple[int, int]](), 0, 0
        for bucket, n in enumerate(n_rows.tolist()):
            if rows and rows + n > _ROWS_AT_ONCE:
                ranges.append((first, bucket))
                first, rows = bucket, 0
            rows += n
        return [*ranges, (first, _BUCKETS)] if rows else ranges

    def _part(self, buckets: tuple[int, int]) -> WorkerArrays:
        first, after = buckets
        pieces = [self._read(int(ends[first]), int(ends[after])) for ends in self._ends]
        rows = np.concatenate(pieces) if pieces else np.empty(0, dtype=self._dtype)
        columns = {name: rows[name] for name in self._dtype.names or () if name != _ROW}
        if JOB_NUMBER in columns:
            columns[JOB_NUMBER] = self._job_numbers[rows[_ROW]]
        return sort_workers(columns, self._n_blocks, self.domains)

    def _read(self, first: int, end: int) -> npt.NDArray[np.void]:
        size = self._dtype.itemsize
        content = pread(self._file.fileno(), (end - first) * size, first * size)
        return np.frombuffer(content, dtype=self._dtype)


def count_jobs(workers: WorkerArrays) -> WorkerArrays:
    """Count sorted workers as rows of `jobs`."""
    names = [name for name in JOBS.columns if name != "count"]
    n_rows = workers["destination_index"].size
    differs = np.zeros(n_rows, dtype=bool)
    differs[:1] = True
    for name in names:
        differs[1:] |= workers[name][1:] != workers[name][:-1]
    first = np.flatnonzero(differs)
    count = np.diff(np.append(first, n_rows)).astype(np.int32)
    return {**{name: workers[name][first] for name in names}, "count": count}
