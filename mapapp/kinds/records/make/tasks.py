"""The tasks of a run, and what a machine holds for them: threads of the run do them, or the workers of a cluster.

A task takes a few numbers and returns at most one. Rows are left in files of the run's folder for parts, which only
their owner reads. What a task leaves depends on the key, the model, and its numbers alone.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.placement.points import CellTriangles
from engine.records.groups import GroupTable, Seeds
from engine.streams import SecretKey
from geodata.store.private_files import write_private
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.records.make.drawing import Chunk, RecordSource, draw_chunk, read_seeds, try_chunk
from mapapp.kinds.records.make.placement import job_rows, place_codes, point_columns, sort_rows
from mapapp.kinds.records.make.sorted_parts import Bounds, Columns, read_range, write_sorted

__all__ = [
    "Drawing",
    "PartFiles",
    "Placing",
    "Range",
    "RecordWork",
    "RowsOfRange",
    "Trying",
    "collect_range",
    "draw_part",
    "place_part",
    "save_array",
    "try_part",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Trying(NamedTuple):
    """Candidates to try; those that pass become part ``number``."""

    number: int
    chunk: Chunk


class Placing(NamedTuple):
    """Part ``number`` of those that passed, the first of which is record ``at``."""

    number: int
    at: int


class Drawing(NamedTuple):
    """Records of the model for part ``number``, the first of which is record ``at``; whether they top up."""

    number: int
    chunk: Chunk
    at: int
    tops_up: bool


class Range(NamedTuple):
    """A range of workplaces, whose records are in this many parts."""

    number: int
    bounds: Bounds
    n_parts: int


class RowsOfRange(NamedTuple):
    """The rows of a range of workplaces in the three tables."""

    records: Columns
    jobs: Columns
    points: Columns


class PartFiles(NamedTuple):
    """Where the parts of a run are; no other run uses these names."""

    folder: Path
    run: str

    def codes(self, number: int) -> Path:
        """Candidates that passed, before they are placed."""
        return self._file(f"codes-{number:06}.npy")

    def part(self, number: int) -> Path:
        """Placed records, sorted by workplace."""
        return self._file(f"part-{number:06}.arrow")

    @property
    def missing(self) -> Path:
        """Running sums of what is missing in each group."""
        return self._file("missing.npy")

    @property
    def used(self) -> Path:
        """Which blocks are anybody's home or workplace."""
        return self._file("used.npy")

    def _file(self, name: str) -> Path:
        return self.folder / f"{self.run}-{name}"


class RecordWork:
    """What a machine holds of a run. What can be read again is read when a task first needs it.

    Parameters
    ----------
    source : RecordSource
    key : SecretKey
    files : PartFiles
    threads : int
    seeds : Seeds, optional
        They are read from the dataset if they are not given.
    """

    def __init__(
        self,
        source: RecordSource,
        key: SecretKey,
        files: PartFiles,
        *,
        threads: int,
        seeds: Seeds | None = None,
    ) -> None:
        self.source = source
        self.key = key
        self.files = files
        self._threads = threads
        self._seeds = None if seeds is None else (seeds, seeds.groups())
        self._missing: Ints | None = None
        self._cells: CellTriangles | None = None
        self._reading = threading.Lock()

    @property
    def seeds(self) -> tuple[Seeds, GroupTable]:
        """The seeds and their groups: confidential."""
        with self._reading:
            if self._seeds is None:
                seeds = read_seeds(self.source, self.key, threads=self._threads)
                self._seeds = (seeds, seeds.groups())
            return self._seeds

    @property
    def missing(self) -> Ints:
        """Running sums of what is missing in each group."""
        with self._reading:
            if self._missing is None:
                self._missing = np.load(self.files.missing)
            return self._missing

    @property
    def cells(self) -> CellTriangles:
        """Cells of all blocks in which somebody lives or works."""
        with self._reading:
            if self._cells is None:
                used: Bools = np.load(self.files.used)
                self._cells = read_cells(self.source.store, used, threads=self._threads)
            return self._cells


def try_part(work: RecordWork, item: Trying) -> int:
    """Try candidates, and leave those that passed: their number."""
    seeds, groups = work.seeds
    codes = try_chunk(work.source, seeds, groups, work.key, item.chunk)
    save_array(work.files.codes(item.number), codes)
    return int(codes.shape[0])


def place_part(work: RecordWork, item: Placing) -> int:
    """Place candidates that passed, and leave them: their number."""
    return _place(work, np.load(work.files.codes(item.number)), item.number, item.at)


def draw_part(work: RecordWork, item: Drawing) -> int:
    """Draw records of the model, place them, and leave them: their number."""
    missing = work.missing if item.tops_up else None
    return _place(work, draw_chunk(work.source, missing, work.key, item.chunk), item.number, item.at)


def collect_range(work: RecordWork, item: Range) -> RowsOfRange:
    """Collect the records of a range of workplaces from all parts, sort them, and draw their points."""
    parts = [work.files.part(number) for number in range(item.n_parts)]
    rows = sort_rows(read_range(parts, item.bounds), work.source.plan.attributes)
    return RowsOfRange(rows.columns, job_rows(rows), point_columns(work.key, rows, work.cells))


def save_array(file: Path, array: npt.NDArray[np.generic]) -> None:
    """Leave an array where only its owner reads it."""
    with write_private(file) as stream:
        np.save(stream, array)


def _place(work: RecordWork, codes: npt.NDArray[np.int32], number: int, at: int) -> int:
    placed = place_codes(work.key, codes, work.source.plan.attributes, first=at)
    write_sorted(work.files.part(number), placed)
    return int(codes.shape[0])
