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

_QUAD_BYTES: Final = 93  # WKB of one ring of five places: 1 + 4 + 4 + 4 + 5 × 16


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
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        cut = list(pool.map(lambda part: _cut_part(part, used), parts))
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
    wanted = used[part["block_index"].to_numpy()]
    if not wanted.all():
        part = part.filter(wanted)
    block = part["block_index"].to_numpy().astype(np.int64)
    geometry = part["geometry"].combine_chunks()
    quads, is_quad = _convex_quads(geometry)
    # A convex cell of four sides is two triangles, without a triangulation.
    corner = quads[:, [0, 1, 2, 3, 4, 5, 0, 1, 4, 5, 6, 7]].reshape(-1, 6)
    owner = np.repeat(np.flatnonzero(is_quad), 2)
    if not is_quad.all():
        rest = np.flatnonzero(~is_quad)
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


def _convex_quads(geometry: pyarrow.BinaryArray) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Corners float64[n, 8] of the cells that are convex and have four sides, and which cells these are."""
    is_quad = np.zeros(len(geometry), dtype=bool)
    if geometry.null_count:
        return np.zeros((0, 8)), is_quad
    offset = np.frombuffer(geometry.buffers()[1], dtype=np.int32)[
        geometry.offset : geometry.offset + len(geometry) + 1
    ].astype(np.int64)
    candidate = np.flatnonzero(np.diff(offset) == _QUAD_BYTES)
    if not candidate.size:
        return np.zeros((0, 8)), is_quad
    data = np.frombuffer(geometry.buffers()[2], dtype=np.uint8)
    if candidate.size == len(geometry):
        text = data[offset[0] : offset[-1]].reshape(-1, _QUAD_BYTES)
    else:
        text = data[offset[candidate][:, None] + np.arange(_QUAD_BYTES)]
    # Little-endian, a polygon, one ring, five places; anything else is triangulated.
    head = np.frombuffer(b"\x01\x03\x00\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00", dtype=np.uint8)
    plain = (text[:, :13] == head).all(axis=1)
    place = np.ascontiguousarray(text[:, 13:]).view("<f8").reshape(-1, 5, 2)[:, :4]
    ahead, behind = np.roll(place, -1, axis=1) - place, place - np.roll(place, 1, axis=1)
    turn = behind[:, :, 0] * ahead[:, :, 1] - behind[:, :, 1] * ahead[:, :, 0]
    convex = plain & ((turn > 0).all(axis=1) | (turn < 0).all(axis=1))
    is_quad[candidate[convex]] = True
    return place[convex].reshape(-1, 8).astype(np.float64), is_quad


def _cut(geometry: npt.NDArray[np.object_]) -> tuple[Ints, Floats]:
    """Position of the cell, and corners, of every triangle."""
    if not geometry.size:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 6))
    triangle, owner = shapely.get_parts(shapely.constrained_delaunay_triangles(geometry), return_index=True)
    corner = shapely.get_coordinates(triangle).reshape(-1, 4, 2)[:, :3]
    return owner.astype(np.int64), corner.reshape(-1, 6)
