"""Zones: their codes, names, people, places, shapes, and the larger units that they belong to, checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
import pyproj
import shapely

from geodata.errors import GeometryError, SourceFileError, SourceRowError
from geodata.geography.world import read_world
from geodata.sources.reading import FIRST_DATA_LINE
from geodata.sources.shape_files import to_degrees
from geodata.zones.columns import ParentColumns, ZoneColumns
from geodata.zones.reading import RawZones, Shapes

TOTALS: Final = (
    "total",
    "totals",
    "all",
    "all zones",
    "sum",
    "grand total",
    "overall",
    "summe",
    "gesamt",
    "totale",
)
"""What a row or column of sums is called, in lower case."""
_PLAIN: Final = re.compile(r"[^0-9A-Za-z._-]")
_LONGEST: Final = 40
_OVERLAP: Final = 0.1
"""Share of the smaller of two zones that may lie in the other: generalized borders overlap a little."""
_MOST_PEOPLE: Final = 2**40

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Parent:
    """Larger units that zones belong to.

    Attributes
    ----------
    label : str
        What one of them is, such as "District".
    unit_id : str array[zones]
        Identifier of each zone's unit; empty for a zone in none.
    names : dict of str to str
        Name by identifier.
    """

    label: str
    unit_id: npt.NDArray[np.object_]
    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class Zones:
    """Checked zones in the order of their identifiers.

    Attributes
    ----------
    code : list of str
        As the file spells them.
    unit_id : object[zones]
        Codes as areas write them; see :func:`unit_id_of`.
    name : object[zones]
    population : int64[zones], optional
        None if the file does not say.
    lon_deg, lat_deg : float64[zones]
        A point in each zone, EPSG:4326.
    polygon : object[zones], optional
        EPSG:4326; None for points.
    parents : tuple of Parent
        The smallest units first.
    """

    code: list[str]
    unit_id: npt.NDArray[np.object_]
    name: npt.NDArray[np.object_]
    population: npt.NDArray[np.int64] | None
    lon_deg: Floats
    lat_deg: Floats
    polygon: Shapes | None
    parents: tuple[Parent, ...]


def unit_id_of(code: str) -> str:
    """Return a code as the text of an area can have it: other signs than letters, digits, and ".-_" are numbers.

    "Zona 1" becomes "Zona~20~1". Different codes stay different.
    """
    return _PLAIN.sub(lambda match: f"~{ord(match[0]):x}~", code)


def check_zones(raw: RawZones, columns: ZoneColumns) -> Zones:
    """Check a file of zones whose columns are known.

    Raises
    ------
    SourceFileError, SourceRowError, GeometryError
        A column is missing, a code is blank, repeated, too long, or that of a total, a number is wrong, places are not
        degrees or are turned around, or zones overlap.
    """
    wanted = [columns.code, columns.name, columns.population, columns.longitude, columns.latitude]
    wanted += [name for parent in columns.parents for name in (parent.code, parent.name)]
    lacking = [name for name in wanted if name is not None and name not in raw.frame]
    if lacking:
        found = ", ".join(map(str, list(raw.frame)[:8]))
        raise SourceFileError(
            f"{raw.path}: column {lacking[0]!r} is missing (found {found}); correct the schema"
        )
    code = raw.frame[columns.code]
    _check_codes(raw, code)
    unit_id = np.array([unit_id_of(text) for text in code], dtype=object)
    lon, lat, polygon = _places(raw, columns)
    order = np.argsort(unit_id.astype(str), kind="stable")
    name = (
        code if columns.name is None else raw.frame[columns.name].where(raw.frame[columns.name] != "", code)
    )
    people = None if columns.population is None else _population(raw, columns.population)
    if polygon is not None:
        _check_overlaps(raw, code.tolist(), polygon)
    return Zones(
        code=code.iloc[order].tolist(),
        unit_id=unit_id[order],
        name=name.to_numpy(dtype=object)[order],
        population=None if people is None else people[order],
        lon_deg=lon[order],
        lat_deg=lat[order],
        polygon=None if polygon is None else polygon[order],
        parents=tuple(_parent(raw, parent, order) for parent in columns.parents),
    )


def _refuse_row(raw: RawZones, row: int, problem: str, remedy: str) -> SourceRowError:
    where = f"line {row + FIRST_DATA_LINE}" if raw.geometry is None else f"feature {row + 1}"
    return SourceRowError(f"{raw.path}: {where}: {problem}; {remedy}")


def _check_codes(raw: RawZones, code: pandas.Series) -> None:
    texts = code.tolist()
    for row, text in enumerate(texts):
        if not text or not text.isprintable() or len(unit_id_of(text)) > _LONGEST:
            raise _refuse_row(
                raw,
                row,
                f"the code {text[:60]!r} is blank, not printable, or too long",
                "give each zone a short code",
            )
        if text.lower() in TOTALS:
            raise _refuse_row(raw, row, f"{text!r} is a total among the zones", "leave it out")
    twice = code[code.duplicated()]
    if len(twice):
        n = int(code.duplicated().sum())
        raise _refuse_row(
            raw,
            int(twice.index[0]),
            f"the code {twice.iloc[0]!r} is repeated ({n:,} repeats in all)",
            "give each zone once",
        )


def _population(raw: RawZones, column: str) -> npt.NDArray[np.int64]:
    number = pandas.to_numeric(raw.frame[column], errors="coerce").to_numpy(np.float64)
    wrong = np.flatnonzero(~((number >= 0) & (number <= _MOST_PEOPLE)))
    if wrong.size:
        cell = raw.frame[column].iloc[wrong[0]]
        raise _refuse_row(
            raw, int(wrong[0]), f"{column} is {cell[:40]!r}", "give a number of people of 0 or more"
        )
    if not number.any():
        raise SourceFileError(
            f"{raw.path}: {column} is 0 in each zone; correct it, or leave the column out of the schema"
        )
    people: npt.NDArray[np.int64] = np.rint(number).astype(np.int64)
    return people


def _places(raw: RawZones, columns: ZoneColumns) -> tuple[Floats, Floats, Shapes | None]:
    """A point in each zone, and its polygon if it has one."""
    polygon: Shapes | None = None
    if raw.geometry is None:
        points = _points_of_table(raw, columns)
    elif shapely.get_type_id(raw.geometry)[0] == 0:
        points = raw.geometry
    else:
        polygon = raw.geometry
        middle = shapely.centroid(polygon)
        is_inside = shapely.intersects(polygon, middle)
        points = np.where(is_inside, middle, shapely.point_on_surface(polygon))
    lon, lat = shapely.get_x(points), shapely.get_y(points)
    _refuse_turned(raw, lon, lat)
    return lon, lat, polygon


def _points_of_table(raw: RawZones, columns: ZoneColumns) -> Shapes:
    if columns.longitude is None or columns.latitude is None:
        raise SourceFileError(
            f"{raw.path}: a table needs columns of longitude and latitude; name them in the schema"
        )
    x, y = (_number(raw, name) for name in (columns.longitude, columns.latitude))
    points = np.asarray(shapely.points(x, y), dtype=object)
    if columns.crs is not None:
        try:
            points = to_degrees(points, pyproj.CRS.from_user_input(columns.crs))
        except pyproj.exceptions.ProjError as error:
            raise SourceFileError(
                f"{raw.path}: the reference system {columns.crs[:40]!r} is not known; give one such as EPSG:27700"
            ) from error
        x, y = shapely.get_x(points), shapely.get_y(points)
    wrong = np.flatnonzero(~((np.abs(x) <= 180) & (np.abs(y) <= 90)))
    if not wrong.size:
        return points
    row = int(wrong[0])
    if (np.abs(y) <= 180).all() and (np.abs(x) <= 90).all():
        raise _refuse_row(
            raw,
            row,
            f"latitude {y[row]:g} is beyond 90: longitudes and latitudes are turned around",
            "swap the columns",
        )
    raise _refuse_row(
        raw,
        row,
        f"{columns.longitude} {x[row]:g} and {columns.latitude} {y[row]:g} are not degrees",
        'name the reference system in the schema, such as crs = "EPSG:27700"',
    )


def _number(raw: RawZones, column: str) -> Floats:
    texts = raw.frame[column].str.replace(",", ".", regex=False)
    number: Floats = pandas.to_numeric(texts, errors="coerce").to_numpy(np.float64)
    wrong = np.flatnonzero(~np.isfinite(number))
    if wrong.size:
        raise _refuse_row(
            raw,
            int(wrong[0]),
            f"{column} is {raw.frame[column].iloc[wrong[0]][:40]!r}, which is not a number",
            "correct it",
        )
    return number


def _refuse_turned(raw: RawZones, lon: Floats, lat: Floats) -> None:
    """Refuse places that are at sea, and would be on land with longitude and latitude exchanged."""
    world = read_world()
    land = world.geometry.to_numpy()[world["layer"].isin(["land", "coarse-land"]).to_numpy()]
    tree = shapely.STRtree(land)
    on_land = np.unique(tree.query(shapely.points(lon, lat), predicate="dwithin", distance=0.5)[0]).size
    can_turn = np.abs(lon) <= 90
    turned = np.unique(
        tree.query(shapely.points(lat[can_turn], lon[can_turn]), predicate="intersects")[0]
    ).size
    if on_land < 0.5 * lon.size and turned > 0.5 * lon.size:
        raise GeometryError(
            f"{raw.path}: most zones are at sea, and would be on land with longitude and latitude exchanged; "
            "exchange them"
        )


def _check_overlaps(raw: RawZones, code: list[str], polygon: Shapes) -> None:
    first, second = shapely.STRtree(polygon).query(polygon, predicate="overlaps")
    inner, outer = shapely.STRtree(polygon).query(polygon, predicate="within")
    pairs = np.unique(
        np.sort(np.column_stack([np.append(first, inner), np.append(second, outer)]), axis=1), axis=0
    )
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not pairs.size:
        return
    a, b = polygon[pairs[:, 0]], polygon[pairs[:, 1]]
    share = shapely.area(shapely.intersection(a, b)) / np.minimum(shapely.area(a), shapely.area(b))
    bad = np.flatnonzero(share > _OVERLAP)
    if bad.size:
        one, other = (code[row] for row in pairs[bad[0]])
        raise GeometryError(
            f"{raw.path}: zones overlap: {one} and {other} share {share[bad[0]]:.0%} of the smaller of them "
            f"({bad.size:,} such "
            "pairs); cut them, or leave one out"
        )


def _parent(raw: RawZones, columns: ParentColumns, order: npt.NDArray[np.int64]) -> Parent:
    code = raw.frame[columns.code].iloc[order]
    name = code if columns.name is None else raw.frame[columns.name].iloc[order]
    unit_id = np.array([unit_id_of(text) for text in code], dtype=object)
    long = next((text for text in unit_id if len(text) > _LONGEST), None)
    if long is not None:
        raise SourceFileError(
            f"{raw.path}: the code {long!r} in {columns.code} is too long; give shorter codes"
        )
    named = zip(unit_id, code, name, strict=True)
    return Parent(columns.label, unit_id, {unit: text or plain for unit, plain, text in named if unit})
