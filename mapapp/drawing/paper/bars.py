"""Bar charts with names, numbers, expected errors and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mapapp.answers.about import About
from mapapp.answers.release import Release
from mapapp.drawing.bar_groups import Bar, Group
from mapapp.drawing.palette import ColorScheme
from mapapp.drawing.paper.chart_sheet import HEAD_IN, MARGIN_IN, SMALL_POINTS, TEXT_POINTS, draw_head
from mapapp.drawing.paper.paper import Sheet, fitted, width_in
from mapapp.drawing.paper.source import draw_foot, foot_height_in, foot_of

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
    sheet = Sheet(
        (width, HEAD_IN + n_rows * _ROW_IN + 0.12 + foot_height_in(foot_of(release), inner)), scheme
    )
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
    draw_foot(sheet, foot_of(release), MARGIN_IN)
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
    sheet.write(x, base, fitted(bar.name, columns.name - 0.08, TEXT_POINTS), size=TEXT_POINTS)
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
