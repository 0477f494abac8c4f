"""The commutes of one release as columns that are mapped into memory, for questions about few or many of them.

A question about a town reads a few thousand of a release's commutes. Planning and starting a query takes much longer
than that, and a query of all commutes of a state takes several times as long as adding them up. So the columns of the
two sorted copies of a release are also kept as they are in memory, if there are not too many of them. Files that are
mapped are shared by all processes, and the system may drop them from memory at any time.

`mapapp.answers.flows` asks these columns where it can, and the database otherwise; both give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.ipc

from geodata.schema import N_SEGMENTS
from mapapp.question.fields import Side

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Blocks = npt.NDArray[np.int32]
Column = npt.NDArray[np.generic]

__all__ = ["CommuteColumns", "PickedCommutes", "parts_of", "write_columns"]

_DENSE: Final = 8
"""Groups are counted in an array of all possible ones if these are at most so many times the rows."""
_FEW_IN_A_ROW: Final = 8
"""Workers are listed one by one if a row has at most so many on average."""
_PART: Final = 1 << 15
"""Rows that are added up at once, so that what is computed of them stays in the processor's cache."""
_FAR: Final = 4
"""Rows are added up by parts if the groups of each part are within so many times its rows."""
_LEAST_RUN: Final = 64
"""Runs are copied one after another if they have so many rows in the mean; a run costs as much as finding these."""


def write_columns(rows: pyarrow.Table, file: Path) -> None:
    """Write a table as one piece that can be mapped into memory."""
    whole = rows.combine_chunks()
    with pyarrow.OSFile(str(file), "wb") as stream, pyarrow.ipc.new_file(stream, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=max(whole.num_rows, 1))


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows in several pieces, ascending: the first row and the number of rows of each piece."""

    first: Ints
    size: Ints


Rows = slice | Runs | Ints
"""Some rows, ascending: in one piece, in several, or one by one."""


class CommuteColumns:
    """The columns of the two sorted copies; safe to use from several threads.

    Parameters
    ----------
    by_work, by_home : Path
        Files of :func:`write_columns`, sorted by the block of the workplace and of the home.
    n_blocks : int
        Blocks of the release.
    """

    def __init__(self, by_work: Path, by_home: Path, n_blocks: int) -> None:
        self._n_blocks = n_blocks
        self._columns: dict[Side, dict[str, Column]] = {"work": _mapped(by_work), "home": _mapped(by_home)}
        self._ptr: dict[Side, Ints] = {
            side: np.searchsorted(columns[side], np.arange(n_blocks + 1, dtype=np.int32)).astype(np.int64)
            for side, columns in self._columns.items()
        }

    def pick(
        self, side: Side, work: Blocks | None, home: Blocks | None, segments: Sequence[int]
    ) -> PickedCommutes:
        """Select commutes.

        Parameters
        ----------
        side : {"work", "home"}
            The copy to read, best that of the end with fewer blocks.
        work, home : int32 array or None
            Blocks of the workplace and of the home, ascending; None for anywhere.
        segments : sequence of int
            Joint segments 0..26.
        """
        columns = self._columns[side]
        mine, other = (work, home) if side == "work" else (home, work)
        rows = self._rows(side, mine)
        if other is not None:
            inside = np.zeros(self._n_blocks, dtype=np.bool_)
            inside[other] = True
            rows = _kept(rows, inside[_at(columns["home" if side == "work" else "work"], rows)])
        if len(segments) < N_SEGMENTS:
            is_kept = np.zeros(N_SEGMENTS, dtype=np.bool_)
            is_kept[list(segments)] = True
            rows = _kept(rows, is_kept[_at(columns["segment"], rows)])
        return PickedCommutes(columns, rows, side, self._n_blocks)

    def _rows(self, side: Side, blocks: Blocks | None) -> Rows:
        """Return the rows of some blocks, ascending: in pieces if there are few rows of other blocks between."""
        ptr = self._ptr[side]
        if blocks is None:
            return slice(0, int(ptr[-1]))
        if not blocks.size:
            return slice(0, 0)
        start, size = ptr[blocks], ptr[blocks + 1] - ptr[blocks]
        n_rows = int(size.sum())
        first, last = int(ptr[blocks[0]]), int(ptr[blocks[-1] + 1])
        if n_rows == last - first:
            return slice(first, last)
        is_new = np.append(True, np.diff(blocks) > 1)
        starts = np.flatnonzero(is_new)
        if starts.size * _LEAST_RUN <= n_rows:
            return Runs(start[starts], np.add.reduceat(size, starts))
        return np.repeat(start - (np.cumsum(size) - size), size) + np.arange(n_rows)


class PickedCommutes:
    """Some commutes, and their sums. Rows with the same ends and segment may occur more than once.

    Parameters
    ----------
    columns : mapping
        Columns of a copy.
    rows : Rows
    side : {"work", "home"}
        The end by which they are sorted.
    n_blocks : int
    """

    def __init__(self, columns: dict[str, Column], rows: Rows, side: Side, n_blocks: int) -> None:
        self._columns = columns
        self._read: dict[str, Column] = {}
        self._rows = rows
        self._side = side
        self._n_blocks = n_blocks

    @property
    def size(self) -> int:
        """Number of commutes."""
        rows = self._rows
        if isinstance(rows, slice):
            found: int = rows.stop - rows.start
            return found
        return int(rows.size.sum()) if isinstance(rows, Runs) else rows.size

    def column(self, name: str) -> npt.NDArray[np.int64]:
        """Return a column of the picked commutes."""
        found: npt.NDArray[np.int64] = self._picked(name)  # type: ignore[assignment]  # of any integer type
        return found

    @property
    def distance_mi(self) -> Floats:
        """Distance of each commute."""
        found: Floats = self._picked("distance_mi")  # type: ignore[assignment]  # the only column of floats
        return found

    def _picked(self, name: str) -> Column:
        if isinstance(self._rows, slice):
            return self._columns[name][self._rows]
        if name not in self._read:
            self._read[name] = _at(self._columns[name], self._rows)
        return self._read[name]

    def by_segment(self) -> Ints:
        """Return workers of each joint segment: int64[27]."""
        return _added(self.column("segment"), self.column("workers"), N_SEGMENTS)

    def by_segment_within(self, end: Side, blocks: Blocks) -> Ints:
        """Return workers with their `end` outside and within `blocks`, by joint segment: int64[2, 27]."""
        inside = np.zeros(self._n_blocks, dtype=np.int8)
        inside[blocks] = N_SEGMENTS
        block, segment, workers = self.column(end), self.column("segment"), self.column("workers")
        found = np.zeros(2 * N_SEGMENTS, dtype=np.int64)
        for part in _parts(block.size):
            found += _added(inside[block[part]] + segment[part], workers[part], found.size)
        return found.reshape(2, N_SEGMENTS)

    def by_block(self, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end`, ascending, and their numbers of workers."""
        blocks, n = _grouped(self.column(end), self.column("workers"), self._n_blocks)
        return blocks.astype(np.int32), n

    def by_block_and_segment(self, end: Side) -> tuple[Blocks, npt.NDArray[np.int8], Ints]:
        """Return workers by the block of their `end` and by joint segment: three arrays of equal length."""
        block, segment, size = self.column(end), self.column("segment"), self._n_blocks * N_SEGMENTS
        if end == self._side and size <= _DENSE * block.size:
            key = np.empty(block.size, dtype=np.int64)
            for part in _parts(block.size):
                key[part] = block[part] * np.int64(N_SEGMENTS) + segment[part]
            found, n = _grouped(key, self.column("workers"), size)
            return (found // N_SEGMENTS).astype(np.int32), (found % N_SEGMENTS).astype(np.int8), n
        blocks, number = self._numbered(end)
        key, n = _grouped(number * N_SEGMENTS + segment, self.column("workers"), blocks.size * N_SEGMENTS)
        return blocks[key // N_SEGMENTS], (key % N_SEGMENTS).astype(np.int8), n

    def by_code_and_segment(self, end: Side, code: Blocks, n_codes: int) -> Ints:
        """Return workers by the code of their block at an `end`, and by joint segment: int64[n_codes, 27]."""
        block, segment = self.column(end), self.column("segment")
        first = code * np.int32(N_SEGMENTS)
        key = np.empty(block.size, dtype=np.int32)
        for part in _parts(block.size):
            key[part] = first[block[part]] + segment[part]
        found = _added(key, self.column("workers"), n_codes * N_SEGMENTS)
        return found.reshape(n_codes, N_SEGMENTS)

    def by_pair(self) -> tuple[Blocks, npt.NDArray[np.int8], Blocks, Ints]:
        """Return workers by workplace block, joint segment and home block: four arrays of equal length."""
        place = self.column("work").astype(np.int64) * N_SEGMENTS + self.column("segment")
        key = place * self._n_blocks + self.column("home")
        found, n = _grouped(key, self.column("workers"), self._n_blocks**2 * N_SEGMENTS)
        place, home = found // self._n_blocks, found % self._n_blocks
        return (
            (place // N_SEGMENTS).astype(np.int32),
            (place % N_SEGMENTS).astype(np.int8),
            home.astype(np.int32),
            n,
        )

    def bands(self, edges_mi: Sequence[float]) -> npt.NDArray[np.int8]:
        """Return the distance band of each commute; a band includes its lower edge."""
        miles = self.distance_mi
        band = np.zeros(miles.size, dtype=np.int8)
        for part in _parts(miles.size):
            for edge in edges_mi:
                band[part] += miles[part] >= edge
        return band

    def by_band(self, band: npt.NDArray[np.int8], n_bands: int) -> Ints:
        """Return workers by distance band."""
        return _added(band, self.column("workers"), n_bands)

    def miles_below(self, limit_mi: float) -> tuple[int, float]:
        """Return the number of workers with a distance below a limit, and the sum of their distances."""
        distance_mi, workers = self.distance_mi, self.column("workers")
        n, total = 0, 0.0
        for part in _parts(distance_mi.size):
            near = distance_mi[part] < limit_mi
            mine = workers[part] * near
            n += int(mine.sum(dtype=np.int64))
            # Not by a product of vectors: its threads cost more than the sum, and change its last digits.
            total += float((distance_mi[part] * mine).sum())
        return n, total

    def by_cell(self, band: npt.NDArray[np.int8], n_bands: int, octant: Ints, n_octants: int) -> Ints:
        """Return workers by distance band and direction: int64[bands, n_octants]; octant -1 is the last."""
        workers, found = self.column("workers"), np.zeros(n_bands * n_octants, dtype=np.int64)
        for part in _parts(band.size):
            found += _added(_cells(band[part], octant[part], n_octants), workers[part], found.size)
        return np.roll(found.reshape(n_bands, n_octants), -1, axis=1)

    def by_workplace_and_cell(
        self, band: npt.NDArray[np.int8], n_bands: int, octant: Ints, n_octants: int
    ) -> tuple[Blocks, Ints, Ints, Ints]:
        """Return workers by workplace block, distance band and direction: four arrays of equal length."""
        blocks, number = self._numbered("work")
        n_cells = n_bands * n_octants
        key = number * n_cells + _cells(band, octant, n_octants)
        found, n = _grouped(key, self.column("workers"), blocks.size * n_cells)
        cell = found % n_cells
        return blocks[found // n_cells], cell // n_octants, (cell - 1) % n_octants, n

    def by_workplace(self, *values: Floats | Ints) -> tuple[Blocks, list[Floats]]:
        """Return the workplace blocks and, for each of them, the sums of some values of the commutes."""
        blocks, number = self._numbered("work")
        return blocks, [np.bincount(number, each, blocks.size).astype(np.float64) for each in values]

    def by_step(self, steps_per_mile: float) -> tuple[Ints, Ints]:
        """Return the distances of workers in whole steps, ascending, and the workers of each."""
        miles = self.distance_mi
        step = np.empty(miles.size, dtype=np.int32)
        for part in _parts(miles.size):
            step[part] = miles[part] * steps_per_mile  # rounds down, as no distance is below 0
        return _grouped(step, self.column("workers"), int(step.max(initial=0)) + 1)

    def within_mile(self, mile: int) -> tuple[Floats, Ints]:
        """Return the distances from `mile` to `mile` + 1 miles, ascending, and the workers of each row."""
        miles, workers = self.distance_mi, self.column("workers")
        far, n = [np.empty(0)], [np.empty(0, dtype=np.int64)]
        for part in _parts(miles.size):
            here = miles[part]
            mine = np.flatnonzero((here >= mile) & (here < mile + 1))
            far.append(here[mine])
            n.append(workers[part][mine].astype(np.int64))
        each, of_each = np.concatenate(far), np.concatenate(n)
        if int(of_each.sum()) <= _FEW_IN_A_ROW * of_each.size:
            # Numbers are sorted several times as fast as their places, so each worker is listed.
            each = np.sort(np.repeat(each, of_each))
            return each, np.ones(each.size, dtype=np.int64)
        order = np.argsort(each)
        return each[order], of_each[order]

    def matrix(self, home_code: Blocks, work_code: Blocks) -> tuple[Ints, Ints, Ints]:
        """Return workers by the codes of their home and work block, most first: home, work, and workers.

        Parameters
        ----------
        home_code, work_code : int32[blocks]
            No code of a picked commute is below 0.
        """
        home, work = home_code[self.column("home")], work_code[self.column("work")]
        n_works = int(work.max(initial=0)) + 1
        n_pairs = (int(home.max(initial=0)) + 1) * n_works
        key, n = _grouped(home * np.int64(n_works) + work, self.column("workers"), n_pairs)
        order = np.argsort(-n, kind="stable")
        return key[order] // n_works, key[order] % n_works, n[order]

    def _numbered(self, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end`, ascending, and the number among these of each commute's block."""
        block = self.column(end)
        if end == self._side:
            is_new = np.empty(block.size, dtype=np.bool_)
            is_new[:1] = True
            np.not_equal(block[1:], block[:-1], out=is_new[1:])
            return block[is_new].astype(np.int32), np.cumsum(is_new) - 1
        if self._n_blocks > _DENSE * block.size:
            blocks, number = np.unique(block, return_inverse=True)
            return blocks.astype(np.int32), number.reshape(-1)
        there = np.zeros(self._n_blocks, dtype=np.bool_)
        there[block] = True
        blocks = np.flatnonzero(there)
        number_of = np.zeros(self._n_blocks, dtype=np.int64)
        number_of[blocks] = np.arange(blocks.size)
        return blocks.astype(np.int32), number_of[block]


def _mapped(file: Path) -> dict[str, Column]:
    with pyarrow.memory_map(str(file)) as source:
        rows = pyarrow.ipc.open_file(source).read_all()
    return {name: _whole(rows[name]) for name in rows.column_names}


def _whole(column: pyarrow.ChunkedArray) -> Column:
    if column.num_chunks == 1:
        found: Column = column.chunk(0).to_numpy(zero_copy_only=True)
        return found
    return np.empty(0, dtype=column.type.to_pandas_dtype())


def _cells(band: npt.NDArray[np.int8], octant: Ints, n_octants: int) -> Ints:
    """Return a number for each band and octant, of which -1 is the first."""
    return band * np.int16(n_octants) + (octant + np.int8(1))


def _at(column: Column, rows: Rows) -> Column:
    """Return some rows of a column."""
    if not isinstance(rows, Runs):
        return column[rows]
    pieces = zip(rows.first.tolist(), (rows.first + rows.size).tolist(), strict=True)
    return np.concatenate([column[first:end] for first, end in pieces])


def _kept(rows: Rows, is_kept: npt.NDArray[np.bool_]) -> Rows:
    """Return the rows for which a condition holds."""
    if is_kept.all():
        return rows
    at: Ints = np.flatnonzero(is_kept)
    if isinstance(rows, slice):
        at += rows.start
    elif isinstance(rows, Runs):
        at += np.repeat(rows.first - (np.cumsum(rows.size) - rows.size), rows.size)[at]
    else:
        at = rows[at]
    return at


def _parts(n_rows: int) -> Iterator[slice]:
    return (slice(first, first + _PART) for first in range(0, n_rows, _PART))


def _added(group: npt.NDArray[np.integer], workers: npt.NDArray[np.integer], size: int) -> Ints:
    """Return the workers of each group; sums of whole numbers are exact far beyond those of any country.

    Where there are many groups, those of successive rows are mostly near each other.
    """
    total = np.zeros(size, dtype=np.int64)
    for part in _parts(group.size):
        mine, first = group[part], 0
        if size > _PART:
            first = int(mine.min())
            if int(mine.max()) - first > _FAR * _PART:
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


def _grouped(key: npt.NDArray[np.integer], workers: npt.NDArray[np.integer], size: int) -> tuple[Ints, Ints]:
    """Return the keys that occur, ascending, and the workers of each; keys are below `size`."""
    if size <= max(_DENSE * key.size, 1 << 12):
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
