"""Shapes of commutes for every renderer: classes and widths of lines, and outlines of arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy

from mapapp.drawing import palette
from mapapp.question.view import Bounds

_WIDTHS: Final = (0.8, 1.8, 3.4, 5.6, 8.5)
_HEAD: Final = 0.24  # share of an arrow's length
Place = tuple[float, float]


def line_classes(smallest: int, largest: int) -> list[tuple[int, int | None]]:
    """Classes as from `palette.count_classes`, with the lowest merged if there are more classes than widths."""
    classes = palette.count_classes(smallest, largest)
    too_many = len(classes) - len(_WIDTHS)
    return classes if too_many <= 0 else [(classes[0][0], classes[too_many][1]), *classes[too_many + 1 :]]


def line_widths(n_classes: int) -> tuple[float, ...]:
    """Line width of each class, pixels."""
    return _WIDTHS[:n_classes] if n_classes > 1 else _WIDTHS[2:3]


def line_opacity(width: float) -> float:
    """Opacity of lines of a width; thin lines, which are many, are fainter."""
    return 0.4 if width < 1 else 0.65


def arrow_shapes(bounds: Bounds, workers: Sequence[int]) -> tuple[list[list[Place]], list[Place]]:
    """Outlines of arrows for inflow, outflow and stay around an area, and positions of their labels.

    Parameters
    ----------
    bounds : tuple of float
        West, south, east, north of the area, degrees.
    workers : sequence of int
        Inflow, outflow, stay; the width of an arrow grows with the square root.

    Returns
    -------
    shapes, places : list
        Closed outlines and places, longitude and latitude in degrees.
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
    at = [(-0.75 * size, breadth[0] * 1.1), (0.62 * size, breadth[1] * 1.1), (0.0, 0.56 * size)]

    def placed(x: float, y: float) -> Place:
        return middle[0] + x / narrow, middle[1] + y

    return [[placed(*corner) for corner in shape] for shape in shapes], [placed(*each) for each in at]


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
    """Outline of an arrow that circles back: three quarters of a ring above the middle."""
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
