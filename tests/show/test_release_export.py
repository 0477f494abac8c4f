"""A whole release in every format: reopened with another library, it has the numbers of the query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest
import shapely

from geodata.store.manifest import MANIFEST
from geodata.store.store import sha256_of
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.question.fields import Side
from mapapp.show.exports.release_export import FORMS, ONE_FILE, Form, With, export_release
from mapapp.show.exports.release_layers import BAND_FIELDS, UNIT_FIELDS
from tests.commands.running import refused
from tests.releases import write_release
from tests.show import reading

LAYERED: tuple[Form, ...] = ("gpkg", "shp", "kml", "geojson", "csv", "xlsx")


@pytest.fixture(scope="module")
def exported(demo_release: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("exports")
    for form in LAYERED:
        export_release(demo_release, form, home / form, layers=["county", "stplc"])
    return {form: home / form for form in LAYERED}


@pytest.fixture(scope="module", params=["county", "stplc"])
def expected(request: Any, demo_release: Path) -> tuple[str, dict[str, dict[str, Any]]]:
    """Layer, and its rows by identifier, as the query has them."""
    release = Release.open(demo_release)
    rows: dict[str, dict[str, Any]] = {}
    ends: tuple[tuple[Side, str], ...] = (("work", "workers"), ("home", "residents"))
    for side, end in ends:
        for row in release.comparison(side=side, layer=request.param).units.to_dict("records"):
            found = rows.setdefault(row["unit_id"], {name: row[name] for name in ("unit_id", "name", "kind")})
            found[end] = row["workers"]
            found |= {f"{end}_{band}": row[band] for band in BAND_FIELDS}
    return request.param, rows


def read(form: str, folder: Path, layer: str) -> list[dict[str, Any]]:
    if form == "gpkg":
        (file,) = folder.glob("*.gpkg")
        return reading.gpkg_rows(file, layer)
    if form == "shp":
        (file,) = folder.glob("*.zip")
        return reading.shapefile_rows(file, layer)[0]
    if form == "kml":
        (file,) = folder.glob("*.kml")
        return [dict(fields) for fields, _ in reading.kml_rows(file)[layer]]
    if form == "geojson":
        document = json.loads((folder / f"{layer}.geojson").read_text(encoding="utf-8"))
        return [feature["properties"] for feature in document["features"]]
    if form == "csv":
        frame = pandas.read_csv(folder / f"{layer}.csv", dtype=str, keep_default_na=False)
        return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    (file,) = folder.glob("*.xlsx")
    return reading.xlsx_rows(file, layer)


@pytest.mark.parametrize("form", LAYERED)
def test_numbers_are_those_of_the_query(
    form: str, exported: dict[str, Path], expected: tuple[str, dict[str, dict[str, Any]]]
) -> None:
    layer, rows = expected
    found = read(form, exported[form], layer)
    assert len(found) == len(rows)
    for row in found:
        for name, value in rows[row["unit_id"] or ""].items():
            assert (
                str(row[name] or "") == str(value or "")
                if name == "unit_id"
                else str(row[name]) == str(value)
            )
    assert sum(int(row["workers"]) for row in found) == sum(row["workers"] for row in rows.values())


@pytest.mark.parametrize("form", FORMS)
def test_every_export_says_where_it_comes_from(form: Form, demo_release: Path, tmp_path: Path) -> None:
    export_release(demo_release, form, tmp_path / "x")
    about = json.loads((tmp_path / "x" / "provenance.json").read_text(encoding="utf-8"))
    assert about["release_sha256"] == sha256_of(demo_release / MANIFEST)
    assert about["certificate_sha256"] == sha256_of(demo_release / "certificate.json")
    assert about["vintage_blocks"] == "generated"
    assert about["status"] == "not for release"
    readme = (tmp_path / "x" / "README.txt").read_text(encoding="utf-8")
    assert about["release_sha256"] in readme
    assert about["digest_note"] in readme
    assert "are bound by this digest alone" in readme
    assert about["certificate_sha256"] in readme


@pytest.mark.parametrize("form", ONE_FILE)
def test_one_file_carries_where_it_comes_from_in_itself(
    form: Form, demo_release: Path, tmp_path: Path
) -> None:
    file = tmp_path / f"x{ONE_FILE[form]}"
    export_release(demo_release, form, file, layers=["county"])
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]
    digest = sha256_of(demo_release / MANIFEST)
    if form == "gpkg":
        assert reading.gpkg_about(file)["release_sha256"] == digest
    elif form == "xlsx":
        rows = reading.xlsx_rows(file, "provenance")
        assert digest in {str(value) for row in rows for value in row.values()}
    elif form == "shp":
        import zipfile

        with zipfile.ZipFile(file) as packed:
            assert json.loads(packed.read("provenance.json"))["release_sha256"] == digest
    else:
        assert digest in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_the_same_release_gives_the_same_bytes(form: Form, demo_release: Path, tmp_path: Path) -> None:
    more: Sequence[With] = (
        ("points", "flows", "basemap") if form in ("gpkg", "shp", "kml", "geojson", "csv") else ()
    )
    for name in ("a", "b"):
        export_release(demo_release, form, tmp_path / name, layers=["county"], more=more)
    a, b = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "ab")
    assert a == b


def test_geojson_follows_its_standard(exported: dict[str, Path]) -> None:
    document = json.loads((exported["geojson"] / "county.geojson").read_text(encoding="utf-8"))
    assert document["type"] == "FeatureCollection"
    assert "crs" not in document
    assert document["commutemap"]["layer"] == "county"
    for feature in document["features"]:
        shape = feature["geometry"]
        if feature["properties"]["kind"] != "unit":
            assert shape is None
            continue
        assert shapely.is_valid(shapely.geometry.shape(shape))
        polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
        for outer, *holes in polygons:
            assert shapely.is_ccw(shapely.LinearRing(outer))
            assert not any(shapely.is_ccw(shapely.LinearRing(hole)) for hole in holes)


def test_shapes_are_those_of_the_release(demo_release: Path, exported: dict[str, Path]) -> None:
    outlines = Release.open(demo_release).outlines.of_layer("county")
    (file,) = exported["shp"].glob("*.zip")
    rows, shapes = reading.shapefile_rows(file, "county")
    for row, shape in zip(rows, shapes, strict=True):
        if row["kind"] == "unit":
            assert shapely.geometry.shape(shape.__geo_interface__).equals(outlines[row["unit_id"]])
        else:
            assert shape.shapeTypeName == "NULL"
    (file,) = exported["kml"].glob("*.kml")
    for fields, shape in reading.kml_rows(file)["county"]:
        assert (shape is None) == (fields["kind"] != "unit")


def test_a_point_for_each_worker_and_a_line_for_each_pair(demo_release: Path, tmp_path: Path) -> None:
    export_release(demo_release, "gpkg", tmp_path / "x.gpkg", layers=["state"], more=["points", "flows"])
    store = Release.open(demo_release).store
    points, jobs = store.table("points"), store.table("jobs")
    homes = reading.gpkg_rows(tmp_path / "x.gpkg", "points_home")
    assert len(homes) == len(points) == len(reading.gpkg_rows(tmp_path / "x.gpkg", "points_work"))
    assert sum(row["geom"] is None for row in homes) == points["home_lon_deg"].isna().sum()
    flows = reading.gpkg_rows(tmp_path / "x.gpkg", "flows")
    assert len(flows) == len(jobs.drop_duplicates(["destination_index", "origin_index"]))
    for name in ("age", "earnings", "industry"):
        for band in (1, 2, 3):
            assert sum(row[f"{name}_{band}"] for row in flows) == jobs["count"][jobs[name] == band].sum()


@pytest.mark.parametrize("form", LAYERED)
def test_the_base_map_as_layers(form: Form, demo_release: Path, tmp_path: Path) -> None:
    export_release(demo_release, form, tmp_path / form, layers=["state"], more=["basemap"])
    store = Release.open(demo_release).store
    for name in ("water", "roads", "rails", "landmarks"):
        table = store.table(name)
        rows = read(form, tmp_path / form, name)
        assert [row["name"] for row in rows] == table["name"].tolist()
    if form == "gpkg":
        (file,) = (tmp_path / form).glob("*.gpkg")
        ranks = [row["rank"] for row in reading.gpkg_rows(file, "roads")]
        assert ranks == store.table("roads")["rank"].tolist()


def test_a_release_without_a_base_map_has_no_layers_of_it(tmp_path: Path) -> None:
    release = write_release(tmp_path / "r", n_pairs=50)
    export_release(release, "csv", tmp_path / "x", layers=["state"], more=["basemap"])
    assert {file.name for file in (tmp_path / "x").glob("*.csv")} == {"state.csv"}


def test_points_as_text(demo_release: Path, tmp_path: Path) -> None:
    export_release(demo_release, "points", tmp_path / "x")
    found = pandas.read_csv(tmp_path / "x" / "points.csv.gz", dtype={"work_block": str, "home_block": str})
    points = Release.open(demo_release).store.table("points")
    assert len(found) == len(points)
    for name in ("home_lon_deg", "home_lat_deg", "work_lon_deg", "work_lat_deg"):
        assert (found[name].isna() == points[name].isna()).all()
        assert (found[name] - points[name]).abs().max() < 1e-5
    assert set(found["home_block"].str.len()) == {2, 15}
    segment = (found["age"] - 1) * 9 + (found["earnings"] - 1) * 3 + found["industry"] - 1
    assert (segment == points["segment"]).all()


def test_layers_go_by_everyday_words(demo_release: Path, tmp_path: Path) -> None:
    """Words that `analyze --layer` takes and `export --layer` refuses, and a layer that is written twice."""
    words = ["towns", "Cities", "place", "counties", "usual"]
    export_release(demo_release, "csv", tmp_path / "x", layers=words)
    usual = Release.open(demo_release).areas.usual.of("work")
    expected = {f"{level}.csv" for level in ("ctycsub", "stplc", "county", usual)}
    assert {file.name for file in (tmp_path / "x").glob("*.csv")} == expected


def test_every_layer_and_single_blocks(demo_release: Path, tmp_path: Path) -> None:
    export_release(demo_release, "geojson", tmp_path / "x", layers=["all", "block"])
    release = Release.open(demo_release)
    names = {file.stem for file in (tmp_path / "x").glob("*.geojson")}
    assert names == {*release.areas.columns, "block"}
    blocks = json.loads((tmp_path / "x" / "block.geojson").read_text(encoding="utf-8"))["features"]
    assert len(blocks) == len(release.store.table("blocks"))
    assert UNIT_FIELDS.keys() == blocks[0]["properties"].keys()


def test_what_does_not_fit_is_refused(demo_release: Path, demo_dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "x"
    assert "this is a dataset" in refused("export", demo_dataset, out, "--to", "csv")
    assert "layer 'galaxy'" in refused("export", demo_release, out, "--to", "csv", "--layer", "galaxy")
    assert "no such folder" in refused("export", demo_release, tmp_path / "a" / "b", "--to", "csv")
    assert "already exists" in refused("export", demo_release, tmp_path, "--to", "csv")
    assert "--layer and --with" in refused("export", demo_release, out, "--to", "lodes", "--layer", "tract")
    for name in ("x.parquet", "x.shp", "x.kml"):
        said = refused("export", demo_release, tmp_path / name, "--to", "gpkg")
        assert (
            f"--to gpkg does not write {name[1:]}; name a folder, or a file name that ends in .gpkg" in said
        )
    assert "--date applies only to" in refused(
        "export", demo_release, out, "--to", "csv", "--date", "2020-01-01"
    )
    assert "write csv or gpkg" in refused("export", demo_release, out, "--to", "xlsx", "--with", "flows")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_cancelled_export_leaves_nothing(form: Form, demo_release: Path, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def report(stage: str, done: int, total: int) -> None:
        if stage.startswith("writing") and done:
            raise Stop

    with pytest.raises(Stop):
        export_release(demo_release, form, tmp_path / "x", layers=["county"], report=report)
    assert list(tmp_path.iterdir()) == []


def test_a_form_that_is_none(demo_release: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--to dxf: choose lodes, gpkg"):
        export_release(demo_release, "dxf", tmp_path / "x")  # type: ignore[arg-type]  # wrong on purpose
