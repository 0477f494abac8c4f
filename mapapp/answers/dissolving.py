"""Unions of many groups of shapes that share borders, in as few calls of GEOS as possible.

A union of shapes whose borders match vertex by vertex has the edges that occur once: GEOS finds them without
comparing edges by place. It is asked for all groups in one call, without Python's lock. Only groups whose borders do
not match, which leaves an invalid shape, are united in the general way, which takes ten times as long.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely

from mapapp.answers import watch

Shapes = npt.NDArray[np.object_]
Codes = npt.NDArray[np.int64]

_SLIVER_DEG2: Final = 1e-9  # about 10 m²: gaps that rounding leaves between two cells

_AT_ONCE: Final = 64
"""Groups of one call: one that is no coverage makes GEOS start again with the others of its call."""


def joined(shapes: Shapes, group: Codes) -> tuple[Shapes, Codes]:
    """Unite the shapes of each group.

    Parameters
    ----------
    shapes : object array[N]
        Valid polygons and multipolygons.
    group : int64[N]
        Group of each.

    Returns
    -------
    object array[G]
        The union of each group, valid.
    int64[G]
        The groups, ascending.
    """
    order = np.argsort(group, kind="stable")
    shapes, group = shapes[order], group[order]
    first = np.flatnonzero(np.append(True, group[1:] != group[:-1])[: group.size])
    size = np.diff(np.append(first, group.size))
    united = shapes[first]
    several = np.flatnonzero(size > 1)
    if several.size:
        united[several] = _coverage_unions(shapes[np.repeat(size > 1, size)], size[several])
    for row in several[~shapely.is_valid(united[several])]:
        watch.check()
        united[row] = shapely.union_all(shapes[first[row] : first[row] + size[row]])
    return united, group[first]


def dissolved(shapes: Shapes, group: Codes) -> tuple[Shapes, Codes]:
    """As `joined`, without the slivers that rounding leaves between shapes."""
    united, groups = joined(shapes, group)
    return without_slivers(united), groups


def without_slivers(shapes: Shapes) -> Shapes:
    """Leave out parts and holes of polygons that are as small as rounding makes them."""
    part, row = shapely.get_parts(shapes, return_index=True)
    kept = shapely.area(part) > _SLIVER_DEG2
    part, row = part[kept], row[kept]
    for at in np.flatnonzero(shapely.get_num_interior_rings(part)):
        part[at] = _without_small_holes(part[at])
    found, first, size = np.unique(row, return_index=True, return_counts=True)
    result = np.full(shapes.size, shapely.MultiPolygon(), dtype=object)
    result[found] = part[first]
    for at in np.flatnonzero(size > 1):
        result[found[at]] = shapely.multipolygons(part[first[at] : first[at] + size[at]])
    return result


def _coverage_unions(shapes: Shapes, size: npt.NDArray[np.int64]) -> Shapes:
    """Unite consecutive shapes, `size` of each group; None where GEOS finds that they are no coverage."""
    collections = shapely.geometrycollections(shapes, indices=np.repeat(np.arange(size.size), size))
    united = np.full(size.size, None, dtype=object)
    for start in range(0, size.size, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        try:
            united[rows] = shapely.coverage_union_all(collections[rows, None], axis=1)
        except shapely.GEOSException:  # for one of them, which stops the call for all
            for row, collection in enumerate(collections[rows], start):
                with suppress(shapely.GEOSException):
                    united[row] = shapely.coverage_union_all(collection)
    return united


def _without_small_holes(polygon: shapely.Geometry) -> shapely.Geometry:
    rings = shapely.get_rings(polygon)
    kept = shapely.area(shapely.polygons(rings[1:])) > _SLIVER_DEG2
    return polygon if kept.all() else shapely.polygons(rings[0], rings[1:][kept])
