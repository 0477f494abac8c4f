"""Cells: they partition the polygon, and each block has one, which holds its own point."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from geodata.geography.cells import cells_in_hull, cells_in_polygon, cut_cells, union_of

RING = shapely.Polygon(
    [(-71.5, 41.5), (-71.4, 41.5), (-71.4, 41.6), (-71.45, 41.55), (-71.5, 41.6)],
    [[(-71.46, 41.51), (-71.44, 41.51), (-71.44, 41.53), (-71.46, 41.53)]],
)
ISLANDS = shapely.MultiPolygon(
    [shapely.box(-71.5, 41.5, -71.47, 41.53), shapely.box(-71.42, 41.57, -71.4, 41.6)]
)
lattice = st.tuples(st.integers(0, 24), st.integers(0, 24)).map(
    lambda place: (-71.51 + 0.005 * place[0], 41.49 + 0.005 * place[1])
)


@pytest.mark.parametrize("polygon", [RING, ISLANDS], ids=["ring", "islands"])
@given(place=st.lists(lattice, min_size=1, max_size=40))
def test_cells_partition_the_polygon(polygon: shapely.Geometry, place: list[tuple[float, float]]) -> None:
    """Whatever the points: twice the same, on one line, on the border, all outside."""
    cell, moved, shared = cells_in_polygon(np.array(place), polygon)
    assert len(cell) == len(place)
    assert np.isin(shapely.get_type_id(cell), (3, 6)).all()
    assert shapely.is_valid(cell).all()
    assert (shapely.area(cell) > 0).all()
    assert shapely.area(cell).sum() == pytest.approx(polygon.area, rel=1e-9)
    assert shapely.union_all(cell).symmetric_difference(polygon).area < 1e-9 * polygon.area
    assert moved == (~shapely.intersects_xy(polygon, np.array(place))).sum()
    assert shared >= len(place) - len(set(place))


def test_each_cell_holds_what_is_nearest_on_the_ground() -> None:
    rng = np.random.default_rng(5)
    square = shapely.box(-71.5, 41.5, -71.4, 41.6)
    place = rng.uniform((-71.5, 41.5), (-71.4, 41.6), (30, 2))
    cell, moved, shared = cells_in_polygon(place, square)
    assert (moved, shared) == (0, 0)
    probe = rng.uniform((-71.5, 41.5), (-71.4, 41.6), (500, 2))
    scale = np.array([np.cos(np.radians(place[:, 1].mean())), 1.0])
    nearest = np.linalg.norm((probe[:, None] - place) * scale, axis=2).argmin(axis=1)
    assert shapely.intersects(shapely.buffer(cell[nearest], 1e-9), shapely.points(probe)).all()


def test_a_hull_keeps_clear_of_published_polygons() -> None:
    rng = np.random.default_rng(6)
    place = rng.uniform((-71.5, 41.5), (-71.4, 41.6), (200, 2))
    neighbor = shapely.box(-71.4, 41.4, -71.3, 41.7)
    cell, shared = cells_in_hull(place, np.array([neighbor], dtype=object), np.empty((0, 2)))
    assert shared == 0
    assert (shapely.area(cell) > 0).all()
    assert shapely.area(shapely.intersection(cell, neighbor)).max() == 0
    assert shapely.intersects(cell, shapely.points(place)).all()
    whole = union_of(cell)
    assert shapely.area(cell).sum() == pytest.approx(whole.area, rel=1e-9)
    west, south, *_ = whole.bounds
    assert 0.005 < 41.5 - south < 0.02  # about a kilometre beyond the outermost block
    assert 0.005 < -71.5 - west < 0.02


def test_blocks_inside_published_polygons_still_get_cells() -> None:
    rng = np.random.default_rng(8)
    place = rng.uniform((-71.5, 41.5), (-71.4, 41.6), (20, 2))
    around = np.array([shapely.box(-72, 41, -71, 42)], dtype=object)
    cell, _ = cells_in_hull(place, around, np.empty((0, 2)))
    assert (shapely.area(cell) > 0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_blocks_without_any_polygon(n: int) -> None:
    place = np.column_stack([-71.5 + 0.01 * np.arange(n), np.full(n, 41.5)])
    cell, _ = cells_in_hull(place, np.empty(0, dtype=object), np.empty((0, 2)))
    assert (shapely.area(cell) > 0).all()


def test_states_without_polygons_meet_halfway_between_their_blocks() -> None:
    """Each state reaches a kilometer beyond its blocks; its neighbor's blocks may be nearer."""
    lon, lat = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 0.09, 10), np.linspace(40, 40.09, 10)))
    tract = np.sort((lon >= 0.045).astype(np.int64))
    order = np.argsort(lon >= 0.045, kind="stable")
    lon, lat = lon[order], lat[order]
    missing = np.array([None, None], dtype=object)
    cells = cut_cells(lon, lat, tract, missing, np.array([1, 2]), np.full(lon.size, None, dtype=object))
    west, east = cells.tract
    assert shapely.area(shapely.intersection(west, east)) < 1e-12
    assert west.bounds[2] == pytest.approx(0.045)
    assert east.bounds[0] == pytest.approx(0.045)


def test_threads_do_not_change_cells() -> None:
    rng = np.random.default_rng(7)
    tract = np.repeat(np.arange(40), 5)
    west = -71.5 + 0.01 * tract
    lon, lat = west + rng.uniform(0, 0.01, 200), 41.5 + rng.uniform(0, 0.01, 200)
    polygon = shapely.box(-71.5 + 0.01 * np.arange(40), 41.5, -71.49 + 0.01 * np.arange(40), 41.51)
    polygon[30:] = None
    none = np.full(200, None, dtype=object)
    one, four = (cut_cells(lon, lat, tract, polygon, np.full(40, 44), none, threads=n) for n in (1, 4))
    assert shapely.equals_exact(one.block, four.block).all()
    assert shapely.equals_exact(one.tract, four.tract).all()
    assert one.derived.tolist() == [False] * 30 + [True] * 10


def test_both_sides_of_the_180th_meridian() -> None:
    """Tracts of the Aleutians without polygons: no cell goes round the globe or beyond it."""
    rng = np.random.default_rng(9)
    tract = np.repeat(np.arange(3), 10)
    lon = rng.uniform(179.5, 180.5, 30)
    lon[:2] = [179.9999, 180.0001]
    lon = np.where(lon > 180, lon - 360, lon)
    none = np.full(30, None, dtype=object)
    cut = cut_cells(lon, rng.uniform(51, 52, 30), tract, none[:3], np.full(3, 2), none)
    west, _, east, _ = shapely.bounds(cut.block).T
    assert (shapely.area(cut.block) > 0).all()
    assert (east - west < 1).all()
    assert west.min() >= -180
    assert east.max() <= 180
    assert (np.sign(shapely.get_coordinates(shapely.centroid(cut.block))[:, 0]) == np.sign(lon)).all()


def test_tracts_that_meet_elsewhere_than_at_their_corners_are_joined() -> None:
    """As a derived tract and a published one do; the quick union of coverages gives up on them."""
    one = shapely.box(0, 0, 1, 1)
    other = shapely.Polygon([(1, 0.3), (2, 0), (2, 1), (1, 0.6), (1, 0.5)])
    joined = union_of(np.array([one, other], dtype=object))
    assert shapely.is_valid(joined)
    assert joined.area == pytest.approx(one.area + other.area)
