"""Published polygons of tracts and blocks (zipped shapefile, GeoPackage or GeoJSON), converted to EPSG:4326."""

from __future__ import annotations

import hashlib
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import pyogrio
import pyproj
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.to_degrees import to_degrees
from geodata.vintage import of_vintage, vintage_of_polygons

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
SUFFIXES = (".zip", ".gpkg", ".geojson", ".json", ".shp")
LEVELS = {11: "tracts", 15: "blocks"}
_PYOGRIO_ERRORS = (
    pyogrio.errors.DataSourceError,
    pyogrio.errors.DataLayerError,
    pyogrio.errors.FeatureError,
    pyogrio.errors.GeometryError,
    pyogrio.errors.FieldError,
    pyogrio.errors.CRSError,
)
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
    found = {layer.level for layer in _layers(path)}
    return tuple(level for level in LEVELS.values() if level in found)


def read_boundaries(
    paths: Sequence[Path], level: str, *, vintage: int | None = None, threads: int = 2
) -> Boundaries:
    """Read polygons.

    Parameters
    ----------
    paths : sequence of Path
        Zipped shapefiles, GeoPackages or GeoJSON files: TIGER/Line or cartographic boundary files.
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
    ordered = sorted(paths) if vintage is None else _of_vintage(paths, level, vintage)
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


def _of_vintage(paths: Sequence[Path], level: str, vintage: int) -> list[Path]:
    stated = {}
    for path in paths:
        columns = [layer.column for layer in _layers(path) if layer.level == level]
        stated[path] = vintage_of_polygons(path, columns[0] if columns else None)
    return of_vintage(stated, vintage, f"{level[:-1]} polygons")


def _read(path: Path, level: str) -> tuple[geopandas.GeoDataFrame, int]:
    layers = _layers(path)
    if not layers:
        raise GeometryError(f"{path}: a table without geometry; give the file with polygons")
    # A file's only layer is read whatever it holds, so that the message can say what is wrong with it.
    mine = [layer for layer in layers if layer.level == level] or (layers if len(layers) == 1 else [])
    if not mine:
        raise SourceFileError(
            f"{path}: no layer of {level} (found {', '.join(layer.name for layer in layers[:8])}); "
            f"give the file with {level}"
        )
    parts = [_read_layer(path, layer, level) for layer in mine]
    return pandas.concat([part for part, _ in parts]), sum(repaired for _, repaired in parts)


def _read_layer(path: Path, layer: _Layer, level: str) -> tuple[geopandas.GeoDataFrame, int]:
    if layer.column is None:
        raise SourceFileError(
            f"{path}: no column of identifiers ({', '.join(ID_COLUMNS)}), found {', '.join(layer.columns[:12])}; "
            "give the file as published"
        )
    with _opening(path):
        frame = geopandas.read_file(layer.address, layer=layer.name, columns=[layer.column], engine="pyogrio")
    if frame.empty:
        raise SourceFileError(f"{path}: no features in it; download it again")
    unit_id = _unit_ids(path, frame[layer.column], level)
    geometry = np.asarray(frame.geometry.array, dtype=object)
    _check_present(path, unit_id, geometry, level)
    geometry, repaired = _repaired(path, unit_id, geometry, level)
    geometry = _on_the_globe(path, geometry, frame.crs)
    return pandas.Series(geometry, index=pandas.Index(unit_id, dtype="str"), dtype=object), repaired


def _layers(path: Path) -> list[_Layer]:
    """Every layer with geometry, of a file or of the files in a zip."""
    if not path.is_file():
        raise SourceFileError(f"{path}: no such file; check the path")
    found = []
    with _opening(path):
        for address in _addresses(path):
            for name, kind in pyogrio.list_layers(address):
                if kind is not None:
                    first = pyogrio.read_dataframe(address, layer=name, max_features=1, read_geometry=False)
                    found.append(_layer(path, address, str(name), first))
    return found


def _layer(path: Path, address: str, name: str, first: pandas.DataFrame) -> _Layer:
    columns = tuple(map(str, first.columns))
    column = _id_column(columns)
    level = None
    if column is not None and not first.empty:
        text = _plain_id(first[column].astype(str)).iloc[0]
        level = LEVELS.get(len(text))
        if pandas.api.types.is_numeric_dtype(first[column]) and len(text) + 1 in LEVELS:
            raise SourceFileError(
                f"{path}: {column} is the number {text}, which has lost its leading zero; save identifiers as text"
            )
    return _Layer(address, name, columns, column, level)


def _unit_ids(path: Path, column: pandas.Series, level: str) -> npt.NDArray[np.object_]:
    text = _plain_id(column.astype(str))
    digits = next(n for n, name in LEVELS.items() if name == level)
    wrong = np.flatnonzero(~text.str.fullmatch(f"[0-9]{{{digits}}}").to_numpy(dtype=bool))
    if wrong.size:
        raise GeometryError(
            f"{path}: feature {wrong[0] + 1}: {column.name} is {column.iloc[wrong[0]]!r}, {level[:-1]} identifiers "
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


def _on_the_globe(path: Path, geometry: npt.NDArray[np.object_], crs: object) -> npt.NDArray[np.object_]:
    if crs is None:
        raise GeometryError(
            f"{path}: no coordinate reference system (a shapefile needs its .prj); add it (Census files are EPSG:4269)"
        )
    try:
        geometry = to_degrees(geometry, pyproj.CRS.from_user_input(crs))
    except pyproj.exceptions.ProjError as error:
        raise GeometryError(
            f"{path}: its coordinate reference system {pyproj.CRS.from_user_input(crs).name!r} cannot be "
            "converted to degrees; give one that can, such as EPSG:4269 of Census files"
        ) from error
    west, south, east, north = shapely.total_bounds(geometry)
    if not (-180 <= west <= east <= 180 and -90 <= south <= north <= 90):
        raise GeometryError(
            f"{path}: coordinates {west:.6g} … {east:.6g}, {south:.6g} … {north:.6g} are not degrees, though the file "
            f"says {pyproj.CRS.from_user_input(crs).name}; correct its coordinate reference system"
        )
    return geometry


def _id_column(columns: Sequence[str]) -> str | None:
    upper = {str(name).upper(): str(name) for name in columns}
    return next((upper[name] for name in ID_COLUMNS if name in upper), None)


def _plain_id(text: pandas.Series) -> pandas.Series:
    # Cartographic files write 1400000US44001030100; a column of numbers with gaps ends in .0.
    return text.str.replace(r"^.*US|\.0$", "", regex=True)


def _addresses(path: Path) -> list[str]:
    if path.suffix.lower() != ".zip":
        return [str(path)]
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    inner = [name for name in names if name.lower().endswith(SUFFIXES[1:]) and not _is_hidden(name)]
    return [f"/vsizip/{{{path}}}/{name}" for name in sorted(inner)]


def _is_hidden(name: str) -> bool:
    # A Mac adds __MACOSX/._name.shp to the zips it writes.
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Report in one line that a file cannot be opened; suppress GDAL's own messages."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (*_PYOGRIO_ERRORS, zipfile.BadZipFile, OSError, UnicodeDecodeError, RuntimeError) as error:
        raise SourceFileError(
            f"{path}: cannot be read as polygons ({' '.join(str(error).split())[:120]}); "
            "give a complete zipped shapefile, GeoPackage or GeoJSON"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
