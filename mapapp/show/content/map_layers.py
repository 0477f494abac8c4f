"""Base layers and outlines of areas as GeoJSON, served by the app itself.

Shapes are simplified together, so that neighbors still share their border. Browsers may cache them forever, because
their address contains the release's version.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypedDict, TypeVar, cast
from urllib.parse import quote

import numpy
import numpy.typing as npt
import pandas
import shapely

from geodata.geography.base_map import water_blocks
from geodata.store.store import Store
from geodata.store.zones import ZONE
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.layer_units import TABLES
from mapapp.answers.areas.levels import LEVEL_LABELS
from mapapp.answers.areas.unit_names import base_name, name_parts
from mapapp.answers.areas.usual_layers import TOWN_STATES
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.release import Release
from mapapp.base import watch
from mapapp.question.area_text import BLOCK
from mapapp.question.question import SettledQuestion
from mapapp.question.view import Bounds
from mapapp.show.content import camera
from mapapp.show.content.ground import (
    GROUND,
    Ground,
    ground,
    hairlines,
    has_complete_water,
    has_ground,
    tracts_within,
    water_names,
)
from mapapp.show.content.surroundings import OwnGeography, Surroundings, surroundings


def pack_shapes(
    ids: Sequence[str],
    shapes: Sequence[shapely.Geometry],
    properties: Sequence[Mapping[str, object]] | None = None,
) -> bytes:
    """Gzipped GeoJSON of shapes with an `id` and, if given, properties; coordinates have five decimals."""
    features = []
    for unit_id, shape, about in zip(ids, shapes, properties or [{} for _ in ids], strict=True):
        watch.check()
        geometry = _round_coordinates(shapely.geometry.mapping(shape))
        features.append({"type": "Feature", "id": unit_id, "properties": about, "geometry": geometry})
    text = json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def _round_coordinates(geometry: Mapping[str, object]) -> dict[str, object]:
    def short(value: object) -> object:
        return (
            round(value, 5)
            if isinstance(value, float)
            else [short(part) for part in cast("Sequence[object]", value)]
        )

    return {"type": geometry["type"], "coordinates": short(geometry["coordinates"])}


# Names of cities and towns for the map, the largest first.

MAX_NAMES: Final = 2_000  # about 90 bytes each
LARGE_PEOPLE: Final = 100_000
MIDDLE_PEOPLE: Final = 25_000
_NO_PLACE: Final = "not defined"  # water and other parts that the Census Bureau gives a code, but no name


class PlaceName(NamedTuple):
    """Name of a city or town, where most of its people are, and how many live there."""

    name: str
    lon_deg: float
    lat_deg: float
    people: int


def place_names(store: Store, areas: Areas) -> list[PlaceName]:
    """Names of the cities and towns of all states of a store, or of its zones, the largest first."""
    population = store.table("blocks", ["population"])["population"].to_numpy()
    tables = [_list_named_units(areas, layer, population) for layer in ("ctycsub", "stplc", ZONE)]
    towns, places, zones = tables
    has_towns = towns["unit_id"].str[:2].isin(TOWN_STATES)
    is_town_state = places["unit_id"].str[:2].isin(set(towns.loc[has_towns, "unit_id"].str[:2]))
    settlements = pandas.concat([towns[has_towns], places[~is_town_state], zones])
    settlements = settlements.sort_values(["people", "unit_id"], ascending=[False, True], kind="stable").head(
        MAX_NAMES
    )
    return [
        PlaceName(base_name(name), round(lon, 4), round(lat, 4), int(people))
        for name, lon, lat, people in zip(
            settlements["name"],
            settlements["lon_deg"],
            settlements["lat_deg"],
            settlements["people"],
            strict=True,
        )
    ]


def _list_named_units(areas: Areas, layer: str, population: npt.NDArray[numpy.int64]) -> pandas.DataFrame:
    """Units of a layer in which people live: `unit_id`, `name`, `lon_deg`, `lat_deg`, and `people`."""
    if layer not in areas.columns:
        empty = pandas.DataFrame({"unit_id": [], "name": []}, dtype=str)
        return empty.assign(lon_deg=0.0, lat_deg=0.0, people=0)
    units = areas.units(layer)
    people = numpy.bincount(units.code, weights=population, minlength=len(units.rows)).astype(numpy.int64)
    rows = units.rows.assign(people=people)
    named = ~rows["name"].str.contains(_NO_PLACE, regex=False) & (rows["name"] != rows["unit_id"])
    chosen = (rows["kind"] == "unit") & (rows["people"] > 0) & named
    return rows.loc[chosen, ["unit_id", "name", "lon_deg", "lat_deg", "people"]]


Value = TypeVar("Value")

BASE_LAYERS: Final = {"states": "state_id", "counties": "county_id", "tracts": "tract_id"}
PLACES: Final = "places"
"""The layer of names of cities and towns, and of water."""
TRACT_LINES: Final = "tract-lines"
"""The layer of the outlines of tracts, for the zoom of a city."""
SURROUNDINGS: Final = "surroundings"
"""The layer of what lies around the states, from the packaged base map."""
LAYERS: Final = (*BASE_LAYERS, *GROUND, TRACT_LINES, SURROUNDINGS, PLACES)
"""Everything that has an address under `layer_url`; a layer that a store lacks is empty."""
_TOLERANCE_DEG: Final = {"states": 6e-4, "counties": 3e-4, "tracts": 1.5e-4}
_OF_PARTS: Final = {"comparison": False, "job-balance": True, "characteristics": False}
"""Analyses that count only a part of a unit which is partly in the area, and whether only blocks with jobs count."""
_MOST_TRACTS: Final = 1_500  # whose outlines are drawn at city zoom; those of more would be too much to send
_HOME_SHARE: Final = 0.9995  # of the people whose homes the first view shows, in each direction
_LINE_GRID_DEG: Final = 1e-4  # about 10 m
GRID_DEG: Final = 1e-5  # about 1 m, which is invisible and shortens the text


class BaseLayerSource(Protocol):
    """What base layers need: a store's geography, its name and version in addresses, and a cache."""

    store: Store
    areas: Areas
    slug: str
    version: str

    @property
    def covered_states(self) -> list[str]:
        """Identifiers of the states whose workplaces are covered."""

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The result of `make`, cached under the key."""


def layer_url(prefix: str, release: BaseLayerSource, name: str) -> str:
    """Address of a base layer; `prefix` is where the app is mounted, with a trailing slash."""
    return f"{prefix}geo/{release.slug}/{release.version}/{name}.geojson"


def style_urls(prefix: str, release: BaseLayerSource) -> dict[str, str]:
    """Addresses of what the base map draws; layers of `GROUND` only if there is something to draw."""
    ground_layers = release.once(
        ("ground",), lambda: [name for name in GROUND if has_ground(release.store, name)]
    )
    names = ("states", "counties", PLACES, SURROUNDINGS, *ground_layers)
    tracts = (TRACT_LINES,) if has_tract_lines(release) else ()
    return {name: layer_url(prefix, release, name) for name in (*names, *tracts)}


def has_tract_lines(release: BaseLayerSource) -> bool:
    """Whether the map draws tracts in a hairline: so many are in its first view that they can be sent."""
    return 0 < len(_tracts_in_view(release)) <= _MOST_TRACTS


def _tracts_in_view(release: BaseLayerSource) -> npt.NDArray[numpy.object_]:
    """Polygons of the tracts that the first view shows."""
    return release.once(("ground", "tracts"), lambda: tracts_within(release.store, home_bounds(release)))


def unit_levels(release: OpenedPublication) -> list[str]:
    """Levels whose units can be clicked and colored, largest first."""
    columns = release.areas.columns
    further = [level for level in reversed(columns) if level not in LEVEL_LABELS]
    return [*(level for level in LEVEL_LABELS if level in columns and level != BLOCK), *further]


def unit_layer(release: OpenedPublication, level: str) -> bytes:
    """Gzipped GeoJSON of all units of a level that have shapes, each with its `id`."""

    def make() -> bytes:
        shape_by_unit = unit_shapes(release, level)
        return pack_shapes(list(shape_by_unit), list(shape_by_unit.values()))

    return release.once(("unit layer", level), make)


def is_made(release: OpenedPublication, name: str) -> bool:
    """Whether the shapes of a base layer, or of "unit-" and a level, are cached and need only be sent."""
    level = name.removeprefix("unit-")
    return release.keeps(("layer", name) if level == name else ("unit layer", level))


def unit_shapes(release: OpenedPublication, level: str) -> dict[str, shapely.Geometry]:
    """Simplified polygons of a level's units: published boundaries, or unions of block cells."""

    def make() -> dict[str, shapely.Geometry]:
        table = TABLES.get(level)
        if table is None:
            shape_by_unit = release.areas.outlines.of_layer(level)
            return {
                unit: shapely.simplify(shape, _TOLERANCE_DEG["tracts"])
                for unit, shape in shape_by_unit.items()
            }
        ids, shapes = _simplify_units(release, table, f"{level}_id", _TOLERANCE_DEG.get(table, 3e-4))
        return dict(zip(ids, shapes, strict=True))

    return release.once(("unit shapes", level), make)


def cut_shapes(release: Release, question: SettledQuestion) -> dict[str, shapely.Geometry]:
    """Polygons of the parts that an answer counts, for the units that are only partly in its area."""
    if question.analysis not in _OF_PARTS or not question.areas:
        return {}
    areas, level, has_jobs = release.areas, question.layer, _OF_PARTS[question.analysis]

    def make() -> dict[str, shapely.Geometry]:
        blocks = areas.select(question.area).blocks
        blocks = areas.keep_workplaces(blocks) if has_jobs else blocks
        if blocks is None:
            return {}
        units = areas.units(level)
        n_mine = numpy.bincount(units.code[blocks], minlength=len(units.rows))
        is_cut = (n_mine < units.n_blocks) & (units.rows["kind"] == "unit").to_numpy()
        part_by_unit = areas.outlines.of_parts(level, blocks[is_cut[units.code[blocks]]])
        tolerance = _TOLERANCE_DEG["tracts"]
        shapes = {unit: shapely.simplify(shape, tolerance) for unit, shape in part_by_unit.items()}
        return {unit: shape for unit, shape in shapes.items() if unit in unit_shapes(release, level)}

    return release.once(("cut shapes", question.area, level, has_jobs), make)


def unit_at(release: OpenedPublication, level: str, lon_deg: float, lat_deg: float) -> str | None:
    """Identifier of the level's unit at a place, as the map shows it, or None."""
    shape_by_unit = unit_shapes(release, level)
    tree = release.once(("unit tree", level), lambda: shapely.STRtree(list(shape_by_unit.values())))
    hits = tree.query(shapely.Point(lon_deg, lat_deg), predicate="intersects")
    return list(shape_by_unit)[int(hits[0])] if len(hits) else None


def unit_url(prefix: str, release: BaseLayerSource, level: str) -> str:
    """Address of the shapes of a level's units."""
    return layer_url(prefix, release, f"unit-{level}")


def outline_url(prefix: str, release: BaseLayerSource, areas: tuple[str, ...]) -> str:
    """Address of the borders of chosen areas."""
    return _areas_url(prefix, release, "areas", areas)


def blocks_url(prefix: str, release: BaseLayerSource, areas: tuple[str, ...]) -> str:
    """Address of the outline of the blocks of chosen areas."""
    return _areas_url(prefix, release, "blocks", areas)


def _areas_url(prefix: str, release: BaseLayerSource, name: str, areas: tuple[str, ...]) -> str:
    return f"{prefix}geo/{release.slug}/{release.version}/{name}.geojson?area=" + "&area=".join(
        quote(area, safe=":,") for area in areas
    )


def base_layer(release: BaseLayerSource, name: str) -> bytes:
    """Gzipped GeoJSON of a layer of the base map; units have an `id`, and named layers are sorted by size."""

    def make() -> bytes:
        if name in GROUND:
            return _packed_ground(ground_of(release, name))
        if name == SURROUNDINGS:
            return _packed_surroundings(surroundings_of(release))
        if name == TRACT_LINES:
            return _packed_tracts(release)
        if name == PLACES:
            return _packed_places(release)
        ids, shapes = base_shapes(release, name)
        if name == "tracts":  # too many to name on the map
            return pack_shapes(ids, shapes)
        if name == "counties":
            shapes = list(county_lines(release))
        return pack_shapes(ids, shapes, base_names(release, name))

    return release.once(("layer", name), make)


def base_shapes(release: BaseLayerSource, name: str) -> tuple[list[str], list[shapely.Geometry]]:
    """Identifiers and simplified polygons of a base layer, largest first except for tracts."""

    def make() -> tuple[list[str], list[shapely.Geometry]]:
        ids, shapes = _simplify_base_layer(release, name)
        if name == "tracts":
            return ids, shapes
        order = numpy.argsort(-shapely.area(shapes), kind="stable")
        return [ids[at] for at in order], [shapes[at] for at in order]

    return release.once(("base shapes", name), make)


def ground_of(release: BaseLayerSource, name: str) -> Ground:
    """The shapes of a layer of `GROUND` as the map draws them."""

    def make() -> Ground:
        return ground(release.store, name, _array(base_shapes(release, "states")[1]))

    return release.once(("ground shapes", name), make)


def surroundings_of(release: BaseLayerSource) -> Surroundings:
    """What lies around the states of a release, and in them where it has nothing of its own."""

    def make() -> Surroundings:
        columns = ["block_id", "lon_deg", "lat_deg", "population", "elsewhere"]
        blocks = release.store.table("blocks", columns)
        has_people = (blocks["population"] > 0) & ~blocks["elsewhere"] & ~water_blocks(blocks)
        own = OwnGeography(
            states=_array(base_shapes(release, "states")[1]),
            people_deg=blocks.loc[has_people, ["lon_deg", "lat_deg"]].to_numpy(),
            water=None if has_complete_water(release.store) else ground_of(release, "water").shapes,
            has_rails=release.store.has_table("rails"),
        )
        return surroundings(own)

    return release.once(("surroundings",), make)


def county_lines(release: BaseLayerSource) -> npt.NDArray[numpy.object_]:
    """Borders of the counties of `base_shapes`, never along the coast."""
    return surroundings_of(release).lines_inland(_array(base_shapes(release, "counties")[1]))


def _array(shapes: Sequence[shapely.Geometry]) -> npt.NDArray[numpy.object_]:
    return numpy.array([*shapes, None], dtype=object)[:-1]


def places_of(release: BaseLayerSource) -> list[PlaceName]:
    """Names of cities and towns, the largest first."""
    return release.once(("place names",), lambda: place_names(release.store, release.areas))


def _packed_ground(layer: Ground) -> bytes:
    about = [{"rank": rank} for rank in layer.rank.tolist()]
    return pack_shapes([str(at) for at in range(len(about))], list(layer.shapes), about)


def _packed_surroundings(layer: Surroundings) -> bytes:
    about = [{"kind": kind} for kind in layer.kind.tolist()]
    return pack_shapes([str(at) for at in range(len(about))], list(layer.shapes), about)


def _packed_tracts(release: BaseLayerSource) -> bytes:
    shapes = _tracts_in_view(release) if has_tract_lines(release) else _array([])
    lines = shapely.set_precision(hairlines(shapes), _LINE_GRID_DEG)
    return pack_shapes([str(at) for at in range(len(lines))], list(lines))


def _packed_places(release: BaseLayerSource) -> bytes:
    """Gzipped GeoJSON of names: places with their people, water with the width for its name, and names around."""
    places = places_of(release)
    water = water_names(ground_of(release, "water"))
    points = [shapely.Point(place.lon_deg, place.lat_deg) for place in places]
    about: list[dict[str, object]] = [{"name": place.name, "people": place.people} for place in places]
    points += [shapely.Point(water_name["at"]) for water_name in water]
    about += [
        {"name": water_name["name"], "water": water_name["kind"], "width": water_name["width_deg"]}
        for water_name in water
    ]
    far = surroundings_of(release).names
    points += [shapely.Point(name.lon_deg, name.lat_deg) for name in far]
    about += [
        {"name": name.name, "far": name.kind, "people": name.people, "width": name.width_deg} for name in far
    ]
    return pack_shapes([str(at) for at in range(len(about))], points, about)


class UnitName(TypedDict):
    """The label of a unit: its text, its position, and west, south, east, north of the unit."""

    name: str
    at: list[float]
    box: list[float]


def base_names(release: BaseLayerSource, name: str) -> list[UnitName]:
    """Name labels of the units in `base_shapes`: `name`, `at` and `box`."""
    return _labels(release, name, *base_shapes(release, name))


def _labels(
    release: BaseLayerSource, name: str, ids: list[str], shapes: list[shapely.Geometry]
) -> list[UnitName]:
    """Name labels of units: the text, its position, and west, south, east, north of the unit."""
    column = BASE_LAYERS[name]
    frame = release.store.table(name, [column, "name"])
    names = dict(zip(frame[column], frame["name"], strict=True))
    largest = [max(shapely.get_parts(shape), key=shapely.area) for shape in shapes]
    return [
        {
            "name": name_parts(str(names[unit_id]))[0],
            "at": [round(at, 4) for at in shapely.get_coordinates(middle(part))[0].tolist()],
            "box": [round(edge, 4) for edge in part.bounds],
        }
        for unit_id, part in zip(ids, largest, strict=True)
    ]


def middle(shape: shapely.Geometry) -> shapely.Geometry:
    """The centroid, or a point well inside if the centroid is outside."""
    middle = shapely.centroid(shape)
    return middle if shapely.contains(shape, middle) else shapely.point_on_surface(shape)


def home_bounds(release: BaseLayerSource) -> Bounds:
    """Bounds of the first view: where people live in the states whose workplaces the release covers.

    Without them, where they live on the whole base map. Blocks of water and the outermost few of the people, such as
    those on a far island, do not widen the view.
    """

    def make() -> Bounds:
        columns = ["block_id", "state_id", "lon_deg", "lat_deg", "population", "elsewhere"]
        blocks = release.store.table("blocks", columns)
        drawn = blocks[~blocks["elsewhere"]]
        covered = drawn[drawn["state_id"].isin(release.covered_states)]
        frame = next((part for part in (covered, drawn) if len(part)), blocks)
        people = frame[(frame["population"] > 0) & ~water_blocks(frame)]
        frame = people if len(people) else frame
        weights = frame["population"].clip(lower=1).to_numpy()
        return camera.around(
            frame["lon_deg"].to_numpy(), frame["lat_deg"].to_numpy(), weights, share=_HOME_SHARE
        )

    return release.once(("home",), make)


def _simplify_base_layer(release: BaseLayerSource, name: str) -> tuple[list[str], list[shapely.Geometry]]:
    return _simplify_units(release, name, BASE_LAYERS[name], _TOLERANCE_DEG[name])


def _simplify_units(
    release: BaseLayerSource, table: str, column: str, tolerance_deg: float
) -> tuple[list[str], list[shapely.Geometry]]:
    frame = release.store.table(table, [column, "geometry"])
    frame = frame[~(frame.geometry.isna() | frame.geometry.is_empty)]
    shapes = frame.geometry.to_numpy()
    if shapely.coverage_is_valid(shapes):
        shapes = shapely.coverage_simplify(shapes, tolerance_deg)
    else:  # overlapping shapes share no borders
        shapes = shapely.simplify(shapes, tolerance_deg)
    return list(frame[column]), list(shapes)
