"""Corridors, compared with distances measured one by one along geodesics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.errors import GeometryError
from geodata.geography import area_shapes, corridors
from geodata.geography.corridors import Reach

WGS84 = pyproj.Geod(ellps="WGS84")
MILE_M = 1609.344
LATITUDES = (0.0, 25.0, 41.0, 61.0, 71.0)


def away_mi(lines: shapely.Geometry, lon: npt.ArrayLike, lat: npt.ArrayLike) -> Any:
    """Return the distance from each place to the nearest of a thousand places along each line."""
    shortest = np.full(np.size(lon), np.inf)
    for line in corridors.lines_in(lines):
        length_deg = shapely.length(line)
        places = shapely.get_coordinates(shapely.segmentize(line, length_deg / 1_000))
        for at, (x, y) in enumerate(zip(np.atleast_1d(lon), np.atleast_1d(lat), strict=True)):
            _, _, away_m = WGS84.inv(np.full(len(places), x), np.full(len(places), y), *places.T)
            shortest[at] = min(shortest[at], away_m.min() / MILE_M)
    return shortest


def crooked_line(random: np.random.Generator, lon: float, lat: float, miles: float) -> shapely.Geometry:
    """Return a line of six corners, each about as far from the next as the corridor is wide."""
    steps = random.normal(0, miles / 69, (6, 2)) / [np.cos(np.radians(lat)), 1.5]
    return shapely.linestrings(np.array([lon, lat]) + np.cumsum(steps, axis=0))


def places_around(random: np.random.Generator, line: shapely.Geometry, miles: float, n: int) -> Any:
    west, south, east, north = shapely.bounds(line)
    up = 1.3 * miles / 69
    aside = up / np.cos(np.radians(max(abs(south), abs(north))))
    return random.uniform(west - aside, east + aside, n), random.uniform(south - up, north + up, n)


@pytest.mark.parametrize("lat", [*LATITUDES, -41.0])
@pytest.mark.parametrize("miles", [0.1, 1.0, 50.0])
def test_corridors_agree_with_geodesics_measured_one_by_one(lat: float, miles: float) -> None:
    random = np.random.default_rng(int(abs(lat) * 10 + miles))
    line = crooked_line(random, -71.0, lat, miles)
    lon, lats = places_around(random, line, miles, 80)
    away = away_mi(line, lon, lats)
    is_clear = np.abs(away - miles) * MILE_M > 1.0  # a meter from the border or more
    near = Reach(line, miles).holds(lon, lats)
    assert (near == (away <= miles))[is_clear].all()
    assert 8 < near.sum() < 75
    assert is_clear.sum() > 70
    inside = np.zeros(80, dtype=bool)
    for west, south, east, north in Reach(line, miles).search_boxes():
        inside |= (lon >= west) & (lon <= east) & (lats >= south) & (lats <= north)
    assert inside[near].all()
    size = 0.2 * miles / 69
    boxes = shapely.box(lon - size, lats - size, lon + size, lats + size)
    all_near, all_far = (np.abs(away - miles) > 0.3 * miles) & near, away > 1.3 * miles
    assert not Reach(line, miles).cuts(boxes)[all_near | all_far].any()


@pytest.mark.parametrize("lat", LATITUDES)
def test_the_border_is_where_the_geodesic_ends(lat: float) -> None:
    """Places half a meter inside and outside, straight away from a meridian and from the end of a line."""
    line = shapely.linestrings([[10.0, lat - 0.2], [10.0, lat + 0.2]])
    for miles in (0.25, 5.0, 50.0):
        for azimuth, start in ((90.0, lat), (0.0, lat + 0.2)):
            for off_m, expected in ((-0.5, True), (0.5, False)):
                lon, lat_there, _ = WGS84.fwd(10.0, start, azimuth, miles * MILE_M + off_m)
                if azimuth == 90.0:  # the foot of the perpendicular may lie elsewhere on the line
                    away = away_mi(line, lon, lat_there)[0]
                    expected = bool(away <= miles)
                    if abs(away - miles) * MILE_M < 0.2:
                        continue
                assert bool(Reach(line, miles).holds(lon, lat_there)[0]) is expected


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.5, 3.0, 40.0]), st.floats(-75, 75))
def test_each_place_is_near_its_nearest_piece(seed: int, miles: float, lat: float) -> None:
    """Every vertex is in the corridor, and so is a place that a shorter distance already includes."""
    random = np.random.default_rng(seed)
    line = crooked_line(random, random.uniform(-170, 170), lat, miles * random.choice([0.01, 1, 30]))
    lon, lats = shapely.get_coordinates(line).T
    assert Reach(line, miles).holds(lon, lats).all()
    lon, lats = places_around(random, line, miles, 50)
    narrow, wide = (Reach(line, each).holds(lon, lats) for each in (0.7 * miles, miles))
    assert wide[narrow].all()
    back = shapely.reverse(line)
    assert (Reach(back, miles).holds(lon, lats) == wide).all()


def test_a_line_across_the_180th_meridian_goes_the_short_way() -> None:
    """Between two of the Aleutian Islands."""
    given = shapely.linestrings([[179.2, 51.4], [-179.3, 51.9]])
    line = corridors.unwrap_lines(given)
    assert shapely.bounds(line)[2] == pytest.approx(180.7)
    lon = np.array([179.99, -179.99, 180.0, -180.0, 0.0, 178.0])
    lat = np.array([51.7, 51.7, 51.65, 51.65, 51.65, 51.5])
    assert Reach(line, 5).holds(lon, lat).tolist() == [True, True, True, True, False, False]
    boxes = Reach(line, 5).search_boxes()
    for x, y in zip(lon[:4], lat[:4], strict=True):
        assert any(west <= x <= east and south <= y <= north for west, south, east, north in boxes)
    # The same line in two parts, as RFC 7946 asks for.
    halves = shapely.multilinestrings(
        [
            shapely.linestrings([[179.2, 51.4], [180, 51.4 + 0.5 * 0.8 / 1.5]]),
            shapely.linestrings([[-180, 51.4 + 0.5 * 0.8 / 1.5], [-179.3, 51.9]]),
        ]
    )
    random = np.random.default_rng(1)
    lon, lat = (random.uniform(179, 181, 400) + 180) % 360 - 180, random.uniform(51.2, 52.1, 400)
    assert (Reach(halves, 5).holds(lon, lat) == Reach(line, 5).holds(lon, lat)).all()


def test_the_edges_of_polygons_have_corridors_too() -> None:
    ring = shapely.box(-71, 41, -70, 42).difference(shapely.box(-70.8, 41.2, -70.2, 41.8))
    lon, lat = np.array([-70.5, -70.9, -70.79, -69.99, -71.1]), np.array([41.5, 41.5, 41.5, 41.5, 41.5])
    assert Reach(ring, 1).holds(lon, lat).tolist() == [False, True, True, True, False]
    cells = shapely.box(lon - 0.05, lat - 0.05, lon + 0.05, lat + 0.05)
    assert Reach(ring, 1).cuts(cells).tolist() == [False, False, True, True, False]


def test_a_narrow_corridor_cuts_a_wide_cell_between_its_corners() -> None:
    cells = shapely.box([-71.0, -70.8], [41.0, 41.0], [-70.9, -70.7], [41.1, 41.1])
    for lat in (0.0, 20.0):
        line = shapely.linestrings([[-70.95, 40.9 + lat], [-70.95, 41.2 + lat]])
        moved = shapely.transform(cells, lambda places, lat=lat: places + np.array([0, lat]))
        assert Reach(line, 0.05).cuts(moved).tolist() == [True, False]
        assert Reach(line, 20).cuts(moved).tolist() == [False, False]


def test_the_longest_line_is_cut_into_a_bounded_number_of_pieces() -> None:
    zigzag = shapely.linestrings([[-120 + 0.01 * at, 40 + at % 2] for at in range(140)])
    corridors.check_lines(zigzag, 0.01)
    assert len(corridors._pieces(zigzag, 16.0).goes_on) < corridors._MOST_PIECES + 200
    with pytest.raises(GeometryError, match=r"length of .* miles; at most 10,000"):
        corridors.check_lines(shapely.linestrings([[-120 + 0.01 * at, 40 + at % 2] for at in range(150)]), 1)


@pytest.mark.parametrize(
    ("miles", "places", "said"),
    [
        (0, [[0, 0], [1, 1]], "above 0 and at most 50"),
        (101, [[0, 0], [1, 1]], "above 0 and at most 50"),
        (float("nan"), [[0, 0], [1, 1]], "above 0 and at most 50"),
        (1, [[5, 5], [5, 5]], "no length"),
        (49, [[0, 89.5], [1, 89.4]], "reaches the pole"),
    ],
)
def test_corridors_that_cannot_be_are_refused(miles: float, places: list[list[float]], said: str) -> None:
    with pytest.raises(GeometryError, match=said):
        corridors.check_lines(shapely.linestrings(places), miles)


PLACES = st.lists(st.tuples(st.floats(-180, 180), st.floats(-85, 85)), min_size=2, max_size=20)


@settings(max_examples=60, deadline=None)
@given(st.lists(PLACES, min_size=1, max_size=4))
def test_lines_survive_as_text(several: Any) -> None:
    lines = shapely.multilinestrings([shapely.linestrings(np.round(places, 5)) for places in several])
    text = area_shapes.line_text(lines)
    back = area_shapes.lines_of(text)
    assert np.abs(shapely.get_coordinates(back) - shapely.get_coordinates(lines)).max() < 1e-9
    assert area_shapes.line_text(back) == text
    assert area_shapes.n_vertices(text) == sum(map(len, several))
