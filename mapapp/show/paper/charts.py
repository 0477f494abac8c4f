"""The charts of an answer as pictures, with the same content as on the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy
import numpy.typing as npt
import pandas
from matplotlib.projections.polar import PolarAxes

from mapapp.answers.analyses.about import About
from mapapp.answers.analyses.entries import ENTRIES, entry_of, n_about
from mapapp.answers.analyses.results import Change, DistanceDirection, FlowMatrix, InflowOutflow, Result
from mapapp.answers.release import Release
from mapapp.question.fields import ThemeChoice
from mapapp.show.content import palette
from mapapp.show.content.bar_groups import MATRIX_UNITS, Bar, Group, bar_charts
from mapapp.show.content.inflow_diagram import (
    BOX,
    HEIGHT_PX,
    TALL,
    TOP,
    WIDTH_PX,
    inflow_bands,
    inflow_words,
)
from mapapp.show.content.labels import DIRECTIONS, class_text, short_names
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.palette import COLOR_SCHEMES, ColorScheme
from mapapp.show.paper.legend import HEIGHT_IN, draw_foot, draw_legend, foot_height_in, foot_of
from mapapp.show.paper.sheet import Form, Sheet, check, drawing, encode_sheet, fit_text, width_in

# Parts common to all charts: title, subtitle, and sizes.

MARGIN_IN: Final = 0.14
HEAD_IN: Final = 0.56
TITLE_POINTS: Final = 11.0
TEXT_POINTS: Final = 8.0
SMALL_POINTS: Final = 7.0


def draw_head(sheet: Sheet, title: str, about: About) -> float:
    """Draw title and subtitle; returns where the chart begins."""
    inner = sheet.width - 2 * MARGIN_IN
    y = sheet.block(MARGIN_IN, 0.1, title, width=inner, size=TITLE_POINTS, lines=1, bold=True)
    sheet.block(
        MARGIN_IN,
        y,
        about_words(about),
        width=inner,
        size=TEXT_POINTS,
        lines=1,
        color=sheet.colors.quiet,
    )
    return HEAD_IN


def about_words(about: About) -> str:
    """Analysis, area and filters in one line."""
    side = {"work": "workers of ", "home": "residents of ", None: ""}[about.side]
    return " · ".join(part for part in (about.title, f"{side}{about.area}", about.filters) if part)


# Bar charts with names, numbers, expected errors and shares.

_ROW_IN: Final = 0.235
_BASE_IN: Final = 0.155  # from the top of a row to its text baseline


@dataclass(frozen=True, slots=True)
class _Columns:
    """Widths of the columns in inches, and workers of the longest bar."""

    name: float
    bar: float
    number: float
    error: float
    share: float
    most: int


def bar_words(title: str, groups: Sequence[Group]) -> str:
    """The chart as text."""
    parts = []
    for group in groups:
        rows = [
            f"{bar.name} {bar.workers:,} ({100 * bar.share:.1f}%)"
            f"{f', {bar.caution}' if bar.caution and bar.workers else ''}"
            for bar in group.bars
        ]
        parts.append(f"{group.heading + ': ' if group.heading else ''}{'; '.join(rows)}")
    return f"{title}. {'. '.join(parts)}."


def bars(
    release: Release,
    scheme: ColorScheme,
    about: About,
    title: str,
    groups: Sequence[Group],
    width: float,
) -> Sheet:
    """Draw groups of bars to one scale, on a sheet `width` inches wide."""
    every = [bar for group in groups for bar in group.bars]
    careful = sorted({bar.caution for bar in every if bar.caution and bar.workers})
    n_rows = len(every) + sum(1.15 for group in groups if group.heading) + bool(careful)
    inner = width - 2 * MARGIN_IN
    foot = foot_of(release, is_published=ENTRIES[about.analysis].is_published)
    sheet = Sheet((width, HEAD_IN + n_rows * _ROW_IN + 0.12 + foot_height_in(foot, inner)), scheme)
    y = draw_head(sheet, title, about)
    columns = _columns(every, inner)
    for group in groups:
        if group.heading:
            y += 0.15 * _ROW_IN
            sheet.write(MARGIN_IN, y + 0.16, group.heading, size=TEXT_POINTS, bold=True)
            y += _ROW_IN
        for bar in group.bars:
            _row(sheet, bar, y, columns)
            y += _ROW_IN
    _explain_marks(sheet, careful, y)
    draw_foot(sheet, foot, MARGIN_IN)
    return sheet


def _columns(every: Sequence[Bar], inner: float) -> _Columns:
    name = min(max(width_in(bar.name, TEXT_POINTS) for bar in every) + 0.1, 0.52 * inner)
    number = max(width_in(f"{bar.workers:,}", TEXT_POINTS) for bar in every) + 0.2
    error = max(width_in(bar.error_text, SMALL_POINTS) for bar in every) + 0.06
    share = width_in("100.0%", TEXT_POINTS) + 0.08
    most = max(bar.workers for bar in every) or 1
    return _Columns(name, inner - name - number - error - share, number, error, share, most)


def _row(sheet: Sheet, bar: Bar, y: float, columns: _Columns) -> None:
    base, x, quiet = y + _BASE_IN, MARGIN_IN, sheet.colors.quiet
    sheet.write(x, base, fit_text(bar.name, columns.name - 0.08, TEXT_POINTS), size=TEXT_POINTS)
    x += columns.name
    sheet.box(x, y + 0.035, columns.bar, 0.155, sheet.colors.rule)
    sheet.box(x, y + 0.035, columns.bar * bar.workers / columns.most, 0.155, sheet.colors.bar)
    x += columns.bar + columns.number
    number = f"{bar.workers:,}"
    sheet.write(x, base, number, size=TEXT_POINTS, align="right")
    if bar.caution and bar.workers:
        _mark(sheet, x - width_in(number, TEXT_POINTS) - 0.09, y + 0.112, bar.caution)
    sheet.write(x + 0.05, base, bar.error_text, size=SMALL_POINTS, color=quiet)
    x += columns.error + columns.share
    sheet.write(x, base, f"{100 * bar.share:.1f}%", size=TEXT_POINTS, color=quiet, align="right")


def _explain_marks(sheet: Sheet, careful: Sequence[str], y: float) -> None:
    """Write the meaning of the marks that occur."""
    x = MARGIN_IN + 0.05
    for text in careful:
        meaning = {"caution": "3 to 9 workers: caution"}.get(text, f"1 or 2 workers: {text}")
        _mark(sheet, x, y + 0.112, text)
        sheet.write(x + 0.1, y + _BASE_IN, meaning, size=SMALL_POINTS, color=sheet.colors.quiet)
        x += width_in(meaning, SMALL_POINTS) + 0.35


def _mark(sheet: Sheet, x: float, y: float, caution: str) -> None:
    """Draw the mark of a small count: filled for the smallest counts, hollow for the others."""
    worst = caution.startswith("substantial")
    color = sheet.scheme.work if worst else sheet.colors.warn
    sheet.line(
        [x],
        [y],
        color,
        0,
        marker="o",
        markersize=4.5,
        markerfacecolor=color if worst else "none",
        markeredgecolor=color,
        markeredgewidth=1.2,
    )


# A flow matrix as a heat map: homes down, workplaces across, workers in classes.

_MOST_CELL_IN: Final = 0.34
_SLOPE_DEG: Final = 60.0  # slope of the names above the matrix
_GAP_IN: Final = 0.01


def heat_map(
    release: Release, scheme: ColorScheme, result: FlowMatrix, width: float
) -> tuple[str, str, Sheet]:
    """Title, description and drawing of the largest units, on a sheet `width` inches wide."""
    title, inner = "From home (down) to work (across)", width - 2 * MARGIN_IN
    wide = result.wide(MATRIX_UNITS)
    workers = wide.to_numpy()
    positive = workers[workers > 0]
    classes = palette.count_classes(int(positive.min(initial=1 << 30)), int(positive.max(initial=0)))
    colors = [scheme.land, *palette.class_colors(len(classes), scheme.ramp)]
    homes, works = _names(result.homes, wide.index), _names(result.works, wide.columns)
    left = MARGIN_IN + max(width_in(name, TEXT_POINTS) for name in homes) + 0.35
    longest = max(width_in(name, TEXT_POINTS) for name in works)
    top = HEAD_IN + 0.34 + longest * math.sin(math.radians(_SLOPE_DEG))
    cell = min((width - left - 0.5) / len(works), _MOST_CELL_IN)
    below = top + cell * len(homes) + 0.12
    sheet = Sheet((width, below + HEIGHT_IN + foot_height_in(foot_of(release), inner)), scheme)
    draw_head(sheet, title, result.about)
    _margins(sheet, homes, works, (left, top, cell))
    shown = numpy.searchsorted([low for low, _ in classes], workers, side="right")
    _cells(sheet, shown, colors, (left, top, cell))
    texts = ["none", *(class_text(*bounds) for bounds in classes)]
    items = tuple(Item(text, color) for text, color in zip(texts, colors, strict=True))
    draw_legend(sheet, Legend("classes", "Workers", items), MARGIN_IN, below, inner)
    draw_foot(sheet, foot_of(release), MARGIN_IN)
    rows, columns = wide.shape
    most = f"the {rows} home units and {columns} work units with the most workers"
    return title, f"{title}: {most}. The table has all pairs.", sheet


def _names(margin: pandas.DataFrame, axis: pandas.Index) -> list[str]:
    names = dict(zip(margin["unit_id"], margin["name"], strict=True))
    return short_names([names.get(unit, unit) for unit in axis])


def _margins(
    sheet: Sheet, homes: Sequence[str], works: Sequence[str], place: tuple[float, float, float]
) -> None:
    """Draw names of units above and beside the cells; `place` is left, top, and the size of a cell."""
    left, top, cell = place
    size = min(TEXT_POINTS, cell * 60)
    for across, name in enumerate(works):
        sheet.write(left + (across + 0.5) * cell + 0.03, top - 0.05, name, size=size, rotation=_SLOPE_DEG)
    for down, name in enumerate(homes):
        y = top + (down + 0.5) * cell
        sheet.write(left - 0.07, y, name, size=size, align="right", vertical="center_baseline")
    middle = top + cell * len(homes) / 2
    inside = MARGIN_IN + 0.08
    sheet.write(inside, middle, "Live in", align="center", rotation=90, size=TEXT_POINTS, bold=True)
    sheet.write(left, HEAD_IN + 0.14, "Work in", size=TEXT_POINTS, bold=True)


def _cells(
    sheet: Sheet, shown: npt.NDArray[numpy.intp], colors: Sequence[str], place: tuple[float, float, float]
) -> None:
    left, top, cell = place
    side = cell - 2 * _GAP_IN
    for (down, across), number in numpy.ndenumerate(shown):
        x, y = left + across * cell + _GAP_IN, top + down * cell + _GAP_IN
        sheet.box(x, y, side, side, colors[int(number)], "none" if number else sheet.colors.rule, 0.4)


# Workers by direction, stacked by distance.

_TOP_IN: Final = HEAD_IN + 0.34
_DISC_IN: Final = 3.6
_RING_POINTS: Final = 6.5
_ANGLES: Final = numpy.radians(numpy.arange(len(DIRECTIONS)) * 45.0)


def rose(
    release: Release, scheme: ColorScheme, result: DistanceDirection, width: float
) -> tuple[str, str, Sheet]:
    """Title, description and drawing, on a sheet `width` inches wide."""
    route = "workplace to home" if result.about.side == "work" else "home to workplace"
    title, cells = f"Direction, from {route}", result.cells
    labels = dict(zip(cells["band"], cells["band_label"], strict=True))
    colors = palette.band_colors(len(labels), scheme.ramp)
    by_band = [cells[cells["band"] == band].set_index("direction")["workers"] for band in labels]
    counts = numpy.array([band_counts.reindex(DIRECTIONS, fill_value=0) for band_counts in by_band])
    totals = counts.sum(axis=0)
    disc, inner = min(width - 1.2, _DISC_IN), width - 2 * MARGIN_IN
    below = _TOP_IN + disc + 0.42
    sheet = Sheet((width, below + HEIGHT_IN + foot_height_in(foot_of(release), inner)), scheme)
    draw_head(sheet, title, result.about)
    most = _round_up(int(totals.max()))
    _petals(sheet, counts, colors, most, disc)
    _directions(sheet, totals, disc)
    _rings(sheet, totals, most, disc)
    items = tuple(Item(label, color) for label, color in zip(labels.values(), colors, strict=True))
    draw_legend(sheet, Legend("classes", "Distance from home to work", items), MARGIN_IN, below, inner)
    draw_foot(sheet, foot_of(release), MARGIN_IN)
    counted = "; ".join(f"{direction} {total:,}" for direction, total in zip(DIRECTIONS, totals, strict=True))
    return title, f"{title}. Workers by direction: {counted}.", sheet


def _petals(
    sheet: Sheet, counts: npt.NDArray[numpy.int64], colors: Sequence[str], most: int, disc: float
) -> None:
    axes = cast(PolarAxes, sheet.axes((sheet.width - disc) / 2, _TOP_IN, disc, disc, projection="polar"))
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    axes.set_ylim(0, most)
    turn = numpy.linspace(0, 2 * math.pi, 181)
    for ring in range(1, 5):
        axes.plot(turn, numpy.full(181, most * ring / 4), color=sheet.colors.rule, linewidth=0.8, zorder=0)
    bottom = numpy.zeros(len(DIRECTIONS))
    for row, color in zip(counts, colors, strict=True):
        border = sheet.scheme.land
        axes.bar(
            _ANGLES, row, width=math.radians(41), bottom=bottom, color=color, edgecolor=border, linewidth=0.7
        )
        bottom += row


def _directions(sheet: Sheet, totals: npt.NDArray[numpy.int64], disc: float) -> None:
    """Write each direction and its workers around the disc."""
    for angle, direction, total in zip(_ANGLES, DIRECTIONS, totals, strict=True):
        x = sheet.width / 2 + (disc / 2 + 0.22) * math.sin(angle)
        y = _TOP_IN + disc / 2 - (disc / 2 + 0.19) * math.cos(angle)
        sheet.write(x, y, direction, size=TEXT_POINTS, bold=True, align="center")
        sheet.write(x, y + 0.13, f"{total:,}", size=SMALL_POINTS, color=sheet.colors.quiet, align="center")


def _rings(sheet: Sheet, totals: npt.NDArray[numpy.int64], most: int, disc: float) -> None:
    """Label the rings with their counts, between the two directions with the shortest petals."""
    shortest = int(numpy.argmin(numpy.maximum(totals, numpy.roll(totals, -1))))
    away = _ANGLES[shortest] + math.radians(22.5)
    for ring in (2, 4):
        at, text = disc / 2 * ring / 4, f"{most * ring // 4:,}"
        x, y = sheet.width / 2 + at * math.sin(away), _TOP_IN + disc / 2 - at * math.cos(away)
        half = width_in(text, _RING_POINTS) / 2 + 0.03
        sheet.box(x - half, y - 0.065, 2 * half, 0.13, sheet.colors.paper)
        sheet.write(x, y + 0.035, text, size=_RING_POINTS, color=sheet.colors.quiet, align="center")


def _round_up(count: int) -> int:
    """The next round number that is divisible by four."""
    if count <= 4:
        return 4
    power = 10 ** int(math.log10(count))
    steps = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
    round_number: int = next(round(step * power) for step in steps if step * power >= count)
    return -(-round_number // 4) * 4


# Who comes, goes, and stays, as bands to scale.

_DIAGRAM_IN: Final = 1 / 72  # a pixel of the page's diagram on paper


def inflow_chart(
    release: Release, scheme: ColorScheme, result: InflowOutflow, width: float
) -> tuple[str, str, Sheet]:
    """Title, description and drawing, on a sheet `width` inches wide."""
    title, inner = "Who comes, goes, and stays", width - 2 * MARGIN_IN
    foot = foot_of(release)
    sheet = Sheet((width, HEAD_IN + HEIGHT_PX * _DIAGRAM_IN + 0.12 + foot_height_in(foot, inner)), scheme)
    draw_head(sheet, title, result.about)
    start, top = (width - WIDTH_PX * _DIAGRAM_IN) / 2, HEAD_IN
    left, right = BOX
    sheet.box(
        start + left * _DIAGRAM_IN,
        top + (TOP - 5) * _DIAGRAM_IN,
        (right - left) * _DIAGRAM_IN,
        (TALL + 10) * _DIAGRAM_IN,
        scheme.crowded,
        scheme.county_line,
    )
    for band in inflow_bands(result, scheme):
        sheet.shape([(start + x * _DIAGRAM_IN, top + y * _DIAGRAM_IN) for x, y in band.corners], band.color)
        x, y = start + band.label[0] * _DIAGRAM_IN, top + band.label[1] * _DIAGRAM_IN
        align = "right" if band.is_left else "left"
        number = f"{band.number} {band.error}".strip()
        sheet.write(x, y - 0.02, number, size=TITLE_POINTS, bold=True, align=align)
        sheet.write(x, y + 0.14, band.text, size=TEXT_POINTS, align=align)
    draw_foot(sheet, foot, MARGIN_IN)
    return title, f"{title}. {inflow_words(result, scheme)}", sheet


WIDTH_IN: Final = 6.0

_CHARTS: Final[dict[str, Callable[..., tuple[str, str, Sheet]]]] = {
    "rose": rose,
    "heat map": heat_map,
    "inflow": inflow_chart,
}
"""Charts that are not made of bars, by the name in an analysis's entry."""

Picture = tuple[str, str, bytes]
"""Title, description, and file."""


def chart_pictures(
    release: Release,
    result: Result,
    *,
    theme: ThemeChoice = "light",
    form: Form = "png",
    scale: int = 1,
    width_in: float = WIDTH_IN,
) -> list[Picture]:
    """Draw the charts of an answer.

    Parameters
    ----------
    release : Release
    result : Result
        The answer, with or without expected errors; for a change, the later answer is drawn.
    theme : {"light", "dark"}
    form, scale
        As for :func:`mapapp.show.paper.map_picture`.
    width_in : float
        Width of each picture, inches; the height follows from the content.

    Returns
    -------
    list of (str, str, bytes)
        Title, description, and file; empty for an answer without workers.

    Raises
    ------
    UsageError
        For an invalid form, scale or width.
    """
    check(form, scale, (width_in, width_in))
    shown = result.after if isinstance(result, Change) else result
    with drawing():
        return [
            (title, text, encode_sheet(sheet, form, scale, f"{title}. {about_words(shown.about)}", text))
            for title, text, sheet in _sheets(release, COLOR_SCHEMES[theme], shown, width_in)
        ]


def _sheets(
    release: Release, scheme: ColorScheme, result: Result, width: float
) -> list[tuple[str, str, Sheet]]:
    drawn: list[tuple[str, str, Sheet]] = []
    for bar_chart in bar_charts(result):
        title, groups = bar_chart.heading, bar_chart.groups
        if any(bar.workers for group in groups for bar in group.bars):
            drawn.append(
                (title, bar_words(title, groups), bars(release, scheme, result.about, title, groups, width))
            )
    chart = entry_of(result).chart
    if chart and n_about(result):
        drawn.append(_CHARTS[chart](release, scheme, result, width))
    return drawn
