"""Outlines of areas: published ones, or dissolved from the cells of their blocks, once per layer."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import shapely

from geodata.atomic_writes import writing_beside
from geodata.errors import StoreError
from geodata.store import Store
from mapapp.answers import watch
from mapapp.answers.flows import Blocks
from mapapp.answers.layer_units import TABLES
from mapapp.question.area_text import BLOCK

if TYPE_CHECKING:
    from mapapp.answers.areas import Areas

Shapes = npt.NDArray[np.object_]
_SLIVER_DEG2: Final = 1e-9  # about 10 m²: gaps that rounding leaves between two cells


class Outlines:
    """Outlines for one release, EPSG:4326; safe to use from several threads.

    Parameters
    ----------
    store : Store
    areas : Areas
    folder : Path
        Folder for dissolved layers.
    """

    def __init__(self, store: Store, areas: Areas, folder: Path) -> None:
        self._store = store
        self._areas = areas
        self._folder = folder
        self._lock = Lock()
        self._locks: dict[str, Lock] = {}

    def of_blocks(self, blocks: Blocks | None) -> shapely.Geometry:
        """Return the union of the cells of some blocks (None: all blocks); None if they have no cells."""
        return self._of_blocks(blocks, None)

    def _of_blocks(self, blocks: Blocks | None, held: pyarrow.Array | None) -> shapely.Geometry | None:
        left = np.arange(len(self._areas.places), dtype=np.int32) if blocks is None else blocks
        counties, tracts = self._wholes
        parts: list[shapely.Geometry] = []
        for code, total, shape in (counties, tracts):
            watch.check()
            unit, first, n_chosen = np.unique(code[left], return_index=True, return_counts=True)
            is_whole = (n_chosen == total[unit]) & (shape[unit] != b"")
            whole = unit[is_whole]
            inside = counties[0][left[first[is_whole]]]
            # Shapes from one source and county share borders exactly; across counties they may not.
            parts.extend(_joined(shapely.from_wkb(shape[whole]), inside))
            left = left[~np.isin(code[left], whole)]
        cells = self._areas.cells.of_blocks(left, held)
        # So do cells, but only within a tract: along its border each tract has its own corners.
        parts.extend(_joined(cells, tracts[0][left]) if len(cells) == left.size else cells)
        return dissolved(np.array(parts, dtype=object)) if parts else None

    def of_layer(self, level: str) -> dict[str, shapely.Geometry]:
        """Return the outlines of a layer's units by identifier; units without an outline are left out.

        Published outlines are read. Others are dissolved on first use and then kept on disk. A request for one layer
        does not wait for another layer.
        """
        if level in TABLES:
            return _by_id(self._store.table(TABLES[level], [f"{level}_id", "geometry"]), f"{level}_id")
        with self._lock:
            lock = self._locks.setdefault(level, Lock())
        with watch.held(lock):
            kept = self._kept(level)
            return _by_id(self._make(level) if kept is None else kept, "unit_id")

    @cached_property
    def _wholes(self) -> list[tuple[Blocks, npt.NDArray[np.int64], Shapes]]:
        """Counties and tracts that replace their cells: code of each block; size and WKB, or b"", of each."""
        found = []
        for level in ("county", "tract"):
            units = self._areas.units(level)
            shapes = self._store.table(TABLES[level], [f"{level}_id", "geometry"])
            wkb = dict(zip(shapes[f"{level}_id"], shapes.geometry.to_wkb(), strict=True))
            mine = zip(units.rows["unit_id"], units.rows["kind"], strict=True)
            listed = [(wkb.get(unit_id) if kind == "unit" else None) or b"" for unit_id, kind in mine]
            total = units.rows["n_blocks"].to_numpy()
            found.append((units.code, total, np.array([*listed, None], dtype=object)[:-1]))
        return found

    def _make(self, level: str) -> geopandas.GeoDataFrame:
        units = self._areas.units(level)
        rows = np.flatnonzero((units.rows["kind"] == "unit").to_numpy())
        order = np.argsort(units.code, kind="stable").astype(np.int32)
        ends = np.searchsorted(units.code[order], np.arange(len(units.rows) + 1))
        if level == BLOCK:
            block = order[ends[rows]]
            shapes = list(self._areas.cells.of_blocks(np.sort(block)))
        else:
            held = self._areas.cells.hold()
            shapes = [self._of_blocks(order[ends[row] : ends[row + 1]], held) for row in rows]
        ids = units.rows["unit_id"].iloc[rows].to_numpy()
        frame = geopandas.GeoDataFrame({"unit_id": ids}, geometry=shapes, crs=4326)
        self._keep(level, frame)
        return frame

    def _kept(self, level: str) -> geopandas.GeoDataFrame | None:
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
            writing_beside(self._folder / f"outlines-{level}", replace=True) as partial,
        ):
            file = partial.folder / "outlines.parquet"
            frame.to_parquet(file, index=False, compression="zstd")
            whole = self._folder / f"outlines-{level}-{_digest(file)}.parquet"
            os.replace(file, whole)
            for other in self._folder.glob(f"outlines-{level}-*.parquet"):
                if other != whole:  # damaged; otherwise it would have been read
                    other.unlink(missing_ok=True)


def dissolved(shapes: Shapes) -> shapely.Geometry:
    """Return the union of polygons that share borders, without the slivers that rounding leaves between them."""
    joined = _union(shapes)
    parts = [
        _without_slivers(part) for part in shapely.get_parts(joined) if shapely.area(part) > _SLIVER_DEG2
    ]
    return shapely.multipolygons(parts) if len(parts) != 1 else parts[0]


def _union(shapes: Shapes) -> shapely.Geometry:
    with suppress(shapely.GEOSException):
        joined = shapely.coverage_union_all(shapes)  # ten times as fast, but needs exactly matching borders
        if shapely.is_valid(joined):
            return joined
    return shapely.union_all(shapes)


def _joined(shapes: Shapes, group: npt.NDArray[np.int32]) -> list[shapely.Geometry]:
    """Return the union of the shapes of each group."""
    order = np.argsort(group, kind="stable")
    ends = np.flatnonzero(np.diff(group[order])) + 1
    listed = np.empty(len(order), dtype=object)
    listed[:] = list(shapes)
    return [_union(part) for part in np.split(listed[order], ends) if len(part)]


def _without_slivers(polygon: shapely.Geometry) -> shapely.Geometry:
    holes = [ring for ring in polygon.interiors if shapely.area(shapely.Polygon(ring)) > _SLIVER_DEG2]
    return shapely.Polygon(polygon.exterior, holes)


def _by_id(frame: pandas.DataFrame, column: str) -> dict[str, shapely.Geometry]:
    there = ~(frame.geometry.isna() | frame.geometry.is_empty)
    return dict(zip(frame[column][there], frame.geometry[there], strict=True))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:32]
