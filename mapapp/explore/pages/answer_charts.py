"""The charts of each analysis. A chart that Plotly draws goes to its own card (`#chart`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dash import html
from dash.development.base_component import Component

from mapapp.answers.entries import entry_of
from mapapp.answers.results import DistanceDirection, Result
from mapapp.drawing.bar_groups import BarChart, bar_charts
from mapapp.drawing.palette import COLOR_SCHEMES, ColorScheme
from mapapp.drawing.plotly import charts as figures
from mapapp.drawing.plotly.plain_figures import Figure
from mapapp.explore.pages.bars import bar_chart, bar_table
from mapapp.question.fields import Theme

_FIRST = {"Distance from home to work": ("Distance",), "Who comes, goes, and stays": ("Group", "groups")}
"""Head of the first column, for charts whose titles do not name their rows, and CSS class."""


def charts(result: Result) -> list[Component]:
    """Bar charts of an answer."""
    found: list[Component] = []
    for chart in bar_charts(result):
        if chart.groups[0].heading:
            found.append(_headed(chart))
        else:
            first, *css = _FIRST.get(chart.title, (chart.title,))
            found.append(bar_chart(chart.heading, chart.groups[0].bars, first, *css))
    return found


def _headed(chart: BarChart) -> Component:
    parts: list[Component] = []
    for group in chart.groups:
        parts += [html.H3(group.heading), bar_table(group.bars, group.heading)]
    return html.Section([html.H2(chart.heading), *parts], className="card")


def drawn_chart(result: Result, theme: Theme) -> tuple[str, str, Figure]:
    """Title, description and figure of a chart that is not made of bars; an empty title if there is no such chart."""
    chart = entry_of(result).chart
    return _CHARTS[chart](result, COLOR_SCHEMES[theme]) if chart in _CHARTS else _NO_CHART


def _rose(result: DistanceDirection, scheme: ColorScheme) -> tuple[str, str, Figure]:
    text = "Workers by direction and distance. The table below has the same numbers."
    route = "workplace to home" if result.about.side == "work" else "home to workplace"
    return f"Direction, from {route}", text, figures.rose(result.cells, scheme)


_NO_CHART: Final[tuple[str, str, Figure]] = ("", "", {})
_CHARTS: Final[dict[str, Callable[..., tuple[str, str, Figure]]]] = {
    "rose": _rose,
}
"""By the name in an analysis's entry. A flow matrix is a table on the page (`answer_matrix`)."""
