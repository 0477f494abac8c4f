"""Points on a grid of pixels, spread by a Gaussian, where most of the grid is far from any point.

The grid is divided into tiles, and only those that a point reaches are computed. Along each axis, spreading is the
product of a tile and its two neighbors with matrices of weights. The result is that of `scipy.ndimage.gaussian_filter`
with reflecting edges, up to the last digits, in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy
import numpy.typing as npt

_TILE: Final = 32
"""Pixels of a tile; more if points reach farther."""
_BLOCK: Final = 4
"""Pixels of a block; a tile is whole blocks."""
_AT_ONCE: Final = 32
"""Tiles that are computed together, so that they stay in the processor's cache."""
_TRUNCATE: Final = 4.0
"""Standard deviations after which the Gaussian ends."""

Value = TypeVar("Value", bound=numpy.generic)
Floats = npt.NDArray[numpy.float64]
Ints = npt.NDArray[numpy.integer]


class Tiles(NamedTuple):
    """The tiles of a grid that a point reaches; the rest of the grid is 0.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the grid.
    row, column : int64[tiles]
        Place of each tile in the grid of tiles, which begins one tile above and left of the grid of pixels.
    values : float64[tiles, tile, tile]
        By row and column of a tile. Pixels beyond the edges of the grid mean nothing.
    """

    shape: tuple[int, int]
    row: Ints
    column: Ints
    values: Floats

    def times(self, factor: Floats) -> Tiles:
        """The grid with each of its rows multiplied by a factor, and pixels beyond its edges set to 0."""
        size = self.values.shape[1]
        along, across = (
            (place[:, None] - 1) * size + numpy.arange(size) for place in (self.row, self.column)
        )
        by_row = numpy.where((along >= 0) & (along < self.shape[0]), factor.take(along, mode="clip"), 0.0)
        values = self.values * by_row[:, :, None]
        beyond = (across < 0) | (across >= self.shape[1])
        at_edge = numpy.flatnonzero(beyond.any(axis=1))
        values[at_edge] *= ~beyond[at_edge][:, None, :]
        return self._replace(values=values)

    def picture(self, values: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """The whole grid with some values for the pixels of the tiles, and 0 elsewhere."""
        size = self.values.shape[1]
        n_rows, n_columns = (-(-n // size) + 2 for n in self.shape)
        whole = numpy.zeros((n_rows, size, n_columns, size), dtype=values.dtype)
        whole[self.row, :, self.column, :] = values
        return whole.reshape(n_rows * size, -1)[size : size + self.shape[0], size : size + self.shape[1]]


def smooth_points(row: Ints, column: Ints, shape: tuple[int, int], spread: float) -> Tiles:
    """Spread points that are within a grid.

    Parameters
    ----------
    row, column : int[points]
    shape : tuple of int
        Rows and columns of the grid.
    spread : float
        Standard deviation, pixels.
    """
    weights = gaussian(spread)
    reach = len(weights) // 2
    size = _TILE * -(-reach // _TILE)
    for axis in (0, 1):
        row, column = _reflect_points((row, column), axis, shape[axis], reach)
    row, column = row + size, column + size
    number, tile_row, tile_column = _find_reached_tiles(row, column, shape, reach, size)
    tile = number[row // size, column // size]
    place = (tile * size + row % size) * size + column % size
    counts = numpy.bincount(place, numpy.ones(len(place)), (len(tile_row) + 1) * size**2)
    # After the tiles comes an empty one, which stands for all that no point reaches.
    values = counts.reshape(-1, size, size).astype(numpy.float64, copy=False)
    matrices = _matrices(weights, size)
    beside = [number[tile_row, tile_column + step] for step in (-1, 1)]
    values = _spread_across(values, beside, [matrix.T.copy() for matrix in matrices])
    beside = [number[tile_row + step, tile_column] for step in (-1, 1)]
    return Tiles(shape, tile_row, tile_column, _spread_down(values, beside, matrices)[:-1])


def _spread_across(values: Floats, beside: Sequence[Ints], matrices: Sequence[Floats]) -> Floats:
    """Spread the values of tiles along their rows, with those of the tiles before and after them."""
    before, own, after = matrices
    spread_values, reach = numpy.zeros_like(values), len(before)
    for part in _parts(len(values) - 1):
        spread_part = spread_values[part]
        numpy.matmul(values[part], own, out=spread_part)
        spread_part += values[beside[0][part], :, -reach:] @ before
        spread_part += values[beside[1][part], :, :reach] @ after
    return spread_values


def _spread_down(values: Floats, beside: Sequence[Ints], matrices: Sequence[Floats]) -> Floats:
    """Spread the values of tiles along their columns, with those of the tiles above and below them."""
    before, own, after = matrices
    spread_values, reach = numpy.zeros_like(values), before.shape[1]
    for part in _parts(len(values) - 1):
        spread_part = spread_values[part]
        numpy.matmul(own, values[part], out=spread_part)
        spread_part += before @ values[beside[0][part], -reach:]
        spread_part += after @ values[beside[1][part], :reach]
    return spread_values


def _parts(n: int) -> Iterator[slice]:
    return (slice(first, min(first + _AT_ONCE, n)) for first in range(0, n, _AT_ONCE))


def gaussian(spread: float) -> Floats:
    """Weights of a Gaussian from its one end to its other; they add up to 1."""
    reach = int(_TRUNCATE * spread + 0.5)
    weights = numpy.exp(-0.5 * (numpy.arange(-reach, reach + 1) / spread) ** 2)
    return numpy.asarray(weights / weights.sum())


def _matrices(weights: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """What the end of the tile before, a tile itself, and the beginning of the tile after it add to its pixels."""
    reach = len(weights) // 2
    away = numpy.arange(-reach, size + reach) - numpy.arange(size)[:, None]
    whole = numpy.where(abs(away) <= reach, weights[numpy.clip(away + reach, 0, 2 * reach)], 0.0)
    # Copies in one piece, because only these are multiplied quickly.
    before, own, after = (
        numpy.ascontiguousarray(part) for part in numpy.split(whole, [reach, size + reach], axis=1)
    )
    return before, own, after


def _reflect_points(places: tuple[Ints, Ints], axis: int, n: int, reach: int) -> tuple[Ints, Ints]:
    """The points, and their mirror images at the edges as far as these reach the grid."""
    along, across = places[axis], places[1 - axis]
    if not along.size or (along.min() >= reach and along.max() < n - reach):
        return places
    points = [(along, across)]
    most = -(-reach // n)  # narrow grids are reflected more than once
    for times in (*range(-most, 0), *range(1, most + 1)):
        image = times * n + (n - 1 - along if times % 2 else along)
        near = numpy.flatnonzero((image >= -reach) & (image < n + reach))
        points.append((image[near], across[near]))
    along, across = (numpy.concatenate(parts) for parts in zip(*points, strict=True))
    return (along, across) if axis == 0 else (across, along)


def _find_reached_tiles(
    row: Ints, column: Ints, shape: tuple[int, int], reach: int, size: int
) -> tuple[Ints, Ints, Ints]:
    """Number of each tile that a point reaches, or one more for others, by place; and the places of those tiles."""
    n_tiles = [-(-n // size) + 2 for n in shape]
    mark = numpy.zeros((n_tiles[0] + 1, n_tiles[1] + 1), dtype=numpy.bool_)  # the last ones are not reached
    per_tile = size // _BLOCK
    blocks = numpy.zeros([n * per_tile for n in n_tiles], dtype=numpy.bool_)  # many points are in few blocks
    blocks[row // _BLOCK, column // _BLOCK] = True
    ends = [
        [
            numpy.clip((block_index * _BLOCK + away) // size, 0, n - 1)
            for away in (-reach, 0, _BLOCK - 1 + reach)
        ]
        for block_index, n in zip(numpy.nonzero(blocks), n_tiles, strict=True)
    ]
    for rows in ends[0]:
        for columns in ends[1]:
            mark[rows, columns] = True
    tile_row, tile_column = numpy.nonzero(mark)
    number = numpy.full(mark.shape, len(tile_row), dtype=numpy.int64)
    number[tile_row, tile_column] = numpy.arange(len(tile_row))
    return number, tile_row, tile_column
