"""Published polygons of tracts and blocks: zip shapefile, GeoPackage or GeoJSON, brought to EPSG:4326."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import pyogrio
import pyproj
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.schema import CRS

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
)
SUFFIXES = (".zip", ".gpkg", ".geojson", ".json", ".shp")
LEVELS = {11: "tracts", 15: "blocks"}
_POLYGONAL = (3, 6)  # type numbers of Polygon and MultiPolygon
# Datums that agree with WGS 84 to a metre or two. Which finer shift PROJ would choose depends on the grids
# installed, so none is applied and every machine gets the same coordinates.
_SAME_DATUMS = ("north american datum 1983", "world geodetic system 1984")


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
        Polygons that were not valid and could be mended.
    """

    polygon: Any
    files: tuple[tuple[Path, str, int], ...]
    repaired: int


def level_of(path: Path) -> str | None:
    """Return "tracts", "blocks" or None: what polygons a file holds, by its first feature.

    Raises
    ------
    SourceFileError
        When the file cannot be opened as a vector layer.
    """
    try:
        first = pyogrio.read_dataframe(_address(path), max_features=1, read_geometry=False)
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as error:
        raise _unreadable(path, error) from error
    column = _id_column(list(first.columns))
    if column is None or first.empty:
        return None
    return LEVELS.get(len(_plain_id(first[column].astype(str)).iloc[0]))


def read_boundaries(paths: Sequence[Path], level: str, *, threads: int = 2) -> Boundaries:
    """Read polygons.

    Parameters
    ----------
    paths : sequence of Path
        A zipped shapefile, GeoPackage or GeoJSON each; TIGER/Line or cartographic boundary files.
    level : {"tracts", "blocks"}
        What they must hold.
    threads : int
        Files read at a time.

    Raises
    ------
    SourceFileError
        Unreadable, or without a column of identifiers.
    GeometryError
        No coordinate reference system, coordinates that are not on the globe, a geometry that is missing,
        empty, not polygonal or beyond repair, an identifier of wrong length or given twice.
    """
    ordered = sorted(paths)
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        parts = list(pool.map(lambda path: _read(path, level), ordered))
    if not parts:
        return Boundaries(pandas.Series([], index=pandas.Index([], dtype="str"), dtype=object), (), 0)
    polygon = pandas.concat([part for part, _ in parts])
    twice = polygon.index[polygon.index.duplicated()]
    if len(twice):
        holders = [
            str(path) for path, (part, _) in zip(ordered, parts, strict=True) if twice[0] in part.index
        ]
        raise GeometryError(
            f"{holders[-1]}: {level[:-1]} {twice[0]} is given twice (also in {holders[0]}); give each polygon once"
        )
    files = tuple((path, _sha256(path), len(part)) for path, (part, _) in zip(ordered, parts, strict=True))
    return Boundaries(polygon.sort_index(), files, sum(repaired for _, repaired in parts))


def _read(path: Path, level: str) -> tuple[Any, int]:
    if not path.is_file():
        raise SourceFileError(f"{path}: no such file; check the path")
    try:
        frame = geopandas.read_file(_address(path), engine="pyogrio")
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(frame, geopandas.GeoDataFrame):
        raise GeometryError(f"{path}: a table without geometry; give the file with polygons")
    if frame.empty:
        raise SourceFileError(f"{path}: no features in it; download it again")
    unit_id = _unit_ids(path, frame, level)
    geometry = np.asarray(frame.geometry.array, dtype=object)
    _check_present(path, unit_id, geometry, level)
    geometry, repaired = _repaired(path, unit_id, geometry, level)
    geometry = _on_the_globe(path, geometry, frame.crs)
    return pandas.Series(geometry, index=pandas.Index(unit_id, dtype="str"), dtype=object), repaired


def _unit_ids(path: Path, frame: Any, level: str) -> npt.NDArray[np.object_]:
    column = _id_column(list(frame.columns))
    if column is None:
        raise SourceFileError(
            f"{path}: no column of identifiers ({', '.join(ID_COLUMNS)}); found {', '.join(map(str, frame.columns))}"
        )
    text = _plain_id(frame[column].astype(str))
    digits = next(n for n, name in LEVELS.items() if name == level)
    wrong = np.flatnonzero(~text.str.fullmatch(f"[0-9]{{{digits}}}").to_numpy(dtype=bool))
    if wrong.size:
        raise GeometryError(
            f"{path}: feature {wrong[0] + 1}: {column} is {frame[column].iloc[wrong[0]]!r}, {level[:-1]} identifiers "
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
    other = np.flatnonzero(~np.isin(shapely.get_type_id(geometry), _POLYGONAL))
    if other.size:
        kind = geometry[other[0]].geom_type
        raise GeometryError(f"{path}: {level[:-1]} {unit_id[other[0]]} is a {kind}; polygons are needed")


def _repaired(
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


def _on_the_globe(path: Path, geometry: npt.NDArray[np.object_], crs: Any) -> npt.NDArray[np.object_]:
    if crs is None:
        raise GeometryError(
            f"{path}: no coordinate reference system (a shapefile needs its .prj); add it, Census files are EPSG:4269"
        )
    geometry = _to_degrees(geometry, pyproj.CRS.from_user_input(crs))
    west, south, east, north = shapely.total_bounds(geometry)
    if not (-180 <= west <= east <= 180 and -90 <= south <= north <= 90):
        raise GeometryError(
            f"{path}: coordinates {west:.6g} … {east:.6g}, {south:.6g} … {north:.6g} are not degrees, though the file "
            f"says {pyproj.CRS.from_user_input(crs).name}; correct its coordinate reference system"
        )
    return geometry


def _to_degrees(geometry: npt.NDArray[np.object_], crs: pyproj.CRS) -> npt.NDArray[np.object_]:
    base = crs.geodetic_crs
    datum = base.datum.name.lower() if base is not None and base.datum is not None else ""
    same_datum = any(name in datum for name in _SAME_DATUMS)
    if same_datum and crs.is_geographic:
        return geometry
    target = base if same_datum else pyproj.CRS.from_user_input(CRS)
    transformer = pyproj.Transformer.from_crs(crs, target, always_xy=True)
    return np.asarray(
        shapely.transform(geometry, lambda xy: np.column_stack(transformer.transform(xy[:, 0], xy[:, 1])))
    )


def _id_column(columns: Sequence[str]) -> str | None:
    upper = {str(name).upper(): str(name) for name in columns}
    return next((upper[name] for name in ID_COLUMNS if name in upper), None)


def _plain_id(text: Any) -> Any:
    # Cartographic files write 1400000US44001030100.
    return text.str.replace(r"^.*US", "", regex=True)


def _address(path: Path) -> str:
    return f"/vsizip/{path}" if path.suffix.lower() == ".zip" else str(path)


def _unreadable(path: Path, error: Exception) -> SourceFileError:
    return SourceFileError(
        f"{path}: not readable as polygons ({' '.join(str(error).split())[:120]}); "
        "give a zipped shapefile, GeoPackage or GeoJSON, whole"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
