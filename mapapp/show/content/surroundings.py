"""What lies around a release: the land of neighbors, lakes, rivers, railroads, and names, from the packaged base map.

It is coarse, so it is used only where the release has nothing better. Below the scale of a county, the release's own
geography takes over: its land covers the packaged coast, and the packaged coast never cuts a unit.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, NamedTuple

import geopandas
import numpy
import numpy.typing as npt
import pandas
import shapely

from geodata.geography.world import DETAILED, read_world

Shapes = npt.NDArray[numpy.object_]

KINDS: Final = ("land", "border", "state-line", "sea", "lake", "river", "rail")
"""Kinds of shapes, in the order in which they are drawn."""
MAX_FAR_NAMES: Final = 400
_LEAST_MARGIN_DEG: Final = 3.0  # of the detailed part around the states
_MARGIN: Final = 0.6  # the same as a share of the longer side
_WIDE_DEG: Final = 12.0  # from which on only the larger lakes and rivers are drawn
_LAST_WIDE_RANK: Final = 6
_CORNERS_ACROSS: Final = 4_000  # of a detailed outline, for its tolerance
_FAR_TOLERANCE_DEG: Final = 0.08
_LEAST_FAR_DEG2: Final = 0.05
_STRIP_DEG: Final = (
    0.02  # the packaged coast is this far off; narrower strips of land beside the states are errors
)
_NEAR_DEG: Final = 0.1  # how far from the states such strips are looked for
_COARSE_DEG: Final = 0.01  # tolerance of outlines that are widened by far more; detailed ones take seconds
_OVERLAP_DEG: Final = 0.03  # how far the land of neighbors runs below that of the states
_SHORE_DEG: Final = 0.02  # farther from the packaged land and from people, a release without water has sea
_COAST_DEG: Final = 0.004  # farther than simplification moves the outlines of states and counties apart
_GAP_DEG: Final = 0.001  # wider than the gaps that simplification leaves between states
_AREA_STRIP_DEG: Final = (
    0.005  # how far the edge of an area may lie off the sea's, which is that of simplified states
)
_OWN_MARGIN_DEG: Final = 0.25  # how far a release's own water and rails reach beyond its states
_LEAST_ON_LAND: Final = (
    0.3  # share of the states on the packaged land; below it, the country is not a real one
)


class FarName(NamedTuple):
    """Name of a sea, a state, or a city around a release.

    Attributes
    ----------
    kind : str
        "sea", "state", or "city".
    name : str
    lon_deg, lat_deg : float
    people : int
        Of a city, else 0.
    width_deg : float
        Room for the name of a sea or state, else 0.
    """

    kind: str
    name: str
    lon_deg: float
    lat_deg: float
    people: int
    width_deg: float


@dataclass(frozen=True)
class Surroundings:
    """Shapes and names around a release.

    Attributes
    ----------
    shapes : object[N]
        Polygons of land, sea, and lakes, and lines of borders, rivers, and railroads, EPSG:4326. A "state-line" is a
        border of the release's own states, never along the sea; a "border" one beyond them.
    kind : object[N]
        One of `KINDS` for each shape.
    names : list of FarName
        The largest first, within each kind.
    coast : shapely.Geometry
        Polygon along the coast, in which no border is drawn.
    """

    shapes: Shapes
    kind: npt.NDArray[numpy.object_]
    names: list[FarName]
    coast: shapely.Geometry

    @functools.cached_property
    def wide_sea(self) -> shapely.Geometry:
        """Return the sea, and a strip of shore that the outline of an area is not to leave behind as land."""
        return shapely.buffer(shapely.union_all(self.of("sea")), _AREA_STRIP_DEG, quad_segs=2)

    def lines_inland(self, shapes: Shapes) -> Shapes:
        """Return the outlines of counties without those along the coast."""
        return numpy.asarray(shapely.difference(shapely.boundary(shapes), self.coast))

    def of(self, kind: str) -> Shapes:
        """Return the shapes of a kind."""
        return numpy.asarray(self.shapes[self.kind == kind])


@dataclass(frozen=True, slots=True)
class OwnGeography:
    """What a release has itself.

    Attributes
    ----------
    states : object[S]
        Polygons of its states as the map draws them, EPSG:4326.
    people_deg : float64[B, 2]
        Longitude and latitude of its blocks with people.
    water : object[W] or None
        Polygons of its own water; None if it comes from files of water, which are complete.
    has_rails : bool
        Whether it has a table of railroads.
    """

    states: Shapes
    people_deg: npt.NDArray[numpy.float64]
    water: Shapes | None
    has_rails: bool


def surroundings(own: OwnGeography) -> Surroundings:
    """Return what the packaged base map shows around a release, and in it where it has nothing of its own."""
    world = read_world()
    states = _join_states(own.states)
    box, tolerance_deg = _box_of(states)
    near = world[shapely.intersects(world.geometry.to_numpy(), box)]
    if tolerance_deg * _CORNERS_ACROSS > _WIDE_DEG:
        near = near[near["rank"] <= _LAST_WIDE_RANK]
    land = _near_land(near, box)
    is_real = not states.is_empty and shapely.area(
        shapely.intersection(land, states)
    ) >= _LEAST_ON_LAND * shapely.area(states)
    neighbors = _neighboring_land(land, states)
    kept: dict[str, Shapes] = {"land": _land_around(neighbors, states, tolerance_deg, _far_land(world, box))}
    coarse = shapely.simplify(states, _COARSE_DEG)
    margin = shapely.buffer(coarse, _OWN_MARGIN_DEG, quad_segs=4)
    kept["border"] = _outside(_of(near, "border", box, tolerance_deg), shapely.buffer(states, _STRIP_DEG))
    coast = shapely.buffer(
        shapely.difference(shapely.boundary(states), shapely.buffer(neighbors, _OVERLAP_DEG, quad_segs=2)),
        _COAST_DEG,
        quad_segs=2,
    )
    lines = shapely.get_parts(shapely.union_all(shapely.difference(shapely.boundary(own.states), coast)))
    kept["state-line"] = numpy.asarray(lines[shapely.get_dimensions(lines) == 1])
    kept["sea"] = _sea_in(states, land, own) if is_real and own.water is not None else _nothing()
    complete = margin if own.water is None or not is_real else None
    kept["lake"] = _drop_known_lakes(_outside(_of(near, "lake", box, tolerance_deg), complete), own.water)
    kept["river"] = _outside(_of(near, "river", box, tolerance_deg), complete)
    kept["rail"] = _outside(
        _of(near, "rail", box, tolerance_deg), margin if own.has_rails or not is_real else None
    )
    shapes = numpy.concatenate([kept[kind] for kind in KINDS])
    kinds = numpy.repeat(numpy.array(KINDS, dtype=object), [len(kept[kind]) for kind in KINDS])
    return Surroundings(shapes, kinds, _names_around(near, states), coast)


def _join_states(shapes: Shapes) -> shapely.Geometry:
    """Return the land of the states without gaps between them, which would look like coasts."""
    wide = shapely.buffer(shapely.make_valid(shapes), _GAP_DEG, join_style="mitre")
    return shapely.buffer(shapely.union_all(wide), -_GAP_DEG, join_style="mitre")


def _box_of(states: shapely.Geometry) -> tuple[shapely.Geometry, float]:
    """The detailed part around the states, and the tolerance of its outlines in degrees."""
    if states.is_empty:
        return shapely.box(0, 0, 0, 0), _FAR_TOLERANCE_DEG
    west, south, east, north = states.bounds
    longer = max(east - west, north - south)
    margin = max(_LEAST_MARGIN_DEG, _MARGIN * longer)
    box = shapely.box(
        max(west - margin, -180), max(south - margin, -85), min(east + margin, 180), min(north + margin, 85)
    )
    return box, longer / _CORNERS_ACROSS


def _near_land(near: geopandas.GeoDataFrame, box: shapely.Geometry) -> shapely.Geometry:
    """The land in a box: detailed where it is known in detail, else coarse."""
    detailed = near.geometry[near["layer"] == "land"].to_numpy()
    coarse = near.geometry[near["layer"] == "coarse-land"].to_numpy()
    fine_box = shapely.intersection(box, DETAILED)
    fine = shapely.union_all(shapely.make_valid(shapely.clip_by_rect(detailed, *box.bounds)))
    rough = shapely.union_all(shapely.make_valid(shapely.clip_by_rect(coarse, *box.bounds)))
    return shapely.union(shapely.intersection(fine, fine_box), shapely.difference(rough, DETAILED))


def _far_land(world: geopandas.GeoDataFrame, box: shapely.Geometry) -> shapely.Geometry:
    """The land beyond a box, with few corners."""
    coarse = world.geometry[world["layer"] == "coarse-land"].to_numpy()
    coarse = coarse[shapely.area(coarse) >= _LEAST_FAR_DEG2]
    simple = shapely.union_all(shapely.make_valid(shapely.simplify(coarse, _FAR_TOLERANCE_DEG)))
    return shapely.difference(simple, box)


def _neighboring_land(land: shapely.Geometry, states: shapely.Geometry) -> shapely.Geometry:
    """The land of neighbors, without the strips along the states' coast by which the packaged coast is off."""
    beside = shapely.difference(land, states)
    wide = shapely.buffer(shapely.buffer(beside, -_STRIP_DEG, quad_segs=2), 1.05 * _STRIP_DEG, quad_segs=2)
    zone = shapely.buffer(shapely.simplify(states, _COARSE_DEG), _NEAR_DEG, quad_segs=2)
    return shapely.union(
        shapely.difference(beside, zone), shapely.intersection(shapely.intersection(beside, zone), wide)
    )


def _land_around(
    kept: shapely.Geometry, states: shapely.Geometry, tolerance_deg: float, far: shapely.Geometry
) -> Shapes:
    """The land of neighbors and of the rest of the world.

    It runs a little below the land of the states, so that no sea shows between the two.
    """
    below = shapely.intersection(states, shapely.buffer(kept, _OVERLAP_DEG, quad_segs=2))
    around = shapely.simplify(shapely.union_all([kept, below]), tolerance_deg)
    return _polygons(numpy.array([around, far], dtype=object))


def _sea_in(states: shapely.Geometry, land: shapely.Geometry, own: OwnGeography) -> Shapes:
    """The parts of the states that are surely sea: far from the packaged land and from everybody's home."""
    if not shapely.contains_properly(DETAILED, states):
        return _nothing()
    candidates = shapely.difference(states, shapely.buffer(land, _SHORE_DEG, quad_segs=2))
    shores = shapely.buffer(candidates, _SHORE_DEG, quad_segs=4)
    shapely.prepare(shores)
    people = own.people_deg[shapely.contains_xy(shores, own.people_deg)]
    inhabited = shapely.buffer(shapely.points(people), _SHORE_DEG, quad_segs=4)
    sea = shapely.difference(candidates, shapely.union_all(inhabited))
    return _polygons(numpy.array([sea], dtype=object))


def _of(near: geopandas.GeoDataFrame, layer: str, box: shapely.Geometry, tolerance_deg: float) -> Shapes:
    """Shapes of a layer, cut off at the edge of a box."""
    shapes = shapely.clip_by_rect(near.geometry[near["layer"] == layer].to_numpy(), *box.bounds)
    shapes = shapely.simplify(shapes, tolerance_deg)
    return numpy.asarray(shapes[~shapely.is_empty(shapes)])


def _outside(shapes: Shapes, area: shapely.Geometry | None) -> Shapes:
    """Shapes as far as they lie outside an area; all of them if it is None."""
    if area is None or not len(shapes):
        return shapes
    shapely.prepare(area)
    touched = shapely.intersects(area, shapes)
    rest = shapes.copy()
    rest[touched] = shapely.difference(shapely.make_valid(shapes[touched]), area)
    return numpy.asarray(rest[~shapely.is_empty(rest)])


def _drop_known_lakes(lakes: Shapes, water: Shapes | None) -> Shapes:
    """Lakes that the release does not have itself."""
    if water is None or not len(water) or not len(lakes):
        return lakes
    known = shapely.STRtree(water).query(lakes, predicate="intersects")[0]
    return numpy.delete(lakes, numpy.unique(known))


def _names_around(near: geopandas.GeoDataFrame, states: shapely.Geometry) -> list[FarName]:
    """Names outside the states: those inside come from the release; a sea may lie in both."""
    named = near[near["layer"].isin(["sea", "state", "city"])]
    points = named.geometry.to_numpy()
    is_inside = shapely.intersects(shapely.buffer(states, _STRIP_DEG, quad_segs=4), points)
    shown = named[~is_inside | (named["layer"] == "sea").to_numpy()]
    shown = pandas.DataFrame(shown.assign(lon_deg=shown.geometry.x, lat_deg=shown.geometry.y)).head(
        MAX_FAR_NAMES
    )
    columns = ["layer", "name", "lon_deg", "lat_deg", "people", "width_deg"]
    return [FarName(*row) for row in shown[columns].itertuples(index=False, name=None)]


def _polygons(shapes: Shapes) -> Shapes:
    parts = shapely.get_parts(shapes)
    parts = shapely.get_parts(parts)
    return numpy.asarray(parts[(shapely.get_dimensions(parts) == 2) & ~shapely.is_empty(parts)])


def _nothing() -> Shapes:
    return numpy.empty(0, dtype=object)
