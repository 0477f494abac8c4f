"""Unions by edges against unions by GEOS."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from mapapp.answers.border_edges import united_by_edges
from mapapp.answers.dissolving import Shapes, without_slivers

N = 5


def cells(random: np.random.Generator) -> Shapes:
    """Cells of a crooked grid; each has corners of its own along its borders, on these but for rounding."""
    corners = np.stack(np.meshgrid(np.arange(N + 1.0), np.arange(N + 1.0)), axis=-1) * 0.01 + [-71.3, 41.7]
    corners += random.uniform(-0.003, 0.003, corners.shape)
    found = []
    for x in range(N):
        for y in range(N):
            square = [corners[x, y], corners[x + 1, y], corners[x + 1, y + 1], corners[x, y + 1]]
            ring: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
            for first, last in zip(square, [*square[1:], square[0]], strict=True):
                parts = np.sort(random.uniform(0.05, 0.95, random.integers(0, 3)))
                ring += [first, *(first + part * (last - first) for part in parts)]
            found.append(shapely.Polygon(ring))
    return np.array(found, dtype=object)


@pytest.mark.parametrize("seed", range(40))
def test_shapes_that_meet_along_borders_are_united_as_by_geos(seed: int) -> None:
    random = np.random.default_rng(seed)
    every = cells(random)
    chosen = every[random.permutation(every.size)[: random.integers(8, every.size)]]
    # Some are in one shape, as the whole tracts of a county are.
    shapes = np.array([shapely.MultiPolygon([chosen[0]]), *chosen[1:]], dtype=object)
    found = united_by_edges(shapes)
    assert found is not None
    assert shapely.is_valid(found)
    mine, theirs = without_slivers(np.array([found, shapely.union_all(shapes)]))
    assert shapely.area(shapely.symmetric_difference(mine, theirs)) < 1e-9 * shapely.area(theirs)
    # Where rounding leaves gaps between cells, GEOS has more parts.
    assert len(shapely.get_parts(mine)) <= len(shapely.get_parts(theirs))


def test_shapes_that_overlap_are_left_to_geos() -> None:
    boxes = shapely.box(np.array([0.0, 0.5, 1.5]), 0.0, np.array([1.0, 1.5, 2.5]), np.array([1.0, 0.8, 1.0]))
    assert united_by_edges(np.asarray(boxes)) is None


def test_shapes_whose_corners_match_are_left_to_geos() -> None:
    assert united_by_edges(np.asarray(shapely.box(np.arange(3.0), 0.0, np.arange(3.0) + 1.0, 1.0))) is None
