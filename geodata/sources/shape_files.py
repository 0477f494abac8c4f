"""Opening files of shapes as published: zipped shapefiles, GeoPackages, and GeoJSON, in any layer."""

from __future__ import annotations

import logging
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pyogrio
import pyproj
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.store.schema import CRS

# Coordinates of any reference system as longitude and latitude.

# Datums that agree with WGS 84 to a metre or two. The finer shift that PROJ would choose depends on the installed
# grids, so no shift is applied and every machine gets the same coordinates.
_SAME_DATUMS = ("north american datum 1983", "world geodetic system 1984")


def to_degrees(geometry: npt.NDArray[np.object_], crs: pyproj.CRS) -> npt.NDArray[np.object_]:
    """Shapes converted to EPSG:4326; ProjError if their reference system cannot be converted."""
    base = crs.geodetic_crs
    datum = base.datum.name.lower() if base is not None and base.datum is not None else ""
    same_datum = any(name in datum for name in _SAME_DATUMS)
    if same_datum and crs.is_geographic:
        return geometry
    target = base if same_datum else pyproj.CRS.from_user_input(CRS)
    transformer = pyproj.Transformer.from_crs(crs, target, always_xy=True)

    def turn(xy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.column_stack(transformer.transform(xy[:, 0], xy[:, 1]))

    return np.asarray(shapely.transform(geometry, turn))


# GDAL's own lines would come before ours: logged, warned of in any thread, or written to standard error.
logging.getLogger("pyogrio").addHandler(logging.NullHandler())
warnings.filterwarnings("ignore", module="pyogrio")
pyogrio.set_gdal_config_options({"CPL_LOG": os.devnull})

SUFFIXES = (".zip", ".gpkg", ".geojson", ".json", ".shp")
_PYOGRIO_ERRORS = (
    pyogrio.errors.DataSourceError,
    pyogrio.errors.DataLayerError,
    pyogrio.errors.FeatureError,
    pyogrio.errors.GeometryError,
    pyogrio.errors.FieldError,
    pyogrio.errors.CRSError,
    pyproj.exceptions.CRSError,
    shapely.errors.ShapelyError,
)


@dataclass(frozen=True, slots=True)
class ShapeLayer:
    """One layer with geometry.

    Attributes
    ----------
    address : str
        GDAL's name of the file, also of one in a zip.
    name : str
        Of the layer.
    first : DataFrame
        Its first feature, without geometry; an empty table if the file has no feature.
    """

    address: str
    name: str
    first: pandas.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, except the geometry."""
        return tuple(map(str, self.first.columns))


def shape_layers(path: Path) -> list[ShapeLayer]:
    """Every layer with geometry, of a file or of the files in a zip.

    Raises
    ------
    SourceFileError
        The file does not exist or cannot be opened.
    """
    if not path.is_file():
        raise SourceFileError(f"{path}: no such file; check the path")
    layers = []
    with report_open_errors(path):
        for address in _addresses(path):
            for name, kind in pyogrio.list_layers(address):
                if kind is not None:
                    first = pyogrio.read_dataframe(address, layer=name, max_features=1, read_geometry=False)
                    layers.append(ShapeLayer(address, str(name), first))
    return layers


@contextmanager
def report_open_errors(path: Path) -> Iterator[None]:
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


def place_on_globe(path: Path, geometry: npt.NDArray[np.object_], crs: object) -> npt.NDArray[np.object_]:
    """Convert geometry to longitude and latitude; GeometryError if that is impossible."""
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
