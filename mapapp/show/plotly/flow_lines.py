"""Flows on the page: what its script needs to draw them."""

from __future__ import annotations

import json
from typing import Final

import numpy

from mapapp.answers import words
from mapapp.answers.commutes.lines import Lines
from mapapp.show.content.flow_shapes import (
    GAP_PX,
    HEAD_LENGTH,
    HEAD_WIDTH,
    LEAST_LENGTH_PX,
    LEAST_OPACITY,
    LONGEST_HEAD,
    MOST_OPACITY,
    TAPER,
    circle_radii,
    flow_strengths,
    flow_widths,
)
from mapapp.show.content.palette import ColorScheme

MOST_CIRCLES: Final = 600


def flow_file(lines: Lines, caption: str) -> bytes:
    """Flows for the page's script, as JSON: a list for each property, largest flow first.

    Ends are positions in the lists of places, which have the places of flows and the largest others; widths are pixels
    before the head, radii of circles pixels.
    """
    frame = lines.frame
    total = lines.places["come"] + lines.places["go"]
    used = numpy.union1d(frame["home_group"], frame["work_group"]).astype(numpy.int64)
    largest = total[total > 0].nlargest(MOST_CIRCLES).index.to_numpy(numpy.int64)
    kept = numpy.union1d(used, largest)
    places = lines.places.iloc[kept]
    workers = frame["workers"].to_numpy()
    known = frame["expected_error"].to_numpy()
    properties = {
        "caption": caption,
        "lon": numpy.round(places["lon_deg"], 5).tolist(),
        "lat": numpy.round(places["lat_deg"], 5).tolist(),
        "names": places["name"].tolist(),
        "come": places["come"].tolist(),
        "go": places["go"].tolist(),
        "radii": [
            numpy.round(circle_radii(places[way], lines.largest_place), 2).tolist() for way in ("come", "go")
        ],
        "home": numpy.searchsorted(kept, frame["home_group"]).tolist(),
        "work": numpy.searchsorted(kept, frame["work_group"]).tolist(),
        "workers": workers.tolist(),
        "labels": frame["label"].tolist(),
        "errors": ["" if numpy.isnan(error) else words.error_text(error) for error in known.tolist()],
        "widths": numpy.round(flow_widths(workers, lines.wide), 2).tolist(),
        "strengths": numpy.round(flow_strengths(workers, lines.wide, lines.n_flows), 3).tolist(),
    }
    return json.dumps(properties, separators=(",", ":")).encode()


def flow_look(lines: Lines, scheme: ColorScheme) -> dict[str, object]:
    """How the page's script draws flows, and the choices of its slider."""
    return {
        "colors": [scheme.faint_line, scheme.line],
        "circles": [scheme.come, scheme.go],
        "halo": scheme.halo,
        "glow": scheme.is_dark,
        "opacity": [LEAST_OPACITY, MOST_OPACITY],
        "shape": {
            "taper": TAPER,
            "gap": GAP_PX,
            "wide": HEAD_WIDTH,
            "long": HEAD_LENGTH,
            "longest": LONGEST_HEAD,
            "shortest": LEAST_LENGTH_PX,
        },
        "least": lines.least,
        "steps": slider_steps(lines.largest, lines.least),
    }


def slider_steps(largest: int, least: int) -> list[int]:
    """Numbers of workers that the slider offers: 1, 2, 5, 10, … up to the largest flow, and the one in the address."""
    steps = {factor * 10**power for power in range(7) for factor in (1, 2, 5)}
    return sorted({step for step in steps if step <= max(largest, 1)} | {least})
