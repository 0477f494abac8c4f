"""Points on the map: one home and one workplace for every synthetic worker (post-processing)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, IntArray, as_int, as_ptr
from engine._kernels.points import BlockCells, DrawnPoints, draw_points, sort_ranges
from engine._threads import run_ranges
from engine.errors import OverflowRefusedError, ParameterError
from engine.streams import SecretKey, check_addresses, new_stream

__all__ = ["CellTriangles", "WorkerPoints", "place_points", "sort_homes"]

Singles = npt.NDArray[np.float32]


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

    Notes
    -----
    Six words of stage POINT a worker: triangle and place at home, then at work. Uniform in degrees is uniform on the
    ground, since a block spans well under 0.1 degree.

    Source: docs/method.md, section 8.
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
    drawn = np.full((4, int(ptr[-1])), np.nan, dtype=np.float32)
    out = DrawnPoints(*drawn)
    triangles = BlockCells(cells.triangle_ptr, cells.triangle)
    at_home = home_block is not None

    def draw(start: int, stop: int) -> int:
        bounds, stream = (start, stop), new_stream()
        return draw_points(bounds, ptr, home, work, part, triangles, key.words, stream, at_home, out)

    failed = max(run_ranges(draw, np.diff(ptr), threads), default=-1)
    if failed >= 0:
        raise OverflowRefusedError(
            f"the random stream of destination {work[failed]}, segment {part[failed]} passed its 2^32 blocks: "
            "split its workers into more segments"
        )
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
