"""The map of a table's stars: units colored by the share of people in suppressed cells, or by the counts of flows."""

from __future__ import annotations

from typing import Final

import numpy

from mapapp.answers.tables.served_table import ServedTable, Shown
from mapapp.answers.words import may_be_released
from mapapp.drawing import map_layers
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.paper import base_map
from mapapp.drawing.paper.answer_layers import fill_units
from mapapp.drawing.paper.legend import SCALE_IN, Item, Legend, draw_legend, draw_scale, legend_height_in
from mapapp.drawing.paper.map_names import draw_names, map_names
from mapapp.drawing.paper.map_picture import MARGIN_IN, SIZE_IN
from mapapp.drawing.paper.paper import Form, Sheet, check, drawing, encoded
from mapapp.drawing.paper.source import Foot, draw_foot, foot_height_in
from mapapp.drawing.table_map import TableMap, table_map
from mapapp.question.table_view import Shade

__all__ = ["stars_picture", "stars_words"]

_TITLE_POINTS: Final = 12.5
_WHAT_POINTS: Final = 8.5
_SUPPRESSED: Final = "Share of each unit's people whose cells are suppressed"


def stars_picture(
    served: ServedTable,
    part: int,
    *,
    form: Form = "png",
    scale: int = 1,
    size_in: tuple[float, float] = SIZE_IN,
) -> bytes:
    """Draw where the stars of one of the tables are; `part` counts from 1.

    A table of flows is drawn for the workplace with the most people: counts by home, and homes with a star.

    Parameters
    ----------
    served, part
    form, scale, size_in
        As for :func:`mapapp.drawing.paper.map_picture`.

    Raises
    ------
    UsageError
        For an invalid form, scale or size.
    """
    check(form, scale, size_in)
    shown, promise = served.shown(part), served.published.promise
    scheme = COLOR_SCHEMES["light"]
    shade: Shade = "value" if shown.table.is_flows else "stars"
    found = table_map(shown, promise, next(iter(shown.columns)), shade, scheme)
    map_names(served)  # queries first, because drawing holds a lock
    with drawing():
        sheet = Sheet(size_in, scheme)
        inner = sheet.width - 2 * MARGIN_IN
        y = sheet.block(
            MARGIN_IN, 0.1, shown.table.title, width=inner, size=_TITLE_POINTS, lines=2, bold=True
        )
        y = sheet.block(
            MARGIN_IN,
            y + 0.02,
            _what(shown),
            width=inner,
            size=_WHAT_POINTS,
            lines=2,
            color=sheet.colors.quiet,
        )
        foot = _foot(served)
        draw_foot(sheet, foot, MARGIN_IN)
        below_in = foot_height_in(foot, inner) + legend_height_in("areas", n_outlines=0) + 0.12
        top = y + 0.07
        height = sheet.height - top - below_in
        frame = base_map.frame_of(map_layers.home_bounds(served), inner, height, 0.05)
        axes = sheet.axes(MARGIN_IN, top, inner, height)
        base_map.draw_land(axes, served, frame, scheme)
        units = base_map.layer_units(served, shown.row_layer)
        colors = {place: color for place, color in enumerate(found.colors) if color.startswith("#")}
        fill_units(
            axes, units, dict(zip(found.unit_ids, found.of.tolist(), strict=True)), colors, frame, scheme
        )
        base_map.draw_borders(axes, served, frame, scheme)
        base_map.draw_ground(axes, served, frame, scheme)
        draw_names(axes, served, frame, scheme)
        base_map.draw_frame(sheet, MARGIN_IN, top, inner, height)
        draw_legend(sheet, _legend(found), MARGIN_IN, top + height + 0.1, inner - SCALE_IN - 0.15)
        draw_scale(sheet, frame, sheet.width - MARGIN_IN, top + height + 0.1)
        return encoded(sheet, form, scale, shown.table.title, stars_words(served, part))


def stars_words(served: ServedTable, part: int) -> str:
    """A description of the map for screen readers."""
    shown = served.shown(part)
    starred = (shown.numbers("value") < 0) & (shown.numbers("people") > 0)
    return (
        f"Map. {shown.table.title}. {_what(shown)}. {int(starred.any(axis=1).sum())} of {len(shown.rows)} units have a "
        f"suppressed cell. {_source(served)}."
    )


def _what(shown: Shown) -> str:
    return next(iter(shown.columns.values())) if shown.table.is_flows else _SUPPRESSED


def _legend(found: TableMap) -> Legend:
    sizes = numpy.bincount(found.of, minlength=len(found.texts))
    items = tuple(
        Item(text, color)
        for text, color, size in zip(found.texts, found.colors, sizes, strict=True)
        if size and color.startswith("#")
    )
    return Legend("classes", " ".join(found.title), items)


def _foot(served: ServedTable) -> Foot:
    publication = f"Table {served.title} ({served.version}) · CommuteMap"
    return Foot((_source(served), publication), may_be_released(served.certificate))


def _source(served: ServedTable) -> str:
    promise = served.published.promise
    return (
        f"Exact counts with suppressed cells · {served.title} · epsilon-semantic privacy if the prior is right: "
        f"ε {float(promise.epsilon):g}, δ {float(promise.delta):g}"
    )
