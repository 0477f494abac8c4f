"""Points drawn within triangles, two for each worker: at home and at work."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import lean_jit
from engine._kernels.chacha import STAGE_POINT, has_run_out, next_word, open_stream
from engine._kernels.sorting import sort_values

__all__ = ["draw_points", "sort_ranges"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint32]

_UNIT = 2.0**-32
_SHORT = 16


@lean_jit
def _draw_point(
    key: Words, stream: Ints, block: int, cells: tuple[Any, Any], lon: Any, lat: Any, at: int
) -> None:
    """One point in a block's cell: a triangle by area, a place in it; NaN where the block has no cell."""
    ptr, triangle = cells
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
    addresses: tuple[Any, Any],
    cells: tuple[Any, Any],
    key: Words,
    stream: Ints,
    at_home: bool,
    out: tuple[Any, Any, Any, Any],
) -> int:
    """Draw the home and work points of the workers of synthesizers ``bounds``; the first stream run out, or -1.

    ``addresses`` holds destination (the block of work) and segment [S]; ``cells`` offsets [blocks + 1] and, for each
    triangle, the running share of its cell's area and the corners x, y, x, y, x, y [K, 7]; ``stream`` is room for a
    stream; ``out`` home lon and lat, work lon and lat. Homes are not drawn where ``at_home`` is false, but their words
    are read over.
    """
    destination, segment = addresses
    home_lon, home_lat, work_lon, work_lat = out
    for synthesizer in range(bounds[0], bounds[1]):
        open_stream(STAGE_POINT, destination[synthesizer], segment[synthesizer], stream)
        for worker in range(ptr[synthesizer], ptr[synthesizer + 1]):
            if at_home:
                _draw_point(key, stream, home_block[worker], cells, home_lon, home_lat, worker)
            else:
                for _ in range(3):
                    next_word(key, stream)
            _draw_point(key, stream, destination[synthesizer], cells, work_lon, work_lat, worker)
        if has_run_out(stream):
            return synthesizer
    return -1


@lean_jit
def sort_ranges(bounds: tuple[int, int], ptr: Ints, values: Indices) -> int:
    """Sort values within each of the ranges ``bounds`` of CSR ``ptr``, in place."""
    for item in range(bounds[0], bounds[1]):
        sort_values(values[ptr[item] : ptr[item + 1]])
    return -1
