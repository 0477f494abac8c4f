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


def around(bounds: Bounds, lon_deg: Any, lat_deg: Any, share: float = 0.8) -> Bounds:
    """Bounds widened so that they hold the middle `share` of the points in either direction."""
    if not len(lon_deg):
        return bounds
    tail = (1 - share) / 2
    west, east = numpy.quantile(lon_deg, [tail, 1 - tail])
    south, north = numpy.quantile(lat_deg, [tail, 1 - tail])
    return (
        float(min(bounds[0], west)),
        float(min(bounds[1], south)),
        float(max(bounds[2], east)),
        float(max(bounds[3], north)),
    )
