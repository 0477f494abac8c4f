"""Block cells as shapes, and the blocks that a drawn border cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
import shapely

from mapapp.answers.areas.box_index import Bounds, BoxIndex
from mapapp.answers.commutes.pick import Blocks
from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache

_TILES: Final = 256  # along the longer side of a polygon
_MANY: Final = 16_384
"""Cells in the rectangle of a polygon from which on only those near its border are looked up."""
_PIECES: Final = 16  # of a border, whose rectangles are looked up one by one


class Cells:
    """The cells of one release, read on demand.

    Parameters
    ----------
    file : Path
        `Prepared.cells`.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = Lock()
        self._groups: ResultCache[npt.NDArray[np.int32]] = ResultCache(
            max_size=memory_limits.CELL_BLOCKS_BYTES, size_of=lambda column: int(column.nbytes)
        )
        with pyarrow.parquet.ParquetFile(file) as source:
            sizes = [source.metadata.row_group(group).num_rows for group in range(source.num_row_groups)]
        self._group_ptr = np.append(0, np.cumsum(sizes, dtype=np.int64))

    @cached_property
    def _block(self) -> Blocks:
        """Block of each cell, ascending."""
        cells = pyarrow.parquet.read_table(self._file, columns=["block_index"])
        return np.asarray(cells["block_index"].to_numpy(), dtype=np.int32)

    @cached_property
    def _bounds(self) -> npt.NDArray[np.float64]:
        """West, south, east and north of each cell: float64[4, cells]."""
        columns = ["west_deg", "south_deg", "east_deg", "north_deg"]
        cells = pyarrow.parquet.read_table(self._file, columns=columns)
        return np.stack([cells[name].to_numpy() for name in columns])

    @cached_property
    def _index(self) -> BoxIndex:
        return BoxIndex(self._bounds)

    def cut_by(self, shape: shapely.Geometry) -> Blocks:
        """Return the blocks whose cell is partly inside and partly outside a polygon: ascending."""
        with self._lock:
            index, bounds, block = self._index, self._bounds, self._block
        bounds_of_shape: Bounds = tuple(shapely.bounds(shape).tolist())
        is_large = index.n_expected(bounds_of_shape) > _MANY
        near = (
            index.find_meeting_any(border_boxes(shape)) if is_large else index.find_meeting(bounds_of_shape)
        )
        near = near[near_border(shape, bounds[:, near])]
        shapes = self._shapes(near)
        shapely.prepare(shape)
        cut = np.flatnonzero(shapely.intersects(shape, shapes))
        for is_whole in (shapely.contains, shapely.touches):  # the slowest last, for the fewest cells
            cut = cut[~is_whole(shape, shapes[cut])]
        return np.asarray(block[near[cut]])

    def cut_where(
        self, boxes: Iterable[Bounds], cuts: Callable[[npt.NDArray[np.object_]], npt.NDArray[np.bool_]]
    ) -> Blocks:
        """Return the blocks whose cell is cut: ascending.

        Parameters
        ----------
        boxes : iterable of Bounds
            Rectangles; cells outside all of them are not tested.
        cuts : callable
            Returns which polygons are cut. It first gets the bounding boxes of the cells, because a cell can be cut
            only if its bounding box is.
        """
        with self._lock:
            index, bounds, block = self._index, self._bounds, self._block
        near = index.find_meeting_any(boxes)
        near = near[cuts(shapely.box(*bounds[:, near]))]
        return np.asarray(block[near[cuts(self._shapes(near))]])

    def of_blocks(self, blocks: Blocks) -> npt.NDArray[np.object_]:
        """Return the cells of some blocks, ascending; blocks outside the imported area have no cell."""
        return self.of_some_blocks(blocks)[0]

    def of_some_blocks(self, blocks: Blocks) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
        """Return the cells of those of some blocks, ascending, that have one, and which of them do."""
        with self._lock:
            every = self._block
        at = np.searchsorted(every, blocks)
        there = (at < every.size) & (every[np.minimum(at, every.size - 1)] == blocks)
        return self._shapes(at[there]), there

    def warm(self) -> None:
        """Read in advance what every question about a border needs."""
        with self._lock:
            _ = self._index, self._block

    def _shapes(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        """Return polygons of some rows of `cells`, ascending; only their row groups are read."""
        if not rows.size:
            return np.empty(0, dtype=object)
        of_row = np.searchsorted(self._group_ptr, rows, side="right") - 1
        groups, first = np.unique(of_row, return_index=True)
        columns = self._geometry(groups.tolist())
        shapes = [
            shapely.from_wkb(column.take(pyarrow.array(group_rows - self._group_ptr[group])).to_numpy())
            for group, column, group_rows in zip(groups, columns, np.split(rows, first[1:]), strict=True)
        ]
        return np.concatenate(shapes)

    def _geometry(self, groups: list[int]) -> Iterator[pyarrow.ChunkedArray]:
        """Yield the stored geometries of some row groups; recently used ones stay in memory."""
        file = None
        try:
            for group in groups:
                column = self._groups.get(group)
                if column is None:
                    file = file or pyarrow.parquet.ParquetFile(self._file)
                    column = file.read_row_group(group, columns=["geometry"], use_threads=False)["geometry"]
                    self._groups.put(group, column)
                yield column
        finally:
            if file is not None:
                file.close()


def border_boxes(shape: shapely.Geometry) -> list[Bounds]:
    """Return the rectangles of pieces of a polygon's border, together less than that of the whole polygon."""
    lines = shapely.get_parts(shapely.get_parts(shapely.boundary(shape)))
    n_pieces = max(_PIECES // max(len(lines), 1), 1)
    boxes = []
    for line in lines:
        places = shapely.get_coordinates(line)
        # A piece ends where the next one begins.
        ends = np.unique(np.linspace(0, len(places) - 1, n_pieces + 1).astype(np.int64))
        for first, last in pairwise(ends.tolist()):
            (west, south), (east, north) = (
                extreme(places[first : last + 1], axis=0).tolist() for extreme in (np.min, np.max)
            )
            boxes.append((west, south, east, north))
    return boxes


def near_border(shape: shapely.Geometry, bounds: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which boxes may meet the border of a polygon; no box that meets it is missed.

    The polygon's bounding box is divided into tiles. Tiles that the border crosses are marked and summed from one
    corner, so that four lookups decide whether a box has a marked tile.

    Parameters
    ----------
    shape : Polygon or MultiPolygon
    bounds : float64[4, N]
        West, south, east and north of each box, degrees.
    """
    left, bottom, right, top = shapely.bounds(shape)
    tile = max(right - left, top - bottom) / _TILES
    n_x, n_y = (int(length / tile) + 1 for length in (right - left, top - bottom))
    marked = np.zeros((n_x + 1, n_y + 1), dtype=np.int64)
    for line in shapely.get_parts(shapely.get_parts(shapely.boundary(shape))):
        places = shapely.get_coordinates(shapely.segmentize(line, tile))
        at = np.minimum(((places - [left, bottom]) / tile).astype(np.int64), [n_x - 1, n_y - 1])
        # A step is at most one tile long, so it stays in the tiles of its two ends and the two adjacent tiles.
        for x, y in ((at[:-1], at[:-1]), (at[1:], at[1:]), (at[:-1], at[1:]), (at[1:], at[:-1])):
            marked[x[:, 0] + 1, y[:, 1] + 1] = 1
    total = marked.cumsum(axis=0).cumsum(axis=1)
    west, south, east, north = bounds
    low_x, high_x = (np.clip(((edge - left) / tile), -1, n_x).astype(np.int64) for edge in (west, east))
    low_y, high_y = (np.clip(((edge - bottom) / tile), -1, n_y).astype(np.int64) for edge in (south, north))
    low_x, low_y = np.clip(low_x, 0, n_x), np.clip(low_y, 0, n_y)
    high_x, high_y = np.clip(high_x + 1, 0, n_x), np.clip(high_y + 1, 0, n_y)
    inside = (west <= right) & (east >= left) & (south <= top) & (north >= bottom)
    count = total[high_x, high_y] - total[low_x, high_y] - total[high_x, low_y] + total[low_x, low_y]
    return np.asarray(inside & (count > 0))
