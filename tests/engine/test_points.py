from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from engine.errors import OverflowRefusedError, ParameterError
from engine.placement.points import CellTriangles, count_homes, place_points, sort_homes
from engine.streams import SecretKey
from tests.oracles.chacha import Stream

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6


def strips(n_strips: int) -> CellTriangles:
    """Block 0 has no cell; block 1 is n_strips triangles of equal area side by side; block 2 is one, block 3 two."""
    corner = [[x, 0.0, x + 1.0, 0.0, x, 1.0] for x in np.arange(n_strips, dtype=float)]
    corner += [[-3.0, -3.0, -2.0, -3.0, -3.0, -2.0]]
    corner += [[50.0, 0.0, 51.0, 0.0, 50.0, 1.0], [51.0, 0.0, 54.0, 0.0, 51.0, 1.0]]
    share = [*(np.arange(1, n_strips + 1) / n_strips), 1.0, 0.25, 1.0]
    ptr = [0, 0, n_strips, n_strips + 1, n_strips + 3]
    return CellTriangles(triangle_ptr=np.array(ptr), triangle=np.column_stack((share, corner)))


def twin_point(stream: Stream, block: int, cells: CellTriangles) -> tuple[np.float32, np.float32]:
    """A triangle by its share, then a place in it: three numbers, in this order."""
    chosen, one, other = (stream.word() / 2**32 for _ in range(3))
    first, last = cells.triangle_ptr[block], cells.triangle_ptr[block + 1]
    if first == last:
        return np.float32(np.nan), np.float32(np.nan)
    triangle = next(at for at in range(first, last) if cells.triangle[at, 0] > chosen)
    if one + other > 1:
        one, other = 1 - one, 1 - other
    x0, y0, x1, y1, x2, y2 = cells.triangle[triangle, 1:].tolist()
    return np.float32(x0 + one * (x1 - x0) + other * (x2 - x0)), np.float32(
        y0 + one * (y1 - y0) + other * (y2 - y0)
    )


@pytest.mark.jit_off
@pytest.mark.parametrize("n_strips", [1, 2, 16, 17, 40])
def test_points_are_the_twin_s(n_strips: int) -> None:
    rng = np.random.default_rng(n_strips)
    cells = strips(n_strips)
    destination, segment = np.array([1, 2, 3, 0]), np.array([4, 0, 1, 26])
    ptr = np.array([0, 40, 40, 75, 100])
    home = rng.integers(0, 4, 100).astype(np.int32)
    found = place_points(KEY, destination, segment, ptr, home, cells, threads=3)
    for one in range(4):
        stream = Stream("POINT", int(destination[one]), int(segment[one]))
        for worker in range(ptr[one], ptr[one + 1]):
            lived = twin_point(stream, home[worker], cells)
            worked = twin_point(stream, destination[one], cells)
            np.testing.assert_array_equal(
                (found.home_lon_deg[worker], found.home_lat_deg[worker]), lived, strict=False
            )
            np.testing.assert_array_equal((found.work_lon_deg[worker], found.work_lat_deg[worker]), worked)
    alone = place_points(KEY, destination, segment, ptr, None, cells)
    assert alone.work_lon_deg.tobytes() == found.work_lon_deg.tobytes()
    assert np.isnan(alone.home_lat_deg).all()


@pytest.mark.parametrize("sizes", [[2500, 3], [1, 0, 1022, 9, 1], [8] * 300, [1023, 1, 1024]])
def test_workers_placed_some_hundred_at_a_time_are_the_twin_s(sizes: list[int]) -> None:
    cells = strips(20)
    ptr = np.concatenate(([0], np.cumsum(sizes)))
    segment = np.arange(len(sizes))
    home = np.random.default_rng(1).integers(0, 4, ptr[-1]).astype(np.int32)
    found = place_points(KEY, np.full(len(sizes), 3), segment, ptr, home, cells, threads=2)
    for one in range(len(sizes)):
        stream = Stream("POINT", 3, one)
        for worker in range(ptr[one], ptr[one + 1]):
            lived, worked = (twin_point(stream, block, cells) for block in (home[worker], 3))
            np.testing.assert_array_equal(
                (found.home_lon_deg[worker], found.home_lat_deg[worker]), lived, strict=False
            )
            np.testing.assert_array_equal((found.work_lon_deg[worker], found.work_lat_deg[worker]), worked)


@pytest.mark.jit_off
def test_more_workers_than_a_stream_has_words_for_are_refused() -> None:
    ptr = np.array([0, 1, 2**32 * 16 // 6 + 2])
    with pytest.raises(OverflowRefusedError, match=r"destination 2, segment 7 .* 11,453,246,122 workers"):
        place_points(KEY, np.array([1, 2]), np.array([0, 7]), ptr, None, strips(2))


@pytest.mark.jit_off
def test_homes_are_counted_within_each_synthesizer() -> None:
    ptr = np.array([0, 3, 3, 4, 8])
    home = np.array([1, 1, 5, 5, 2, 3, 3, 3], np.int32)
    found = count_homes(ptr, home)
    assert found.row_ptr.tolist() == [0, 2, 2, 3, 5]
    assert found.home_block.tolist() == [1, 5, 5, 2, 3]
    assert found.count.tolist() == [2, 1, 1, 1, 3]
    none = count_homes(np.array([0, 0]), np.zeros(0, np.int32))
    assert (none.row_ptr.tolist(), none.count.size) == ([0, 0], 0)


def test_points_are_uniform_in_the_cell() -> None:
    cells = strips(20)
    n = 40_000
    found = place_points(KEY, np.array([1]), np.array([0]), np.array([0, n]), np.full(n, 3, np.int32), cells)
    strip = np.floor(found.work_lon_deg).astype(int)
    assert chisquare(np.bincount(strip, minlength=20)).pvalue > FALSE_ALARM
    # The lower half of each triangle's height holds three quarters of its area.
    low = int((found.work_lat_deg < 0.5).sum())
    assert chisquare([low, n - low], [0.75 * n, 0.25 * n]).pvalue > FALSE_ALARM
    left = int((found.home_lon_deg < 51.0).sum())
    assert chisquare([left, n - left], [0.25 * n, 0.75 * n]).pvalue > FALSE_ALARM


@pytest.mark.jit_off
def test_homes_are_sorted_within_each_synthesizer() -> None:
    rng = np.random.default_rng(1)
    size = np.array([0, 1, 2, 16, 33, 500, 0, 7])
    ptr = np.concatenate(([0], np.cumsum(size)))
    home = rng.integers(0, 40, ptr[-1]).astype(np.int32)
    found = sort_homes(ptr, home, threads=2)
    for first, last in pairwise(ptr):
        assert found[first:last].tolist() == sorted(home[first:last].tolist())


@pytest.mark.jit_off
def test_bad_input_is_refused() -> None:
    cells, one = strips(2), np.array([1])
    zero, ptr = np.array([0]), np.array([0, 1])
    with pytest.raises(ParameterError, match="do not agree"):
        place_points(KEY, one, zero, ptr, np.array([1, 1], np.int32), cells)
    with pytest.raises(ParameterError, match="cells for 4 blocks"):
        place_points(KEY, np.array([4]), zero, ptr, None, cells)
    with pytest.raises(ParameterError, match="home_block runs"):
        place_points(KEY, one, zero, ptr, np.array([4], np.int32), cells)
    with pytest.raises(ParameterError, match="triangle is"):
        CellTriangles(triangle_ptr=ptr, triangle=np.ones((1, 6)))
