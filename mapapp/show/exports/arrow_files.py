"""Writes answers for programs that read columns: Parquet, Feather (version 2, an Arrow file), and GeoParquet.

The metadata of the schema has the origin, under the same names as in the JSON of an answer. pandas and GeoPandas read
it back from Parquet and GeoParquet as `frame.attrs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Final

import geopandas
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet

from geodata.progress import Progress, silent
from geodata.store.schema import CRS
from mapapp.answers.errors.error_marks import EXCEEDS_COLUMN, mark_exceeding
from mapapp.base.errors import UsageError
from mapapp.show.exports.layer import ARROW, NOTHING, Kind, Layer, arrow_column, fields_of
from mapapp.show.exports.provenance import Provenance

TABLES: Final = ("parquet", "feather")
"""Formats of tables without shapes."""
_ATTRIBUTES: Final = "PANDAS_ATTRS"
"""The field of a schema's metadata from which pandas reads `DataFrame.attrs`."""


def write_tables(
    tables: Iterable[pandas.DataFrame], form: str, stream: IO[bytes], sources: Sequence[Provenance]
) -> None:
    """Write tables with the same columns, one below the other, as they come; the same tables give the same bytes.

    Parameters
    ----------
    tables : iterable of DataFrame
    form : {"parquet", "feather"}
    stream : file of bytes
    sources : sequence of Provenance
        Of the releases that the tables come from.

    Raises
    ------
    UsageError
        If there is no table, because the area has no unit of the layer.
    """
    parts = map(mark_exceeding, tables)
    first = next(parts, None)
    if first is None:
        raise UsageError(NOTHING)
    kinds = _kinds(first)
    schema = pyarrow.schema([(name, ARROW[kind]) for name, kind in kinds.items()]).with_metadata(
        {_ATTRIBUTES: json.dumps(_origin(sources), ensure_ascii=False)}
    )
    with (
        pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd")
        if form == "parquet"
        else pyarrow.ipc.new_file(stream, schema, options=pyarrow.ipc.IpcWriteOptions(compression="lz4"))
    ) as writer:
        writer.write_table(_arrow(first, kinds, schema))
        for part in parts:
            writer.write_table(_arrow(part, kinds, schema))


def write_geoparquet(layer: Layer, provenance: Provenance, file: Path, *, report: Progress = silent) -> None:
    """Write a layer as GeoParquet, which GeoPandas, QGIS, and DuckDB read; a row without a place has no geometry."""
    parts = list(layer.report_parts(report))
    rows = pandas.concat([_arrow(part.frame, layer.fields).to_pandas() for part in parts], ignore_index=True)
    shapes = np.concatenate([np.asarray(part.shapes, dtype=object) for part in parts])
    frame = geopandas.GeoDataFrame(rows, geometry=shapes, crs=CRS)
    frame.attrs = _origin([provenance])
    frame.to_parquet(file, compression="zstd", index=False)


def _origin(sources: Sequence[Provenance]) -> dict[str, object]:
    return {"sources": [source.to_dict() for source in sources]}


def _kinds(table: pandas.DataFrame) -> dict[str, Kind]:
    """Return what each column holds; marks of errors are flags even where every error is unknown."""
    kinds = fields_of(table)
    return kinds | {name: "flag" for name in kinds if name == EXCEEDS_COLUMN}


def _arrow(
    table: pandas.DataFrame, kinds: dict[str, Kind], schema: pyarrow.Schema | None = None
) -> pyarrow.Table:
    columns = {name: arrow_column(table[name], kind) for name, kind in kinds.items()}
    return pyarrow.table(columns, schema=schema)
