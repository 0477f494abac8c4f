"""Parts of an area from geometries: polygons, or corridors around polygons and lines."""

from __future__ import annotations

from shapely.geometry.base import BaseGeometry

from geodata.area_files import AreaFile
from geodata.errors import GeometryError
from mapapp.question.area_text import Corridor, Line, Shape

_LINES = ("LineString", "MultiLineString", "LinearRing")


def part_of(geometry: BaseGeometry, miles: float | None = None) -> Shape | Corridor:
    """Return a geometry in degrees as a part of an area, with a corridor around it if a distance is given.

    Raises
    ------
    GeometryError
        If it has no area and no distance is given, or it is otherwise not allowed.
    """
    if geometry.geom_type not in _LINES:
        shape = Shape.of(geometry)
        return shape if miles is None else Corridor(shape, miles)
    if miles is None:
        raise GeometryError("a line has no area; give a distance in miles to make a corridor around it")
    return Corridor(Line.of(geometry), miles)


def geometries_of(file: AreaFile, miles: float | None = None) -> list[BaseGeometry]:
    """Return what a file contributes to an area: its polygons, and its lines if a distance is given.

    Tracks are areas without a distance, and lines with one.

    Raises
    ------
    GeometryError
        If the file has only lines, and no distance is given.
    """
    area = None if file.lines is not None and file.is_closed and miles is not None else file.area
    lines = file.lines if miles is not None else None
    found = [geometry for geometry in (area, lines) if geometry is not None]
    if not found:
        raise GeometryError(
            "the file holds lines but no polygons; give a distance in miles to make a corridor around them"
        )
    return found
