"""Cells cut into triangles: all of the cell and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest
import shapely

from geodata.geography import points
from geodata.geography.points import Triangles, cut_cells

HOLED = shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (3, 1), (3, 3), (1, 3)]])
PAIR = shapely.MultiPolygon([shapely.box(10, 0, 12, 1), shapely.box(14, 0, 15, 1)])
WITH_STRAIGHT = shapely.Polygon(
    [(30, 0), (31, 0), (32, 0), (32.3, 0.1), (32.6, 0.2), (30, 3)]
)  # corners on its sides
TURNED = shapely.Polygon([(40, 0), (40, 2), (41, 3), (42, 2), (42, 0)])  # clockwise
ROUND = shapely.Point(50, 0).buffer(1.0)  # convex, with many corners
BENT = shapely.Polygon([(60, 0), (61, 1e-6), (62, 0), (62, 2), (60, 2)])  # hardly concave
DART = shapely.Polygon([(20, 0), (24, 0), (21, 1), (20, 4)])  # four sides, not convex
CELLS = {
    1: HOLED,
    2: PAIR,
    4: shapely.box(-2, -2, -1, -1),
    5: DART,
    6: WITH_STRAIGHT,
    7: TURNED,
    8: ROUND,
    9: BENT,
    10: shapely.Polygon([(70, 0), (71, 0), (70, 1)]),
}
N_BLOCKS = 11  # rows 0 and 3 have no cell: elsewhere units


def table(shapes: dict[int, Any]) -> Any:
    return pyarrow.table(
        {
            "block_index": pyarrow.array(list(shapes), pyarrow.int32()),
            "geometry": pyarrow.array([shapely.to_wkb(shape) for shape in shapes.values()], pyarrow.binary()),
        }
    )


ALL = np.ones(N_BLOCKS, dtype=bool)


def cut(shapes: dict[int, Any] = CELLS, threads: int = 1, at_once: int = 100, used: Any = ALL) -> Triangles:
    whole = table(shapes)
    parts = [whole.slice(start, at_once) for start in range(0, len(whole), at_once)]
    return cut_cells(parts, used=used, threads=threads)


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_triangles_make_up_the_cell(block: int) -> None:
    cells = cut()
    at = slice(cells.ptr[block], cells.ptr[block + 1])
    triangles = shapely.polygons(cells.triangle[at, 1:].reshape(-1, 3, 2))
    shape = CELLS.get(block, shapely.Polygon())
    assert shapely.area(shapely.symmetric_difference(shapely.union_all(triangles), shape)) < 1e-12
    assert shapely.area(triangles).sum() == pytest.approx(shape.area)
    if block in CELLS:
        share = cells.triangle[at, 0]
        np.testing.assert_allclose(share, np.cumsum(shapely.area(triangles)) / shape.area)
        assert share[-1] == 1.0


def test_a_rectangle_is_two_triangles_and_a_dart_is_triangulated() -> None:
    cells = cut()
    assert np.diff(cells.ptr)[[4, 5]].tolist() == [2, 2]


def test_convex_cells_are_not_triangulated(monkeypatch: pytest.MonkeyPatch) -> None:
    triangulated: list[Any] = []

    def cut_none(cells: Any) -> tuple[Any, Any]:
        triangulated.extend(cells)
        return np.zeros(0, dtype=np.int64), np.zeros((0, 6))

    monkeypatch.setattr(points, "_cut", cut_none)
    cells = cut()
    assert [shape.area for shape in triangulated] == [CELLS[block].area for block in (1, 2, 5, 8, 9)]
    assert np.diff(cells.ptr)[[4, 6, 7, 10]].tolist() == [2, 4, 3, 1]


def test_order_parts_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shuffled = {block: CELLS[block] for block in (5, 2, 10, 4, 8, 1, 7, 6, 9)}
    monkeypatch.setattr(points, "_CUT_AT_ONCE", 2)
    for other in (cut(shuffled), cut(threads=3, at_once=1), cut(at_once=3)):
        assert cut().ptr.tobytes() == other.ptr.tobytes()
        np.testing.assert_allclose(cut().triangle, other.triangle, rtol=1e-12)


def test_only_used_cells_are_cut() -> None:
    part = cut(used=np.isin(np.arange(N_BLOCKS), [0, 2]))
    assert np.flatnonzero(np.diff(part.ptr)).tolist() == [2]
    assert part.triangle.tolist() == cut().triangle[cut().ptr[2] : cut().ptr[3]].tolist()


def test_a_cell_without_area_is_a_place_all_the_same() -> None:
    line = shapely.Polygon([(0, 0), (1, 0), (1, 0), (0, 0)])
    cells = cut({1: line, 4: CELLS[4]})
    assert np.isfinite(cells.triangle).all()


def test_no_cells_at_all() -> None:
    cells = cut_cells([], used=ALL)
    assert cells.ptr.tolist() == [0] * (N_BLOCKS + 1)
    assert cells.triangle.shape == (0, 7)
