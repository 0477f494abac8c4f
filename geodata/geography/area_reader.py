"""The process that reads an uploaded file: `python -m geodata.geography.area_reader FILE DRIVER SECONDS`; see
`area_files`.

It prints one JSON document: valid polygons in degrees, or one line that says why it returns no polygons.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyogrio
import pyogrio.raw
import pyproj
import shapely

from geodata.errors import GeodataError, GeometryError
from geodata.geography.area_shapes import MAX_VERTICES, check_crossings, count_rings, mend_polygon
from geodata.process_limits import limit_memory
from geodata.sources.shape_files import to_degrees

MAX_FEATURES: Final = 5_000
MAX_LAYERS: Final = 20
MAX_RINGS: Final = 20_000
MEMORY_BYTES: Final = 1 << 30
_NICE: Final = 10  # visitors' questions come first
_NAMES: Final = ("name", "namelsad", "title", "label")
_LINE_ID: Final = 1  # in GEOS; collections have higher numbers than polygons
_POLYGON_ID: Final = 3
_GPX_LAYERS: Final = ("tracks", "routes")


def read_shapes(
    path: str, driver: str
) -> tuple[list[tuple[str, shapely.Geometry]], shapely.Geometry | None, shapely.Geometry | None, list[str]]:
    """Polygons of a file with their names, EPSG:4326; their union; its lines; and notes on what was changed.

    Features, vertices and rings of all layers together are counted before anything is repaired.

    Raises
    ------
    GeometryError
        As `area_files.read_area_upload`.
    """
    shapes: list[tuple[str, shapely.Geometry]] = []
    lines: list[shapely.Geometry] = []
    counts = {"closed": 0, "repaired": 0, "without": 0}
    n_features = n_vertices = n_rings = 0
    for layer in _layers(path, driver):
        meta, _, geometry, fields = pyogrio.raw.read(path, layer=layer, max_features=MAX_FEATURES + 1)
        n_features += len(geometry)
        if n_features > MAX_FEATURES:
            raise GeometryError(f"more than {MAX_FEATURES:,} features; join or leave out some")
        if not len(geometry):
            continue
        features = shapely.from_wkb(geometry)
        n_vertices += int(shapely.get_num_coordinates(features).sum())
        if n_vertices > MAX_VERTICES:
            raise GeometryError(f"more than {MAX_VERTICES:,} vertices; simplify its shapes")
        n_rings += count_rings(features)
        if n_rings > MAX_RINGS:
            raise GeometryError(f"more than {MAX_RINGS:,} rings (outlines and holes); simplify its shapes")
        names = _names(meta, fields, len(features), len(shapes))
        for name, shape in zip(names, _place_on_globe(features, meta["crs"]), strict=True):
            lines += _lines(shape)
            polygon = _polygon(shape, counts, close=driver == "GPX")
            if polygon is not None:
                shapes.append((name, polygon))
    if not shapes and not lines:
        raise GeometryError("it holds no polygons, and points and lines have no area; give polygons")
    return shapes, _area(shapes, driver), shapely.multilinestrings(lines) if lines else None, _notes(counts)


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


def _layers(path: str, driver: str) -> Iterator[str]:
    listed = [str(name) for name, kind in pyogrio.list_layers(path) if kind is not None]
    if driver == "GPX":
        listed = [name for name in listed if name in _GPX_LAYERS]
    if len(listed) > MAX_LAYERS:
        raise GeometryError(f"{len(listed)} layers; at most {MAX_LAYERS} are allowed")
    yield from listed


def _names(
    meta: Mapping[str, Sequence[object]], fields: Sequence[Sequence[object]], count: int, before: int
) -> list[str]:
    columns = [str(name).lower() for name in meta["fields"]]
    name_column = next((columns.index(name) for name in _NAMES if name in columns), None)
    given = [None] * count if name_column is None else list(fields[name_column])
    return [
        (str(name)[:80] if isinstance(name, str) and name.strip() else f"Shape {before + place + 1}")
        for place, name in enumerate(given)
    ]


def _place_on_globe(features: npt.NDArray[np.object_], crs: str | None) -> npt.NDArray[np.object_]:
    if crs is None:
        raise GeometryError("no coordinate reference system; save the file with one")
    system = pyproj.CRS.from_user_input(crs)
    try:
        turned = to_degrees(shapely.force_2d(features), system)
    except pyproj.exceptions.ProjError:
        raise GeometryError(
            f"its coordinate reference system {system.name!r} cannot be converted to degrees; save it as EPSG:4326"
        ) from None
    bounds = shapely.total_bounds(turned)
    if not (np.isnan(bounds).all() or (np.abs(bounds) <= [180, 90, 180, 90]).all()):
        raise GeometryError(
            f"coordinates such as {bounds[0]:.6g}, {bounds[1]:.6g} are not degrees; save it as EPSG:4326"
        )
    return turned


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
    said = {
        "closed": "{} tracks or routes were closed to areas.",
        "repaired": "{} shapes were not valid and were repaired.",
        "without": "{} features have no area and were left out.",
    }
    return [said[name].format(f"{count:,}") for name, count in counts.items() if count]


def _limit(seconds: int) -> None:
    """Limit this process's processor time, and its memory if the system allows that."""
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    limit_memory(MEMORY_BYTES)


def main(arguments: list[str]) -> None:
    """Read one file and print what is in it."""
    path, driver, seconds = arguments
    _limit(int(seconds))
    answer: dict[str, object]
    if list(pyogrio.list_drivers()) != [driver]:
        answer = {"error": "the reader could not be limited to one format; nothing was read"}
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shapes, area, lines, notes = read_shapes(path, driver)
            answer = {
                "shapes": [{"name": name, "wkb": shapely.to_wkb(shape, hex=True)} for name, shape in shapes],
                "area": shapely.to_wkb(area, hex=True),
                "lines": shapely.to_wkb(lines, hex=True),
                "notes": notes,
            }
        except GeodataError as error:
            answer = {"error": str(error), "geometry": True}
        except (
            pyogrio.errors.DataSourceError,
            pyogrio.errors.DataLayerError,
            ValueError,
            RuntimeError,
            MemoryError,
        ):
            answer = {"error": f"cannot be read as {driver}; save it again in full"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
