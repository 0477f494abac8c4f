"""Block cells as shapes: those of some blocks, and which of them a drawn border cuts."""

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

_MOST_HELD: Final = 1_000_000


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

    def of_blocks(self, blocks: Blocks, held: Any = None) -> npt.NDArray[np.object_]:
        """Cells of some blocks, ascending; blocks outside the imported area have none.

        Parameters
        ----------
        blocks : int32 array
            Ascending.
        held : optional
            What `hold` returned, for who asks many times.
        """
        with self._lock:
            every = self._block
        at = np.searchsorted(every, blocks)
        rows = at[(at < every.size) & (every[np.minimum(at, every.size - 1)] == blocks)]
        if held is None:
            return self._shapes(rows)
        return np.asarray(shapely.from_wkb(held.take(pyarrow.array(rows)).to_numpy()))

    def hold(self) -> Any:
        """All cells as they are stored, some hundred bytes each; None where there are too many of them."""
        if self._block.size > _MOST_HELD:
            return None
        return pyarrow.parquet.read_table(self._store.file("cells"), columns=["geometry"])["geometry"]

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
