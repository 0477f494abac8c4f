"""Changes of a chosen part: its radius or distance, and its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.explore.pages.chip_editor import miles_of
from mapapp.question.address import Address
from mapapp.question.area_text import Circle, Corridor, Everything, Line, Part, Unit, parse_area
from mapapp.question.cost import check_cost

_MAX_TYPED: Final = 200


def edited(address: Address, release: Release, field: str, step: str, given: Mapping[str, object]) -> Address:
    """Address with one step of an area changed as the visitor typed it: `miles`, and for a drawn part `name`.

    Raises
    ------
    UsageError, GeometryError
        If the miles or the name are not allowed; the message says why in one line.
    """
    steps: tuple[str, ...] = address.value(field)
    if step not in steps:
        return address
    before = parse_area(step)[0]
    name, miles = (
        _text(given.get(each), default) for each, default in (("name", before.label), ("miles", None))
    )
    part = before.part if miles is None or miles == miles_of(before) else _with_miles(before.part, miles)
    if isinstance(part, Unit) and not isinstance(before.part, Unit):
        name = ""  # a unit has its own
    after = str(replace(before, part=part, label=name or "")).removeprefix("+")
    changed = tuple(dict.fromkeys(after if one == step else one for one in steps))
    check_cost((*changed, *address.value("areas" if field == "others" else "others")))
    release.areas.select(after)
    return address.having(**{field: changed})


def _text(given: object, default: str | None) -> str | None:
    return given.strip()[:_MAX_TYPED] if isinstance(given, str) else default


def _with_miles(part: Part, miles: str) -> Part:
    """Return a part with another radius or distance; without a distance, the inner part of a corridor."""
    try:
        typed = [float(each) for each in re.split(r"[\s,;]+", miles) if each]
    except ValueError:
        raise UsageError(f"distance “{miles[:40]}”: type miles, such as 0.5") from None
    if isinstance(part, Circle):
        if len(typed) not in (1, 2):
            raise UsageError(f"radius “{miles[:40]}”: type miles, such as 5, or 1, 3 for a ring")
        inner, outer = typed if len(typed) == 2 else (0.0, typed[0])
        return Circle(part.lon_deg, part.lat_deg, inner, outer)
    of = part.of if isinstance(part, Corridor) else part
    if isinstance(of, Everything):
        return of
    if isinstance(of, Line):
        if len(typed) != 1:
            raise UsageError(f"distance “{miles[:40]}”: type miles, such as 0.5")
        return Corridor(of, typed[0])
    if len(typed) > 1:
        raise UsageError(f"distance “{miles[:40]}”: type one number of miles, such as 0.5")
    return Corridor(of, typed[0]) if typed else of
