"""The legend of each kind of map, the same on the page and on paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy

from mapapp.question.fields import Side
from mapapp.show.content import flow_shapes, palette
from mapapp.show.content.colored_units import colored_units
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.unit_circles import circle_legend

_LEAST_OPACITY: Final = 60 / 255  # of a density's lowest color, see `mapapp.show.content.density`
_MOST_OPACITY: Final = 235 / 255


def map_legend(content: MapContent, zoom: float | None = None) -> Legend:
    """Return the legend of a map; the zoom level decides which flows it has (:meth:`MapContent.lines`)."""
    if content.kind == "lines":
        return _lines(content, zoom)
    make: dict[str, Callable[[MapContent], Legend]] = {
        "density": _density,
        "points": _points,
        "circles": circle_legend,
    }
    return make[content.kind](content) if content.kind in make else colored_units(content).legend


def _density(content: MapContent) -> Legend:
    image, ramp = content.density, content.scheme.ramp
    low, high = math.log10(image.lowest), math.log10(image.highest)
    ticks = tuple(
        ((power - low) / (high - low), f"{10**power:,.0f}" if power >= 0 else f"{10**power:g}")
        for power in range(math.ceil(low), math.floor(high) + 1)
    )
    opacity = numpy.linspace(_LEAST_OPACITY, _MOST_OPACITY, len(ramp)) * 0.9
    stops = [Item("", color, opacity=float(a)) for color, a in zip(ramp, opacity, strict=True)]
    return Legend("ramp", "Workers per square mile", tuple(stops), ticks)


def _points(content: MapContent) -> Legend:
    colors: dict[Side, str] = {"home": content.scheme.home, "work": content.scheme.work}
    return Legend(
        "swatches",
        items=tuple(
            Item(content.point_names[end], colors[end], *palette.point_look(len(places["lon_deg"])))
            for end, places in content.points.items()
        ),
    )


def _lines(content: MapContent, zoom: float | None) -> Legend:
    drawn, scheme = content.lines(zoom), content.scheme
    workers = flow_shapes.legend_flows(drawn.frame["workers"].to_numpy())
    strengths = flow_shapes.flow_strengths(workers, drawn.wide, drawn.n_flows)
    widths = flow_shapes.flow_widths(workers, drawn.wide)
    items = tuple(
        Item(
            f"{n:,}",
            palette.blended(scheme.faint_line, scheme.line, strength),
            float(width),
            float(flow_shapes.flow_opacity(strength)),
        )
        for n, width, strength in zip(workers, widths, strengths, strict=True)
    )
    if not items:
        return Legend("lines", "No flows between different places")
    circles = (Item("come in to work", scheme.come), Item("go out to work", scheme.go))
    return Legend("lines", "Workers per flow", items, line="arrows point to work", extras=circles)
