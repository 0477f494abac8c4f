"""Outlines of areas: published ones, or dissolved from the cells of their blocks, once per layer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.errors import StoreError
from geodata.store.atomic_writes import write_beside
from geodata.store.store import Store
from mapapp.answers.areas.layer_units import TABLES
from mapapp.answers.areas.units import ReleaseUnits
from mapapp.answers.commutes.pick import Blocks
from mapapp.base import watch
from mapapp.question.area_text import BLOCK

# Unions of many groups of shapes that share borders, in as few calls of GEOS as possible.
#
# A union of shapes whose borders match vertex by vertex has the edges that occur once: GEOS finds them without
# comparing edges by place. It is asked for all groups in one call, without Python's lock. Only groups whose borders do
# not match, which leaves an invalid shape, are united in the general way, which takes ten times as long.

Shapes = npt.NDArray[np.object_]
Codes = npt.NDArray[np.int64]

_SLIVER_DEG2: Final = 1e-9  # about 10 m²: gaps that rounding leaves between two cells

_AT_ONCE: Final = 64
"""Groups of one call: one that is no coverage makes GEOS start again with the others of its call."""


def join_shapes(shapes: Shapes, group: Codes) -> tuple[Shapes, Codes]:
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


def dissolve_shapes(shapes: Shapes, group: Codes) -> tuple[Shapes, Codes]:
    """As `join_shapes`, without the slivers that rounding leaves between shapes."""
    united, groups = join_shapes(shapes, group)
    return remove_slivers(united), groups


def remove_slivers(shapes: Shapes) -> Shapes:
    """Leave out parts and holes of polygons that are as small as rounding makes them."""
    part, row = shapely.get_parts(shapes, return_index=True)
    kept = shapely.area(part) > _SLIVER_DEG2
    part, row = part[kept], row[kept]
    for at in np.flatnonzero(shapely.get_num_interior_rings(part)):
        part[at] = _fill_small_holes(part[at])
    rows, first, size = np.unique(row, return_index=True, return_counts=True)
    result = np.full(shapes.size, shapely.MultiPolygon(), dtype=object)
    result[rows] = part[first]
    for at in np.flatnonzero(size > 1):
        result[rows[at]] = shapely.multipolygons(part[first[at] : first[at] + size[at]])
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


def _fill_small_holes(polygon: shapely.Geometry) -> shapely.Geometry:
    rings = shapely.get_rings(polygon)
    kept = shapely.area(shapely.polygons(rings[1:])) > _SLIVER_DEG2
    return polygon if kept.all() else shapely.polygons(rings[0], rings[1:][kept])


_CELLS_AT_ONCE: Final = 50_000


class Outlines:
    """Outlines for one release, EPSG:4326; safe to use from several threads.

    Parameters
    ----------
    store : Store
    units : ReleaseUnits
    folder : Path
        Folder for dissolved layers.
    """

    def __init__(self, store: Store, units: ReleaseUnits, folder: Path) -> None:
        self._store = store
        self._units = units
        self._folder = folder
        self._lock = Lock()
        self._locks: dict[str, Lock] = {}
        self._wkb: dict[str, dict[str, bytes | None]] = {}

    def warm(self) -> None:
        """Read in advance what the first outline of a drawn area needs."""
        _ = self._wholes

    def of_blocks(self, blocks: Blocks | None) -> shapely.Geometry:
        """Return the union of the cells of some blocks (None: all blocks); None if they have no cells."""
        left = np.arange(len(self._units.places), dtype=np.int32) if blocks is None else blocks
        shapes, _ = self._pieces(left, np.zeros(left.size, dtype=np.int64))
        if not shapes.size:
            return None
        # Tracts have corners of their own along their borders, so the pieces are no coverage.
        return remove_slivers(np.array([shapely.union_all(shapes)]))[0]

    def _pieces(self, left: Blocks, group: Codes) -> tuple[Shapes, Codes]:
        """Return shapes of which the cells of each group of blocks consist, and the group of each."""
        parts: list[tuple[Shapes, Codes]] = []
        counties, tracts = self._wholes
        for code, total, shape in (counties, tracts):
            key, first, n_chosen = np.unique(
                group * total.size + code[left], return_index=True, return_counts=True
            )
            unit = key % total.size
            is_whole = (n_chosen == total[unit]) & (shape[unit] != b"")
            inside = counties[0][left[first[is_whole]]]
            # Shapes from one source and county share borders exactly; across counties they may not.
            parts.append(
                _join_parts(
                    shapely.from_wkb(shape[unit[is_whole]]), group[first[is_whole]], inside, counties[1].size
                )
            )
            is_left = ~np.isin(group * total.size + code[left], key[is_whole])
            left, group = left[is_left], group[is_left]
        # So do cells, but only within a tract: along its border each tract has its own corners.
        for rows in self._runs_of_tracts(left):
            watch.check()
            cells, there = self._units.cells.of_some_blocks(left[rows])
            blocks = left[rows][there]
            parts.append(_join_parts(cells, group[rows][there], tracts[0][blocks], tracts[1].size))
        shapes, groups = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return shapes, groups

    def _runs_of_tracts(self, blocks: Blocks) -> Iterator[slice]:
        """Yield slices of ascending blocks that end where a tract does, so that not all cells are in memory."""
        tract = self._wholes[1][0][blocks]
        ends = np.flatnonzero(np.append(tract[1:] != tract[:-1], True)) + 1
        start = 0
        while start < blocks.size:
            fits = np.searchsorted(ends, start + _CELLS_AT_ONCE, side="right") - 1
            end = int(ends[max(fits, np.searchsorted(ends, start, side="right"))])
            yield slice(start, end)
            start = end

    def of_unit(self, level: str, unit_id: str) -> shapely.Geometry | None:
        """Return the published outline of a unit of a level in `TABLES`; None if it has none."""
        wkb = self._read_published(level).get(unit_id)
        return None if wkb is None else shapely.from_wkb(wkb)

    def of_parts(self, level: str, blocks: Blocks) -> dict[str, shapely.Geometry]:
        """Return the union of the cells of some blocks by unit of a layer; units without cells are left out."""
        units = self._units.units(level)
        shapes, rows = dissolve_shapes(*self._pieces(blocks, units.code[blocks].astype(np.int64)))
        return dict(zip(units.rows["unit_id"].to_numpy(dtype=object)[rows].tolist(), shapes, strict=True))

    def of_layer(self, level: str) -> dict[str, shapely.Geometry]:
        """Return the outlines of a layer's units by identifier; units without an outline are left out.

        Published outlines are read. Others are dissolved on first use and then kept on disk. A request for one layer
        does not wait for another layer.
        """
        if level in TABLES:
            return _index_by_id(self._store.table(TABLES[level], [f"{level}_id", "geometry"]), f"{level}_id")
        with self._lock:
            lock = self._locks.setdefault(level, Lock())
        with watch.hold_lock(lock):
            kept = self._read_kept(level)
            return _index_by_id(self._make(level) if kept is None else kept, "unit_id")

    @cached_property
    def _wholes(self) -> list[tuple[Blocks, npt.NDArray[np.int64], Shapes]]:
        """Counties and tracts that replace their cells: code of each block; size and WKB, or b"", of each."""
        wholes = []
        for level in ("county", "tract"):
            units, wkb = self._units.units(level), self._read_published(level)
            rows = zip(units.rows["unit_id"], units.rows["kind"], strict=True)
            listed = [(wkb.get(unit_id) if kind == "unit" else None) or b"" for unit_id, kind in rows]
            total = units.rows["n_blocks"].to_numpy()
            wholes.append((units.code, total, np.array([*listed, None], dtype=object)[:-1]))
        return wholes

    def _read_published(self, level: str) -> dict[str, bytes | None]:
        """Return the published outlines of a level as WKB, by identifier; read once, when the first one is needed."""
        with self._lock:
            lock = self._locks.setdefault(f"published {level}", Lock())
        with watch.hold_lock(lock):
            if level not in self._wkb:
                shapes = self._store.table(TABLES[level], [f"{level}_id", "geometry"])
                self._wkb[level] = dict(zip(shapes[f"{level}_id"], shapes.geometry.to_wkb(), strict=True))
            return self._wkb[level]

    def _make(self, level: str) -> geopandas.GeoDataFrame:
        units = self._units.units(level)
        is_unit = (units.rows["kind"] == "unit").to_numpy()
        blocks = np.flatnonzero(is_unit[units.code]).astype(np.int32)
        if level == BLOCK:
            shapes, there = self._units.cells.of_some_blocks(blocks)
            rows = units.code[blocks[there]].astype(np.int64)
        else:
            shapes, rows = dissolve_shapes(*self._pieces(blocks, units.code[blocks].astype(np.int64)))
        ids = units.rows["unit_id"].to_numpy()[rows]
        frame = geopandas.GeoDataFrame({"unit_id": ids}, geometry=shapes, crs=4326)
        self._keep(level, frame)
        return frame

    def _read_kept(self, level: str) -> geopandas.GeoDataFrame | None:
        """Return a layer from disk; None if there is no undamaged file."""
        for file in self._folder.glob(f"outlines-{level}-*.parquet"):
            with suppress(OSError):
                if file.stem.rpartition("-")[2] == _digest(file):
                    return geopandas.read_parquet(file)
        return None

    def _keep(self, level: str, frame: geopandas.GeoDataFrame) -> None:
        """Save a layer in a file named by its checksum; if the disk is full, skip it."""
        with (
            suppress(OSError, StoreError),
            write_beside(self._folder / f"outlines-{level}", replace=True) as partial,
        ):
            file = partial.folder / "outlines.parquet"
            frame.to_parquet(file, index=False, compression="zstd")
            whole = self._folder / f"outlines-{level}-{_digest(file)}.parquet"
            os.replace(file, whole)
            for former in self._folder.glob(f"outlines-{level}-*.parquet"):
                if former != whole:  # damaged; otherwise it would have been read
                    former.unlink(missing_ok=True)


def _join_parts(
    shapes: Shapes, group: Codes, place: npt.NDArray[np.int32], n_places: int
) -> tuple[Shapes, Codes]:
    """Unite the shapes of each group that are in one place; return the unions, and the group of each."""
    united, key = join_shapes(np.asarray(shapes, dtype=object), group * n_places + place)
    return united, key // n_places


def _index_by_id(frame: pandas.DataFrame, column: str) -> dict[str, shapely.Geometry]:
    there = ~(frame.geometry.isna() | frame.geometry.is_empty)
    return dict(zip(frame[column][there], frame.geometry[there], strict=True))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:32]
