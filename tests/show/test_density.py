"""A density picture loses no worker, and puts each where the map puts it."""

from __future__ import annotations

import io
from typing import Any

import numpy
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.ndimage import gaussian_filter

from geodata.geography.distance import EARTH_RADIUS_MI, mercator_y
from mapapp.show.content import density
from mapapp.show.content.dots import Dots, sorted_dots
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.content.smoothed_points import smooth_points

RAMP = COLOR_SCHEMES["light"].warmth
PLACES = st.lists(st.tuples(st.floats(-120, -60), st.floats(-60, 60)), min_size=1, max_size=50)


@settings(max_examples=25, deadline=None)
@given(PLACES)
def test_every_point_is_in_the_grid_once_and_smoothing_keeps_the_total(places: Any) -> None:
    lon, lat = (numpy.array(axis) for axis in zip(*places, strict=True))
    small = density.MAX_PIXELS
    try:
        density.MAX_PIXELS = 150  # type: ignore[misc]  # Final, but small pictures test faster
        grid = density.count_grid(lon, lat, density.extent(lon, lat))
    finally:
        density.MAX_PIXELS = small  # type: ignore[misc]  # Final, but small pictures test faster
    assert grid.sum() == len(places)
    assert gaussian_filter(grid, 1.6, mode="reflect").sum() == pytest.approx(len(places), rel=1e-9)


def test_pixel_areas_add_up_to_the_zone_of_the_sphere() -> None:
    area = density.pixel_area_sq_mi((300, 200), (-72.0, 41.0, -70.0, 43.0))
    sines = numpy.sin(numpy.radians([41.0, 43.0]))
    zone = EARTH_RADIUS_MI**2 * numpy.radians(2.0) * (sines[1] - sines[0])
    assert (area * 200).sum() == pytest.approx(zone)
    assert area[0] < area[-1]  # the northern pixels are the smaller ones


def test_rows_follow_web_mercator() -> None:
    bounds = (0.0, 0.0, 60.0, 60.0)
    grid = density.count_grid(numpy.array([30.0]), numpy.array([30.0]), bounds)
    row, column = numpy.argwhere(grid)[0]
    north, middle = mercator_y(60.0), mercator_y(30.0)
    assert row == int((north - middle) / north * grid.shape[0])
    assert column == grid.shape[1] // 2
    assert row > grid.shape[0] // 2  # 30° lies below the middle of the picture, not in it


def dots_at(lon: Any, lat: Any) -> Dots:
    segment = numpy.zeros(len(lon), dtype=numpy.int8)
    degrees = [numpy.asarray(part, dtype=numpy.float32) for part in (lon, lat)]
    return sorted_dots({"lon_deg": degrees[0], "lat_deg": degrees[1], "segment": segment})


def opacity_of(drawn: density.DensityImage) -> Any:
    image = Image.open(io.BytesIO(drawn.png))
    assert image.mode == "P"
    return numpy.asarray(image.convert("RGBA"))[:, :, 3]


def around_providence(n: int) -> tuple[Any, Any]:
    random = numpy.random.default_rng(1)
    return random.normal(-71.4, 0.1, n), random.normal(41.8, 0.1, n)


def test_the_picture_is_clear_where_nobody_is_and_ends_at_its_largest_value() -> None:
    lon, lat = around_providence(400_000)
    drawn = density.draw_density(dots_at(lon, lat), RAMP)
    alpha = opacity_of(drawn)
    assert max(alpha.shape) <= density.DENSITY_PIXELS
    assert alpha[0, 0] == 0
    assert alpha[alpha.shape[0] // 2, alpha.shape[1] // 2] > 200
    # The middle of two normal distributions, a little less for the smoothing.
    per_deg = 69.1
    expected = 400_000 / (2 * numpy.pi * 0.1**2) / per_deg**2 / numpy.cos(numpy.radians(41.8))
    assert drawn.highest == pytest.approx(expected, rel=0.25)


def test_a_few_far_workers_do_not_make_the_picture_coarse() -> None:
    lon, lat = around_providence(5_000)
    near, far = (
        density.draw_density(dots_at(numpy.append(lon, [-120.0] * n), numpy.append(lat, [60.0] * n)), RAMP)
        for n in (0, 3)
    )
    assert far.bounds == pytest.approx(near.bounds, abs=0.15)


def test_nothing_is_drawn_in_the_water_but_on_its_islands() -> None:
    lon, lat = around_providence(20_000)
    middle = (-71.4, 41.8)
    sea = shapely.box(-71.45, 41.75, -71.35, 41.85).difference(shapely.Point(middle).buffer(0.01))
    dry, wet = (density.draw_density(dots_at(lon, lat), RAMP, water) for water in ((), [sea]))
    assert dry.bounds == wet.bounds
    west, south, east, north = wet.bounds

    def at(drawn: density.DensityImage, lon: float, lat: float) -> int:
        alpha = opacity_of(drawn)
        top, bottom, here = (float(mercator_y(part)) for part in (north, south, lat))
        row = (top - here) / (top - bottom) * alpha.shape[0]
        return int(alpha[int(row), int((lon - west) / (east - west) * alpha.shape[1])])

    assert at(dry, -71.42, 41.82) > 0
    assert at(wet, -71.42, 41.82) == 0
    assert at(wet, *middle) > 0


def test_no_points_and_one_point_have_a_picture_too() -> None:
    for n_points in (0, 1):
        drawn = density.draw_density(dots_at(numpy.full(n_points, -71.0), numpy.full(n_points, 42.0)), RAMP)
        assert drawn.png.startswith(b"\x89PNG")


def test_a_small_place_is_not_drawn_finer_than_is_known() -> None:
    random = numpy.random.default_rng(5)
    lon, lat = -71.4 + random.random(2_000) / 50, 41.8 + random.random(2_000) / 50
    drawn = density.draw_density(dots_at(lon, lat), RAMP)
    assert drawn.spread_mi == pytest.approx(density.LEAST_SPREAD_MI, rel=0.01)
    assert drawn.highest <= 10_000  # and no building looks like a city


@pytest.mark.parametrize(
    ("shape", "spread", "n_points"),
    [
        ((300, 500), 1.6, 400),
        ((200, 90), 8.05, 60),
        ((96, 64), 2.0, 1),
        ((4, 300), 1.6, 20),
        ((9, 9), 8.2, 5),
    ],
)
def test_points_are_spread_as_a_filter_of_the_whole_grid_spreads_them(
    shape: tuple[int, int], spread: float, n_points: int
) -> None:
    random = numpy.random.default_rng(7)
    row, column = (random.integers(0, n, n_points) for n in shape)
    counts = numpy.zeros(shape)
    numpy.add.at(counts, (row, column), 1.0)
    expected = gaussian_filter(counts, spread, mode="reflect")
    found = smooth_points(row, column, shape, spread)
    numpy.testing.assert_allclose(found.picture(found.values), expected, rtol=1e-12, atol=1e-15)
    factor = random.random(shape[0])
    scaled = found.times(factor)
    numpy.testing.assert_allclose(scaled.picture(scaled.values), expected * factor[:, None], atol=1e-15)
    assert scaled.values.sum() == pytest.approx(
        (expected * factor[:, None]).sum()
    )  # nothing beyond the edges


def test_a_grid_without_points_has_no_tiles() -> None:
    nobody = numpy.empty(0, dtype=numpy.int64)
    found = smooth_points(nobody, nobody, (50, 70), 1.6)
    assert found.values.shape[0] == 0
    assert found.picture(found.values).shape == (50, 70)
