"""The content of a geographic file: named fields and shapes, in parts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.compute
import shapely

from geodata.progress import Progress

Shapes = Sequence[shapely.Geometry | None] | npt.NDArray[np.object_]
Kind = Literal["text", "whole", "number", "flag"]
Geometry = Literal["MultiPolygon", "Point", "LineString", "MultiLineString"]
NOTHING: Final = "nothing to write: the area has no unit of that layer; choose another layer or area"
"""Why a question about several areas has no answer that a file could hold."""
ARROW: Final[dict[str, pyarrow.DataType]] = {
    "text": pyarrow.string(),
    "whole": pyarrow.int64(),
    "number": pyarrow.float64(),
    "flag": pyarrow.bool_(),
}


class LonLat(NamedTuple):
    """Points by their coordinates, degrees; NaN for a row without a place."""

    lon_deg: npt.NDArray[np.float64]
    lat_deg: npt.NDArray[np.float64]

    def wkb(self) -> pyarrow.Array:
        """Return the points as well-known binary, a null for a row without a place."""
        parts = np.empty(
            self.lon_deg.size, dtype=[("order", "u1"), ("kind", "<u4"), ("lon", "<f8"), ("lat", "<f8")]
        )
        parts["order"], parts["kind"] = 1, 1  # little-endian; a point
        parts["lon"], parts["lat"] = self.lon_deg, self.lat_deg
        sized = pyarrow.binary(parts.itemsize)
        buffers = [None, pyarrow.py_buffer(parts.tobytes())]
        whole = pyarrow.Array.from_buffers(sized, parts.size, buffers).cast(pyarrow.binary())
        there = pyarrow.array(~np.isnan(self.lon_deg))
        return pyarrow.compute.if_else(there, whole, pyarrow.scalar(None, pyarrow.binary()))


class Part(NamedTuple):
    """Some rows of a layer: their fields, and one shape per row, or None for a row without a place."""

    frame: pandas.DataFrame
    places: Shapes | LonLat

    @property
    def shapes(self) -> Shapes:
        """The shapes, also of points that are known by their coordinates."""
        if not isinstance(self.places, LonLat):
            return self.places
        shapes: npt.NDArray[np.object_] = shapely.points(self.places.lon_deg, self.places.lat_deg)
        shapes[np.isnan(self.places.lon_deg)] = None
        return shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer; coordinates are EPSG:4326.

    Attributes
    ----------
    name : str
        Name of the file or table: lowercase letters, digits and underscores.
    title : str
        Title for readers.
    geometry : str
    fields : dict of str to Kind
        Kinds of the fields, in order.
    n_rows : int
        Number of rows; 0 if not known in advance.
    parts : callable
        Yields the rows; may be called again.
    """

    name: str
    title: str
    geometry: Geometry
    fields: dict[str, Kind]
    n_rows: int
    parts: Callable[[], Iterator[Part]]

    def report_parts(self, report: Progress) -> Iterator[Part]:
        """Yield the parts, and report progress before each and at the end."""
        stage, done = f"writing {self.title}", 0
        report(stage, 0, self.n_rows)
        for part in self.parts():
            yield part
            done += len(part.frame)
            report(stage, done, max(self.n_rows, done))

    @property
    def label_field(self) -> str:
        """Field that names a row; by default the first one."""
        return next((name for name in ("name", "unit_id") if name in self.fields), next(iter(self.fields)))


def fields_of(frame: pandas.DataFrame) -> dict[str, Kind]:
    """Kinds of a frame's columns; a column with only missing values counts as numbers."""
    return {str(name): _kind(frame[name]) for name in frame.columns}


def _kind(column: pandas.Series) -> Kind:
    if column.dtype.kind == "b":
        return "flag"
    if column.dtype.kind in "iu":
        return "whole"
    if column.dtype.kind == "f":
        return "number"
    there = [value for value in column.head(1000) if not _missing(value)]
    return "number" if all(isinstance(value, (int, float)) for value in there) else "text"


def _missing(value: object) -> bool:
    return value is None or value is pandas.NA or value != value


def arrow_column(column: pandas.Series, kind: Kind) -> pyarrow.Array:
    """A column as an Arrow array of its kind; missing values are null."""
    if kind == "text":
        if isinstance(column.dtype, pandas.StringDtype):
            array = pyarrow.array(column.array, from_pandas=True)
            whole = array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array
            return whole.cast(pyarrow.string())
        try:
            return pyarrow.array(column.to_numpy(), pyarrow.string(), from_pandas=True)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            pass  # some values are not text
        values = [None if _missing(value) else str(value) for value in column]
        return pyarrow.array(values, pyarrow.string())
    if kind in ("number", "whole") and column.dtype == object:
        values = [None if _missing(value) else value for value in column]
        return pyarrow.array(values, pyarrow.float64()).cast(ARROW[kind])
    return pyarrow.array(column.to_numpy(), from_pandas=True).cast(ARROW[kind])


def records(layer: Layer, part: Part) -> list[dict[str, object]]:
    """Rows of a part as plain values; None if missing."""
    columns = {name: arrow_column(part.frame[name], kind).to_pylist() for name, kind in layer.fields.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def short_names(names: Sequence[str]) -> dict[str, str]:
    """A unique name of at most ten characters for each field, as a Shapefile needs."""
    short_by_name: dict[str, str] = {}
    for name in names:
        short = re.sub(r"[^A-Z0-9_]", "_", _ascii(name).upper())
        for long, brief in _SHORTER:
            short = short.replace(long, brief)
        short, number = short[:10], 2
        while short in short_by_name.values():
            tail = f"_{number}"
            short, number = short[: 10 - len(tail)] + tail, number + 1
        short_by_name[name] = short
    return short_by_name


_SHORTER: Final = (
    ("WORKERS_AGE", "W_AGE"),
    ("WORKERS_EARNINGS", "W_EARN"),
    ("WORKERS_INDUSTRY", "W_IND"),
    ("RESIDENTS_AGE", "R_AGE"),
    ("RESIDENTS_EARNINGS", "R_EARN"),
    ("RESIDENTS_INDUSTRY", "R_IND"),
    ("EXPECTED_ERROR", "EXP_ERROR"),
    ("EARNINGS", "EARN"),
    ("INDUSTRY", "IND"),
)


def safe_name(text: str, otherwise: str = "release", most: int = 60) -> str:
    """A text as part of a file name: at most `most` lowercase ASCII letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", _ascii(text).lower())[:most].strip("-") or otherwise


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def in_parts(frame: pandas.DataFrame, shapes: Shapes, rows: int = 5_000) -> Iterator[Part]:
    """Yield the rows of a frame and their shapes in parts; a single empty part if there are no rows."""
    held = np.asarray(shapes, dtype=object)
    for start in range(0, max(len(frame), 1), rows):
        yield Part(frame.iloc[start : start + rows], held[start : start + rows])
