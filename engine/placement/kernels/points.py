"""Points drawn within triangles, two for each worker: at home and at work.

Homes lie in blocks all over the country, whose triangles are seldom in the processor's caches. So workers are placed
some hundred at a time, and each loop does one thing for all of them: the processor then waits for many triangles at
once instead of for one after the other. The keystream of these workers is made beforehand, in blocks made together.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Indices, Ints, Words
from engine.kernels.chacha import LANE_WORDS, STAGE_POINT, WIDTH, WINDOW_WORDS, fill_blocks
from engine.kernels.sorting import sort_values

__all__ = [
    "WORKER_WORDS",
    "BlockCells",
    "DrawnPoints",
    "PointSpace",
    "count_equal",
    "draw_points",
    "point_space",
    "sort_ranges",
]

Singles = npt.NDArray[np.float32]

WORKER_WORDS = 6
"""Words of a stream that a worker takes, whatever the cells: triangle and place at home, then at work."""

_HOME = 0
_WORK = 3
_BLOCK_WORDS = 16
# Whole workers fit in three blocks of keystream, so a synthesizer can be interrupted after any multiple of these.
_EIGHT = 8
_THREE = 3
_N_BLOCKS = 384
_N_WORKERS = _N_BLOCKS // _THREE * _EIGHT
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


class PointSpace(NamedTuple):
    """Scratch space of one thread: the workers at hand.

    Where to go on: the synthesizer, and how many of its workers are done, [2]. Block number and nonce of the keystream
    blocks, as `fill_blocks` takes them, [4 * N_BLOCKS]; its lanes; the keystream [16 * N_BLOCKS]. Of each worker
    [N_WORKERS]: where its words begin, its block of work, the first triangle of a cell and the end of them, the
    triangle drawn, and a number that is read ahead.
    """

    cursor: Ints
    heads: Words
    lanes: Words
    words: Words
    first_word: Ints
    work: Indices
    first: Ints
    last: Ints
    chosen: Ints
    ahead: Floats


def point_space() -> PointSpace:
    """Room for one thread."""
    return PointSpace(
        cursor=np.zeros(2, dtype=np.int64),
        heads=np.zeros(4 * _N_BLOCKS, dtype=np.uint32),
        lanes=np.zeros(LANE_WORDS, dtype=np.uint32),
        words=np.zeros(_BLOCK_WORDS * _N_BLOCKS, dtype=np.uint32),
        first_word=np.zeros(_N_WORKERS, dtype=np.int64),
        work=np.zeros(_N_WORKERS, dtype=np.int32),
        first=np.zeros(_N_WORKERS, dtype=np.int64),
        last=np.zeros(_N_WORKERS, dtype=np.int64),
        chosen=np.zeros(_N_WORKERS, dtype=np.int64),
        ahead=np.zeros(_N_WORKERS, dtype=np.float64),
    )


@lean_jit
def _address(n_blocks: int, counter: int, destination: int, segment: int, heads: Words) -> None:
    """Say which block of which stream the next block of keystream is."""
    at = n_blocks // WIDTH * (4 * WIDTH) + n_blocks % WIDTH
    heads[at] = counter
    heads[at + WIDTH] = STAGE_POINT
    heads[at + 2 * WIDTH] = destination
    heads[at + 3 * WIDTH] = segment


@lean_jit
def _line_up(stop: int, ptr: Ints, destination: Ints, segment: Ints, space: PointSpace) -> tuple[int, int]:
    """Take the next workers of synthesizers before ``stop``, as many as fit; return their number and their blocks."""
    cursor, first_word, work = space.cursor, space.first_word, space.work
    n_workers, n_blocks = 0, 0
    while cursor[0] < stop and n_blocks + _THREE <= _N_BLOCKS:
        synthesizer, done = cursor[0], cursor[1]
        rest = ptr[synthesizer + 1] - ptr[synthesizer] - done
        n_taken = min(rest, (_N_BLOCKS - n_blocks) // _THREE * _EIGHT)
        for worker in range(n_taken):
            first_word[n_workers + worker] = _BLOCK_WORDS * n_blocks + WORKER_WORDS * worker
            work[n_workers + worker] = destination[synthesizer]
        counter = done // _EIGHT * _THREE
        for _ in range((WORKER_WORDS * n_taken + _BLOCK_WORDS - 1) // _BLOCK_WORDS):
            _address(n_blocks, counter, destination[synthesizer], segment[synthesizer], space.heads)
            counter += 1
            n_blocks += 1
        n_workers += n_taken
        if n_taken == rest:
            cursor[0], cursor[1] = synthesizer + 1, 0
        else:
            cursor[1] = done + n_taken
    return n_workers, n_blocks


@lean_jit
def _fill(key: Words, n_blocks: int, space: PointSpace) -> None:
    """Make the keystream that was lined up."""
    for group in range((n_blocks + WIDTH - 1) // WIDTH):
        for lane in range(4 * WIDTH):
            space.lanes[lane] = space.heads[4 * WIDTH * group + lane]
        fill_blocks(key, space.lanes, space.words[WINDOW_WORDS * group : WINDOW_WORDS * (group + 1)])


@lean_jit
def _find_triangle(triangle: Floats, first: int, last: int, share: float) -> int:
    """The first triangle whose running share is larger than a number, or the last."""
    while first < last - 1:
        # Linear while few: most cells are a handful of triangles.
        middle = first if last - first <= _SHORT else (first + last - 1) >> 1
        if triangle[middle, 0] > share:
            last = middle + 1
        else:
            first = middle + 1
    return first


@lean_jit
def _place(
    block: Indices, offset: int, cells: BlockCells, space: PointSpace, lon: Singles, lat: Singles
) -> None:
    """Draw one point in each worker's block: a triangle by area, a place in it; NaN if the block has no cell.

    ``offset`` says which three of the worker's words to use.
    """
    triangle, words, first_word, chosen = cells.triangle, space.words, space.first_word, space.chosen
    for worker in range(block.size):
        space.first[worker] = cells.ptr[block[worker]]
        space.last[worker] = cells.ptr[block[worker] + 1]
    for worker in range(block.size):
        if space.first[worker] < space.last[worker]:
            space.ahead[worker] = triangle[space.first[worker], 0]
    for worker in range(block.size):
        share = words[first_word[worker] + offset] * _UNIT
        chosen[worker] = _find_triangle(triangle, space.first[worker], space.last[worker], share)
    for worker in range(block.size):
        if space.first[worker] == space.last[worker]:
            lon[worker], lat[worker] = math.nan, math.nan
            continue
        along = words[first_word[worker] + offset + 1] * _UNIT
        across = words[first_word[worker] + offset + 2] * _UNIT
        # The unit square folded along its diagonal: uniform in the triangle, without a square root.
        if along + across > 1.0:
            along, across = 1.0 - along, 1.0 - across
        at = chosen[worker]
        x, y = triangle[at, 1], triangle[at, 2]
        lon[worker] = x + along * (triangle[at, 3] - x) + across * (triangle[at, 5] - x)
        lat[worker] = y + along * (triangle[at, 4] - y) + across * (triangle[at, 6] - y)


@lean_jit
def draw_points(
    bounds: tuple[int, int],
    ptr: Ints,
    home_block: Indices,
    destination: Ints,
    segment: Ints,
    cells: BlockCells,
    key: Words,
    space: PointSpace,
    at_home: bool,
    out: DrawnPoints,
) -> int:
    """Draw the home and work points of the workers of synthesizers ``bounds``; returns -1.

    The destination is the block of work. No stream may be longer than its 2^32 blocks. Without ``at_home`` no home
    points are drawn, but the same words are read.
    """
    space.cursor[0], space.cursor[1] = bounds[0], 0
    start = ptr[bounds[0]]
    while start < ptr[bounds[1]]:
        n_workers, n_blocks = _line_up(bounds[1], ptr, destination, segment, space)
        _fill(key, n_blocks, space)
        end = start + n_workers
        if at_home:
            _place(
                home_block[start:end], _HOME, cells, space, out.home_lon[start:end], out.home_lat[start:end]
            )
        _place(space.work[:n_workers], _WORK, cells, space, out.work_lon[start:end], out.work_lat[start:end])
        start = end
    return -1


@lean_jit
def count_equal(ptr: Ints, values: Indices, row_ptr: Ints, value: Indices, count: Indices) -> int:
    """Count equal neighbors within each range of CSR ``ptr``; return the number of rows.

    Row by row: the value and how often it occurs. The rows of range i are ``row_ptr[i]`` up to ``row_ptr[i + 1]``.
    """
    row = 0
    row_ptr[0] = 0
    for item in range(ptr.size - 1):
        first = row
        for place in range(ptr[item], ptr[item + 1]):
            if row > first and value[row - 1] == values[place]:
                count[row - 1] += 1
            else:
                value[row], count[row] = values[place], 1
                row += 1
        row_ptr[item + 1] = row
    return row


@lean_jit
def sort_ranges(bounds: tuple[int, int], ptr: Ints, values: Indices) -> int:
    """Sort values within each of the ranges ``bounds`` of CSR ``ptr``, in place."""
    for item in range(bounds[0], bounds[1]):
        sort_values(values[ptr[item] : ptr[item + 1]])
    return -1
