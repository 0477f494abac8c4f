"""Many points as one picture: workers per square mile on a Web Mercator grid, as a PNG with a transparent background.

Above `MAX_POINTS`, a browser draws single points slowly, and they overlap too much to read.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy
import numpy.typing as npt
from PIL import Image

from geodata.geography.distance import EARTH_RADIUS_MI
from mapapp.show.content.palette import RAMP
from mapapp.show.content.smoothed_points import Tiles, smoothed

MAX_POINTS: Final = 100_000
MAX_PIXELS: Final = 2000  # of the longer side
SPREAD_PIXELS: Final = 1.6  # standard deviation of the Gaussian that makes single points visible
LEAST_SPREAD_MI: Final = 0.1  # points are random within their blocks, so finer detail means nothing
_FINEST_MI: Final = LEAST_SPREAD_MI / 8  # size of a pixel in a picture of a small place
_LEVELS: Final = 255


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
    lowest, highest : float
        Workers per square mile at the ends of the color scale, which is logarithmic.
    spread_mi : float
        Standard deviation of the smoothing in the middle of the picture, miles.
    """

    png: bytes
    bounds: tuple[float, float, float, float]
    lowest: float
    highest: float
    spread_mi: float


def draw_density(lon_deg: Degrees, lat_deg: Degrees, ramp: Sequence[str] = RAMP) -> DensityImage:
    """Draw points (degrees, equal lengths, finite) as a density picture that just contains all of them.

    `ramp` has the colors from few to many.
    """
    bounds = extent(lon_deg, lat_deg)
    row, column, shape = pixels(lon_deg, lat_deg, bounds, _n_pixels(bounds))
    areas = pixel_area_sq_mi(shape, bounds)
    pixel_mi = float(numpy.sqrt(areas[len(areas) // 2]))
    spread_pixels = max(SPREAD_PIXELS, LEAST_SPREAD_MI / pixel_mi)
    per_mile = smoothed(row, column, shape, spread_pixels).times(1 / areas)
    highest = 10 ** numpy.ceil(numpy.log10(max(float(per_mile.values.max(initial=0.0)), 100.0)))
    lowest = float(highest) / 10_000
    picture = _png(per_mile, lowest, float(highest), ramp)
    return DensityImage(picture, bounds, lowest, float(highest), spread_pixels * pixel_mi)


def _n_pixels(bounds: tuple[float, float, float, float]) -> int:
    """Pixels of the longer side, with no pixel smaller than the least visible detail."""
    west, south, east, north = numpy.radians(bounds)
    side_mi = EARTH_RADIUS_MI * max(north - south, (east - west) * numpy.cos((north + south) / 2))
    return int(numpy.clip(side_mi / _FINEST_MI, 16, MAX_PIXELS))


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


def mercator_y(lat_deg: npt.ArrayLike) -> npt.NDArray[numpy.float64]:
    """Web Mercator northing on the unit sphere."""
    northing: npt.NDArray[numpy.float64] = numpy.arcsinh(
        numpy.tan(numpy.radians(numpy.asarray(lat_deg, dtype=float)))
    )
    return northing


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


def _png(per_mile: Tiles, lowest: float, highest: float, ramp: Sequence[str]) -> bytes:
    shades = numpy.zeros(per_mile.values.shape, dtype=numpy.uint8)
    # Most pixels are empty. Of the others, single precision is twice as fast and far finer than a shade.
    seen = per_mile.values >= lowest * (1.0 - 1e-6)
    span = numpy.float32(numpy.log10(highest / lowest))
    place = numpy.log10((per_mile.values[seen] / lowest).astype(numpy.float32)) / span
    shades[seen] = numpy.clip(place * (_LEVELS - 1) + 1, 0, _LEVELS).astype(numpy.uint8)
    level = per_mile.picture(shades)
    image = Image.frombytes("P", (level.shape[1], level.shape[0]), level.tobytes())
    image.putpalette(_palette(ramp))
    out = io.BytesIO()
    # Runs of a shade alone take a third less time, and 7% more bytes.
    image.save(out, "PNG", transparency=_alphas(), compress_level=1, compress_type=zlib.Z_RLE)
    return out.getvalue()


def _palette(ramp: Sequence[str]) -> bytes:
    """256 colors along the ramp; the first is transparent."""
    stops = numpy.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in ramp], dtype=float)
    at = numpy.linspace(0, len(stops) - 1, _LEVELS)
    colors = numpy.stack(
        [numpy.interp(at, numpy.arange(len(stops)), stops[:, part]) for part in range(3)], axis=1
    )
    return bytes([0, 0, 0]) + colors.round().astype(numpy.uint8).tobytes()


def _alphas() -> bytes:
    return bytes([0]) + numpy.linspace(60, 235, _LEVELS).astype(numpy.uint8).tobytes()
