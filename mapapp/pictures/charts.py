"""The charts beside the map as pictures: the same content as on the page, numbers and all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy

from mapapp.figures import palette
from mapapp.figures.bar_groups import MATRIX_UNITS, Group, bar_groups
from mapapp.figures.labels import DIRECTIONS, class_text, short_names
from mapapp.figures.palette import GROUNDS
from mapapp.pages import words
from mapapp.pictures.legend import Item, Legend, draw_legend
from mapapp.pictures.paper import Form, Sheet, check, drawing, encoded, fitted, width_in
from mapapp.pictures.source import draw_foot, foot_height_in
from mapapp.queries.release import ServedRelease
from mapapp.queries.results import (
    About,
    Change,
    DistanceDirection,
    FlowMatrix,
    Result,
)
from mapapp.url_state import ViewState

WIDTH_IN: Final = 6.0
_MARGIN_IN: Final = 0.14
_TITLE_POINTS: Final = 11.0
_TEXT_POINTS: Final = 8.0
_SMALL_POINTS: Final = 7.0
_ROW_IN: Final = 0.235
_HEAD_IN: Final = 0.56

Picture = tuple[str, str, bytes]
"""Title, the same in words, and the file."""


def chart_pictures(
    release: ServedRelease,
    state: ViewState,
    result: Result,
    *,
    form: Form = "png",
    scale: int = 1,
    width_in: float = WIDTH_IN,
) -> list[Picture]:
    """Draw the charts of an answer.

    Parameters
    ----------
    release : ServedRelease
    state : ViewState
        Whose `theme` is taken.
    result : Result
        The answer, with expected errors or without; of a change the later one is drawn.
    form, scale
        As :func:`mapapp.pictures.map_picture` takes them.
    width_in : float
        Of each picture, inches; its height follows from what is in it.

    Returns
    -------
    list of (str, str, bytes)
        Title, the same in words, and the file; nothing for an answer without workers.

    Raises
    ------
    UsageError
        For a form, scale or width that cannot be.
    """
    check(form, scale, (width_in, width_in))
    told = result.after if isinstance(result, Change) else result
    with drawing():
        return [
            (title, text, encoded(sheet, form, scale, f"{title}. {_about_words(told.about)}", text))
            for title, text, sheet in _sheets(release, state, told, width_in)
        ]


def _sheets(
    release: ServedRelease, state: ViewState, result: Result, width: float
) -> list[tuple[str, str, Sheet]]:
    drawn: list[tuple[str, str, Sheet]] = []
    for title, groups in bar_groups(result):
        if any(bar.workers for group in groups for bar in group.bars):
            drawn.append(
                (title, _bar_words(title, groups), _bars(release, state, result.about, title, groups, width))
            )
    if isinstance(result, DistanceDirection) and result.workers.value:
        drawn.append(_rose(release, state, result, width))
    if isinstance(result, FlowMatrix) and len(result.cells):
        drawn.append(_heat_map(release, state, result, width))
    return drawn


def _bar_words(title: str, groups: Sequence[Group]) -> str:
    parts = []
    for group in groups:
        rows = [
            f"{bar.name} {bar.workers:,} ({100 * bar.share:.1f} %)"
            f"{f', {bar.caution}' if bar.caution and bar.workers else ''}"
            for bar in group.bars
        ]
        parts.append(f"{group.heading + ': ' if group.heading else ''}{'; '.join(rows)}")
    return f"{title}. {'. '.join(parts)}."


def _bars(
    release: ServedRelease, state: ViewState, about: About, title: str, groups: Sequence[Group], width: float
) -> Sheet:
    """Bars with their names, numbers, errors and shares beside them."""
    bars = [bar for group in groups for bar in group.bars]
    careful = sorted({bar.caution for bar in bars if bar.caution and bar.workers})
    n_rows = len(bars) + sum(1.15 for group in groups if group.heading) + bool(careful)
    inner = width - 2 * _MARGIN_IN
    height = _HEAD_IN + n_rows * _ROW_IN + 0.12 + foot_height_in(release, inner)
    sheet = Sheet((width, height), GROUNDS[state.theme])
    y = _head(sheet, title, about)
    name_in = min(max(width_in(bar.name, _TEXT_POINTS) for bar in bars) + 0.1, 0.4 * inner)
    numbers = [f"{bar.workers:,}" for bar in bars]
    errors = [words.error_text(bar.error) for bar in bars]
    number_in = max(width_in(text, _TEXT_POINTS) for text in numbers) + 0.2
    error_in = max(width_in(text, _SMALL_POINTS) for text in errors) + 0.06
    share_in = width_in("100.0 %", _TEXT_POINTS) + 0.08
    bar_in = inner - name_in - number_in - error_in - share_in
    most = max(bar.workers for bar in bars) or 1
    for group in groups:
        if group.heading:
            y += 0.15 * _ROW_IN
            sheet.write(_MARGIN_IN, y + 0.16, group.heading, size=_TEXT_POINTS, bold=True)
            y += _ROW_IN
        for bar in group.bars:
            base, x = y + 0.155, _MARGIN_IN
            sheet.write(x, base, fitted(bar.name, name_in - 0.08, _TEXT_POINTS), size=_TEXT_POINTS)
            x += name_in
            sheet.box(x, y + 0.035, bar_in, 0.155, sheet.colours.rule)
            sheet.box(x, y + 0.035, bar_in * bar.workers / most, 0.155, sheet.colours.bar)
            x += bar_in + number_in
            sheet.write(x, base, f"{bar.workers:,}", size=_TEXT_POINTS, align="right")
            if bar.caution and bar.workers:
                _mark(sheet, x - width_in(f"{bar.workers:,}", _TEXT_POINTS) - 0.09, y + 0.112, bar.caution)
            sheet.write(
                x + 0.05,
                base,
                words.error_text(bar.error),
                size=_SMALL_POINTS,
                colour=sheet.colours.quiet,
            )
            x += error_in + share_in
            share = f"{100 * bar.share:.1f} %"
            sheet.write(x, base, share, size=_TEXT_POINTS, colour=sheet.colours.quiet, align="right")
            y += _ROW_IN
    x = _MARGIN_IN + 0.05
    for text in careful:
        told = {"caution": "3 to 9 workers: caution"}.get(text, f"1 or 2 workers: {text}")
        _mark(sheet, x, y + 0.112, text)
        sheet.write(x + 0.1, y + 0.155, told, size=_SMALL_POINTS, colour=sheet.colours.quiet)
        x += width_in(told, _SMALL_POINTS) + 0.35
    draw_foot(sheet, release, _MARGIN_IN)
    return sheet


def _head(sheet: Sheet, title: str, about: About) -> float:
    """Title, and below it what the chart is about; returns where the chart begins."""
    inner = sheet.width - 2 * _MARGIN_IN
    y = sheet.block(_MARGIN_IN, 0.1, title, width=inner, size=_TITLE_POINTS, lines=1, bold=True)
    sheet.block(
        _MARGIN_IN,
        y,
        _about_words(about),
        width=inner,
        size=_TEXT_POINTS,
        lines=1,
        colour=sheet.colours.quiet,
    )
    return _HEAD_IN


def _about_words(about: About) -> str:
    """Analysis, area and bands in one line."""
    side = {"work": "workers of ", "home": "residents of ", None: ""}[about.side]
    return " · ".join(part for part in (about.title, f"{side}{about.area}", about.filters) if part)


def _mark(sheet: Sheet, x: float, y: float, caution: str) -> None:
    """The sign of a small count: filled for the smallest, hollow for the others."""
    worst = caution.startswith("substantial")
    colour = sheet.ground.work if worst else sheet.colours.warn
    sheet.line(
        [x],
        [y],
        colour,
        0,
        marker="o",
        markersize=4.5,
        markerfacecolor=colour if worst else "none",
        markeredgecolor=colour,
        markeredgewidth=1.2,
    )


def _rose(
    release: ServedRelease, state: ViewState, result: DistanceDirection, width: float
) -> tuple[str, str, Sheet]:
    """Workers by direction, stacked by distance."""
    seen = "workplace to home" if result.about.side == "work" else "home to workplace"
    title, ground, cells = f"Direction, from {seen}", GROUNDS[state.theme], result.cells
    labels = dict(zip(cells["band"], cells["band_label"], strict=True))
    colours = palette.band_colours(len(labels), ground.ramp)
    counts = numpy.array(
        [
            cells[cells["band"] == band].set_index("direction")["workers"].reindex(DIRECTIONS, fill_value=0)
            for band in labels
        ]
    )
    disc = min(width - 1.2, 3.6)
    top = _HEAD_IN + 0.34
    below = top + disc + 0.42
    sheet = Sheet((width, below + 0.62 + foot_height_in(release, width - 2 * _MARGIN_IN)), ground)
    _head(sheet, title, result.about)
    axes: Any = sheet.axes((width - disc) / 2, top, disc, disc, projection="polar")
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    totals = counts.sum(axis=0)
    most = _round_up(int(totals.max()))
    axes.set_ylim(0, most)
    angles = numpy.radians(numpy.arange(8) * 45.0)
    bottom = numpy.zeros(8)
    turn = numpy.linspace(0, 2 * math.pi, 181)
    for ring in range(1, 5):
        axes.plot(turn, numpy.full(181, most * ring / 4), color=sheet.colours.rule, linewidth=0.8, zorder=0)
    for row, colour in zip(counts, colours, strict=True):
        axes.bar(
            angles,
            row,
            width=math.radians(41),
            bottom=bottom,
            color=colour,
            edgecolor=ground.land,
            linewidth=0.7,
        )
        bottom += row
    middle, centre = width / 2, top + disc / 2
    for angle, direction, total in zip(angles, DIRECTIONS, totals, strict=True):
        x, y = middle + (disc / 2 + 0.22) * math.sin(angle), centre - (disc / 2 + 0.19) * math.cos(angle)
        sheet.write(x, y + 0.0, direction, size=_TEXT_POINTS, bold=True, align="center")
        sheet.write(x, y + 0.13, f"{total:,}", size=_SMALL_POINTS, colour=sheet.colours.quiet, align="center")
    quiet = int(
        numpy.argmin(numpy.maximum(totals, numpy.roll(totals, -1)))
    )  # where fewest bars are in the way
    away = angles[quiet] + math.radians(22.5)
    for ring in (2, 4):
        at = disc / 2 * ring / 4
        x, y = middle + at * math.sin(away), centre - at * math.cos(away)
        text = f"{most * ring // 4:,}"
        half = width_in(text, 6.5) / 2 + 0.03
        sheet.box(x - half, y - 0.065, 2 * half, 0.13, sheet.colours.paper)
        sheet.write(x, y + 0.035, text, size=6.5, colour=sheet.colours.quiet, align="center")
    items = tuple(Item(label, colour) for label, colour in zip(labels.values(), colours, strict=True))
    legend = Legend("classes", "Distance from home to work", items)
    draw_legend(sheet, legend, _MARGIN_IN, below, width - 2 * _MARGIN_IN)
    draw_foot(sheet, release, _MARGIN_IN)
    told = "; ".join(f"{direction} {total:,}" for direction, total in zip(DIRECTIONS, totals, strict=True))
    return title, f"{title}. Workers by direction: {told}.", sheet


def _round_up(count: int) -> int:
    """The next round number that four divides evenly."""
    if count <= 4:
        return 4
    power = 10 ** int(math.log10(count))
    steps = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
    found: int = next(round(step * power) for step in steps if step * power >= count)
    return -(-found // 4) * 4


def _heat_map(
    release: ServedRelease, state: ViewState, result: FlowMatrix, width: float
) -> tuple[str, str, Sheet]:
    """Workers from home units (down) to work units (across), in classes."""
    title, ground = "From home (down) to work (across)", GROUNDS[state.theme]
    wide = result.wide(MATRIX_UNITS)
    workers = wide.to_numpy()
    positive = workers[workers > 0]
    classes = palette.count_classes(int(positive.min(initial=1 << 30)), int(positive.max(initial=0)))
    colours = [ground.land, *palette.class_colours(len(classes), ground.ramp)]
    shown = numpy.searchsorted([low for low, _ in classes], workers, side="right")
    homes, works = (
        short_names(
            [dict(zip(frame["unit_id"], frame["name"], strict=True)).get(unit, unit) for unit in axis]
        )
        for frame, axis in ((result.homes, wide.index), (result.works, wide.columns))
    )
    left = _MARGIN_IN + max(width_in(name, _TEXT_POINTS) for name in homes) + 0.35
    above = (
        _HEAD_IN
        + 0.24
        + max(width_in(name, _TEXT_POINTS) for name in works) * math.sin(math.radians(60))
        + 0.1
    )
    cell = min((width - left - 0.5) / len(works), 0.34)
    height = above + cell * len(homes) + 0.74 + foot_height_in(release, width - 2 * _MARGIN_IN)
    sheet = Sheet((width, height), ground)
    _head(sheet, title, result.about)
    for across, name in enumerate(works):
        x = left + (across + 0.5) * cell
        sheet.write(x + 0.03, above - 0.05, name, size=min(_TEXT_POINTS, cell * 60), rotation=60)
    for down, name in enumerate(homes):
        y = above + (down + 0.5) * cell
        size = min(_TEXT_POINTS, cell * 60)
        sheet.write(left - 0.07, y, name, size=size, align="right", vertical="center_baseline")
        for across in range(len(works)):
            sheet.box(
                left + across * cell + 0.01,
                above + down * cell + 0.01,
                cell - 0.02,
                cell - 0.02,
                colours[shown[down, across]],
                sheet.colours.rule if not shown[down, across] else "none",
                0.4,
            )
    sheet.write(
        _MARGIN_IN + 0.08,
        above + cell * len(homes) / 2,
        "Live in",
        size=_TEXT_POINTS,
        bold=True,
        align="center",
        rotation=90,
    )
    sheet.write(left, _HEAD_IN + 0.14, "Work in", size=_TEXT_POINTS, bold=True)
    items = [Item("none", ground.land)]
    items += [Item(class_text(*each), colour) for each, colour in zip(classes, colours[1:], strict=True)]
    legend = Legend("classes", "Workers", tuple(items))
    draw_legend(sheet, legend, _MARGIN_IN, above + cell * len(homes) + 0.12, width - 2 * _MARGIN_IN)
    draw_foot(sheet, release, _MARGIN_IN)
    rows, columns = wide.shape
    text = (
        f"{title}: the {rows} home units and {columns} work units with most workers; the table has all pairs."
    )
    return title, text, sheet
