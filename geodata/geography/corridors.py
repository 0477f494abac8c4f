"""Corridors: the places within some miles of a line, measured along geodesics of the WGS84 ellipsoid.

A line runs straight in longitude and latitude between its corners, as file formats define it (RFC 7946, section 3.1.1),
and so do the edges of polygons. Its longitudes may go beyond 180 where it crosses the 180th meridian (`unwrap_lines`).

Distances are compared as straight distances through the ellipsoid, which has no seam at the 180th meridian and no
distortion at high latitudes. The result is within a meter of the geodesic at latitudes of up to 80 degrees.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely

from geodata.errors import GeometryError
from geodata.geography.area_shapes import check_place, check_vertices
from geodata.geography.distance import EARTH_RADIUS_MI, KM_PER_MI

MAX_MI: Final = 50.0
MAX_LENGTH_MI: Final = 10_000.0
_EQUATOR_M: Final = 6_378_137.0  # WGS84
_FLATTENING: Final = 1 / 298.257223563
_MILE_M: Final = KM_PER_MI * 1000
_RADIUS_M: Final = EARTH_RADIUS_MI * _MILE_M
_LARGEST_PIECE_M: Final = (
    2_000.0  # a straight chord of this length is within 0.3 m of a parallel at latitude 75
)
_MOST_PIECES: Final = 50_000  # besides one for each edge
_CHUNK: Final = 512  # vertices
_MOST_BOXES: Final = 64
_PAIRS_AT_ONCE: Final = 1_000_000
_MILES_PER_DEGREE: Final = 68.7  # of latitude, at least

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Bounds = tuple[float, float, float, float]


class _Pieces(NamedTuple):
    """A line cut into short pieces: its vertices in degrees, and which are followed by a vertex of the same line."""

    lon_lat_deg: Floats
    goes_on: Bools
    longest_m: float


def check_miles(miles: float) -> None:
    """Raise GeometryError if a corridor may not be that wide."""
    if not 0 < miles <= MAX_MI:
        raise GeometryError(
            f"corridor of {miles:g} mi: the distance must be above 0 and at most {MAX_MI:g} miles"
        )


def check_lines(lines: shapely.Geometry, miles: float) -> None:
    """Raise GeometryError if a corridor around some lines, or the edges of polygons, is not allowed.

    Parameters
    ----------
    lines : Geometry
        Degrees; longitudes may go beyond 180.
    miles : float
        The distance.
    """
    check_miles(miles)
    check_vertices(lines)
    places, index = shapely.get_coordinates(lines_in(lines), return_index=True)
    length_mi = float(_lengths_mi(places, index[1:] == index[:-1]).sum())
    if not length_mi:
        raise GeometryError("the line has no length; give at least two different places")
    if length_mi > MAX_LENGTH_MI:
        raise GeometryError(
            f"the line has a length of {length_mi:,.0f} miles; at most {MAX_LENGTH_MI:,.0f} are allowed; shorten it"
        )
    if np.abs(places[:, 1]).max() + miles / _MILES_PER_DEGREE >= 90:
        raise GeometryError(f"corridor of {miles:g} mi: it reaches the pole; make it narrower")


def lines_in(shape: shapely.Geometry) -> npt.NDArray[np.object_]:
    """Every single line of lines, or of the edges of polygons."""
    is_line = shape.geom_type in ("LineString", "MultiLineString")
    return np.asarray(shapely.get_parts(shapely.get_parts(shape if is_line else shapely.boundary(shape))))


def unwrap_lines(lines: shapely.Geometry) -> shapely.Geometry:
    """The same lines with each edge going the shorter way around the globe, so that longitudes may go beyond 180."""

    def turn_line(line: shapely.Geometry) -> shapely.Geometry:
        lon, lat = shapely.get_coordinates(line).T
        check_place(float(lon[0]), float(lat[0]))
        return shapely.linestrings(np.unwrap(lon, period=360.0), lat)

    return shapely.multilinestrings([turn_line(line) for line in shapely.get_parts(lines)])


class Reach:
    """The places within some miles of lines or polygons, along geodesics of WGS84; polygons are part of it.

    A search tree of the vertices of short pieces decides almost every place: the nearest point of a line is at most
    half a piece from a vertex, at a right angle. The pieces themselves are compared only for the other places.

    Parameters
    ----------
    shape : LineString, MultiLineString, Polygon or MultiPolygon
        Degrees; longitudes of lines may go beyond 180.
    miles : float
        The distance.
    """

    def __init__(self, shape: shapely.Geometry, miles: float) -> None:
        from scipy.spatial import cKDTree

        self._shape, self._miles = shape, miles
        self._limit_m = (
            2 * _RADIUS_M * np.sin(miles * _MILE_M / (2 * _RADIUS_M))
        )  # straight through the globe
        pieces = _pieces(shape, self._limit_m)
        self._goes_on = pieces.goes_on
        self._vertices = _place_in_space(*pieces.lon_lat_deg.T)
        self._reach_m = float(np.hypot(self._limit_m, pieces.longest_m / 2)) * (1 + 1e-9)
        self._tree = cKDTree(self._vertices)
        self._has_inside = shape.geom_type in ("Polygon", "MultiPolygon")
        self._flat = shapely.transform(shape, _mercator)
        shapely.prepare(self._shape)
        shapely.prepare(self._flat)

    def holds(self, lon_deg: npt.ArrayLike, lat_deg: npt.ArrayLike) -> Bools:
        """Whether places, given as longitudes and latitudes, are within the distance: bool[N]."""
        lon, lat = np.asarray(lon_deg, dtype=np.float64), np.asarray(lat_deg, dtype=np.float64)
        places = _place_in_space(lon, lat)
        away_m, _ = self._tree.query(places, distance_upper_bound=self._reach_m)
        held = np.asarray(away_m <= self._limit_m)
        unsure = np.flatnonzero(~held & np.isfinite(away_m))
        n_pairs = self._tree.query_ball_point(places[unsure], self._reach_m, return_length=True)
        for some in np.split(unsure, np.flatnonzero(np.diff(np.cumsum(n_pairs) // _PAIRS_AT_ONCE)) + 1):
            held[some] = self._is_near_a_piece(places[some])
        if self._has_inside:
            held |= shapely.intersects_xy(self._shape, lon, lat)
        return held

    def _is_near_a_piece(self, places: Floats) -> Bools:
        """Whether places are within the distance of a piece that has a vertex within reach."""
        vertices_by_place = self._tree.query_ball_point(places, self._reach_m)
        place = np.repeat(np.arange(len(places)), [len(vertices) for vertices in vertices_by_place])
        vertex = np.concatenate(
            [np.empty(0, np.int64), *(np.asarray(vertices, np.int64) for vertices in vertices_by_place)]
        )
        start, place = np.concatenate([vertex, vertex - 1]), np.concatenate([place, place])
        is_piece = (start >= 0) & self._goes_on[start]
        start, place = start[is_piece], place[is_piece]
        base, along = self._vertices[start], self._vertices[start + 1] - self._vertices[start]
        toward = places[place] - base
        length2 = np.maximum(np.einsum("ij,ij->i", along, along), 1e-12)
        share = np.clip(np.einsum("ij,ij->i", toward, along) / length2, 0.0, 1.0)
        away_m = np.linalg.norm(toward - share[:, None] * along, axis=1)
        near = np.zeros(len(places), dtype=np.bool_)
        near[place[away_m <= self._limit_m]] = True
        return near

    def cuts(self, polygons: npt.NDArray[np.object_]) -> Bools:
        """Which small polygons, in degrees, are partly within the distance; judged by their vertices: bool[N].

        Whether a narrow corridor crosses a polygon between its vertices is judged in the Mercator projection.
        """
        places, index = shapely.get_coordinates(polygons, return_index=True)
        n_held = np.bincount(index, weights=self.holds(*places.T), minlength=len(polygons))
        n_all = np.bincount(index, minlength=len(polygons))
        meets = n_held > 0
        others = polygons[~meets]
        middle = np.radians((shapely.bounds(others)[:, 1] + shapely.bounds(others)[:, 3]) / 2)
        limit = self._miles / EARTH_RADIUS_MI / np.cos(middle)
        meets[~meets] = shapely.dwithin(self._flat, shapely.transform(others, _mercator), limit)
        return np.asarray(meets & (n_held < n_all))

    def search_boxes(self) -> list[Bounds]:
        """Rectangles that contain all places together: west, south, east, and north, within -180 … 180 degrees."""
        edges = np.array([[*chunk.min(axis=0), *chunk.max(axis=0)] for chunk in _chunks(self._shape)])
        up = self._miles / _MILES_PER_DEGREE
        boxes = []
        for some in np.array_split(edges, min(len(edges), _MOST_BOXES)):
            west, south = (float(edge) for edge in some[:, :2].min(axis=0))
            east, north = (float(edge) for edge in some[:, 2:].max(axis=0))
            steepest = np.cos(np.radians(max(-south, north)))
            aside = float(np.degrees(np.arcsin(min(np.sin(np.radians(up)) / steepest, 1.0))))
            west, east = west - aside, east + aside
            if west < -180 or east > 180:  # search all longitudes
                west, east = -180.0, 180.0
            boxes.append((west, south - up, east, north + up))
        return boxes


def _mercator(places: Floats) -> Floats:
    lon, lat = np.radians(places).T
    return np.column_stack([lon, np.arctanh(np.sin(np.clip(lat, -1.55, 1.55)))])


def _chunks(lines: shapely.Geometry) -> list[Floats]:
    """The vertices of a line in consecutive parts, each of a few hundred of the largest pieces."""
    pieces = _pieces(lines, np.inf)
    ends = np.flatnonzero(~pieces.goes_on)
    starts = np.append(0, ends[:-1] + 1)
    return [
        pieces.lon_lat_deg[first : min(first + _CHUNK, end) + 1]  # each begins where the one before ends
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for first in range(start, end, _CHUNK)
    ]


def _pieces(lines: shapely.Geometry, limit_m: float) -> _Pieces:
    """Cut lines into pieces of at most a quarter of a distance, unless that would be too many."""
    places, index = shapely.get_coordinates(lines_in(lines), return_index=True)
    goes_on = np.append(index[1:] == index[:-1], False)
    length_m = np.append(_lengths_mi(places, goes_on[:-1]), 0.0) * _MILE_M
    longest_m = float(np.clip(limit_m / 4, length_m.sum() / _MOST_PIECES, _LARGEST_PIECE_M))
    count = np.maximum(np.ceil(length_m / longest_m).astype(np.int64), 1)
    after = np.append(places[1:], places[-1:], axis=0)
    of = np.repeat(np.arange(len(places)), count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    share = (step / count[of])[:, None]
    cut: Floats = places[of] + share * (after - places)[of]
    return _Pieces(cut, goes_on[of], 1.01 * longest_m)


def _lengths_mi(places: Floats, is_edge: Bools) -> Floats:
    """Length of the edge from each place but the last to the next, or a little more; 0 where there is no edge."""
    along = np.abs(np.diff(places, axis=0))
    low, high = np.minimum(places[:-1, 1], places[1:, 1]), np.maximum(places[:-1, 1], places[1:, 1])
    lowest = np.clip(
        0.0, low, high
    )  # the latitude nearest to the equator, where a degree of longitude is longest
    degrees = np.hypot(along[:, 0] * np.cos(np.radians(lowest)), along[:, 1])
    return np.asarray(np.where(is_edge, np.radians(degrees) * EARTH_RADIUS_MI, 0.0))


def _place_in_space(lon_deg: Floats, lat_deg: Floats) -> Floats:
    """Places on the WGS84 ellipsoid, in meters from the middle of the Earth: float64[N, 3]."""
    lon, lat = np.radians(lon_deg), np.radians(lat_deg)
    square = _FLATTENING * (2 - _FLATTENING)
    normal = _EQUATOR_M / np.sqrt(1 - square * np.sin(lat) ** 2)
    around = normal * np.cos(lat)
    return np.column_stack([around * np.cos(lon), around * np.sin(lon), normal * (1 - square) * np.sin(lat)])
