"""The bars of an audit: how many workers each attacker names right, by the workers of a block and segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pandas
import plotly.graph_objects as go

from mapapp.analyst.audit.questions import Target
from mapapp.analyst.audit.result import CLASSES, Attacker
from mapapp.analyst.workbench.figures import BEFORE, NOW, SMALL, chart
from mapapp.show.content.tradeoff import marks, scheme_lines

__all__ = ["BARS", "audit_chart", "tradeoff_chart"]

_MOST_TICKS: Final = 6

BARS: Final[Mapping[Attacker, tuple[str, str]]] = {
    "majority": ("most frequent value", "#c9d1d9"),
    "public_prior": ("public data alone", BEFORE),
    "lookup_without_victim": ("the other workers' real homes", "#8fb4e3"),
    "lookup": ("the release", NOW),
    "informed": ("the release, knowing all others", "#16325c"),
    "memorised": ("real homes memorized", SMALL),
}
"""Attackers in the order of their bars, with what they use and their color."""


def audit_chart(attackers: pandas.DataFrame, target: Target, place: str = "block and segment") -> go.Figure:
    """Share of workers named right, in percent.

    Parameters
    ----------
    attackers : DataFrame
        Table `attackers` of an audit of one setting.
    target : str
        What is predicted.
    place : str
        What n counts the workers of, such as "block and segment".
    """
    figure = chart(f"workers in the {place}", "named right, %", height=300)
    of_target = attackers[attackers["target"] == target]
    for attacker, (name, color) in BARS.items():
        of_n = of_target[of_target["attacker"] == attacker].set_index("n")["accuracy"]
        if len(of_n):
            shares = [100 * float(of_n.get(n, float("nan"))) for n in CLASSES]
            figure.add_trace(
                go.Bar(
                    x=[_size(n) for n in CLASSES],
                    y=shares,
                    name=name,
                    marker={"color": color},
                    hovertemplate="%{y:.1f}%",
                )
            )
    figure.update_layout(
        barmode="group",
        bargap=0.18,
        bargroupgap=0.04,
        margin={"t": 10, "b": 130},
        legend={"y": -0.28, "yanchor": "top", "x": 0, "xanchor": "left"},
    )
    figure.update_yaxes(range=[0, 100])
    return figure


def tradeoff_chart(schemes: pandas.DataFrame, names: Sequence[str]) -> go.Figure:
    """Share of workers named right against the error of counts: a line for each scheme, a star for each setting.

    Parameters
    ----------
    schemes : DataFrame
        Rows of the table `schemes` for one question and one class of workers.
    names : sequence of str
        The settings in order.
    """
    figure = chart("median relative error of counts", "named right, %", height=360)
    for line in scheme_lines(schemes):
        figure.add_trace(
            go.Scatter(
                x=100 * line.points["median_relative_error"],
                y=100 * line.points["lookup"],
                name=line.scheme,
                mode="lines+markers",
                line={"color": line.color, "width": 1.5, "dash": "dash" if line.is_dashed else "solid"},
                marker={"size": 6},
                customdata=line.points["label"],
                hovertemplate="%{customdata}: error %{x:.3g}%, named right %{y:.1f}%<extra></extra>",
            )
        )
    for mark in marks(schemes, names):
        figure.add_trace(
            go.Scatter(
                x=[100 * mark.error],
                y=[100 * mark.found],
                name=mark.name,
                mode="markers",
                marker={
                    "size": 14,
                    "symbol": "star",
                    "color": mark.color,
                    "line": {"width": 1, "color": "white"},
                },
                hovertemplate="%{fullData.name}: error %{x:.3g}%, named right %{y:.1f}%<extra></extra>",
            )
        )
    figure.update_layout(
        margin={"t": 10, "b": 150},
        legend={"y": -0.28, "yanchor": "top", "x": 0, "xanchor": "left"},
        hovermode="closest",
    )
    ticks = _percent_ticks(100 * schemes["median_relative_error"])
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}%" for tick in ticks], tickangle=0)
    figure.update_yaxes(rangemode="tozero")
    return figure


def _percent_ticks(percents: pandas.Series) -> list[float]:
    """Round numbers for a logarithmic axis: 1, 2, 5, or 1 and 3 of each power of ten if that would be too many."""
    least, most = percents[percents > 0].min(), percents.max()
    for steps in ((1, 2, 5), (1, 3)):
        ticks = [step * 10.0**power for power in range(-3, 6) for step in steps]
        ticks = [tick for tick in ticks if least / steps[1] <= tick <= most * steps[1]]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks


def _size(n: str) -> str:
    return n.replace("-", "–")
