"""Areas as Python callers give them: text, the name of a unit, a search result, steps, a shape, a corridor, a list."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, Union

import geopandas
import shapely
from shapely.geometry.base import BaseGeometry

from geodata.geography.corridors import check_miles
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.selection import Selected
from mapapp.base.errors import UsageError
from mapapp.question.area_text import Step, area_text, parse_area, part_of, widen_area

Given: TypeAlias = Union[
    str,
    Area,
    Step,
    BaseGeometry,
    geopandas.GeoDataFrame,
    geopandas.GeoSeries,
    "Near",
    Sequence[Union[str, Area, Step, BaseGeometry, "Near"]],
]
"""What :func:`select_given` accepts; a sequence is a list of areas, or the steps of one area."""
Shaped: Final = (BaseGeometry, geopandas.GeoDataFrame, geopandas.GeoSeries)
"""Types of areas that have shapes of their own."""
_DEGREES: Final = 4326


@dataclass(frozen=True, slots=True)
class Near:
    """The area within some miles of another area, which is included, or of a line.

    Attributes
    ----------
    of : area, or LineString or MultiLineString
        A Shapely shape is in degrees, unless its SRID says otherwise (`shapely.set_srid`).
    miles : float
        At most 50, along geodesics of WGS84.
    """

    of: Given
    miles: float

    def __post_init__(self) -> None:
        if isinstance(self.miles, bool) or not isinstance(self.miles, int | float):
            raise UsageError(f"distance {str(self.miles)[:40]!r}: give miles, such as 0.5")
        check_miles(self.miles)


def select_given(areas: Areas, given: Given) -> Selected:
    """Find the blocks of an area.

    Parameters
    ----------
    areas : Areas
        Areas of the release.
    given : str, Area, Step, polygon, Near or sequence
        A string is an area as `mapapp.question.area_text` writes it, the name of a unit, or its identifier. A polygon
        is a Shapely geometry in degrees of longitude and latitude, or in the reference system of its SRID. A
        GeoDataFrame or GeoSeries is the union of its shapes, in its own reference system. A sequence of steps is one
        area; any other sequence is the union of its areas.

    Raises
    ------
    UsageError, GeometryError
        If it is not an area, or this release does not have it.

    Warns
    -----
    UserWarning
        If several units have the given name; the message says which one is used.
    """
    # Keep a string as it is, because selected areas are cached by their text.
    notes: list[str] = [areas.note_on_name(given)] if isinstance(given, str) else []
    area = areas.find(given) if isinstance(given, str) else _steps(areas, given, notes)
    for note in notes:
        if note:
            warnings.warn(note, UserWarning, stacklevel=4)  # points to the call of the release's method
    return areas.select(area)


def _steps(areas: Areas, given: object, notes: list[str]) -> tuple[Step, ...]:
    """Return the steps of an area; append remarks on its names to `notes`."""
    if isinstance(given, str):
        notes.append(areas.note_on_name(given))
        return parse_area(areas.find(given))
    if isinstance(given, Step):
        return (given,)
    if isinstance(given, Area):
        return parse_area(given.key)
    if isinstance(given, Shaped):
        return (Step("+", part_of(_in_degrees(given))),)
    if isinstance(given, Near):
        if isinstance(given.of, Shaped):
            return (Step("+", part_of(_in_degrees(given.of), given.miles)),)
        return widen_area(_steps(areas, given.of, notes), given.miles)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, dict)):
        listed = list(given)
        if listed and all(isinstance(part, Step) for part in listed):
            return tuple(listed)
        return _union([_steps(areas, part, notes) for part in listed])
    raise UsageError(
        f"area {str(given)[:60]!r}: give a string such as 'Providence city' or 'county:44007', a polygon, or a list"
    )


def _in_degrees(given: BaseGeometry | geopandas.GeoDataFrame | geopandas.GeoSeries) -> BaseGeometry:
    """Return a shape, or the union of the shapes of a frame, in degrees of longitude and latitude (EPSG:4326).

    Raises
    ------
    UsageError
        If a frame has no shapes or no reference system, or the coordinates cannot be degrees.
    """
    if isinstance(given, BaseGeometry):
        srid = shapely.get_srid(given)
        shape = (
            given
            if srid in (0, _DEGREES)
            else geopandas.GeoSeries([given], crs=srid).to_crs(_DEGREES).iloc[0]
        )
    else:
        name, shapes = type(given).__name__, given.geometry.dropna()
        if shapes.empty:
            raise UsageError(f"this {name} has no shapes; give rows with a geometry")
        if shapes.crs is None:
            raise UsageError(
                f"this {name} has no reference system; set it, as in shapes.set_crs('EPSG:4326')"
            )
        shape = shapes.to_crs(_DEGREES).union_all()
    west, south, east, north = shape.bounds if not shape.is_empty else (0, 0, 0, 0)
    if not (-360 <= west <= east <= 360 and -90 <= south <= north <= 90):
        raise UsageError(
            f"a shape from {west:.9g}, {south:.9g} to {east:.9g}, {north:.9g} is not in degrees; give a GeoSeries with "
            "its reference system, such as geopandas.GeoSeries([shape], crs='EPSG:26986')"
        )
    return shape


def _union(parts: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    """Return the steps of the union of several areas.

    A step acts on everything before it, so an area that removes something must come first.
    """
    if not parts:
        raise UsageError("the list of areas is empty; give at least one area, or 'all'")
    cut = [steps for steps in parts if any(step.sign != "+" for step in steps)]
    if len(cut) > 1:
        raise UsageError(
            f"area {area_text(cut[1])[:60]!r}: a list is the union of its areas, and only one of them may have "
            "steps with - or &; ask about the others separately"
        )
    whole = [steps for steps in parts if steps not in cut]
    return tuple(step for steps in (*cut, *whole) for step in steps)
