"""Checks that a table follows the schema, by its file's footer, and that values read from it can be used.

The footer lists the columns, their types and, for each row group, the number of missing values and the least and the
greatest value. That is enough to refuse a wrong table without reading it. A footer does not show NaN; only geography
and the prior, which are small compared with `jobs` and `points`, are searched for it. A footer can be wrong, so
values read from a table are compared with the same bounds again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from geodata.errors import StoreError
from geodata.store.schema import BOUNDS, IDENTIFIER, INDEX_OF, MAY_BE_NAN, Table

_GEOMETRY: Final = "geometry"
_BINARY: Final = (pyarrow.binary(), pyarrow.large_binary())
_TYPES: Final[dict[str, tuple[pyarrow.DataType, ...]]] = {
    "str": (pyarrow.string(), pyarrow.large_string()),
    "bool": (pyarrow.bool_(),),
    "int8": (pyarrow.int8(),),
    "int16": (pyarrow.int16(),),
    "int32": (pyarrow.int32(),),
    "int64": (pyarrow.int64(),),
    "float32": (pyarrow.float32(),),
    "float64": (pyarrow.float64(),),
}


@contextmanager
def translate_read_errors(file: object) -> Iterator[None]:
    """Turn the errors that Parquet readers raise about a damaged file into one line that names the file.

    Raises
    ------
    StoreError
        Instead of their errors.
    """
    try:
        yield
    except StoreError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise StoreError(
            f"{file}: cannot be read as a table ({reason}); make the store again or restore the file"
        ) from error


def check_footer(file: Path, table: Table, rows: Mapping[str, int]) -> None:
    """Check columns, types, missing values and ranges of a table by the footer of its file.

    Parameters
    ----------
    file : Path
    table : Table
        What it must be.
    rows : mapping of str to int
        Rows of every table of the store, by table.

    Raises
    ------
    StoreError
        The message says in one line what is wrong.
    """
    with translate_read_errors(file), pyarrow.parquet.ParquetFile(file) as source:
        facts, schema = source.metadata, source.schema_arrow
        if facts.num_rows != rows[table.name]:
            raise _wrong(file, f"has {facts.num_rows:,} rows, but the manifest says {rows[table.name]:,}")
        _check_columns(file, table, schema)
        for group in range(facts.num_row_groups):
            for position in range(facts.num_columns):
                _check_chunk(file, source, group, position, rows, table.bounds)
        names = [name for name, kind in table.columns.items() if kind == "float64"]
        for batch in source.iter_batches(columns=names) if names else ():
            check_values(file, as_numpy(batch), rows, table.bounds)


def check_identifiers(folder: Path) -> None:
    """Check that no unit occurs twice.

    Raises
    ------
    StoreError
        The message names table, column and identifier.
    """
    for table, name in IDENTIFIER.items():
        file = folder / f"{table}.parquet"
        with translate_read_errors(file):
            identifiers = pyarrow.parquet.read_table(file, columns=[name])[name].combine_chunks()
            times = identifiers.value_counts() if len(identifiers.unique()) < len(identifiers) else None
        if times is not None:
            twice = next(entry["values"] for entry in times.to_pylist() if entry["counts"] > 1)
            raise _wrong(file, f"column {name!r} holds {twice!r} more than once")


def check_values(
    file: object,
    columns: Mapping[str, npt.NDArray[np.generic]],
    rows: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
) -> None:
    """Check values that were read from a table: positions refer to existing rows, and numbers are in range.

    Parameters
    ----------
    file : Path or str
        For the message.
    columns : mapping of str to ndarray
        By name; a missing value is NaN. Text and geometry are skipped.
    rows : mapping of str to int
        Rows of every table of the store, by table.
    bounds : mapping of str to tuple of int
        Of the columns that only this table has, `Table.bounds`.

    Raises
    ------
    StoreError
        The message names column and value.
    """
    for name, values in columns.items():
        if values.size and values.dtype.kind in "iuf":
            ends = (np.fmin, np.fmax) if name in MAY_BE_NAN else (np.minimum, np.maximum)
            least, greatest = (end.reduce(values) for end in ends)
            _check_range(file, name, least, greatest, rows, bounds)


def as_numpy(batch: pyarrow.Table) -> dict[str, npt.NDArray[np.generic]]:
    """The columns of a pyarrow table that hold numbers, by name."""
    return {
        name: column.to_numpy(zero_copy_only=False) if hasattr(column, "offset") else column.to_numpy()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
    }


def _check_columns(file: Path, table: Table, schema: pyarrow.Schema) -> None:
    wanted = {name: _TYPES[kind] for name, kind in table.columns.items()}
    if table.geometry:
        wanted[_GEOMETRY] = _BINARY
    names = list(schema.names)
    if len(set(names)) != len(names):
        raise _wrong(file, f"column {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    missing = [name for name in wanted if name not in names]
    if missing:
        raise _wrong(file, f"column {missing[0]!r} is missing")
    for field in schema:
        further = _TYPES[table.further.dtype] if table.further and table.allows(field.name) else ()
        allowed = wanted.get(field.name, further)
        # No program reads another column; `certify` reports it.
        if allowed and field.type not in allowed:
            raise _wrong(file, f"column {field.name!r} is {field.type}, must be {allowed[-1]}")


def _check_chunk(
    file: Path,
    source: pyarrow.parquet.ParquetFile,
    group: int,
    position: int,
    rows: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
) -> None:
    """Check one column of one row group, by its footer, or by its values if the footer has no range."""
    chunk = source.metadata.row_group(group).column(position)
    name, statistics = chunk.path_in_schema, chunk.statistics
    bounded = name in INDEX_OF or name in BOUNDS or name in bounds
    # The footer has no least value for a column of NaN alone, which some columns may be.
    if (
        statistics is None
        or not statistics.has_null_count
        or (bounded and not statistics.has_min_max and name not in MAY_BE_NAN)
    ):
        batch = source.read_row_group(group, columns=[name], use_threads=False)
        if batch[name].null_count and not _may_lack(name):
            raise _wrong(file, f"column {name!r} lacks {batch[name].null_count:,} values")
        check_values(file, as_numpy(batch), rows, bounds)
        return
    if statistics.null_count and not _may_lack(name):
        raise _wrong(file, f"column {name!r} lacks {statistics.null_count:,} values")
    if bounded and statistics.has_min_max:
        _check_range(file, name, statistics.min, statistics.max, rows, bounds)


def _may_lack(name: str) -> bool:
    return name == _GEOMETRY or name in MAY_BE_NAN


def _check_range(
    file: object,
    name: str,
    least: float,
    greatest: float,
    rows: Mapping[str, int],
    bounds: Mapping[str, tuple[int, int]],
) -> None:
    low: float
    high: float
    if name in bounds:
        low, high = bounds[name]
        where = f"{low:g} to {high:g}"
    elif name in INDEX_OF:
        low, high = 0, rows[INDEX_OF[name]] - 1
        where = f"the {rows[INDEX_OF[name]]:,} rows of {INDEX_OF[name]!r}"
    elif name in BOUNDS:
        low, high = BOUNDS[name]
        where = f"{low:g} to {high:g}"
    else:
        return
    for value in (least, greatest):
        if not low <= value <= high and not (name in MAY_BE_NAN and np.isnan(value)):
            raise _wrong(file, f"column {name!r} holds {value}, which is not in {where}")


def _wrong(file: object, what: str) -> StoreError:
    return StoreError(f"{file}: {what}; make the store again or restore the file")
