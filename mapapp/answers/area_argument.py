"""An area as a caller in Python gives it: a text, the name of a unit, a search result, steps, a polygon, or a list."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from shapely.geometry.base import BaseGeometry

from mapapp.answers.areas import Area, Areas
from mapapp.answers.selection import Selected
from mapapp.errors import UsageError
from mapapp.question.area_text import Shape, Step, Unit, area_text, parse_area

Given: TypeAlias = str | Area | Step | BaseGeometry | Sequence[Any]
"""What :func:`select_given` takes; a sequence holds areas, or is the steps of one."""


def select_given(areas: Areas, given: Given) -> Selected:
    """Find the blocks of an area.

    Parameters
    ----------
    areas : Areas
        Of the release.
    given : str, Area, Step, polygon or sequence
        A text is an area as `mapapp.question.area_text` writes it, or the name of a unit. A polygon is one of Shapely,
        in degrees of longitude and latitude. A sequence of steps is one area; any other sequence is the union of the
        areas in it.

    Raises
    ------
    UsageError, GeometryError
        If it is not an area, or this release does not have it.

    Warns
    -----
    UserWarning
        If several units have the given name; the text says which one is used.
    """
    # A text is kept as it is: areas that were selected are found again by their text.
    notes: list[str] = [areas.note_on_name(given)] if isinstance(given, str) else []
    area = areas.find(given) if isinstance(given, str) else _steps(areas, given, notes)
    for note in notes:
        if note:
            warnings.warn(note, UserWarning, stacklevel=4)  # the line that calls the method of a release
    return areas.select(area)


def _steps(areas: Areas, given: object, notes: list[str]) -> tuple[Step, ...]:
    """Steps of an area; what is to be said of its names goes to `notes`."""
    if isinstance(given, str):
        notes.append(areas.note_on_name(given))
        return parse_area(areas.find(given))
    if isinstance(given, Step):
        return (given,)
    if isinstance(given, Area):
        return (Step("+", Unit(given.level, given.unit_id)),)
    if isinstance(given, BaseGeometry):
        return (Step("+", Shape.of(given)),)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, dict)):
        listed = list(given)
        if listed and all(isinstance(each, Step) for each in listed):
            return tuple(listed)
        return _union([_steps(areas, each, notes) for each in listed])
    raise UsageError(
        f"area {str(given)[:60]!r}: give a text such as 'Providence city' or 'county:44007', a polygon, or a list"
    )


def _union(parts: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    """Steps of the union of some areas.

    Steps act on everything before them, so an area that cuts something out can only come first.
    """
    if not parts:
        raise UsageError("an empty list of areas; put at least one area in it, or give 'all'")
    cut = [steps for steps in parts if any(step.sign != "+" for step in steps)]
    if len(cut) > 1:
        raise UsageError(
            f"area {area_text(cut[1])[:60]!r}: a list is the union of its areas, and only one of them may have "
            "steps with - or &; ask about the others by themselves"
        )
    whole = [steps for steps in parts if steps not in cut]
    return tuple(step for steps in (*cut, *whole) for step in steps)
