"""Text that a table, schema, or option cannot hold is refused in one line; none is an internal error."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from geodata.errors import GeodataError, GeometryError, SourceFileError, SourceRowError, StoreError
from geodata.importing.importing import import_dataset
from geodata.sources.boundaries import read_boundaries
from geodata.sources.crosswalk import read_crosswalks
from geodata.sources.lodes import read_od
from geodata.sources.population import read_population
from geodata.sources.reading import read_header
from geodata.sources.recognize import sources_in
from geodata.store.store import refuse_existing
from geodata.text import parse_toml
from geodata.workers.columns import read_worker_columns
from geodata.workers.file import WorkerFile
from tests.geodata import samples
from tests.geodata.worker_samples import SCHEMA, write_schema

NOT_UTF8 = "caf\udce9"


def refused(action: Callable[[], object], kind: type[GeodataError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.fixture
def crosswalk(tmp_path: Path) -> Path:
    return samples.write_sources(tmp_path / "files") / "ri_xwalk.csv.gz"


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("tabblk2020", ("tabblk2010 and tabblk2020", "remove one")),
        ("block_id", ("'block_id' cannot be a layer", "rename")),
        ("tract", ("'tract' cannot be a layer", "rename")),
        ("geometry", ("'geometry' cannot be a layer", "rename")),
        ("", ("'' cannot be a layer", "rename")),
        ("a b", ("'a b' cannot be a layer", "rename")),
        ("stcd118", ("stcd116 and stcd118", "remove one")),
    ],
)
def test_a_column_of_a_crosswalk_that_is_no_layer(crosswalk: Path, new: str, words: tuple[str, ...]) -> None:
    samples.replace_text(crosswalk, ",createdate", f",{new}")
    refused(lambda: read_crosswalks([crosswalk]), SourceFileError, str(crosswalk), *words)


@pytest.mark.parametrize(("layer", "code"), [("zcta", "2903"), ("bgrp", "90110010001"), ("stplc", "900135")])
def test_a_code_that_has_lost_its_zero(crosswalk: Path, layer: str, code: str) -> None:
    header, first, *others = samples.read_text(crosswalk).splitlines()
    row = next(csv.reader([first]))
    row[header.split(",").index(layer)] = code
    first = ",".join(f'"{cell}"' for cell in row)
    samples.write_text(crosswalk, "\n".join([header, first, *others]) + "\n")
    refused(
        lambda: read_crosswalks([crosswalk]), SourceRowError, f"line 2: {layer} is '{code}'", "leading zeros"
    )


@pytest.mark.parametrize("cell", ["0x1", "0X1"])
def test_hexadecimal_is_no_count(tmp_path: Path, cell: str) -> None:
    files = samples.write_sources(tmp_path / "files")
    path = files / "ri_od_main_JT00_2019.csv.gz"
    first = f"{samples.block_id(samples.RI_TRACTS[0], 0)},{samples.block_id(samples.RI_TRACTS[0], 0)}"
    samples.replace_text(path, f"{first},1,", f"{first},{cell},")
    refused(lambda: read_od(path), SourceRowError, "line 2: S000 is not a number")
    people = tmp_path / "people.csv"
    people.write_text(f"block,population\n440010101001000,{cell}\n")
    refused(lambda: read_population([people]), SourceRowError, "line 2: population is not a number")


def test_a_name_of_a_column_that_is_too_long_for_a_field(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"tabblk2010,{'x' * 140_000}\n1,2\n")
    refused(lambda: read_crosswalks([path]), SourceFileError, str(path), "comma-separated")


def test_old_line_ends_within_a_header(tmp_path: Path) -> None:
    path = tmp_path / "mac.csv"
    path.write_bytes(b"tabblk2010,st\r440010101001000,44\r")
    refused(lambda: read_crosswalks([path]), SourceFileError, str(path))
    assert read_header(path) == []


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 3000 + "]" * 3000, ".".join("a" * 3000) + " = 1", "x = " + "9" * 5000],
    ids=["lists", "tables", "digits"],
)
def test_toml_that_is_nested_too_deep_or_too_long(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        parse_toml(text)
    refused(lambda: read_worker_columns(write_schema(tmp_path, text)), SourceFileError, "not TOML")


def test_a_unit_of_a_place_that_is_no_text(tmp_path: Path) -> None:
    text = SCHEMA.replace('column = "h_block"', 'column = "h_block"\nunit = { a = 1 }')
    refused(lambda: read_worker_columns(write_schema(tmp_path, text)), SourceFileError, "home.unit is")


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([[1], [2]]),
        pyarrow.array([{"a": 1}, {"a": 2}]),
        pyarrow.array([b"\xff", b"a"]),
        pyarrow.array([[1.0]] * 2, pyarrow.list_(pyarrow.float64(), 1)),
    ],
    ids=["list", "struct", "bytes", "fixed"],
)
def test_parquet_columns_that_hold_more_than_a_cell(tmp_path: Path, column: pyarrow.Array) -> None:
    path = tmp_path / "workers.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"age": column}), path)
    refused(lambda: WorkerFile.of(path, ["age"]), SourceFileError, str(path), "'age' is of type")


_SQUARE = "[[[-71.5,41.6],[-71.4,41.6],[-71.4,41.7],[-71.5,41.6]]]"


def _geojson(path: Path, *features: tuple[str, str]) -> Path:
    listed = ",".join(
        f'{{"type":"Feature","properties":{{"GEOID":{unit}}},"geometry":{{"type":"Polygon","coordinates":{shape}}}}}'
        for unit, shape in features
    )
    path.write_text(f'{{"type":"FeatureCollection","features":[{listed}]}}')
    return path


_FIRST = ('"44001010100"', _SQUARE)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ([("null", _SQUARE), _FIRST], "feature 1: GEOID is ''"),
        ([_FIRST, ("null", _SQUARE)], "feature 2: GEOID is ''"),
        ([("true", _SQUARE)], "feature 1: GEOID is 'True'"),
        ([("[1]", _SQUARE)], "feature 1: GEOID is"),
        ([('"44001010100"', _SQUARE.replace("41.7", "NaN"))], "a coordinate that is no number"),
        ([('"44001010100"', _SQUARE.replace("41.7", "Infinity"))], "a coordinate that is no number"),
        ([('"44001010100"', "[[[0,0],[1,1]]]")], "cannot be read as polygons"),
    ],
)
def test_geojson_without_identifiers_or_numbers(
    tmp_path: Path, features: list[tuple[str, str]], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = _geojson(tmp_path / "tracts.geojson", *features)
    with pytest.raises((GeometryError, SourceFileError)) as caught:
        read_boundaries([path], "tracts")
    assert words in str(caught.value)
    assert capfd.readouterr().err == "", "GDAL's own lines"


def test_names_and_titles_that_are_not_utf8(tmp_path: Path) -> None:
    refused(lambda: refuse_existing(tmp_path / NOT_UTF8), StoreError, "caf\\udce9: not UTF-8")
    files = samples.write_sources(tmp_path / "files")
    sources = sources_in(files)[0]
    refused(lambda: import_dataset(sources, title=NOT_UTF8), SourceFileError, "title is not UTF-8")
