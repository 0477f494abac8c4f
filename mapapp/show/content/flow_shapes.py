"""Shapes of commutes for every renderer: widths and outlines of flows, and outlines of arrows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy
import numpy.typing as npt

from mapapp.question.view import Bounds

BOW: Final = 0.1
"""How far a flow bends to the right of its way, as a share of its length, so that both directions can be seen."""
TAPER: Final = 0.2
"""Width at the workplace as a share of the width at home."""
LEAST_OPACITY: Final = 0.08
MOST_OPACITY: Final = 0.95
_FEW_FLOWS: Final = (
    500.0,
    0.3,
)  # up to so many flows, and the power of a flow's share of a wide one for strength
_MANY_FLOWS: Final = (
    5_000.0,
    0.6,
)  # from so many on: small flows recede, because together they cover the map
_FULL_PX: Final = 12.0
_THINNEST_PX: Final = 0.7
_WIDEST_PX: Final = 18.0
_STEPS: Final = 16
_LEGEND_FLOWS: Final = 4
_HEAD: Final = 0.24  # share of an arrow's length
Place = tuple[float, float]
Numbers = npt.NDArray[numpy.float64]


def flow_widths(workers: npt.ArrayLike, wide: int) -> Numbers:
    """Width of flows at home, pixels: it grows with the square root, so that small flows can be seen beside large ones.

    A flow of `wide` workers has the full width; a few are larger, as flows of groups are, and somewhat wider.
    """
    share = numpy.asarray(workers, dtype=numpy.float64) / max(wide, 1)
    return numpy.asarray(numpy.clip(_FULL_PX * numpy.sqrt(share), _THINNEST_PX, _WIDEST_PX))


def flow_strengths(workers: npt.ArrayLike, wide: int, n_flows: int) -> Numbers:
    """Strength of flows, 0 to 1, for their color and opacity: small flows are fainter, the more so the more there are.

    `n_flows` is the number of flows between units of the answer.
    """
    share = numpy.asarray(workers, dtype=numpy.float64) / max(wide, 1)
    counts, powers = zip(_FEW_FLOWS, _MANY_FLOWS, strict=True)
    power = numpy.interp(math.log(max(n_flows, 1)), numpy.log(counts), powers)
    return numpy.asarray(numpy.clip(share, 0.0, 1.0) ** power)


def flow_opacity(strength: npt.ArrayLike) -> Numbers:
    """Opacity of flows of a strength."""
    return LEAST_OPACITY + (MOST_OPACITY - LEAST_OPACITY) * numpy.asarray(strength, dtype=numpy.float64)


def flow_outlines(home: Numbers, work: Numbers, widths: Numbers) -> Numbers:
    """Outlines of curved flows that taper toward the workplace.

    Parameters
    ----------
    home, work : float64[N, 2]
        Ends on a plane with x to the right and y up.
    widths : float64[N]
        Widths at home, in units of the plane.

    Returns
    -------
    float64[N, corners, 2]
    """
    along = work - home
    right = numpy.stack([along[:, 1], -along[:, 0]], axis=1)
    bend = (home + work) / 2 + 2 * BOW * right
    t = numpy.linspace(0.0, 1.0, _STEPS + 1)[None, :, None]
    start, middle, end = (each[:, None, :] for each in (home, bend, work))
    center = (1 - t) ** 2 * start + 2 * t * (1 - t) * middle + t**2 * end
    tangent = (1 - t) * (middle - start) + t * (end - middle)
    length = numpy.maximum(numpy.hypot(tangent[..., 0], tangent[..., 1]), 1e-300)[..., None]
    aside = numpy.stack([-tangent[..., 1], tangent[..., 0]], axis=-1) / length
    half = widths[:, None, None] / 2 * (1 - (1 - TAPER) * t)
    return numpy.concatenate([center + aside * half, (center - aside * half)[:, ::-1]], axis=1)


def legend_flows(workers: npt.NDArray[numpy.int64]) -> list[int]:
    """Round numbers of workers for a legend of widths, small to large; empty without flows."""
    if not len(workers):
        return []
    smallest, largest = int(workers.min()), int(workers.max())
    top = 10 ** int(math.log10(largest))
    found = [largest // top * top]
    while len(found) < _LEGEND_FLOWS:
        below = 10 ** (math.ceil(math.log10(found[-1])) - 1) if found[-1] > 1 else 0
        if below < max(smallest, 1):
            break
        found.append(below)
    return found[::-1]


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
