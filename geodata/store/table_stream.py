"""Tables too large for memory: written row group by row group, and read back a part at a time.

Before compression, homes and 64-bit integers are delta encoded, and floats split by byte: they become smaller than
with a dictionary, and are written and read faster. So do all integers of a table with keys, which are constant,
ascending, or small within a row group. (Splitting integers by byte is better still, but DuckDB 1.4 cannot
read it.) All other integers repeat so often that LZ4 alone does nearly as well as a dictionary or deltas, in half the
time. Text keeps its dictionaries. Numbers are compressed by LZ4, text and shapes by zstd: numbers are hardly smaller
with zstd, and take half as long again to write.

Columns of numbers are required: a column that may lack values stores for each of them whether it is there. A
coordinate that is missing is NaN.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.parquet

from geodata.store.schema import CRS, Table

ROW_GROUP_ROWS: Final = 262_144
"""Most rows of a row group. Larger groups are not cheaper to write, and let a query skip less."""

Column: TypeAlias = npt.NDArray[np.generic] | pyarrow.Array
Columns: TypeAlias = Mapping[str, Column]
"""Columns of a table, all of one length, by name."""

_SYNC_BYTES: Final = 128 << 20
_WHOLE: Final = "destination_index"  # a row group ends at the end of a destination
_DELTA: Final = "origin_index"  # rises within a destination and segment by ever different steps
_GEOMETRY: Final = "geometry"
_ZSTD_LEVEL: Final = 1


class TableStream:
    """Writes one table of a store as rows arrive.

    The file depends on the rows alone, not on how they were divided into calls of `write`.

    Parameters
    ----------
    file : Path or BytesIO
        The Parquet file to write, or a buffer for its bytes.
    table : Table
        Its place in the schema.
    disk : Executor
        Runs the syncing of the growing file, so that the disk works while rows are made.
    """

    def __init__(self, file: Path | io.BytesIO, table: Table, disk: Executor) -> None:
        self.rows = 0
        self._file = file
        self._table = table
        self._disk = disk
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._held: list[pyarrow.Table] = []
        self._n_held = 0
        self._synced_bytes = 0
        self._syncing: Future[None] | None = None

    def write(self, rows: pandas.DataFrame | Columns) -> None:
        """Append rows.

        Parameters
        ----------
        rows : DataFrame, GeoDataFrame, or dict of str to array
            A frame is cast to the schema's types. In a dict every column is a NumPy or pyarrow array of exactly its
            type, and is not copied; geometry is a pyarrow array of WKB (EPSG:4326), null where geometry is missing.
            The first call decides which further columns an open-ended table has.

        Raises
        ------
        AssertionError
            If columns or types are not those of the schema.
        """
        part = self._as_arrow(rows)
        self.rows += part.num_rows
        self._held.append(part)
        self._n_held += part.num_rows
        if self._table.keys:
            self._write_whole_keys()
            return
        while self._n_held > ROW_GROUP_ROWS:
            self._write_group(self._whole_rows())

    def close(self) -> None:
        """Write the remaining rows and the file's footer."""
        writer = self._open_writer({})
        if self._n_held:
            self._write_group(self._n_held)
        writer.close()
        if self._syncing is not None:
            self._syncing.result()  # a disk reports an error once

    def abandon(self) -> None:
        """Close the file after a failure; the owner of the directory removes it."""
        self._held.clear()
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()

    def _as_arrow(self, rows: pandas.DataFrame | Columns) -> pyarrow.Table:
        if isinstance(rows, Mapping):
            columns = {name: pyarrow.array(values) for name, values in rows.items()}
            extra = check_columns(self._table, list(columns))
            return self._from_arrays(columns, self._open_writer(_dtypes(self._table, extra)).schema)
        frame = conform_frame(self._table, rows)
        extra = check_columns(self._table, list(frame.columns))
        writer = self._open_writer({name: str(frame[name].dtype) for name in extra})
        plain = frame.drop(columns=_GEOMETRY) if self._table.geometry else frame
        columns = {str(name): _as_arrow(plain[name]) for name in plain}
        if self._table.geometry:
            columns[_GEOMETRY] = pyarrow.array(frame.geometry.to_wkb().to_numpy(), pyarrow.binary())
        return self._from_arrays(columns, writer.schema)

    def _from_arrays(self, columns: dict[str, pyarrow.Array], schema: pyarrow.Schema) -> pyarrow.Table:
        wrong = [
            f"{field.name} {columns[field.name].type}, must be {field.type}"
            for field in schema
            if columns[field.name].type != field.type
        ]
        if wrong:
            raise AssertionError(f"table {self._table.name}: {'; '.join(wrong)}")
        return pyarrow.table([columns[field.name] for field in schema], schema=schema)

    def _open_writer(self, extra: dict[str, str]) -> pyarrow.parquet.ParquetWriter:
        """The writer; the first call opens it for the schema's columns and `extra` ones, a dtype by name."""
        if self._writer is None:
            schema = _schema(self._table, extra)
            self._writer = pyarrow.parquet.ParquetWriter(
                self._file, schema, **_compressions(schema), **_encodings(schema, self._table)
            )
        return self._writer

    def _whole_rows(self) -> int:
        """Number of rows of the next row group: as many complete destinations as fit."""
        if _WHOLE not in self._table.columns:
            return ROW_GROUP_ROWS
        held = pyarrow.concat_tables(self._held).slice(0, ROW_GROUP_ROWS + 1)
        ends = np.flatnonzero(np.diff(held[_WHOLE].to_numpy()))
        return int(ends[-1]) + 1 if ends.size else ROW_GROUP_ROWS

    def _write_whole_keys(self) -> None:
        """Write each key that is complete as a row group; rows of the last key may still follow."""
        held = pyarrow.concat_tables(self._held)
        changes = [np.flatnonzero(np.diff(held[name].to_numpy())) + 1 for name in self._table.keys]
        for n_rows in np.diff(np.unique(np.concatenate([[0], *changes]))).tolist():
            self._write_group(n_rows)

    def _write_group(self, n_rows: int) -> None:
        """Write the first rows held as one row group."""
        held = pyarrow.concat_tables(self._held)
        # In one piece; otherwise the pages would depend on how the rows had been divided.
        group = held.slice(0, n_rows).combine_chunks()
        self._open_writer({}).write_table(group, row_group_size=max(n_rows, 1))
        rest = held.slice(n_rows)
        self._held, self._n_held = ([rest] if rest.num_rows else []), rest.num_rows
        self._sync_now_and_then()

    def _sync_now_and_then(self) -> None:
        if isinstance(self._file, io.BytesIO) or (self._syncing is not None and not self._syncing.done()):
            return
        size = self._file.stat().st_size
        if size - self._synced_bytes >= _SYNC_BYTES:
            self._synced_bytes = size
            self._syncing = self._disk.submit(sync, self._file)


def check_columns(table: Table, names: list[str]) -> list[str]:
    """Columns beyond the schema's; AssertionError if a column is missing or not allowed."""
    wanted = [*table.columns, *([_GEOMETRY] if table.geometry else [])]
    missing = [name for name in wanted if name not in names]
    extra = [name for name in names if name not in wanted]
    if missing or not all(map(table.allows, extra)):
        raise AssertionError(f"table {table.name}: missing columns {missing}, unknown columns {extra}")
    return extra


def conform_frame(table: Table, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return a frame with its columns in the schema's order and of the schema's types."""
    extra = check_columns(table, list(frame.columns))
    if table.geometry and frame.crs is not None and frame.crs.to_epsg() != 4326:
        raise AssertionError(f"table {table.name}: geometry in {frame.crs}, must be {CRS}")
    order = [*table.columns, *extra, *([_GEOMETRY] if table.geometry else [])]
    return frame[order].astype(table.columns | _dtypes(table, extra))


def _dtypes(table: Table, extra: list[str]) -> dict[str, str]:
    """Dtype of each further column of a table, by name."""
    return {} if table.further is None else dict.fromkeys(extra, table.further.dtype)


def make_empty_table(table: Table) -> pandas.DataFrame:
    """Return a table of the schema without rows: a GeoDataFrame if it has geometry, else a DataFrame."""
    return _make_empty_table(table, table.columns)


def row_ptr(file: Path | io.BytesIO) -> npt.NDArray[np.int64]:
    """First row of every row group of a Parquet file, and the number of rows: int64[groups + 1]."""
    facts = pyarrow.parquet.read_metadata(file)
    return _row_ptr(facts)


def group_keys(file: Path | io.BytesIO, keys: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the values of the key columns in every row group of a Parquet file, by its footer: int64[groups, keys].

    Raises
    ------
    ValueError
        If a row group has several keys, or a key has several row groups, or they are not sorted.
    """
    facts = pyarrow.parquet.read_metadata(file)
    places = [facts.schema.names.index(name) for name in keys]
    keys_of_groups = np.empty((facts.num_row_groups, len(keys)), dtype=np.int64)
    for group in range(facts.num_row_groups):
        row_group = facts.row_group(group)
        for at, place in enumerate(places):
            stated = row_group.column(place).statistics
            if stated is None or not stated.has_min_max or stated.min != stated.max:
                raise ValueError(f"row group {group} has several values of {keys[at]!r}")
            keys_of_groups[group, at] = stated.min
    order = np.lexsort(keys_of_groups.T[::-1])
    if not np.array_equal(order, np.arange(len(keys_of_groups))) or len(
        np.unique(keys_of_groups, axis=0)
    ) < len(keys_of_groups):
        raise ValueError(f"row groups are not in the order of {', '.join(keys)}")
    return keys_of_groups


def read_batches(file: Path | io.BytesIO, columns: list[str] | None) -> Iterator[pyarrow.Table]:
    """Yield the row groups of a Parquet file one after the other, as pyarrow tables."""
    with pyarrow.parquet.ParquetFile(file) as source:
        for group in range(source.num_row_groups):
            yield source.read_row_group(group, columns=columns, use_threads=False)


def read_slice(
    file: Path | io.BytesIO, start_row: int, stop_row: int, columns: list[str] | None
) -> dict[str, npt.NDArray[np.generic]]:
    """Read some rows of a Parquet file: dict of column name to NumPy array.

    Only the row groups that hold them are read, on this thread alone and without Python's lock, so that several
    threads can read several parts. Text and WKB become object arrays.
    """
    with pyarrow.parquet.ParquetFile(file) as source:
        ptr = _row_ptr(source.metadata)
        if not 0 <= start_row <= stop_row <= ptr[-1]:
            raise IndexError(f"{file}: rows {start_row} to {stop_row} of {ptr[-1]}")
        first = int(np.searchsorted(ptr, start_row, side="right")) - 1
        end = int(np.searchsorted(ptr, stop_row, side="left"))
        rows = source.read_row_groups(list(range(first, max(end, first))), columns=columns, use_threads=False)
        rows = rows.slice(start_row - int(ptr[first]), stop_row - start_row)
        return {name: _as_numpy(rows[name]) for name in rows.column_names}


def sync(path: Path) -> None:
    """Wait until a file or directory is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _row_ptr(facts: pyarrow.parquet.FileMetaData) -> npt.NDArray[np.int64]:
    rows = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    return np.append(0, np.cumsum(rows, dtype=np.int64)).astype(np.int64)


def _as_numpy(column: pyarrow.ChunkedArray) -> npt.NDArray[np.generic]:
    values: npt.NDArray[np.generic]
    values = column.chunk(0).to_numpy(zero_copy_only=False) if column.num_chunks == 1 else column.to_numpy()
    return values


def _schema(table: Table, extra: dict[str, str]) -> pyarrow.Schema:
    """Arrow schema of a table, with the metadata from which pandas and geopandas restore their types."""
    frame = _make_empty_table(table, table.columns | extra)
    if not table.geometry:
        schema = pyarrow.Schema.from_pandas(frame, preserve_index=False)
    else:
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        schema = pyarrow.parquet.read_schema(buffer)
    fields = [field.with_nullable(not _is_number(field)) for field in schema]
    return pyarrow.schema(fields, schema.metadata)


def _is_number(field: pyarrow.Field) -> bool:
    return bool(pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type))


def _as_arrow(column: pandas.Series) -> pyarrow.Array:
    """A column of a frame; in numbers NaN stays NaN, and is not a missing value."""
    if column.dtype.kind in "iuf":
        return pyarrow.array(column.to_numpy())
    return pyarrow.array(column, from_pandas=True)


def _make_empty_table(table: Table, dtypes: dict[str, str]) -> pandas.DataFrame:
    frame = pandas.DataFrame({name: pandas.Series([], dtype=dtype) for name, dtype in dtypes.items()})  # type: ignore[call-overload,unused-ignore]  # the types come from a table
    if not table.geometry:
        return frame
    import geopandas  # not at the top: a synthesis does not need it

    shapes: pandas.DataFrame = geopandas.GeoDataFrame(frame, geometry=[], crs=CRS)
    return shapes


def _compressions(schema: pyarrow.Schema) -> dict[str, object]:
    compression = {field.name: "lz4" if _is_number(field) else "zstd" for field in schema}
    level = {name: _ZSTD_LEVEL for name, codec in compression.items() if codec == "zstd"}
    return {"compression": compression, "compression_level": level or None}


def _encodings(schema: pyarrow.Schema, table: Table) -> dict[str, object]:
    encoding = {}
    dictionary = []
    for field in schema:
        if field.name == _GEOMETRY:
            encoding[field.name] = "PLAIN"
        elif pyarrow.types.is_floating(field.type):
            encoding[field.name] = "BYTE_STREAM_SPLIT"
        elif field.name == _DELTA or table.keys or field.type == pyarrow.int64():
            encoding[field.name] = "DELTA_BINARY_PACKED"
        elif pyarrow.types.is_integer(field.type) or pyarrow.types.is_boolean(field.type):
            encoding[field.name] = "PLAIN"
        else:
            dictionary.append(field.name)
    return {"use_dictionary": dictionary or False, "column_encoding": encoding}
