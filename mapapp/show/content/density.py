"""Workers per square mile as one picture: the dots of an answer, smoothed, on a transparent background.

The picture leaves out the few workers far from all others, who would make it coarse, and what is in the water.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy
import numpy.typing as npt
import shapely
from PIL import Image, ImageDraw

from geodata.geography.distance import EARTH_RADIUS_MI, mercator_y
from mapapp.show.content.dots import Dots, degrees_of
from mapapp.show.content.palette import rgb_of
from mapapp.show.content.smoothed_points import smooth_points

MAX_PIXELS: Final = 2000  # of the longer side of a grid
DENSITY_PIXELS: Final = 1000  # of the longer side of a picture, which is smooth
SPREAD_SHARE: Final = 0.006
"""Standard deviation of the smoothing as a share of the longer side."""
LEAST_SPREAD_MI: Final = 0.1  # points are random within their blocks, so finer detail means nothing
FLOOR: Final = 1 / 1000
"""Share of the largest density below which nothing is drawn."""
_FINEST_MI: Final = LEAST_SPREAD_MI / 8  # size of a pixel in a picture of a small place
_LEFT_OUT: Final = 0.002  # of the workers, on each side
_LEVELS: Final = 255
_CURVE: Final = 1 / 3
"""Power of the density that is proportional to the place on the ramp, so that suburbs show beside a downtown."""
_OPAQUE: Final = (0.5, 0.88)  # place on the ramp from which on the picture has this opacity


Degrees = npt.NDArray[numpy.floating]
Ints = npt.NDArray[numpy.int64]


@dataclass(frozen=True, slots=True)
class DensityImage:
    """A drawn density.

    Attributes
    ----------
    png : bytes
        Palette PNG, north up, rows evenly spaced in Web Mercator.
    bounds : tuple of float
        West, south, east, north of the picture's edges, degrees.
    highest : float
        Workers per square mile at the end of the ramp: the largest of the picture.
    spread_mi : float
        Standard deviation of the smoothing in the middle of the picture, miles.
    """

    png: bytes
    bounds: tuple[float, float, float, float]
    highest: float
    spread_mi: float


def draw_density(dots: Dots, ramp: Sequence[str], water: Sequence[shapely.Geometry] = ()) -> DensityImage:
    """Draw the density of dots in colors from few to many, except in the `water`, polygons in degrees."""
    lon, lat = degrees_of(dots)
    bounds = extent(*_middle(lon, lat))
    row, column, shape = pixels(lon, lat, bounds, _n_pixels(bounds))
    is_in = (row >= 0) & (row < shape[0]) & (column >= 0) & (column < shape[1])
    areas = pixel_area_sq_mi(shape, bounds)
    pixel_mi = float(numpy.sqrt(areas[len(areas) // 2]))
    spread_pixels = max(SPREAD_SHARE * max(shape), LEAST_SPREAD_MI / pixel_mi)
    tiles = smooth_points(row[is_in], column[is_in], shape, spread_pixels).times(1 / areas)
    per_mile = tiles.picture(tiles.values)
    per_mile[_mask(water, bounds, shape)] = 0
    highest = float(per_mile.max(initial=0.0)) or 1.0
    return DensityImage(_png(per_mile / highest, ramp), bounds, highest, spread_pixels * pixel_mi)


def _middle(lon: Degrees, lat: Degrees) -> list[Degrees]:
    """West and east, and south and north, of all but a few places on each side."""
    if not len(lon):
        return [lon, lat]
    return [numpy.quantile(values, (_LEFT_OUT, 1 - _LEFT_OUT)) for values in (lon, lat)]


def _mask(
    water: Sequence[shapely.Geometry], bounds: tuple[float, float, float, float], shape: tuple[int, int]
) -> npt.NDArray[numpy.bool_]:
    """Whether each pixel is in the water: polygons in degrees, the largest first, as islands may have lakes."""
    west, south, east, north = bounds
    top, bottom = float(mercator_y(north)), float(mercator_y(south))
    canvas = Image.new("1", (shape[1], shape[0]))
    draw = ImageDraw.Draw(canvas)
    parts = shapely.get_parts(numpy.array([*water, None], dtype=object)[:-1])
    parts = parts[shapely.intersects(parts, shapely.box(west, south, east, north))]
    for part in parts[numpy.argsort(-shapely.area(parts), kind="stable")]:
        for number, ring in enumerate((part.exterior, *part.interiors)):
            lon, lat = shapely.get_coordinates(ring).T
            x = (lon - west) / (east - west) * shape[1]
            y = (top - mercator_y(lat)) / (top - bottom) * shape[0]
            draw.polygon(numpy.column_stack([x, y]).ravel().tolist(), fill=not number)
    return numpy.asarray(canvas)


def ramp_opacity(place: npt.NDArray[numpy.floating]) -> npt.NDArray[numpy.floating]:
    """Opacity at places from 0 to 1 on the ramp: nothing at the floor, and soon nearly opaque."""
    return numpy.asarray(numpy.interp(place, (FLOOR**_CURVE, _OPAQUE[0]), (0.0, _OPAQUE[1])))


def ramp_place(share: float) -> float:
    """Place on the ramp, from 0 to 1, of a share of the largest density."""
    return float(share**_CURVE)


def _n_pixels(bounds: tuple[float, float, float, float]) -> int:
    """Pixels of the longer side, with no pixel smaller than the least visible detail."""
    west, south, east, north = numpy.radians(bounds)
    side_mi = EARTH_RADIUS_MI * max(north - south, (east - west) * numpy.cos((north + south) / 2))
    return int(numpy.clip(side_mi / _FINEST_MI, 16, DENSITY_PIXELS))


def extent(lon_deg: Degrees, lat_deg: Degrees) -> tuple[float, float, float, float]:
    """West, south, east and north around the points with a margin, degrees; never of size 0."""
    if not len(lon_deg):
        return (-0.5, -0.5, 0.5, 0.5)
    west, east = float(numpy.min(lon_deg)), float(numpy.max(lon_deg))
    south, north = float(numpy.min(lat_deg)), float(numpy.max(lat_deg))
    margin = max(0.02 * max(east - west, north - south), 0.005)
    return (west - margin, max(south - margin, -85.0), east + margin, min(north + margin, 85.0))


def count_grid(
    lon_deg: Degrees,
    lat_deg: Degrees,
    bounds: tuple[float, float, float, float],
    n_pixels: int = MAX_PIXELS,
    weights: npt.NDArray[numpy.integer] | None = None,
) -> npt.NDArray[numpy.float64]:
    """Points, or their weights, per pixel: shape (rows from north, columns from west); ignores points outside."""
    row, column, shape = pixels(lon_deg, lat_deg, bounds, n_pixels)
    inside = (column >= 0) & (column < shape[1]) & (row >= 0) & (row < shape[0])
    counts = numpy.zeros(shape[0] * shape[1])
    numpy.add.at(counts, (row * shape[1] + column)[inside], 1.0 if weights is None else weights[inside])
    return counts.reshape(shape)


def pixels(
    lon_deg: Degrees, lat_deg: Degrees, bounds: tuple[float, float, float, float], n_pixels: int
) -> tuple[Ints, Ints, tuple[int, int]]:
    """Row and column of each point's pixel, and how many there are; a point outside the bounds is beyond these."""
    west, south, east, north = bounds
    top, bottom = float(mercator_y(north)), float(mercator_y(south))
    width_units, height_units = numpy.radians(east - west), top - bottom
    scale = n_pixels / max(width_units, height_units)
    n_columns, n_rows = max(int(width_units * scale), 1), max(int(height_units * scale), 1)
    column = numpy.floor((numpy.asarray(lon_deg, dtype=float) - west) / (east - west) * n_columns).astype(int)
    row = numpy.floor((top - mercator_y(lat_deg)) / height_units * n_rows).astype(int)
    return row, column, (n_rows, n_columns)


def pixel_area_sq_mi(
    shape: tuple[int, int], bounds: tuple[float, float, float, float]
) -> npt.NDArray[numpy.float64]:
    """Area of a pixel on the ground in each row, square miles; it shrinks toward the poles."""
    n_rows, n_columns = shape
    west, south, east, north = bounds
    edges = numpy.linspace(float(mercator_y(north)), float(mercator_y(south)), n_rows + 1)
    sines = numpy.tanh(edges)  # sine of the latitude at each edge
    return numpy.asarray(
        EARTH_RADIUS_MI**2 * numpy.radians(east - west) / n_columns * (sines[:-1] - sines[1:])
    )


def _png(share: npt.NDArray[numpy.float64], ramp: Sequence[str]) -> bytes:
    """Draw shares of the largest density as a palette picture."""
    level = (share**_CURVE * _LEVELS).round().astype(numpy.uint8)
    image = Image.frombytes("P", (level.shape[1], level.shape[0]), level.tobytes())
    image.putpalette(ramp_colors(ramp, _LEVELS + 1).tobytes())
    opacity = 255 * ramp_opacity(numpy.linspace(0, 1, _LEVELS + 1))
    out = io.BytesIO()
    # Runs of a shade alone take a third less time, and 7% more bytes.
    image.save(
        out,
        "PNG",
        transparency=opacity.round().astype(numpy.uint8).tobytes(),
        compress_level=1,
        compress_type=zlib.Z_RLE,
    )
    return out.getvalue()


def ramp_colors(ramp: Sequence[str], n: int) -> npt.NDArray[numpy.uint8]:
    """Red, green, and blue at `n` even places on the ramp."""
    stops = numpy.array([rgb_of(color) for color in ramp], dtype=float)
    at = numpy.linspace(0, len(stops) - 1, n)
    colors = [numpy.interp(at, numpy.arange(len(stops)), stops[:, part]) for part in range(3)]
    return numpy.stack(colors, axis=1).round().astype(numpy.uint8)
