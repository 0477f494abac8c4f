"""Reading files of zones and tables of flows as text: CSV with any separator, Parquet, and shapes of any format."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.parquet
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.geography.area_formats import DRIVERS, unpack_upload
from geodata.sources.reading import TextTable, read_table, text_header
from geodata.sources.shape_files import place_on_globe, report_open_errors

MOST_ZONES: Final = 100_000
_EVERY: Final = re.compile("")
_PARQUET: Final = b"PAR1"
_NO_COLUMNS: Final = ("WKT", "GPX")
_WHOLE_FLOAT: Final = re.compile(r"(-?\d+)\.0+")
_POINT, _POLYGONAL = 0, frozenset((3, 6))

Shapes = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class RawZones:
    """A file of zones before anybody knows what its columns mean.

    Attributes
    ----------
    path : Path
    sha256 : str
        Of the file.
    frame : DataFrame
        Every column but the shape, as text.
    geometry : object[zones], optional
        Polygons or points, EPSG:4326; None for a table.
    """

    path: Path
    sha256: str
    frame: pandas.DataFrame
    geometry: Shapes | None


def read_zones(path: Path) -> RawZones:
    """Read a file of zones: polygons or points in any format that has columns, or a table.

    Raises
    ------
    SourceFileError, GeometryError
        The file cannot be read, has no columns or no reference system, or has too many zones.
    """
    content = _read_bytes(path)
    if content[:4] != _PARQUET and text_header(path) is not None:
        text = read_flows(path)
        columns = {name: _as_text(text.column(name).to_pandas()) for name in text.table.column_names}
        zones = RawZones(path, text.sha256, pandas.DataFrame(columns), None)
    else:
        zones = _read_shapes(path, content)
    if len(zones.frame) > MOST_ZONES:
        raise SourceFileError(
            f"{path}: {len(zones.frame):,} zones; at most {MOST_ZONES:,} can be imported; join zones, or leave some out"
        )
    return zones


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _read_shapes(path: Path, content: bytes) -> RawZones:
    upload = unpack_upload(str(path), content)
    driver = DRIVERS[upload.main]
    if driver in _NO_COLUMNS:
        raise SourceFileError(
            f"{path}: a {driver} file has no column of codes; give GeoJSON, a GeoPackage, or a zipped shapefile"
        )
    with tempfile.TemporaryDirectory(prefix="commutemap-zones-") as folder:
        for name, data in upload.files.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)
        main = Path(folder, upload.main)
        with report_open_errors(path):
            try:
                frame = geopandas.read_parquet(main) if driver == "Parquet" else geopandas.read_file(main)
            except (ValueError, pyarrow.ArrowException) as error:
                raise SourceFileError(
                    f"{path}: cannot be read as zones ({' '.join(str(error).split())[:120]}); give shapes with a "
                    "reference "
                    "system"
                ) from error
    if not isinstance(frame, geopandas.GeoDataFrame):
        raise SourceFileError(
            f"{path}: no shapes in it; give polygons or points, or a CSV with latitude and longitude"
        )
    columns = {str(name): _as_text(frame[name]) for name in frame.columns if name != frame.geometry.name}
    shapes = _polygons_or_points(path, np.asarray(frame.geometry.array, dtype=object))
    digest = hashlib.sha256(content).hexdigest()
    return RawZones(path, digest, pandas.DataFrame(columns), place_on_globe(path, shapes, frame.crs))


def _polygons_or_points(path: Path, geometry: Shapes) -> Shapes:
    lacking = np.flatnonzero(shapely.is_missing(geometry) | shapely.is_empty(geometry))
    if lacking.size:
        raise GeometryError(
            f"{path}: feature {lacking[0] + 1:,} has no shape; give each zone a shape, or leave it out"
        )
    kinds = set(shapely.get_type_id(geometry).tolist())
    if kinds == {_POINT}:
        return geometry
    if not kinds or kinds - _POLYGONAL:
        raise GeometryError(f"{path}: zones must be all polygons or all points; leave out other shapes")
    return np.asarray(shapely.make_valid(shapely.force_2d(geometry)), dtype=object)


def _as_text(column: pandas.Series) -> pandas.Series:
    """A column as text without spaces around it; 101.0 is written 101, and a missing value is an empty text."""
    texts = [
        ""
        if is_missing
        else _WHOLE_FLOAT.sub(r"\1", str(value))
        if isinstance(value, float)
        else str(value).strip()
        for value, is_missing in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]
    return pandas.Series(texts, dtype="str")


def read_flows(path: Path) -> TextTable:
    """Read a table as text, with a dictionary of the distinct texts of each column.

    Raises
    ------
    SourceFileError
        The file cannot be read, or is not a table.
    """
    if path.is_file():
        with path.open("rb") as stream:
            is_parquet = stream.read(len(_PARQUET)) == _PARQUET
        if is_parquet:
            return _read_parquet(path)
    header = text_header(path)
    if header is None:
        raise SourceFileError(f"{path}: not a table of text with several columns; give CSV or Parquet")
    return read_table(path, required=header.names, latin_1=True, repeats=_EVERY, delimiter=header.delimiter)


def _read_parquet(path: Path) -> TextTable:
    try:
        table = pyarrow.parquet.read_table(path)
        columns = {}
        for name in table.column_names:
            column = table.column(name).combine_chunks()
            if pyarrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            columns[name] = column.cast(pyarrow.string()).fill_null("").dictionary_encode()
    except (pyarrow.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:120]
        raise SourceFileError(f"{path}: cannot be read as Parquet ({reason}); check the file") from error
    return TextTable(path, pyarrow.table(columns), hashlib.sha256(path.read_bytes()).hexdigest())
