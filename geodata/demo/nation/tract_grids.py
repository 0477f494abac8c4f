"""Blocks of the nation: every tract a grid of rectangles with wandering lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.nation.division import DECIMALS
from geodata.demo.nation.sizes import NationScale
from geodata.demo.nation.units import NationUnits

_BLOCK_SPREAD: Final = 0.4  # log standard deviation of the blocks of a tract
_MOST_BLOCKS: Final = 5.0  # times the mean
_WANDER: Final = 0.3  # of the distance between two lines of a grid
_INHABITED: Final = 0.62  # of blocks
_PEOPLE_SPREAD: Final = 1.0  # log standard deviation of the people of an inhabited block
_GROUP_PEOPLE: Final = 1_400  # of a block group
_MOST_GROUPS: Final = 6

# A polygon of one ring of five corners, in well-known binary, least significant byte first.
_WKB: Final = np.dtype(
    [("order", "u1"), ("kind", "<u4"), ("n_rings", "<u4"), ("n_corners", "<u4"), ("corner", "<f8", (5, 2))]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TractGrids:
    """Blocks of consecutive tracts, tract by tract, each row of a grid from west to east, southernmost first.

    Attributes
    ----------
    tract : int64[n]
        Of each block, ascending.
    group, serial : int64[n]
        Block group within the tract, from 1, and number of the block within the group, from 0.
    box : float64[n, 4]
        West, south, east and north.
    people : int64[n]
        Residents; they add up to those of the tracts.
    """

    tract: Ints
    group: Ints
    serial: Ints
    box: Floats
    people: Ints

    @property
    def place_deg(self) -> Floats:
        """The middle of every block, longitude and latitude: float64[n, 2]."""
        return np.round((self.box[:, :2] + self.box[:, 2:]) / 2, DECIMALS)


def make_tract_grids(
    units: NationUnits, first_tract: int, end_tract: int, scale: NationScale, rng: np.random.Generator
) -> TractGrids:
    """Divide the tracts from `first_tract` to before `end_tract` into blocks, and put people into them."""
    box = units.box["tract"][first_tract:end_tract]
    people = units.people[first_tract:end_tract]
    n_rows, n_columns = _grid(box, scale, rng)
    size = n_rows * n_columns
    tract = np.repeat(np.arange(size.size), size)
    within = np.arange(tract.size) - np.repeat(np.cumsum(size) - size, size)
    row, column = within // n_columns[tract], within % n_columns[tract]
    west, east = _between_lines(box[:, 0], box[:, 2], n_columns, tract, column, rng)
    south, north = _between_lines(box[:, 1], box[:, 3], n_rows, tract, row, rng)
    n_groups = np.minimum(np.clip(np.rint(people / _GROUP_PEOPLE), 1, _MOST_GROUPS).astype(np.int64), n_rows)
    group = row * n_groups[tract] // n_rows[tract]
    first_row = -(-group * n_rows[tract] // n_groups[tract])
    weight = rng.lognormal(0.0, _PEOPLE_SPREAD, tract.size) * (rng.random(tract.size) < _INHABITED)
    return TractGrids(
        tract=first_tract + tract,
        group=group + 1,
        serial=(row - first_row) * n_columns[tract] + column,
        box=np.column_stack([west, south, east, north]),
        people=shared_out(people, weight + 1e-9, np.cumsum(size) - size),
    )


def shared_out(total: Ints, weight: Floats, start: Ints) -> Ints:
    """Share whole numbers out by weight: running sums are rounded, so that totals are met exactly.

    Parameters
    ----------
    total : int64[G]
        To share out among the members of each group.
    weight : float64[n]
        Above 0.
    start : int64[G]
        First member of each group, ascending; the first is 0.

    Returns
    -------
    int64[n]
    """
    running = np.cumsum(weight)
    end = np.append(start[1:], weight.size)
    before = np.append(0.0, running)[start]
    group = np.repeat(np.arange(start.size), end - start)
    share = (running - before[group]) / (running[end - 1] - before)[group]
    reached = np.rint(share * total[group]).astype(np.int64)
    result: Ints = np.diff(reached, prepend=0).astype(np.int64)
    result[start] = reached[start]
    return result


def rectangles_wkb(box: Floats) -> pyarrow.Array:
    """Rectangles as well-known binary: a pyarrow array.

    Parameters
    ----------
    box : float64[n, 4]
        West, south, east and north.
    """
    polygon = np.empty(len(box), _WKB)
    polygon["order"], polygon["kind"], polygon["n_rings"], polygon["n_corners"] = 1, 3, 1, 5
    polygon["corner"] = box[:, [[0, 1], [2, 1], [2, 3], [0, 3], [0, 1]]]
    ends = np.arange(len(box) + 1, dtype=np.int32) * np.int32(_WKB.itemsize)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(polygon)]
    return pyarrow.BinaryArray.from_buffers(pyarrow.binary(), len(box), buffers)


def block_ids(tract_id: npt.NDArray[np.bytes_], group: Ints, serial: Ints) -> pyarrow.Array:
    """Identifiers of 15 digits, tract, group and serial: a pyarrow array of large strings."""
    digit = np.empty((group.size, 15), np.uint8)
    digit[:, :11] = np.ascontiguousarray(tract_id).view(np.uint8).reshape(-1, 11)
    for position, value in ((11, group), (12, serial // 100), (13, serial // 10 % 10), (14, serial % 10)):
        digit[:, position] = ord("0") + value
    return _fixed_texts(digit)


def group_ids(block_id: pyarrow.Array) -> pyarrow.Array:
    """Identifiers of the block groups of blocks: the first 12 digits."""
    digit = np.frombuffer(block_id.buffers()[2], np.uint8).reshape(-1, 15)[:, :12]
    return _fixed_texts(np.ascontiguousarray(digit))


def _fixed_texts(character: npt.NDArray[np.uint8]) -> pyarrow.Array:
    n, width = character.shape
    ends = np.arange(n + 1, dtype=np.int64) * width
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(character)]
    return pyarrow.LargeStringArray.from_buffers(n, buffers[1], buffers[2])


def _grid(box: Floats, scale: NationScale, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows and columns of blocks of every tract, such that blocks are about square."""
    west, south, east, north = box.T
    aspect = (east - west) * np.cos(np.radians((south + north) / 2)) / (north - south)
    mean = scale.tract_blocks * np.exp(-(_BLOCK_SPREAD**2) / 2)
    wanted = np.minimum(
        rng.lognormal(np.log(mean), _BLOCK_SPREAD, len(box)), _MOST_BLOCKS * scale.tract_blocks
    )
    n_columns = np.maximum(np.rint(np.sqrt(wanted * aspect)), 1)
    n_rows = np.maximum(np.rint(wanted / n_columns), 1)
    return n_rows.astype(np.int64), n_columns.astype(np.int64)


def _between_lines(
    low: Floats, high: Floats, n_parts: Ints, tract: Ints, part: Ints, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Cut each tract's side, from `low` to `high`, into parts; where each block's part begins and ends."""
    ptr = np.append(0, np.cumsum(n_parts + 1))
    of_line = np.repeat(np.arange(n_parts.size), n_parts + 1)
    number = np.arange(of_line.size) - ptr[of_line]
    inner = (number > 0) & (number < n_parts[of_line])
    wander = rng.uniform(-_WANDER, _WANDER, of_line.size) * inner
    share = (number + wander) / n_parts[of_line]
    line = np.round(low[of_line] + share * (high - low)[of_line], DECIMALS)
    line[ptr[:-1]] = low
    line[ptr[1:] - 1] = high
    return line[ptr[tract] + part], line[ptr[tract] + part + 1]
