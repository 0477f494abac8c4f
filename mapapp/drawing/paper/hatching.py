"""Hatching of areas whose values are uncertain: diagonal lines cut off at the areas' borders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy
import shapely
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from mapapp.drawing.palette import HATCH_HALO_OPACITY, ColorScheme
from mapapp.drawing.paper.base_map import Frame, outline

_APART_IN: Final = 0.07
_STROKES: Final = ((1.5, HATCH_HALO_OPACITY), (0.55, 1.0))  # points and opacity: a halo, then the line


def hatch(axes: Axes, shapes: Sequence[shapely.Geometry], frame: Frame, scheme: ColorScheme) -> None:
    """Draw diagonal lines over shapes in Web Mercator."""
    path = outline(numpy.array([*shapes, None], dtype=object)[:-1], frame) if shapes else None
    if path is None:
        return
    height = frame.north - frame.south
    starts = numpy.arange(frame.west - height, frame.east, _APART_IN * 2**0.5 * frame.per_inch)
    lines = [[(x, frame.south), (x + height, frame.north)] for x in starts]
    for (width, opacity), color in zip(_STROKES, (scheme.hatch_halo, scheme.hatch), strict=True):
        drawn = LineCollection(lines, colors=color, linewidths=width, alpha=opacity, zorder=2.5)
        axes.add_collection(drawn, autolim=False)
        drawn.set_clip_path(path, axes.transData)
