"""Every worker as a dot: pictures of any part of the map, made from places that are sorted by where they are.

Places are kept as whole fractions of the Web Mercator square, in the order of a curve through the cells of a grid
(Morton order), so that a picture reads only the dots in its cells. Dots in one pixel add up: `n` dots of opacity `a`
cover it by 1 - (1 - a)ⁿ, in the mixed color of their groups. Only pictures depend on these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy
import numpy.typing as npt

from geodata.geography.distance import mercator_y
from mapapp.answers.commutes.pick import Places
from mapapp.base import watch
from mapapp.show.content.palette import rgb_of

Ints = npt.NDArray[numpy.integer]
Fractions = npt.NDArray[numpy.uint32]
Floats = npt.NDArray[numpy.floating]
Pixels = npt.NDArray[numpy.uint8]
"""A picture: rows from north, columns from west, and red, green, blue, and opacity (0 to 255)."""

_WORLD: Final = 2.0**32
_LEVELS: Final = 16
"""The grid has 2 to this power cells along each side of the world, each about a third of a mile."""
_CELLS_ACROSS: Final = 16
"""Of a picture: with more, more ranges are looked up; with fewer, more dots beyond its edges are read."""
_AT_ONCE: Final = 1 << 20
_DIAMETERS: Final = ((9.0, 1.0), (11.0, 1.4), (13.0, 2.2), (15.0, 3.2), (17.0, 4.0))
"""Zoom levels of the map, and the diameter of a dot in CSS pixels."""
_DENSE: Final = 10
"""If more than one pixel in so many has dots, they are spread with whole pictures."""
_COVERED: Final = 0.85
"""How much of a pixel the dots of crowded places cover."""
_CROWDED: Final = 0.9
"""Share of the dots that are in less crowded cells than those."""
_OPACITIES: Final = (0.07, 0.8)


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """The places of workers at one end of their commutes, sorted for pictures.

    Attributes
    ----------
    x, y : uint32[dots]
        Fractions of the Web Mercator square in units of 2⁻³², from its west and north.
    segment : uint8[dots]
        Joint segment 0..26 of each worker.
    cell : uint32[cells]
        Codes of the cells of the grid that have dots, ascending.
    start : int64[cells + 1]
        First dot of each cell, and the number of dots.
    n_by_segment : int64[27 or fewer]
    crowd : float
        Dots in a crowded cell.
    """

    x: npt.NDArray[numpy.uint32]
    y: npt.NDArray[numpy.uint32]
    segment: npt.NDArray[numpy.uint8]
    cell: npt.NDArray[numpy.uint32]
    start: npt.NDArray[numpy.int64]
    n_by_segment: npt.NDArray[numpy.int64]
    crowd: float

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.x, self.y, self.segment, self.cell, self.start, self.n_by_segment)
        return sum(array.nbytes for array in arrays)


class DotLayer(NamedTuple):
    """Dots, and the group of each joint segment: int[27]."""

    dots: Dots
    group_of: Ints


class Window(NamedTuple):
    """What a picture shows: its north-west corner and a pixel, as fractions of the Web Mercator square; its size."""

    west: float
    north: float
    pixel: float
    n_columns: int
    n_rows: int


def sorted_dots(places: Places) -> Dots:
    """Return places in the order of pictures."""
    n = len(places["lon_deg"])
    x, y = (numpy.empty(n, dtype=numpy.uint32) for _ in range(2))
    key = numpy.empty(n, dtype=numpy.uint64)
    for first in range(
        0, n, _AT_ONCE
    ):  # in parts, because degrees of double precision take four times as much
        watch.check()
        part = slice(first, first + _AT_ONCE)
        x[part], y[part] = mercator_fractions(places["lon_deg"][part], places["lat_deg"][part])
        code = _codes(x[part] >> (32 - _LEVELS), y[part] >> (32 - _LEVELS))
        key[part] = code << numpy.uint64(32) | numpy.arange(first, first + len(code), dtype=numpy.uint64)
    key.sort()
    order = (key & numpy.uint64(0xFFFFFFFF)).astype(numpy.uint32)
    code = (key >> numpy.uint64(32)).astype(numpy.uint32)
    is_first = numpy.concatenate([[True] * bool(n), code[1:] != code[:-1]])
    start = numpy.append(numpy.flatnonzero(is_first), n)
    sizes = numpy.sort(numpy.diff(start))
    crowd = sizes[numpy.searchsorted(numpy.cumsum(sizes), _CROWDED * n)] if n else 1
    segment = places["segment"].astype(numpy.uint8)[order]
    counts = numpy.bincount(segment).astype(numpy.int64)
    return Dots(x[order], y[order], segment, code[start[:-1]], start, counts, float(crowd))


def mercator_fractions(
    lon_deg: Floats, lat_deg: Floats
) -> tuple[npt.NDArray[numpy.uint32], npt.NDArray[numpy.uint32]]:
    """Return degrees as fractions of the Web Mercator square in units of 2⁻³², from its west and north."""
    east = (numpy.asarray(lon_deg, dtype=numpy.float64) + 180) / 360
    south = 0.5 - mercator_y(lat_deg) / (2 * numpy.pi)
    x, y = (numpy.clip(part * _WORLD, 0, _WORLD - 1).astype(numpy.uint32) for part in (east, south))
    return x, y


def degrees_of(dots: Dots) -> tuple[npt.NDArray[numpy.float32], npt.NDArray[numpy.float32]]:
    """Return longitude and latitude of dots, in single precision, which is finer than what a picture shows."""
    lon = dots.x * numpy.float32(360 / _WORLD) - numpy.float32(180)
    northing = numpy.float32(numpy.pi) - dots.y * numpy.float32(2 * numpy.pi / _WORLD)
    lat = numpy.degrees(numpy.arctan(numpy.sinh(northing)))
    return lon.astype(numpy.float32), lat.astype(numpy.float32)


def _codes(column: Ints, row: Ints) -> npt.NDArray[numpy.uint64]:
    """Return the places of cells along the curve: the bits of column and row by turns."""
    spread = []
    for part in (column, row):
        bits = part.astype(numpy.uint64)
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            bits = (bits | bits << numpy.uint64(shift)) & numpy.uint64(mask)
        spread.append(bits)
    return spread[0] | spread[1] << numpy.uint64(1)


def tile_window(z: int, x: int, y: int, n_pixels: int) -> Window:
    """Return what a tile of a Web Mercator map shows, on so many pixels along each side."""
    return Window(x / 2**z, y / 2**z, 1 / (n_pixels * 2**z), n_pixels, n_pixels)


def dot_pixels(zoom: float) -> float:
    """Return the diameter of a dot in CSS pixels at a zoom level of the map."""
    levels, diameters = zip(*_DIAMETERS, strict=True)
    return float(numpy.interp(zoom, levels, diameters))


def dot_opacity(layers: Sequence[DotLayer], zoom: float) -> float:
    """Return the opacity of a dot at a zoom level, the same everywhere: crowded places are nearly covered."""
    crowd = max((layer.dots.crowd for layer in layers), default=1.0)
    cell_pixels = 512 * 2.0 ** (zoom - _LEVELS)
    n_dots = max(crowd * math.pi / 4 * dot_pixels(zoom) ** 2 / cell_pixels**2, 1e-6)
    opacity = 1 - (1 - _COVERED) ** min(1 / n_dots, 100)
    return float(min(max(opacity, _OPACITIES[0]), _OPACITIES[1]))


def draw_dots(
    layers: Sequence[DotLayer], colors: Sequence[str], window: Window, zoom: float, ratio: float
) -> Pixels:
    """Draw the dots in a window.

    Parameters
    ----------
    layers : sequence of DotLayer
    colors : sequence of str
        The `#rrggbb` color of each group.
    window : Window
    zoom : float
        Zoom level of the map, which decides how large and how opaque dots are.
    ratio : float
        Pixels of the picture per CSS pixel.
    """
    diameter = dot_pixels(zoom) * ratio
    counts = _spread(_counts(layers, len(colors), window, _reach(diameter)), diameter)
    counts = counts.reshape(len(colors), -1)
    seen = numpy.flatnonzero(counts.any(axis=0))
    of_group = counts[:, seen]
    n_seen = of_group.sum(axis=0)
    rgb = numpy.array([rgb_of(color) for color in colors], numpy.float32)
    mixed = numpy.empty((len(seen), 4), dtype=numpy.uint8)
    for band in range(3):
        total = sum(part * n_dots for part, n_dots in zip(rgb[:, band], of_group, strict=True))
        mixed[:, band] = total / n_seen + numpy.float32(0.5)
    opacity = numpy.float32(math.log1p(-dot_opacity(layers, zoom)))
    mixed[:, 3] = numpy.float32(255.5) - 255 * numpy.exp(n_seen * opacity)
    # Four bytes at once: assigning the rows of a table takes several times as long.
    picture = numpy.zeros(window.n_rows * window.n_columns, dtype=numpy.uint32)
    picture[seen] = mixed.view(numpy.uint32).ravel()
    return picture.view(numpy.uint8).reshape(window.n_rows, window.n_columns, 4)


def _reach(diameter: float) -> int:
    """Return how many pixels a dot reaches beyond its own."""
    return math.ceil(diameter / 2 - 0.5)


def _counts(layers: Sequence[DotLayer], n_groups: int, window: Window, reach: int) -> Floats:
    """Count dots by group and pixel, with `reach` more pixels along every edge: float32[groups, rows, columns]."""
    n_rows, n_columns = window.n_rows + 2 * reach, window.n_columns + 2 * reach
    west, north = (edge - reach * window.pixel for edge in (window.west, window.north))
    counts = numpy.zeros(n_groups * n_rows * n_columns, dtype=numpy.float32)
    for dots, group_of in layers:
        first_of_group = (numpy.asarray(group_of) * (n_rows * n_columns)).astype(numpy.int32)
        near = _near(dots, west, north, n_columns * window.pixel, n_rows * window.pixel)
        for x, y, segment in _parts(dots, near):
            column, row = _pixels(x, west, window.pixel), _pixels(y, north, window.pixel)
            is_in = (column.view(numpy.uint32) < n_columns) & (row.view(numpy.uint32) < n_rows)
            row *= n_columns
            row += column
            row += first_of_group[segment]
            counts += numpy.bincount(row[is_in], minlength=len(counts))
    return counts.reshape(n_groups, n_rows, n_columns)


def _pixels(fraction: npt.NDArray[numpy.uint32], edge: float, pixel: float) -> npt.NDArray[numpy.int32]:
    """Return the column or row of each dot, counted from an edge of a picture near all of them."""
    # Four bytes a number take half the time of eight. Differences wrap around, so that an edge may be beyond the world.
    first = round(edge * _WORLD)
    away = (fraction - numpy.uint32(first % 2**32)).view(numpy.int32)
    size = pixel * _WORLD
    if size.is_integer() and size == 2 ** (int(size).bit_length() - 1):
        return numpy.asarray(numpy.right_shift(away, int(size).bit_length() - 1), dtype=numpy.int32)
    columns = numpy.floor(away.astype(numpy.float32) * numpy.float32(1 / size))
    return numpy.asarray(columns, dtype=numpy.int32)


def _near(dots: Dots, west: float, north: float, width: float, height: float) -> list[slice]:
    """Return the ranges of dots in all cells of the grid, or of a coarser one, that a box touches."""
    level = min(max(math.floor(math.log2(_CELLS_ACROSS / max(width, height))), 0), _LEVELS)
    n_cells = 2**level
    ends = ((west, west + width), (north, north + height))
    columns, rows = (
        numpy.arange(max(math.floor(low * n_cells), 0), min(math.ceil(high * n_cells), n_cells))
        for low, high in ends
    )
    at_column, at_row = (part.ravel() for part in numpy.meshgrid(columns, rows))
    code = numpy.sort(_codes(at_column, at_row)) << numpy.uint64(2 * (_LEVELS - level))
    size = numpy.uint64(4 ** (_LEVELS - level))
    firsts, stops = (dots.start[numpy.searchsorted(dots.cell, edge)] for edge in (code, code + size))
    return _join_ranges(firsts, stops)


def _join_ranges(firsts: Ints, stops: Ints) -> list[slice]:
    """Return ranges as slices, without empty ones, each joined with those that follow it, up to a limit."""
    slices: list[slice] = []
    for first, stop in zip(firsts.tolist(), stops.tolist(), strict=True):
        if stop == first:
            continue
        if slices and slices[-1].stop == first and stop - slices[-1].start <= _AT_ONCE:
            slices[-1] = slice(slices[-1].start, stop)
        else:
            slices.append(slice(first, stop))
    return slices


def _parts(dots: Dots, slices: Sequence[slice]) -> Iterator[tuple[Fractions, Fractions, Ints]]:
    """Yield the places and segments of ranges of dots, many ranges together, because each part takes a while."""
    waiting: list[slice] = []
    for number, near in enumerate(slices, 1):
        waiting.append(near)
        if number == len(slices) or sum(part.stop - part.start for part in waiting) >= _AT_ONCE:
            watch.check()
            x, y = (numpy.concatenate([column[part] for part in waiting]) for column in (dots.x, dots.y))
            yield x, y, numpy.concatenate([dots.segment[part] for part in waiting])
            waiting = []


def _spread(counts: Floats, diameter: float) -> Floats:
    """Spread the dots of each pixel over a disc with soft edges; the pixels beyond the edges are cut off."""
    reach = _reach(diameter)
    steps = [
        (down, right, numpy.float32(part))
        for down in range(-reach, reach + 1)
        for right in range(-reach, reach + 1)
        if (part := min(diameter / 2 + 0.5 - math.hypot(down, right), 1.0)) > 0
    ]
    held = numpy.flatnonzero(counts != 0)  # finding true values is faster than finding numbers
    if len(held) * _DENSE > counts.size:
        return _spread_all(counts, steps, reach)
    n_groups, n_rows, n_columns = counts.shape
    n_held = counts.ravel()[held]
    # A dot of the outermost pixels would reach beyond the edges: one more margin on every side.
    wide = numpy.zeros((n_groups, n_rows + 2 * reach, n_columns + 2 * reach), dtype=numpy.float32)
    group, row, column = numpy.unravel_index(held, counts.shape)
    place = (group * wide.shape[1] + row) * wide.shape[2] + column
    flat = wide.reshape(-1)
    for down, right, share in steps:  # each pixel is in `place` once
        flat[place + ((down + reach) * wide.shape[2] + right + reach)] += share * n_held
    cut = 2 * reach
    return wide[:, cut : wide.shape[1] - cut, cut : wide.shape[2] - cut]


def _spread_all(counts: Floats, steps: Sequence[tuple[int, int, numpy.float32]], reach: int) -> Floats:
    """Spread the dots with whole pictures: faster if many pixels have dots, and in the same order, so equal."""
    _, n_rows, n_columns = counts.shape
    shifted = [
        (share, counts[:, reach - down : n_rows - reach - down, reach - right : n_columns - reach - right])
        for down, right, share in steps
    ]
    total = numpy.zeros(shifted[0][1].shape, dtype=numpy.float32)
    for share, part in shifted:
        total += part if share == 1 else share * part
    return total
