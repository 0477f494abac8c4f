"""Writing and reading a store: a directory of Parquet tables with a manifest that lists their checksums.

A store appears complete or not at all: it is written beside its final place under a hidden name, synced, and renamed
(see `geodata.store.atomic_writes`). A reader verifies the manifest and every checksum before it returns a table.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow.parquet

from geodata.errors import StoreError
from geodata.json_objects import JsonObject, document_text
from geodata.store.atomic_writes import Partial, name_failed_place, refuse_taken, write_beside
from geodata.store.manifest import MANIFEST, read_manifest_state
from geodata.store.regular_files import FileState, read_identity, read_object, read_state, require_regular
from geodata.store.schema import (
    CRS,
    OPTIONAL_TABLES,
    SCHEMA_VERSION,
    TABLES,
    WORKERS,
    StoreKind,
    Table,
    workers_table,
)
from geodata.store.table_check import (
    as_numpy,
    check_footer,
    check_identifiers,
    check_values,
    translate_read_errors,
)
from geodata.store.table_stream import (
    Column,
    Columns,
    TableStream,
    conform_frame,
    group_keys,
    make_empty_table,
    read_batches,
    read_slice,
    row_ptr,
    sync,
)
from geodata.workers.schema import WorkerSchema

if TYPE_CHECKING:
    import geopandas

UNVOUCHED: Final[dict[StoreKind, tuple[str, ...]]] = {
    "dataset": ("ledger.jsonl",),
    "release": (),
    "table": (),
    "records": (),
    "published": (),
}
"""Files that may change after the store is complete."""
_HASHING_THREADS = 4
_PUBLIC: Final = (0o777, 0o666)
_PERMISSIONS: Final[dict[StoreKind, tuple[int, int]]] = {
    "dataset": (0o700, 0o600),
    "release": _PUBLIC,
    "table": _PUBLIC,
    "records": _PUBLIC,
    "published": _PUBLIC,
}
"""Permissions of a store's folder and of its files. Those of a dataset, which is confidential, ignore the umask."""
_NOUNS: Final = {"published": "published counts"}
_MADE_BY: Final[dict[StoreKind, str]] = {
    "release": "commutemap synthesize {} RELEASE",
    "table": "commutemap table {} TABLE",
    "records": "commutemap records {} RECORDS",
}
"""The command that makes a publication from a dataset."""


@dataclass(frozen=True, slots=True)
class Store:
    """A verified dataset or publication on disk.

    Attributes
    ----------
    path : Path
        The directory.
    kind : {"dataset", "release", "table", "records", "published"}
        What it holds.
    manifest : dict
        The manifest as read.
    held : dict of str to bytes
        Parquet files of tables that replace those on disk, by table; see `replace_table`.
    states : dict of str to FileState
        State of the manifest and of the files that it lists when they were verified, by name; empty if they were not.
    """

    path: Path
    kind: StoreKind
    manifest: JsonObject
    held: dict[str, bytes] = field(default_factory=dict)
    states: dict[str, FileState] = field(default_factory=dict)

    def replace_table(self, name: str, rows: pandas.DataFrame, **facts: object) -> Store:
        """Return the store with other rows in one table, and more facts in its manifest; nothing on disk changes.

        Parameters
        ----------
        name : str
            A table without geometry.
        rows : DataFrame
            Its rows, with the columns of the schema. Their file is held in memory.
        **facts
            For the manifest.
        """
        buffer = io.BytesIO()
        with ThreadPoolExecutor(max_workers=1) as disk:
            stream = TableStream(buffer, self._table(name), disk)
            stream.write(rows)
            stream.close()
        content = buffer.getvalue()
        listed = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
            "rows": stream.rows,
        }
        files = {**self.manifest["files"], f"{name}.parquet": listed}
        return replace(
            self, manifest={**self.manifest, **facts, "files": files}, held={**self.held, name: content}
        )

    def add_facts(self, **facts: object) -> Store:
        """Return the store with more facts in its manifest; nothing on disk changes."""
        return replace(self, manifest={**self.manifest, **facts})

    def has_table(self, name: str) -> bool:
        """Return whether the store has a table; only those of `schema.OPTIONAL_TABLES` may be missing."""
        return f"{self._table(name).name}.parquet" in self.manifest["files"]

    def table(self, name: str, columns: list[str] | None = None) -> pandas.DataFrame:
        """Read one table: a GeoDataFrame if geometry is read, else a DataFrame.

        An optional table that the store lacks has no rows.
        """
        table = self._table(name)
        frame: pandas.DataFrame
        if not self.has_table(name):
            frame = make_empty_table(table)
            return frame if columns is None else frame[columns]
        with translate_read_errors(self.place(name)):
            if table.geometry and (columns is None or "geometry" in columns):
                frame = _read_geometry(self.file(name), columns)
            else:
                frame = pandas.read_parquet(self._content(name), columns=columns)
        self._check(name, {str(column): frame[column].to_numpy() for column in frame if column != "geometry"})
        return frame

    def batches(self, name: str, columns: list[str] | None = None) -> Iterator[pyarrow.Table]:
        """Yield a table's row groups in order, as pyarrow tables; geometry is WKB.

        A row group of `jobs` or `points` holds whole destinations.
        """
        batches = read_batches(self._content(name), columns)
        while True:
            with translate_read_errors(self.place(name)):
                batch = next(batches, None)
                if batch is None:
                    return
                self._check(name, as_numpy(batch))
            yield batch

    def slice(
        self, name: str, start_row: int, stop_row: int, columns: list[str] | None = None
    ) -> dict[str, Column]:
        """Read rows `start_row` to before `stop_row`, reading only the row groups that hold them.

        Safe and quick from several threads at once; see `row_ptr` for where to cut.

        Returns
        -------
        dict of str to ndarray
            By column; read-only where nothing had to be copied. Text and geometry (WKB) are object arrays.
        """
        with translate_read_errors(self.place(name)):
            rows = read_slice(self._content(name), start_row, stop_row, columns)
        self._check(name, rows)
        return rows

    def row_ptr(self, name: str) -> npt.NDArray[np.int64]:
        """First row of each of a table's G row groups, and the number of its rows: int64[G + 1]."""
        with translate_read_errors(self.place(name)):
            return row_ptr(self._content(name))

    def group_keys(self, name: str) -> npt.NDArray[np.int64]:
        """Key of each row group of a table with keys: int64[G, keys]; StoreError if a row group has several."""
        with translate_read_errors(self.place(name)):
            return group_keys(self._content(name), self._table(name).keys)

    def columns(self, name: str) -> list[str]:
        """Columns of a table as stored."""
        with translate_read_errors(self.place(name)):
            return list(pyarrow.parquet.read_schema(self._content(name)).names)

    def place(self, name: str) -> Path:
        """Path of a table's Parquet file, for messages; the path it would have if the table is held in memory."""
        return self.path / f"{self._table(name).name}.parquet"

    def file(self, name: str) -> Path:
        """Path of a table's Parquet file on disk; StoreError if it is no longer a regular file."""
        if name in self.held:
            raise AssertionError(f"table {name!r} is held in memory")
        require_regular(self.place(name))
        return self.place(name)

    def require_unchanged(self, *, digests: bool = True) -> None:
        """Refuse a store if any file on disk is not the one that was verified.

        Parameters
        ----------
        digests : bool
            Also read and hash every file again; otherwise only identities and times of change are compared.

        Raises
        ------
        StoreError
            A file was changed or replaced, even by one with the same content, or the store was not verified.
        """
        if not self.states:
            raise AssertionError(f"{self.path} was opened without being verified")
        with ThreadPoolExecutor(max_workers=_HASHING_THREADS) as pool:
            states = list(
                pool.map(read_state if digests else read_identity, map(self.path.joinpath, self.states))
            )
        for (name, wanted), state in zip(self.states.items(), states, strict=True):
            if state != (wanted if digests else wanted.identity):
                raise StoreError(f"{self.path / name}: was changed or replaced while it was read; run again")

    def _check(self, name: str, columns: Columns) -> None:
        check_values(self.place(name), columns, _rows(self.manifest), self._table(name).bounds)

    def _table(self, name: str) -> Table:
        return _table(self.kind, name, self.manifest)

    def copy_file(self, name: str, target: Path) -> None:
        """Copy a table's Parquet file, byte for byte."""
        if name in self.held:
            target.write_bytes(self.held[name])
        else:
            shutil.copyfile(self.file(name), target)

    def _content(self, name: str) -> Path | io.BytesIO:
        return io.BytesIO(self.held[name]) if name in self.held else self.file(name)

    def document(self, name: str) -> JsonObject:
        """Read a JSON document of the store, such as `certificate.json`; StoreError if it is not an object."""
        return read_object(self.path / name)


def open_store(path: Path, kind: StoreKind, *, verify: bool = True) -> Store:
    """Open a store and verify it.

    Parameters
    ----------
    path : Path
        The directory.
    kind : {"dataset", "release", "table", "records", "published"}
        What it must be.
    verify : bool
        Also compare the sha256 of every file with the manifest, and every table with the schema.

    Raises
    ------
    StoreError
        The message says in one line what is wrong.
    """
    manifest, state = read_manifest_state(path)
    if manifest.get("kind") != kind:
        raise StoreError(_wrong_kind(path, manifest.get("kind"), kind))
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise StoreError(
            f"{path}: schema version {manifest.get('schema_version')!r}, but this program reads "
            f"{SCHEMA_VERSION}; make the {_NOUNS.get(kind, kind)} again"
        )
    for table in TABLES[kind]:
        if f"{table.name}.parquet" not in manifest["files"]:
            raise StoreError(
                f"{path / MANIFEST}: table {table.name!r} is not listed; make the {_NOUNS.get(kind, kind)} again"
            )
    _require_listed(path, kind, manifest)
    if not verify:
        return Store(path, kind, manifest)
    return Store(path, kind, manifest, states={MANIFEST: state, **_verified_files(path, kind, manifest)})


@contextmanager
def write_store(path: Path, kind: StoreKind) -> Iterator[StoreWriter]:
    """Write a store: yield a writer, and rename the directory to its final place only after success.

    Raises
    ------
    StoreError
        The place exists, or cannot be written, for example because the disk is full; nothing is left behind.
    """
    path = Path(os.path.abspath(path))
    refuse_existing(path)
    with name_failed_place(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with write_beside(path, mode=_PERMISSIONS[kind][0]) as partial:
        with ThreadPoolExecutor(max_workers=_HASHING_THREADS) as disk:
            writer = StoreWriter(partial, kind, disk)
            yield writer
            writer.finish()
        partial.put_in_place()


def refuse_existing(path: Path) -> None:
    """Raise StoreError if nothing new may be written at a path.

    No command overwrites anything. A store holds only what its manifest lists: readers refuse anything more, and
    confidential files inside a publication would be published with it.
    """
    refuse_taken(path)
    refuse_within_store(path)


def refuse_within_store(path: Path) -> None:
    """Raise StoreError when `path` lies within a dataset or publication."""
    for folder in Path(os.path.realpath(path)).parents:
        try:
            kind = str(read_object(folder / MANIFEST)["kind"])
        except (OSError, StoreError, KeyError):
            continue
        if kind in TABLES:
            raise StoreError(
                f"{path}: lies within {_article(kind)}, which may hold nothing else; name a place beside it"
            )


class StoreWriter:
    """Writes the tables of one store into a hidden directory, and remembers the identity of every file."""

    def __init__(self, partial: Partial, kind: StoreKind, disk: Executor) -> None:
        self.directory = partial.folder
        self.kind = kind
        self._partial = partial
        self._disk = disk
        self._rows: dict[str, int] = {}
        self._listed: dict[str, JsonObject] = {}
        self._facts: JsonObject = {}

    def table(self, name: str, frame: pandas.DataFrame) -> None:
        """Write one table after checking its columns and types against the schema."""
        table = _table(self.kind, name, self._facts)
        if not table.geometry:
            with self.stream(name) as stream:
                stream.write(frame)
            return
        frame = conform_frame(table, frame)
        with self._file(f"{name}.parquet") as file:
            frame.to_parquet(file, index=False, compression="zstd")
        self._rows[name] = len(frame)

    @contextmanager
    def stream(self, name: str) -> Iterator[TableStream]:
        """Write one table as its rows arrive: yields a stream to `write` them to.

        The table counts as written only when the block ends without an error.
        """
        with self._file(f"{name}.parquet") as file:
            stream = TableStream(file, _table(self.kind, name, self._facts), self._disk)
            try:
                yield stream
                stream.close()
            except BaseException:
                stream.abandon()
                raise
        self._rows[name] = stream.rows

    def copy_table(self, source: Store, name: str) -> None:
        """Copy a table of another store byte for byte; the caller has opened and so verified that store."""
        _table(self.kind, name, self._facts)
        with self._file(f"{name}.parquet") as file:
            source.copy_file(name, file)
        self._rows[name] = source.manifest["files"][f"{name}.parquet"]["rows"]

    def share_table(self, source: Store, name: str) -> None:
        """Take a table of another store, which then is on the disk once, if the disk has links; else copy it."""
        _table(self.kind, name, self._facts)
        if self._partial.link(f"{name}.parquet", source.file(name)):
            self._rows[name] = source.manifest["files"][f"{name}.parquet"]["rows"]
        else:
            self.copy_table(source, name)

    def document(self, name: str, content: Mapping[str, object]) -> None:
        """Write a JSON document, such as `certificate.json`."""
        with self._file(name) as file:
            file.write_text(document_text(content), encoding="utf-8")

    def facts(self, **facts: object) -> None:
        """Add facts to the manifest: title, year, vintage, sources, layers, coverage and so on.

        The facts about workers' attributes are needed before `workers` is written.
        """
        self._facts.update(facts)

    def list_files(self) -> dict[str, JsonObject]:
        """Sync the files written so far, and return their entries for the manifest.

        A file must not change after it has been listed: its digest is computed once.

        Returns
        -------
        dict of str to dict
            By file name: `sha256`, `bytes` and, of a table, `rows`.
        """
        self._partial.require_own(also=UNVOUCHED[self.kind])
        known = {*self._listed, *UNVOUCHED[self.kind]}
        files = sorted(file for file in self.directory.iterdir() if file.name not in known)
        for file, digest in zip(files, self._disk.map(_synced_sha256, files), strict=True):
            self._listed[file.name] = {"sha256": digest, "bytes": file.stat().st_size}
            if file.stem in self._rows:
                self._listed[file.name]["rows"] = self._rows[file.stem]
        return dict(sorted(self._listed.items()))

    def finish(self) -> None:
        """Write the manifest last, sync everything to disk, and check that no other process wrote here."""
        missing = [table.name for table in TABLES[self.kind] if table.name not in self._rows]
        if missing:
            raise AssertionError(f"tables never written: {missing}")
        files = self.list_files()
        head = {"schema_version": SCHEMA_VERSION, "kind": self.kind}
        self.document(MANIFEST, head | self._facts | {"files": files})
        sync(self.directory / MANIFEST)
        sync(self.directory)
        self._partial.require_own(also=UNVOUCHED[self.kind])

    def _file(self, name: str) -> AbstractContextManager[Path]:
        """A new file to write, which must not change afterwards."""
        return self._partial.write_file(name, _PERMISSIONS[self.kind][1])


def sha256_of(file: Path) -> str:
    """Hexadecimal sha256 of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def store_digest(path: Path) -> str:
    """Digest that identifies a store: the sha256 of its manifest, which lists the sha256 of every other file."""
    return sha256_of(path / MANIFEST)


def _table(kind: StoreKind, name: str, facts: JsonObject) -> Table:
    for table in _tables(kind, facts):
        if table.name == name:
            return table
    raise AssertionError(f"a {kind} has no table {name!r}")


def _tables(kind: StoreKind, facts: JsonObject) -> Iterator[Table]:
    """Every table that a store with some facts must or may have."""
    for table in (*TABLES[kind], *OPTIONAL_TABLES[kind]):
        yield workers_table(WorkerSchema.from_facts(facts).stored) if table is WORKERS else table


def _wrong_kind(path: Path, kind: object, wanted: StoreKind) -> str:
    if kind == "dataset" and wanted in _MADE_BY:
        return (
            f"{path}: this is a dataset, which holds confidential counts; {_needed_words(wanted)} needed here: "
            f"make {'them' if wanted == 'records' else 'one'} with `{_MADE_BY[wanted].format(path)}`"
        )
    if kind not in TABLES:
        return f"{path / MANIFEST}: its kind is {str(kind)[:40]!r}, but must be {wanted!r}; make the {wanted} again"
    what = {"records": "these are records", "published": "these are published counts"}.get(
        str(kind), f"this is a {kind}"
    )
    return f"{path}: {what}, but {_needed_words(wanted)} needed here; check the order of the arguments"


def _article(kind: str) -> str:
    return {"records": "records", "published": "published counts"}.get(kind, f"a {kind}")


def _needed_words(kind: StoreKind) -> str:
    return {"records": "records are", "published": "published counts are"}.get(kind, f"a {kind} is")


def _rows(manifest: JsonObject) -> dict[str, int]:
    """Rows of every table of a store, by table."""
    return {
        name.removesuffix(".parquet"): facts["rows"]
        for name, facts in manifest["files"].items()
        if "rows" in facts
    }


def _require_listed(path: Path, kind: StoreKind, manifest: JsonObject) -> None:
    """Refuse a store that holds more than its manifest lists, or a link, a pipe or a folder."""
    known = {*manifest["files"], MANIFEST, *UNVOUCHED[kind]}
    for entry in sorted(path.iterdir()):
        if entry.name not in known:
            raise StoreError(
                f"{entry}: not listed in the manifest, and {_article(kind)} may hold nothing else; remove it"
            )
        require_regular(entry)


def _verified_files(path: Path, kind: StoreKind, manifest: JsonObject) -> dict[str, FileState]:
    """State of each file of a store, after checking all against the manifest and the schema."""
    listed = manifest["files"]
    with ThreadPoolExecutor(max_workers=_HASHING_THREADS) as pool:
        states = dict(zip(listed, pool.map(read_state, [path / name for name in listed]), strict=True))
    for name, state in states.items():
        if state.sha256 != listed[name]["sha256"]:
            raise StoreError(
                f"{path / name}: its sha256 differs from the manifest, so it was changed or damaged after it was "
                f"written; make the {_NOUNS.get(kind, kind)} again or restore the file"
            )
        if state.n_bytes != listed[name]["bytes"]:
            raise StoreError(
                f"{path / name}: has {state.n_bytes:,} bytes, but the manifest says {listed[name]['bytes']:,}; "
                "restore the manifest"
            )
    for table in _tables(kind, manifest):
        if f"{table.name}.parquet" in listed:
            check_footer(path / f"{table.name}.parquet", table, _rows(manifest))
    check_identifiers(path)
    return states


def _read_geometry(file: Path, columns: list[str] | None) -> geopandas.GeoDataFrame:
    """A table with its polygons; ValueError if they cannot be read or have the wrong reference system."""
    import geopandas  # not at the top: a synthesis does not need it
    from shapely.errors import ShapelyError

    try:
        frame = geopandas.read_parquet(file, columns=columns)
    except (ShapelyError, AttributeError) as error:
        raise ValueError(str(error)) from error
    if frame.crs is None or frame.crs.to_epsg() != 4326:
        raise ValueError(f"its reference system is {frame.crs}, but must be {CRS}")
    return frame


def _synced_sha256(file: Path) -> str:
    digest = sha256_of(file)
    sync(file)
    return digest
