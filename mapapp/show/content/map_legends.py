"""The legend of each kind of map, the same on the page and on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy

from mapapp.answers.wording import Nouns, nouns_of, reader_text
from mapapp.show.content import density, flow_shapes, palette
from mapapp.show.content.colored_units import colored_units
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.unit_circles import circle_legend

_RAMP_STOPS: Final = 17
_RAMP_SHARES: Final = (0.01, 0.1)
"""Shares of the largest density that have a tick."""


def map_legend(content: MapContent, zoom: float | None = None) -> Legend:
    """Return the legend of a map; the zoom level decides which flows it has (:meth:`MapContent.lines`)."""
    legend, nouns = _legend(content, zoom), nouns_of(content.release.facts)
    return legend if nouns is None else _reader_legend(legend, nouns)


def _reader_legend(legend: Legend, nouns: Nouns) -> Legend:
    """The legend in the words of a publication."""

    def reword(items: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(
            replace(item, text=reader_text(item.text, nouns), more=reader_text(item.more, nouns))
            for item in items
        )

    return replace(
        legend,
        title=reader_text(legend.title, nouns),
        items=reword(legend.items),
        outlines=reword(legend.outlines),
        extras=reword(legend.extras),
        notes=tuple(reader_text(note, nouns) for note in legend.notes),
        line=reader_text(legend.line, nouns),
    )


def _legend(content: MapContent, zoom: float | None) -> Legend:
    if content.kind == "lines":
        return _lines(content, zoom)
    make: dict[str, Callable[[MapContent], Legend]] = {
        "density": _density,
        "points": _points,
        "circles": circle_legend,
    }
    return make[content.kind](content) if content.kind in make else colored_units(content).legend


def _density(content: MapContent) -> Legend:
    ramp, highest = content.scheme.warmth, content.density.highest
    places = numpy.linspace(0, 1, _RAMP_STOPS)
    colors = density.ramp_colors(ramp, _RAMP_STOPS).tolist()
    stops = tuple(
        Item("", "#" + "".join(f"{part:02x}" for part in color), opacity=float(opacity))
        for color, opacity in zip(colors, density.ramp_opacity(places), strict=True)
    )
    shares = [share for share in _RAMP_SHARES if highest * share >= 1]
    ticks = [(density.ramp_place(share), _format_rounded(highest * share)) for share in shares]
    ticks.append((1.0, f"{highest:,.0f}" if highest >= 1 else f"{highest:.2g}"))
    title = "Homes per square mile" if content.question.shown_end == "home" else "Jobs per square mile"
    return Legend("ramp", title, stops, tuple(ticks))


def _format_rounded(number: float) -> str:
    """Return a number with two digits that count."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _points(content: MapContent) -> Legend:
    dots = content.dots
    items = tuple(Item(group.name, group.color, 9.0, more=f"{group.n_dots:,}") for group in dots.groups)
    return Legend("swatches", dots.title, items)


def _lines(content: MapContent, zoom: float | None) -> Legend:
    drawn, scheme = content.lines(zoom), content.scheme
    workers = flow_shapes.legend_flows(drawn.frame["workers"].to_numpy())
    strengths = flow_shapes.flow_strengths(workers, drawn.wide, drawn.n_flows)
    widths = flow_shapes.flow_widths(workers, drawn.wide)
    items = tuple(
        Item(
            f"{n:,}",
            palette.blend_colors(scheme.faint_line, scheme.line, strength),
            float(width),
            float(flow_shapes.flow_opacity(strength)),
        )
        for n, width, strength in zip(workers, widths, strengths, strict=True)
    )
    if not items:
        return Legend("lines", "No flows between different places")
    circles = (Item("come in to work", scheme.come), Item("go out to work", scheme.go))
    return Legend("lines", "Workers per flow", items, line="arrows point to work", extras=circles)
