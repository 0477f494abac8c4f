"""The legend below a map, the scale bar in miles and kilometers, and the north arrow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from mapapp.answers import words
from mapapp.answers.release import Release
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.palette import blend_colors
from mapapp.show.paper.base_map import Frame
from mapapp.show.paper.sheet import (
    LEADING,
    PIXELS_PER_INCH,
    POINTS_PER_PIXEL,
    Sheet,
    fit_text,
    width_in,
    wrap_text,
)

KM_PER_MI: Final = 1.609344
TITLE_POINTS: Final = 8.5
TEXT_POINTS: Final = 7.5
HEIGHT_IN: Final = 0.62  # title, swatches and labels
ROW_IN: Final = 0.2
TITLE_IN: Final = 0.2
ROW_MORE_IN: Final = 0.24  # notes
SCALE_IN: Final = 1.8
_SCALE_HEIGHT_IN: Final = 0.5
_MILES: Final = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1000,
    2000,
)
_BESIDE_IN: Final = 0.28  # from a mark to its text
_LEAST_BOX_IN: Final = 0.34
_LONGEST_IN: Final = 3.2  # of a ramp
_OVERHANG_IN: Final = 0.2  # of the texts at a ramp's ends
_CIRCLE_ROW_IN: Final = 0.13  # from one number beside nested circles to the next
_WIDE_SPAN_DEG: Final = 4.0  # of latitude; beyond this, the scale varies too much across the map


def legend_height_in(legend: Legend) -> float:
    """Height in inches of a legend and the scale bar beside it."""
    rows = bool(legend.extras) + bool(legend.outlines)
    return max(_scale_height_in(legend) + ROW_IN * rows + ROW_MORE_IN * bool(legend.notes), _SCALE_HEIGHT_IN)


def _scale_height_in(legend: Legend) -> float:
    """Height in inches of the title and what is below it, without extras, notes, and outlines."""
    if legend.kind == "none":
        return 0.0
    if legend.kind == "swatches":
        return ROW_IN + TITLE_IN * bool(legend.title)
    if not legend.items:
        return TITLE_IN
    if legend.kind == "circles":
        return TITLE_IN + max(_largest_in(legend), _CIRCLE_ROW_IN * len(legend.items)) + 0.08
    return HEIGHT_IN


def draw_legend(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw a legend at its upper left, at most `width` inches wide."""
    below = y + _scale_height_in(legend)
    if legend.title:
        ink, long = sheet.colors.ink, width_in(legend.title, TITLE_POINTS, bold=True) + 0.06
        sheet.block(x, y, legend.title, width=width, size=TITLE_POINTS, lines=1, bold=True, color=ink)
        if legend.line and long < width:
            sheet.block(x + long, y, legend.line, width=width - long, size=TITLE_POINTS, lines=1)
        y += TITLE_IN
    if legend.items and legend.kind != "none":
        _DRAW[legend.kind](sheet, legend, x, y, width)
    if legend.extras:
        _entries(sheet, legend.extras, x, below, width, _dot if legend.kind == "lines" else _box)
        below += ROW_IN
    if legend.notes:
        note = ". ".join(text.removesuffix(".") for text in legend.notes)
        sheet.block(x, below - 0.02, note, width=width, size=TEXT_POINTS, lines=1, color=sheet.colors.quiet)
        below += ROW_MORE_IN
    if legend.outlines:
        _entries(sheet, legend.outlines, x, below, width, _border)


def draw_scale(sheet: Sheet, frame: Frame, right: float, y: float) -> None:
    """Draw scale bar and north arrow in the `SCALE_IN` inches left of `right`."""
    ink, mi_per_inch = sheet.colors.ink, frame.mi_per_inch
    longest = SCALE_IN - 0.8
    left = right - SCALE_IN
    _north(sheet, right - 0.12, y)
    at = y + 0.27
    bars = []
    for step, unit in ((1.0, "mi"), (KM_PER_MI, "km")):
        fitting = [miles for miles in _MILES if miles / step / mi_per_inch <= longest]
        length = max(fitting, default=_MILES[0])
        bars.append((length / step / mi_per_inch, f"{length:g} {unit}"))
    beside = left + max(inches for inches, _ in bars) + 0.06
    for (inches, text), sign in zip(bars, (-1, 1), strict=True):
        tick = at + sign * 0.06
        sheet.line([left, left, left + inches, left + inches], [tick, at, at, tick], ink, 1.1)
        sheet.write(beside, at + 0.035 + sign * 0.068, text, size=TEXT_POINTS)
    if _span_deg(frame) > _WIDE_SPAN_DEG:
        lat = frame.middle_lat_deg
        text = f"at {abs(lat):.0f}° {'N' if lat >= 0 else 'S'}"
        sheet.write(left, y + 0.5, text, size=TEXT_POINTS - 0.5, color=sheet.colors.quiet)


def _span_deg(frame: Frame) -> float:
    low, high = (math.degrees(math.atan(math.sinh(edge))) for edge in (frame.south, frame.north))
    return high - low


def _north(sheet: Sheet, x: float, y: float) -> None:
    corners = [(x, y + 0.1), (x + 0.09, y + 0.42), (x, y + 0.34), (x - 0.09, y + 0.42)]
    sheet.shape(corners, sheet.colors.ink)
    sheet.write(x, y + 0.07, "N", size=TEXT_POINTS, bold=True, align="center")


def _classes(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw classes as one ramp with ticks; without ticks, boxes side by side, each as wide as its text."""
    if legend.ticks:
        long, start = min(width - 2 * _OVERHANG_IN, _LONGEST_IN), x + _OVERHANG_IN
        wide = long / len(legend.items)
        for place, item in enumerate(legend.items):
            sheet.box(start + place * wide, y, wide, 0.15, item.color, item.color, 0.2)
        _ticks(sheet, legend, start, y, long)
        return
    size = TEXT_POINTS
    while True:
        widths = [max(width_in(item.text, size) + 0.12, _LEAST_BOX_IN) for item in legend.items]
        if sum(widths) <= width or size <= 5.5:
            break
        size -= 0.25
    for item, box_width in zip(legend.items, widths, strict=True):
        sheet.box(x, y, box_width, 0.15, item.color or "none", sheet.colors.quiet, 0.4)
        sheet.write(x + box_width / 2, y + 0.29, item.text, size=size, align="center")
        x += box_width


def _ticks(sheet: Sheet, legend: Legend, x: float, y: float, long: float) -> None:
    for place, text in legend.ticks:
        sheet.line([x + place * long] * 2, [y + 0.15, y + 0.18], sheet.colors.quiet, 0.6)
        sheet.write(x + place * long, y + 0.29, text, size=TEXT_POINTS, align="center")


def _circles(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw nested circles that touch at the bottom, each with a line to its number."""
    largest = _largest_in(legend)
    low = y + max(largest, _CIRCLE_ROW_IN * len(legend.items))
    for place, item in enumerate(legend.items):
        tall = item.size / PIXELS_PER_INCH
        sheet.line(
            [x + largest / 2],
            [low - tall / 2],
            item.color,
            0,
            marker="o",
            markersize=item.size * POINTS_PER_PIXEL,
            markerfacecolor=blend_colors(sheet.scheme.land, item.color, 0.3),
            markeredgecolor=item.color,
            markeredgewidth=0.8,
        )
        at = min(low - tall + 0.02, low - _CIRCLE_ROW_IN * (len(legend.items) - 1 - place) - 0.05)
        sheet.line([x + largest / 2, x + largest + 0.12], [at, at], sheet.colors.quiet, 0.4)
        sheet.write(x + largest + 0.17, at + 0.035, item.text, size=TEXT_POINTS)


def _largest_in(legend: Legend) -> float:
    return max(item.size for item in legend.items) / PIXELS_PER_INCH


def _ramp(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw a continuous color ramp, few to many."""
    x, long = x + _OVERHANG_IN, min(width - 2 * _OVERHANG_IN, _LONGEST_IN)
    axes = sheet.axes(x, y, long, 0.15)
    stops = [item.color for item in legend.items]
    opacity = numpy.array([[item.opacity for item in legend.items]])
    steps = numpy.linspace(0, 1, 256)
    rgba = LinearSegmentedColormap.from_list("ramp", stops)(steps)[None]
    rgba[..., 3] = numpy.interp(steps, numpy.linspace(0, 1, len(stops)), opacity[0])
    axes.imshow(numpy.ones((1, 1, 3)) * to_rgb(sheet.scheme.land), extent=(0, 1, 0, 1), aspect="auto")
    axes.imshow(rgba, extent=(0, 1, 0, 1), aspect="auto")
    _ticks(sheet, legend, x, y, long)


def _swatches(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    _entries(sheet, legend.items, x, y, width, _dot)


def _lines(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    size = TEXT_POINTS
    while True:
        widths = [max(width_in(item.text, size) + 0.16, 0.5) for item in legend.items]
        if sum(widths) <= width or size <= 5.5:
            break
        size -= 0.25
    for item, item_width in zip(legend.items, widths, strict=True):
        middle = x + item_width / 2
        sheet.line(
            [middle - 0.19, middle + 0.19],
            [y + 0.08] * 2,
            item.color,
            item.size * POINTS_PER_PIXEL,
            alpha=item.opacity,
            solid_capstyle="butt",
        )
        sheet.write(middle, y + 0.29, item.text, size=size, align="center")
        x += item_width


def _entries(
    sheet: Sheet,
    items: tuple[Item, ...],
    x: float,
    y: float,
    width: float,
    draw: Callable[[Sheet, Item, float, float], None],
) -> None:
    """Draw marks with text on their right, in one row; long texts are cut."""
    texts = [f"{item.text} ({item.more})" if item.more else item.text for item in items]
    natural = [_BESIDE_IN + width_in(text, TEXT_POINTS) + 0.25 for text in texts]
    rooms = natural if sum(natural) <= width else [width / len(items)] * len(items)
    for item, text, room in zip(items, texts, rooms, strict=True):
        draw(sheet, item, x + 0.02, y + 0.1)
        text = fit_text(text, room - _BESIDE_IN - 0.1, TEXT_POINTS)
        sheet.write(x + _BESIDE_IN, y + 0.135, text, size=TEXT_POINTS)
        x += room


def _dot(sheet: Sheet, item: Item, x: float, y: float) -> None:
    sheet.line(
        [x + 0.1],
        [y],
        item.color,
        0,
        marker="o",
        markersize=max(item.size, 7.0) * POINTS_PER_PIXEL,
        markeredgewidth=0,
        alpha=max(item.opacity, 0.9),
    )


def _box(sheet: Sheet, item: Item, x: float, y: float) -> None:
    left, top, wide, tall = x, y - 0.055, 0.2, 0.11
    sheet.box(left, top, wide, tall, item.color or "none", sheet.colors.quiet, 0.4)
    if item.is_hatched:
        for start in (0.0, 0.07, 0.14):
            sheet.line(
                [left + start, left + min(start + tall, wide)],
                [top + tall, top + tall - min(tall, wide - start)],
                sheet.colors.quiet,
                0.6,
            )


def _border(sheet: Sheet, item: Item, x: float, y: float) -> None:
    sheet.box(x, y - 0.05, 0.2, 0.11, "none", item.color, 3 * POINTS_PER_PIXEL)


_DRAW: Final[dict[str, Callable[[Sheet, Legend, float, float, float], None]]] = {
    "classes": _classes,
    "ramp": _ramp,
    "lines": _lines,
    "circles": _circles,
    "swatches": _swatches,
}


# The footer of every picture: source, privacy promise, and release.

_POINTS: Final = 7.0
_STEP_IN: Final = _POINTS * LEADING / 72
_WARNING: Final = "NOT FOR RELEASE"


def source_words(release: Release) -> str:
    """Source, year, epsilon, delta and accountant in one line."""
    certificate = release.certificate
    of_whom, promise = words.origin(certificate).split(" · ", 1)
    return f"{of_whom} · {words.source_words(release)} · {promise}"


@dataclass(frozen=True, slots=True)
class Foot:
    """The lines at the lower edge of a picture.

    Attributes
    ----------
    texts : tuple of str
        Source and publication.
    is_for_release : bool
        Otherwise a warning comes before them.
    """

    texts: tuple[str, ...]
    is_for_release: bool


def foot_of(release: Release, *, is_published: bool = False) -> Foot:
    """The footer of pictures of a release; counts copied from published files have no promise of ours."""
    source = words.AS_PUBLISHED if is_published else source_words(release)
    texts = (source, f"Release {release.title} ({release.version}) · CommuteMap")
    return Foot(texts, words.may_be_released(release.certificate))


def foot_height_in(foot: Foot, width: float) -> float:
    """Height in inches of the footer on a sheet with `width` inches between its margins."""
    return len(_source_lines(foot, width)) * _STEP_IN + 0.1


def draw_foot(sheet: Sheet, foot: Foot, margin: float) -> None:
    """Write the source and the publication at the lower edge, and before them the warning if there is one."""
    inner = sheet.width - 2 * margin
    y = sheet.height - foot_height_in(foot, inner)
    for line in _source_lines(foot, inner):
        y += _STEP_IN
        strong = line == _WARNING
        color = sheet.scheme.work if strong else sheet.colors.quiet
        sheet.write(margin, y, line, size=_POINTS, color=color, bold=strong)


def _source_lines(foot: Foot, width: float) -> list[str]:
    warning = [] if foot.is_for_release else [_WARNING]
    return [*warning, *(line for text in foot.texts for line in wrap_text(text, width, _POINTS, lines=3))]
