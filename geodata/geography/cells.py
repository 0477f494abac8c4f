"""Cells of blocks: published polygons, or the Voronoi cells of internal points clipped to the tract.

The cells of a tract partition it. Where the tract itself has no polygon, the blocks of all such tracts of a
state share one Voronoi diagram, clipped to a buffered hull and by the tracts that do have polygons, and the
tract's polygon is the union of its cells. The diagram also has the blocks of the other states that lie in the hull, so
that two states without polygons meet halfway between their blocks instead of overlapping.

An internal point outside its tract's polygon is moved to the nearest place on the polygon. Blocks whose points
coincide, or whose Voronoi cell misses the tract, share the cell of the nearest other block in strips of equal
width, so that every block gets a cell.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from geodata.progress import Progress, silent

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Shapes = npt.NDArray[np.object_]

STAGE = "cutting block cells"
_EDGE_KM = 1.0  # how far a derived state reaches beyond its outermost blocks
_KM_PER_DEG = 111.2
_HULL_RATIO = 0.05  # 0 follows every bay between blocks, 1 is the convex hull
_SAME_PLACE_DEG = 1e-6  # about 0.1 m
_CRUMB_DEG2 = 1e-8  # about 100 m²
_TRACTS_AT_ONCE = 32
_GLOBE = shapely.box(-180, -90, 180, 90)


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of blocks and polygons of tracts, EPSG:4326.

    Attributes
    ----------
    block : object array[blocks]
        A polygon for every block.
    tract : object array[tracts]
        The published polygon, or the union of the cells.
    derived : bool[tracts]
        Whether it is the union.
    moved : int
        Blocks whose internal point lies outside the polygon of their tract.
    shared : int
        Blocks that share the cell of another.
    """

    block: Shapes
    tract: Shapes
    derived: npt.NDArray[np.bool_]
    moved: int
    shared: int


def cut_cells(
    lon_deg: Floats,
    lat_deg: Floats,
    tract_index: Ints,
    tract_polygon: Shapes,
    region: Ints,
    block_polygon: Shapes,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> Cells:
    """Give every block a cell and every tract a polygon.

    Parameters
    ----------
    lon_deg, lat_deg : float64[blocks]
        Internal points, EPSG:4326.
    tract_index : int64[blocks]
        0 … tracts − 1, never falling: the blocks of a tract are consecutive. Every tract has blocks.
    tract_polygon : object array[tracts]
        Published polygon or None.
    region : int64[tracts]
        State of each tract: the tracts of a state that have no polygon are cut together.
    block_polygon : object array[blocks]
        Published polygon or None; used in a tract only if all its blocks have one.
    threads : int
        The result is the same for any number.
    progress : callable
        Called with (stage, done, total) in tracts.

    Returns
    -------
    Cells
    """
    point = np.column_stack([lon_deg, lat_deg])
    block_ptr = np.searchsorted(tract_index, np.arange(tract_polygon.size + 1))
    work = _Work(point, block_ptr, tract_polygon, block_polygon, np.empty(lon_deg.size, dtype=object))
    derived = shapely.is_missing(tract_polygon)
    whole = np.logical_and.reduceat(~shapely.is_missing(block_polygon), block_ptr[:-1])
    taken = whole[tract_index]
    work.cell[taken] = block_polygon[taken]
    done = np.array([0, 0])
    published = np.flatnonzero(~derived & ~whole)
    chunks = [published[i : i + _TRACTS_AT_ONCE] for i in range(0, published.size, _TRACTS_AT_ONCE)]
    together = derived & ~whole
    states = [np.flatnonzero(together & (region == state)) for state in np.unique(region[together])]
    tract = tract_polygon.copy()
    n_done = 0
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        # A state is the longest piece of work. At the end, the other threads would wait for it.
        all_rows = work.rows_of(np.flatnonzero(together)) if states else np.empty(0, dtype=np.int64)
        cut = [(tracts, pool.submit(work.cut_derived, tracts, all_rows)) for tracts in states]
        cut += [(tracts, pool.submit(work.cut_published, tracts)) for tracts in chunks]
        for tracts, future in cut:
            done += future.result()
            n_done += tracts.size
            progress(STAGE, n_done, tract_polygon.size)
        unions = np.flatnonzero(derived)
        for position, union in zip(unions, pool.map(work.union_of_cells, unions), strict=True):
            tract[position] = union
    return Cells(work.cell, tract, derived, int(done[0]), int(done[1]))


def union_of(polygons: Shapes) -> shapely.Geometry:
    """Union of polygons that touch without overlapping; polygonal and valid.

    The quick union of coverages is used where it gives a valid polygon, else the general one.
    """
    if polygons.size == 1:
        return polygons[0]
    try:
        joined = shapely.coverage_union_all(polygons)
    except (
        shapely.errors.GEOSException
    ):  # a derived tract meets published ones elsewhere than at their corners
        joined = None
    if joined is None or not shapely.is_valid(joined):
        joined = shapely.union_all(polygons)
    return _keep_polygons(np.array([joined], dtype=object))[0]


@dataclass(frozen=True, slots=True)
class _Work:
    point: Floats
    block_ptr: Ints
    tract_polygon: Shapes
    block_polygon: Shapes
    cell: Shapes  # filled tract by tract; no two threads write the same rows

    def cut_published(self, tracts: Ints) -> tuple[int, int]:
        moved, shared = 0, 0
        for position in tracts:
            rows = slice(int(self.block_ptr[position]), int(self.block_ptr[position + 1]))
            self.cell[rows], n_moved, n_shared = cells_in_polygon(
                self.point[rows], self.tract_polygon[position]
            )
            moved, shared = moved + n_moved, shared + n_shared
        return moved, shared

    def rows_of(self, tracts: Ints) -> Ints:
        """Rows of the blocks of some tracts."""
        return np.concatenate([np.arange(self.block_ptr[t], self.block_ptr[t + 1]) for t in tracts])

    def cut_derived(self, tracts: Ints, all_rows: Ints) -> tuple[int, int]:
        """Cut the tracts of a state; `all_rows` are the blocks of the tracts of all states that are cut so."""
        rows = self.rows_of(tracts)
        published = self.tract_polygon[~shapely.is_missing(self.tract_polygon)]
        shared = 0
        neighbors = self.point[np.setdiff1d(all_rows, rows, assume_unique=True)]
        # Each side of the 180th meridian by itself: a hull over both would go around the globe.
        east = self.point[rows, 0] > 0
        for side in (rows[east], rows[~east]):
            if side.size:
                self.cell[side], n_shared = cells_in_hull(self.point[side], published, neighbors)
                shared += n_shared
        return 0, shared

    def union_of_cells(self, position: int) -> shapely.Geometry:
        return union_of(self.cell[self.block_ptr[position] : self.block_ptr[position + 1]])


def cells_in_polygon(point: Floats, polygon: shapely.Geometry) -> tuple[Shapes, int, int]:
    """Voronoi cells of points, float64[n, 2] in degrees, that partition a polygon.

    Returns
    -------
    object array[n]
        Polygons or multipolygons, none empty.
    int
        Points that lie outside the polygon.
    int
        Points that share another's cell.
    """
    if len(point) == 1:
        return np.array([polygon], dtype=object), int(not shapely.intersects_xy(polygon, *point[0])), 0
    shapely.prepare(polygon)
    outside = np.flatnonzero(~shapely.intersects_xy(polygon, point))
    site = point.copy()
    if outside.size:
        line = shapely.shortest_line(polygon, shapely.points(point[outside]))
        site[outside] = shapely.get_coordinates(line)[::2]
    cell, owner = _voronoi(site, shapely.box(*polygon.bounds))
    crossing = np.flatnonzero(~shapely.contains_properly(polygon, cell))
    cell[crossing] = _keep_polygons(shapely.intersection(cell[crossing], polygon))
    result, shared = _share_cells(site, cell, owner)
    return result, int(outside.size), shared


def cells_in_hull(point: Floats, published: Shapes, neighbors: Floats) -> tuple[Shapes, int]:
    """Voronoi cells of points, float64[n, 2] in degrees, within their hull and outside published polygons.

    Parameters
    ----------
    point : float64[n, 2]
        Degrees.
    published : object[polygons]
    neighbors : float64[m, 2]
        Points of the blocks of other states without polygons, whose cells bound those of `point`.

    Returns
    -------
    object array[n]
        Polygons or multipolygons, none empty.
    int
        Points that share another's cell.
    """
    hull = _hull(point)
    shapely.prepare(hull)
    near = neighbors[shapely.contains_xy(hull, neighbors[:, 0], neighbors[:, 1])]
    cell, owner = _voronoi(np.concatenate([point, near]), hull)
    kept, owner = np.unique(owner[: len(point)], return_inverse=True)
    cell = cell[kept]
    crossing = np.flatnonzero(~shapely.contains_properly(hull, cell))
    cell[crossing] = shapely.intersection(cell[crossing], hull)
    outside = cell.copy()
    tree = shapely.STRtree(published)
    for row, polygon in tree.query(cell, predicate="intersects").T:
        outside[row] = shapely.difference(outside[row], published[polygon])
    outside = _drop_slivers(_keep_polygons(outside))
    # The cells of blocks wholly inside published tracts of other codes overlap those tracts: no other land is left.
    whole = shapely.is_empty(outside).all()
    return _share_cells(point, _keep_polygons(cell) if whole else outside, owner)


def _voronoi(site: Floats, extent: shapely.Geometry) -> tuple[Shapes, Ints]:
    """Cells of the distinct sites, and the position of each site's cell among them."""
    first, owner = _find_distinct(np.round(site / _SAME_PLACE_DEG).astype(np.int64))
    distinct = site[first]
    if len(distinct) == 1:
        return np.array([extent], dtype=object), owner
    # A degree of longitude is shorter than one of latitude; distances must be right on the ground.
    scale = np.array([np.cos(np.radians(site[:, 1].mean())), 1.0])
    stretched = shapely.transform(extent, lambda xy: xy * scale)
    sites = shapely.linestrings(
        distinct * scale
    )  # only its vertices count, and it is made faster than points
    cells = shapely.voronoi_polygons(sites, extend_to=stretched, ordered=True)
    return shapely.get_parts(shapely.transform(cells, lambda xy: xy / scale)), owner


def _find_distinct(grid: Ints) -> tuple[Ints, Ints]:
    """The first row of each distinct pair, in order of pairs, and the position of each row's pair among them."""
    order = np.lexsort((grid[:, 1], grid[:, 0]))
    ordered = grid[order]
    starts = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    owner = np.empty(order.size, dtype=np.int64)
    owner[order] = np.cumsum(starts) - 1
    return order[starts], owner


def _hull(point: Floats) -> shapely.Geometry:
    scale = np.array([np.cos(np.radians(point[:, 1].mean())), 1.0])
    hull = shapely.concave_hull(shapely.multipoints(point * scale), ratio=_HULL_RATIO)
    hull = shapely.buffer(hull, _EDGE_KM / _KM_PER_DEG, quad_segs=4)
    hull = shapely.transform(hull, lambda xy: xy / scale)
    west, _, east, _ = hull.bounds
    return hull if west >= -180 and east <= 180 else shapely.intersection(hull, _GLOBE)


def _share_cells(site: Floats, cell: Shapes, owner: Ints) -> tuple[Shapes, int]:
    """Give each site its own cell; sites that share a cell get strips of it."""
    empty = shapely.is_empty(cell)[owner]
    if empty.any():
        kept = np.flatnonzero(~empty)
        tree = shapely.STRtree(shapely.points(site[kept]))
        lost = np.flatnonzero(empty)
        owner = owner.copy()
        owner[lost] = owner[kept[tree.nearest(shapely.points(site[lost]))]]
    result = cell[owner]
    n_sharing = np.bincount(owner)
    for position in np.flatnonzero(n_sharing > 1):
        sharing = np.flatnonzero(owner == position)
        result[sharing] = _strips(cell[position], sharing.size)
    return result, owner.size - int(np.count_nonzero(n_sharing))


def _strips(polygon: shapely.Geometry, n: int) -> Shapes:
    """Cut a polygon into n parts, from west to east; parts beside the largest one stay with the first."""
    parts = shapely.get_parts(polygon)
    main = parts[shapely.area(parts).argmax()]
    west, south, east, north = main.bounds
    edge = np.linspace(west, east, n + 1)
    strip = _keep_polygons(shapely.intersection(shapely.box(edge[:-1], south, edge[1:], north), main))
    if parts.size > 1:
        rest = [part for part in parts if part is not main]
        strip[0] = shapely.multipolygons([*shapely.get_parts(strip[0]), *rest])
    return strip


def _drop_slivers(cell: Shapes) -> Shapes:
    """Drop the slivers that a difference leaves along a shared line."""
    for row in np.flatnonzero(shapely.get_type_id(cell) == 6):
        parts = shapely.get_parts(cell[row])
        kept = parts[shapely.area(parts) >= _CRUMB_DEG2]
        if 0 < kept.size < parts.size:
            cell[row] = kept[0] if kept.size == 1 else shapely.multipolygons(kept)
    return cell


def _keep_polygons(geometry: Shapes) -> Shapes:
    """Drop the points and lines that clipping leaves; nothing else changes."""
    geometry = np.array(geometry, dtype=object)
    kind = shapely.get_type_id(geometry)
    if ((kind == 3) | (kind == 6)).all():
        return geometry
    for row in np.flatnonzero(kind == 7):
        parts = shapely.get_parts(shapely.get_parts(geometry[row]))
        polygons = parts[shapely.get_type_id(parts) == 3]
        geometry[row] = polygons[0] if polygons.size == 1 else shapely.multipolygons(polygons)
    flat = np.isin(shapely.get_type_id(geometry), (3, 6), invert=True)
    geometry[flat] = shapely.Polygon()
    return geometry
