"""The text of an area, the same in addresses, on the command line and in Python.

An area is a sequence of steps. Each adds to, removes from, or intersects with the result of the steps before it::

    county:44007                                a unit, level:identifier (level: a key of `LEVEL_LABELS`, or "block")
    county:44007 +county:44003                  two units
    tract:44007000800,44007000700@Downtown      several units of one level, which may have a name
    county:44007 -stplc:4459000                 a unit without a city
    county:44007 &circle:-71.41279,41.82399,5   its part within 5 miles of a point (longitude, latitude)
    ring:-71.41279,41.82399,5,10                beyond 5 and within 10 miles of a point
    box:-71.5,41.7,-71.3,41.9                   west, south, east, north
    shape:…                                     a polygon, as `geodata.geography.area_shapes.polygon_text` writes it
    near:stplc:4459000,1                        within 1 mile of a unit, a box or a shape, which is included
    line:…,0.5                                  within 0.5 miles of a line, as `geodata.geography.area_shapes.line_text`
    writes it line:-71.41,41.82,-71.31,41.49,0.5          the same for a line from corner to corner (longitude,
    latitude) all                                         everything, including homes outside the imported area
    circle:-71.4,41.8,0.5@Brown+University      a drawn part with a name for readers, escaped as in an address

The first step needs no sign; with "-" or "&" it starts from everything. Steps apply from left to right.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast
from urllib.parse import quote_plus, unquote_plus

import shapely
from shapely.geometry.base import BaseGeometry

from geodata.errors import GeometryError
from geodata.geography import area_shapes, corridors
from geodata.geography.area_files import AreaFile
from mapapp.base.errors import UsageError

Sign = Literal["+", "-", "&"]
BLOCK: Final = "block"
"""The layer of single blocks: a step of an area can name a block, but tables do not have a row for each."""
MAX_STEPS: Final = 500
MAX_TEXT: Final = 600_000
MAX_RINGS: Final = 3
MAX_LABEL: Final = 60
"""Letters of the name of a drawn part."""
DRAWN: Final = ("circle", "ring", "box", "shape", "line", "near")
MAX_UNITS: Final = 50
"""Units of one part."""
_DECIMALS: Final = 5  # of a degree: about 1 m

_NEAR_NOTHING: Final = ("near", "line", "circle", "ring", "all")
"""Parts that `near:` does not take; checked first, so that no text can nest."""
_UNIT = re.compile(r"[0-9A-Za-z]{1,24}")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a layer."""

    level: str
    unit_id: str

    def __str__(self) -> str:
        return f"{self.level}:{self.unit_id}"

    @property
    def units(self) -> tuple[Unit, ...]:
        """The unit itself, as of several units."""
        return (self,)


@dataclass(frozen=True, slots=True)
class Units:
    """Several units of one layer as one part, such as the tracts of a downtown.

    Raises
    ------
    UsageError
        If there are more than `MAX_UNITS`.
    """

    level: str
    unit_ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.unit_ids) > MAX_UNITS:
            raise UsageError(
                f"area {_short(str(self))}: {len(self.unit_ids):,} units; give at most {MAX_UNITS}"
            )

    def __str__(self) -> str:
        return f"{self.level}:{','.join(self.unit_ids)}"

    @property
    def units(self) -> tuple[Unit, ...]:
        """Each of the units."""
        return tuple(Unit(self.level, unit_id) for unit_id in self.unit_ids)


@dataclass(frozen=True, slots=True)
class Circle:
    """Points more than `inner_mi` (unless that is 0) and at most `outer_mi` from a point.

    Raises
    ------
    GeometryError
        If the point is not on the globe, or a radius is not allowed.
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
                f"ring of {self.inner_mi:g} to {self.outer_mi:g} mi: the first radius must be smaller; swap them"
            )

    def __str__(self) -> str:
        kind = "ring" if self.inner_mi else "circle"
        radii = [self.inner_mi, self.outer_mi] if self.inner_mi else [self.outer_mi]
        return f"{kind}:" + ",".join(_number(value) for value in (self.lon_deg, self.lat_deg, *radii))


@dataclass(frozen=True, slots=True)
class Box:
    """Points between two meridians and two parallels, degrees."""

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
    """A polygon or multipolygon, given by its text.

    Raises
    ------
    GeometryError
        As raised by `geodata.geography.area_shapes.polygon_of`.
    """

    text: str
    polygon: shapely.Geometry = dataclasses.field(
        init=False, repr=False, compare=False
    )  # decoded once: it takes milliseconds

    def __post_init__(self) -> None:
        object.__setattr__(self, "polygon", area_shapes.polygon_of(self.text))

    @classmethod
    def of(cls, polygon: shapely.Geometry) -> Shape:
        """Make a shape from a polygon in degrees, rounded to 0.00001."""
        return cls(area_shapes.polygon_text(area_shapes.mend_polygon(polygon)))

    def __str__(self) -> str:
        return f"shape:{self.text}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line or several, given by their text; an edge goes the shorter way around the globe.

    Raises
    ------
    GeometryError
        As raised by `geodata.geography.area_shapes.lines_of`.
    """

    text: str
    lines: shapely.Geometry = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", corridors.unwrap_lines(area_shapes.lines_of(self.text)))

    @classmethod
    def of(cls, lines: shapely.Geometry) -> Line:
        """Make a line from a line or multiline in degrees, rounded to 0.00001."""
        return cls(area_shapes.line_text(lines))


@dataclass(frozen=True, slots=True)
class Corridor:
    """Points within some miles of a line, a unit, a box or a shape, which are part of it.

    Raises
    ------
    GeometryError
        If the distance or the line is not allowed.
    """

    of: Unit | Units | Box | Shape | Line
    miles: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "miles", round(float(self.miles), _DECIMALS))
        if self.edges is None:
            corridors.check_miles(self.miles)
        else:
            corridors.check_lines(self.edges, self.miles)

    @property
    def edges(self) -> shapely.Geometry | None:
        """What the distance is measured from, degrees; None for units, which only a release knows."""
        if isinstance(self.of, Line):
            return self.of.lines
        return None if isinstance(self.of, Unit | Units) else polygon_of(self.of)

    def __str__(self) -> str:
        of = f"line:{self.of.text}" if isinstance(self.of, Line) else f"near:{self.of}"
        return f"{of},{_number(self.miles)}"


@dataclass(frozen=True, slots=True)
class Everything:
    """All blocks and all homes outside the imported area."""

    def __str__(self) -> str:
        return "all"


Part = Unit | Units | Circle | Box | Shape | Corridor | Everything


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an area; a drawn part, or several units, may have a name for readers.

    Raises
    ------
    UsageError
        If the name is longer than `MAX_LABEL`, or a unit has one.
    """

    sign: Sign
    part: Part
    label: str = ""

    def __post_init__(self) -> None:
        clean = " ".join(
            "".join(character if character.isprintable() else " " for character in self.label).split()
        )
        object.__setattr__(self, "label", clean)
        if len(clean) > MAX_LABEL:
            raise UsageError(f"name {_short(clean)}: it has {len(clean):,} letters; give at most {MAX_LABEL}")
        if clean and isinstance(self.part, Unit | Everything):
            raise UsageError(f"area {_short(str(self.part))}: a unit has a name of its own; leave out @")

    def __str__(self) -> str:
        return f"{self.sign}{self.part}" + (f"@{quote_plus(self.label)}" if self.label else "")


def area_text(steps: Sequence[Step]) -> str:
    """Write an area as text, which `parse_area` reads back. A leading plus is omitted."""
    return " ".join(map(str, steps)).removeprefix("+")


def parse_area(text: str) -> tuple[Step, ...]:
    """Parse an area; whether its units exist is not checked.

    Raises
    ------
    UsageError, GeometryError
        If the text is not an area; one line that names the wrong part and says what is allowed.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(
            f"the area has {len(text):,} characters; at most {MAX_TEXT:,} are allowed; simplify its shapes"
        )
    tokens = text.split()
    if not tokens:
        raise UsageError("the area is empty; give one such as county:44007")
    if len(tokens) > MAX_STEPS:
        raise UsageError(f"the area has {len(tokens):,} steps; at most {MAX_STEPS} are allowed; remove some")
    return tuple(_step(token) for token in tokens)


def ring_areas(lon_deg: float, lat_deg: float, radii_mi: Sequence[float]) -> list[tuple[Step, ...]]:
    """Return the circle of the smallest radius and the rings out to each larger one, as separate areas.

    Raises
    ------
    UsageError, GeometryError
        If there is no radius, more than three, or one that is not allowed.
    """
    try:
        radii = sorted({float(radius) for radius in radii_mi})
        lon_deg, lat_deg = float(lon_deg), float(lat_deg)
    except (TypeError, ValueError):
        raise UsageError(
            "rings need a longitude, a latitude, and a list of radii in miles, such as -71.41, 41.82, [1, 3]"
        ) from None
    if not 1 <= len(radii) <= MAX_RINGS:
        raise UsageError(f"{len(radii)} different radii; give 1 to {MAX_RINGS}")
    inner = [0.0, *radii[:-1]]
    return [(Step("+", Circle(lon_deg, lat_deg, *pair)),) for pair in zip(inner, radii, strict=True)]


def widen_area(steps: Sequence[Step], miles: float) -> tuple[Step, ...]:
    """Return an area with a corridor around each unit, box and shape that it adds; an earlier corridor is replaced.

    What is removed or intersected stays as it is.

    Raises
    ------
    UsageError, GeometryError
        If the distance is not allowed, or nothing that is added can have a corridor.
    """

    def widen_part(step: Step) -> Step:
        of = step.part.of if isinstance(step.part, Corridor) else step.part
        if step.sign != "+":
            return step
        if isinstance(of, Circle | Everything):
            what = (
                "a circle has a radius of its own" if isinstance(of, Circle) else "there is nothing around it"
            )
            raise UsageError(f"area {_short(str(step.part))}: {what}; give a unit, a box, a shape, or a line")
        return Step("+", Corridor(of, miles))

    if all(step.sign != "+" for step in steps):
        raise UsageError(f"area {_short(area_text(steps))}: it adds nothing to be near; give a unit first")
    return tuple(widen_part(step) for step in steps)


def polygon_of(part: Circle | Box | Shape) -> shapely.Geometry:
    """Return the outline of a drawn part, degrees."""
    if isinstance(part, Shape):
        return part.polygon
    if isinstance(part, Box):
        return area_shapes.box(part.west_deg, part.south_deg, part.east_deg, part.north_deg)
    outer = area_shapes.circle(part.lon_deg, part.lat_deg, part.outer_mi)
    if not part.inner_mi:
        return outer
    return shapely.difference(outer, area_shapes.circle(part.lon_deg, part.lat_deg, part.inner_mi))


def _step(token: str) -> Step:
    sign = token[0] if token[0] in "+-&" else "+"
    text, _, label = (token.removeprefix(sign) if token[0] == sign else token).partition("@")
    return Step(cast(Sign, sign), _part(text), unquote_plus(label))


def _part(text: str) -> Part:
    if text == "all":
        return Everything()
    kind, colon, rest = text.partition(":")
    if not colon:
        raise UsageError(
            f"area {_short(text)}: give level:identifier, circle:, ring:, box:, shape:, line:, near: or all"
        )
    if kind == "circle":
        lon, lat, radius = _numbers(text, rest, "longitude,latitude,miles", 3)
        return Circle(lon, lat, 0.0, radius)
    if kind == "ring":
        return Circle(*_numbers(text, rest, "longitude,latitude,inner miles,outer miles", 4))
    if kind == "box":
        return Box(*_numbers(text, rest, "west,south,east,north", 4))
    if kind == "shape":
        return Shape(rest)
    if kind in ("line", "near"):
        return _corridor(text, kind, rest)
    unit_ids = tuple(dict.fromkeys(rest.split(",")))
    if not all(map(_UNIT.fullmatch, (kind, *unit_ids))):
        raise UsageError(
            f"area {_short(text)}: an identifier has only letters and digits, such as county:44007"
        )
    return Unit(kind, unit_ids[0]) if len(unit_ids) == 1 else Units(kind, unit_ids)


def _corridor(text: str, kind: str, rest: str) -> Corridor:
    of, comma, last = rest.rpartition(",")
    try:
        miles = float(last) if comma else math.nan
    except ValueError:
        miles = math.nan
    if not math.isfinite(miles):
        raise UsageError(f"area {_short(text)}: end it with a comma and a distance in miles, such as ,0.5")
    if kind == "line":
        return Corridor(_typed_line(text, of) if "," in of else Line(of), miles)
    if of.partition(":")[0] not in _NEAR_NOTHING and isinstance(
        part := _part(of), Unit | Units | Box | Shape
    ):
        return Corridor(part, miles)
    raise UsageError(
        f"area {_short(text)}: near: takes level:identifier, box: or shape:, such as near:county:44007,1"
    )


def _typed_line(text: str, of: str) -> Line:
    count = of.count(",") + 1
    places = _numbers(text, of, "longitude,latitude of each corner, then miles", count + count % 2)
    if count < 4:
        raise UsageError(
            f"area {_short(text)}: a line has at least two corners; give longitude,latitude of each"
        )
    for lon_deg, lat_deg in zip(places[::2], places[1::2], strict=True):
        area_shapes.check_place(lon_deg, lat_deg)
    return Line.of(shapely.LineString(zip(places[::2], places[1::2], strict=True)))


def _numbers(text: str, rest: str, what: str, count: int) -> list[float]:
    try:
        numbers = [float(value) for value in rest.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise UsageError(f"area {_short(text)}: give {what}: {count} numbers separated by commas")
    return numbers


def _round(part: Circle | Box) -> None:
    """Round to five decimals, as the text does, so that both always mean the same area."""
    for field in dataclasses.fields(part):
        object.__setattr__(part, field.name, round(float(getattr(part, field.name)), _DECIMALS))


def _number(value: float) -> str:
    """Return the shortest text of a number."""
    return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".")


def _short(text: str) -> str:
    """Return untrusted text in a form that is safe to show: printable and short."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:60])
    return f"“{clean}{'…' if len(text) > 60 else ''}”"


# Parts of an area from geometries: polygons, or corridors around polygons and lines.

_LINES = ("LineString", "MultiLineString", "LinearRing")


def part_of(geometry: BaseGeometry, miles: float | None = None) -> Shape | Corridor:
    """Return a geometry in degrees as a part of an area, with a corridor around it if a distance is given.

    Raises
    ------
    GeometryError
        If it has no area and no distance is given, or it is otherwise not allowed.
    """
    if geometry.geom_type not in _LINES:
        shape = Shape.of(geometry)
        return shape if miles is None else Corridor(shape, miles)
    if miles is None:
        raise GeometryError("a line has no area; give a distance in miles to make a corridor around it")
    return Corridor(Line.of(geometry), miles)


def geometries_of(file: AreaFile, miles: float | None = None) -> list[BaseGeometry]:
    """Return what a file contributes to an area: its polygons, and its lines if a distance is given.

    Tracks are areas without a distance, and lines with one.

    Raises
    ------
    GeometryError
        If the file has only lines, and no distance is given.
    """
    area = None if file.lines is not None and file.is_closed and miles is not None else file.area
    lines = file.lines if miles is not None else None
    geometries = [geometry for geometry in (area, lines) if geometry is not None]
    if not geometries:
        raise GeometryError(
            "the file holds lines but no polygons; give a distance in miles to make a corridor around them"
        )
    return geometries
