"""Centres of groups of places, also where a group lies on both sides of the 180th meridian."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mean_place_deg(
    index: npt.NDArray[np.integer], weight: Floats, lon_deg: Floats, lat_deg: Floats
) -> tuple[Floats, Floats]:
    """Weighted mean longitude and latitude of each group.

    Parameters
    ----------
    index : int[N]
        Group of each place, 0 … groups − 1; no group is empty.
    weight : float64[N]
        Not negative, and more than zero in sum for every group.
    lon_deg, lat_deg : float64[N]
        Places, EPSG:4326.

    Returns
    -------
    float64[groups], float64[groups]
        Longitude in −180 … 180, latitude.
    """
    total = np.bincount(index, weights=weight)
    lon = np.asarray(lon_deg, dtype=np.float64)
    west, east = np.full(total.size, np.inf), np.full(total.size, -np.inf)
    np.minimum.at(west, index, lon)
    np.maximum.at(east, index, lon)
    wide = (east - west > 180)[index]  # the Aleutians: a plain mean would lie in Europe
    lon = np.where(wide & (lon < 0), lon + 360, lon)
    mean = np.bincount(index, weights=weight * lon) / total
    # Clipped, because the mean of places at -180 may round to a hair beyond it.
    mean = np.clip(np.where(mean > 180, mean - 360, mean), -180.0, 180.0)
    return mean, np.bincount(index, weights=weight * np.asarray(lat_deg)) / total
