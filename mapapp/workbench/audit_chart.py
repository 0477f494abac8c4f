"""The bars of an audit: how many workers each attacker names right, by the workers of a block and segment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas
import plotly.graph_objects as go

from mapapp.measuring.audit.questions import Target
from mapapp.measuring.audit.result import CLASSES, Attacker
from mapapp.workbench.figures import BEFORE, NOW, SMALL, chart

__all__ = ["BARS", "audit_chart"]

BARS: Final[Mapping[Attacker, tuple[str, str]]] = {
    "majority": ("most frequent value", "#c9d1d9"),
    "public_prior": ("public data alone", BEFORE),
    "lookup_without_victim": ("the other workers' real homes", "#8fb4e3"),
    "lookup": ("the release", NOW),
    "informed": ("the release, knowing all others", "#16325c"),
    "memorised": ("real homes memorized", SMALL),
}
"""Attackers in the order of their bars, with what they use and their color."""


def audit_chart(attackers: pandas.DataFrame, target: Target) -> go.Figure:
    """Share of workers named right, in percent.

    Parameters
    ----------
    attackers : DataFrame
        Table `attackers` of an audit of one setting.
    target : str
        What is predicted.
    """
    figure = chart("workers in the block and segment", "named right, %", height=300)
    mine = attackers[attackers["target"] == target]
    for attacker, (name, color) in BARS.items():
        of_n = mine[mine["attacker"] == attacker].set_index("n")["accuracy"]
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


def _size(n: str) -> str:
    return n.replace("-", "–")
