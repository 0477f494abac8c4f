"""Areas as Python callers give them: text, the name of a unit, a search result, steps, a shape, a corridor, a list."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

from shapely.geometry.base import BaseGeometry

from geodata.geography.corridors import check_miles
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.selection import Selected
from mapapp.base.errors import UsageError
from mapapp.question.area_text import Step, area_text, parse_area, part_of, widen_area

Given: TypeAlias = Union[
    str, Area, Step, BaseGeometry, "Near", Sequence[Union[str, Area, Step, BaseGeometry, "Near"]]
]
"""What :func:`select_given` accepts; a sequence is a list of areas, or the steps of one area."""


@dataclass(frozen=True, slots=True)
class Near:
    """The area within some miles of another area, which is included, or of a line.

    Attributes
    ----------
    of : area, or LineString or MultiLineString in degrees
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
        A string is an area as `mapapp.question.area_text` writes it, or the name of a unit. A polygon is a Shapely
        geometry in degrees of longitude and latitude. A sequence of steps is one area; any other sequence is the
        union of its areas.

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
    if isinstance(given, BaseGeometry):
        return (Step("+", part_of(given)),)
    if isinstance(given, Near):
        if isinstance(given.of, BaseGeometry):
            return (Step("+", part_of(given.of, given.miles)),)
        return widen_area(_steps(areas, given.of, notes), given.miles)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, dict)):
        listed = list(given)
        if listed and all(isinstance(part, Step) for part in listed):
            return tuple(listed)
        return _union([_steps(areas, part, notes) for part in listed])
    raise UsageError(
        f"area {str(given)[:60]!r}: give a string such as 'Providence city' or 'county:44007', a polygon, or a list"
    )


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
