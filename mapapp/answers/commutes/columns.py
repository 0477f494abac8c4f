"""The commutes of one release as columns that are mapped into memory, for questions about few or many of them.

A question about a town reads a few thousand of a release's commutes. A database takes ten times as long to plan and
start a query about them, and several times as long to add up all commutes of a state. Files that are mapped are shared
by all processes, and the system may drop them from memory at any time.

A file holds one column after the other, those with larger items first, so that all are aligned.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.store.schema import N_SEGMENTS
from mapapp.answers.commutes import rows as commute_rows
from mapapp.answers.commutes.attributes import Attribute
from mapapp.answers.commutes.rows import DENSE, FAR, PART, Column, Ints, Rows, Runs, group_workers, most_first
from mapapp.question.fields import Side

Floats = npt.NDArray[np.float64]
Blocks = npt.NDArray[np.int32]

N_WAYS: Final = 9
"""Octants, and no direction."""

_OF_SEGMENT: Final = {"age": 9, "earnings": 3, "industry": 1}
"""A segment, divided by this, has the position of a value as its remainder by 3."""
_FEW_IN_A_ROW: Final = 8
"""Workers are listed one by one if a row has at most so many on average."""
_LEAST_RUN: Final = 64
"""Runs are copied one after another if they have so many rows in the mean; a run costs as much as finding these."""
_MOST_READ: Final = 1 << 20
"""Columns of at most so many commutes are read once; those of more are read in parts each time."""
_WRITTEN_ROWS: Final = 1 << 20


def attribute_column(name: str) -> str:
    """Return the column of a further attribute of worker records."""
    return f"attribute_{name}"


def write_columns(
    batches: Iterable[Mapping[str, Column]], n_rows: int, further: Sequence[str], by_work: Path, by_home: Path
) -> None:
    """Write commutes as two files that can be mapped into memory.

    Parameters
    ----------
    batches : iterable of mapping
        The columns of `_types` without `mile`, of some rows each, sorted by workplace.
    n_rows : int
        Of all batches.
    further : sequence of str
        Names of the further attributes.
    by_work, by_home : Path
        The rows in their order, and sorted by home.
    """
    types, n_written = _types(further), 0
    with by_work.open("wb") as stream:
        for batch in batches:
            mile = batch["distance_mi"].astype(np.uint16)  # rounds down, and no two places are as far apart
            start = 0
            for name, item in types.items():
                stream.seek(start + n_written * item.itemsize)
                stream.write((mile if name == "mile" else batch[name]).astype(item).tobytes())
                start += n_rows * item.itemsize
            n_written += mile.size
    columns = mapped_columns(by_work, further)
    order = np.argsort(columns["home"], kind="stable")
    with by_home.open("wb") as stream:
        for column in columns.values():
            for first in range(0, n_rows, _WRITTEN_ROWS):
                stream.write(column[order[first : first + _WRITTEN_ROWS]].tobytes())


def _types(further: Sequence[str]) -> dict[str, np.dtype[np.generic]]:
    """Return the columns in the order of a file, with their types; in whatever order the attributes are given."""
    types = {
        "distance_mi": np.float64,  # exactly 0 within one block
        "work": np.int32,  # rows of `blocks`
        "home": np.int32,
        "workers": np.int32,
        "mile": np.uint16,
        **{attribute_column(name): np.int16 for name in sorted(further)},
        "segment": np.int8,
        "octant_work": np.int8,  # from work to home: 0 north, 1 northeast, …; -1 none
        "octant_home": np.int8,  # from home to work
    }
    return {name: np.dtype(kind) for name, kind in types.items()}


class CommuteColumns:
    """The columns of the two sorted copies; safe to use from several threads.

    Parameters
    ----------
    by_work, by_home : Path
        Files of :func:`write_columns`, sorted by the block of the workplace and of the home.
    n_blocks : int
        Blocks of the release.
    further : sequence of str
        Names of the further attributes.
    """

    def __init__(self, by_work: Path, by_home: Path, n_blocks: int, further: Sequence[str]) -> None:
        self._n_blocks = n_blocks
        self._columns: dict[Side, dict[str, Column]] = {
            "work": mapped_columns(by_work, further),
            "home": mapped_columns(by_home, further),
        }
        self._ptr: dict[Side, Ints] = {
            side: np.searchsorted(columns[side], np.arange(n_blocks + 1, dtype=np.int32)).astype(np.int64)
            for side, columns in self._columns.items()
        }
        self._several: dict[Side, Ints] = {
            side: _several_in(columns["workers"], slice(0, columns["workers"].size))
            for side, columns in self._columns.items()
        }

    def pick(
        self,
        side: Side,
        work: Blocks | None,
        home: Blocks | None,
        segments: Sequence[int],
        values: Mapping[str, npt.NDArray[np.bool_]],
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
        values : mapping
            Marks of the picked values of further attributes, by name.
        """
        columns = self._columns[side]
        own_blocks, other_blocks = (work, home) if side == "work" else (home, work)
        rows = self._rows(side, own_blocks)
        if other_blocks is not None:
            inside = np.zeros(self._n_blocks, dtype=np.bool_)
            inside[other_blocks] = True
            there = columns["home" if side == "work" else "work"]
            rows = commute_rows.keep_rows(rows, commute_rows.is_marked(inside, there, rows))
        if len(segments) < N_SEGMENTS:
            rows = commute_rows.keep_rows(
                rows, commute_rows.is_among(columns["segment"], rows, list(segments))
            )
        for name, mark in values.items():
            rows = commute_rows.keep_rows(
                rows, commute_rows.is_marked(mark, columns[attribute_column(name)], rows)
            )
        return PickedCommutes(columns, rows, side, self._n_blocks, self._several[side])

    def n_rows(self, side: Side, blocks: Blocks) -> int:
        """Return how many rows of a copy are of some blocks at its end."""
        ptr = self._ptr[side]
        return int((ptr[blocks + 1] - ptr[blocks]).sum())

    def n_all(self, side: Side) -> int:
        """Return how many rows a copy has."""
        return int(self._ptr[side][-1])

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
    several : int64 array
        Rows of the copy that are not one worker each.
    """

    def __init__(
        self, columns: dict[str, Column], rows: Rows, side: Side, n_blocks: int, several: Ints
    ) -> None:
        self._columns = columns
        self._read: dict[str, Column] = {}
        self._rows = rows
        self._side = side
        self._n_blocks = n_blocks
        self._all_several = several
        self._ways: dict[Side, Ints] = {}
        self.size = commute_rows.n_of(rows)

    def pieces(self) -> Iterator[PickedCommutes]:
        """Yield the commutes, those of a workplace block together; some at a time if they are sorted by workplace."""
        if self._side == "home" or self.size <= _MOST_READ:
            yield self
            return
        work = self.column("work")
        starts = np.unique(np.searchsorted(work, work[::_MOST_READ]))
        for first, stop in pairwise([*starts.tolist(), self.size]):
            numbers = commute_rows.numbers(self._rows, np.arange(first, stop))
            rows = slice(numbers[0], numbers[-1] + 1) if isinstance(self._rows, slice) else numbers
            yield PickedCommutes(self._columns, rows, self._side, self._n_blocks, self._all_several)

    def column(self, name: str) -> npt.NDArray[np.int64]:
        """Return a column of the picked commutes."""
        values: npt.NDArray[np.int64] = self._pick_column(name)  # type: ignore[assignment]  # of any integer type
        return values

    @property
    def distance_mi(self) -> Floats:
        """Distance of each commute."""
        miles: Floats = self._pick_column("distance_mi")  # type: ignore[assignment]  # the only column of floats
        return miles

    def _pick_column(self, name: str) -> Column:
        if isinstance(self._rows, slice):
            return self._columns[name][self._rows]
        if name not in self._read:
            self._read[name] = commute_rows.take_rows(self._columns[name], self._rows)
        return self._read[name]

    def _parts(self, name: str) -> Iterator[Column]:
        """Yield a column in parts; those of many commutes are not all in memory."""
        if self.size > _MOST_READ and name not in self._read:
            return commute_rows.split_column(self._columns[name], self._rows)
        column = self._pick_column(name)
        return (column[part] for part in commute_rows.parts(self.size))

    def _integers(self, name: str) -> Iterator[npt.NDArray[np.integer]]:
        """Yield a column of integers in parts."""
        parts: Iterator[npt.NDArray[np.integer]] = self._parts(name)  # type: ignore[assignment]  # of any integer type
        return parts

    @cached_property
    def _several(self) -> tuple[Ints, Ints]:
        """Places of the commutes that are not one worker, ascending, and by how many each has more."""
        rows = self._rows
        if isinstance(rows, slice | Runs):
            here = commute_rows.places_among(rows, self._all_several)
        else:
            here = _several_in(self._columns["workers"], rows)
        workers: Ints = self._columns["workers"][commute_rows.numbers(rows, here)].astype(np.int64)
        return here, workers - 1

    def _sum_by_key(self, keys: Iterator[npt.NDArray[np.integer]], size: int) -> Ints:
        """Return the workers of each key; sums of whole numbers are exact far beyond those of any country.

        Most rows are one worker: to count these takes half the time of adding. Where there are many groups, those of
        successive rows are mostly near each other.
        """
        total, low = np.zeros(size, dtype=np.int64), 0
        several, more = self._several
        for part, key in zip(commute_rows.parts(self.size), keys, strict=True):
            first = int(key.min()) if size > PART else 0
            if size > PART and int(key.max()) - first > FAR * PART:
                np.add.at(total, key.astype(np.intp), 1)
            else:
                n = np.bincount(key - first if first else key)
                total[first : first + n.size] += n
            high = int(np.searchsorted(several, part.stop))
            np.add.at(total, key[several[low:high] - part.start], more[low:high])
            low = high
        return total

    def by_segment(self) -> Ints:
        """Return workers of each joint segment: int64[27]."""
        return self._sum_by_key(self._integers("segment"), N_SEGMENTS)

    def by_values(self, attributes: Sequence[Attribute]) -> Ints:
        """Return workers by the values of some attributes: int64, with one axis for each attribute."""
        shape = [attribute.size for attribute in attributes]
        values = zip(*(self._values(attribute) for attribute in attributes), strict=True)
        keys = (np.asarray(np.ravel_multi_index(part, shape)) for part in values)
        return self._sum_by_key(keys, math.prod(shape)).reshape(shape)

    def _values(self, attribute: Attribute) -> Iterator[npt.NDArray[np.integer]]:
        """Yield the position of the value of an attribute, in parts."""
        if attribute.is_further:
            return self._integers(attribute_column(attribute.name))
        divisor = _OF_SEGMENT[attribute.name]
        return (segment // divisor % 3 for segment in self._integers("segment"))

    def first_rows(self, n: int, attributes: Sequence[Attribute]) -> tuple[Blocks, Blocks, Ints]:
        """Return the first commutes, ordered by workplace, then home and values: their blocks, and their values."""
        work, some = self.column("work"), self
        if n < self.size:
            last = work[n - 1] if self._side == "work" else np.partition(work, n - 1)[n - 1]
            rows = commute_rows.numbers(self._rows, np.flatnonzero(work <= last))
            some = PickedCommutes(self._columns, rows, self._side, self._n_blocks, self._all_several)
        none = np.empty(0, dtype=np.int64)
        values = [np.concatenate([none, *some._values(attribute)]) for attribute in attributes]
        order = np.lexsort([*values[::-1], some.column("home"), some.column("work")])[:n]
        columns = np.stack([column[order] for column in values], axis=1)
        return (
            some.column("work")[order].astype(np.int32),
            some.column("home")[order].astype(np.int32),
            columns,
        )

    def by_segment_within(self, end: Side, blocks: Blocks) -> Ints:
        """Return workers with their `end` outside and within `blocks`, by joint segment: int64[2, 27]."""
        inside = np.zeros(self._n_blocks, dtype=np.int8)
        inside[blocks] = N_SEGMENTS
        pairs = zip(self._integers(end), self._integers("segment"), strict=True)
        keys = (inside.take(block) + segment for block, segment in pairs)
        return self._sum_by_key(keys, 2 * N_SEGMENTS).reshape(2, N_SEGMENTS)

    def by_block(self, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end`, ascending, and their numbers of workers."""
        blocks, n = group_workers(self.column(end), self.column("workers"), self._n_blocks)
        return blocks.astype(np.int32), n

    def by_block_and_segment(self, end: Side) -> tuple[Blocks, npt.NDArray[np.int8], Ints]:
        """Return workers by the block of their `end` and by joint segment: three arrays of equal length."""
        block, segment, size = self.column(end), self.column("segment"), self._n_blocks * N_SEGMENTS
        if end == self._side and size <= DENSE * block.size:
            key = np.empty(block.size, dtype=np.int64)
            for part in commute_rows.parts(block.size):
                key[part] = block[part] * np.int64(N_SEGMENTS) + segment[part]
            keys, n = group_workers(key, self.column("workers"), size)
            return (keys // N_SEGMENTS).astype(np.int32), (keys % N_SEGMENTS).astype(np.int8), n
        blocks, number = self._number_blocks(end)
        key, n = group_workers(
            number * N_SEGMENTS + segment, self.column("workers"), blocks.size * N_SEGMENTS
        )
        return blocks[key // N_SEGMENTS], (key % N_SEGMENTS).astype(np.int8), n

    def by_code_and_segment(self, end: Side, code: Blocks, n_codes: int) -> Ints:
        """Return workers by the code of their block at an `end`, and by joint segment: int64[n_codes, 27]."""
        first = code * np.int32(N_SEGMENTS)
        pairs = zip(self._integers(end), self._integers("segment"), strict=True)
        keys = (first.take(block) + segment for block, segment in pairs)
        return self._sum_by_key(keys, n_codes * N_SEGMENTS).reshape(n_codes, N_SEGMENTS)

    def by_pair(self) -> tuple[Blocks, npt.NDArray[np.int8], Blocks, Ints]:
        """Return workers by workplace block, joint segment and home block: four arrays of equal length."""
        place = self.column("work").astype(np.int64) * N_SEGMENTS + self.column("segment")
        key = place * self._n_blocks + self.column("home")
        keys, n = group_workers(key, self.column("workers"), self._n_blocks**2 * N_SEGMENTS)
        place, home = keys // self._n_blocks, keys % self._n_blocks
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
        for part in commute_rows.parts(miles.size):
            for edge in edges_mi:
                band[part] += miles[part] >= edge
        return band

    def by_band(self, band: npt.NDArray[np.int8], n_bands: int) -> Ints:
        """Return workers by distance band."""
        return self._sum_by_key((band[part] for part in commute_rows.parts(self.size)), n_bands)

    def by_mile_and_octant(self, side: Side) -> Ints:
        """Return workers by whole miles and octant, of which -1 is the last: int64[miles, 9], of all that occur."""
        if side not in self._ways:
            pairs = zip(self._integers("mile"), self._integers(f"octant_{side}"), strict=True)
            keys = (mile * np.int32(N_WAYS) + octant + np.int8(1) for mile, octant in pairs)
            workers = self._sum_by_key(keys, self._n_miles * N_WAYS).reshape(self._n_miles, N_WAYS)
            self._ways[side] = np.roll(workers, -1, axis=1)
        return self._ways[side]

    def by_mile(self) -> Ints:
        """Return workers by whole miles: int64[miles], of all that occur in the copy."""
        if self._ways:
            ways = next(iter(self._ways.values()))
            return np.asarray(ways.sum(axis=1))
        return self._sum_by_key(self._integers("mile"), self._n_miles)

    @property
    def _n_miles(self) -> int:
        return int(self._columns["mile"].max(initial=0)) + 1

    def miles_below(self, limit_mi: int) -> float:
        """Return the sum of the distances of workers with a distance below a limit of whole miles."""
        total, low = 0.0, 0
        several, more = self._several
        distances: Iterator[Floats] = self._parts("distance_mi")  # type: ignore[assignment]  # the only column of floats
        columns = zip(distances, self._integers("mile"), strict=True)
        for part, (distance_mi, mile) in zip(commute_rows.parts(self.size), columns, strict=True):
            high = int(np.searchsorted(several, part.stop))
            miles, is_far = distance_mi, mile >= limit_mi
            if high > low or is_far.any():
                # A piece of a longer column is not ours to change.
                miles = distance_mi if distance_mi.base is None else distance_mi.copy()
                miles[several[low:high] - part.start] *= more[low:high] + 1
                miles[is_far] = 0.0
            # Not by a product of vectors: its threads cost more than the sum, and change its last digits.
            total += float(miles.sum())
            low = high
        return total

    def by_cell(self, band: npt.NDArray[np.int8], n_bands: int, octant: Ints, n_octants: int) -> Ints:
        """Return workers by distance band and direction: int64[bands, n_octants]; octant -1 is the last."""
        slices = commute_rows.parts(self.size)
        workers = self._sum_by_key(
            (_cells(band[part], octant[part], n_octants) for part in slices), n_bands * n_octants
        )
        return np.roll(workers.reshape(n_bands, n_octants), -1, axis=1)

    def by_workplace_and_cell(
        self, band: npt.NDArray[np.int8], n_bands: int, octant: Ints, n_octants: int
    ) -> tuple[Blocks, Ints, Ints, Ints]:
        """Return workers by workplace block, distance band and direction: four arrays of equal length."""
        blocks, number = self._number_blocks("work")
        n_cells = n_bands * n_octants
        key = number * n_cells + _cells(band, octant, n_octants)
        keys, n = group_workers(key, self.column("workers"), blocks.size * n_cells)
        cell = keys % n_cells
        return blocks[keys // n_cells], cell // n_octants, (cell - 1) % n_octants, n

    def by_workplace(self, *values: Floats | Ints) -> tuple[Blocks, list[Floats]]:
        """Return the workplace blocks and, for each of them, the sums of some values of the commutes."""
        blocks, number = self._number_blocks("work")
        return blocks, [np.bincount(number, column, blocks.size).astype(np.float64) for column in values]

    def by_step(self, steps_per_mile: float) -> tuple[Ints, Ints]:
        """Return the distances of workers in whole steps, ascending, and the workers of each."""
        miles = self.distance_mi
        step = np.empty(miles.size, dtype=np.int32)
        for part in commute_rows.parts(miles.size):
            step[part] = miles[part] * steps_per_mile  # rounds down, as no distance is below 0
        return group_workers(step, self.column("workers"), int(step.max(initial=0)) + 1)

    def within_mile(self, mile: int, ranks: Ints) -> Floats:
        """Return the distances of workers with distances from `mile` to `mile` + 1 miles, by their ranks, from 0."""
        miles_of = self._columns["distance_mi"]
        pairs = zip(commute_rows.parts(self.size), self._integers("mile"), strict=True)
        here = [np.flatnonzero(miles == mile) + part.start for part, miles in pairs]
        rows = commute_rows.numbers(self._rows, np.concatenate([np.empty(0, dtype=np.int64), *here]))
        several, more = self._several
        again = commute_rows.numbers(self._rows, several)
        is_here = self._columns["mile"][again] == mile
        if int(more[is_here].sum()) <= _FEW_IN_A_ROW * rows.size:
            # Ranks are found several times as fast among numbers as among places, so each worker is listed.
            by_worker = np.concatenate([miles_of[rows], np.repeat(miles_of[again[is_here]], more[is_here])])
            return np.asarray(np.partition(by_worker, ranks)[ranks], dtype=np.float64)
        rows = rows[np.argsort(miles_of[rows])]
        running = np.cumsum(self._columns["workers"][rows], dtype=np.int64)
        return np.asarray(miles_of[rows[np.searchsorted(running, ranks, side="right")]], dtype=np.float64)

    def matrix(self, home_code: Blocks, work_code: Blocks) -> tuple[Ints, Ints, Ints]:
        """Return workers by the codes of their home and work block, most first: home, work, and workers.

        Parameters
        ----------
        home_code, work_code : int32[blocks]
            No code of a picked commute is below 0.
        """
        n_homes, n_works = _n_codes(home_code), _n_codes(work_code)
        if n_homes * n_works <= max(DENSE * self.size, 1 << 12):
            return most_first(self.by_codes(home_code, work_code))
        home, work = home_code[self.column("home")], work_code[self.column("work")]
        key, n = group_workers(home * np.int64(n_works) + work, self.column("workers"), n_homes * n_works)
        order = np.argsort(-n, kind="stable")
        return key[order] // n_works, key[order] % n_works, n[order]

    def by_codes(self, home_code: Blocks, work_code: Blocks) -> Ints:
        """Return workers by the codes of their home and work block: int64[home codes, work codes]."""
        size = _n_codes(home_code), _n_codes(work_code)
        number = np.int32 if size[0] * size[1] < 1 << 31 else np.int64
        first = home_code * number(size[1])
        pairs = zip(self._integers("home"), self._integers("work"), strict=True)
        keys = (first.take(home) + work_code.take(work) for home, work in pairs)
        return self._sum_by_key(keys, size[0] * size[1]).reshape(size)

    def _number_blocks(self, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end`, ascending, and the number among these of each commute's block."""
        block = self.column(end)
        if end == self._side:
            is_new = np.empty(block.size, dtype=np.bool_)
            is_new[:1] = True
            np.not_equal(block[1:], block[:-1], out=is_new[1:])
            return block[is_new].astype(np.int32), np.cumsum(is_new) - 1
        if self._n_blocks > DENSE * block.size:
            blocks, number = np.unique(block, return_inverse=True)
            return blocks.astype(np.int32), number.reshape(-1)
        there = np.zeros(self._n_blocks, dtype=np.bool_)
        there[block] = True
        blocks = np.flatnonzero(there)
        number_of = np.zeros(self._n_blocks, dtype=np.int64)
        number_of[blocks] = np.arange(blocks.size)
        return blocks.astype(np.int32), number_of[block]


def mapped_columns(file: Path, further: Sequence[str]) -> dict[str, Column]:
    """Return the columns of a file of :func:`write_columns` by name; they are read when they are used."""
    types = _types(further)
    size = file.stat().st_size
    if not size:  # cannot be mapped
        return {name: np.empty(0, dtype=item) for name, item in types.items()}
    with file.open("rb") as stream:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    n_rows, start = size // sum(item.itemsize for item in types.values()), 0
    columns: dict[str, Column] = {}
    for name, item in types.items():
        columns[name] = np.frombuffer(content, item, n_rows, start)
        start += n_rows * item.itemsize
    return columns


def _cells(band: npt.NDArray[np.int8], octant: Ints, n_octants: int) -> Ints:
    """Return a number for each band and octant, of which -1 is the first."""
    return band * np.int16(n_octants) + (octant + np.int8(1))


def _several_in(workers: Column, rows: Rows) -> Ints:
    """Return the places among some rows of those that are not one worker."""
    pairs = zip(
        commute_rows.parts(commute_rows.n_of(rows)), commute_rows.split_column(workers, rows), strict=True
    )
    here = [np.flatnonzero(part != 1) + places.start for places, part in pairs]
    return np.concatenate([np.empty(0, dtype=np.int64), *here])


def _n_codes(code: Blocks) -> int:
    """Return how many codes there can be."""
    return int(code.max(initial=0)) + 1
