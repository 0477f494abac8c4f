"""Pictures of the Tables panel: which cells are released, the map over epsilon and delta, and people's shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from mapapp.analyst.workbench.figures import BEFORE, NOW, SMALL, chart
from mapapp.kinds.tables.make.prior import Planned
from mapapp.kinds.tables.tune.plans import DELTAS, EPSILONS

__all__ = ["pattern_figure", "shares_figure", "shift_figure"]

_SUPPRESSED: Final = "#dcd8d2"
_COLORS: Final = (_SUPPRESSED, NOW, SMALL)
_STATES: Final = ("suppressed", "released", "released outside its interval")
_SHORT: Final = {
    "age": ("to 29", "30–54", "55+"),
    "earnings": ("low", "middle", "high"),
    "industry": ("goods", "trade", "services"),
}
_MOST_NAMED: Final = 60
"""More rows than this have no names on the axis."""
_ROW_PIXELS: Final = 11
_MOST_PIXELS: Final = 900

Bools = npt.NDArray[np.bool_]


def pattern_figure(plan: Planned, released: Bools, outside: Bools | None = None) -> go.Figure:
    """Each cell of a table as a rectangle, in the color of its state; blank where nobody works.

    Parameters
    ----------
    plan : Planned
    released : bool[C]
    outside : bool[C], optional
        Released cells whose count is outside its safe interval.
    """
    rows, columns = plan.rows_present, np.unique(plan.column)
    state = np.full((rows.size, columns.size), np.nan)
    people = np.zeros(state.shape, dtype=np.int64)
    at = np.searchsorted(rows, plan.row), np.searchsorted(columns, plan.column)
    state[at] = released + (0 if outside is None else outside.astype(np.int64))
    people[at] = plan.people
    texts = np.array([*_STATES, ""])[np.where(np.isnan(state), -1, state).astype(int)]
    row_names = [plan.ground.row_names[row] for row in rows]
    figure = chart("", "", height=min(110 + _ROW_PIXELS * rows.size, _MOST_PIXELS))
    figure.add_trace(
        go.Heatmap(
            z=state,
            x=np.arange(columns.size),
            y=row_names,
            zmin=-0.5,
            zmax=len(_COLORS) - 0.5,
            colorscale=[
                (edge / len(_COLORS), color)
                for place, color in enumerate(_COLORS)
                for edge in (place, place + 1)
            ],
            showscale=False,
            xgap=1,
            ygap=1,
            text=texts,
            customdata=people,
            hovertext=np.broadcast_to([plan.ground.column_names[column] for column in columns], state.shape),
            hovertemplate="%{y}<br>%{hovertext}<br>%{customdata:,} workers: %{text}<extra></extra>",
        )
    )
    figure.update_layout(
        margin={"t": 6, "b": 84, "l": 110 if rows.size <= _MOST_NAMED else 16}, hovermode="closest"
    )
    figure.update_yaxes(
        autorange="reversed", showticklabels=bool(rows.size <= _MOST_NAMED), tickfont={"size": 9}
    )
    figure.update_xaxes(
        tickvals=np.arange(columns.size),
        ticktext=[_short_label(plan, column) for column in columns.tolist()],
        tickfont={"size": 9},
        tickangle=-40,
        showticklabels=bool(columns.size <= _MOST_NAMED),
        showgrid=False,
    )
    return figure


def shares_figure(shares: npt.NDArray[np.float64], marked: tuple[float, float]) -> go.Figure:
    """Expected share of people in released cells over epsilon and delta.

    Parameters
    ----------
    shares : float64[deltas, epsilons]
    marked : tuple of float
        Epsilon and delta of the sliders.
    """
    figure = chart("ε", "δ", height=290)
    figure.add_trace(
        go.Heatmap(
            z=100 * shares,
            x=[float(epsilon) for epsilon in EPSILONS],
            y=[float(delta) for delta in DELTAS],
            zmin=0,
            zmax=100,
            colorscale=[(0, "#f3f1ec"), (1, NOW)],
            colorbar={"title": {"text": "% of people"}, "thickness": 10, "tickfont": {"size": 10}},
            hovertemplate="ε %{x:g}, δ %{y:g}: %{z:.1f}% of people<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[marked[0]],
            y=[marked[1]],
            mode="markers",
            marker={"symbol": "circle-open", "size": 14, "color": SMALL, "line": {"width": 3}},
            hovertemplate="the sliders<extra></extra>",
        )
    )
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    figure.update_layout(margin={"t": 10, "b": 44}, hovermode="closest", showlegend=False)
    return figure


def shift_figure(
    plan: Planned,
    epsilon: float,
    shifts: Sequence[tuple[str, npt.NDArray[np.float64], Bools]],
) -> go.Figure:
    """A strip of every person's shift against its bound: a mark for each released cell, as large as its people.

    Parameters
    ----------
    plan : Planned
    epsilon : float
        The bound.
    shifts : sequence of (name, float64[C], bool[C])
        What each strip shows, the shifts, and the cells that it has.
    """
    figure = chart("shift, relative to the prior", "", height=110 + 60 * len(shifts))
    for (name, shift, shown), color in zip(shifts, (BEFORE, NOW), strict=False):
        people = plan.people[shown]
        figure.add_trace(
            go.Scatter(
                x=shift[shown],
                y=_spread(people.size, len(figure.data)),
                mode="markers",
                name=name,
                marker={"size": 3 + 2 * np.log10(people + 1), "color": color, "opacity": 0.45},
                customdata=people,
                hovertemplate="%{customdata:,} people shift by %{x:.2f}<extra></extra>",
            )
        )
    figure.add_vline(x=epsilon, line={"width": 2, "dash": "dash", "color": SMALL})
    figure.add_annotation(
        x=epsilon, y=1, yref="paper", yanchor="bottom", text=f"bound ε = {epsilon:g}", showarrow=False
    )
    figure.update_layout(showlegend=False, margin={"t": 24, "b": 44, "l": 74}, hovermode="closest")
    figure.update_yaxes(
        tickvals=list(range(len(shifts))),
        ticktext=[name for name, _, _ in shifts],
        range=[-0.6, len(shifts) - 0.4],
        showgrid=False,
    )
    figure.update_xaxes(rangemode="tozero")
    return figure


def _spread(n: int, line: int) -> npt.NDArray[np.float64]:
    """Places around a line, so that marks do not hide each other: the same every time."""
    return np.asarray(line + 0.7 * ((np.arange(n) * 0.618034) % 1 - 0.5), dtype=np.float64)


def _short_label(plan: Planned, column: int) -> str:
    """A label of a column that fits below it; those of one table differ."""
    if plan.spec.flows:
        return plan.ground.column_names[column]
    codes = plan.ground.column_ids[column].split(".")
    return ", ".join(_SHORT[name][int(code) - 1] for name, code in zip(plan.spec.columns, codes, strict=True))
