"""The chart of an answer that Plotly draws: eight directions as a rose."""

from __future__ import annotations

from typing import Final

import numpy
import pandas

from mapapp.show.content import palette
from mapapp.show.content.labels import DIRECTIONS
from mapapp.show.content.palette import ColorScheme
from mapapp.show.plotly.plain_figures import Figure, Trace, figure, numbers

CONFIG: Final[dict[str, object]] = {
    "displaylogo": False,
    "displayModeBar": False,
    "responsive": True,
    "showSendToCloud": False,
    "plotlyServerURL": "",
}

HEIGHT: Final = 360  # pixels


def rose(cells: pandas.DataFrame, scheme: ColorScheme) -> Figure:
    """Workers by direction, stacked by distance.

    Parameters
    ----------
    cells : pandas.DataFrame
        `band`, `band_label`, `direction` and `workers`, as in `mapapp.answers.analyses.results.DistanceDirection`.
    scheme : ColorScheme
        Colors.
    """
    labels = dict(zip(cells["band"], cells["band_label"], strict=True))
    colors = palette.band_colors(len(labels), scheme.ramp)
    place = {direction: at for at, direction in enumerate(DIRECTIONS)}
    directed_cells = cells[cells["direction"].isin(DIRECTIONS)]
    workers = numpy.zeros((len(labels), len(DIRECTIONS)), dtype=numpy.int64)
    row = directed_cells["band"].map({band: at for at, band in enumerate(labels)}).to_numpy(numpy.int64)
    workers[row, directed_cells["direction"].map(place).to_numpy(numpy.int64)] = directed_cells[
        "workers"
    ].to_numpy()
    traces: list[Trace] = [
        {
            "type": "barpolar",
            "r": numbers(counts),
            "theta": DIRECTIONS,
            "name": label,
            "marker": {"color": color, "line": {"color": scheme.land, "width": 1}},
            "hovertemplate": "%{r:,} workers to the %{theta}<extra>%{fullData.name}</extra>",
        }
        for color, label, counts in zip(colors, labels.values(), workers, strict=True)
    ]
    layout = {
        "polar": {
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
        "legend": {"orientation": "h", "y": -0.12, "x": 0.5, "xanchor": "center", "traceorder": "normal"},
        "height": HEIGHT,
        "margin": {"l": 30, "r": 30, "t": 24, "b": 10},
        **_plain(scheme),
    }
    return figure(traces, layout)


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
