"""Block cells as shapes: which of them a drawn border cuts, and what they look like joined together."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
import shapely

from geodata.store import Store
from mapapp.queries.flows import Blocks

_GRID_DEG: Final = 1e-7  # neighbours' corners differ by rounding; about a centimetre
_UNIT_TABLES: Final = ("states", "counties", "tracts")


class Cells:
    """The cells of one release, read from its files when they are needed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()

    @cached_property
    def _block(self) -> Blocks:
        """Block of each cell, ascending."""
        cells = self._store.table("cells", ["block_index"])
        return np.asarray(cells["block_index"], dtype=np.int32)

    @cached_property
    def _bounds(self) -> npt.NDArray[np.float64]:
        """West, south, east and north of each cell."""
        found = [
            shapely.bounds(shapely.from_wkb(group["geometry"].to_numpy(zero_copy_only=False)))
            for group in self._store.batches("cells", ["geometry"])
        ]
        return np.concatenate(found) if found else np.empty((0, 4))

    def cut_by(self, shape: Any) -> Blocks:
        """Blocks whose cell lies partly inside and partly outside a polygon: ascending."""
        with self._lock:
            west, south, east, north = self._bounds.T
        left, bottom, right, top = shapely.bounds(shape)
        near = np.flatnonzero((west < right) & (east > left) & (south < top) & (north > bottom))
        border = shapely.boundary(shape)
        shapely.prepare(border)
        boxes = shapely.box(west[near], south[near], east[near], north[near])
        near = near[shapely.intersects(border, boxes)]
        found = self._shapes(near)
        shapely.prepare(shape)
        cut = (
            shapely.intersects(shape, found)
            & ~shapely.contains(shape, found)
            & ~shapely.touches(shape, found)
        )
        return np.asarray(self._block[near[cut]])

    def joined(self, blocks: Blocks, codes: dict[str, tuple[Any, Any]]) -> Any:
        """Union of the cells of some blocks; None where none of them has one.

        Parameters
        ----------
        blocks : int32 array
            Ascending.
        codes : dict of table to (int array of every block, object array of polygons)
            Larger units, largest first: those that are chosen whole stand in for their cells.
        """
        left = np.zeros(self._n_blocks, dtype=bool)
        left[blocks] = True
        parts = []
        for code, polygons in codes.values():
            whole = np.bincount(code[left], minlength=len(polygons)) == np.bincount(
                code, minlength=len(polygons)
            )
            whole &= ~shapely.is_missing(polygons)
            parts.extend(polygons[whole & (np.bincount(code[left], minlength=len(polygons)) > 0)])
            left &= ~whole[code]
        rest = np.flatnonzero(np.isin(self._block, np.flatnonzero(left)))
        parts.extend(self._shapes(rest))
        return shapely.union_all(parts, grid_size=_GRID_DEG) if parts else None

    @property
    def _n_blocks(self) -> int:
        return int(self._store.manifest["files"]["blocks.parquet"]["rows"])

    def _shapes(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        """Polygons of some rows of `cells`, ascending; only the row groups that hold them are read."""
        with pyarrow.parquet.ParquetFile(self._store.file("cells")) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            ends = np.cumsum(sizes)
            found = []
            for group in np.unique(np.searchsorted(ends, rows, side="right")):
                first = ends[group] - sizes[group]
                mine = rows[(rows >= first) & (rows < ends[group])] - first
                column = file.read_row_group(int(group), columns=["geometry"])["geometry"]
                found.append(shapely.from_wkb(column.take(pyarrow.array(mine)).to_numpy()))
        return np.concatenate(found) if found else np.empty(0, dtype=object)
