"""Water, main roads, rail, and populated land of the base map, simplified and limited in size.

Water, roads, and rail come from the release's own tables. A release without a table of water draws its water blocks,
and a release without roads shows quietly where people live.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypedDict, cast

import contourpy
import geopandas
import numpy
import numpy.typing as npt
import pandas
import shapely
from scipy.ndimage import gaussian_filter

from geodata.geography import base_map
from geodata.geography.distance import mercator_y
from geodata.store.store import Store
from mapapp.show.content import density

# Where people live, as a quiet relief below an answer: for releases without roads, whose land would be blank.
#
# It is made of the public populations of blocks, never of a release's workers. The levels are relative, so that the
# relief shows towns in a rural state and centers in a crowded one.

PEOPLE_SHARES: Final = (0.45, 0.8)
"""Share of the people who live in the densest land, of rank 1, and in all populated land."""
_MAX_PIXELS: Final = 1000  # of the longer side
_FINEST_DEG: Final = 0.003  # size of a pixel in a small place, about a fifth of a mile
_SPREAD_PIXELS: Final = 1.8

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
    parts_by_level = [
        shapely.get_parts(shapely.intersection(shapely.union_all(_above(smooth, level, bounds)), whole))
        for level in _levels(smooth)
    ]
    shapes = numpy.concatenate(parts_by_level)
    rank = numpy.repeat(numpy.arange(1, len(parts_by_level) + 1), [len(part) for part in parts_by_level])
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
    top, bottom = (float(mercator_y(edge)) for edge in (north, south))
    northing = top - (numpy.arange(-1, n_rows + 1) + 0.5) * (top - bottom) / n_rows
    lat = numpy.degrees(numpy.arctan(numpy.sinh(northing)))
    lines = contourpy.contour_generator(lon, lat, padded, fill_type=contourpy.FillType.OuterOffset)
    outer, ring_ptr = cast("tuple[list[Floats], list[list[int]]]", lines.filled(level, numpy.inf))
    polygons = []
    for corners, ptr in zip(outer, ring_ptr, strict=True):
        shell, *holes = (corners[start:end] for start, end in pairwise(ptr))
        polygons.append(shapely.make_valid(shapely.Polygon(shell, holes)))
    return polygons


Shapes = npt.NDArray[numpy.object_]

GROUND: Final = ("populated", "water", "roads", "rails")
"""Layers of the base map that a release may lack, in the order in which they are drawn."""
MAX_CORNERS: Final = {"populated": 10_000, "water": 25_000, "roads": 20_000, "rails": 8_000}
"""Corners of the shapes of a layer; a corner takes about 20 bytes, 8 of them compressed."""
_TOLERANCE_DEG: Final = {"populated": 5e-4, "water": 2e-4, "roads": 3e-4, "rails": 3e-4}
_LEAST_AREA_DEG2: Final = 2e-6  # about 5 acres
_HAIRLINE_DEG: Final = 4e-4  # tolerance of the outlines of tracts
_AROUND_DEG: Final = 0.5  # how far from the states water is drawn
_RIM_DEG: Final = 1.5e-3  # farther than simplification moves the borders of states


class WaterName(TypedDict):
    """Name of a stretch of water, its kind, where its label goes, and the width that the label may take."""

    name: str
    kind: str
    at: list[float]
    width_deg: float


@dataclass(frozen=True, slots=True)
class Ground:
    """Shapes of a layer of `GROUND`, the most important first.

    Attributes
    ----------
    shapes : object[N]
        Polygons or lines, EPSG:4326.
    rank : int64[N]
        Of roads: 1 for primary and 2 for secondary ones; of populated land: 1 for the densest; else 1.
    name, kind : object[N]
        Texts, which may be empty.
    """

    shapes: Shapes
    rank: npt.NDArray[numpy.int64]
    name: npt.NDArray[numpy.object_]
    kind: npt.NDArray[numpy.object_]


def has_ground(store: Store, name: str) -> bool:
    """Whether a store has something to draw for a layer of `GROUND`."""
    if name == "populated":
        return not store.has_table("roads")
    return store.has_table(name) or (name == "water" and bool(base_map.water_blocks(_blocks(store)).any()))


def has_complete_water(store: Store) -> bool:
    """Whether a store has water from files of water. That made of water blocks has no names, and lacks most of it."""
    return store.has_table("water") and bool((store.table("water", ["name"])["name"] != "").any())


def _blocks(store: Store) -> pandas.DataFrame:
    """The columns of the blocks from which the base map can be made."""
    return store.table("blocks", ["block_id", "lon_deg", "lat_deg", "population", "elsewhere"])


def ground(store: Store, name: str, borders: Shapes) -> Ground:
    """The shapes of a layer of `GROUND`.

    Parameters
    ----------
    store : Store
    name : str
    borders : object[S]
        Polygons of the states as the map draws them. Water that reaches their outer edge covers the edge, too, and
        populated land ends there.
    """
    if name == "populated":
        return _make_populated_layer(store, borders)
    if name != "water":
        return _lines(store, name)
    frame = water_of(store)
    shapes = _near(frame.geometry.to_numpy(), borders)
    is_near = ~shapely.is_empty(shapes)
    water = Ground(
        shapes[is_near],
        numpy.ones(int(is_near.sum()), dtype=numpy.int64),
        frame["name"].to_numpy(dtype=object)[is_near],
        frame["kind"].to_numpy(dtype=object)[is_near],
    )
    return add_rim(_simplify_layer(water, "water", -shapely.area(water.shapes)), borders)


def _near(water: Shapes, borders: Shapes) -> Shapes:
    """Water cut off well outside the states: the sea beyond is the background of the map."""
    if not len(borders) or not len(water):
        return water
    box = shapely.buffer(shapely.box(*shapely.total_bounds(borders)), _AROUND_DEG, join_style="mitre")
    near = water.copy()
    crossing = ~shapely.contains_properly(box, water)
    near[crossing] = shapely.intersection(shapely.make_valid(water[crossing]), box)
    return near


def water_of(store: Store) -> geopandas.GeoDataFrame:
    """The whole water of a store, in the form of the table: its own, or that of its blocks."""
    if store.has_table("water"):
        return store.table("water")
    return base_map.water_of_blocks(_blocks(store), store.table("cells"))


def _make_populated_layer(store: Store, borders: Shapes) -> Ground:
    if not has_ground(store, "populated"):
        return _make_unnamed_layer(numpy.empty(0, dtype=object), numpy.empty(0, dtype=numpy.int64))
    shapes, rank = populated_land(_blocks(store), borders)
    return _simplify_layer(_make_unnamed_layer(shapes, rank), "populated", -shapely.area(shapes))


def _make_unnamed_layer(shapes: Shapes, rank: npt.NDArray[numpy.int64]) -> Ground:
    blank = numpy.full(len(shapes), "", dtype=object)
    return Ground(shapes, rank, blank, blank)


def _lines(store: Store, name: str) -> Ground:
    frame = store.table(name)
    shapes = frame.geometry.to_numpy()
    rank = frame["rank"].to_numpy(dtype=numpy.int64) if "rank" in frame else numpy.ones(len(frame), dtype=int)
    blank = numpy.full(len(frame), "", dtype=object)
    lines = Ground(shapes, rank, frame["name"].to_numpy(dtype=object), blank)
    return _simplify_layer(lines, name, rank * 1e6 - shapely.length(shapes))


def _simplify_layer(layer: Ground, name: str, order: npt.NDArray[numpy.floating]) -> Ground:
    """The shapes in an order, with fewer corners, until the limit of corners is reached."""
    listed = numpy.argsort(order, kind="stable")
    shapes = shapely.simplify(layer.shapes[listed], _TOLERANCE_DEG[name])
    is_drawn = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    if name == "water":
        is_drawn &= shapely.area(shapes) >= _LEAST_AREA_DEG2
    corners = numpy.cumsum(numpy.where(is_drawn, shapely.get_num_coordinates(shapes), 0))
    chosen = is_drawn & (corners <= MAX_CORNERS[name])
    kept = listed[chosen]
    return Ground(shapes[chosen], layer.rank[kept], layer.name[kept], layer.kind[kept])


def add_rim(water: Ground, borders: Shapes) -> Ground:
    """Water that also covers the outer edge of the states where it reaches it.

    Borders are simplified, too, so that they would show as land or lines off the coast. States that end at the shore
    need no rim.
    """
    if not len(water.shapes) or not len(borders):
        return water
    land = shapely.union_all(borders)
    near = shapely.distance(water.shapes, shapely.boundary(land)) < _RIM_DEG
    inside = shapely.intersection(shapely.union_all(water.shapes[near]), land)
    wide = shapely.buffer(inside, -_RIM_DEG, quad_segs=2)  # slivers along a coast disappear
    if wide.is_empty:
        return water
    edge = shapely.buffer(shapely.boundary(land), _RIM_DEG, quad_segs=2)
    rim = shapely.intersection(edge, shapely.buffer(wide, 2.5 * _RIM_DEG, quad_segs=2))
    blank = numpy.array([""], dtype=object)
    return Ground(
        numpy.append(water.shapes, rim),
        numpy.append(water.rank, 1),
        numpy.append(water.name, blank),
        numpy.append(water.kind, blank),
    )


def tracts_within(store: Store, bounds: tuple[float, float, float, float]) -> Shapes:
    """Polygons of the tracts that reach into bounds: west, south, east, and north, degrees."""
    shapes = store.table("tracts", ["tract_id", "geometry"]).geometry.dropna().to_numpy()
    return numpy.asarray(shapes[shapely.intersects(shapes, shapely.box(*bounds))])


def hairlines(shapes: Shapes) -> Shapes:
    """The outlines of polygons, each line once and with few corners."""
    lines = shapely.line_merge(shapely.union_all(shapely.boundary(shapes)))
    return numpy.asarray(shapely.simplify(shapely.get_parts(lines), _HAIRLINE_DEG))


def water_names(water: Ground, most: int = 150) -> list[WaterName]:
    """Names of the largest water, each where a circle inside it is widest."""
    names: list[WaterName] = []
    for shape, name, kind in zip(water.shapes, water.name, water.kind, strict=True):
        if len(names) == most:
            break
        if not name or kind == "river":  # a river is too narrow for a name across it
            continue
        largest = max(shapely.get_parts(shape), key=shapely.area)
        circle = shapely.maximum_inscribed_circle(largest, 2e-3)
        middle = shapely.get_coordinates(circle)[0]
        names.append(
            {
                "name": str(name),
                "kind": str(kind),
                "at": [round(at, 4) for at in middle.tolist()],
                "width_deg": round(4 * float(shapely.length(circle)), 4),
            }
        )
    return names
