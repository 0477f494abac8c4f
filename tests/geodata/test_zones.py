"""Zones and flows of any country: what their files become, and which of them are refused in one line."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
import shapely

from geodata.errors import GeodataError
from geodata.importing.importing import write_dataset
from geodata.store.schema import GEOGRAPHY
from geodata.store.store import open_store
from geodata.store.zones import ELSEWHERE
from geodata.zones.columns import read_columns
from geodata.zones.importing import ImportedZones, ZoneFiles, explain_columns, import_zones
from geodata.zones.zones import unit_id_of
from tests.geodata import zone_samples as samples

KEY = "0f" * 32
LEEDS = ("leeds_msoa_points.csv", "leeds_2011_msoa_flows.csv.gz")
KINGDOM = ("uk_districts.geojson.gz", "uk_2021_district_flows.csv.gz")
SHARED = Path(__file__).parents[3] / "shared" / "data" / "zones"


def imported(zones: Path, flows: Path, **options: Any) -> ImportedZones:
    schema, outline = options.pop("schema", None), options.pop("outline", None)
    files = ZoneFiles(zones=zones, flows=flows, schema=schema, outline=outline)
    return import_zones(files, place="Here", commitment_key=KEY, **options)


def trips_of(result: ImportedZones) -> dict[tuple[str, str], int]:
    """Trips by codes of origin and destination, read from the tables alone."""
    jobs, code = result.imported.tables["jobs"], result.imported.tables["blocks"]["tract_id"].to_numpy()
    origin, destination = code[jobs["origin_index"]], code[jobs["destination_index"]]
    return {(o, d): int(n) for o, d, n in zip(origin, destination, jobs["count"], strict=True)}


WANTED = {(origin, destination): n for origin, destination, n in samples.pairs()}


@pytest.fixture(scope="module")
def polygons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.write_polygons(tmp_path_factory.mktemp("zones") / "zones.geojson")


def write_parquet(path: Path) -> Path:
    frame = pandas.DataFrame(samples.pairs(), columns=["from_zone", "to_zone", "trips"])
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(frame), path)
    return path


@pytest.mark.parametrize(
    "write",
    [
        samples.write_pairs,
        samples.write_matrix,
        samples.write_trips,
        write_parquet,
        lambda path: samples.write_pairs(path, separator=";"),
    ],
    ids=["pairs", "matrix", "trips", "parquet", "semicolons"],
)
def test_each_form_of_flows_gives_the_same_trips(write: Any, polygons: Path, tmp_path: Path) -> None:
    """A form that is read with origins and destinations swapped, or a count lost, would differ."""
    assert trips_of(imported(polygons, write(tmp_path / "flows.csv"))) == WANTED


def test_the_store_has_all_tables_and_each_zone_once(polygons: Path, tmp_path: Path) -> None:
    """A table that lacks a column, or is out of order, could not be opened."""
    result = imported(polygons, samples.write_pairs(tmp_path / "flows.csv"))
    write_dataset(tmp_path / "here.dataset", result.imported)
    store = open_store(tmp_path / "here.dataset", "dataset")
    for table in GEOGRAPHY:
        assert len(store.table(table.name)) == len(result.imported.tables[table.name])
    tracts = store.table("tracts")
    assert tracts["tract_id"].tolist() == sorted([*samples.codes(), ELSEWHERE])
    assert tracts["tract_id"].is_monotonic_increasing
    assert int(tracts.loc[~tracts["elsewhere"], "population"].sum()) == sum(1_000 + 10 * n for n in range(30))


def test_declared_parents_are_layers_and_coarsening(polygons: Path, tmp_path: Path) -> None:
    """Groups made without the declared districts would cut across them."""
    result = imported(polygons, samples.write_pairs(tmp_path / "flows.csv"))
    blocks = result.imported.tables["blocks"]
    here = blocks[~blocks["elsewhere"]]
    assert here["layer_district"].equals(here["puma_id"])
    assert {layer["label"] for layer in result.imported.facts["layers"]} == {"Zone", "District"}


def test_large_parents_hold_the_smaller_groups(tmp_path: Path) -> None:
    """A region of millions as the smaller group would hide where in it anybody lives."""
    features = [
        {**feature, "properties": feature["properties"] | {"population": 60_000 + number}}
        for number, feature in enumerate(samples.squares())
    ]
    zones = samples.write_polygons(tmp_path / "zones.geojson", features)
    result = imported(zones, samples.write_pairs(tmp_path / "flows.csv"))
    blocks = result.imported.tables["blocks"]
    here = blocks[~blocks["elsewhere"]]
    assert here["layer_district"].equals(here["superpuma_id"])
    groups = here.groupby("puma_id").agg(n=("layer_district", "nunique"), people=("population", "sum"))
    assert (groups["n"] == 1).all()
    assert groups["people"].min() >= 100_000
    assert len(groups) > 3


def test_groups_follow_from_zones_and_never_from_trips(tmp_path: Path) -> None:
    """Groups that depended on confidential trips would change with them."""
    points = samples.write_points(tmp_path / "zones.csv")
    first = imported(points, samples.write_pairs(tmp_path / "flows.csv"))
    few = samples.write_pairs(tmp_path / "few.csv", [("029", "000", 900), ("000", "029", 1)])
    second = imported(points, few)
    for table in GEOGRAPHY:
        one, other = first.imported.tables[table.name], second.imported.tables[table.name]
        assert pandas.DataFrame(one.drop(columns="geometry", errors="ignore")).equals(
            pandas.DataFrame(other.drop(columns="geometry", errors="ignore"))
        )


def test_cells_of_points_share_the_outline_without_overlaps(tmp_path: Path) -> None:
    """Cells that overlap, or leave gaps, would put people into wrong zones."""
    whole = shapely.box(10.0, 51.0, 10.3, 51.25)
    outline = tmp_path / "outline.geojson"
    outline.write_text(shapely.to_geojson(whole), encoding="utf-8")
    result = imported(
        samples.write_points(tmp_path / "zones.csv"),
        samples.write_pairs(tmp_path / "flows.csv"),
        outline=outline,
    )
    cells = np.asarray(result.imported.tables["cells"].geometry.array)
    assert shapely.area(shapely.union_all(cells)) == pytest.approx(shapely.area(whole), rel=1e-6)
    assert shapely.area(cells).sum() == pytest.approx(shapely.area(whole), rel=1e-6)
    for cell, feature in zip(cells, samples.squares(), strict=True):
        assert shapely.contains(cell, shapely.geometry.shape(feature["geometry"]).centroid)


def test_places_without_a_zone_come_from_elsewhere_or_are_left_out(polygons: Path, tmp_path: Path) -> None:
    """Trips to unknown places must not end anywhere, and those from there must not be lost."""
    rows: list[tuple[str, str, object]] = [
        ("000", "001", 5),
        ("XX", "001", 7),
        ("000", "XX", 11),
        ("XX", "YY", 13),
    ]
    result = imported(polygons, samples.write_pairs(tmp_path / "flows.csv", rows))
    assert trips_of(result) == {("000", "001"): 5, (ELSEWHERE, "001"): 7}
    assert result.counted[0] == "7 trips from 1 places without a zone come from elsewhere: XX 7"
    assert result.counted[1] == "24 trips to 2 places without a zone are left out: YY 13, XX 11"
    assert result.counted[2].startswith("28 zones without trips: 002, 003")


def test_explain_writes_a_schema_that_reads_back(polygons: Path, tmp_path: Path) -> None:
    """A schema that means something else than the guess would import other columns."""
    files = ZoneFiles(zones=polygons, flows=samples.write_pairs(tmp_path / "flows.csv"))
    guessed = explain_columns(files)
    (tmp_path / "schema.toml").write_text(guessed.toml(), encoding="utf-8")
    assert read_columns(tmp_path / "schema.toml") == guessed
    assert (guessed.zones.code, guessed.zones.population) == ("zone_code", "population")


def test_numbers_of_rows_are_not_taken_for_codes(tmp_path: Path) -> None:
    """Numbers from 1 on would match the numbers of trips, and every trip would be lost or misplaced."""
    features = [
        {**feature, "properties": {"fid": number + 1} | feature["properties"]}
        for number, feature in enumerate(samples.squares())
    ]
    zones = samples.write_polygons(tmp_path / "zones.geojson", features)
    rows = [f"{origin},{destination},{n},{n // 2},{n - n // 2}" for origin, destination, n in samples.pairs()]
    flows = tmp_path / "flows.csv"
    flows.write_text("\n".join(["o,d,all,bus,car", *rows]) + "\n", encoding="utf-8")
    assert explain_columns(ZoneFiles(zones=zones, flows=flows)).zones.code == "zone_code"
    assert trips_of(imported(zones, flows)) == WANTED


def test_the_schema_decides_which_column_is_the_count(polygons: Path, tmp_path: Path) -> None:
    """A column of another mode must not be counted."""
    flows = tmp_path / "flows.csv"
    flows.write_text("a,b,bus,car\n000,001,3,4\n001,000,5,6\n", encoding="utf-8")
    with pytest.raises(GeodataError, match="bus, car could each be the count"):
        imported(polygons, flows)
    schema = tmp_path / "schema.toml"
    text = '[zones]\ncode = "zone_code"\n[flows]\norigin = "b"\ndestination = "a"\ncount = "car"\n'
    schema.write_text(text, encoding="utf-8")
    assert trips_of(imported(polygons, flows, schema=schema)) == {("001", "000"): 4, ("000", "001"): 6}


def test_codes_of_any_letters_stay_different() -> None:
    """Two codes that were written alike would be one zone."""
    codes = ["Zona 1", "Zona-1", "Zona_1", "Zona~20~1", "São", "Sao", "1", "01"]
    written = [unit_id_of(code) for code in codes]
    assert len(set(written)) == len(codes)
    assert all(
        set(text) <= set("~.-_") | {c for c in text if c.isascii() and c.isalnum()} for text in written
    )


def test_projected_points_need_their_reference_system(tmp_path: Path) -> None:
    """Meters taken for degrees would be off the globe; with their system they are where the degrees are."""
    degrees = samples.write_points(tmp_path / "degrees.csv")
    frame = pandas.read_csv(degrees, dtype=str)
    points = geopandas.points_from_xy(
        frame["lon"].astype(float), frame["lat"].astype(float), crs=4326
    ).to_crs(25832)
    frame.assign(lon=points.x, lat=points.y).to_csv(tmp_path / "meters.csv", index=False)
    flows = samples.write_pairs(tmp_path / "flows.csv")
    with pytest.raises(GeodataError, match=r'crs = "EPSG:27700"'):
        imported(tmp_path / "meters.csv", flows)
    schema = tmp_path / "schema.toml"
    text = explain_columns(ZoneFiles(zones=degrees, flows=flows)).toml()
    schema.write_text(text.replace("[zones]", '[zones]\ncrs = "EPSG:25832"'), encoding="utf-8")
    ours, theirs = (
        imported(file, flows, **options).imported.tables["tracts"]
        for file, options in ((tmp_path / "meters.csv", {"schema": schema}), (degrees, {}))
    )
    assert np.allclose(ours["lon_deg"], theirs["lon_deg"], atol=1e-6)


# Files that are refused, each in one line.


def changed(number: int, **about: object) -> list[dict[str, Any]]:
    features = copy.deepcopy(samples.squares())
    features[number]["properties"] |= about
    return features


def moved(number: int, onto: int) -> list[dict[str, Any]]:
    features = copy.deepcopy(samples.squares())
    features[number]["geometry"] = features[onto]["geometry"]
    return features


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (changed(4, zone_code="003"), "the code '003' is repeated"),
        (changed(4, zone_code="Total"), "'Total' is a total among the zones"),
        (changed(4, zone_code=" "), "is blank"),
        (changed(4, population="many"), "population is 'many'"),
        (moved(4, 9), "zones overlap: 004 and 009 share 100%"),
    ],
)
def test_bad_zones_are_refused(features: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    """Zones that are repeated, totals, or overlap would count people twice."""
    zones = samples.write_polygons(tmp_path / "zones.geojson", features)
    with pytest.raises(GeodataError, match=message) as refused:
        imported(zones, samples.write_pairs(tmp_path / "flows.csv"))
    assert "\n" not in str(refused.value)


def rows(*more: tuple[str, str, object]) -> list[tuple[str, str, object]]:
    return [*samples.pairs(), *more]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (rows(("0", "001", 1), ("1", "2", 1)), "differ from those of the zones by leading zeros or case"),
        (rows(("Total", "001", 1)), "'Total' is a total among the origins"),
        (rows(("000", "All", 1)), "'All' is a total among the destinations"),
        (rows(("000", "001", -1)), "count is negative"),
        (rows(("000", "001", 1.5)), "often weights"),
        (rows(("000", "001", "")), "count is blank"),
    ],
)
def test_bad_flows_are_refused(
    listed: list[tuple[str, str, object]], message: str, polygons: Path, tmp_path: Path
) -> None:
    """Codes spelled differently would be lost, totals counted twice, and weights taken for people."""
    with pytest.raises(GeodataError, match=message) as refused:
        imported(polygons, samples.write_pairs(tmp_path / "flows.csv", listed))
    assert "\n" not in str(refused.value)


def test_a_confidential_origin_is_never_quoted(polygons: Path, tmp_path: Path) -> None:
    """A message that quotes the code of an origin would say where somebody lives."""
    flows = samples.write_pairs(tmp_path / "flows.csv", rows(("17", "001", 1)))
    with pytest.raises(GeodataError) as refused:
        imported(polygons, flows)
    assert "17" not in str(refused.value).replace(str(flows), "")
    with pytest.raises(GeodataError, match="such as '17' for '017'"):
        imported(polygons, flows, is_published=True)


def test_published_weights_can_be_rounded(polygons: Path, tmp_path: Path) -> None:
    """Rounding must say how many counts it changed."""
    flows = samples.write_pairs(tmp_path / "flows.csv", [("000", "001", 2.6), ("001", "000", 3)])
    result = imported(polygons, flows, is_published=True, rounded=True)
    assert trips_of(result) == {("000", "001"): 3, ("001", "000"): 3}
    assert "1 counts were rounded" in result.counted


def test_places_with_exchanged_coordinates_are_refused(tmp_path: Path) -> None:
    """Longitudes and latitudes that are exchanged would put the zones into the sea."""
    zones = samples.write_points(tmp_path / "zones.csv", exchanged=True)
    flows = samples.write_pairs(tmp_path / "flows.csv")
    with pytest.raises(GeodataError, match="at sea, and would be on land"):
        imported(zones, flows)


def test_a_matrix_with_other_labels_is_refused(polygons: Path, tmp_path: Path) -> None:
    """A matrix of other zones would be read as numbers of nobody knows whom."""
    matrix = samples.write_matrix(tmp_path / "matrix.csv")
    matrix.write_text(matrix.read_text().replace("from,000,", "from,Total,", 1))
    with pytest.raises(GeodataError, match="'Total' is a total among the destinations"):
        imported(polygons, matrix)
    named = ",".join(f"zone{n}" for n in range(30))
    matrix.write_text("\n".join([f"from,{named}", *matrix.read_text().splitlines()[1:]]) + "\n")
    with pytest.raises(GeodataError, match="columns hold codes of the zones"):
        imported(polygons, matrix)


# Real files.


def require_real(names: tuple[str, str]) -> tuple[Path, Path]:
    zones, flows = (SHARED / name for name in names)
    if not (zones.exists() and flows.exists()):
        pytest.skip("the files of other countries are absent")
    return zones, flows


def test_leeds_keeps_every_commuter() -> None:
    """Points and a count column among modes: all 236,326 commuters between 107 zones are there."""
    result = imported(*require_real(LEEDS))
    assert result.imported.facts["n_jobs"] == 236_326
    assert (~result.imported.tables["tracts"]["elsewhere"]).sum() == 107
    assert result.counted == ()


def test_three_districts_of_the_kingdom_have_no_polygon() -> None:
    """Their residents come from elsewhere, and trips to them are left out, both counted."""
    result = imported(*require_real(KINGDOM))
    assert result.imported.facts["n_jobs"] == 27_141_142 - 454_097
    assert (~result.imported.tables["tracts"]["elsewhere"]).sum() == 328
    assert "to 3 places without a zone are left out: E06000023 250,215" in result.counted[1]
