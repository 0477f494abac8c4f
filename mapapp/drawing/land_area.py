"""The land area of units: that of their shapes on the map, without all water of the release, however small."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final

import numpy
import numpy.typing as npt
import shapely

from geodata.distance import EARTH_RADIUS_MI
from mapapp.answers.release import Release
from mapapp.drawing import ground

LEAST_LAND: Final = 0.02
"""Least land of a unit as a share of its shape, because shapes of water are approximate."""

Floats = npt.NDArray[numpy.float64]


def square_miles(shapes: npt.ArrayLike) -> Floats:
    """Return the area of shapes in degrees (EPSG:4326) on the sphere, square miles."""

    def equal_area(corners: Floats) -> Floats:
        lon, lat = numpy.radians(corners).T
        return numpy.column_stack([lon, numpy.sin(lat)])

    plane = shapely.transform(numpy.asarray(shapes, dtype=object), equal_area)
    return numpy.asarray(shapely.area(plane) * EARTH_RADIUS_MI**2)


def land_square_miles(
    release: Release, key: Hashable, shapes: Mapping[str, shapely.Geometry]
) -> dict[str, float]:
    """Return the land area of units, square miles, from their shapes in degrees; `key` tells the shapes apart."""

    def make() -> dict[str, float]:
        found = shapely.make_valid(numpy.array([*shapes.values(), None], dtype=object)[:-1])
        whole = square_miles(found)
        land = numpy.maximum(whole - _covered(release, found), LEAST_LAND * whole)
        return dict(zip(shapes, land.tolist(), strict=True))

    return release.once(("land area", key), make)


def _covered(release: Release, shapes: npt.NDArray[numpy.object_]) -> Floats:
    """Return how much of each shape is water, square miles."""
    if not ground.has_ground(release.store, "water"):
        return numpy.zeros(len(shapes))
    water = shapely.make_valid(shapely.get_parts(ground.water_of(release.store).geometry.to_numpy()))
    unit, at = shapely.STRtree(water).query(shapes, predicate="intersects")
    wet = square_miles(shapely.intersection(shapes[unit], water[at]))
    return numpy.asarray(numpy.bincount(unit, wet, len(shapes)), dtype=numpy.float64)
