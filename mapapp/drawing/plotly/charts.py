"""The chart of an answer that Plotly draws: eight directions as a rose."""

from __future__ import annotations

from typing import Final

import pandas
import plotly.graph_objects as go

from mapapp.drawing import palette
from mapapp.drawing.labels import DIRECTIONS
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
