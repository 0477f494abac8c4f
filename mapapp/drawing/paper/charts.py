"""The charts of an answer as pictures, with the same content as on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mapapp.answers.entries import entry_of, n_about
from mapapp.answers.release import Release
from mapapp.answers.results import Change, Result
from mapapp.drawing.bar_groups import bar_charts
from mapapp.drawing.palette import COLOR_SCHEMES, ColorScheme
from mapapp.drawing.paper.bars import bar_words, bars
from mapapp.drawing.paper.chart_sheet import about_words
from mapapp.drawing.paper.heat_map import heat_map
from mapapp.drawing.paper.paper import Form, Sheet, check, drawing, encoded
from mapapp.drawing.paper.rose import rose
from mapapp.question.fields import ThemeChoice

WIDTH_IN: Final = 6.0

_CHARTS: Final[dict[str, Callable[..., tuple[str, str, Sheet]]]] = {
    "rose": rose,
    "heat map": heat_map,
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
        As for :func:`mapapp.drawing.paper.map_picture`.
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
            (title, text, encoded(sheet, form, scale, f"{title}. {about_words(shown.about)}", text))
            for title, text, sheet in _sheets(release, COLOR_SCHEMES[theme], shown, width_in)
        ]


def _sheets(
    release: Release, scheme: ColorScheme, result: Result, width: float
) -> list[tuple[str, str, Sheet]]:
    drawn: list[tuple[str, str, Sheet]] = []
    for each in bar_charts(result):
        title, groups = each.heading, each.groups
        if any(bar.workers for group in groups for bar in group.bars):
            drawn.append(
                (title, bar_words(title, groups), bars(release, scheme, result.about, title, groups, width))
            )
    chart = entry_of(result).chart
    if chart and n_about(result):
        drawn.append(_CHARTS[chart](release, scheme, result, width))
    return drawn
