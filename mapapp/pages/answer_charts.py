"""The charts of each analysis; those that need drawing have a place of their own (`#chart`)."""

from __future__ import annotations

from typing import Any

from dash import html

from mapapp.figures import charts as figures
from mapapp.figures.palette import GROUNDS
from mapapp.pages import words
from mapapp.pages.bars import Bar, bar_chart, bar_table, bars_of
from mapapp.queries.results import (
    AreaComparison,
    AreaProfile,
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    PairedAreas,
    Result,
)
from mapapp.url_state import ViewState

MATRIX_UNITS = 15
BAR_ROWS = 8


def charts(result: Result, state: ViewState) -> list[Any]:
    """Bar charts of an answer."""
    if isinstance(result, AreaProfile):
        return _characteristics(result.bands)
    if isinstance(result, (Destinations, AreaComparison)):
        n_rows, unit = len(result.units), words.level_word(result.layer)
        title = f"The {BAR_ROWS} largest of {n_rows:,}" if n_rows > BAR_ROWS else "All of them"
        return [bar_chart(f"{title}, by {unit}", bars_of(result.units.head(BAR_ROWS), "name"))]
    if isinstance(result, DistanceDirection):
        return [bar_chart("Distance from home to work", bars_of(result.bands), "Distance")]
    if isinstance(result, InflowOutflow):
        return [bar_chart("Who comes, goes and stays", bars_of(result.groups), "Group", "groups")]
    if isinstance(result, PairedAreas):
        distances = bar_chart("Distance from home to work", bars_of(result.distances), "Distance")
        return [distances, *_characteristics(result.bands)]
    return []


def _characteristics(bands: Any) -> list[Any]:
    parts: list[Any] = []
    for name, title in words.BAND_TITLES.items():
        mine: list[Bar] = bars_of(bands[bands["characteristic"] == name])
        parts += [html.H3(title), bar_table(mine, title)]
    return [html.Section([html.H2("Who they are"), *parts], className="card")]


def drawn_chart(result: Result, state: ViewState) -> tuple[str, str, Any]:
    """Title, description and figure of a chart that bars cannot show; empty title without one."""
    ground = GROUNDS[state.theme]
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
