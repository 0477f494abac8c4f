"""Published polygons of tracts and blocks (zipped shapefile, GeoPackage or GeoJSON), converted to EPSG:4326."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.sources.shape_files import ShapeLayer, place_on_globe, report_open_errors, shape_layers
from geodata.sources.vintage import keep_vintage, vintage_of_polygons
from geodata.store.store import sha256_of

ID_COLUMNS = (
    "GEOID20",
    "GEOID10",
    "GEOID",
    "GEOID00",
    "BLOCKID10",
    "BLOCKID20",
    "GEO_ID",
    "GEOIDFQ",
    "AFFGEOID",
    "CTIDFP00",
    "BLKIDFP00",
    "CTIDFP",
    "BLKIDFP",
    "STFID",
)
LEVELS = {11: "tracts", 15: "blocks"}
_CARTOGRAPHIC = "LSAD"  # a column of cartographic boundary files (cb_, gz_), which end at the shore
_POLYGONAL = (3, 6)  # type numbers of Polygon and MultiPolygon


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Polygons of one or more files.

    Attributes
    ----------
    polygon : Series
        Identifier to polygon (EPSG:4326), sorted by identifier, valid and not empty.
    files : tuple of (Path, str, int)
        File, sha256 and number of polygons, for the record.
    repaired : int
        Polygons that were not valid and were repaired.
    """

    polygon: pandas.Series
    files: tuple[tuple[Path, str, int], ...]
    repaired: int


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer of polygons in a file.

    `address` is GDAL's name of the file in a zip; `column` holds the identifiers; `level` is "tracts", "blocks"
    or None, by the first feature.
    """

    address: str
    name: str
    columns: tuple[str, ...]
    column: str | None
    level: str | None


def levels_of(path: Path) -> tuple[str, ...]:
    """Return which polygons a file holds: "tracts", "blocks", both or neither. The first feature of a layer decides.

    Raises
    ------
    SourceFileError
        When the file cannot be opened, or its identifiers are numbers that have lost a leading zero.
    """
    levels = {layer.level for layer in _layers(path)}
    return tuple(level for level in LEVELS.values() if level in levels)


def read_boundaries(
    paths: Sequence[Path], level: str, *, vintage: int | None = None, threads: int = 2
) -> Boundaries:
    """Read polygons.

    Parameters
    ----------
    paths : sequence of Path
        Zipped shapefiles, GeoPackages or GeoJSON files: TIGER/Line or cartographic boundary files. The polygons of
        the latter end at the shore, and replace those of the former.
    level : {"tracts", "blocks"}
        What they must hold; layers that hold something else are skipped.
    vintage : int, optional
        Vintage of the crosswalk. Files of another vintage are skipped if other files fit; otherwise they are an error.
    threads : int
        Number of files to read at a time.

    Raises
    ------
    SourceFileError
        A file cannot be read or has no column of identifiers, or all files are of another vintage.
    GeometryError
        No coordinate reference system, coordinates that are not on the globe, a geometry that is missing,
        empty, not polygonal or beyond repair, an identifier of wrong length or given twice.
    """
    ordered = sorted(paths) if vintage is None else _keep_vintage(paths, level, vintage)
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        parts = list(pool.map(lambda path: _read(path, level), ordered))
    if not parts:
        return Boundaries(pandas.Series([], index=pandas.Index([], dtype="str"), dtype=object), (), 0)
    files = tuple((path, sha256_of(path), len(part)) for path, (part, _) in zip(ordered, parts, strict=True))
    to_shore = [_ends_at_shore(path, level) for path in ordered]
    pieces = {path: part for path, (part, _) in zip(ordered, parts, strict=True)}
    ashore, with_water = (
        _join_once(
            {
                path: pieces[path]
                for path, ends_at_shore in zip(ordered, to_shore, strict=True)
                if ends_at_shore is kind
            },
            level,
        )
        for kind in (True, False)
    )
    polygon = pandas.concat([ashore, with_water[~with_water.index.isin(ashore.index)]])
    return Boundaries(polygon.sort_index(), files, sum(repaired for _, repaired in parts))


def _join_once(parts: dict[Path, pandas.Series], level: str) -> pandas.Series:
    """The polygons of some files; GeometryError if one occurs in two of them."""
    empty = pandas.Series([], index=pandas.Index([], dtype="str"), dtype=object)
    polygon: pandas.Series = pandas.concat([empty, *parts.values()])
    twice = polygon.index[polygon.index.duplicated()]
    if len(twice):
        holders = [str(path) for path, part in parts.items() if twice[0] in part.index]
        raise GeometryError(
            f"{holders[-1]}: {level[:-1]} {twice[0]} is given twice (also in {holders[0]}); give each polygon once"
        )
    return polygon


def _ends_at_shore(path: Path, level: str) -> bool:
    return any(_CARTOGRAPHIC in layer.columns for layer in _layers(path) if layer.level == level)


def _keep_vintage(paths: Sequence[Path], level: str, vintage: int) -> list[Path]:
    stated = {}
    for path in paths:
        columns = [layer.column for layer in _layers(path) if layer.level == level]
        stated[path] = vintage_of_polygons(path, columns[0] if columns else None)
    return keep_vintage(stated, vintage, f"{level[:-1]} polygons")


def _read(path: Path, level: str) -> tuple[geopandas.GeoDataFrame, int]:
    layers = _layers(path)
    if not layers:
        raise GeometryError(f"{path}: a table without geometry; give the file with polygons")
    # A file's only layer is read whatever it holds, so that the message can say what is wrong with it.
    chosen = [layer for layer in layers if layer.level == level] or (layers if len(layers) == 1 else [])
    if not chosen:
        raise SourceFileError(
            f"{path}: no layer of {level} (found {', '.join(layer.name for layer in layers[:8])}); "
            f"give the file with {level}"
        )
    parts = [_read_layer(path, layer, level) for layer in chosen]
    return pandas.concat([part for part, _ in parts]), sum(repaired for _, repaired in parts)


def _read_layer(path: Path, layer: _Layer, level: str) -> tuple[geopandas.GeoDataFrame, int]:
    if layer.column is None:
        raise SourceFileError(
            f"{path}: no column of identifiers ({', '.join(ID_COLUMNS)}), found {', '.join(layer.columns[:12])}; "
            "give the file as published"
        )
    with report_open_errors(path):
        frame = geopandas.read_file(layer.address, layer=layer.name, columns=[layer.column], engine="pyogrio")
    if frame.empty:
        raise SourceFileError(f"{path}: no features in it; download it again")
    unit_id = _unit_ids(path, frame[layer.column], level)
    geometry = np.asarray(frame.geometry.array, dtype=object)
    _check_present(path, unit_id, geometry, level)
    geometry, repaired = _repair_polygons(path, unit_id, geometry, level)
    geometry = place_on_globe(path, geometry, frame.crs)
    return pandas.Series(geometry, index=pandas.Index(unit_id, dtype="str"), dtype=object), repaired


def _layers(path: Path) -> list[_Layer]:
    return [_layer(path, layer) for layer in shape_layers(path)]


def _layer(path: Path, layer: ShapeLayer) -> _Layer:
    columns, first = layer.columns, layer.first
    column = _id_column(columns)
    level = None
    if column is not None and not first.empty:
        text = _plain_id(first[column]).iloc[0]
        level = LEVELS.get(len(text))
        if pandas.api.types.is_numeric_dtype(first[column]) and len(text) + 1 in LEVELS:
            raise SourceFileError(
                f"{path}: {column} is the number {text}, which has lost its leading zero; save identifiers as text"
            )
    return _Layer(layer.address, layer.name, columns, column, level)


def _unit_ids(path: Path, column: pandas.Series, level: str) -> npt.NDArray[np.object_]:
    text = _plain_id(column)
    digits = next(n for n, name in LEVELS.items() if name == level)
    wrong = np.flatnonzero(~text.str.fullmatch(f"[0-9]{{{digits}}}").to_numpy(dtype=bool))
    if wrong.size:
        raise GeometryError(
            f"{path}: feature {wrong[0] + 1}: {column.name} is {text.iloc[wrong[0]]!r}, {level[:-1]} identifiers "
            f"have {digits} digits; check that the file holds {level}"
        )
    twice = text[text.duplicated()]
    if len(twice):
        raise GeometryError(f"{path}: {level[:-1]} {twice.iloc[0]} is given twice; give each polygon once")
    return np.asarray(text.to_numpy(dtype=object))


def _check_present(
    path: Path, unit_id: npt.NDArray[np.object_], geometry: npt.NDArray[np.object_], level: str
) -> None:
    absent = np.flatnonzero(shapely.is_missing(geometry) | shapely.is_empty(geometry))
    if absent.size:
        raise GeometryError(
            f"{path}: {level[:-1]} {unit_id[absent[0]]} has no geometry, or an empty one; "
            "give its polygon or leave it out"
        )
    place, owner = shapely.get_coordinates(geometry, return_index=True)
    no_number = np.flatnonzero(~np.isfinite(place).all(axis=1))
    if no_number.size:
        raise GeometryError(
            f"{path}: {level[:-1]} {unit_id[owner[no_number[0]]]} has a coordinate that is no number; correct it"
        )
    no_polygon = np.flatnonzero(~np.isin(shapely.get_type_id(geometry), _POLYGONAL))
    if no_polygon.size:
        kind = geometry[no_polygon[0]].geom_type
        raise GeometryError(f"{path}: {level[:-1]} {unit_id[no_polygon[0]]} is a {kind}; polygons are needed")


def _repair_polygons(
    path: Path, unit_id: npt.NDArray[np.object_], geometry: npt.NDArray[np.object_], level: str
) -> tuple[npt.NDArray[np.object_], int]:
    geometry = shapely.force_2d(geometry)
    broken = np.flatnonzero(~shapely.is_valid(geometry))
    if broken.size:
        mended = shapely.make_valid(geometry[broken], method="structure", keep_collapsed=False)
        bad = shapely.is_empty(mended) | ~np.isin(shapely.get_type_id(mended), _POLYGONAL)
        if bad.any():
            row = broken[int(bad.argmax())]
            raise GeometryError(
                f"{path}: {level[:-1]} {unit_id[row]} is not valid ({shapely.is_valid_reason(geometry[row])}) and "
                "cannot be repaired to a polygon; correct it or leave it out"
            )
        geometry[broken] = mended
    return geometry, int(broken.size)


def _id_column(columns: Sequence[str]) -> str | None:
    upper = {str(name).upper(): str(name) for name in columns}
    return next((upper[name] for name in ID_COLUMNS if name in upper), None)


def _plain_id(column: pandas.Series) -> pandas.Series:
    # Cartographic files write 1400000US44001030100; a column of numbers with gaps ends in .0.
    text = column.astype(object).where(column.notna(), "").astype(str)
    return text.str.replace(r"^.*US|\.0$", "", regex=True)
