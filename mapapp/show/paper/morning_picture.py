"""A morning as a part of a page without scripts: workers go from home to work and back.

A dot is the round end of a dash without length on the line from home to work; the page's style sheet moves all dashes
at once (`mapapp/show/reports/report.css`), so it can also keep them still.
"""

from __future__ import annotations

import base64
import math
from typing import Final

import numpy
import numpy.typing as npt
from markupsafe import Markup

from mapapp.show.content.map_content import MapContent
from mapapp.show.content.morning import STEPS, Morning, morning
from mapapp.show.paper import base_map
from mapapp.show.paper.map_names import draw_names, map_names
from mapapp.show.paper.sheet import PIXELS_PER_INCH, Sheet, drawing, encode_sheet

MOST_MOVING: Final = 1_500
"""Dots of the picture: about 43 bytes each, and as many as a phone's browser moves smoothly as parts of an SVG."""
_SIZE_IN: Final = (7.5, 5.6)


def morning_picture(content: MapContent) -> tuple[Markup, Morning]:
    """Return the morning of an answer's dots as an SVG element, and its words; the same content gives the same text.

    The dots are the element of class `workers`.
    """
    release, scheme = content.release, content.scheme
    moving = morning(release, content.question, content.view, scheme, MOST_MOVING)
    frame = base_map.frame_of(content.bounds, *_SIZE_IN, 0.05)
    map_names(release)  # before the lock of drawing
    with drawing():
        sheet = Sheet(_SIZE_IN, scheme)
        axes = sheet.axes(0.0, 0.0, *_SIZE_IN)
        base_map.draw_land(axes, release, frame, scheme)
        base_map.draw_borders(axes, release, frame, scheme)
        base_map.draw_ground(axes, release, frame, scheme)
        draw_names(axes, release, frame, scheme)
        ground = base64.b64encode(encode_sheet(sheet, "png", 1, "", "")).decode()
    width, height = (round(length_in * PIXELS_PER_INCH) for length_in in _SIZE_IN)
    svg = Markup(
        f'<svg viewBox="0 0 {width} {height}" role="img" '
        'aria-label="Map that moves from night to day and back.">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{ground}"/>'
        f'<g class="workers">{_lines(_pixels(moving, frame))}</g></svg>'
    )
    return svg, moving


def _pixels(moving: Morning, frame: base_map.Frame) -> npt.NDArray[numpy.int64]:
    """Return column and row of each home, and how many to go to the workplace, in pixels of the frame."""
    west, north, east, south = moving.box
    share = moving.steps.astype(numpy.float64) / STEPS
    x = 2 * math.pi * (west + share[:, ::2] * (east - west) - 0.5)
    y = 2 * math.pi * (0.5 - north - share[:, 1::2] * (south - north))
    places = numpy.stack([x - frame.west, frame.north - y], axis=2) / frame.per_inch * PIXELS_PER_INCH
    home, work = places.round().astype(numpy.int64).transpose(1, 0, 2)
    return numpy.column_stack([home, work - home])


def _lines(pixels: npt.NDArray[numpy.int64]) -> str:
    """Return a line from each home to its workplace, whose length counts as 1; one without length has no dash."""
    return "".join(
        f'<path pathLength="1" d="M{x} {y}l{right or (0 if down else 0.1)} {down}"/>'
        for x, y, right, down in pixels.tolist()
    )
