"""A self-contained map: the page's map with title, legend, scale, north arrow, source and promise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import numpy
from matplotlib.axes import Axes

from mapapp.answers import served_answers, words
from mapapp.answers.release import Release
from mapapp.question.fields import Side, Theme
from mapapp.question.question import OTHER_END, Question
from mapapp.question.view import Bounds
from mapapp.show.content import area_outlines, camera, chosen_areas, map_layers
from mapapp.show.content.colored_units import ink_of_names
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.map_captions import map_caption
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.map_legends import map_legend
from mapapp.show.content.palette import COLOR_SCHEMES, ColorScheme
from mapapp.show.paper import base_map
from mapapp.show.paper.answer_layers import draw_answer
from mapapp.show.paper.legend import (
    SCALE_IN,
    draw_foot,
    draw_legend,
    draw_scale,
    foot_height_in,
    foot_of,
    legend_height_in,
    source_words,
)
from mapapp.show.paper.map_names import draw_names, map_names
from mapapp.show.paper.sheet import Form, Sheet, check, drawing, encode_sheet

SIZE_IN: Final = (7.5, 7.0)
MARGIN_IN: Final = 0.14
_TITLE_POINTS: Final = 12.5
_WHAT_POINTS: Final = 8.5
_LEAST_MAP_IN: Final = 0.6


def map_picture(
    content: MapContent,
    *,
    form: Form = "png",
    scale: int = 1,
    size_in: tuple[float, float] = SIZE_IN,
    bounds: Bounds | None = None,
    title: str = "",
) -> bytes:
    """Draw the map of an answer or of its change.

    Parameters
    ----------
    content : MapContent
    form : {"png", "svg"}
    scale : int
        1 to 4; at 1, a PNG has 96 pixels per inch.
    size_in : tuple of float
        Width and height of the whole picture, inches.
    bounds : tuple of float, optional
        West, south, east and north in degrees that the map must show, such as the page's; by default the areas and most
        of their workers.
    title : str
        Title in place of the analysis and area.

    Returns
    -------
    bytes
        A PNG or SVG file; the same content gives the same bytes.

    Raises
    ------
    UsageError
        For an invalid form, scale or size.
    """
    check(form, scale, size_in)
    heading, zoom = title or map_title(content), _zoom_of(content, size_in, bounds)
    # Do all queries first, because drawing holds a lock.
    said = map_words(content, size_in=size_in, bounds=bounds)
    map_names(content.release)
    legend = replace(map_legend(content, zoom), outlines=_outline_items(content))
    with drawing():
        sheet = Sheet(size_in, content.scheme)
        _draw(sheet, content, bounds, heading, zoom, legend)
        return encode_sheet(sheet, form, scale, heading, said)


def map_title(content: MapContent) -> str:
    """The analysis and its area."""
    release, question = content.release, content.question
    about = served_answers.result(release, question).about
    if question.entry.n_needed == 2 and question.is_complete:
        ends = question.ends
        home, work = (release.areas.select(ends[end]).name for end in ("home", "work"))
        return f"{about.title}: homes in {home}, workplaces in {work}"
    if question.areas:
        return f"{about.title}: {words.place_name(release, question)}"
    if not question.entry.n_needed:
        return f"{about.title}: {release.title}"
    return f"All workers: {release.title}"


def map_words(
    content: MapContent, *, size_in: tuple[float, float] = SIZE_IN, bounds: Bounds | None = None
) -> str:
    """A description for screen readers of a map with the size and bounds of :func:`map_picture`."""
    zoom = _zoom_of(content, size_in, bounds)
    return f"Map. {'. '.join(_what(content, zoom))}. {source_words(content.release)}."


def _zoom_of(content: MapContent, size_in: tuple[float, float], bounds: Bounds | None) -> float:
    """About the zoom level of a picture's map, which decides which places are grouped in it."""
    width, height = (max(side - 2 * MARGIN_IN, _LEAST_MAP_IN) for side in size_in)
    return base_map.frame_of(bounds or content.bounds, width, height, 0.05).zoom


def draw_outlines(
    axes: Axes,
    release: Release,
    areas: tuple[str, ...],
    color: str,
    frame: base_map.Frame,
    scheme: ColorScheme,
    **look: object,
) -> None:
    """Draw the border of areas with a halo that contrasts with any color below; with `look`, without the halo."""
    borders = list(chosen_areas.borders(release, areas).values()) if areas else []
    if borders:
        shapes = base_map.mercator(numpy.array([*borders, None], dtype=object)[:-1])
        path = base_map.outline(shapes, frame)
        if not look:
            base_map.stroke(axes, path, scheme.halo, 6, alpha=0.85, zorder=7)
        base_map.stroke(axes, path, color, 3, **({"zorder": 7.1} | look))
        base_map.draw_ring(axes, shapes, frame, color)


def _draw(
    sheet: Sheet, content: MapContent, bounds: Bounds | None, title: str, zoom: float, legend: Legend
) -> None:
    inner = sheet.width - 2 * MARGIN_IN
    y = sheet.block(MARGIN_IN, 0.1, title, width=inner, size=_TITLE_POINTS, lines=2, bold=True)
    for text in _what(content, zoom):
        y = sheet.block(
            MARGIN_IN, y + 0.02, text, width=inner, size=_WHAT_POINTS, lines=2, color=sheet.colors.quiet
        )
    top = y + 0.07
    foot = foot_of(content.release, is_published=content.kind == "share")
    draw_foot(sheet, foot, MARGIN_IN)
    foot_in = foot_height_in(foot, inner)
    legend_in = legend_height_in(legend) + 0.12
    height = max(sheet.height - top - foot_in - legend_in, _LEAST_MAP_IN)
    axes = sheet.axes(MARGIN_IN, top, inner, height)
    frame = base_map.frame_of(bounds or content.bounds, inner, height, 0.0 if bounds else 0.05)
    _map(axes, content, frame, zoom)
    base_map.draw_frame(sheet, MARGIN_IN, top, inner, height)
    below = top + height + 0.1
    draw_legend(sheet, legend, MARGIN_IN, below, inner - SCALE_IN - 0.15)
    draw_scale(sheet, frame, sheet.width - MARGIN_IN, below)


def _map(axes: Axes, content: MapContent, frame: base_map.Frame, zoom: float) -> None:
    """Draw everything inside the frame."""
    release, question, scheme = content.release, content.question, content.scheme
    colors: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
    base_map.draw_land(axes, release, frame, scheme)
    draw_answer(axes, content, frame, zoom)
    base_map.draw_borders(axes, release, frame, scheme)
    base_map.draw_ground(axes, release, frame, scheme)
    draw_outlines(axes, release, question.areas, _outline_color(question, scheme), frame, scheme)
    other_areas = question.shown_others
    # Both borders are the same, so the second is dashed to show both.
    dashes: dict[str, object] = (
        {"linestyle": (0, (3, 3)), "capstyle": "butt"} if other_areas == question.areas else {}
    )
    draw_outlines(axes, release, other_areas, colors[OTHER_END[question.side]], frame, scheme, **dashes)
    draw_names(axes, release, frame, scheme, partial(ink_of_names, content))


def _outline_color(question: Question, scheme: ColorScheme) -> str:
    """The color of the chosen area's border: that of its end, or of neither where commutes cross it both ways."""
    if question.analysis == "inflow-outflow":
        return scheme.ink
    return scheme.work if question.side == "work" else scheme.home


def _outline_items(content: MapContent) -> tuple[Item, ...]:
    """Legend entries of the drawn borders."""
    release, question, scheme = content.release, content.question, content.scheme
    colors: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
    both: tuple[tuple[tuple[str, ...], Side], ...] = (
        (question.areas, question.side),
        (question.shown_others, OTHER_END[question.side]),
    )
    both_ends = "side" not in question.entry.fields
    return tuple(
        Item(
            f"{words.steps_name(release, steps)}{'' if both_ends else _END[side]}",
            _outline_color(question, scheme) if side == question.side else colors[side],
        )
        for steps, side in both
        if steps and area_outlines.bounds(release, steps) is not None
    )


_END: Final = {"work": " (where they work)", "home": " (where they live)"}


def _what(content: MapContent, zoom: float | None) -> list[str]:
    only = content.release.attributes.words(content.question.filters)
    return [map_caption(content, zoom), *([f"Only: {only}"] if only else [])]


# A small map that shows where an area lies in its release's region.

LOCATOR_SIZE_IN: Final = (2.4, 2.4)


def locator_picture(
    release: Release,
    question: Question,
    *,
    theme: Theme = "light",
    form: Form = "png",
    scale: int = 1,
    size_in: tuple[float, float] = LOCATOR_SIZE_IN,
) -> bytes:
    """Draw where the areas of a question lie within the states that the release covers.

    Parameters
    ----------
    release, question, theme, form, scale, size_in
        As for :func:`mapapp.show.paper.map_picture`.

    Raises
    ------
    UsageError
        For an invalid form, scale or size.
    """
    check(form, scale, size_in)
    scheme = COLOR_SCHEMES[theme]
    with drawing():
        sheet = Sheet(size_in, scheme)
        axes = sheet.axes(0.02, 0.02, sheet.width - 0.04, sheet.height - 0.04)
        sides: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
        areas = [
            (question.areas, sides[question.side]),
            (question.shown_others, sides[OTHER_END[question.side]]),
        ]
        boxes = [area_outlines.bounds(release, steps) for steps, _ in areas if steps]
        held = camera.union([map_layers.home_bounds(release), *(box for box in boxes if box is not None)])
        frame = base_map.frame_of(held, sheet.width - 0.04, sheet.height - 0.04, 0.06)
        base_map.draw_land(axes, release, frame, scheme)
        for steps, color in areas:
            area_shapes = list(area_outlines.shapes(release, steps).values()) if steps else []
            if not area_shapes:
                continue
            shapes = base_map.mercator(numpy.array([*area_shapes, None], dtype=object)[:-1])
            base_map.fill(axes, base_map.outline(shapes, frame), color, alpha=0.85, zorder=3)
            base_map.draw_ring(axes, shapes, frame, color)
        base_map.draw_borders(axes, release, frame, scheme)
        base_map.draw_ground(axes, release, frame, scheme)
        base_map.draw_frame(sheet, 0.02, 0.02, sheet.width - 0.04, sheet.height - 0.04)
        place = words.place_name(release, question) if question.areas else release.title
        return encode_sheet(
            sheet, form, scale, f"Location of {place}", f"A small map that shows where {place} is."
        )
