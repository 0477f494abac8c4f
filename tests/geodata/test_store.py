"""A store appears whole or not at all, and its reader says what is wrong in one line."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
import shapely

from geodata.errors import StoreError
from geodata.store.atomic_writes import partial_name
from geodata.store.schema import (
    BASE_TABLES,
    BLOCKS,
    COUNTIES,
    GEOGRAPHY,
    IDENTIFIER,
    JOBS,
    LANDMARKS,
    POINTS,
    PUMAS,
    ROADS,
    STATES,
    SUPERPUMAS,
    TABLE_CELLS,
    TABLES,
    TRACTS,
    WORKERS,
    StoreKind,
    Table,
)
from geodata.store.store import open_store, write_store
from geodata.store.table_stream import ROW_GROUP_ROWS, TableStream
from geodata.workers.schema import Attribute
from tests.tables import write_table


def empty(table: Table) -> pandas.DataFrame:
    frame = pandas.DataFrame({name: pandas.Series([], dtype=kind) for name, kind in table.columns.items()})
    return geopandas.GeoDataFrame(frame, geometry=[], crs="EPSG:4326") if table.geometry else frame


def filled(table: Table, n_rows: int) -> pandas.DataFrame:
    """Rows that say nothing but which they are: empty text, first positions, no shapes."""
    text = {
        name: [""] * n_rows if kind == "str" else np.zeros(n_rows) for name, kind in table.columns.items()
    }
    frame = pandas.DataFrame(text).astype(table.columns)
    if table.name in IDENTIFIER:
        frame[IDENTIFIER[table.name]] = [f"{row}" for row in range(n_rows)]
    if not table.geometry:
        return frame
    shapeless: pandas.DataFrame = geopandas.GeoDataFrame(frame, geometry=[None] * n_rows, crs="EPSG:4326")
    return shapeless


def ground(n_blocks: int) -> dict[str, list[Any]]:
    """Blocks for positions to name, in one tract of one county."""
    return {
        table.name: [filled(table, n_blocks if table is BLOCKS else 1)]
        for table in (BLOCKS, TRACTS, PUMAS, SUPERPUMAS, COUNTIES, STATES)
    }


def write(path: Path, kind: StoreKind = "dataset") -> Path:
    with write_store(path, kind) as writer:
        for table in TABLES[kind]:
            writer.table(table.name, empty(table))
        writer.facts(title="Nowhere", year=2019)
    return path


def refused(path: Path, kind: StoreKind = "dataset") -> str:
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


def write_with_roads(path: Path, *, rank: int = 1) -> Path:
    line = shapely.LineString([(-71, 41), (-71.5, 41.5)])
    roads = {"name": ["I- 95"], "rank": np.array([rank], np.int8), "geometry": [line]}
    with write_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            writer.table(table.name, empty(table))
        writer.table("roads", geopandas.GeoDataFrame(roads, crs="EPSG:4326"))
    return path


def test_a_store_without_a_base_map_has_empty_base_tables(tmp_path: Path) -> None:
    store = open_store(write(tmp_path / "d"), "dataset")
    for table in BASE_TABLES:
        assert not store.has_table(table.name)
        frame = store.table(table.name)
        assert len(frame) == 0
        assert list(frame.columns) == [*table.columns, *(["geometry"] if table.geometry else [])]
    assert store.table("water").crs.to_epsg() == 4326
    assert list(store.table("landmarks", ["name", "lon_deg"]).columns) == ["name", "lon_deg"]


def test_a_store_may_have_some_base_tables(tmp_path: Path) -> None:
    store = open_store(write_with_roads(tmp_path / "d"), "dataset")
    assert store.has_table(ROADS.name)
    assert not store.has_table(LANDMARKS.name)
    assert store.table("roads").geometry.iloc[0].geom_type == "LineString"
    with write_store(tmp_path / "copy", "dataset") as writer:
        for table in (*TABLES["dataset"], ROADS):
            writer.copy_table(store, table.name)
    assert (tmp_path / "copy/roads.parquet").read_bytes() == (tmp_path / "d/roads.parquet").read_bytes()


def test_a_base_table_that_does_not_follow_the_schema_is_refused(tmp_path: Path) -> None:
    assert "column 'rank' holds 3" in refused(write_with_roads(tmp_path / "d", rank=3))


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


@pytest.mark.parametrize("wanted", ["dataset", "release"])
def test_a_table_is_neither_a_dataset_nor_a_release(tmp_path: Path, wanted: StoreKind) -> None:
    assert "this is a table, but a " + wanted in refused(write(tmp_path / "t", "table"), wanted)


def test_other_stores_are_not_tables(tmp_path: Path) -> None:
    assert "commutemap table" in refused(write(tmp_path / "d"), "table")
    assert "this is a release, but a table" in refused(write(tmp_path / "r", "release"), "table")


def test_a_table_holds_its_counts_and_the_geography_of_its_source(tmp_path: Path) -> None:
    source = write(tmp_path / "d")
    table = open_store(write_table(tmp_path / "t", source), "table")
    assert len(table.table("table_cells")) == 0
    written = {f"{each.name}.parquet" for each in TABLES["table"]} | {"certificate.json"}
    assert set(table.manifest["files"]) == written
    assert all(
        table.manifest["files"][f"{each.name}.parquet"]["sha256"]
        == open_store(source, "dataset").manifest["files"][f"{each.name}.parquet"]["sha256"]
        for each in GEOGRAPHY
    )


def test_a_count_below_the_mark_of_suppression_is_refused(tmp_path: Path) -> None:
    row = filled(TABLE_CELLS, 1).assign(value=-2)
    with write_store(tmp_path / "t", "table") as writer:
        for each in TABLES["table"]:
            writer.table(each.name, row if each is TABLE_CELLS else empty(each))
    assert "-2" in refused(tmp_path / "t", "table")


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
        write_store(tmp_path / "d", "dataset") as writer,
    ):
        writer.table("jobs", empty(JOBS).assign(more=1))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_being_written_is_not_written_over(tmp_path: Path) -> None:
    place = tmp_path / "twice.release"
    partial_name(place).mkdir()  # of a killed run
    with write_store(place, "release") as writer:
        with pytest.raises(StoreError, match="already being written"), write_store(place, "release"):
            pass
        for table in TABLES["release"]:
            writer.table(table.name, empty(table))
    open_store(place, "release")
    assert [entry.name for entry in tmp_path.iterdir()] == [place.name]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write here"):
        write(tmp_path / "file" / "d")


N_BLOCKS = 14_000  # more than any of these jobs names


def some_jobs(n_rows: int, *, mean_size: int = 40) -> pandas.DataFrame:
    rng = np.random.default_rng(1)
    destination = np.sort(rng.integers(0, max(n_rows // mean_size, 1), n_rows))
    columns = {"destination_index": destination, "origin_index": rng.integers(0, 9_000, n_rows)}
    columns |= {name: rng.integers(1, 4, n_rows) for name in ("age", "earnings", "industry")}
    return pandas.DataFrame(columns | {"count": np.ones(n_rows, np.int64)}).astype(JOBS.columns)


def write_streamed(path: Path, rows: dict[str, list[Any]]) -> Path:
    with write_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            with writer.stream(table.name) as stream:
                for part in rows.get(table.name, []):
                    stream.write(part)
    return path


def test_a_streamed_table_is_the_same_however_its_rows_were_divided(tmp_path: Path) -> None:
    jobs = some_jobs(ROW_GROUP_ROWS * 2 + 17)
    as_arrays = {name: jobs[name].to_numpy() for name in jobs}
    cuts = [0, 1, 300_001, 300_001, len(jobs)]
    parts = [jobs.iloc[start:stop] for start, stop in pairwise(cuts)]
    with write_store(tmp_path / "whole", "dataset") as writer:
        for table in TABLES["dataset"]:
            (frame,) = ({"jobs": [jobs]} | ground(N_BLOCKS)).get(table.name, [empty(table)])
            writer.table(table.name, frame)
    write_streamed(tmp_path / "arrays", {"jobs": [as_arrays]} | ground(N_BLOCKS))
    write_streamed(tmp_path / "parts", {"jobs": parts} | ground(N_BLOCKS))
    stores = [open_store(tmp_path / name, "dataset") for name in ("whole", "arrays", "parts")]
    assert len({store.manifest["files"]["jobs.parquet"]["sha256"] for store in stores}) == 1
    pandas.testing.assert_frame_equal(stores[0].table("jobs"), jobs)
    assert stores[0].manifest["files"]["jobs.parquet"]["rows"] == len(jobs)


def test_numbers_are_required_and_quickly_compressed_and_a_missing_place_stays_nan(tmp_path: Path) -> None:
    points = filled(POINTS, 3)
    points["home_lon_deg"] = np.array([np.nan, 1, 2], dtype=np.float32)
    as_arrays = {str(name): points[name].to_numpy() for name in points}
    files = []
    for name, rows in (("frame", points), ("arrays", as_arrays)):
        files.append(tmp_path / name)
        with ThreadPoolExecutor(max_workers=1) as disk:
            stream = TableStream(files[-1], POINTS, disk)
            stream.write(rows)
            stream.close()
    assert files[0].read_bytes() == files[1].read_bytes()
    facts = pyarrow.parquet.read_metadata(files[0])
    columns = [facts.row_group(0).column(position) for position in range(facts.num_columns)]
    assert {column.compression for column in columns} == {"LZ4"}
    assert {column.statistics.null_count for column in columns} == {0}
    encodings = {column.path_in_schema: set(column.encodings) - {"RLE"} for column in columns}
    assert encodings["destination_index"] == encodings["segment"] == {"PLAIN"}
    assert encodings["origin_index"] == {"DELTA_BINARY_PACKED"}
    assert encodings["home_lon_deg"] == {"BYTE_STREAM_SPLIT"}
    assert not any(field.nullable for field in pyarrow.parquet.read_schema(files[0]))
    pandas.testing.assert_frame_equal(pandas.read_parquet(files[0]), points)


def test_text_is_compressed_well_and_may_be_missing(tmp_path: Path) -> None:
    path = write_streamed(tmp_path / "d", {"jobs": [some_jobs(10)]} | ground(N_BLOCKS))
    facts = pyarrow.parquet.read_metadata(path / "blocks.parquet")
    columns = [facts.row_group(0).column(position) for position in range(facts.num_columns)]
    by_name = {column.path_in_schema: column.compression for column in columns}
    assert (by_name["block_id"], by_name["population"]) == ("ZSTD", "LZ4")
    assert pyarrow.parquet.read_schema(path / "blocks.parquet").field("block_id").nullable


def test_row_groups_hold_whole_destinations(tmp_path: Path) -> None:
    jobs = some_jobs(ROW_GROUP_ROWS * 2)
    store = open_store(write_streamed(tmp_path / "d", {"jobs": [jobs]} | ground(N_BLOCKS)), "dataset")
    ptr = store.row_ptr("jobs")
    assert ptr[0] == 0
    assert ptr[-1] == len(jobs)
    assert np.diff(ptr).max() <= ROW_GROUP_ROWS
    assert len(ptr) == 4
    destination = jobs["destination_index"].to_numpy()
    assert (destination[ptr[1:-1]] > destination[ptr[1:-1] - 1]).all()
    groups = list(store.batches("jobs", ["destination_index", "count"]))
    assert [group.num_rows for group in groups] == np.diff(ptr).tolist()
    assert (np.concatenate([group["destination_index"].to_numpy() for group in groups]) == destination).all()


def test_a_destination_larger_than_a_row_group_is_cut(tmp_path: Path) -> None:
    jobs = some_jobs(ROW_GROUP_ROWS + 5, mean_size=ROW_GROUP_ROWS * 2)
    store = open_store(write_streamed(tmp_path / "d", {"jobs": [jobs]} | ground(N_BLOCKS)), "dataset")
    assert store.row_ptr("jobs").tolist() == [0, ROW_GROUP_ROWS, len(jobs)]


@pytest.mark.parametrize(
    ("start", "stop"),
    [(0, 0), (0, 9), (ROW_GROUP_ROWS - 40, ROW_GROUP_ROWS + 40), (400_000, 400_003), (524_288, 524_288)],
)
def test_a_slice_is_those_rows(tmp_path: Path, start: int, stop: int) -> None:
    jobs = some_jobs(ROW_GROUP_ROWS * 2)
    store = open_store(write_streamed(tmp_path / "d", {"jobs": [jobs]} | ground(N_BLOCKS)), "dataset")
    found = store.slice("jobs", start, stop)
    assert list(found) == list(JOBS.columns)
    for name, values in found.items():
        assert values.dtype == JOBS.columns[name]
        assert (values == jobs[name].to_numpy()[start:stop]).all()
    assert list(store.slice("jobs", start, stop, ["count"])) == ["count"]
    with pytest.raises(IndexError, match="of 524288"):
        store.slice("jobs", start, len(jobs) + 1)


def test_streamed_geometry_is_read_by_geopandas(tmp_path: Path) -> None:
    squares = shapely.box(np.arange(5.0), 40.0, np.arange(5.0) + 1, 41.0)
    frame = geopandas.GeoDataFrame({"block_index": np.arange(5)}, geometry=squares, crs="EPSG:4326")
    as_arrays = {
        "block_index": np.arange(5, 10, dtype=np.int32),
        "geometry": pyarrow.array(shapely.to_wkb(squares), pyarrow.binary()),
    }
    state = empty(STATES)
    away: Any = {"state_id": "", "name": "Away", "population": 1, "elsewhere": True} | dict.fromkeys(
        ["lon_deg", "lat_deg"], 1.5
    )
    state.loc[0] = away
    store = open_store(
        write_streamed(tmp_path / "d", ground(10) | {"cells": [frame, as_arrays], "states": [state]}),
        "dataset",
    )
    cells = store.table("cells")
    assert cells.crs.to_epsg() == 4326
    assert cells["block_index"].tolist() == list(range(10))
    assert shapely.equals(cells.geometry.to_numpy(), np.tile(squares, 2)).all()
    assert store.table("states").geometry.isna().all()
    assert store.slice("cells", 9, 10)["geometry"][0] == shapely.to_wkb(squares[4])


def test_further_columns_are_those_of_the_first_rows(tmp_path: Path) -> None:
    blocks = filled(BLOCKS, 1).assign(layer_bgrp="12")
    store = open_store(write_streamed(tmp_path / "d", ground(0) | {"blocks": [blocks]}), "dataset")
    assert store.table("blocks")["layer_bgrp"].tolist() == ["12"]
    with pytest.raises(AssertionError, match="unknown columns"):
        write_streamed(tmp_path / "e", {"jobs": [some_jobs(3).assign(more=1)]})


def test_arrays_of_another_type_are_refused(tmp_path: Path) -> None:
    columns = {name: some_jobs(3)[name].to_numpy() for name in JOBS.columns}
    with pytest.raises(AssertionError, match="count int64, must be int32"):
        write_streamed(tmp_path / "d", {"jobs": [columns | {"count": np.ones(3, np.int64)}]})
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_was_stopped_leaves_nothing(tmp_path: Path) -> None:
    def stopped() -> Iterator[pandas.DataFrame]:
        yield some_jobs(ROW_GROUP_ROWS * 2)
        assert any(entry.name == "jobs.parquet" for entry in tmp_path.rglob("*"))
        raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        write_store(tmp_path / "d", "dataset") as writer,
        writer.stream("jobs") as stream,
    ):
        stream_all(stream, stopped())
    assert list(tmp_path.iterdir()) == []


def stream_all(stream: TableStream, parts: Iterator[pandas.DataFrame]) -> None:
    for part in parts:
        stream.write(part)


def worker_store(path: Path, codes: list[int]) -> Path:
    sex = Attribute(name="sex", title="Sex", codes=("1", "2"), labels=("Male", "Female"))
    workers = filled(WORKERS, len(codes)).assign(age=1, earnings=1, industry=1, sex=codes)
    with write_store(path, "dataset") as writer:
        writer.facts(title="Nowhere", worker_attributes=[sex.as_fact()])
        land = ground(1)
        for table in TABLES["dataset"]:
            writer.table(table.name, land[table.name][0] if table.name in land else empty(table))
        writer.table("workers", workers)
    return path


def test_workers_have_the_columns_that_the_manifest_lists(tmp_path: Path) -> None:
    store = open_store(worker_store(tmp_path / "d", [0, 1, 1]), "dataset")
    workers = store.table("workers")
    assert list(workers.columns) == [*WORKERS.columns, "sex"]
    assert str(workers["sex"].dtype) == "int16"
    assert not open_store(write(tmp_path / "without"), "dataset").has_table("workers")


def test_a_code_of_a_worker_beyond_its_values_is_refused(tmp_path: Path) -> None:
    assert "column 'sex' holds 2, which is not in 0 to 1" in refused(worker_store(tmp_path / "d", [0, 2]))
