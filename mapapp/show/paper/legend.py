"""The legend below a map, the scale bar in miles and kilometers, and the north arrow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patches import Polygon

from mapapp.answers import words
from mapapp.answers.release import Release
from mapapp.show.content.legend import Item, Legend
from mapapp.show.paper.base_map import Frame
from mapapp.show.paper.sheet import LEADING, POINTS_PER_PIXEL, Sheet, fitted, width_in, wrapped

KM_PER_MI: Final = 1.609344
TITLE_POINTS: Final = 8.5
TEXT_POINTS: Final = 7.5
HEIGHT_IN: Final = 0.62  # title, swatches and labels
ROW_IN: Final = 0.2
ROW_MORE_IN: Final = 0.24  # numbers of areas and notes of classes
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
_WIDE_SPAN_DEG: Final = 4.0  # of latitude; beyond this, the scale varies too much across the map


def legend_height_in(kind: str, *, n_outlines: int) -> float:
    """Height in inches of the legend and scale bar of a map drawn as `MapContent.kind` says."""
    first = ROW_IN if kind in ("points", "arrows") else HEIGHT_IN
    first += ROW_MORE_IN * (kind in ("areas", "change", "ratio", "share"))
    return max(first + ROW_IN * bool(n_outlines), _SCALE_HEIGHT_IN)


def draw_legend(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw a legend at its upper left, at most `width` inches wide."""
    ink = sheet.colors.ink
    if legend.kind == "swatches":
        items = tuple(replace(item, text=f"{item.text}  {item.more}".strip()) for item in legend.items)
        _entries(sheet, items, x, y, width, _dot)
        y += ROW_IN
    elif legend.kind != "none":
        title = ", ".join(text for text in (legend.title, legend.line) if text)
        sheet.block(x, y, title, width=width, size=TITLE_POINTS, lines=1, bold=True, color=ink)
        draw = {"classes": _classes, "ramp": _ramp, "lines": _lines, "circles": _lines}[legend.kind]
        draw(sheet, legend, x, y + 0.2, width)
        y += HEIGHT_IN
        if legend.kind == "classes":
            note = ". ".join(legend.notes)
            sheet.block(x, y - 0.02, note, width=width, size=TEXT_POINTS, lines=1, color=sheet.colors.quiet)
            y += ROW_MORE_IN
    if legend.outlines:
        _entries(sheet, legend.outlines, x, y, width, _border)


def draw_scale(sheet: Sheet, frame: Frame, right: float, y: float) -> None:
    """Draw scale bar and north arrow in the `SCALE_IN` inches left of `right`."""
    ink, mi_per_inch = sheet.colors.ink, frame.mi_per_inch
    longest = SCALE_IN - 0.8
    left = right - SCALE_IN
    _north(sheet, right - 0.12, y)
    at = y + 0.27
    bars = []
    for step, unit in ((1.0, "mi"), (KM_PER_MI, "km")):
        fitting = [one for one in _MILES if one / step / mi_per_inch <= longest]
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
    sheet.figure.add_artist(
        Polygon(
            [(each[0] / sheet.width, 1 - each[1] / sheet.height) for each in corners],
            closed=True,
            transform=sheet.figure.transFigure,
            facecolor=sheet.colors.ink,
            edgecolor="none",
        )
    )
    sheet.write(x, y + 0.07, "N", size=TEXT_POINTS, bold=True, align="center")


def _classes(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw boxes side by side, each as wide as its text."""
    size = TEXT_POINTS
    while True:
        widths = [max(width_in(item.text, size) + 0.12, _LEAST_BOX_IN) for item in legend.items]
        if sum(widths) <= width or size <= 5.5:
            break
        size -= 0.25
    for item, mine in zip(legend.items, widths, strict=True):
        sheet.box(x, y, mine, 0.15, item.color, sheet.colors.quiet, 0.4)
        sheet.write(x + mine / 2, y + 0.29, item.text, size=size, align="center")
        sheet.write(x + mine / 2, y + 0.4, item.more, size=size, align="center", color=sheet.colors.quiet)
        x += mine


def _ramp(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    """Draw a continuous color ramp, few to many."""
    long = min(width, 3.2)
    axes = sheet.axes(x, y, long, 0.15)
    stops = [item.color for item in legend.items]
    opacity = numpy.array([[item.opacity for item in legend.items]])
    steps = numpy.linspace(0, 1, 256)
    rgba = LinearSegmentedColormap.from_list("ramp", stops)(steps)[None]
    rgba[..., 3] = numpy.interp(steps, numpy.linspace(0, 1, len(stops)), opacity[0])
    axes.imshow(numpy.ones((1, 1, 3)) * to_rgb(sheet.scheme.land), extent=(0, 1, 0, 1), aspect="auto")
    axes.imshow(rgba, extent=(0, 1, 0, 1), aspect="auto")
    for place, text in legend.ticks:
        align = "left" if place < 0.05 else "right" if place > 0.95 else "center"
        sheet.line([x + place * long] * 2, [y + 0.13, y + 0.18], sheet.colors.ink, 0.8)
        sheet.write(x + place * long, y + 0.29, text, size=TEXT_POINTS, align=align)


def _lines(sheet: Sheet, legend: Legend, x: float, y: float, width: float) -> None:
    size = TEXT_POINTS
    while True:
        widths = [max(width_in(item.text, size) + 0.16, 0.5) for item in legend.items]
        if sum(widths) <= width or size <= 5.5:
            break
        size -= 0.25
    for item, mine in zip(legend.items, widths, strict=True):
        middle = x + mine / 2
        sheet.line(
            [middle - 0.19, middle + 0.19],
            [y + 0.08] * 2,
            item.color,
            item.size * POINTS_PER_PIXEL,
            alpha=item.opacity,
            solid_capstyle="butt",
        )
        sheet.write(middle, y + 0.29, item.text, size=size, align="center")
        x += mine


def _entries(
    sheet: Sheet,
    items: tuple[Item, ...],
    x: float,
    y: float,
    width: float,
    draw: Callable[[Sheet, Item, float, float], None],
) -> None:
    """Draw marks with text on their right, in one row; long texts are cut."""
    natural = [_BESIDE_IN + width_in(item.text, TEXT_POINTS) + 0.25 for item in items]
    rooms = natural if sum(natural) <= width else [width / len(items)] * len(items)
    for item, room in zip(items, rooms, strict=True):
        draw(sheet, item, x + 0.02, y + 0.1)
        text = fitted(item.text, room - _BESIDE_IN - 0.1, TEXT_POINTS)
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


def _border(sheet: Sheet, item: Item, x: float, y: float) -> None:
    sheet.box(x, y - 0.05, 0.2, 0.11, "none", item.color, 3 * POINTS_PER_PIXEL)


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
    return [*warning, *(line for text in foot.texts for line in wrapped(text, width, _POINTS, lines=3))]
