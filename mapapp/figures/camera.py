"""Where a map looks: the middle and the zoom at which some bounds just fit."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

_TILE_PIXELS: Final = 512  # MapLibre: the whole world at zoom 0
Bounds = tuple[float, float, float, float]


def fitted(bounds: Bounds, pixels: int = 520) -> dict[str, Any]:
    """Centre and zoom so that west, south, east, north (degrees) fit a square of so many pixels."""
    west, south, east, north = bounds
    top, bottom = (math.asinh(math.tan(math.radians(lat))) for lat in (north, south))
    span = max(math.radians(east - west), top - bottom, 1e-4)
    zoom = math.log2(pixels / _TILE_PIXELS * 2 * math.pi / span)
    middle = math.degrees(math.atan(math.sinh((top + bottom) / 2)))
    return {"center": {"lon": (west + east) / 2, "lat": middle}, "zoom": round(min(max(zoom, 1.5), 13.0), 3)}


def around(
    lon_deg: Any, lat_deg: Any, weights: Any, within: Bounds | None = None, share: float = 0.9
) -> Bounds:
    """Bounds of the middle `share` of weighted places in either direction, and of `within` too.

    Parameters
    ----------
    lon_deg, lat_deg, weights : numpy.ndarray[P]
        Places, degrees, and how much each counts; at least one, weights positive.
    within : tuple of float or None
        West, south, east, north that the bounds must hold in any case.
    share : float
        Of the weight, between 0 and 1.
    """
    west, east = _quantiles(lon_deg, weights, share)
    south, north = _quantiles(lat_deg, weights, share)
    if within is not None:
        west, south = min(west, within[0]), min(south, within[1])
        east, north = max(east, within[2]), max(north, within[3])
    return west, south, east, north


def _quantiles(values: Any, weights: Any, share: float) -> tuple[float, float]:
    order = numpy.argsort(values)
    reached = numpy.cumsum(weights[order]) / numpy.sum(weights)
    low, high = numpy.searchsorted(reached, [(1 - share) / 2, (1 + share) / 2])
    return float(values[order[low]]), float(values[order[min(high, len(values) - 1)]])
