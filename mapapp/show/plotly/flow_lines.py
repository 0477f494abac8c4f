"""Flows on the page: what its script needs to draw them, and arrows for inflow, outflow and stay."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy

from mapapp.answers.commutes.lines import Lines
from mapapp.question.view import Bounds
from mapapp.show.content.flow_shapes import (
    BOW,
    LEAST_OPACITY,
    MOST_OPACITY,
    TAPER,
    arrow_shapes,
    flow_strengths,
    flow_widths,
)
from mapapp.show.content.palette import ColorScheme
from mapapp.show.plotly.plain_figures import Trace


def flow_file(lines: Lines, caption: str) -> bytes:
    """Flows for the page's script, as JSON: a list for each property, largest flow first.

    Ends are positions in `lon` and `lat`; widths are pixels at home.
    """
    frame = lines.frame
    ends = [frame[[f"{end}_lon_deg", f"{end}_lat_deg"]].to_numpy() for end in ("from", "to")]
    places, at = numpy.unique(numpy.concatenate(ends), axis=0, return_inverse=True)
    at = at.reshape(-1)
    workers = frame["workers"].to_numpy()
    found = {
        "caption": caption,
        "lon": numpy.round(places[:, 0], 5).tolist(),
        "lat": numpy.round(places[:, 1], 5).tolist(),
        "home": at[: len(frame)].tolist(),
        "work": at[len(frame) :].tolist(),
        "workers": workers.tolist(),
        "labels": frame["label"].tolist(),
        "widths": numpy.round(flow_widths(workers, lines.wide), 2).tolist(),
        "strengths": numpy.round(flow_strengths(workers, lines.wide, lines.n_flows), 3).tolist(),
    }
    return json.dumps(found, separators=(",", ":")).encode()


def flow_look(lines: Lines, least: int, scheme: ColorScheme) -> dict[str, object]:
    """How the page's script draws flows, and the choices of its slider."""
    return {
        "colors": [scheme.faint_line, scheme.line],
        "opacity": [LEAST_OPACITY, MOST_OPACITY],
        "bow": BOW,
        "taper": TAPER,
        "least": least,
        "steps": slider_steps(lines.largest, least),
    }


def slider_steps(largest: int, least: int) -> list[int]:
    """Numbers of workers that the slider offers: 1, 2, 5, 10, … up to the largest flow, and the one in the address."""
    steps = {factor * 10**power for power in range(7) for factor in (1, 2, 5)}
    return sorted({step for step in steps if step <= max(largest, 1)} | {least})


def arrow_traces(
    bounds: Bounds, workers: Sequence[int], colors: Sequence[str]
) -> tuple[list[Trace], list[dict[str, object]]]:
    """Arrows for inflow, outflow and stay around an area, as filled shapes, and positions of their labels.

    With each position comes the `box` of its arrow: west, south, east and north.

    Parameters
    ----------
    bounds, workers
        As for `mapapp.show.content.flow_shapes.arrow_shapes`.
    colors : sequence of str
        Colors of the three arrows.
    """
    shapes, places = arrow_shapes(bounds, workers)
    traces = [
        {
            "type": "scattermap",
            "lon": [round(lon, 6) for lon, _ in shape],
            "lat": [round(lat, 6) for _, lat in shape],
            "mode": "lines",
            "fill": "toself",
            "fillcolor": color,
            "line": {"width": 1, "color": color},
            "opacity": 0.85,
            "hoverinfo": "skip",
            "showlegend": False,
        }
        for shape, color in zip(shapes, colors, strict=True)
    ]
    boxes = [
        [min(lons), min(lats), max(lons), max(lats)] for lons, lats in (zip(*s, strict=True) for s in shapes)
    ]
    return traces, [
        {"lon": lon, "lat": lat, "box": box} for (lon, lat), box in zip(places, boxes, strict=True)
    ]
