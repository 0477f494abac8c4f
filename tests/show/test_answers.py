"""Answers with shapes in every format, hostile names, and what is left of an export that was ended."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow.parquet
import pytest
import shapely

from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.commands.cli import run
from mapapp.question.filters import Filters
from mapapp.show.exports.answers import SHAPED, SUFFIXES, answer_layer, write_answers
from mapapp.show.exports.gdal_files import MAX_TEXT_BYTES, write_gpkg, write_shapefiles
from mapapp.show.exports.layer import Layer, fields_of, in_parts, safe_name, short_names
from mapapp.show.exports.provenance import Provenance
from mapapp.show.exports.spreadsheet import write_workbook
from mapapp.show.exports.text_files import write_csv, write_geojson, write_kml
from tests.commands.running import refused
from tests.releases import write_release
from tests.show import reading

HOSTILE = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    'O\'Brien "the\\third" <b>&amp;</b> ../../etc/passwd',
    "Québec – 東京 🏙️",
    "bell\x07 and \x00 nothing",
    "",
    "ü" * 300,
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("square") / "r", n_pairs=400))


@pytest.fixture(scope="module")
def hostile() -> Layer:
    frame = pandas.DataFrame({"unit_id": [f"{at:05d}" for at in range(len(HOSTILE))], "name": HOSTILE})
    frame = frame.assign(workers=range(len(HOSTILE)), share=[0.5, np.nan] * 5, partly=[True, False] * 5)
    shapes = [shapely.box(at, 0, at + 1, 1) for at in range(len(HOSTILE) - 1)] + [None]
    return Layer(
        name="names",
        title="<names> & 'quotes'",
        geometry="MultiPolygon",
        fields=fields_of(frame),
        n_rows=len(frame),
        parts=lambda: in_parts(frame, shapes, rows=3),
    )


@pytest.fixture(scope="module")
def source(release: Release) -> Provenance:
    return Provenance.of(release.store)


def written(release: Release, results: list[Any], form: str, folder: Path, name: str = "answer") -> Path:
    file = folder / f"{name}{SUFFIXES[form]}"
    write_answers(release, results, form, file)
    return file


def rows_of(form: str, file: Path, layer: str) -> list[dict[str, Any]]:
    if form == "gpkg":
        return reading.gpkg_rows(file, layer)
    if form == "shp":
        return reading.shapefile_rows(file, layer)[0]
    if form == "kml":
        return [dict(fields) for fields, _ in reading.kml_rows(file).get(layer, [])]
    if form == "geoparquet":
        rows = pyarrow.parquet.read_table(file).drop(["geometry"]).to_pylist()
        return list(rows)
    return [each["properties"] for each in json.loads(file.read_text(encoding="utf-8"))["features"]]


@pytest.mark.parametrize("form", SHAPED)
def test_numbers_are_those_of_the_query(form: str, release: Release, tmp_path: Path) -> None:
    answer = release.with_errors(release.destinations("county:10001", layer="tract"), 5)
    found = rows_of(form, written(release, [answer], form, tmp_path), "destinations")
    assert len(found) == len(answer.units)
    for row, wanted in zip(found, answer.units.to_dict("records"), strict=True):
        assert row["unit_id"] == wanted["unit_id"]
        assert int(row["workers"]) == wanted["workers"]
        assert float(row["share"]) == pytest.approx(wanted["share"])
        error = row.get("expected_error")
        assert (error in (None, "")) == pandas.isna(wanted["expected_error"])


@pytest.mark.parametrize("form", SHAPED)
def test_flows_are_lines(form: str, release: Release, tmp_path: Path) -> None:
    answer = release.flow_matrix("county", "county")
    file = written(release, [answer], form, tmp_path)
    found = rows_of(form, file, "flow_matrix")
    assert [int(row["workers"]) for row in found] == answer.cells["workers"].tolist()
    if form == "shp":
        shapes = reading.shapefile_rows(file, "flow_matrix")[1]
        assert {shape.shapeTypeName for shape in shapes} <= {"POLYLINE", "NULL"}


@pytest.mark.parametrize("form", SHAPED)
@pytest.mark.parametrize("area", ["block:100010000000001", "all", "county:11001"])
def test_one_block_and_the_whole_country(form: str, area: str, release: Release, tmp_path: Path) -> None:
    """The last area has no workplaces: nobody works there, which is an answer too."""
    answer = release.profile(area)
    (row,) = rows_of(form, written(release, [answer], form, tmp_path), "profile")
    assert int(row["workers"]) == answer.workers.value
    nobody = release.destinations(area, Filters(age=(1,), earnings=(2,), industry=(3,)), layer="county")
    found = rows_of(form, written(release, [nobody], form, tmp_path, "second"), "destinations")
    assert sum(int(row["workers"]) for row in found) == nobody.workers.value


@pytest.mark.parametrize("form", SHAPED)
def test_an_answer_without_rows(form: str, release: Release, tmp_path: Path) -> None:
    answer = release.flow_matrix("county", "county", home_area="county:10001", work_area="county:11001")
    assert len(answer.cells) == 0
    assert rows_of(form, written(release, [answer], form, tmp_path), "flow_matrix") == []


def test_nothing_asked_and_changes_are_refused(release: Release) -> None:
    from mapapp.answers.analyses.change import change

    with pytest.raises(UsageError, match="nothing to write"):
        answer_layer(release, [])
    with pytest.raises(UsageError, match="a change has no shapes"):
        answer_layer(release, [change(release.profile(), release.profile())])


def test_hostile_names_in_geojson_and_kml(hostile: Layer, source: Provenance, tmp_path: Path) -> None:
    with (tmp_path / "x.geojson").open("w", encoding="utf-8") as stream:
        write_geojson(hostile, source, stream)
    found = json.loads((tmp_path / "x.geojson").read_text(encoding="utf-8"))["features"]
    assert [each["properties"]["name"] for each in found] == list(HOSTILE)
    with (tmp_path / "x.kml").open("w", encoding="utf-8") as stream:
        write_kml([hostile], source, stream)
    shown = [fields["name"] for fields, _ in reading.kml_rows(tmp_path / "x.kml")["names"]]
    assert shown[:4] == list(HOSTILE[:4])
    assert shown[5:7] == list(HOSTILE[5:7])
    assert shown[7] == "bell� and � nothing"


def test_hostile_names_in_geopackage_and_shapefile(
    hostile: Layer, source: Provenance, tmp_path: Path
) -> None:
    write_gpkg([hostile], source, tmp_path / "x.gpkg")
    found = [row["name"] for row in reading.gpkg_rows(tmp_path / "x.gpkg", "names")]
    assert found[:7] == list(HOSTILE[:7])
    assert found[8:] == list(HOSTILE[8:])
    write_shapefiles([hostile], source, tmp_path / "x.zip", readme="")
    rows, shapes = reading.shapefile_rows(tmp_path / "x.zip", "names")
    assert [row["name"] for row in rows][5:7] == list(HOSTILE[5:7])
    longest = rows[-1]["name"]
    assert set(longest) == {"ü"}
    assert len(longest.encode()) == MAX_TEXT_BYTES
    assert shapes[-1].shapeTypeName == "NULL"
    assert [row["share"] for row in rows][:2] == [0.5, None]
    assert [row["partly"] for row in rows][:2] == [1, 0]


def test_no_name_is_computed_by_a_spreadsheet(hostile: Layer, source: Provenance, tmp_path: Path) -> None:
    with (tmp_path / "x.csv").open("w", encoding="utf-8", newline="") as stream:
        write_csv(hostile, stream)
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as stream:
        cells = [row["name"] for row in csv.DictReader(stream)]
    assert [cell[0] for cell in cells[:5]] == ["'"] * 5
    assert cells[5:7] == list(HOSTILE[5:7])
    clean = pandas.DataFrame({"name": [text.replace("\x07", "").replace("\x00", "") for text in HOSTILE]})
    layer = Layer(
        name="n", title="n", geometry="Point", fields={"name": "text"}, n_rows=10,
        parts=lambda: in_parts(clean, [None] * 10),
    )  # fmt: skip
    write_workbook([layer], source, ["=1+1"], tmp_path / "x.xlsx")
    found = [row["name"] or "" for row in reading.xlsx_rows(tmp_path / "x.xlsx", "n")]
    assert found == clean["name"].tolist()
    assert reading.xlsx_rows(tmp_path / "x.xlsx", "provenance")


def test_names_of_files_and_fields() -> None:
    assert safe_name("../..\\Ré gion/*?\x00") == "re-gion"
    assert safe_name("東京") == "release"
    assert len(safe_name("x" * 500)) == 60
    names = short_names(
        ["expected_error", "workers_industry_3", "long_field_one", "long_field_two", "naïve é"]
    )
    assert list(names.values()) == ["EXP_ERROR", "W_IND_3", "LONG_FIELD", "LONG_FIE_2", "NAIVE_E"]


def test_every_format_of_the_command(release: Release, tmp_path: Path) -> None:
    path, digest = str(release.store.path), Provenance.of(release.store).release_sha256
    for name in ("a.gpkg", "a.zip", "a.kml", "a.geojson", "a.xlsx", "a.csv", "a.json"):
        arguments = ["analyze", path, "--layer", "county", "-o", str(tmp_path / name), "-q"]
        assert run(arguments) == 0
    assert {row["unit_id"] for row in rows_of("gpkg", tmp_path / "a.gpkg", "destinations")} >= {"10001"}
    assert digest in (tmp_path / "a.csv-metadata.json").read_text(encoding="utf-8")
    assert (
        json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["sources"][0]["release_sha256"]
        == digest
    )
    assert digest in {
        cell for row in reading.xlsx_rows(tmp_path / "a.xlsx", "provenance") for cell in row.values()
    }
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        assert digest in packed.read("README.txt").decode()
    asked = ("analyze", path, "--analysis", "destinations")
    assert "--format gpkg needs a file" in refused(*asked, "--format", "gpkg")
    assert "kml holds one release, not 2" in refused("analyze", path, *asked[1:], "-o", tmp_path / "b.kml")
    assert "already exists" in refused(*asked, "-o", tmp_path / "a.gpkg")


CODE = """
import os, signal, sys
import mapapp.base.progress as progress
from contextlib import contextmanager
@contextmanager
def shown(*, quiet=False):
    def report(stage, done, total):
        if stage.startswith("writing") and done:
            os.kill(os.getpid(), signal.SIGKILL)
    yield report
progress.show_progress = shown
from mapapp.commands.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("form", ["lodes", "gpkg", "shp", "points"])
def test_a_killed_export_leaves_nothing_under_its_name(form: str, demo_release: Path, tmp_path: Path) -> None:
    target = tmp_path / {"gpkg": "x.gpkg", "shp": "x.zip"}.get(form, "x")
    arguments = ["export", str(demo_release), str(target), "--to", form]
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, timeout=240)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not target.exists()
    left = {entry.name for entry in tmp_path.iterdir()}
    assert len(left) == 2, "a hidden folder and its lock, which the next run removes"
    assert all(name.startswith(f".{target.name}.") for name in left)
    assert run([*arguments, "-q"]) == 0
    assert list(tmp_path.iterdir()) == [target]
