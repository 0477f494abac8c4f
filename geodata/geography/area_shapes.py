"""Shapes of areas of interest: circles, boxes and polygons in degrees; polygons and lines as short text.

All places are longitude and latitude in degrees, EPSG:4326. An area that crosses the 180th meridian is kept in two
parts, one on either side of it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import shapely

from geodata.errors import GeometryError
from geodata.geography.distance import EARTH_RADIUS_MI

MAX_RADIUS_MI: Final = 1_000.0
MAX_VERTICES: Final = 50_000
_MAX_MEETING: Final = 10  # segments that a segment may meet, on average, before the union of them is refused
_MAX_NEAR: Final = 200  # segments whose bounding boxes may overlap its own, on average
_FREE_PAIRS: Final = 10_000  # allowed whatever the number of segments
_SEGMENTS_AT_ONCE: Final = 256
_CIRCLE_VERTICES: Final = 180
_SCALE: Final = 100_000  # polygon text keeps five decimals, about a metre
_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_VALUE: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_MAX_DIGITS: Final = 6  # of one difference: 360 degrees have 27 bits, a digit takes five
_RING, _PART = ".", "~"
_POLYGON_ID: Final = 3  # in GEOS; collections have higher numbers

Places = npt.NDArray[np.float64]


def square_miles(shapes: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the area of shapes in degrees on the sphere, square miles."""

    def equal_area(corners: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        lon, lat = np.radians(corners).T
        return np.column_stack([lon, np.sin(lat)])

    plane = shapely.transform(np.asarray(shapes, dtype=object), equal_area)
    return np.asarray(shapely.area(plane) * EARTH_RADIUS_MI**2)


def check_place(lon_deg: float, lat_deg: float) -> None:
    """Raise GeometryError for a place that is not on the globe."""
    if not (-180 <= lon_deg <= 180 and -90 <= lat_deg <= 90):
        raise GeometryError(
            f"place {lon_deg:g},{lat_deg:g}: longitude must be -180 to 180 and latitude -90 to 90; "
            "give longitude first"
        )


def check_radius(lat_deg: float, radius_mi: float) -> None:
    """Raise GeometryError for a radius that is not positive, too long, or reaches a pole."""
    if not 0 < radius_mi <= MAX_RADIUS_MI:
        raise GeometryError(f"radius {radius_mi:g} mi: must be above 0 and at most {MAX_RADIUS_MI:g} miles")
    if abs(lat_deg) + np.degrees(radius_mi / EARTH_RADIUS_MI) >= 90:
        raise GeometryError(
            f"radius {radius_mi:g} mi around latitude {lat_deg:g}: it reaches the pole; shorten it"
        )


def circle(lon_deg: float, lat_deg: float, radius_mi: float) -> shapely.Geometry:
    """Outline of the places within a great-circle distance: a polygon of 180 vertices, for drawing.

    Raises
    ------
    GeometryError
        As `check_place` and `check_radius`.
    """
    check_place(lon_deg, lat_deg)
    check_radius(lat_deg, radius_mi)
    lat, away = np.radians(lat_deg), radius_mi / EARTH_RADIUS_MI
    turn = np.linspace(0.0, 2 * np.pi, _CIRCLE_VERTICES, endpoint=False)
    north = np.arcsin(np.sin(lat) * np.cos(away) + np.cos(lat) * np.sin(away) * np.cos(turn))
    east = np.arctan2(np.sin(turn) * np.sin(away) * np.cos(lat), np.cos(away) - np.sin(lat) * np.sin(north))
    return wrap_longitudes(shapely.Polygon(np.column_stack([lon_deg + np.degrees(east), np.degrees(north)])))


def box(west_deg: float, south_deg: float, east_deg: float, north_deg: float) -> shapely.Geometry:
    """Polygon between two meridians and two parallels; west of more than east crosses the 180th meridian.

    Raises
    ------
    GeometryError
        A corner is not on the globe, or the box has no area.
    """
    check_place(west_deg, south_deg)
    check_place(east_deg, north_deg)
    if south_deg >= north_deg or west_deg == east_deg:
        raise GeometryError(
            f"box {west_deg:g},{south_deg:g},{east_deg:g},{north_deg:g}: it has no area; "
            "give west, south, east, north"
        )
    return wrap_longitudes(
        shapely.box(west_deg, south_deg, east_deg + 360 * (west_deg > east_deg), north_deg)
    )


def wrap_longitudes(polygon: shapely.Geometry) -> shapely.Geometry:
    """The same area with all longitudes in -180 … 180; parts beyond wrap around to the other side."""
    west, _, east, _ = shapely.bounds(polygon)
    if west >= -180 and east <= 180:
        return polygon
    parts = [
        shapely.transform(
            shapely.intersection(polygon, shapely.box(turn - 180, -90, turn + 180, 90)),
            lambda xy, turn=turn: xy - [turn, 0.0],
        )
        for turn in (-360.0, 0.0, 360.0)
    ]
    return shapely.union_all([part for part in parts if not part.is_empty])


def mend_polygon(geometry: shapely.Geometry | npt.NDArray[np.object_]) -> shapely.Geometry:
    """A valid polygon or multipolygon of the same area, without height; parts without area are dropped.

    Raises
    ------
    GeometryError
        The shape has no area, too many vertices, or too many crossing edges to be repaired or joined in good time.
    """
    check_vertices(geometry)
    flat = shapely.force_2d(geometry)
    is_valid, is_one = shapely.is_valid(flat), flat.geom_type in ("Polygon", "MultiPolygon")
    if not (is_valid and is_one):
        check_crossings(flat)
    if not is_valid:
        flat = shapely.make_valid(flat, method="structure", keep_collapsed=False)
    parts = [part for part in shapely.get_parts(shapely.get_parts(flat)) if part.geom_type == "Polygon"]
    parts = [part for part in parts if shapely.area(part) > 0]
    if not parts:
        raise GeometryError("it has no area; give a polygon")
    if not is_one:  # the polygons of a collection may overlap
        return shapely.union_all(parts)
    return parts[0] if len(parts) == 1 else shapely.multipolygons(parts)


def check_vertices(geometry: shapely.Geometry | npt.NDArray[np.object_]) -> None:
    """Raise GeometryError if a geometry, or an array of them together, has more than `MAX_VERTICES` vertices."""
    count = int(np.sum(shapely.get_num_coordinates(geometry)))
    if count > MAX_VERTICES:
        raise GeometryError(f"{count:,} vertices; at most {MAX_VERTICES:,} are allowed: simplify it")


def check_crossings(geometry: shapely.Geometry | npt.NDArray[np.object_]) -> None:
    """Raise GeometryError if the edges of a geometry, or of an array of them, meet in too many places.

    The time and memory of a union or a repair grow with the number of places where edges meet, which can be the square
    of the number of edges. This function counts those places without computing them, and stops at the limit.
    """
    edges = _edges(geometry)
    tree = shapely.STRtree(edges)
    near = meeting = 0
    for start in range(0, len(edges), _SEGMENTS_AT_ONCE):
        asked, neighbor = tree.query(edges[start : start + _SEGMENTS_AT_ONCE])
        near += asked.size
        if near <= _FREE_PAIRS + _MAX_NEAR * len(edges):
            meeting += int(shapely.intersects(edges[start + asked], edges[neighbor]).sum())
        if (
            near > _FREE_PAIRS + _MAX_NEAR * len(edges)
            or meeting > _FREE_PAIRS + 2 * _MAX_MEETING * len(edges)  # each pair is found from both ends
        ):
            raise GeometryError(
                f"its {len(edges):,} edges overlap or cross in too many places; remove the overlaps, or simplify it"
            )


def _edges(geometry: shapely.Geometry | npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Every straight piece of the rings and lines of one or more geometries."""
    places, line = shapely.get_coordinates(_rings(geometry), return_index=True)
    same = line[1:] == line[:-1]
    ends = np.stack([places[:-1][same], places[1:][same]], axis=1)
    return np.asarray(shapely.linestrings(ends)) if len(ends) else np.empty(0, dtype=object)


def _rings(geometry: shapely.Geometry | npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """Rings, lines and points that make up one or more geometries."""
    parts = shapely.get_parts(geometry)
    while (shapely.get_type_id(parts) > _POLYGON_ID).any():
        parts = shapely.get_parts(parts)
    is_polygon = shapely.get_type_id(parts) == _POLYGON_ID
    return np.concatenate([shapely.get_rings(parts[is_polygon]), parts[~is_polygon]])


def count_rings(geometry: shapely.Geometry | npt.NDArray[np.object_]) -> int:
    """Rings of the polygons of a geometry, or of an array of them; each line or point counts as one."""
    return len(_rings(geometry))


def n_vertices(text: str) -> int:
    """Vertices of a polygon or line written by `polygon_text` or `line_text`, counted without decoding it."""
    return sum(text.count(digit) for digit in _DIGITS[:32]) // 2


def polygon_text(polygon: shapely.Geometry) -> str:
    """A polygon or multipolygon as text of letters, digits, "-", "_", "." and "~", to a hundred-thousandth degree.

    Every vertex is written as the difference from the one before, as whole numbers, five bits a character.
    """
    parts, last = [], np.zeros(2, dtype=np.int64)
    for part in shapely.get_parts(polygon):
        rings = []
        for ring in (part.exterior, *part.interiors):
            text, last = _write_places(shapely.get_coordinates(ring)[:-1], last)
            rings.append(text)
        parts.append(_RING.join(rings))
    return _PART.join(parts)


def polygon_of(text: str) -> shapely.Geometry:
    """The polygon that `polygon_text` wrote, repaired.

    Raises
    ------
    GeometryError
        The text is malformed, or its polygon is off the globe, has no area or has too many vertices.
    """
    _check_length(text, "polygon")
    polygons, last = [], np.zeros(2, dtype=np.int64)
    for part in text.split(_PART):
        rings = []
        for ring in part.split(_RING):
            places, last = _read(ring, last, "polygon", at_least=3)
            rings.append(places)
        polygons.append(shapely.Polygon(rings[0], rings[1:]))
    shape = mend_polygon(shapely.MultiPolygon(polygons))
    _check_bounds(shape)
    return shape


def line_text(lines: shapely.Geometry) -> str:
    """A line or several as text of the same kind as `polygon_text`."""
    parts, last = [], np.zeros(2, dtype=np.int64)
    for line in shapely.get_parts(lines):
        text, last = _write_places(shapely.get_coordinates(line), last)
        parts.append(text)
    return _PART.join(parts)


def lines_of(text: str) -> shapely.Geometry:
    """The lines that `line_text` wrote, as a multiline.

    Raises
    ------
    GeometryError
        The text is malformed, or its lines are off the globe or have too many vertices.
    """
    _check_length(text, "line")
    lines, last = [], np.zeros(2, dtype=np.int64)
    for part in text.split(_PART):
        places, last = _read(part, last, "line", at_least=2)
        lines.append(shapely.linestrings(places))
    shape = shapely.multilinestrings(lines)
    check_vertices(shape)
    _check_bounds(shape)
    return shape


def _write_places(places: Places, last: npt.NDArray[np.int64]) -> tuple[str, npt.NDArray[np.int64]]:
    """Text of the vertices of a ring or line, and the last of them."""
    rounded = np.round(places * _SCALE).astype(np.int64)
    steps = np.diff(rounded, axis=0, prepend=last[None])
    return "".join(_digits(int(step)) for step in steps.ravel()), rounded[-1]


def _read(
    text: str, last: npt.NDArray[np.int64], what: str, *, at_least: int
) -> tuple[Places, npt.NDArray[np.int64]]:
    """The vertices of a ring or line from their text, and the last of them, not scaled."""
    steps = _numbers(text, what)
    if steps.size < 2 * at_least or steps.size % 2:
        raise GeometryError(f"the text of a {what} is cut short; copy all of it")
    places = last + np.cumsum(steps.reshape(-1, 2), axis=0)
    return places / _SCALE, places[-1]


def _check_length(text: str, what: str) -> None:
    if len(text) > MAX_VERTICES * 2 * _MAX_DIGITS:
        raise GeometryError(f"a {what} of {len(text):,} characters; simplify it")


def _check_bounds(shape: shapely.Geometry) -> None:
    west, south, east, north = shapely.bounds(shape)
    check_place(west, south)
    check_place(east, north)


def _digits(value: int) -> str:
    left = value * 2 if value >= 0 else -value * 2 - 1
    text = ""
    while True:
        left, low = left >> 5, left & 31
        text += _DIGITS[low + 32 * (left > 0)]
        if not left:
            return text


def _numbers(text: str, what: str) -> npt.NDArray[np.int64]:
    numbers, value, place = [], 0, 0
    for character in text:
        digit = _VALUE.get(character)
        if digit is None or place >= _MAX_DIGITS:
            raise GeometryError(
                f"the text of a {what} has a character that cannot occur in it; copy it again"
            )
        value |= (digit & 31) << (5 * place)
        place += 1
        if digit < 32:
            numbers.append(value // 2 if value % 2 == 0 else -(value + 1) // 2)
            value, place = 0, 0
    if place:
        raise GeometryError(f"the text of a {what} is cut short; copy all of it")
    return np.array(numbers, dtype=np.int64)
