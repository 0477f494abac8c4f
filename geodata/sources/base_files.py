"""Reading the files of a base map as published: TIGER/Line water, roads, and rails, shores, and names from the GNIS.

Sources: U.S. Census Bureau, TIGER/Line Shapefiles Technical Documentation (2019), record layouts of AREAWATER,
PRISECROADS, PRIMARYROADS, and RAILS, and appendix on MTFCC; U.S. Geological Survey, Geographic Names Information
System, file formats of the national and state files (until 2021) and of DomesticNames (since).
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.csv
import shapely

from geodata.errors import GeometryError, SourceFileError, SourceRowError
from geodata.geography.shore import is_shore, read_shore
from geodata.sources.reading import FIRST_DATA_LINE, read_bytes
from geodata.sources.shape_files import ShapeLayer, place_on_globe, report_open_errors, shape_layers
from geodata.store.store import sha256_of

BaseLayer = Literal["water", "roads", "rails", "landmarks", "shore"]

_COLUMNS: Final[dict[BaseLayer, tuple[str, ...]]] = {
    "water": ("HYDROID", "FULLNAME", "MTFCC"),
    "roads": ("LINEARID", "FULLNAME", "RTTYP", "MTFCC"),
    "rails": ("LINEARID", "FULLNAME", "MTFCC"),
}
_NOT_RAILS: Final = ("RTTYP", "ARTPATH")  # columns of roads, and of linear water
_NAMED: Final[tuple[tuple[str, BaseLayer], ...]] = (
    ("areawater", "water"),
    ("prisecroads", "roads"),
    ("primaryroads", "roads"),
    ("_rails", "rails"),
)
_WATER_KIND: Final = {
    "H2030": "lake",
    "H2040": "lake",  # reservoir
    "H2051": "bay",  # bay, estuary, gulf, sound
    "H2053": "ocean",
    "H3010": "river",
    "H3013": "river",  # braided stream
    "H3020": "river",  # canal
}
"""Kinds by MTFCC; swamps, glaciers, pits, and treatment ponds are left out."""
_ROAD_RANK: Final = {"S1100": 1, "S1200": 2}
_RAIL: Final = "R"  # first letter of the MTFCC of a railroad
_GEOMETRY_TYPES: Final = {"water": (3, 6), "roads": (1, 5), "rails": (1, 5)}  # of shapely: polygons, lines

_GNIS: Final = ("feature_name", "feature_class", "prim_lat_dec", "prim_long_dec")
_KIND_OF_CLASS: Final = {
    "Populated Place": "place",
    "School": "school",
    "Hospital": "hospital",
    "Airport": "airport",
    "Park": "park",
    "Military": "military",
    "Island": "island",
    "Cape": "cape",
    "Beach": "beach",
    "Summit": "summit",
}
_UNIVERSITY: Final = re.compile(
    r"\b(University|College|Institute of Technology)\b(?!.*\b(High|Middle|Elementary|Preparatory|School)\b)"
)
_STATION: Final = re.compile(r"\b(Amtrak|Union|Train|Railroad|Railway|Transit|Metro|Commuter)\b.*\bStation\b")
_STATION_CLASSES: Final = ("Building", "Locale")
_GONE: Final = "(historical)"


@dataclass(frozen=True, slots=True)
class BaseFile:
    """The content of one file.

    Attributes
    ----------
    path : Path
    layer : {"water", "roads", "rails", "landmarks", "shore"}
    frame : DataFrame or GeoDataFrame
        The columns of the layer's table, except county_id of landmarks, or those of
        `geodata.geography.shore.read_shore`; EPSG:4326.
    sha256 : str
    rows : int
        Rows of the file, also those that were not kept.
    """

    path: Path
    layer: BaseLayer
    frame: pandas.DataFrame
    sha256: str
    rows: int


def base_layer_of(path: Path) -> BaseLayer | None:
    """Return which layer of a base map a file of shapes, or a zip of a GNIS text, holds; None if it holds no layer.

    Raises
    ------
    SourceFileError
        The file cannot be opened, or is named like one of these but lacks a column.
    """
    layers = shape_layers(path)
    if not layers:
        return "landmarks" if path.suffix.lower() == ".zip" and _gnis_member(path) else None
    base_layer = next((layer for layer in map(_layer_of, layers) if layer is not None), None)
    promised = next((layer for part, layer in _NAMED if part in path.name.lower()), None)
    if promised is not None and base_layer != promised:
        raise SourceFileError(
            f"{path}: not the {promised} that its name promises: columns {', '.join(_COLUMNS[promised])} expected, "
            f"found {', '.join(layers[0].columns[:8])}; download it again, or rename it"
        )
    return base_layer


def is_gnis(header: Sequence[str]) -> bool:
    """Return whether a header is that of a GNIS text, whose columns are divided by `|`."""
    return len(header) > 0 and set(_GNIS) <= {name.lower() for name in header[0].split("|")}


def read_base_file(path: Path, near: shapely.Geometry) -> BaseFile:
    """Read a file of a base map.

    Parameters
    ----------
    path : Path
        AREAWATER, PRISECROADS, PRIMARYROADS, or RAILS as a zipped shapefile, GeoPackage, or GeoJSON; or a GNIS text,
        plain, gzipped, or zipped.
    near : shapely geometry
        Only what lies in or touches the rectangle around it is kept, EPSG:4326.

    Raises
    ------
    SourceFileError, SourceRowError, GeometryError
        The message names the file, what is wrong, and what was expected.
    """
    if path.suffix.lower() == ".zip" and (member := _gnis_member(path)) is not None:
        with report_open_errors(path), zipfile.ZipFile(path) as archive:
            return _read_gnis(path, archive.read(member), sha256_of(path), near)
    layers = shape_layers(path) if path.suffix.lower() != ".txt" else []
    for layer in layers:
        name = _layer_of(layer)
        if name == "shore":
            return BaseFile(path, name, *_read_shore(path, layer))
        if name is not None:
            return _read_shapes(path, layer, name, near)
    if layers:
        raise SourceFileError(
            f"{path}: neither water, roads, nor rails of TIGER/Line, nor a shore (found columns "
            f"{', '.join(layers[0].columns[:8])}); give AREAWATER, PRISECROADS, PRIMARYROADS, or RAILS"
        )
    return _read_gnis(path, *read_bytes(path), near)


def _layer_of(layer: ShapeLayer) -> BaseLayer | None:
    columns = {name.upper() for name in layer.columns}
    for name, wanted in _COLUMNS.items():
        if set(wanted) <= columns and not (name == "rails" and columns & set(_NOT_RAILS)):
            return name
    return "shore" if is_shore(layer) else None


def _read_shore(path: Path, layer: ShapeLayer) -> tuple[geopandas.GeoDataFrame, str, int]:
    frame, rows = read_shore(path, layer)
    return frame, sha256_of(path), rows


def _read_shapes(path: Path, layer: ShapeLayer, name: BaseLayer, near: shapely.Geometry) -> BaseFile:
    with report_open_errors(path):
        frame = geopandas.read_file(layer.address, layer=layer.name, engine="pyogrio")
    frame = frame.rename(columns={column: column.upper() for column in frame.columns if column != "geometry"})
    rows = len(frame)
    geometry = np.asarray(frame.geometry.array, dtype=object)
    frame, geometry = _drop_unusable(path, frame, geometry, name)
    geometry = place_on_globe(path, shapely.force_2d(geometry), frame.crs) if len(frame) else geometry
    code = frame["MTFCC"].fillna("").astype(str)
    columns = {"name": _plain_name(frame["FULLNAME"])}
    if name == "water":
        columns["kind"] = code.map(_WATER_KIND)
        kept = columns["kind"].notna()
    elif name == "roads":
        columns["rank"] = code.map(_ROAD_RANK)
        kept = columns["rank"].notna()
    else:
        kept = code.str.startswith(_RAIL)
    kept &= shapely.intersects(shapely.box(*near.bounds), geometry)
    table = geopandas.GeoDataFrame(columns, geometry=geometry, crs="EPSG:4326")[kept.to_numpy()]
    if name == "roads":
        table["rank"] = table["rank"].astype("int8")
    return BaseFile(path, name, table.reset_index(drop=True), sha256_of(path), rows)


def _drop_unusable(
    path: Path, frame: geopandas.GeoDataFrame, geometry: npt.NDArray[np.object_], name: BaseLayer
) -> tuple[geopandas.GeoDataFrame, npt.NDArray[np.object_]]:
    """Drop rows without geometry; raise GeometryError if another row has the wrong type."""
    there = ~(shapely.is_missing(geometry) | shapely.is_empty(geometry))
    frame, geometry = frame[there], geometry[there]
    wrong = np.flatnonzero(~np.isin(shapely.get_type_id(geometry), _GEOMETRY_TYPES[name]))
    if wrong.size:
        wanted = "polygons" if name == "water" else "lines"
        raise GeometryError(
            f"{path}: feature {wrong[0] + 1} is a {geometry[wrong[0]].geom_type}; {name} have {wanted}; "
            "give the file as published"
        )
    return frame, geometry


def _plain_name(column: pandas.Series) -> pandas.Series:
    """Names as people write them: `I- 95` is I-95."""
    return column.fillna("").astype(str).str.replace(r"^I- ", "I-", regex=True).str.strip()


def _gnis_member(path: Path) -> str | None:
    """Name of the GNIS text in a zip; None if the zip holds no such text."""
    with report_open_errors(path), zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.lower().endswith(".txt"):
                with archive.open(name) as stream:
                    if is_gnis([_first_line(stream.readline(4_096))]):
                        return name
    return None


def _first_line(content: bytes) -> str:
    return content.split(b"\n", 1)[0].decode("utf-8-sig", errors="replace").strip("\r")


def _read_gnis(path: Path, content: bytes, digest: str, near: shapely.Geometry) -> BaseFile:
    header = [name.lower() for name in _first_line(content).split("|")]
    missing = [name for name in _GNIS if name not in header]
    if missing:
        raise SourceFileError(
            f"{path}: column {missing[0]!r} is missing (found {', '.join(header[:8])}); give a text of the GNIS, "
            "divided by |"
        )
    table = _parse_gnis(path, content, header)
    name, feature_class = (table[column].to_pandas().fillna("") for column in _GNIS[:2])
    lat, lon = (_degrees(path, table[column].to_pandas(), column) for column in _GNIS[2:])
    west, south, east, north = near.bounds
    kind = _kinds(name, feature_class)
    # Features without a known place have 0, 0.
    placed = (lat != 0.0) | (lon != 0.0)
    kept = placed & (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
    kept &= (kind != "") & (name.str.len() > 0) & ~name.str.contains(_GONE, regex=False)
    frame = pandas.DataFrame({"name": name, "kind": kind, "lon_deg": lon, "lat_deg": lat})[kept.to_numpy()]
    return BaseFile(path, "landmarks", frame.reset_index(drop=True), digest, table.num_rows)


def _parse_gnis(path: Path, content: bytes, header: list[str]) -> pyarrow.Table:
    try:
        return pyarrow.csv.read_csv(
            io.BytesIO(content),
            read_options=pyarrow.csv.ReadOptions(column_names=header, skip_rows=1, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(delimiter="|", quote_char=False),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=list(_GNIS),
                column_types=dict.fromkeys(_GNIS, pyarrow.string()),
                strings_can_be_null=False,
            ),
        )
    except (pyarrow.ArrowInvalid, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise SourceFileError(
            f"{path}: cannot be read as a GNIS text divided by | ({reason}); download it again"
        ) from error


def _degrees(path: Path, text: pandas.Series, column: str) -> pandas.Series:
    number = pandas.to_numeric(text.str.strip().replace("", "0"), errors="coerce")
    wrong = np.flatnonzero(~(number.abs() <= 180.0).to_numpy())
    if wrong.size:
        raise SourceRowError(
            f"{path}: line {wrong[0] + FIRST_DATA_LINE}: {column} is {text.iloc[wrong[0]]!r}, which is not in degrees; "
            "correct the row, or download the file again"
        )
    return number


def _kinds(name: pandas.Series, feature_class: pandas.Series) -> pandas.Series:
    """Kind of each landmark, "" if it is not kept."""
    kind = feature_class.map(_KIND_OF_CLASS).fillna("")
    is_school, may_be_station = kind == "school", feature_class.isin(_STATION_CLASSES)
    is_university = name[is_school].map(lambda text: _UNIVERSITY.search(text) is not None)
    is_station = name[may_be_station].map(lambda text: _STATION.search(text) is not None)
    kind[is_university.index[is_university.astype(bool)]] = "university"
    kind[is_station.index[is_station.astype(bool)]] = "station"
    return kind
