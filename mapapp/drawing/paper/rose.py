"""Workers by direction, stacked by distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, cast

import numpy
import numpy.typing as npt
from matplotlib.projections.polar import PolarAxes

from mapapp.answers.release import Release
from mapapp.answers.results import DistanceDirection
from mapapp.drawing import palette
from mapapp.drawing.labels import DIRECTIONS
from mapapp.drawing.palette import ColorScheme
from mapapp.drawing.paper.chart_sheet import HEAD_IN, MARGIN_IN, SMALL_POINTS, TEXT_POINTS, draw_head
from mapapp.drawing.paper.legend import HEIGHT_IN, Item, Legend, draw_legend
from mapapp.drawing.paper.paper import Sheet, width_in
from mapapp.drawing.paper.source import draw_foot, foot_height_in, foot_of

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
    counts = numpy.array([mine.reindex(DIRECTIONS, fill_value=0) for mine in by_band])
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
    found: int = next(round(step * power) for step in steps if step * power >= count)
    return -(-found // 4) * 4
