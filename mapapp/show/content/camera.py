"""Map cameras: the center and zoom at which given bounds just fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypedDict

import numpy
import numpy.typing as npt

from mapapp.question.view import Bounds

Numbers = npt.NDArray[numpy.floating] | npt.NDArray[numpy.integer]

_TILE_PIXELS: Final = 512  # MapLibre: the whole world at zoom 0
_LEAST_PIXELS: Final = 120
MARGIN_PIXELS: Final = 36  # leaves room for the map's buttons


class Camera(TypedDict):
    """Where a map looks: its center, `lon` and `lat` in degrees, and its zoom."""

    center: dict[str, float]
    zoom: float


def fit_bounds(
    bounds: Bounds, size: tuple[int, int] = (700, 700), below: int = 0, *, margin: int = MARGIN_PIXELS
) -> Camera:
    """Center and zoom at which bounds fit a picture.

    Parameters
    ----------
    bounds : tuple of float
        West, south, east, north, degrees.
    size : tuple of int
        Width and height of the picture, pixels.
    below : int
        Pixels at the lower edge that other content covers.
    margin : int
        Pixels left free on every side.
    """
    west, south, east, north = bounds
    width = max(size[0] - 2 * margin, _LEAST_PIXELS)
    height = max(size[1] - below - 2 * margin, _LEAST_PIXELS)
    top, bottom = (math.asinh(math.tan(math.radians(lat))) for lat in (north, south))
    per_pixel = max(math.radians(east - west) / width, (top - bottom) / height, 1e-9)
    zoom = min(max(math.log2(2 * math.pi / _TILE_PIXELS / per_pixel), 1.5), 13.0)
    shift = below / 2 * 2 * math.pi / _TILE_PIXELS / 2**zoom
    middle = math.degrees(math.atan(math.sinh((top + bottom) / 2 - shift)))
    return {"center": {"lon": (west + east) / 2, "lat": middle}, "zoom": round(zoom, 3)}


def union(boxes: Sequence[Bounds]) -> Bounds:
    """Bounds that contain all the given boxes; there must be at least one."""
    west, south, east, north = zip(*boxes, strict=True)
    return min(west), min(south), max(east), max(north)


def around(
    lon_deg: Numbers,
    lat_deg: Numbers,
    weights: Numbers,
    within: Bounds | None = None,
    share: float = 0.9,
) -> Bounds:
    """Bounds that contain the middle `share` of weighted places in each direction, and `within`.

    Parameters
    ----------
    lon_deg, lat_deg, weights : numpy.ndarray[P]
        Places in degrees and their positive weights; at least one.
    within : tuple of float or None
        West, south, east, north that the bounds must contain in any case.
    share : float
        Share of the weight, between 0 and 1.
    """
    west, east = _quantiles(lon_deg, weights, share)
    south, north = _quantiles(lat_deg, weights, share)
    if within is not None:
        west, south = min(west, within[0]), min(south, within[1])
        east, north = max(east, within[2]), max(north, within[3])
    return west, south, east, north


def _quantiles(values: Numbers, weights: Numbers, share: float) -> tuple[float, float]:
    order = numpy.argsort(values)
    reached = numpy.cumsum(weights[order]) / numpy.sum(weights)
    low, high = numpy.searchsorted(reached, [(1 - share) / 2, (1 + share) / 2])
    return float(values[order[low]]), float(values[order[min(high, len(values) - 1)]])
