"""The base map of an import: read from published layouts, clipped to the area, and made of blocks without files."""

from __future__ import annotations

from pathlib import Path

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from geodata.errors import GeodataError
from geodata.geography import base_map
from geodata.geography.base_map import MARGIN_DEG, read_base_map, water_of_blocks
from geodata.importing.importing import Imported, import_dataset, write_dataset
from geodata.sources.boundaries import read_boundaries
from geodata.sources.recognize import roles_of, sources_in
from geodata.store.schema import BASE_TABLES
from geodata.store.store import open_store
from tests.geodata import base_samples, samples


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = samples.write_sources(tmp_path_factory.mktemp("sources"))
    base_samples.write_base_map(folder)
    sources, unknown = sources_in(folder)
    assert len(sources.base_map) == 7
    assert not unknown
    return import_dataset(sources, commitment_key="0f" * 32)


def test_the_tables_follow_the_schema_and_can_be_stored(imported: Imported, tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", imported)
    store = open_store(tmp_path / "d", "dataset")
    for table in BASE_TABLES:
        assert len(store.table(table.name)) == len(imported.tables[table.name]) > 0
    roles = [source["role"] for source in imported.facts["sources"]]
    assert roles[-7:] == ["landmarks", "landmarks", "water", "water", "roads", "roads", "rails"]


def test_water_is_joined_across_counties_and_swamps_and_puddles_are_left_out(imported: Imported) -> None:
    water = imported.tables["water"]
    assert sorted(zip(water["name"], water["kind"], strict=True)) == [
        ("", "lake"),
        ("", "lake"),
        ("Great Bay", "bay"),
        ("Mill Pond", "lake"),
        ("Mill Pond", "lake"),
    ]
    assert water[water["name"] == "Great Bay"].geometry.iloc[0].area == pytest.approx(0.06 * 0.01)


def test_roads_are_merged_ranked_and_clipped(imported: Imported) -> None:
    roads = imported.tables["roads"]
    assert dict(zip(roads["name"], roads["rank"], strict=True)) == {"I-95": 1, "State Rte 10": 2}
    assert roads["rank"].dtype == np.int8
    interstate = roads.geometry[roads["name"] == "I-95"].iloc[0]
    assert interstate.geom_type == "LineString"  # its pieces are joined, and those in two files counted once
    assert imported.tables["rails"]["name"].tolist() == ["Amtrak RR"]


def test_landmarks_have_kinds_and_counties(imported: Imported) -> None:
    rows = imported.tables["landmarks"].itertuples()
    assert [(row.name, row.kind, row.county_id) for row in rows] == [
        ("Across the Line", "island", ""),
        ("College Hill High School", "school", "44001"),
        ("Harbor High School", "school", "44001"),
        ("Harbor University", "university", "44001"),
        ("Mercy Hospital", "hospital", "44003"),
        ("Oyster Point", "place", "44001"),
        ("Union Station", "station", "44001"),
    ]


def test_the_base_map_ends_a_margin_beyond_the_area(tmp_path: Path, imported: Imported) -> None:
    here = shapely.box(-71.6, 41.5, -71.4, 41.7)
    frame = geopandas.GeoDataFrame(
        {"LINEARID": ["1"], "FULLNAME": ["Long RR"], "MTFCC": ["R1011"]},
        geometry=[shapely.LineString([(-75.0, 41.6), (-65.0, 41.6)])],
        crs="EPSG:4269",
    )
    samples.write_zip(tmp_path / "tl_2019_us_rails.zip", frame)
    tables = imported.tables | {"states": geopandas.GeoDataFrame(geometry=[here], crs="EPSG:4326")}
    found, _ = read_base_map([tmp_path / "tl_2019_us_rails.zip"], tables)
    west, _, east, _ = found["rails"].total_bounds
    assert (west, east) == pytest.approx((-71.6 - MARGIN_DEG, -71.4 + MARGIN_DEG), abs=1e-3)


def test_a_table_has_a_bounded_number_of_vertices(
    imported: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = np.linspace(0.0, 1.0, 400)
    line = np.column_stack([-71.5 + 0.05 * at, 41.6 + 0.002 * np.sin(60 * at)])
    rows = {"LINEARID": ["1"], "FULLNAME": [""], "MTFCC": ["R1011"]}
    frame = geopandas.GeoDataFrame(rows, geometry=[shapely.LineString(line)], crs="EPSG:4269")
    samples.write_zip(tmp_path / "rails.zip", frame)
    monkeypatch.setattr(base_map, "MOST_VERTICES", 20)
    found, _ = read_base_map([tmp_path / "rails.zip"], imported.tables)
    assert shapely.get_num_coordinates(found["rails"].geometry.iloc[0]) <= 20


def test_without_files_water_blocks_are_water() -> None:
    ids = ["440010101000001", "440010101001000", "440019900000001", "440010101000002", "440010102000001"]
    side = [0.05, 0.05, 0.2, 0.05, 0.02]
    west = [0.0, 0.5, 1.0, 0.05, 2.0]
    squares = [shapely.box(x, 0.0, x + a, a) for x, a in zip(west, side, strict=True)]
    cells = geopandas.GeoDataFrame({"block_index": np.arange(5)}, geometry=squares, crs="EPSG:4326")
    blocks = pandas.DataFrame({"block_id": ids, "population": 0, "elsewhere": False})
    water = water_of_blocks(blocks, cells)
    areas = [round(shape.area, 6) for shape in water.geometry]
    # Two neighboring water blocks become one bay; the block that begins with 1 is land.
    assert sorted(zip(water["kind"], areas, strict=True)) == [
        ("bay", 0.005),
        ("lake", 0.0004),
        ("ocean", 0.04),
    ]


def test_cartographic_boundaries_end_at_the_shore_and_replace_others(tmp_path: Path) -> None:
    whole = samples.write_tracts(tmp_path, "zip")
    first = samples.RI_TRACTS[0]
    ashore = samples.tract_frame((first,)).rename(columns={"GEOID": "GEO_ID"}).assign(LSAD="Tract")
    ashore["GEO_ID"] = "1400000US" + ashore["GEO_ID"]
    half = shapely.intersection(ashore.geometry.iloc[0], shapely.box(-71.5, 41.6, -71.485, 41.7))
    path = tmp_path / "gz_2010_44_140_00_500k.zip"
    samples.write_zip(path, ashore.set_geometry([half]))
    assert roles_of(path) == ("tracts",)
    found = read_boundaries([whole, path], "tracts", vintage=2010)
    assert found.polygon[first].area == pytest.approx(0.015 * 0.03)
    assert found.polygon[samples.RI_TRACTS[1]].area == pytest.approx(0.03**2)


@pytest.mark.parametrize("level", ["county", "state"])
def test_boundaries_of_counties_or_states_alone_make_what_is_beyond_them_water(
    tmp_path: Path, level: str
) -> None:
    """The tracts are TIGER/Line, which reach into the sea; half of one tract is beyond the shore."""
    folder = samples.write_sources(tmp_path / "sources")
    tracts = samples.tract_frame(samples.RI_TRACTS[: 2 if level == "county" else 3])
    beyond = shapely.box(-71.5, 41.6, -71.485, 41.7)
    width = 0.0005  # a boundary is generalized, so its borders on land are a little off, too
    land = shapely.buffer(shapely.union_all(tracts.geometry.to_numpy()), -width) - beyond
    columns = {"county": {"COUNTYFP": ["001"], "GEOID": ["44001"]}, "state": {"GEOID": ["44"]}}[level]
    frame = geopandas.GeoDataFrame(
        {"STATEFP": ["44"], **columns, "NAME": ["x"], "LSAD": ["06"]}, geometry=[land], crs="EPSG:4269"
    )
    path = folder / f"cb_2019_44_{level}_500k.zip"
    samples.write_zip(path, frame)
    assert roles_of(path) == ("base_map",)
    imported = import_dataset(sources_in(folder)[0], commitment_key="0f" * 32)
    water = imported.tables["water"]
    assert set(water["kind"]) == {"ocean"}
    wet, sea = (
        shapely.union_all(shapes) for shapes in (water.geometry, tracts.geometry.intersection(beyond))
    )
    assert shapely.area(shapely.symmetric_difference(wet, sea)) < 0.1 * shapely.area(sea)
    assert not shapely.intersects(shapely.buffer(land, -2 * width), wet)


@pytest.mark.parametrize("name", ["cb_2019_us_cbsa_500k", "cb_2019_us_zcta510_500k", "cb_2019_44_place_500k"])
def test_boundaries_of_other_units_are_no_shore(tmp_path: Path, name: str) -> None:
    columns = {
        "cb_2019_us_cbsa_500k": {"CBSAFP": ["44001"], "GEOID": ["44001"], "LSAD": ["M1"]},
        "cb_2019_us_zcta510_500k": {"ZCTA5CE10": ["02903"], "GEOID10": ["02903"]},
        "cb_2019_44_place_500k": {
            "STATEFP": ["44"],
            "PLACEFP": ["59000"],
            "GEOID": ["4459000"],
            "LSAD": ["25"],
        },
    }[name]
    frame = geopandas.GeoDataFrame(columns, geometry=[shapely.box(0, 0, 1, 1)], crs="EPSG:4269")
    samples.write_zip(tmp_path / f"{name}.zip", frame)
    with pytest.raises(GeodataError, match="not used"):
        roles_of(tmp_path / f"{name}.zip")


@pytest.mark.parametrize(
    ("name", "columns", "said"),
    [
        (
            "tl_2019_44001_areawater.zip",
            {"NAME": ["x"]},
            "columns HYDROID, FULLNAME, MTFCC expected, found NAME",
        ),
        (
            "tl_2019_44_prisecroads.zip",
            {"LINEARID": ["1"]},
            "columns LINEARID, FULLNAME, RTTYP, MTFCC expected",
        ),
    ],
)
def test_a_file_without_its_columns_is_refused(
    tmp_path: Path, name: str, columns: dict[str, list[str]], said: str
) -> None:
    frame = geopandas.GeoDataFrame(columns, geometry=[shapely.box(0, 0, 1, 1)], crs="EPSG:4269")
    samples.write_zip(tmp_path / name, frame)
    with pytest.raises(GeodataError) as caught:
        sources_in(tmp_path)
    assert said in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_content_is_refused_in_one_line(imported: Imported, tmp_path: Path) -> None:
    rows = {"HYDROID": ["1"], "FULLNAME": ["x"], "MTFCC": ["H2030"]}
    line = geopandas.GeoDataFrame(rows, geometry=[shapely.LineString([(0, 0), (1, 1)])], crs="EPSG:4269")
    samples.write_zip(tmp_path / "water.zip", line)
    text = base_samples.gnis(base_samples.NEW_GNIS, base_samples.NEW_PLACES)
    (tmp_path / "far.txt").write_text(text.replace("41.605", "north"))
    (tmp_path / "ragged.txt").write_text(text + "1|2|3\n")
    (tmp_path / "other.txt").write_text("a,b\n1,2\n")
    for name, said in {
        "water.zip": "feature 1 is a LineString; water have polygons",
        "far.txt": "line 2: prim_lat_dec is 'north', which is not in degrees",
        "ragged.txt": "cannot be read as a GNIS text",
        "other.txt": "column 'feature_name' is missing",
    }.items():
        with pytest.raises(GeodataError) as caught:
            read_base_map([tmp_path / name], imported.tables)
        assert said in str(caught.value)
        assert str(caught.value).startswith(f"{tmp_path / name}: ")
        assert "\n" not in str(caught.value)
