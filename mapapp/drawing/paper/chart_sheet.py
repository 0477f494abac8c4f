"""Parts common to all charts: title, subtitle, and sizes."""

from __future__ import annotations

from typing import Final

from mapapp.answers.about import About
from mapapp.drawing.paper.paper import Sheet

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
