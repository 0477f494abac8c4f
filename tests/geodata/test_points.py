"""Points in cells: inside, uniform, the same for the same uniforms, none for elsewhere."""

from __future__ import annotations

import geopandas
import numpy as np
import pytest
import shapely
from scipy.stats import chisquare

from geodata.points import CellPoints

HOLED = shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (3, 1), (3, 3), (1, 3)]])
PAIR = shapely.MultiPolygon([shapely.box(10, 0, 12, 1), shapely.box(14, 0, 15, 1)])
N_BLOCKS = 5  # rows 0 and 3 have no cell: elsewhere units


def cells() -> geopandas.GeoDataFrame:
    shapes = [shapely.box(-2, -2, -1, -1), PAIR, HOLED]
    return geopandas.GeoDataFrame({"block_index": np.array([4, 2, 1])}, geometry=shapes, crs="EPSG:4326")


def uniforms(n: int, seed: int = 1) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).random((3, n)))


def test_points_lie_in_their_cells() -> None:
    block = np.random.default_rng(2).integers(0, N_BLOCKS, 5000)
    lon, lat = CellPoints(cells(), n_blocks=N_BLOCKS).draw(block, *uniforms(block.size))
    shape = cells().set_index("block_index").geometry
    for row in (1, 2, 4):
        own = block == row
        assert shapely.dwithin(shape[row], shapely.points(lon[own], lat[own]), 1e-5).all()
    for row in (0, 3):
        assert np.isnan(lon[block == row]).all()
        assert np.isnan(lat[block == row]).all()
    assert lon.dtype == lat.dtype == np.float32


def test_points_are_uniform() -> None:
    """Counts in squares of equal area; false alarm once in 10,000 keys, and the key is fixed."""
    n = 12_000
    lon, lat = CellPoints(cells(), n_blocks=N_BLOCKS).draw(np.full(n, 1), *uniforms(n))
    square = np.floor(lon).astype(int) * 4 + np.floor(lat).astype(int)
    filled = np.bincount(square, minlength=16).reshape(4, 4)
    assert filled[1:3, 1:3].sum() == 0
    assert chisquare(filled[filled > 0]).pvalue > 1e-4
    assert (filled > 0).sum() == 12
    lon, lat = CellPoints(cells(), n_blocks=N_BLOCKS).draw(np.full(n, 2), *uniforms(n, seed=3))
    thirds = np.array([(lon < 11).sum(), ((lon >= 11) & (lon < 13)).sum(), (lon > 13).sum()])
    assert chisquare(thirds).pvalue > 1e-4


def test_only_used_cells_need_be_cut_and_threads_change_nothing() -> None:
    block = np.array([1, 2, 1, 2])
    drawn = uniforms(4)
    whole = CellPoints(cells(), n_blocks=N_BLOCKS).draw(block, *drawn)
    part = CellPoints(cells(), n_blocks=N_BLOCKS, used=block, threads=1).draw(block, *drawn)
    assert np.array_equal(whole, part)


@pytest.mark.parametrize("u", [0.0, np.nextafter(1.0, 0.0)])
def test_extreme_uniforms_stay_inside(u: float) -> None:
    points = CellPoints(cells(), n_blocks=N_BLOCKS)
    for row in (1, 2, 4):
        lon, lat = points.draw([row], [u], [u], [u])
        shape = cells().set_index("block_index").geometry[row]
        assert shapely.dwithin(shape, shapely.Point(lon[0], lat[0]), 1e-5)


def test_no_cells_at_all() -> None:
    none = cells().iloc[:0]
    lon, _ = CellPoints(none, n_blocks=N_BLOCKS).draw([0, 1], *uniforms(2))
    assert np.isnan(lon).all()
