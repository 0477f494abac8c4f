"""Great-circle distances and bearings against known places and a plain twin."""

from __future__ import annotations

import math

import numpy as np
import pyproj
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodata.geography.distance import KM_PER_MI, bearing_deg, distance_matrix_mi, distance_mi

places = st.tuples(st.floats(-180, 180), st.floats(-90, 90))


def plain_mi(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Angle between unit vectors, without haversines."""
    (x1, y1, z1), (x2, y2, z2) = (
        (math.cos(math.radians(lat)) * math.cos(math.radians(lon)),
         math.cos(math.radians(lat)) * math.sin(math.radians(lon)),
         math.sin(math.radians(lat)))
        for lon, lat in (a, b)
    )  # fmt: skip
    cross = (y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2)
    return 3958.7613 * math.atan2(math.hypot(*cross), x1 * x2 + y1 * y2 + z1 * z2)


@given(places, places)
def test_distance_equals_the_plain_twin(a: tuple[float, float], b: tuple[float, float]) -> None:
    assert float(distance_mi(*a, *b)) == pytest.approx(plain_mi(a, b), abs=1e-3)
    assert float(distance_mi(*a, *b)) == pytest.approx(float(distance_mi(*b, *a)), abs=1e-6)


def test_providence_to_boston() -> None:
    geodesic = pyproj.Geod(ellps="WGS84")
    forward, _, metres = geodesic.inv(-71.4128, 41.8240, -71.0589, 42.3601)
    assert distance_mi(-71.4128, 41.8240, -71.0589, 42.3601) == pytest.approx(
        metres / 1000 / KM_PER_MI, rel=0.006
    )
    assert bearing_deg(-71.4128, 41.8240, -71.0589, 42.3601) == pytest.approx(forward, abs=0.3)


def test_the_matrix_is_made_of_the_pairs() -> None:
    rng = np.random.default_rng(1)
    lon_a, lat_a, lon_b, lat_b = (
        -72 + rng.random(7),
        41 + rng.random(7),
        -72 + rng.random(11),
        41 + rng.random(11),
    )
    matrix = distance_matrix_mi(lon_a, lat_a, lon_b, lat_b, rows_at_once=3)
    assert matrix.shape == (7, 11)
    assert np.array_equal(matrix, distance_mi(lon_a[:, None], lat_a[:, None], lon_b, lat_b))


@pytest.mark.parametrize(("to", "wanted"), [((0, 1), 0), ((1, 0), 90), ((0, -1), 180), ((-1, 0), 270)])
def test_bearings_of_the_compass(to: tuple[float, float], wanted: float) -> None:
    assert float(bearing_deg(0, 0, *to)) == pytest.approx(wanted, abs=1e-9)


@given(places, places)
def test_bearings_are_in_range_or_absent(a: tuple[float, float], b: tuple[float, float]) -> None:
    bearing = float(bearing_deg(*a, *b))
    # Places that differ by less than radians can hold count as the same.
    assert math.isnan(bearing) or 0 <= bearing < 360
    if a == b:
        assert math.isnan(bearing)
    if max(abs(a[0] - b[0]), abs(a[1] - b[1])) > 1e-9 and abs(a[1]) < 89:
        assert not math.isnan(bearing)
