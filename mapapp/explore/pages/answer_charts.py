"""The charts of each analysis; those that need drawing have a place of their own (`#chart`)."""

from __future__ import annotations

from typing import Any

from dash import html

from mapapp.answers.results import DistanceDirection, FlowMatrix, Result
from mapapp.drawing.bar_groups import MATRIX_UNITS, Group, bar_groups
from mapapp.drawing.palette import GROUNDS
from mapapp.drawing.plotly import charts as figures
from mapapp.explore.pages.bars import bar_chart, bar_table
from mapapp.question.fields import Theme

_FIRST = {"Distance from home to work": ("Distance",), "Who comes, goes and stays": ("Group", "groups")}
"""What the rows of a chart are, where its title does not say it, and its class."""


def charts(result: Result) -> list[Any]:
    """Bar charts of an answer."""
    found: list[Any] = []
    for title, groups in bar_groups(result):
        if groups[0].heading:
            found.append(_headed(title, groups))
        else:
            found.append(bar_chart(title, groups[0].bars, *_FIRST.get(title, ())))
    return found


def _headed(title: str, groups: list[Group]) -> Any:
    parts: list[Any] = []
    for group in groups:
        parts += [html.H3(group.heading), bar_table(group.bars, group.heading)]
    return html.Section([html.H2(title), *parts], className="card")


def drawn_chart(result: Result, theme: Theme) -> tuple[str, str, Any]:
    """Title, description and figure of a chart that bars cannot show; empty title without one."""
    ground = GROUNDS[theme]
    if isinstance(result, DistanceDirection):
        text = "Workers by direction and distance; the table below has the same numbers."
        seen = "workplace to home" if result.about.side == "work" else "home to workplace"
        return f"Direction, from {seen}", text, figures.rose(result.cells, ground)
    if isinstance(result, FlowMatrix) and len(result.cells):
        names = {
            end: dict(zip(frame["unit_id"], frame["name"], strict=True))
            for end, frame in (("home", result.homes), ("work", result.works))
        }
        wide = result.wide(MATRIX_UNITS)
        rows, columns = wide.shape
        text = (
            f"The {rows} home units and {columns} work units with most workers; all pairs are in the table."
        )
        return "From home (down) to work (across)", text, figures.heat_map(wide, names, ground)
    return "", "", {}
