"""The borders of chosen areas as maps draw them: what was drawn as it was drawn, and units as they are published.

An answer counts whole blocks, so the blocks of a drawn area have a border of their own, which maps show below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy
import numpy.typing as npt
import shapely

from geodata.geography.distance import EARTH_RADIUS_MI
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.question.area_text import (
    Corridor,
    Everything,
    Line,
    Part,
    Step,
    Unit,
    Units,
    parse_area,
    polygon_of,
)
from mapapp.show.content import area_outlines
from mapapp.show.content.map_layers import pack_shapes

_MI_PER_DEG: Final = EARTH_RADIUS_MI * math.pi / 180
_COMBINE: Final = {"+": shapely.union, "-": shapely.difference, "&": shapely.intersection}


def is_drawn(areas: Sequence[str]) -> bool:
    """Whether an area has a part whose border is not that of its blocks: a circle, a box, a shape, or a corridor."""
    return any(not isinstance(step.part, Unit | Units | Everything) for step in _steps(areas))


def borders(release: OpenedPublication, areas: tuple[str, ...]) -> dict[str, shapely.Geometry]:
    """Polygons of the parts of an area, degrees; one polygon if parts are cut out or intersected."""

    def make() -> dict[str, shapely.Geometry]:
        steps = _steps(areas)
        shapes = [_border(release, step.part) for step in steps] if is_drawn(areas) else []
        if not shapes or any(shape is None for shape in shapes) or steps[0].sign != "+":
            return area_outlines.shapes(release, areas)
        if all(step.sign == "+" for step in steps):
            return dict(zip(areas, shapes, strict=True))
        signs = [step.sign for step in steps]
        return {"area": reduce(_combine_shapes, zip(signs[1:], shapes[1:], strict=True), shapes[0])}

    return release.once(("borders", areas), make)


def borders_file(release: OpenedPublication, areas: tuple[str, ...]) -> bytes:
    """Gzipped GeoJSON of the borders of an area, and of the lines that its corridors are around."""

    def make() -> bytes:
        shown = borders(release, areas) | _lines(areas)
        return pack_shapes(list(shown), list(shown.values()))

    return release.once(("borders file", areas), make)


def around(shape: shapely.Geometry, miles: float) -> shapely.Geometry:
    """Return the polygon within some miles of a shape in degrees, for a map: exact in its middle latitude."""
    _, south, _, north = shapely.bounds(shape)
    stretch = numpy.array([math.cos(math.radians((south + north) / 2)), 1.0])

    def flat(corners: npt.NDArray[numpy.float64]) -> npt.NDArray[numpy.float64]:
        return numpy.asarray(corners * stretch)

    wide = shapely.buffer(shapely.transform(shape, flat), miles / _MI_PER_DEG)
    return shapely.transform(wide, lambda corners: corners / stretch)


def _steps(areas: Sequence[str]) -> list[Step]:
    return [step for area in areas for step in parse_area(area)]


def _border(release: OpenedPublication, part: Part) -> shapely.Geometry | None:
    """Return the polygon of a part of an area; None if it has none, such as everything."""
    if isinstance(part, Everything):
        return None
    if isinstance(part, Unit):
        return area_outlines.unit_outlines(release, (str(part),))[str(part)]
    if isinstance(part, Units):
        return area_outlines.selected_shape(release, (str(part),))
    if isinstance(part, Corridor):
        edges = _border(release, part.of) if isinstance(part.of, Unit | Units) else part.edges
        return None if edges is None else around(edges, part.miles)
    return polygon_of(part)


def _combine_shapes(before: shapely.Geometry, step: tuple[str, shapely.Geometry]) -> shapely.Geometry:
    sign, shape = step
    return _COMBINE[sign](before, shape)


def _lines(areas: Sequence[str]) -> dict[str, shapely.Geometry]:
    parts = {str(step): step.part for step in _steps(areas)}
    return {
        f"line of {text}": part.of.lines
        for text, part in parts.items()
        if isinstance(part, Corridor) and isinstance(part.of, Line)
    }
