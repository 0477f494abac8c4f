"""The packed spatial index of a GeoPackage finds the same points as a search of all points."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyogrio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.files.exports.gdal_files import write_gpkg
from mapapp.files.exports.layer import Layer, LonLat, Part
from mapapp.files.exports.point_index import add_point_index, can_index
from mapapp.files.exports.provenance import Provenance

pytestmark = pytest.mark.skipif(not can_index(), reason="this Python's SQLite has no R-trees")


def places_of(seed: int, n: int, missing: float) -> LonLat:
    generator = np.random.default_rng(seed)
    lon, lat = generator.normal(-71.4, 0.2, n), generator.normal(41.8, 0.2, n)
    lon[: n // 3] = np.round(lon[: n // 3], 1)  # many points with one longitude
    away = generator.random(n) < missing
    lon[away], lat[away] = np.nan, np.nan
    return LonLat(lon, lat)


def inside(places: LonLat, box: tuple[float, float, float, float]) -> list[int]:
    west, south, east, north = box
    lon, lat = places
    found = (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
    return [int(place) + 1 for place in np.flatnonzero(found)]


@given(
    seed=st.integers(0, 2**32),
    n=st.one_of(st.sampled_from([0, 1, 51, 52, 51 * 51, 51 * 51 + 1]), st.integers(0, 9_000)),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_index_is_whole_and_finds_what_a_search_of_all_points_finds(
    seed: int, n: int, missing: float
) -> None:
    places = places_of(seed, n, missing)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE points (fid INTEGER PRIMARY KEY, geom BLOB)")
        add_point_index(database, "points", "geom", places)
        assert database.execute("SELECT rtreecheck('rtree_points_geom')").fetchall() == [("ok",)]
        for box in ((-71.5, 41.7, -71.3, 41.9), (-180, -90, 180, 90), (-71.4, 41.0, -71.4, 42.5)):
            west, south, east, north = box
            found = database.execute(
                "SELECT id FROM rtree_points_geom "
                "WHERE maxx >= ? AND maxy >= ? AND minx <= ? AND miny <= ? ORDER BY id",
                (west, south, east, north),
            ).fetchall()
            assert set(inside(places, box)) <= {number for (number,) in found}
            assert len(found) <= len(inside(places, (west - 1e-4, south - 1e-4, east + 1e-4, north + 1e-4)))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, LonLat]:
    """A GeoPackage with a layer of points in two parts."""
    places = places_of(1, 5_000, 0.1)

    def parts() -> Iterator[Part]:
        for part in (slice(0, 3_000), slice(3_000, None)):
            lon, lat = places.lon_deg[part], places.lat_deg[part]
            yield Part(pandas.DataFrame({"n": np.arange(lon.size)}), LonLat(lon, lat))

    layer = Layer(
        name="points_home", title="homes", geometry="Point", fields={"n": "whole"}, n_rows=5_000, parts=parts
    )
    provenance: Any = type("About", (), {"to_dict": lambda self: {}})()
    given: Provenance = provenance
    write_gpkg([layer], given, tmp_path / "x.gpkg")
    return tmp_path / "x.gpkg", places


def test_gdal_reads_by_the_index_and_keeps_it(written: tuple[Path, LonLat]) -> None:
    file, places = written
    box = (-71.5, 41.7, -71.3, 41.9)
    found = pyogrio.read_dataframe(file, layer="points_home", bbox=box, fid_as_index=True)
    assert sorted(found.index) == inside(places, box)
    assert pyogrio.read_info(file, layer="points_home")["capabilities"]["fast_spatial_filter"]
    pyogrio.write_dataframe(found.head(7), file, layer="points_home", driver="GPKG", append=True)
    again = pyogrio.read_dataframe(file, layer="points_home", bbox=box)
    assert len(again) == len(found) + 7
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT rtreecheck('rtree_points_home_geom')").fetchall() == [("ok",)]
