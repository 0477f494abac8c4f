"""Names on the maps of pictures: places, water, counties, and states, the same ones as on the page.

Names outside the release's states are quieter, and come after its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from geodata.geography.distance import mercator_y
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.show.content import map_layers
from mapapp.show.content.ground import water_names
from mapapp.show.content.map_layers import LARGE_PEOPLE, MIDDLE_PEOPLE
from mapapp.show.content.palette import ColorScheme
from mapapp.show.paper.base_map import Frame
from mapapp.show.paper.sheet import PIXELS_PER_INCH, font, printable, width_in

Box = tuple[float, float, float, float]

_SQ_IN_PER_NAME: Final = 14_000 / PIXELS_PER_INCH**2  # more names hide the map; as on the page
_LEAST_NAMES: Final = 4
_WIDE_ZOOM: Final = 6.5  # below it, states are named first
_GAP_IN: Final = 0.05
_HALO_POINTS: Final = 2.2
_NO_LIMIT: Final = math.inf


_ORDER: Final = (
    "middle",
    "water",
    "far-large",
    "small",
    "county",
    "state",
    "far-state",
    "far-city",
)
"""Groups of names, from the most to the least wanted, as in the page's script."""


class _Look(NamedTuple):
    """Size and weight of a kind of name."""

    points: float
    bold: bool = False


_LOOKS: Final = {
    "large": _Look(10.0, bold=True),
    "middle": _Look(8.5, bold=True),
    "small": _Look(8.0),
    "water": _Look(8.0),
    "county": _Look(7.5),
    "state": _Look(8.0, bold=True),
    "far-city": _Look(8.0),
    "far-state": _Look(7.5, bold=True),
}


class MapName(NamedTuple):
    """A name that a map may show.

    Attributes
    ----------
    kind, text : str
    width_in : float
    place : tuple of float
        Its middle in Web Mercator.
    room : float
        Width that it may take there, in the units of Web Mercator.
    """

    kind: str
    text: str
    width_in: float
    place: tuple[float, float]
    room: float


def draw_names(
    axes: Axes,
    release: OpenedPublication,
    frame: Frame,
    scheme: ColorScheme,
    ink_of: Callable[[list[tuple[float, float]]], str] | None = None,
) -> None:
    """Draw as many names as fit without overlaps.

    `ink_of` returns the ink for a name on the fills at some places in degrees, where it needs no halo; or nothing.
    """
    for name in chosen_names(map_names(release), frame):
        is_over_fill = ink_of is not None and name.kind != "water"
        _write(axes, name, scheme, ink_of(_ends_deg(name, frame)) if ink_of and is_over_fill else "")


def _ends_deg(name: MapName, frame: Frame) -> list[tuple[float, float]]:
    """Longitude and latitude of a name's ends and its middle."""
    x, y = name.place
    half = name.width_in / 2 * frame.per_inch
    lat = math.degrees(math.atan(math.sinh(y)))
    return [(math.degrees(at), lat) for at in (x - half, x, x + half)]


def chosen_names(names: Sequence[MapName], frame: Frame, taken: Sequence[Box] = ()) -> list[MapName]:
    """Names for a frame, most wanted first, that overlap neither each other nor a box in `taken`."""
    if frame.zoom < _WIDE_ZOOM:
        names = sorted(names, key=lambda name: not name.kind.endswith("state"))
    most = max(_LEAST_NAMES, frame.width_in * frame.height_in / _SQ_IN_PER_NAME)
    boxes, chosen = list(taken), list[MapName]()
    said: set[str] = set()
    for name in names:
        if len(chosen) >= most:
            break
        box = box_of(name, frame)
        is_free = not any(_overlap(box, taken_box) for taken_box in boxes)
        if (
            name.text not in said
            and _is_inside(box, frame)
            and name.room / frame.per_inch > name.width_in
            and is_free
        ):
            boxes.append(box)
            chosen.append(name)
            said.add(name.text)
    return chosen


def map_names(release: OpenedPublication) -> list[MapName]:
    """Names of a release, from the most to the least wanted, as in the page's script."""
    return release.once(("picture names",), lambda: _map_names(release))


def _map_names(release: OpenedPublication) -> list[MapName]:
    of_kind: dict[str, list[MapName]] = {kind: [] for kind in _ORDER}
    for place in map_layers.places_of(release):
        kind = (
            "large"
            if place.people >= LARGE_PEOPLE
            else "middle"
            if place.people >= MIDDLE_PEOPLE
            else "small"
        )
        listed = of_kind["small" if kind == "small" else "middle"]
        listed.append(_make_name(kind, place.name, (place.lon_deg, place.lat_deg), _NO_LIMIT))
    for water in water_names(map_layers.ground_of(release, "water")):
        lon, lat = water["at"]
        of_kind["water"].append(_make_name("water", water["name"], (lon, lat), water["width_deg"]))
    for kind, layer in (("county", "counties"), ("state", "states")):
        for about in map_layers.base_names(release, layer):
            text = about["name"].upper() if kind == "state" else about["name"]
            west, _, east, _ = about["box"]
            of_kind[kind].append(_make_name(kind, text, (about["at"][0], about["at"][1]), east - west))
    for far in map_layers.surroundings_of(release).names:
        kind = "water" if far.kind == "sea" else f"far-{far.kind}"
        text = far.name.upper() if far.kind == "state" else far.name
        room = far.width_deg or _NO_LIMIT
        listed = of_kind["far-large" if far.people >= LARGE_PEOPLE else kind]
        listed.append(_make_name(kind, text, (far.lon_deg, far.lat_deg), room))
    return [name for listed in of_kind.values() for name in listed]


def _make_name(kind: str, text: str, place_deg: tuple[float, float], room_deg: float) -> MapName:
    lon, lat = place_deg
    place = math.radians(lon), float(mercator_y(numpy.float64(lat)))
    look = _LOOKS[kind]
    return MapName(kind, text, width_in(text, look.points, bold=look.bold), place, math.radians(room_deg))


def box_of(name: MapName, frame: Frame) -> Box:
    """West, south, east, and north of a name with a gap around it, inches from the frame's lower left."""
    x, y = (name.place[0] - frame.west) / frame.per_inch, (name.place[1] - frame.south) / frame.per_inch
    half, tall = name.width_in / 2 + _GAP_IN, _LOOKS[name.kind].points / 72 / 2 + _GAP_IN
    return x - half, y - tall, x + half, y + tall


def _is_inside(box: Box, frame: Frame) -> bool:
    return box[0] > 0 and box[1] > 0 and box[2] < frame.width_in and box[3] < frame.height_in


def _write(axes: Axes, name: MapName, scheme: ColorScheme, ink: str = "") -> None:
    """Write a name in an ink that suits the fill below it, or with a halo, so that it is readable on any color."""
    look = _LOOKS[name.kind]
    axes.text(
        *name.place,
        printable(name.text, bold=look.bold),
        fontproperties=font(look.points, bold=look.bold),
        color=ink or _color_of(name.kind, scheme),
        ha="center",
        va="center",
        parse_math=False,
        path_effects=[] if ink else [withStroke(linewidth=_HALO_POINTS, foreground=scheme.halo)],
        zorder=9,
    )


def _color_of(kind: str, scheme: ColorScheme) -> str:
    if kind == "water":
        return scheme.water_name
    return scheme.state_line if kind.startswith("far-") else scheme.ink


def _overlap(box: Box, neighbor: Box) -> bool:
    return bool(
        box[0] < neighbor[2] and neighbor[0] < box[2] and box[1] < neighbor[3] and neighbor[1] < box[3]
    )
