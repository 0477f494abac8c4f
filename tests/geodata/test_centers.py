"""Centres: plain weighted means, and places on both sides of the 180th meridian."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from geodata.geography.centers import mean_place_deg
from geodata.geography.distance import distance_mi


def test_the_aleutians_are_not_in_europe() -> None:
    index = np.array([0, 0, 1, 1])
    lon = np.array([173.0, -176.0, -71.0, -72.0])
    mean, lat = mean_place_deg(index, np.array([1.0, 3.0, 1.0, 1.0]), lon, np.array([52.0, 52.0, 41.0, 42.0]))
    assert mean == pytest.approx([-178.75, -71.5])
    assert lat == pytest.approx([52.0, 41.5])


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.floats(-60, 60), st.floats(0.1, 9)), min_size=1, max_size=9),
    st.floats(-180, 180),
)
@example(place=[(0.0, 0.0, 1.1)] * 3, around=180.0)  # the mean once rounded to just west of -180
def test_a_group_may_lie_anywhere_round_the_globe(
    place: list[tuple[float, float, float]], around: float
) -> None:
    """Turning the globe turns the centre."""
    offset, lat, weight = (np.array(part) for part in zip(*place, strict=True))
    index = np.zeros(offset.size, dtype=np.int64)
    turned = (offset + around + 180) % 360 - 180
    lon, north = mean_place_deg(index, weight, turned, lat)
    assert -180 <= lon[0] <= 180
    expected = np.average(offset, weights=weight) + around
    assert distance_mi(lon, north, np.array([expected]), north)[0] == pytest.approx(0, abs=1e-3)
