"""Commutes as lines between places: wide where many go, a few traces for all of them, and arrows for in and out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy
import plotly.graph_objects as go

from mapapp.figures import palette
from mapapp.figures.commute_map import LINES, class_text
from mapapp.figures.palette import Ground

MAX_LINES: Final = 1_500
_WIDTHS: Final = (0.8, 1.8, 3.4, 5.6, 8.5)
_HEAD: Final = 0.24  # of an arrow's length


def line_traces(frame: Any, title: str, ground: Ground) -> list[go.Scattermap]:
    """A trace for each class of width, and one of invisible middles that can be pointed at.

    Parameters
    ----------
    frame : pandas.DataFrame
        `from_lon_deg`, `from_lat_deg`, `to_lon_deg`, `to_lat_deg`, `workers` and `label` (hover text), a row a line.
    title : str
        What a line is, for the legend.
    ground : Ground
        Colours.
    """
    workers = frame["workers"].to_numpy()
    classes = line_classes(int(workers.min(initial=1 << 30)), int(workers.max(initial=0)))
    of = numpy.searchsorted([low for low, _ in classes], workers, side="right") - 1
    widths = _WIDTHS[: len(classes)] if len(classes) > 1 else _WIDTHS[2:3]
    traces = [
        _class_trace(frame[of == place], width, class_text(*limits), title, ground)
        for place, (width, limits) in enumerate(zip(widths, classes, strict=True))
    ]
    traces += [go.Scattermap(showlegend=False)] * (len(LINES) - len(traces))
    return [*traces, _middles(frame)]


def line_classes(smallest: int, largest: int) -> list[tuple[int, int | None]]:
    """Classes as `palette.count_classes` has them, but no more than there are widths: the lowest become one."""
    classes = palette.count_classes(smallest, largest)
    too_many = len(classes) - len(_WIDTHS)
    return classes if too_many <= 0 else [(classes[0][0], classes[too_many][1]), *classes[too_many + 1 :]]


def _class_trace(frame: Any, width: float, name: str, title: str, ground: Ground) -> go.Scattermap:
    lon, lat = (
        numpy.column_stack([frame[f"from_{axis}"], frame[f"to_{axis}"], numpy.full(len(frame), numpy.nan)])
        for axis in ("lon_deg", "lat_deg")
    )
    return go.Scattermap(
        lon=numpy.round(lon.ravel(), 5),
        lat=numpy.round(lat.ravel(), 5),
        mode="lines",
        line={"width": width, "color": ground.line},
        opacity=0.4 if width < 1 else 0.65,
        hoverinfo="skip",
        name=name,
        legendgrouptitle={"text": title},
        legendgroup="lines",
        showlegend=bool(len(frame)),
    )


def _middles(frame: Any) -> go.Scattermap:
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
    bounds: tuple[float, float, float, float], workers: Sequence[int], colours: Sequence[str]
) -> tuple[list[go.Scattermap], list[dict[str, float]]]:
    """Arrows for inflow, outflow and stay around an area, as filled shapes, and where their labels stand.

    Parameters
    ----------
    bounds : tuple of float
        West, south, east, north of the area, degrees.
    workers : sequence of int
        Inflow, outflow, stay: an arrow's breadth grows with their square root.
    colours : sequence of str
        Of the three.
    """
    west, south, east, north = bounds
    middle = (west + east) / 2, (south + north) / 2
    narrow = math.cos(math.radians(middle[1]))  # a degree of longitude, in degrees of latitude
    size = max((east - west) * narrow, north - south, 0.01)
    breadth = [size * (0.03 + 0.09 * math.sqrt(count / max(*workers, 1))) for count in workers]
    shapes = [
        _arrow(-1.15 * size, -0.12 * size, 0.0, breadth[0]),
        _arrow(0.12 * size, 1.15 * size, 0.0, breadth[1]),
        _turn(0.42 * size, breadth[2]),
    ]
    traces = [
        go.Scattermap(
            lon=[round(middle[0] + x / narrow, 6) for x, _ in shape],
            lat=[round(middle[1] + y, 6) for _, y in shape],
            mode="lines",
            fill="toself",
            fillcolor=colour,
            line={"width": 1, "color": colour},
            opacity=0.85,
            hoverinfo="skip",
            showlegend=False,
        )
        for shape, colour in zip(shapes, colours, strict=True)
    ]
    at = [(-0.75 * size, breadth[0] * 1.1), (0.62 * size, breadth[1] * 1.1), (0.0, 0.56 * size)]
    labels = [{"lon": middle[0] + x / narrow, "lat": middle[1] + y} for x, y in at]
    return traces, labels


def _arrow(start: float, end: float, y: float, breadth: float) -> list[tuple[float, float]]:
    """Outline of an arrow that points along x."""
    neck = end - _HEAD * (end - start)
    half, wide = breadth / 2, breadth
    return [
        (start, y - half),
        (neck, y - half),
        (neck, y - wide),
        (end, y),
        (neck, y + wide),
        (neck, y + half),
        (start, y + half),
        (start, y - half),
    ]


def _turn(radius: float, breadth: float) -> list[tuple[float, float]]:
    """Outline of an arrow that goes round and comes back: three quarters of a ring above the middle."""
    turn = numpy.radians(numpy.linspace(215, -15, 48))
    half = breadth / 2
    outer = [(radius * 0.6 * math.cos(a), radius * 0.6 * math.sin(a) + radius * 0.55) for a in turn]
    scale = [(radius * 0.6 + side * half) / (radius * 0.6) for side in (1, -1)]
    ring = [[(x * by, (y - radius * 0.55) * by + radius * 0.55) for x, y in outer] for by in scale]
    (x1, y1), (x2, y2) = ring[0][-1], ring[1][-1]
    out, back = ((x1 - x2) / 2, (y1 - y2) / 2), ((x1 + x2) / 2, (y1 + y2) / 2)
    along = (out[1], -out[0])  # clockwise
    head = [
        (back[0] + 2 * out[0], back[1] + 2 * out[1]),
        (back[0] + 2.2 * along[0], back[1] + 2.2 * along[1]),
        (back[0] - 2 * out[0], back[1] - 2 * out[1]),
    ]
    return [*ring[0], *head, *ring[1][::-1], ring[0][0]]
