"""Great-circle distances in miles and bearings in degrees, by the haversine formula, and the northing of maps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

EARTH_RADIUS_MI = 3958.7613  # mean radius of the IUGG, 6,371.0088 km
KM_PER_MI = 1.609344

Floats = npt.NDArray[np.float64]


def distance_mi(
    lon_a_deg: npt.ArrayLike, lat_a_deg: npt.ArrayLike, lon_b_deg: npt.ArrayLike, lat_b_deg: npt.ArrayLike
) -> Floats:
    """Distance between places a and b, element by element; the arguments broadcast.

    Parameters
    ----------
    lon_a_deg, lat_a_deg, lon_b_deg, lat_b_deg : array_like
        Longitude and latitude, degrees, EPSG:4326.

    Returns
    -------
    float64
        Miles along the great circle of a sphere (within 0.6 % of the ellipsoid); NaN where a place is NaN.
    """
    lon_a, lat_a, lon_b, lat_b = (np.radians(v) for v in (lon_a_deg, lat_a_deg, lon_b_deg, lat_b_deg))
    half_lat = np.sin((lat_b - lat_a) / 2)
    half_lon = np.sin((lon_b - lon_a) / 2)
    chord = half_lat**2 + np.cos(lat_a) * np.cos(lat_b) * half_lon**2
    # Rounding can push antipodes just past 1.
    return np.asarray(2 * EARTH_RADIUS_MI * np.arcsin(np.sqrt(np.minimum(chord, 1.0))), dtype=np.float64)


def place_on_sphere(lon_deg: npt.ArrayLike, lat_deg: npt.ArrayLike) -> Floats:
    """Places on the unit sphere: float64[3, ...]. The cosine of the angle between two is the sum of their products."""
    lon, lat = np.radians(lon_deg), np.radians(lat_deg)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def mercator_y(lat_deg: npt.ArrayLike) -> Floats:
    """Web Mercator northing of latitudes on the unit sphere."""
    return np.asarray(np.arcsinh(np.tan(np.radians(np.asarray(lat_deg, dtype=np.float64)))))


def distance_matrix_mi(
    lon_a_deg: npt.ArrayLike,
    lat_a_deg: npt.ArrayLike,
    lon_b_deg: npt.ArrayLike,
    lat_b_deg: npt.ArrayLike,
    *,
    rows_at_once: int = 256,
) -> Floats:
    """Distance from each of A places to each of B places.

    Parameters
    ----------
    lon_a_deg, lat_a_deg : array_like[A]
        Such as the population-weighted centres of the destination tracts.
    lon_b_deg, lat_b_deg : array_like[B]
        Such as those of all origin tracts.
    rows_at_once : int
        Rows computed together; bounds the temporary memory.

    Returns
    -------
    float64[A, B]
        Miles.
    """
    lon_a, lat_a, lon_b, lat_b = (
        np.asarray(v, dtype=np.float64) for v in (lon_a_deg, lat_a_deg, lon_b_deg, lat_b_deg)
    )
    result = np.empty((lon_a.size, lon_b.size))
    for start in range(0, lon_a.size, rows_at_once):
        rows = slice(start, start + rows_at_once)
        result[rows] = distance_mi(lon_a[rows, None], lat_a[rows, None], lon_b, lat_b)
    return result


def bearing_deg(
    lon_a_deg: npt.ArrayLike, lat_a_deg: npt.ArrayLike, lon_b_deg: npt.ArrayLike, lat_b_deg: npt.ArrayLike
) -> Floats:
    """Initial bearing from a to b, element by element; the arguments broadcast.

    Returns
    -------
    float64
        Degrees clockwise from north, 0 ≤ bearing < 360; NaN where both places are the same.
    """
    lon_a, lat_a, lon_b, lat_b = (np.radians(v) for v in (lon_a_deg, lat_a_deg, lon_b_deg, lat_b_deg))
    east = np.sin(lon_b - lon_a) * np.cos(lat_b)
    north = np.cos(lat_a) * np.sin(lat_b) - np.sin(lat_a) * np.cos(lat_b) * np.cos(lon_b - lon_a)
    bearing = np.degrees(np.arctan2(east, north)) % 360.0
    same = (lon_a == lon_b) & (lat_a == lat_b)
    # A bearing a hair west of north becomes 360.0 when it is rounded.
    return np.where(same, np.nan, np.where(bearing >= 360.0, 0.0, bearing))
