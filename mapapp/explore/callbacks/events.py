"""Each action of a visitor as a step from one address to the next."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import shapely
from shapely.geometry.base import BaseGeometry

from geodata.errors import GeometryError
from geodata.geography.area_files import AreaFile
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.asking import note_on_axes
from mapapp.answers.release import Release
from mapapp.base import watch
from mapapp.base.errors import UsageError
from mapapp.explore.pages.area_controls import REPLACES, miles_of
from mapapp.explore.pages.controls import PLAIN
from mapapp.explore.pages.menus import click_level
from mapapp.question.address import MAX_STEP_LENGTH, Address, edges_of
from mapapp.question.area_text import (
    MAX_LABEL,
    Box,
    Circle,
    Corridor,
    Everything,
    Line,
    Part,
    Unit,
    area_text,
    geometries_of,
    parse_area,
    part_of,
    ring_areas,
    widen_area,
)
from mapapp.question.cost import check_cost
from mapapp.question.distance_bands import ALLOWED
from mapapp.question.fields import QUESTION, USUAL, VIEW, NotAllowed
from mapapp.show.content import map_layers

# Changes of a chosen part: its radius or distance, and its name.

_MAX_TYPED: Final = 200


def edit_step(
    address: Address, release: Release, field: str, step: str, given: Mapping[str, object]
) -> Address:
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
        _text(given.get(key), default) for key, default in (("name", before.label), ("miles", None))
    )
    part = before.part if miles is None or miles == miles_of(before) else _with_miles(before.part, miles)
    if isinstance(part, Unit) and not isinstance(before.part, Unit):
        name = ""  # a unit has its own
    after = str(replace(before, part=part, label=name or "")).removeprefix("+")
    changed = tuple(dict.fromkeys(after if area_step == step else area_step for area_step in steps))
    check_cost((*changed, *address.value("areas" if field == "others" else "others")))
    release.areas.select(after)
    return address.having(**{field: changed})


def _text(given: object, default: str | None) -> str | None:
    return given.strip()[:_MAX_TYPED] if isinstance(given, str) else default


def _with_miles(part: Part, miles: str) -> Part:
    """Return a part with another radius or distance; without a distance, the inner part of a corridor."""
    try:
        typed = [float(number) for number in re.split(r"[\s,;]+", miles) if number]
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


BANDS: Final = ("age", "earnings", "industry")
ATTRIBUTES: Final = ("attributes", "by")
CONTROLS: Final = (*PLAIN, "edges", "against", *BANDS, *ATTRIBUTES)
"""Components whose values are parts of the address."""
SLIDER: Final = "least"
"""The slider of the map of flows, which the page's script makes."""

USUAL_CORRIDOR_MI: Final = 0.5
"""Miles to each side of a drawn line, unless the visitor typed others: about ten minutes on foot."""

_MAX_NAMED: Final = 4
"""Named polygons of a file that become parts of their own: as many as an answer shows side by side."""
_NUMBERED: Final = re.compile(
    r"Shape \d+"
)  # in place of a name, as `geodata.geography.area_reader` writes it
_SIGNS: Final = ("+", "-", "&")
_MAX_CORNERS: Final = 5_000
_SHORT_STEP: Final = 2_000
_TOLERANCES_DEG: Final = (1e-5, 3e-5, 1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3)
_PLACE: Final = re.compile(r"\s*(-?\d{1,3}(?:\.\d+)?)[\s,;]+(-?\d{1,3}(?:\.\d+)?)\s*")


def after(
    address: Address,
    release: Release,
    trigger: str | dict[str, object],
    value: object,
    read: Mapping[str, str | None],
) -> Address:
    """Address after one choice of the visitor.

    Parameters
    ----------
    address : Address
        The address before.
    release : Release
        The release it is about.
    trigger : str or dict
        Id of the component that the visitor used, such as one of `CONTROLS`; a dict for buttons that change areas.
    value : object
        Its new value.
    read : dict
        Values of other controls at that moment, which a new part of an area needs. `pick`: the level that a click on
        the map selects; `sign`: how the part is combined; `target`: the area it belongs to; `center` and `radii`;
        `within`: miles of a corridor.

    Raises
    ------
    UsageError, GeometryError
        If a drawing or typed text cannot be used; the message says why in one line.
    """
    if isinstance(trigger, dict):
        return _button(address, release, trigger)
    if trigger in (*CONTROLS, SLIDER):
        return _with_control(address, trigger, value)
    field = "others" if address.question.entry.n_needed == 2 and read.get("target") == "others" else "areas"
    if trigger in ("within", "add-corridor"):
        return with_corridors(address, release, read.get("within"), field)
    if trigger == "same-ends":
        return with_same_ends(address, field)
    if trigger in _PARTS:
        return _with_parts(address, release, trigger, value, read, field)
    if trigger == "drill":
        return drill_down(address, release, value)
    if trigger == "every":
        return address.having(every=not address.view.every)
    if trigger == "morning":
        return address.having(morning=not address.view.morning)
    if trigger == "release" and isinstance(value, str) and value not in ("", release.slug):
        return replace(address, release=value, against="" if address.against == value else address.against)
    return address


def _with_parts(
    address: Address,
    release: Release,
    trigger: str,
    value: object,
    read: Mapping[str, str | None],
    field: str,
) -> Address:
    """Address with the parts that the visitor chose, in place of the area or combined with it as `sign` says."""
    if read.get("pick") == USUAL:
        read = {**read, "pick": click_level(release, address.question)}
    steps = [step for step in _PARTS[trigger](release, value, read) if isinstance(step, str) and step]
    replaces = read.get("sign") == REPLACES and address.value(field) != tuple(steps)
    start = _put(address, field, ()) if replaces else address
    new_address = start
    for step in steps:
        new_address = with_step(
            new_address, release, step, read.get("sign"), field, only_add=trigger != "clicked"
        )
    return address if new_address == start else new_address


def _with_control(address: Address, name: str, value: object) -> Address:
    if name == "against":
        return replace(address, against=value if isinstance(value, str) else address.against)
    kept: object
    if name == SLIDER:
        kept = _check_field(name, value)
    elif name in BANDS:
        bands = tuple(band for band in (1, 2, 3) if isinstance(value, list) and str(band) in value)
        kept = bands if len(bands) < 3 else ()
    elif name in ATTRIBUTES:
        kept = _check_field(name, value)
    elif name == "edges":
        kept = edges_of(value) if isinstance(value, str) else address.question.edges
        if kept is None:
            raise UsageError(f"distance bands: type {ALLOWED}, such as 5, 10, 25")
    else:
        kept = value if isinstance(value, str) else address.value(name)
    return address.having(**{name: kept})


def _check_field(name: str, value: object) -> object:
    """A value of a field, or its default if a forged request has one that is not allowed."""
    field = VIEW[name] if name in VIEW else QUESTION[name]
    try:
        return field.check(value)
    except NotAllowed:
        return field.default


def with_step(
    address: Address,
    release: Release,
    step: object,
    sign: object = "+",
    field: str = "areas",
    *,
    only_add: bool = False,
) -> Address:
    """Address with one more step in its area; a step that is there already is removed unless `only_add`."""
    if not isinstance(step, str) or not step:
        return address
    before: tuple[str, ...] = address.value(field)
    step = step.lstrip("+-&")
    same = next((area_step for area_step in before if area_step.lstrip("+-&") == step), None)
    if same is not None:
        return (
            address
            if only_add
            else _put(address, field, tuple(area_step for area_step in before if area_step != same))
        )
    mark = sign if sign in _SIGNS and sign != "+" else ""
    check_cost((*address.question.areas, *address.question.others, step))
    try:
        release.areas.select(mark + step)
    except UsageError:
        return address  # a forged or outdated identifier
    return _put(address, field, (*before, mark + step))


def with_corridors(address: Address, release: Release, within: object, field: str) -> Address:
    """Address with a corridor around each part that an area adds, in place of the part."""
    miles = corridor_miles(within)
    if miles is None:
        raise UsageError("the corridor has no distance; type miles, such as 0.5")
    steps: tuple[str, ...] = address.value(field)
    if not steps:
        raise UsageError("there is nothing to be near yet; choose an area first, or open a file of lines")
    wider = tuple(str(step).removeprefix("+") for step in widen_area(parse_area(" ".join(steps)), miles))
    check_cost((*wider, *address.value("areas" if field == "others" else "others")))
    release.areas.select(" ".join(wider))
    return _put(address, field, tuple(dict.fromkeys(wider)))


def corridor_miles(within: object) -> float | None:
    """The distance of a corridor as a visitor typed it; None for an empty text."""
    text = within.strip() if isinstance(within, str) else ""
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"distance “{text[:40]}”: type miles, such as 0.5") from None


def with_same_ends(address: Address, field: str) -> Address:
    """Address with the chosen area at both ends of the commutes; if that one is empty, with the other area."""
    steps = address.value(field) or address.question.areas or address.question.others
    if not steps:
        raise UsageError("no area is chosen yet; choose one, then use it for both ends")
    check_cost((*steps, *steps))
    return address.having(areas=steps, others=steps)


def _put(address: Address, field: str, steps: tuple[str, ...]) -> Address:
    return address.having(**{field: steps})


def clicked_area(release: Release, click: object, level: object) -> str | None:
    """The unit at a clicked place, or None."""
    place = click if isinstance(click, dict) else {}
    lon, lat = place.get("lon"), place.get("lat")
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in (lon, lat)):
        return None
    if level not in map_layers.unit_levels(release):
        return None
    unit_id = map_layers.unit_at(release, level, float(lon), float(lat))  # type: ignore[arg-type]  # checked above
    return f"{level}:{unit_id}" if unit_id else None


def drawn_step(drawn: object, within: object = None) -> str | None:
    """A circle, box, polygon, or line drawn on the map, as a step of an area.

    A line becomes a corridor of the miles `within`, or of `USUAL_CORRIDOR_MI`.
    """
    if isinstance(drawn, dict) and "center" in drawn:
        return _drawn_circle(drawn)
    given = drawn.get("points") if isinstance(drawn, dict) else None
    if not isinstance(given, list) or not 2 <= len(given) <= _MAX_CORNERS:
        return None
    try:
        places = [(float(lon), float(lat)) for lon, lat in given]
    except (TypeError, ValueError):
        return None
    if not all(math.isfinite(value) for place in places for value in place):
        return None
    if isinstance(drawn, dict) and drawn.get("line"):
        miles = corridor_miles(within)
        return _short_step(shapely.LineString(places), USUAL_CORRIDOR_MI if miles is None else miles)
    if len(places) == 2:
        (west, north), (east, south) = places
        return str(Box(min(west, east), min(south, north), max(west, east), max(south, north)))
    if len(places) < 4:
        raise GeometryError("the drawn shape encloses no area; draw a loop around a place")
    return _short_step(shapely.Polygon(places))


def _short_step(geometry: BaseGeometry, miles: float | None = None) -> str:
    """A drawn geometry as a step of an area, with as few corners as fit into an address."""
    step = str(part_of(geometry, miles))
    tolerance = 1e-5
    while len(step) > MAX_STEP_LENGTH // 4 and tolerance < 0.05:  # drawn freehand: a corner at every pixel
        step, tolerance = str(part_of(shapely.simplify(geometry, tolerance), miles)), tolerance * 2
    return step


def _drawn_circle(drawn: dict[str, object]) -> str | None:
    """A circle drawn on the map from its center outwards; its radius is rounded to hundredths of a mile."""
    center, miles = drawn["center"], drawn.get("miles")
    numbers = [*center, miles] if isinstance(center, list) else []
    if len(numbers) != 3 or not all(
        isinstance(number, int | float) and math.isfinite(number) for number in numbers
    ):
        return None
    lon, lat, radius = numbers
    return area_text(ring_areas(lon, lat, [max(round(radius, 2), 0.01)])[0])


def opened_steps(release: Release, file: object, within: object) -> list[str]:
    """The polygons of a file, or the corridors around its polygons and lines, as steps of an area.

    Up to `_MAX_NAMED` polygons with names are a step each, so that they keep their names.
    """
    if not isinstance(file, AreaFile):
        return []
    miles = corridor_miles(within)
    if miles is None and _has_names(file):
        named = [(fewest_corners(release, shape), name[:MAX_LABEL]) for name, shape in file.shapes]
        return [str(replace(parse_area(step)[0], label=name)).removeprefix("+") for step, name in named]
    return [fewest_corners(release, geometry, miles) for geometry in geometries_of(file, miles)]


def _has_names(file: AreaFile) -> bool:
    """Whether a file has few polygons, each with a name of its own."""
    names = [name for name, _ in file.shapes if not _NUMBERED.fullmatch(name)]
    return 0 < len(set(names)) == len(file.shapes) <= _MAX_NAMED and not file.is_closed


def fewest_corners(release: Release, geometry: BaseGeometry, miles: float | None = None) -> str:
    """A geometry as a step of an area, simplified to fit into an address as long as it keeps its blocks."""
    step = str(part_of(geometry, miles))
    blocks = _held(release, step)
    if not blocks and (note := note_on_axes(release, step)):
        raise UsageError(f"the file's area is not here: {note}")
    for tolerance in _TOLERANCES_DEG:
        watch.check()
        if len(step) <= _SHORT_STEP:
            return step
        simpler = str(part_of(shapely.simplify(geometry, tolerance), miles))
        if _held(release, simpler) == blocks:
            step = simpler
    if len(step) > MAX_STEP_LENGTH:
        raise UsageError(
            f"the area has too many corners to fit in an address ({len(step):,} characters); simplify it first"
        )
    return step


def _held(release: Release, step: str) -> bytes:
    """The blocks of a step as bytes, for comparison."""
    blocks = release.areas.select(step).blocks
    return b"all" if blocks is None else blocks.tobytes()


def circles(release: Release, center: object, radii: object) -> list[str]:
    """A circle and rings around a place, as steps of an area."""
    lon, lat = _place(release, center)
    text = str(radii or "")
    try:
        miles = [float(part) for part in re.split(r"[\s,;]+", text.strip()) if part]
    except ValueError:
        raise UsageError(f"radius “{text[:40]}”: type miles, such as 5, or 1, 3, 5 for rings") from None
    return [area_text(steps) for steps in ring_areas(lon, lat, miles)]


def _place(release: Release, center: object) -> tuple[float, float]:
    typed = place_of(center)
    if typed is not None:
        return typed
    if isinstance(center, str) and center.startswith("circle:"):  # a landmark
        circle = parse_area(center)[0].part
        assert isinstance(circle, Circle), "the text begins so"
        return circle.lon_deg, circle.lat_deg
    if not isinstance(center, str) or center not in release.areas:
        raise UsageError("the circle has no center; type the name of a place, or latitude and longitude")
    blocks = release.areas.blocks([center])
    places = release.areas.places
    held = places if blocks is None else places.loc[places.index[blocks]]
    return float(held["lon_deg"].mean()), float(held["lat_deg"].mean())


def place_of(text: object) -> tuple[float, float] | None:
    """Longitude and latitude of a typed `latitude, longitude`; None for any other text."""
    match = _PLACE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    lat, lon = float(match[1]), float(match[2])
    return (lon, lat) if abs(lat) <= 90 and abs(lon) <= 180 else None


def drill_down(address: Address, release: Release, value: object) -> Address:
    """Address after a click on a table row, which names one or two units: where it leads, the analysis declares."""
    text = value.get("unit") if isinstance(value, dict) else None
    units = tuple(text.split(" ")) if isinstance(text, str) else ()
    if not units or not all(unit in release.areas for unit in units):
        return address
    return address.having(**ENTRIES[address.question.analysis].row_link(address.question, units))


def _button(address: Address, release: Release, trigger: dict[str, object]) -> Address:
    area = str(trigger.get("area"))
    if trigger.get("type") == "suggest":
        return with_step(address, release, area, only_add=True)
    if trigger.get("type") == "drop":
        dropped = QUESTION.get(str(trigger.get("of")))
        return address if dropped is None else address.having(**{dropped.name: dropped.default})
    field = "others" if trigger.get("of") == "others" else "areas"
    if trigger.get("type") == "edit":
        return edit_step(address, release, field, area, trigger)
    if area == "*":
        return _put(address, field, ())
    return _put(address, field, tuple(step for step in address.value(field) if step != area))


_PARTS: Final[dict[str, Callable[[Release, object, Mapping[str, str | None]], Sequence[object]]]] = {
    "clicked": lambda release, value, read: [clicked_area(release, value, read.get("pick"))],
    "search": lambda _, value, __: [value],
    "drawn": lambda _, value, read: [drawn_step(value, read.get("within"))],
    "open-area": lambda release, value, read: opened_steps(release, value, read.get("within")),
    "add-circle": lambda release, _, read: circles(release, read.get("center"), read.get("radii")),
    "radii": lambda release, _, read: circles(release, read.get("center"), read.get("radii")),
}
"""For each way to choose an area, a function that returns its parts."""
