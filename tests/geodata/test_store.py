"""A store appears whole or not at all, and its reader says what is wrong in one line."""

import json
import os
from pathlib import Path

import geopandas
import pandas
import pytest

from geodata.errors import StoreError
from geodata.schema import JOBS, TABLES, Table
from geodata.store import open_store, remove_stale_partials, writing_store


def empty(table: Table) -> pandas.DataFrame:
    frame = pandas.DataFrame({name: pandas.Series([], dtype=kind) for name, kind in table.columns.items()})
    return geopandas.GeoDataFrame(frame, geometry=[], crs="EPSG:4326") if table.geometry else frame


def write(path: Path, kind: str = "dataset") -> Path:
    with writing_store(path, kind) as writer:
        for table in TABLES[kind]:
            writer.table(table.name, empty(table))
        writer.facts(title="Nowhere", year=2019)
    return path


def refused(path: Path, kind: str = "dataset") -> str:
    with pytest.raises(StoreError) as caught:
        open_store(path, kind)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_round_trip(tmp_path: Path) -> None:
    store = open_store(write(tmp_path / "d"), "dataset")
    assert store.manifest["title"] == "Nowhere"
    assert list(store.table("jobs").columns) == list(JOBS.columns)
    assert store.table("tracts").crs.to_epsg() == 4326
    assert [entry.name for entry in tmp_path.iterdir()] == ["d"]


def test_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b")
    assert (tmp_path / "a/manifest.json").read_bytes() == (tmp_path / "b/manifest.json").read_bytes()


def test_an_altered_file_is_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    with (path / "jobs.parquet").open("ab") as stream:
        stream.write(b"x")
    assert "jobs.parquet" in refused(path)
    assert "sha256 differs" in refused(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    (path / "cells.parquet").unlink()
    assert "cells.parquet" in refused(path)


def test_a_stray_file_is_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    (path / "confidential.csv").write_text("1")
    assert "confidential.csv" in refused(path)


def test_the_ledger_may_grow_in_a_dataset_and_is_refused_in_a_release(tmp_path: Path) -> None:
    (write(tmp_path / "d") / "ledger.jsonl").write_text("{}\n")
    open_store(tmp_path / "d", "dataset")
    (write(tmp_path / "r", "release") / "ledger.jsonl").write_text("{}\n")
    assert "ledger.jsonl" in refused(tmp_path / "r", "release")


def test_a_dataset_is_not_a_release(tmp_path: Path) -> None:
    message = refused(write(tmp_path / "d"), "release")
    assert "confidential" in message
    assert "synthesize" in message


@pytest.mark.parametrize("content", ["", "[]", "{", '{"kind": "dataset"}', "\x00"])
def test_a_broken_manifest_is_refused(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "d")
    (path / "manifest.json").write_text(content)
    assert "manifest.json" in refused(path)


def test_a_manifest_cannot_point_outside(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"]["../outside"] = {"sha256": "0", "bytes": 0}
    (path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "outside").write_text("")
    assert "../outside" in refused(path)


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    manifest = json.loads((path / "manifest.json").read_text()) | {"schema_version": 99}
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert "schema version 99" in refused(path)


def test_missing_and_foreign_directories(tmp_path: Path) -> None:
    assert "no such directory" in refused(tmp_path / "nowhere")
    assert "no manifest.json" in refused(tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "d")
    before = (path / "manifest.json").read_bytes()
    with pytest.raises(StoreError, match="already exists"):
        write(path)
    assert (path / "manifest.json").read_bytes() == before


def test_an_error_half_way_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="unknown columns"),
        writing_store(tmp_path / "d", "dataset") as writer,
    ):
        writer.table("jobs", empty(JOBS).assign(more=1))
    assert list(tmp_path.iterdir()) == []


def test_partials_of_dead_processes_are_removed_and_of_live_ones_kept(tmp_path: Path) -> None:
    dead = tmp_path / ".d.partial-999999999"
    live = tmp_path / f".d.partial-{os.getppid()}"
    other = tmp_path / ".e.partial-999999999"
    for place in (dead, live, other):
        place.mkdir()
    remove_stale_partials(tmp_path / "d")
    assert not dead.exists()
    assert live.exists()
    assert other.exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write here"):
        write(tmp_path / "file" / "d")
