"""Charts of an answer: eight directions as a rose, and a flow matrix as a heat map."""

from __future__ import annotations

import html
from typing import Final

import numpy
import pandas
import plotly.graph_objects as go

from mapapp.drawing import palette
from mapapp.drawing.labels import DIRECTIONS, class_text, short_names
from mapapp.drawing.palette import ColorScheme

CONFIG: Final[dict[str, object]] = {
    "displaylogo": False,
    "displayModeBar": False,
    "responsive": True,
    "showSendToCloud": False,
    "plotlyServerURL": "",
}


def rose(cells: pandas.DataFrame, scheme: ColorScheme) -> go.Figure:
    """Workers by direction, stacked by distance.

    Parameters
    ----------
    cells : pandas.DataFrame
        `band`, `band_label`, `direction` and `workers`, as in `mapapp.answers.results.DistanceDirection`.
    scheme : ColorScheme
        Colors.
    """
    labels = dict(zip(cells["band"], cells["band_label"], strict=True))
    colors = palette.band_colors(len(labels), scheme.ramp)
    figure = go.Figure()
    for color, (band, label) in zip(colors, labels.items(), strict=True):
        mine = cells[cells["band"] == band].set_index("direction")["workers"]
        figure.add_barpolar(
            r=mine.reindex(DIRECTIONS, fill_value=0).to_numpy(),
            theta=DIRECTIONS,
            name=label,
            marker={"color": color, "line": {"color": scheme.land, "width": 1}},
            hovertemplate="%{r:,} workers to the %{theta}<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(
        polar={
            "bgcolor": "rgba(0,0,0,0)",
            "angularaxis": {
                "direction": "clockwise",
                "rotation": 90,
                "categoryarray": DIRECTIONS,
                "gridcolor": scheme.tract_line,
                "linecolor": scheme.county_line,
            },
            "radialaxis": {"gridcolor": scheme.tract_line, "tickformat": ",d", "angle": 22.5, "nticks": 4},
        },
        legend={"orientation": "h", "y": -0.12, "x": 0.5, "xanchor": "center", "traceorder": "normal"},
        height=360,
        margin={"l": 30, "r": 30, "t": 24, "b": 10},
        **_plain(scheme),
    )
    return figure


def heat_map(wide: pandas.DataFrame, names: dict[str, dict[str, str]], scheme: ColorScheme) -> go.Figure:
    """Workers from home units (down) to work units (across), in classes.

    Parameters
    ----------
    wide : pandas.DataFrame
        Workers by home unit and work unit, largest first; see `mapapp.answers.results.FlowMatrix.wide`.
    names : dict
        "home" and "work": name by unit.
    scheme : ColorScheme
        Colors.
    """
    workers = wide.to_numpy()
    positive = workers[workers > 0]
    classes = palette.count_classes(int(positive.min(initial=1 << 30)), int(positive.max(initial=0)))
    shown = numpy.searchsorted([low for low, _ in classes], workers, side="right")
    homes, works = (
        [html.escape(names[end].get(unit, unit), quote=False) for unit in axis]
        for end, axis in (("home", wide.index), ("work", wide.columns))
    )
    steps = [scheme.land, *palette.class_colors(len(classes), scheme.ramp)]
    edges = numpy.linspace(0, 1, len(steps) + 1)
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            x=list(range(len(works))),
            y=list(range(len(homes))),
            zmin=-0.5,
            zmax=len(classes) + 0.5,
            colorscale=[[float(e), c] for i, c in enumerate(steps) for e in edges[i : i + 2]],
            customdata=[
                [[home, work, f"{n:,}"] for work, n in zip(works, row, strict=True)]
                for home, row in zip(homes, workers, strict=True)
            ],
            hovertemplate="%{customdata[0]} → %{customdata[1]}<br>%{customdata[2]} workers<extra></extra>",
            xgap=1,
            ygap=1,
            colorbar={
                "tickvals": list(range(len(classes) + 1)),
                "ticktext": ["none", *(class_text(*each) for each in classes)],
                "thickness": 12,
                "orientation": "h",
                "y": -0.02,
                "yanchor": "top",
                "tickfont": {"size": 9},
                "outlinewidth": 0,
            },
        )
    )
    figure.update_layout(
        xaxis={
            "tickvals": list(range(len(works))),
            "ticktext": short_names(works),
            "side": "top",
            "tickangle": -60,
            "title": {"text": "Work in", "standoff": 4},
            "showgrid": False,
        },
        yaxis={
            "tickvals": list(range(len(homes))),
            "ticktext": short_names(homes),
            "autorange": "reversed",
            "title": {"text": "Live in", "standoff": 4},
            "showgrid": False,
        },
        height=170 + 20 * len(homes) + 60,
        margin={"l": 10, "r": 8, "t": 10, "b": 10},
        **_plain(scheme),
    )
    figure.update_xaxes(automargin=True, tickfont={"size": 10})
    figure.update_yaxes(automargin=True, tickfont={"size": 10})
    return figure


def _plain(scheme: ColorScheme) -> dict[str, object]:
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 11, "color": scheme.ink},
        "hoverlabel": {
            "bgcolor": scheme.land,
            "bordercolor": scheme.county_line,
            "font": {"color": scheme.ink},
        },
    }
