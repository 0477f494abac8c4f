"""Where people live, as a quiet relief below an answer: for releases without roads, whose land would be blank.

It is made of the public populations of blocks, never of a release's workers. The levels are relative, so that the
relief shows towns in a rural state and centers in a crowded one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, cast

import contourpy
import numpy
import numpy.typing as npt
import pandas
import shapely
from scipy.ndimage import gaussian_filter

from mapapp.drawing import density

PEOPLE_SHARES: Final = (0.45, 0.8)
"""Share of the people who live in the densest land, of rank 1, and in all populated land."""
_MAX_PIXELS: Final = 1000  # of the longer side
_FINEST_DEG: Final = 0.003  # size of a pixel in a small place, about a fifth of a mile
_SPREAD_PIXELS: Final = 1.8

Shapes = npt.NDArray[numpy.object_]
Floats = npt.NDArray[numpy.float64]


def populated_land(blocks: pandas.DataFrame, land: Shapes) -> tuple[Shapes, npt.NDArray[numpy.int64]]:
    """Return the land on which most people live.

    Parameters
    ----------
    blocks : DataFrame
        `lon_deg`, `lat_deg`, `population`, and `elsewhere` are used.
    land : object[S]
        Polygons that cut the result off, EPSG:4326.

    Returns
    -------
    shapes : object[N]
        Polygons, EPSG:4326; those of rank 1 lie inside those of rank 2.
    rank : int64[N]
        1 for the densest land, 2 for all populated land.
    """
    people = blocks[~blocks["elsewhere"] & (blocks["population"] > 0)]
    if people.empty or not len(land):
        return numpy.empty(0, dtype=object), numpy.empty(0, dtype=numpy.int64)
    lon, lat = people["lon_deg"].to_numpy(), people["lat_deg"].to_numpy()
    bounds = density.extent(lon, lat)
    n_pixels = int(numpy.clip((bounds[3] - bounds[1]) / _FINEST_DEG, 16, _MAX_PIXELS))
    counts = density.count_grid(lon, lat, bounds, n_pixels, people["population"].to_numpy())
    smooth = gaussian_filter(counts, _SPREAD_PIXELS, mode="constant")
    whole = shapely.union_all(land)
    found = [
        shapely.get_parts(shapely.intersection(shapely.union_all(_above(smooth, level, bounds)), whole))
        for level in _levels(smooth)
    ]
    shapes = numpy.concatenate(found)
    rank = numpy.repeat(numpy.arange(1, len(found) + 1), [len(part) for part in found])
    is_polygon = shapely.get_dimensions(shapes) == 2
    return shapes[is_polygon], rank[is_polygon]


def _levels(smooth: Floats) -> Floats:
    """Return the people per pixel above which the shares of people live."""
    falling = numpy.sort(smooth, axis=None)[::-1]
    held = numpy.cumsum(falling) / falling.sum()
    return numpy.asarray(falling[numpy.searchsorted(held, PEOPLE_SHARES)])


def _above(smooth: Floats, level: float, bounds: tuple[float, float, float, float]) -> list[shapely.Geometry]:
    """Return the polygons, in degrees, in which a grid from :func:`density.count_grid` is above a level."""
    west, south, east, north = bounds
    padded = numpy.pad(smooth, 1)  # so that every polygon is closed
    n_rows, n_columns = smooth.shape
    lon = west + (numpy.arange(-1, n_columns + 1) + 0.5) * (east - west) / n_columns
    top, bottom = (float(density.mercator_y(edge)) for edge in (north, south))
    northing = top - (numpy.arange(-1, n_rows + 1) + 0.5) * (top - bottom) / n_rows
    lat = numpy.degrees(numpy.arctan(numpy.sinh(northing)))
    lines = contourpy.contour_generator(lon, lat, padded, fill_type=contourpy.FillType.OuterOffset)
    outer, ring_ptr = cast("tuple[list[Floats], list[list[int]]]", lines.filled(level, numpy.inf))
    found = []
    for corners, ptr in zip(outer, ring_ptr, strict=True):
        shell, *holes = (corners[start:end] for start, end in pairwise(ptr))
        found.append(shapely.make_valid(shapely.Polygon(shell, holes)))
    return found
