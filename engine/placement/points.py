"""Points on the map: one home and one workplace for every synthetic worker (post-processing)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, IntArray, as_int, as_ptr
from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels.chacha import BLOCK_BYTES, BLOCK_LIMIT
from engine.placement.kernels.points import (
    WORKER_WORDS,
    BlockCells,
    DrawnPoints,
    count_equal,
    draw_points,
    point_space,
    sort_ranges,
)
from engine.streams import SecretKey, check_addresses
from engine.threads import run_ranges

__all__ = ["CellTriangles", "HomeCounts", "WorkerPoints", "count_homes", "place_points", "sort_homes"]

Singles = npt.NDArray[np.float32]

_MOST_WORKERS = BLOCK_LIMIT * BLOCK_BYTES // (4 * WORKER_WORDS)
"""Most workers that one stream has words for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTriangles:
    """Block cells cut into triangles, in CSR form.

    Attributes
    ----------
    triangle_ptr : int64[blocks + 1]
        The triangles of block b are ``triangle_ptr[b]`` up to ``triangle_ptr[b + 1]``; without a cell it has none.
    triangle : float64[K, 7]
        Share of its cell's area up to and with each triangle, 1 at the last; then longitude and latitude of the three
        corners.
    """

    triangle_ptr: npt.NDArray[np.int64]
    triangle: FloatArray

    def __post_init__(self) -> None:
        size = self.triangle.shape[0]
        if self.triangle.shape != (size, 7):
            raise ParameterError(f"triangle is {self.triangle.shape}: {size} triangles need {(size, 7)}")
        object.__setattr__(self, "triangle_ptr", as_ptr("triangle_ptr", self.triangle_ptr, total=size))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPoints:
    """Points of synthetic workers, degrees: float32[sum(m)] each; NaN where a block has no cell."""

    home_lon_deg: Singles
    home_lat_deg: Singles
    work_lon_deg: Singles
    work_lat_deg: Singles


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeCounts:
    """Workers of each synthesizer by home block, in CSR form.

    Attributes
    ----------
    row_ptr : int64[S + 1]
        The rows of synthesizer s are ``row_ptr[s]`` up to ``row_ptr[s + 1]``.
    home_block, count : int32[R]
        Of each row; no two rows of a synthesizer are for the same block.
    """

    row_ptr: npt.NDArray[np.int64]
    home_block: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]


def place_points(
    key: SecretKey,
    destination: IntArray,
    segment: IntArray,
    synthetic_ptr: npt.NDArray[np.int64],
    home_block: npt.NDArray[np.int32] | None,
    cells: CellTriangles,
    *,
    threads: int = 1,
) -> WorkerPoints:
    """Draw a home point and a work point for every synthetic worker, uniform in the block's cell.

    Parameters
    ----------
    key : SecretKey
    destination, segment : int[S]
        Address of each synthesizer; the destination is the block of work.
    synthetic_ptr : int64[S + 1]
        CSR offsets of each synthesizer's workers.
    home_block : int32[sum(m)], optional
        Home block of each worker; without it only work points are drawn, and they are the same as with it.
    cells : CellTriangles
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    WorkerPoints
        Home points are NaN where `home_block` is not given.

    Raises
    ------
    ParameterError
        If arrays do not agree, or a block is not among the cells' blocks.
    OverflowRefusedError
        If a synthesizer has more workers than its stream has words for.

    Notes
    -----
    Six words of stage POINT a worker: triangle and place at home, then at work. Uniform in degrees is uniform on the
    ground, since a block spans well under 0.1 degree.

    Source: docs/theory/method.md, section 8.
    """
    work, part = check_addresses(destination, segment)
    ptr = as_ptr("synthetic_ptr", synthetic_ptr)
    n_blocks = cells.triangle_ptr.size - 1
    home = np.zeros(0, dtype=np.int32)
    if home_block is not None:
        home = as_int("home_block", home_block, dtype=np.int32, high=n_blocks - 1)
    if ptr.size != work.size + 1 or (home_block is not None and home.size != ptr[-1]):
        raise ParameterError(
            f"{work.size} synthesizers, {ptr.size - 1} ranges and {home.size} homes do not agree: give what was drawn"
        )
    if work.size and work.max() >= n_blocks:
        raise ParameterError(f"destination reaches {work.max()}: there are cells for {n_blocks} blocks")
    n_workers = np.diff(ptr)
    if n_workers.size and n_workers.max() > _MOST_WORKERS:
        failed = int(n_workers.argmax())
        raise OverflowRefusedError(
            f"the random stream of destination {work[failed]}, segment {part[failed]} has no words for more than "
            f"{_MOST_WORKERS:,} workers: split its workers into more segments"
        )
    drawn = np.empty((4, int(ptr[-1])), dtype=np.float32)
    out = DrawnPoints(*drawn)
    triangles = BlockCells(cells.triangle_ptr, cells.triangle)
    at_home = home_block is not None
    if not at_home:
        out.home_lon[:], out.home_lat[:] = np.nan, np.nan

    def draw(start: int, stop: int) -> int:
        bounds, space = (start, stop), point_space()
        return draw_points(bounds, ptr, home, work, part, triangles, key.words, space, at_home, out)

    run_ranges(draw, n_workers, threads)
    return WorkerPoints(
        home_lon_deg=drawn[0], home_lat_deg=drawn[1], work_lon_deg=drawn[2], work_lat_deg=drawn[3]
    )


def sort_homes(
    synthetic_ptr: npt.NDArray[np.int64], home_block: npt.NDArray[np.int32], *, threads: int = 1
) -> npt.NDArray[np.int32]:
    """Home blocks sorted within each synthesizer, so that equal ones are adjacent: int32[sum(m)]."""
    ptr = as_ptr("synthetic_ptr", synthetic_ptr, total=home_block.size)
    values = np.array(home_block, dtype=np.int32)
    run_ranges(lambda start, stop: sort_ranges((start, stop), ptr, values), np.diff(ptr), threads)
    return values


def count_homes(synthetic_ptr: npt.NDArray[np.int64], home_block: npt.NDArray[np.int32]) -> HomeCounts:
    """Count the workers of each synthesizer by home block.

    Parameters
    ----------
    synthetic_ptr : int64[S + 1]
        CSR offsets of each synthesizer's workers.
    home_block : int32[sum(m)]
        As :func:`sort_homes` returns them.
    """
    ptr = as_ptr("synthetic_ptr", synthetic_ptr, total=home_block.size)
    values = as_int("home_block", home_block, dtype=np.int32)
    row_ptr = np.zeros(ptr.size, dtype=np.int64)
    value, count = np.empty((2, values.size), dtype=np.int32)
    n_rows = count_equal(ptr, values, row_ptr, value, count)
    return HomeCounts(row_ptr=row_ptr, home_block=value[:n_rows], count=count[:n_rows])
