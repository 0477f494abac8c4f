"""The packaged base map: what is in it, and how it is made."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import geopandas
import pytest
import shapely

from geodata.geography.make_world import MOST_BYTES, make_world
from geodata.geography.world import NAME_LAYERS, SHAPE_LAYERS, WORLD_FILE, read_world

EMPTY_FILES = ("ne_10m_minor_islands_us", "ne_10m_lakes_north_america_us", "ne_50m_lakes_world")
PLACES = "ne_10m_places"


@pytest.fixture(scope="module")
def world() -> geopandas.GeoDataFrame:
    return read_world()


def at(world: geopandas.GeoDataFrame, layer: str, lon_deg: float, lat_deg: float) -> bool:
    """Whether a shape of a layer covers a place."""
    shapes = world.geometry[world["layer"] == layer].to_numpy()
    return bool(shapely.intersects(shapes, shapely.Point(lon_deg, lat_deg)).any())


def test_the_file_is_small_and_has_every_layer(world: geopandas.GeoDataFrame) -> None:
    assert WORLD_FILE.stat().st_size < MOST_BYTES
    assert set(world["layer"]) == {*SHAPE_LAYERS, *NAME_LAYERS}


@pytest.mark.parametrize(
    ("lon_deg", "lat_deg", "is_land"),
    [
        (-98.5, 39.8, True),  # Kansas
        (-71.58, 41.17, True),  # Block Island
        (-157.9, 21.45, True),  # Oahu
        (-71.58, 41.28, False),  # Block Island Sound
        (-70.0, 39.0, False),  # the Atlantic
    ],
)
def test_land_is_where_it_is(
    world: geopandas.GeoDataFrame, lon_deg: float, lat_deg: float, is_land: bool
) -> None:
    assert at(world, "land", lon_deg, lat_deg) == is_land


def test_other_continents_have_coarse_land_and_the_largest_lakes_are_lakes(
    world: geopandas.GeoDataFrame,
) -> None:
    assert at(world, "coarse-land", -1.5, 52.5), "England"
    assert at(world, "lake", -87.0, 43.5), "Lake Michigan"
    assert at(world, "lake", 33.0, -1.0), "Lake Victoria"


def test_seas_states_and_cities_have_names_with_room(world: geopandas.GeoDataFrame) -> None:
    named = world[world["layer"].isin(NAME_LAYERS)]
    assert (named["name"] != "").all()
    assert (named.loc[named["layer"] != "city", "width_deg"] > 0).all()
    people = named.loc[named["layer"] == "city"].set_index("name")["people"]
    assert people["Boston"].max() > people["Providence"].max() > 0


def test_borders_run_between_states_and_never_along_the_sea(tmp_path: Path) -> None:
    """Two states side by side on an island, of which the western one has a border with another country inland."""
    packed = make_world(*_sources(tmp_path))
    features = json.loads(gzip.decompress(packed))["features"]
    borders = [
        shapely.from_geojson(json.dumps(feature["geometry"]))
        for feature in features
        if feature["properties"]["layer"] == "border"
    ]
    drawn = shapely.union_all(borders)
    between = shapely.LineString([(-99, 40.2), (-99, 40.8)])
    assert shapely.contains(shapely.buffer(drawn, 0.01), between)
    assert shapely.distance(drawn, shapely.Point(-98, 40.5)) > 0.5, "the eastern coast is no border"
    assert shapely.distance(drawn, shapely.Point(-100, 40.5)) < 0.01, "the western edge is inland"


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    sources = _sources(tmp_path)
    assert make_world(*sources) == make_world(*sources)


def _sources(folder: Path) -> tuple[Path, Path]:
    """An island from 101 W to 98 W: another country, and two states that meet at 99 W."""
    island = shapely.box(-101, 40, -98, 41)
    lake = shapely.box(-98.6, 40.4, -98.4, 40.6)
    line = shapely.LineString([(-100.9, 40.1), (-98.1, 40.9)])
    rank = {"scalerank": 1, "name": "Long"}
    city = {"name": "Town", "adm0_a3": "USA", "pop_max": 9_000}
    contents: dict[str, list[tuple[shapely.Geometry, dict[str, Any]]]] = {
        "ne_10m_land_us": [(island, rank)],
        "ne_50m_land_world": [(island, rank)],
        "ne_10m_lakes_us": [(lake, rank)],
        "ne_10m_rivers_us": [(line, rank)],
        "ne_10m_rivers_north_america_us": [(line, rank)],
        "ne_10m_railroads_us": [(line, rank)],
        "ne_10m_marine_us": [(shapely.box(-98, 40, -96, 41), rank)],
        PLACES: [(shapely.Point(-98.2, 40.2), city)],
        **{name: [] for name in EMPTY_FILES},
    }
    for name, rows in contents.items():
        features = [
            {"type": "Feature", "properties": about, "geometry": json.loads(shapely.to_geojson(shape))}
            for shape, about in rows
        ]
        text = json.dumps({"type": "FeatureCollection", "features": features})
        (folder / f"{name}.geojson.gz").write_bytes(gzip.compress(text.encode()))
    return folder, _atlas(folder / "us-atlas.tgz")


def _atlas(path: Path) -> Path:
    """Arcs in hundredths of a degree from 100 W, 40 N: the border, the rest of the west, and the rest of the east."""
    topology = {
        "transform": {"scale": [0.01, 0.01], "translate": [-100, 40]},
        "arcs": [
            [[100, 0], [0, 100]],
            [[100, 100], [-100, 0], [0, -100], [100, 0]],
            [[100, 100], [100, 0], [0, -100], [-100, 0]],
        ],
        "objects": {
            "states": {
                "geometries": [
                    {"type": "Polygon", "arcs": [[0, 1]], "properties": {"name": "West"}},
                    {"type": "MultiPolygon", "arcs": [[[2, 0]]], "properties": {"name": "East"}},
                ]
            }
        },
    }
    content = json.dumps(topology).encode()
    with tarfile.open(path, "w:gz") as package:
        member = tarfile.TarInfo("package/states-10m.json")
        member.size = len(content)
        package.addfile(member, io.BytesIO(content))
    return path
