"""Index of boxes; finding those that meet a rectangle takes time in proportion to what it covers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Bounds = tuple[float, float, float, float]
Positions = npt.NDArray[np.int64]
_BOXES_A_TILE: Final = 4  # on average, if boxes are spread evenly


class _Level(NamedTuple):
    """Boxes of similar size, in tiles at least as wide as the boxes."""

    tile_deg: float
    keys: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int32]


class BoxIndex:
    """A hierarchy of grids over boxes in degrees; safe to use from several threads.

    A box is stored in the finest grid whose tiles are at least as wide and as high as the box, in the tile of its
    southwest corner. So it extends at most into the next tile.

    Parameters
    ----------
    bounds : float64[4, N]
        West, south, east and north of each box, degrees; a point has no width.
    """

    def __init__(self, bounds: npt.NDArray[np.float64]) -> None:
        self._bounds = bounds
        self._origin = np.array([bounds[0].min(), bounds[1].min()]) if bounds.size else np.zeros(2)
        self._extent = [
            (float(bounds[axis].min()), float(bounds[axis + 2].max())) for axis in (0, 1) if bounds.size
        ] or [(0.0, 0.0)] * 2
        extent = float(max(np.ptp(bounds[:2], axis=1).max(), 1e-9)) if bounds.size else 1.0
        finest = extent / max(np.sqrt(bounds.shape[1] / _BOXES_A_TILE), 1.0)
        self._stride = int(extent / finest) + 3
        side = np.maximum(bounds[2] - bounds[0], bounds[3] - bounds[1])
        level = np.ceil(np.log2(np.maximum(side / finest, 1.0))).astype(np.int64)
        self._levels = [
            self._level(np.flatnonzero(level == exponent), finest * 2.0**exponent)
            for exponent in np.unique(level)
        ]

    def _level(self, positions: Positions, tile_deg: float) -> _Level:
        x, y = (
            ((self._bounds[axis][positions] - self._origin[axis]) / tile_deg).astype(np.int64)
            for axis in (0, 1)
        )
        keys = x * self._stride + y
        order = np.argsort(keys, kind="stable")
        return _Level(tile_deg, keys[order], positions[order].astype(np.int32))

    def find_meeting(self, rectangle: Bounds) -> Positions:
        """Return positions of the boxes that meet a rectangle (west, south, east, north): ascending."""
        near = np.concatenate(
            [np.empty(0, np.int32), *(self._boxes_near(level, rectangle) for level in self._levels)]
        )
        west, south, east, north = self._bounds
        meets = west.take(near) <= rectangle[2]
        meets &= south.take(near) <= rectangle[3]
        meets &= east.take(near) >= rectangle[0]
        meets &= north.take(near) >= rectangle[1]
        return np.sort(near[meets]).astype(np.int64)

    def n_expected(self, rectangle: Bounds) -> float:
        """Return how many boxes would meet a rectangle if they were spread evenly."""
        sides = [
            max(min(high, rectangle[2 + axis]) - max(low, rectangle[axis]), 0.0) / max(high - low, 1e-9)
            for axis, (low, high) in enumerate(self._extent)
        ]
        return float(self._bounds.shape[1] * sides[0] * sides[1])

    def find_meeting_any(self, rectangles: Iterable[Bounds]) -> Positions:
        """Return positions of the boxes that meet any of some rectangles: ascending."""
        mark = np.zeros(self._bounds.shape[1], dtype=np.bool_)
        for rectangle in rectangles:
            mark[self.find_meeting(rectangle)] = True
        return np.flatnonzero(mark)

    def _boxes_near(self, level: _Level, rectangle: Bounds) -> npt.NDArray[np.int32]:
        """Return the boxes of a level in the tiles of a rectangle, and in the tiles west and south of those."""
        corners = (np.array(rectangle).reshape(2, 2) - self._origin) / level.tile_deg
        first, last = np.clip(np.floor(corners), -1, self._stride - 1).astype(np.int64)
        first = np.maximum(first - 1, 0)
        columns = np.arange(first[0], last[0] + 1) * self._stride
        starts = np.searchsorted(level.keys, columns + first[1], side="left")
        ends = np.searchsorted(level.keys, columns + last[1], side="right")
        sizes = np.maximum(ends - starts, 0)
        before = np.cumsum(sizes) - sizes
        return np.asarray(level.positions[np.repeat(starts - before, sizes) + np.arange(sizes.sum())])
