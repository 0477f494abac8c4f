"""A flow matrix as a heat map: homes down, workplaces across, workers in classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy
import numpy.typing as npt
import pandas

from mapapp.answers.release import Release
from mapapp.answers.results import FlowMatrix
from mapapp.drawing import palette
from mapapp.drawing.bar_groups import MATRIX_UNITS
from mapapp.drawing.labels import class_text, short_names
from mapapp.drawing.palette import ColorScheme
from mapapp.drawing.paper.chart_sheet import HEAD_IN, MARGIN_IN, TEXT_POINTS, draw_head
from mapapp.drawing.paper.legend import HEIGHT_IN, Item, Legend, draw_legend
from mapapp.drawing.paper.paper import Sheet, width_in
from mapapp.drawing.paper.source import draw_foot, foot_height_in, foot_of

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
    texts = ["none", *(class_text(*each) for each in classes)]
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
