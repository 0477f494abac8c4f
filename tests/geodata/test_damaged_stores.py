"""Every shape of damage to a store is refused in one line, also where the manifest was made to vouch for it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import shapely

from geodata.errors import StoreError
from geodata.store.schema import BOUNDS, IDENTIFIER, INDEX_OF, MAY_BE_NAN, TABLES, Table
from geodata.store.store import open_store
from geodata.store.table_check import check_values
from tests.releases import write_release

Damage = Callable[[Path], object]
RELEASE = TABLES["release"]
JOBS = "jobs.parquet"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("whole") / "r", n_pairs=300)


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "r"))


def vouch(store: Path) -> None:
    """Have the manifest say of every file what it is now, as somebody would who means harm."""
    manifest = json.loads((store / "manifest.json").read_text())
    for name, facts in manifest["files"].items():
        content = (store / name).read_bytes()
        facts |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        if name.endswith(".parquet"):
            try:
                facts["rows"] = pyarrow.parquet.read_metadata(store / name).num_rows
            except (pyarrow.ArrowException, OSError):
                continue
    (store / "manifest.json").write_text(json.dumps(manifest))


def refused(store: Path) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(store, "release")
    message = str(caught.value)
    assert "\n" not in message
    assert str(store) in message
    return message


def column(table: Table, name: str, values: Callable[[Any], Any]) -> Damage:
    """Another column in the place of one."""

    def damage(store: Path) -> None:
        file = store / f"{table.name}.parquet"
        rows = pyarrow.parquet.read_table(file)
        rows = rows.set_column(rows.schema.get_field_index(name), name, values(rows[name]))
        pyarrow.parquet.write_table(rows, file)
        vouch(store)

    return damage


def dropped(table: Table, name: str) -> Damage:
    def damage(store: Path) -> None:
        file = store / f"{table.name}.parquet"
        pyarrow.parquet.write_table(pyarrow.parquet.read_table(file).drop_columns([name]), file)
        vouch(store)

    return damage


def one_value(value: float) -> Callable[[Any], Any]:
    def values(column: Any) -> Any:
        found = column.to_numpy().copy()
        found[len(found) // 2] = value
        return pyarrow.array(found)

    return values


def column_damages() -> Iterator[Any]:
    for table in RELEASE:
        for name in (*table.columns, *(["geometry"] if table.geometry else [])):
            yield pytest.param(dropped(table, name), id=f"{table.name}.{name} missing")
            as_text = column(table, name, lambda found: pyarrow.array([1.5] * len(found), pyarrow.float16()))
            yield pytest.param(as_text, id=f"{table.name}.{name} of another type")
            if name != "geometry" and name not in MAY_BE_NAN:
                nulls = column(table, name, lambda found: pyarrow.nulls(len(found), found.type))
                yield pytest.param(nulls, id=f"{table.name}.{name} null")
            if name in INDEX_OF or name in BOUNDS:
                wide = not table.columns.get(name, "").startswith("int8")
                for value in (-1e6, 1e6) if wide and name not in ("population", "weight", "count") else (-7,):
                    yield pytest.param(
                        column(table, name, one_value(value)), id=f"{table.name}.{name} = {value}"
                    )
            if table.columns.get(name) == "float64":
                for value in (np.nan, np.inf):
                    yield pytest.param(
                        column(table, name, one_value(value)), id=f"{table.name}.{name} = {value}"
                    )


@pytest.mark.parametrize("damage", list(column_damages()))
def test_a_column_that_is_not_what_it_must_be(store: Path, damage: Damage) -> None:
    damage(store)
    assert ".parquet: " in refused(store)


def in_place(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        os.rename(file, file.parent.parent / "aside")
        make(file)

    return damage


def bind(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.getcwd()
        os.chdir(file.parent)  # the name of a socket must be short
        try:
            listener.bind(file.name)
        finally:
            os.chdir(before)


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json", "jobs.parquet"])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda file: file.symlink_to(file.parent.parent / "aside"), "is a symbolic link"),
        (lambda file: file.symlink_to("nowhere"), "is a symbolic link"),
        (os.mkfifo, "is a pipe"),
        (Path.mkdir, "is a folder"),
        (bind, "is a socket"),
    ],
    ids=["link", "dangling", "pipe", "folder", "socket"],
)
def test_what_is_no_regular_file(store: Path, name: str, make: Callable[[Path], object], said: str) -> None:
    in_place(make)(store / name)
    assert said in refused(store)


@pytest.mark.parametrize("content", [b"", b"P", b"PAR1PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_what_is_no_parquet(store: Path, content: bytes) -> None:
    (store / "jobs.parquet").write_bytes(content)
    vouch(store)
    assert "cannot be read as a table" in refused(store)


def set_fact(*path: str, value: Any) -> Damage:
    def damage(store: Path) -> None:
        manifest = json.loads((store / "manifest.json").read_text())
        within = manifest
        for name in path[:-1]:
            within = within[name]
        within[path[-1]] = value
        (store / "manifest.json").write_text(json.dumps(manifest))

    return damage


NO_FILE_FACTS: tuple[object, ...] = (None, 3, "text", [], {}, {"sha256": 1})
NO_TITLES: tuple[object, ...] = (3, [], "\ud800")
NO_YEARS: tuple[object, ...] = ("2019", -1, True, 10**9, [], float("nan"), float("inf"))
NO_STATES: tuple[object, ...] = (3, "10", [1], {})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *[(("files", JOBS), value) for value in NO_FILE_FACTS],
        *[
            (("files", JOBS, name), value)
            for name in ("sha256", "bytes", "rows")
            for value in (None, "x", -1)
        ],
        (("files", JOBS, "rows"), 10**9),
        (("files", JOBS, "bytes"), 1),
        *[
            (("files", name), {"sha256": "0" * 64, "bytes": 0})
            for name in ("a/b", "..", "a\0b", "", "x\n", "manifest.json")
        ],
        *[(("title",), value) for value in NO_TITLES],
        *[(("year",), value) for value in NO_YEARS],
        *[(("destination_states",), value) for value in NO_STATES],
        *[
            ((name,), 3)
            for name in ("job_type", "vintage", "layers", "sources", "last_release", "kind", "files")
        ],
        (("schema_version",), "1"),
    ],
)
def test_a_manifest_that_says_what_cannot_be(store: Path, path: tuple[str, ...], value: Any) -> None:
    set_fact(*path, value=value)(store)
    refused(store)


@pytest.mark.parametrize("name", ["manifest.json", "certificate.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b'{"a": 1, "a": 2}',
        b'{"a":' * 100_000,
    ],
)
def test_a_document_that_is_none(store: Path, name: str, content: bytes) -> None:
    (store / name).write_bytes(content)
    if name == "manifest.json":
        assert name in refused(store)
        return
    vouch(store)
    found = open_store(store, "release")
    with pytest.raises(StoreError, match=f"{name}: ") as caught:
        found.document(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["", "99", "\0"])
@pytest.mark.parametrize("table", [table for table in RELEASE if table.name in IDENTIFIER])
def test_a_unit_that_is_there_twice(store: Path, table: Table, value: str) -> None:
    name = IDENTIFIER[table.name]
    column(table, name, lambda found: pyarrow.array([value] * len(found), pyarrow.large_string()))(store)
    assert f"column '{name}' holds {value!r} more than once" in refused(store)


def test_values_that_a_footer_does_not_show_are_refused_when_they_are_read(store: Path) -> None:
    """A footer can lie: here it is that of the whole table, and a byte of the data is another."""
    file = store / "jobs.parquet"
    rows = pyarrow.parquet.read_table(file)
    honest, lying = store.parent / "honest", store.parent / "lying"
    options = {"use_dictionary": False, "compression": "none", "column_encoding": "PLAIN"}
    pyarrow.parquet.write_table(rows, honest, **options)
    content = bytearray(honest.read_bytes())
    origin = rows["origin_index"].to_numpy()
    at = bytes(content).index(origin[:20].tobytes())
    content[at : at + 4] = np.int32(10**9).tobytes()
    lying.write_bytes(content)
    os.replace(lying, file)
    vouch(store)
    found = open_store(store, "release")
    for read in (
        lambda: found.table("jobs"),
        lambda: list(found.batches("jobs")),
        lambda: found.slice("jobs", 0, 3),
    ):
        with pytest.raises(StoreError, match="column 'origin_index' holds 1000000000, which is not in the"):
            read()


@pytest.mark.parametrize("content", [b"junk", b"", shapely.to_wkb(shapely.Point(1, 2))[:7]])
def test_shapes_that_are_none(store: Path, content: bytes) -> None:
    tracts = RELEASE[1]
    column(tracts, "geometry", lambda found: pyarrow.array([content] * len(found), pyarrow.binary()))(store)
    found = open_store(store, "release")
    with pytest.raises(StoreError, match=r"tracts\.parquet: cannot be read as a table"):
        found.table("tracts")


def test_what_was_changed_since_it_was_opened_is_noticed(store: Path) -> None:
    found = open_store(store, "release")
    found.require_unchanged()
    jobs = store / "jobs.parquet"
    same = jobs.read_bytes()
    jobs.unlink()
    jobs.write_bytes(same)
    for digests in (True, False):
        with pytest.raises(StoreError, match=r"jobs\.parquet: was changed or replaced while it was read"):
            found.require_unchanged(digests=digests)


def test_a_position_is_below_the_number_of_rows() -> None:
    for position, is_row in ((-1, False), (0, True), (3, True), (4, False)):
        columns = {"origin_index": np.array([1, position])}
        with (
            nullcontext()
            if is_row
            else pytest.raises(StoreError, match=f"{position}, which is not in the 4 rows")
        ):
            check_values("jobs", columns, {"blocks": 4}, {})
