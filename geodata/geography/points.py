"""Block cells cut into triangles, from which points are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import shapely

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_HEAD_BYTES: Final = 13  # WKB of a polygon of one ring: byte order, type, number of rings, number of places
_PLACE_BYTES: Final = 16
_STRAIGHT: Final = (
    1e-12  # sine of the largest turn that counts as straight on; rounding turns corners on a line by less
)
_MOST_PLACES: Final = 20  # few convex cells have more
_CUT_AT_ONCE: Final = 1 << 14  # cells; a dataset may have all of them in one row group


@dataclass(frozen=True, slots=True, kw_only=True)
class Triangles:
    """Cells of all blocks as triangles, in CSR form.

    Attributes
    ----------
    ptr : int64[blocks + 1]
        The triangles of block b are ``ptr[b]`` up to ``ptr[b + 1]``; elsewhere units and unused blocks have no
        triangles.
    triangle : float64[K, 7]
        Share of its cell's area up to and with each triangle, 1 at the last; then longitude and latitude of the three
        corners. In one array, because drawing a point needs all of it at once.

    Notes
    -----
    Area is measured in degrees squared. Within a cell the cosine of the latitude is practically constant (a
    block spans well under 0.1 degree), so uniform in degrees is uniform on the ground.
    """

    ptr: Ints
    triangle: Floats


def cut_cells(parts: Iterable[pyarrow.Table], *, used: npt.NDArray[np.bool_], threads: int = 1) -> Triangles:
    """Cut cells into triangles.

    Parameters
    ----------
    parts : iterable of pyarrow.Table
        Columns `block_index` and `geometry` (WKB polygons, EPSG:4326), as `Store.batches("cells")` yields them.
    used : bool[blocks]
        Whether points will be drawn in each block; the other blocks are not cut.
    threads : int
        Threads that cut cells; the result is the same for any number.
    """
    pieces = (
        part.slice(start, _CUT_AT_ONCE) for part in parts for start in range(0, len(part), _CUT_AT_ONCE)
    )
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        cut = list(pool.map(lambda piece: _cut_part(piece, used), pieces))
    owner = np.concatenate([np.zeros(0, dtype=np.int64), *(block for block, _ in cut)])
    triangle = np.concatenate([np.zeros((0, 7)), *(triangles for _, triangles in cut)])
    if np.any(np.diff(owner) < 0):
        order = np.argsort(owner, kind="stable")
        owner, triangle = owner[order], triangle[order]
    ptr = np.zeros(used.size + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=used.size), out=ptr[1:])
    return Triangles(ptr=ptr, triangle=triangle)


def _shares(owner: Ints, corner: Floats) -> Floats:
    """Running share of each triangle in its cell's area; equal shares if the cell has no area. Sorted by cell."""
    start = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    size = np.diff(np.append(start, owner.size))
    x0, y0, x1, y1, x2, y2 = corner.T
    area = np.abs((x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0))
    area[np.repeat(np.add.reduceat(area, start) <= 0, size)] = 1.0
    running = np.cumsum(area)
    before = running[start] - area[start]
    whole = running[start + size - 1] - before
    share: Floats = (running - np.repeat(before, size)) / np.repeat(whole, size)
    share[start + size - 1] = 1.0
    return share


def _cut_part(part: pyarrow.Table, used: npt.NDArray[np.bool_]) -> tuple[Ints, Floats]:
    """Block of each triangle of some cells, in the cells' order, and the triangles."""
    block = part["block_index"].to_numpy().astype(np.int64)
    wanted = used[block]
    geometry = part["geometry"].combine_chunks()
    owner, corner, is_convex = _fans(geometry, wanted)
    rest = np.flatnonzero(wanted & ~is_convex)
    if rest.size:
        cell, more = _cut(shapely.from_wkb(geometry.take(rest).to_numpy(zero_copy_only=False)))
        owner, corner = np.concatenate((owner, rest[cell])), np.concatenate((corner, more))
    order = np.argsort(owner, kind="stable")
    owner, corner = owner[order], corner[order]
    if not owner.size:
        return owner, np.zeros((0, 7))
    triangle = np.empty((owner.size, 7))
    triangle[:, 0] = _shares(owner, corner)
    triangle[:, 1:] = corner
    return block[owner], triangle


def _fans(
    geometry: pyarrow.BinaryArray, wanted: npt.NDArray[np.bool_]
) -> tuple[Ints, Floats, npt.NDArray[np.bool_]]:
    """Cut the convex cells, most of them, without a triangulation: into the triangles at their first corner.

    Parameters
    ----------
    geometry : binary array
        All cells as WKB.
    wanted : bool[cells]
        Which to cut.

    Returns
    -------
    owner : int64[triangles]
        Position of the cell of each triangle.
    corner : float64[triangles, 6]
        Longitude and latitude of its corners.
    is_convex : bool[cells]
        The cells that were cut.
    """
    owners, corners, is_convex = (
        [np.zeros(0, dtype=np.int64)],
        [np.zeros((0, 6))],
        np.zeros(len(geometry), dtype=bool),
    )
    if geometry.null_count:
        return owners[0], corners[0], is_convex
    offset = np.frombuffer(geometry.buffers()[1], dtype=np.int32)[
        geometry.offset : geometry.offset + len(geometry) + 1
    ].astype(np.int64)
    data = np.frombuffer(geometry.buffers()[2] or b"", dtype=np.uint8)
    n_places, odd = np.divmod(np.diff(offset) - _HEAD_BYTES, _PLACE_BYTES)
    n_places[(odd != 0) | ~wanted] = 0
    for n in range(4, _MOST_PLACES + 1):  # the first place is also the last
        candidate = np.flatnonzero(n_places == n)
        if not candidate.size:
            continue
        # Every stretch of so many bytes, of which only the cells' are copied.
        stretches = np.lib.stride_tricks.sliding_window_view(data, _HEAD_BYTES + n * _PLACE_BYTES)
        place, convex = _find_convex(stretches[offset[candidate]], n)
        owner = candidate[convex]
        is_convex[owner] = True
        first = np.broadcast_to(place[:, :1], (owner.size, n - 3, 2))
        fan = np.concatenate((first, place[:, 1:-1], place[:, 2:]), axis=2)
        owners.append(np.repeat(owner, n - 3))
        corners.append(fan.reshape(-1, 6))
    return np.concatenate(owners), np.concatenate(corners), is_convex


def _find_convex(text: npt.NDArray[np.uint8], n: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Corners float64[cells, n - 1, 2] of the convex ones among polygons of n places in WKB, and which these are."""
    # Little-endian, a polygon, one ring, n places; anything else is triangulated.
    head = np.frombuffer(b"\x01\x03\x00\x00\x00\x01\x00\x00\x00" + n.to_bytes(4, "little"), dtype=np.uint8)
    convex = (text[:, :_HEAD_BYTES] == head).all(axis=1)
    place = np.ascontiguousarray(text[:, _HEAD_BYTES:]).view("<f8").reshape(-1, n, 2)[:, :-1]
    # Corner by corner, since an array of all cells' corners would have to be turned at every step.
    x, y = np.ascontiguousarray(place.transpose(2, 1, 0))
    ahead = [(x[(at + 1) % (n - 1)] - x[at], y[(at + 1) % (n - 1)] - y[at]) for at in range(n - 1)]
    length = [np.sqrt(dx * dx + dy * dy) for dx, dy in ahead]
    left, right = np.ones((2, len(text)), dtype=np.bool_)
    for at, (dx, dy) in enumerate(ahead):
        before_x, before_y = ahead[at - 1]
        turn = before_x * dy - before_y * dx
        straight = _STRAIGHT * length[at] * length[at - 1]
        left &= turn >= -straight
        right &= turn <= straight
    convex &= left != right  # both: it has no area
    corners: Floats = (place if convex.all() else place[convex]).astype(np.float64)
    return corners, convex


def _cut(geometry: npt.NDArray[np.object_]) -> tuple[Ints, Floats]:
    """Position of the cell, and corners, of every triangle."""
    if not geometry.size:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 6))
    place, owner = shapely.get_coordinates(
        shapely.constrained_delaunay_triangles(geometry), return_index=True
    )
    corner = place.reshape(-1, 4, 2)[:, :3]
    return owner[::4].astype(np.int64), corner.reshape(-1, 6)
