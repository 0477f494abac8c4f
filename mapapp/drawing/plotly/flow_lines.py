"""Commutes as lines between places in a few traces by width, and arrows for inflow, outflow and stay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import pandas
import plotly.graph_objects as go

from mapapp.drawing.flow_shapes import arrow_shapes, line_classes, line_opacity, line_widths
from mapapp.drawing.labels import class_text
from mapapp.drawing.palette import ColorScheme
from mapapp.drawing.plotly.commute_map import LINES
from mapapp.question.view import Bounds


def line_traces(frame: pandas.DataFrame, title: str, scheme: ColorScheme) -> list[go.Scattermap]:
    """A trace for each width class, and a trace of invisible midpoints with hover text.

    Parameters
    ----------
    frame : pandas.DataFrame
        `from_lon_deg`, `from_lat_deg`, `to_lon_deg`, `to_lat_deg`, `workers` and `label` (hover text).
    title : str
        Title of the legend.
    scheme : ColorScheme
        Colors.
    """
    workers = frame["workers"].to_numpy()
    classes = line_classes(int(workers.min(initial=1 << 30)), int(workers.max(initial=0)))
    of = numpy.searchsorted([low for low, _ in classes], workers, side="right") - 1
    widths = line_widths(len(classes))
    traces = [
        _class_trace(frame[of == place], width, class_text(*limits), title, scheme)
        for place, (width, limits) in enumerate(zip(widths, classes, strict=True))
    ]
    traces += [go.Scattermap(showlegend=False)] * (len(LINES) - len(traces))
    return [*traces, _middles(frame)]


def _class_trace(
    frame: pandas.DataFrame, width: float, name: str, title: str, scheme: ColorScheme
) -> go.Scattermap:
    lon, lat = (
        numpy.column_stack([frame[f"from_{axis}"], frame[f"to_{axis}"], numpy.full(len(frame), numpy.nan)])
        for axis in ("lon_deg", "lat_deg")
    )
    return go.Scattermap(
        lon=numpy.round(lon.ravel(), 5),
        lat=numpy.round(lat.ravel(), 5),
        mode="lines",
        line={"width": width, "color": scheme.line},
        opacity=line_opacity(width),
        hoverinfo="skip",
        name=name,
        legendgrouptitle={"text": title},
        legendgroup="lines",
        showlegend=bool(len(frame)),
    )


def _middles(frame: pandas.DataFrame) -> go.Scattermap:
    return go.Scattermap(
        lon=(frame["from_lon_deg"] + frame["to_lon_deg"]) / 2,
        lat=(frame["from_lat_deg"] + frame["to_lat_deg"]) / 2,
        mode="markers",
        marker={"size": 14, "opacity": 0},
        unselected={"marker": {"opacity": 0}},
        customdata=frame["label"].to_numpy(),
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )


def arrow_traces(
    bounds: Bounds, workers: Sequence[int], colors: Sequence[str]
) -> tuple[list[go.Scattermap], list[dict[str, float]]]:
    """Arrows for inflow, outflow and stay around an area, as filled shapes, and positions of their labels.

    Parameters
    ----------
    bounds, workers
        As for `mapapp.drawing.flow_shapes.arrow_shapes`.
    colors : sequence of str
        Colors of the three arrows.
    """
    shapes, places = arrow_shapes(bounds, workers)
    traces = [
        go.Scattermap(
            lon=[round(lon, 6) for lon, _ in shape],
            lat=[round(lat, 6) for _, lat in shape],
            mode="lines",
            fill="toself",
            fillcolor=color,
            line={"width": 1, "color": color},
            opacity=0.85,
            hoverinfo="skip",
            showlegend=False,
        )
        for shape, color in zip(shapes, colors, strict=True)
    ]
    return traces, [{"lon": lon, "lat": lat} for lon, lat in places]
