"""How an area is written: the same text in addresses, on the command line and in Python.

An area is a row of steps, each of which adds to, cuts out of, or is common with what the steps before it made::

    county:44007                                a unit, level:identifier (a key of `LEVEL_LABELS`, or "block")
    county:44007 +county:44003                  two of them
    county:44007 -stplc:4459000                 one without a city
    county:44007 &circle:-71.41279,41.82399,5   what lies within 5 miles of a place (longitude, latitude)
    ring:-71.41279,41.82399,5,10                what lies beyond 5 and within 10 miles
    box:-71.5,41.7,-71.3,41.9                   west, south, east, north
    shape:…                                     a polygon, as `geodata.area_shapes.polygon_text` writes it
    all                                         everything, homes outside the imported area included

The first step needs no sign; with "-" or "&" it starts from everything. Steps are taken from left to right.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from geodata import area_shapes
from geodata.errors import GeometryError
from mapapp.errors import UsageError

Sign = Literal["+", "-", "&"]
BLOCK: Final = "block"
"""The layer of single blocks: a step of an area can name one, but no table has a row for each."""
MAX_STEPS: Final = 500
MAX_TEXT: Final = 600_000
MAX_RINGS: Final = 3
DRAWN: Final = ("circle", "ring", "box", "shape")
_DECIMALS: Final = 5  # of a degree: about a metre

_UNIT = re.compile(r"[0-9A-Za-z]{1,24}")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a layer."""

    level: str
    unit_id: str

    def __str__(self) -> str:
        return f"{self.level}:{self.unit_id}"


@dataclass(frozen=True, slots=True)
class Circle:
    """Places farther than `inner_mi` (unless that is 0) and at most `outer_mi` from a place.

    Raises
    ------
    GeometryError
        When the place is not on the globe, or a radius is not what it must be.
    """

    lon_deg: float
    lat_deg: float
    inner_mi: float
    outer_mi: float

    def __post_init__(self) -> None:
        _round(self)
        area_shapes.check_place(self.lon_deg, self.lat_deg)
        area_shapes.check_radius(self.lat_deg, self.outer_mi)
        if not 0 <= self.inner_mi < self.outer_mi:
            raise GeometryError(
                f"ring of {self.inner_mi:g} to {self.outer_mi:g} mi: the inner radius comes first; turn them round"
            )

    def __str__(self) -> str:
        kind = "ring" if self.inner_mi else "circle"
        radii = [self.inner_mi, self.outer_mi] if self.inner_mi else [self.outer_mi]
        return f"{kind}:" + ",".join(_number(value) for value in (self.lon_deg, self.lat_deg, *radii))


@dataclass(frozen=True, slots=True)
class Box:
    """Places between two meridians and two parallels, degrees."""

    west_deg: float
    south_deg: float
    east_deg: float
    north_deg: float

    def __post_init__(self) -> None:
        _round(self)
        area_shapes.box(self.west_deg, self.south_deg, self.east_deg, self.north_deg)

    def __str__(self) -> str:
        edges = (self.west_deg, self.south_deg, self.east_deg, self.north_deg)
        return "box:" + ",".join(_number(value) for value in edges)


@dataclass(frozen=True, slots=True)
class Shape:
    """A polygon or multipolygon, by its text.

    Raises
    ------
    GeometryError
        As `geodata.area_shapes.polygon_of`.
    """

    text: str
    polygon: Any = field(init=False, repr=False, compare=False)  # decoded once: it takes milliseconds

    def __post_init__(self) -> None:
        object.__setattr__(self, "polygon", area_shapes.polygon_of(self.text))

    @classmethod
    def of(cls, polygon: Any) -> Shape:
        """Take a polygon in degrees, to a hundred-thousandth of one."""
        return cls(area_shapes.polygon_text(area_shapes.mended(polygon)))

    def __str__(self) -> str:
        return f"shape:{self.text}"


@dataclass(frozen=True, slots=True)
class Everything:
    """All blocks, and all homes outside the imported area."""

    def __str__(self) -> str:
        return "all"


Part = Unit | Circle | Box | Shape | Everything


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an area."""

    sign: Sign
    part: Part

    def __str__(self) -> str:
        return f"{self.sign}{self.part}"


def area_text(steps: Sequence[Step]) -> str:
    """Write an area; `parse_area` reads it back. A plus in front is left out."""
    return " ".join(map(str, steps)).removeprefix("+")


def parse_area(text: str) -> tuple[Step, ...]:
    """Read an area; whether its units exist is not looked at.

    Raises
    ------
    UsageError, GeometryError
        In one line, which part is wrong and how it should be.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"an area of {len(text):,} characters; simplify its shapes")
    tokens = text.split()
    if not tokens:
        raise UsageError("an area without anything in it; write one such as county:44007")
    if len(tokens) > MAX_STEPS:
        raise UsageError(f"an area of {len(tokens):,} steps; at most {MAX_STEPS} are taken")
    return tuple(_step(token) for token in tokens)


def ring_areas(lon_deg: float, lat_deg: float, radii_mi: Sequence[float]) -> list[tuple[Step, ...]]:
    """The circle within the least radius, and the rings between it and up to two more: areas side by side.

    Raises
    ------
    UsageError, GeometryError
        For no radius, more than three, or one that is not what it must be.
    """
    try:
        radii = sorted({float(radius) for radius in radii_mi})
        lon_deg, lat_deg = float(lon_deg), float(lat_deg)
    except (TypeError, ValueError):
        raise UsageError(
            "rings need a longitude, a latitude and a list of radii in miles, such as -71.41, 41.82, [1, 3]"
        ) from None
    if not 1 <= len(radii) <= MAX_RINGS:
        raise UsageError(f"{len(radii)} radii; give one to {MAX_RINGS} different ones")
    inner = [0.0, *radii[:-1]]
    return [(Step("+", Circle(lon_deg, lat_deg, *pair)),) for pair in zip(inner, radii, strict=True)]


def _step(token: str) -> Step:
    sign = token[0] if token[0] in "+-&" else "+"
    return Step(cast(Sign, sign), _part(token.removeprefix(sign) if token[0] == sign else token))


def _part(text: str) -> Part:
    if text == "all":
        return Everything()
    kind, colon, rest = text.partition(":")
    if not colon:
        raise UsageError(f"area {_short(text)}: write level:identifier, circle:, ring:, box:, shape: or all")
    if kind == "circle":
        lon, lat, radius = _numbers(text, rest, "longitude,latitude,miles", 3)
        return Circle(lon, lat, 0.0, radius)
    if kind == "ring":
        return Circle(*_numbers(text, rest, "longitude,latitude,inner miles,outer miles", 4))
    if kind == "box":
        return Box(*_numbers(text, rest, "west,south,east,north", 4))
    if kind == "shape":
        return Shape(rest)
    if not _UNIT.fullmatch(rest) or not _UNIT.fullmatch(kind):
        raise UsageError(
            f"area {_short(text)}: an identifier has letters and digits only, such as county:44007"
        )
    return Unit(kind, rest)


def _numbers(text: str, rest: str, what: str, count: int) -> list[float]:
    try:
        found = [float(value) for value in rest.split(",")]
    except ValueError:
        found = []
    if len(found) != count or not all(map(math.isfinite, found)):
        raise UsageError(f"area {_short(text)}: it needs {what}, {count} numbers with commas between them")
    return found


def _round(part: Circle | Box) -> None:
    """Keep five decimals, as the text does, so that both always mean the same places."""
    for each in dataclasses.fields(part):
        object.__setattr__(part, each.name, round(float(getattr(part, each.name)), _DECIMALS))


def _number(value: float) -> str:
    """A number as short as it can be."""
    return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")


def _short(text: str) -> str:
    """A stranger's text, fit to be shown: printable, and not long."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:60])
    return f"“{clean}{'…' if len(text) > 60 else ''}”"
