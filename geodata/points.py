"""Points drawn uniformly within block cells, from uniform numbers that the caller supplies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

Floats = npt.NDArray[np.float64]
_CELLS_AT_ONCE = 4096


class CellPoints:
    """Cells cut into triangles, ready to draw points in them.

    Parameters
    ----------
    cells : GeoDataFrame
        Columns `block_index` and `geometry` (polygons, EPSG:4326), as in the schema's CELLS.
    n_blocks : int
        Rows of `blocks`; elsewhere units among them have no cell.
    used : int array, optional
        The only blocks in which points will be drawn; all when None. Saves the cutting of the others.
    threads : int
        Threads that cut cells; the result is the same for any number.

    Notes
    -----
    Area is measured in degrees squared. Within a cell the cosine of the latitude is practically constant (a
    block spans well under 0.1 degree), so uniform in degrees is uniform on the ground.
    """

    def __init__(
        self, cells: Any, *, n_blocks: int, used: npt.ArrayLike | None = None, threads: int = 2
    ) -> None:
        block = np.asarray(cells["block_index"], dtype=np.int64)
        geometry = np.asarray(cells.geometry.array, dtype=object)
        if used is not None:
            wanted = np.zeros(n_blocks, dtype=bool)
            wanted[np.asarray(used, dtype=np.int64)] = True
            block, geometry = block[wanted[block]], geometry[wanted[block]]
        order = np.argsort(block, kind="stable")
        corner, owner = _triangles(geometry[order], threads)
        self._corner = corner
        self._ptr = np.zeros(n_blocks + 1, dtype=np.int64)
        np.add.at(self._ptr, block[order][owner] + 1, 1)
        np.cumsum(self._ptr, out=self._ptr)
        self._cumulative = np.append(0.0, np.cumsum(_areas(corner)))

    def draw(
        self, block_index: npt.ArrayLike, u0: npt.ArrayLike, u1: npt.ArrayLike, u2: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Draw one point in the cell of each given block.

        Parameters
        ----------
        block_index : int array[N]
            Rows of `blocks`.
        u0, u1, u2 : float array[N]
            Independent uniforms in [0, 1): u0 chooses a triangle by area, u1 and u2 the place within it.

        Returns
        -------
        lon_deg, lat_deg : float32[N]
            NaN where the block has no cell (an elsewhere unit).
        """
        block = np.asarray(block_index, dtype=np.int64)
        lon = np.full(block.size, np.nan, dtype=np.float32)
        lat = np.full(block.size, np.nan, dtype=np.float32)
        placed = np.flatnonzero(self._ptr[block + 1] > self._ptr[block])
        triangle = self._choose(block[placed], np.asarray(u0, dtype=np.float64)[placed])
        a, b = np.asarray(u1, dtype=np.float64)[placed], np.asarray(u2, dtype=np.float64)[placed]
        # The unit square folded along its diagonal: uniform in the triangle, without a square root.
        beyond = a + b > 1.0
        a, b = np.where(beyond, 1.0 - a, a), np.where(beyond, 1.0 - b, b)
        corner = self._corner[triangle]
        place = corner[:, 0] + a[:, None] * (corner[:, 1] - corner[:, 0])
        place += b[:, None] * (corner[:, 2] - corner[:, 0])
        lon[placed], lat[placed] = place[:, 0], place[:, 1]
        return lon, lat

    def _choose(self, block: npt.NDArray[np.int64], u0: Floats) -> npt.NDArray[np.int64]:
        first, end = self._ptr[block], self._ptr[block + 1]
        below, above = self._cumulative[first], self._cumulative[end]
        found = np.searchsorted(self._cumulative, below + u0 * (above - below), side="right") - 1
        # Rounding may land exactly on a cell's end; the point belongs to the cell all the same.
        return np.asarray(np.clip(found, first, end - 1), dtype=np.int64)


def _triangles(geometry: npt.NDArray[np.object_], threads: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Corners float64[K, 3, 2] of all triangles, and the position of the cell of each."""
    starts = range(0, geometry.size, _CELLS_AT_ONCE)
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        parts = list(pool.map(lambda start: _cut(geometry[start : start + _CELLS_AT_ONCE]), starts))
    if not parts:
        return np.empty((0, 3, 2)), np.empty(0, dtype=np.int64)
    owner = np.concatenate([part + start for (_, part), start in zip(parts, starts, strict=True)])
    return np.concatenate([corner for corner, _ in parts]), owner


def _cut(geometry: npt.NDArray[np.object_]) -> tuple[Floats, npt.NDArray[np.int64]]:
    triangle, owner = shapely.get_parts(shapely.constrained_delaunay_triangles(geometry), return_index=True)
    corner = shapely.get_coordinates(triangle).reshape(-1, 4, 2)[:, :3]
    return corner, owner.astype(np.int64)


def _areas(corner: Floats) -> Floats:
    ab, ac = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    return np.asarray(np.abs(ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]) / 2)
