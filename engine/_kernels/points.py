"""Points drawn within triangles, two for each worker: at home and at work."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine._jit import lean_jit
from engine._kernels.arrays import Floats, Indices, Ints, Words
from engine._kernels.chacha import STAGE_POINT, has_run_out, next_word, open_stream
from engine._kernels.sorting import sort_values

__all__ = ["BlockCells", "DrawnPoints", "draw_points", "sort_ranges"]

Singles = npt.NDArray[np.float32]

_UNIT = 2.0**-32
_SHORT = 16


class BlockCells(NamedTuple):
    """Cells of blocks cut into triangles: CSR offsets [blocks + 1], and for each triangle [K, 7] its numbers.

    These are the running share of the cell's area and the corners x, y, x, y, x, y.
    """

    ptr: Ints
    triangle: Floats


class DrawnPoints(NamedTuple):
    """Home and work points of workers, degrees."""

    home_lon: Singles
    home_lat: Singles
    work_lon: Singles
    work_lat: Singles


@lean_jit
def _draw_point(
    key: Words, stream: Ints, block: int, cells: BlockCells, lon: Singles, lat: Singles, at: int
) -> None:
    """Draw one point in a block's cell: a triangle by area, a place in it; NaN if the block has no cell."""
    ptr, triangle = cells.ptr, cells.triangle
    # Three words whatever the cell, so that where a worker lives does not shift what others read.
    chosen = next_word(key, stream) * _UNIT
    one = next_word(key, stream) * _UNIT
    other = next_word(key, stream) * _UNIT
    first, last = ptr[block], ptr[block + 1]
    if first == last:
        lon[at], lat[at] = math.nan, math.nan
        return
    while first < last - 1:
        # Linear while few: most cells are a handful of triangles.
        middle = first if last - first <= _SHORT else (first + last - 1) >> 1
        if triangle[middle, 0] > chosen:
            last = middle + 1
        else:
            first = middle + 1
    # The unit square folded along its diagonal: uniform in the triangle, without a square root.
    if one + other > 1.0:
        one, other = 1.0 - one, 1.0 - other
    x, y = triangle[first, 1], triangle[first, 2]
    lon[at] = x + one * (triangle[first, 3] - x) + other * (triangle[first, 5] - x)
    lat[at] = y + one * (triangle[first, 4] - y) + other * (triangle[first, 6] - y)


@lean_jit
def draw_points(
    bounds: tuple[int, int],
    ptr: Ints,
    home_block: Indices,
    destination: Ints,
    segment: Ints,
    cells: BlockCells,
    key: Words,
    stream: Ints,
    at_home: bool,
    out: DrawnPoints,
) -> int:
    """Draw the home and work points of the workers of synthesizers ``bounds``; the first stream run out, or -1.

    The destination is the block of work. ``stream`` is scratch space for a stream. Without ``at_home`` no home points
    are drawn, but the same words are read.
    """
    for synthesizer in range(bounds[0], bounds[1]):
        open_stream(STAGE_POINT, destination[synthesizer], segment[synthesizer], stream)
        for worker in range(ptr[synthesizer], ptr[synthesizer + 1]):
            if at_home:
                _draw_point(key, stream, home_block[worker], cells, out.home_lon, out.home_lat, worker)
            else:
                for _ in range(3):
                    next_word(key, stream)
            _draw_point(key, stream, destination[synthesizer], cells, out.work_lon, out.work_lat, worker)
        if has_run_out(stream):
            return synthesizer
    return -1


@lean_jit
def sort_ranges(bounds: tuple[int, int], ptr: Ints, values: Indices) -> int:
    """Sort values within each of the ranges ``bounds`` of CSR ``ptr``, in place."""
    for item in range(bounds[0], bounds[1]):
        sort_values(values[ptr[item] : ptr[item + 1]])
    return -1
