"""The union of shapes that meet only along borders, from the edges of these borders.

Cells of blocks share borders exactly with others of their tract, but along its border each tract has its own corners.
GEOS unites such shapes in the general way, which compares all edges several times. Here, edges that two shapes have in
common are left out; of the others, those that a corner of another shape lies on are divided there, and again left out
if two shapes have them. What is left is the border of the union.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import shapely

Shapes = npt.NDArray[np.object_]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.complex128]

_ON_EDGE_DEG: Final = 1e-9
"""A corner so close to an edge, 0.1 mm, is on it but for rounding."""
_AREA: Final = 1e-9
"""Part of the area that rounding may change."""


def united_by_edges(shapes: Shapes) -> shapely.Geometry | None:
    """Return the union of valid polygons and multipolygons that meet only along borders, with different corners there.

    As a set it is what GEOS finds, but for slivers as narrow as rounding makes them. It is None if the shapes meet
    otherwise, and also if no corner lies on an edge, because GEOS unites such shapes quickly.
    """
    place, start, end = _edges(shapes)
    start, end = _single(start, end)
    divided = _divided(place, start, end)
    if divided[0].size == start.size:
        return None
    start, end = _single(*divided)
    lines = shapely.linestrings(
        np.stack([place[start], place[end]], axis=1).view(np.float64).reshape(-1, 2, 2)
    )
    faces = shapely.get_parts(shapely.polygonize(lines))
    inside, _ = shapely.STRtree(shapes).query(shapely.point_on_surface(faces), predicate="intersects")
    faces = faces[np.unique(inside)]
    found = faces[0] if faces.size == 1 else shapely.multipolygons(faces)
    area = float(shapely.area(shapes).sum())
    is_whole = abs(float(shapely.area(found)) - area) <= _AREA * area
    return found if is_whole and shapely.is_valid(found) else None


def _edges(shapes: Shapes) -> tuple[Places, Ints, Ints]:
    """Return the corners of shapes, each once, and the corners at both ends of every edge."""
    rings = shapely.get_rings(shapely.get_parts(shapes))
    at, ring = shapely.get_coordinates(rings, return_index=True)
    place, corner = np.unique(np.ascontiguousarray(at).view(np.complex128).reshape(-1), return_inverse=True)
    is_next = ring[1:] == ring[:-1]
    return place, corner[:-1][is_next], corner[1:][is_next]


def _single(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the edges that occur an odd number of times, in either direction, once each."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    key, n = np.unique(low[low != high] << 32 | high[low != high], return_counts=True)
    key = key[n % 2 == 1]
    return key >> 32, key & 0xFFFFFFFF


def _divided(place: Places, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return edges, divided at the corners of others that lie on them."""
    ends = np.stack([place[start], place[end]], axis=1)
    tree = shapely.STRtree(shapely.linestrings(ends.view(np.float64).reshape(-1, 2, 2)))
    corner = np.unique(np.concatenate([start, end]))
    x, y = place[corner].real, place[corner].imag
    number, edge = tree.query(
        shapely.box(x - _ON_EDGE_DEG, y - _ON_EDGE_DEG, x + _ON_EDGE_DEG, y + _ON_EDGE_DEG)
    )
    on = corner[number]
    is_other = (on != start[edge]) & (on != end[edge])
    on, edge = on[is_other], edge[is_other]
    way = ends[edge, 1] - ends[edge, 0]
    # Along the edge as a part of it, and beside it in degrees.
    away = (place[on] - ends[edge, 0]) / way
    is_on = (np.abs(away.imag) * np.abs(way) < _ON_EDGE_DEG) & (away.real > 0) & (away.real < 1)
    on, edge, along = on[is_on], edge[is_on], away.real[is_on]
    # Each edge becomes a chain: its start, the corners on it, and its end.
    every = np.arange(start.size)
    chain = np.concatenate([every, edge, every])
    corners = np.concatenate([start, on, end])
    order = np.lexsort((np.concatenate([np.zeros(start.size), along, np.ones(start.size)]), chain))
    chain, corners = chain[order], corners[order]
    is_next = chain[1:] == chain[:-1]
    return corners[:-1][is_next], corners[1:][is_next]
