"""Pictures of the Records panel: who passes, how large groups are, what tries cost, and how far records are off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
import plotly.graph_objects as go

from engine.records.acceptance import Acceptance
from mapapp.analyst.workbench.figures import BEFORE, NOW, SMALL, chart
from mapapp.kinds.records.measure.groups import GroupSizes
from mapapp.kinds.records.measure.validity_result import distance_matrix
from mapapp.show.content import palette

__all__ = [
    "CHART_PIXELS",
    "VARIANT_TITLES",
    "boxes_figure",
    "groups_figure",
    "lost_figure",
    "pairs_figure",
    "pass_figure",
    "pass_rates",
    "tries_figure",
]

VARIANT_TITLES: Final = {
    "seeded": "seeded",
    "passed": "seeded, no top-up",
    "seedless": "seedless",
    "marginals": "marginals",
    "flows": "flows",
    "resample": "resample",
}
"""Short names of the variants, in the order in which they are shown."""
_COLORS: Final = {
    "seeded": NOW,
    "passed": "#86a9d9",
    "seedless": "#2f8577",
    "marginals": BEFORE,
    "flows": SMALL,
    "resample": "#c9a24d",
}
CHART_PIXELS: Final = 290
"""Height of the charts that follow the controls."""
_LEAST_K, _MOST_K, _N_POINTS = 10, 10_000, 60
_LEVEL, _CHOSEN_LEVEL = 45.0, 75.0  # percent at which a curve has its number
_APART: Final = 4
"""Points, and percent, between the numbers of two curves."""
_OTHER: Final = "#9fb2c8"
_LEAST_DISTANCE: Final = 1e-4
"""Smaller distances, 0 among them, are drawn here, as the axis is logarithmic."""
_SIZES: Final = ("one", "two", "three")
_LINE: Final = 15
_MOST_DIGITS: Final = 9
"""With more attributes, distances of pairs are in the table and at the pointer only."""

Floats = npt.NDArray[np.float64]


def pass_rates(
    sizes: GroupSizes, acceptance: Acceptance, counts: Sequence[int] | npt.NDArray[np.int64]
) -> Floats:
    """Share of candidates that pass for each number of plausible seeds k, with the noise of a test.

    A seed floor above k is lowered to k.
    """
    floor = acceptance.seed_floor
    return np.array(
        [
            sizes.pass_rate(
                Acceptance(
                    min_plausible_seeds=int(k),
                    threshold_epsilon=acceptance.threshold_epsilon,
                    forced_fail=acceptance.forced_fail,
                    seed_floor=None if floor is None else min(floor, int(k)),
                )
            )
            for k in counts
        ]
    )


def pass_figure(
    sizes: Sequence[GroupSizes], names: Sequence[str], acceptance: Acceptance, chosen: int
) -> go.Figure:
    """Share of candidates that pass against k, a curve for each number of kept attributes.

    Parameters
    ----------
    sizes : sequence of GroupSizes
        Of the seeds, for 0, 1, ..., m kept attributes.
    names : sequence of str
        What each keeps.
    acceptance : Acceptance
        The test; its k is marked.
    chosen : int
        Number of kept attributes that is marked.
    """
    k = acceptance.min_plausible_seeds
    counts = np.unique(np.geomspace(_LEAST_K, max(_MOST_K, 2 * k), _N_POINTS).astype(np.int64))
    figure = chart("plausible seeds k", "passes, %", height=CHART_PIXELS)
    curves = [100 * pass_rates(groups, acceptance, counts) for groups in sizes]
    _add_curves(figure, counts.astype(np.float64), curves, names, chosen, "%{y:.1f}%")
    figure.add_vline(x=k, line={"width": 1, "dash": "dash", "color": palette.INK})
    figure.add_trace(
        go.Scatter(
            x=[k],
            y=[100 * sizes[chosen].pass_rate(acceptance)],
            mode="markers",
            marker={"symbol": "diamond", "size": 11, "color": SMALL},
            name="this setting",
            hovertemplate="%{y:.1f}%",
        )
    )
    figure.update_xaxes(type="log", dtick=1, exponentformat="none", tickangle=0)
    return figure


def groups_figure(sizes: Sequence[GroupSizes], names: Sequence[str], chosen: int) -> go.Figure:
    """Share of workers in groups of at least a size, a curve for each number of kept attributes."""
    most = int(sizes[0].size[-1])
    least = np.unique(np.geomspace(1, most, _N_POINTS).astype(np.int64))
    figure = chart("workers in the group, at least", "workers, %", height=CHART_PIXELS)
    curves = [100 * groups.share_in(least) for groups in sizes]
    _add_curves(figure, least.astype(np.float64), curves, names, chosen, "%{y:.1f}%")
    figure.update_xaxes(type="log", dtick=1, exponentformat="none", tickangle=0)
    return figure


def _add_curves(
    figure: go.Figure, x: Floats, curves: Sequence[Floats], names: Sequence[str], chosen: int, hover: str
) -> None:
    """Curves that fall from left to right, each with its number where it passes the middle; the chosen one in "
    "front."""
    traces, labels, taken = [], [], list[tuple[int, float]]()
    for number in [*(curve for curve in range(len(curves)) if curve != chosen), chosen]:
        color, width = (NOW, 3.0) if number == chosen else (_OTHER, 1.5)
        traces.append(
            go.Scatter(
                x=x,
                y=curves[number],
                name=names[number],
                mode="lines",
                line={"color": color, "width": width},
                hovertemplate=hover,
            )
        )
        level = _CHOSEN_LEVEL if number == chosen else _LEVEL
        falls = curves[number].min() < level
        at = int(np.argmin(np.abs(curves[number] - level))) if falls else x.size - 1 - 4 * number
        while at < x.size - 1 and any(
            abs(at - place) < _APART and abs(curves[number][at] - y) < _APART for place, y in taken
        ):
            at += 1
        taken.append((at, float(curves[number][at])))
        labels.append(
            {
                "x": math.log10(x[at]),
                "y": float(curves[number][at]),
                "text": f"<b>{number}</b>" if number == chosen else str(number),
                "showarrow": False,
                "bgcolor": "white",
                "borderpad": 1,
                "font": {"size": 11, "color": color if number == chosen else "#55616e"},
            }
        )
    figure.add_traces(traces)
    figure.update_yaxes(range=[-3, 107])
    figure.update_layout(
        annotations=labels,
        showlegend=False,
        margin={"t": 10, "b": 44},
        hoverlabel={"font": {"size": 11}},
        hovermode="x unified",
    )


def tries_figure(
    tries: Sequence[int],
    ours: Floats,
    paper: Sequence[float | None],
    marked: tuple[int, float],
) -> go.Figure:
    """Epsilon against tries: the sound accountant, and Theorem 1 with the better composition.

    Parameters
    ----------
    tries : sequence of int
    ours : float64[N]
    paper : sequence of float or None
        None where the theorem gives no epsilon.
    marked : tuple of (int, float)
        Tries of the setting, and its epsilon.
    """
    figure = chart("tries T", "ε", height=CHART_PIXELS)
    lines = (("all tries together (this program)", ours, NOW, "solid"), ("the paper", paper, SMALL, "dash"))
    for name, y, color, dash in lines:
        figure.add_trace(
            go.Scatter(
                x=list(tries),
                y=[value if value is not None and math.isfinite(value) else None for value in y],
                name=name,
                mode="lines",
                line={"color": color, "width": 2.5, "dash": dash},
                hovertemplate="%{y:.4g}",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[marked[0]],
            y=[marked[1]],
            name="this setting",
            mode="markers",
            marker={"symbol": "diamond", "size": 11, "color": NOW},
            hovertemplate="%{y:.4g}",
        )
    )
    figure.add_vline(x=marked[0], line={"width": 1, "dash": "dash", "color": palette.INK})
    for axis in (figure.update_xaxes, figure.update_yaxes):
        axis(type="log", dtick=1, exponentformat="none")
    figure.update_layout(
        legend={"y": -0.24, "yanchor": "top", "x": 0, "xanchor": "left"}, margin={"t": 10, "b": 84}
    )
    return figure


def lost_figure(lost: pandas.DataFrame) -> go.Figure:
    """Share of each distance band's workers that is missing, without and with the top-up.

    Parameters
    ----------
    lost : DataFrame
        The bands of :func:`mapapp.kinds.records.measure.compared.lost_commutes`.
    """
    figure = chart("missing workers, % of the band", "", height=120 + 34 * len(lost))
    labels = [f"{name} ({100 * share:.2g}%)" for name, share in zip(lost["name"], lost["share"], strict=True)]
    for column, name, color in (
        ("topped_up", "with the top-up", NOW),
        ("passed", "without", SMALL),
    ):
        figure.add_trace(
            go.Bar(
                x=100 * lost[column],
                y=labels,
                orientation="h",
                name=name,
                marker={"color": color},
                hovertemplate="%{x:.1f}%",
            )
        )
    figure.update_layout(
        barmode="group",
        bargap=0.25,
        margin={"t": 10, "b": 84, "l": 150},
        legend={
            "y": -44 / (36 + 34 * len(lost)),
            "yanchor": "top",
            "x": 0,
            "xanchor": "left",
            "traceorder": "reversed",
        },
        hovermode="y unified",
    )
    figure.update_yaxes(autorange="reversed", tickfont={"size": 11})
    figure.update_xaxes(zeroline=True, zerolinecolor=palette.INK, zerolinewidth=1)
    return figure


def pairs_figure(attributes: pandas.DataFrame, pairs: pandas.DataFrame, most: float) -> go.Figure:
    """Distances of pairs of attributes as a square; the noise floor above the diagonal.

    Parameters
    ----------
    attributes, pairs : DataFrame
        As :mod:`mapapp.kinds.records.measure.validity` has them.
    most : float
        End of the color scale, so that squares beside each other can be compared.
    """
    matrix = distance_matrix(attributes, pairs)
    titles = list(attributes["title"])
    values = matrix.to_numpy(np.float64)
    names = [f"{number}. {_two_lines(title)}" for number, title in enumerate(titles, 1)]
    numbers = [str(number) for number in range(1, len(titles) + 1)]
    has_digits = len(titles) <= _MOST_DIGITS
    figure = chart("", "", height=100 + 34 * len(titles))
    hover = [
        [_pair_text(titles, down, across, float(values[down, across])) for across in range(len(titles))]
        for down in range(len(titles))
    ]
    figure.add_trace(
        go.Heatmap(
            z=values,
            x=numbers,
            y=names,
            zmin=0,
            zmax=max(most, 1e-3),
            colorscale=[(place / (len(palette.RAMP) - 1), color) for place, color in enumerate(palette.RAMP)],
            text=[[f"{value:.3f}".removeprefix("0") for value in row] for row in values],
            texttemplate="%{text}" if has_digits else None,
            textfont={"size": 9.5},
            hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
            xgap=1,
            ygap=1,
            colorbar={
                "orientation": "h",
                "thickness": 9,
                "tickfont": {"size": 10},
                "y": 0,
                "yanchor": "top",
                "nticks": 5,
            },
        )
    )
    figure.update_yaxes(autorange="reversed", tickfont={"size": 11}, showgrid=False)
    figure.update_xaxes(type="category", side="top", tickfont={"size": 11}, showgrid=False)
    figure.update_layout(margin={"l": 112, "t": 26, "b": 44, "r": 4}, hovermode="closest")
    return figure


def _two_lines(title: str) -> str:
    """A long title over two lines."""
    if len(title) <= _LINE:
        return title
    words = title.split()
    half = min(
        range(1, len(words)), key=lambda at: abs(len(" ".join(words[:at])) - len(title) / 2), default=0
    )
    return " ".join(words[:half]) + "<br>" + " ".join(words[half:]) if half else title


def _pair_text(titles: Sequence[str], down: int, across: int, value: float) -> str:
    if down == across:
        return f"{titles[down]}: {value:.3f}"
    what = "records" if down > across else "noise floor"
    return f"{titles[min(down, across)]} × {titles[max(down, across)]}<br>{what}: {value:.3f}"


def boxes_figure(tables: pandas.DataFrame) -> go.Figure:
    """Distances of all tables of one, two, and three attributes: a box for each variant.

    Boxes reach from the lower to the upper quartile, whiskers to the least and the largest.

    Parameters
    ----------
    tables : DataFrame
        variant, n_attributes, distance.
    """
    figure = chart("attributes in the table", "distance", height=330)
    for variant, title in VARIANT_TITLES.items():
        rows = tables[tables["variant"] == variant]
        if rows.empty:
            continue
        groups = [rows.loc[rows["n_attributes"] == size, "distance"] for size in range(1, len(_SIZES) + 1)]
        low, lower, middle, upper, high = (
            [max(float(group.quantile(share)), _LEAST_DISTANCE) for group in groups]
            for share in (0, 0.25, 0.5, 0.75, 1)
        )
        figure.add_trace(
            go.Box(
                x=list(_SIZES),
                lowerfence=low,
                q1=lower,
                median=middle,
                q3=upper,
                upperfence=high,
                name=title,
                marker={"color": _COLORS[variant]},
                line={"width": 1.2},
            )
        )
    figure.update_layout(
        boxmode="group",
        legend={"y": -0.2, "yanchor": "top", "x": 0, "xanchor": "left"},
        margin={"t": 10, "b": 96},
        hovermode="closest",
    )
    figure.update_yaxes(type="log", dtick=1, exponentformat="none")
    return figure
