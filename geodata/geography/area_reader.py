"""The process that reads an uploaded file: `python -m geodata.geography.area_reader FILE DRIVER LAYER SECONDS`; see
`area_files`.

It prints one JSON document: valid polygons in degrees, or one line that says why it returns no polygons.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyogrio
import pyogrio.raw
import pyproj
import shapely

from geodata.errors import GeodataError, GeometryError
from geodata.geography.area_formats import MAX_UNPACKED_BYTES
from geodata.geography.area_shapes import (
    MAX_VERTICES,
    check_crossings,
    count_rings,
    mend_polygon,
    wrap_longitudes,
)
from geodata.process_limits import limit_memory
from geodata.sources.shape_files import to_degrees
from geodata.store.schema import CRS as DEGREES

MAX_FEATURES: Final = 5_000
MAX_LAYERS: Final = 20
MAX_RINGS: Final = 20_000
MAX_READ_VERTICES: Final = 2_000_000
"""Vertices that are read and, above `area_shapes.MAX_VERTICES`, simplified."""
MEMORY_BYTES: Final = 1 << 30
_NICE: Final = 10  # visitors' questions come first
_NAMES: Final = ("name", "namelsad", "title", "label")
_LINE_ID: Final = 1  # in GEOS; collections have higher numbers than polygons
_POLYGON_ID: Final = 3
_GPX_LAYERS: Final = ("tracks", "routes")
_TOLERANCES_DEG: Final = (1e-5, 2e-5, 4e-5, 8e-5)
_RING_CORNERS: Final = 4  # the first again as the last
_METERS: Final = 111_200  # in a degree of latitude
_NOTES: Final = {
    "closed": "{} tracks or routes were closed to areas.",
    "open": "{} shapes had outlines that were not closed, and were closed.",
    "repaired": "{} shapes were not valid and were repaired.",
    "without": "{} features have no area and were left out.",
    "turned": "{} shapes had longitudes beyond 180, which were taken as west of Greenwich.",
}
_TOO_MUCH: Final = f"reading it takes more than {MEMORY_BYTES >> 30} GiB of memory; simplify its shapes"
_SAID_OF_MEMORY: Final = ("out of memory", "bad_alloc")  # by GDAL and GEOS

Column = Sequence[object] | npt.NDArray[np.object_]


def read_shapes(
    path: str, driver: str, layer: str = ""
) -> tuple[list[tuple[str, shapely.Geometry]], shapely.Geometry | None, shapely.Geometry | None, list[str]]:
    """Polygons of a file with their names, EPSG:4326; their union; its lines; and notes on what was changed.

    Features, vertices and rings of all layers together are counted before anything is repaired. More than
    `area_shapes.MAX_VERTICES` vertices are simplified.

    Raises
    ------
    GeometryError
        As `area_files.read_area_upload`.
    """
    lines: list[shapely.Geometry] = []
    counts = dict.fromkeys(_NOTES, 0)
    names, features = _features(path, driver, layer, counts)
    features, tolerance_deg = _simpler(features)
    shapes: list[tuple[str, shapely.Geometry]] = []
    for name, shape in zip(names, features, strict=True):
        lines += [part for line in _lines(shape) for part in shapely.get_parts(_turned(line, counts))]
        polygon = _polygon(shape, counts, close=driver == "GPX")
        if polygon is not None:
            shapes.append((name, _turned(polygon, counts)))
    if not shapes and not lines:
        raise GeometryError("it holds no polygons, and points and lines have no area; give polygons")
    notes = _notes(counts)
    if tolerance_deg:
        corners = sum(int(shapely.get_num_coordinates(shape)) for _, shape in shapes)
        notes.append(
            f"Simplified to {corners:,} corners; its lines moved by at most {tolerance_deg * _METERS:,.0f} m."
        )
    return shapes, _area(shapes, driver), shapely.multilinestrings(lines) if lines else None, notes


def _features(
    path: str, driver: str, layer: str, counts: dict[str, int]
) -> tuple[list[str], npt.NDArray[np.object_]]:
    """Names and geometries of all layers in degrees, counted and not repaired."""
    names: list[str] = []
    parts: list[npt.NDArray[np.object_]] = []
    n_vertices = n_rings = 0
    for given, geometry, crs in _layer_features(path, driver, layer):
        _refuse_many_features(len(names) + len(geometry))
        if not len(geometry):
            continue
        features = _from_wkb(geometry, counts)
        n_vertices += int(shapely.get_num_coordinates(features).sum())
        if n_vertices > MAX_READ_VERTICES:
            raise GeometryError(f"more than {MAX_READ_VERTICES:,} vertices; simplify its shapes")
        n_rings += count_rings(features)
        if n_rings > MAX_RINGS:
            raise GeometryError(f"more than {MAX_RINGS:,} rings (outlines and holes); simplify its shapes")
        names += _names(given, len(features), len(names))
        parts.append(_place_on_globe(features, crs))
    return names, np.concatenate(parts) if parts else np.empty(0, dtype=object)


def _layer_features(path: str, driver: str, layer: str) -> Iterator[tuple[Column, Column, object]]:
    """Names (empty without), WKB and reference system of each layer; only the column of names is read."""
    if driver in ("Parquet", "WKT"):
        if layer:
            raise GeometryError(
                f"a {driver} file has no layers; leave out the one after the exclamation mark"
            )
        yield _parquet_features(path) if driver == "Parquet" else _text_features(path)
        return
    for title in _layers(path, driver, layer):
        columns = pyogrio.read_info(path, layer=title)["fields"]
        name_column = _name_column(columns)
        meta, _, geometry, fields = pyogrio.raw.read(
            path,
            layer=title,
            columns=[] if name_column is None else [name_column],
            max_features=MAX_FEATURES + 1,
        )
        # TopoJSON has no reference system of its own: its places are degrees, as GeoJSON's.
        crs = meta["crs"] or (DEGREES if driver == "TopoJSON" else None)
        yield () if name_column is None else fields[0], geometry, crs


def _refuse_many_features(count: int) -> None:
    if count > MAX_FEATURES:
        raise GeometryError(f"more than {MAX_FEATURES:,} features; join or leave out some")


def _parquet_features(path: str) -> tuple[Column, Column, object]:
    """The geometry column of a GeoParquet file, as `_layer_features`."""
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        meta = file.metadata
        geo = json.loads((file.schema_arrow.metadata or {}).get(b"geo", b"{}"))
        column = geo.get("columns", {}).get(geo.get("primary_column"))
        if column is None:
            raise GeometryError("a Parquet file without the metadata of GeoParquet; save it as GeoParquet")
        if column.get("encoding") != "WKB":
            raise GeometryError("its shapes are not stored as WKB; save it as GeoParquet with WKB")
        size = sum(meta.row_group(number).total_byte_size for number in range(meta.num_row_groups))
        _refuse_many_features(meta.num_rows)
        if size > MAX_UNPACKED_BYTES:
            raise GeometryError(
                f"it unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB; simplify its shapes"
            )
        name_column = _name_column(file.schema_arrow.names)
        wanted = [geo["primary_column"]] + ([] if name_column is None else [name_column])
        table = file.read(columns=wanted, use_threads=False)
        crs = column.get("crs", DEGREES)  # left out: degrees; null: not known
        system = pyproj.CRS.from_json_dict(crs) if isinstance(crs, dict) else crs
    except pyarrow.ArrowException as error:
        raise ValueError("not a complete Parquet file") from error
    given = () if name_column is None else table.column(name_column).to_pylist()
    return given, table.column(geo["primary_column"]).to_pylist(), system


def _text_features(path: str) -> tuple[Column, Column, object]:
    """Geometries written as WKT, EWKT, or WKB in hexadecimal digits, one a line or one in all; as `_layer_features`."""
    text = Path(path).read_text(encoding="utf-8").strip()
    try:
        geometries = [_geometry_of_text(text)]
    except shapely.errors.ShapelyError:
        lines = [line for line in text.splitlines() if line.strip()]
        _refuse_many_features(len(lines))
        geometries = [_geometry_of_text(line) for line in lines]
    numbers = {int(number) for number in shapely.get_srid(geometries)}
    if len(numbers) > 1:
        raise GeometryError("its shapes have several reference systems; save them in one")
    number = max(numbers)
    return (), [shapely.to_wkb(geometry) for geometry in geometries], f"EPSG:{number}" if number else DEGREES


def _geometry_of_text(text: str) -> shapely.Geometry:
    """One geometry of WKT, EWKT or digits of WKB; degrees if it names no reference system."""
    bare = text.strip().strip('"')
    if bare[:1] == "0":
        geometry, number = shapely.from_wkb(bare, on_invalid="fix"), 0
    else:
        match = re.match(r"SRID=(\d{1,6});", bare, re.IGNORECASE)
        geometry = shapely.from_wkt(bare[match.end() :] if match else bare, on_invalid="fix")
        number = int(match[1]) if match else 0
    if geometry is None:  # what "fix" could not
        raise shapely.errors.ShapelyError("not the text of a shape")
    return shapely.set_srid(geometry, number) if number else geometry


def _from_wkb(geometry: Column, counts: dict[str, int]) -> npt.NDArray[np.object_]:
    """Geometries of WKB, with rings closed that are not."""
    wkb = np.asarray(geometry, dtype=object)
    features = shapely.from_wkb(wkb, on_invalid="ignore")
    is_open = shapely.is_missing(features) & np.array([item is not None for item in wkb])
    if is_open.any():
        features[is_open] = shapely.from_wkb(wkb[is_open], on_invalid="fix")
        counts["open"] += int(is_open.sum())
    return np.asarray(features, dtype=object)


def _simpler(features: npt.NDArray[np.object_]) -> tuple[npt.NDArray[np.object_], float]:
    """Features of at most `MAX_VERTICES` vertices, and how far their lines moved, degrees; 0 if they need no change.

    The tolerance is the smallest of those tried. The first is as coarse as the text of an area, a metre, and the last
    is below the width of a street, so that the center of a block stays on the same side.
    """
    if shapely.get_num_coordinates(features).sum() <= MAX_VERTICES:
        return features, 0.0
    for tolerance in _TOLERANCES_DEG:
        simple = _with_fewer_corners(features, tolerance)
        if shapely.get_num_coordinates(simple).sum() <= MAX_VERTICES:
            return simple, tolerance
    raise GeometryError(
        f"more than {MAX_VERTICES:,} vertices, also when its lines are simplified by "
        f"{_TOLERANCES_DEG[-1] * _METERS:,.0f} m; join or leave out some of its shapes"
    )


def _with_fewer_corners(features: npt.NDArray[np.object_], tolerance_deg: float) -> npt.NDArray[np.object_]:
    """Features whose rings and lines are simplified one by one, not repaired; rings that collapse are dropped.

    GEOS can simplify polygons without crossings, in ten times the time and in more memory than the reader has for
    millions of vertices; or with crossings, where it may drop a part. So crossings are left to `mend_polygon`.
    """
    simple = []
    for feature in features:
        parts = np.array([] if feature is None else [feature], dtype=object)
        while (shapely.get_type_id(parts) > _POLYGON_ID).any():
            parts = shapely.get_parts(parts)
        fewer = []
        for part in parts:
            if shapely.get_type_id(part) != _POLYGON_ID:
                fewer.append(shapely.simplify(part, tolerance_deg, preserve_topology=False))
                continue
            places, ring = shapely.get_coordinates(shapely.get_rings(part), return_index=True)
            rings = shapely.linestrings(places, indices=ring)
            shell, *holes = (
                line.coords for line in shapely.simplify(rings, tolerance_deg, preserve_topology=False)
            )
            if len(shell) >= _RING_CORNERS:
                fewer.append(shapely.Polygon(shell, [hole for hole in holes if len(hole) >= _RING_CORNERS]))
        simple.append(shapely.GeometryCollection(fewer) if len(fewer) != 1 else fewer[0])
    return np.array(simple, dtype=object)


def _turned(shape: shapely.Geometry, counts: dict[str, int]) -> shapely.Geometry:
    """A shape with its longitudes in -180 … 180, if some are not."""
    turned = wrap_longitudes(shape)
    counts["turned"] += turned is not shape
    return turned


def _area(shapes: list[tuple[str, shapely.Geometry]], driver: str) -> shapely.Geometry | None:
    """The union of polygons; None without polygons, and for tracks that cannot be joined, which are still lines."""
    try:
        return join_polygons([shape for _, shape in shapes]) if shapes else None
    except GeometryError:
        if driver != "GPX":
            raise
        return None


def _lines(shape: shapely.Geometry | None) -> list[shapely.Geometry]:
    """The lines of a feature that are longer than a point."""
    parts = np.array([] if shape is None else [shape], dtype=object)
    while (shapely.get_type_id(parts) > _POLYGON_ID).any():
        parts = shapely.get_parts(parts)
    is_line = shapely.get_type_id(parts) == _LINE_ID
    return [part for part in parts[is_line] if shapely.length(part) > 0]


def join_polygons(shapes: list[shapely.Geometry]) -> shapely.Geometry:
    """The union of polygons; GeometryError if their edges meet in too many places."""
    if len(shapes) > 1:
        check_crossings(shapes)
    return mend_polygon(shapely.union_all(shapes))


def _layers(path: str, driver: str, layer: str) -> list[str]:
    listed = [str(name) for name, kind in pyogrio.list_layers(path) if kind is not None]
    if driver == "GPX":
        listed = [name for name in listed if name in _GPX_LAYERS]
    if layer:
        if layer not in listed:
            raise GeometryError(
                f"no layer {layer[:60]!r} in it; it has {', '.join(name[:60] for name in listed[:8]) or 'none'}"
            )
        return [layer]
    if len(listed) > MAX_LAYERS:
        raise GeometryError(f"{len(listed)} layers; at most {MAX_LAYERS} are allowed")
    return listed


def _name_column(columns: Iterable[object]) -> str | None:
    """The column that names shapes, None without one."""
    by_name = {str(column).lower(): str(column) for column in columns}
    return next((by_name[name] for name in _NAMES if name in by_name), None)


def _names(given: Column, count: int, before: int) -> list[str]:
    """A name for each of a number of features; those without one are numbered after the ones before."""
    return [
        (str(name)[:80] if isinstance(name, str) and name.strip() else f"Shape {before + place + 1}")
        for place, name in enumerate(given if len(given) else [None] * count)
    ]


def _place_on_globe(features: npt.NDArray[np.object_], crs: object) -> npt.NDArray[np.object_]:
    """Features in degrees; longitudes may be up to 360, for `_turned`."""
    if crs is None:
        raise GeometryError("no coordinate reference system; save the file with one")
    try:
        system = pyproj.CRS.from_user_input(crs)
        turned = to_degrees(shapely.force_2d(features), system)
    except pyproj.exceptions.CRSError:
        raise GeometryError("its coordinate reference system is not known; save it as EPSG:4326") from None
    except pyproj.exceptions.ProjError:
        raise GeometryError(
            f"its coordinate reference system {system.name!r} cannot be converted to degrees; save it as EPSG:4326"
        ) from None
    bounds = shapely.total_bounds(turned)
    if np.isnan(bounds).all() or (np.abs(bounds) <= [360, 90, 360, 90]).all():
        return turned
    if (np.abs(bounds) <= [90, 360, 90, 360]).all():
        raise GeometryError(
            f"a latitude of {bounds[3 if bounds[3] > 90 else 1]:.6g} is off the globe; latitude and "
            "longitude seem to be exchanged: give longitude first"
        )
    raise GeometryError(
        f"coordinates such as {bounds[0]:.6g}, {bounds[1]:.6g} are not degrees; save it as EPSG:4326"
    )


def _polygon(shape: shapely.Geometry, counts: dict[str, int], *, close: bool) -> shapely.Geometry | None:
    """The polygons of one feature; None if it has no area."""
    if shape is None or shape.is_empty:
        counts["without"] += 1
        return None
    if close:
        rings = [part for part in shapely.get_parts(shape) if shapely.get_num_coordinates(part) >= 3]
        shape = shapely.multipolygons([shapely.Polygon(part.coords) for part in rings])
        counts["closed"] += len(rings)
    try:
        polygon = mend_polygon(shape)
    except GeometryError:
        counts["without"] += 1
        return None
    counts["repaired"] += not shapely.is_valid(shape)
    return polygon


def _notes(counts: dict[str, int]) -> list[str]:
    return [_NOTES[name].format(f"{count:,}") for name, count in counts.items() if count]


def _limit(seconds: int) -> None:
    """Limit this process's processor time, and its memory if the system allows that."""
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    limit_memory(MEMORY_BYTES)


def main(arguments: list[str]) -> None:
    """Read one file and print what is in it."""
    path, driver, layer, seconds = arguments
    _limit(int(seconds))
    text = ""
    if list(pyogrio.list_drivers()) != ([] if driver in ("Parquet", "WKT") else [driver]):
        text = _error("the reader could not be limited to one format; nothing was read")
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shapes, area, lines, notes = read_shapes(path, driver, layer)
            text = json.dumps(
                {
                    "shapes": [
                        {"name": name, "wkb": shapely.to_wkb(shape, hex=True)} for name, shape in shapes
                    ],
                    "area": shapely.to_wkb(area, hex=True),
                    "lines": shapely.to_wkb(lines, hex=True),
                    "notes": notes,
                }
            )
        except GeodataError as error:
            text = _error(str(error), is_geometry=True)
        except (
            pyogrio.errors.DataSourceError,
            pyogrio.errors.DataLayerError,
            shapely.errors.ShapelyError,
            ValueError,
            RuntimeError,
            MemoryError,
        ) as error:
            is_memory = isinstance(error, MemoryError) or any(said in str(error) for said in _SAID_OF_MEMORY)
            text = _error(_TOO_MUCH if is_memory else f"cannot be read as {driver}; save it again in full")
    sys.stdout.write(text)


def _error(said: str, *, is_geometry: bool = False) -> str:
    return json.dumps({"error": said, "geometry": is_geometry})


if __name__ == "__main__":
    main(sys.argv[1:])
