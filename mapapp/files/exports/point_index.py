"""Writes the spatial index of a GeoPackage's points, already in order.

GDAL builds the index of a layer row by row, which takes two thirds of the processor time of writing points. Points that
are all known can be packed instead: sorted into columns by longitude, within a column by latitude, and cut into nodes.

Source: Leutenegger, Lopez and Edgington, "STR: a simple and efficient algorithm for R-tree packing", ICDE 1997.
Departure: nodes above the leaves keep the order of the leaves. The format of nodes is that of SQLite's R*Tree module.
"""

from __future__ import annotations

import math
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyogrio

from geodata.schema import CRS
from mapapp.files.exports.layer import LonLat

__all__ = ["MOST_ROWS", "add_point_index", "can_index"]

MOST_ROWS: Final = 4_000_000
"""Layers with more rows are left to GDAL, which keeps less of an index in memory."""
_CELLS: Final = 51  # in a node of a database with pages of 4 kB
_CELL: Final = np.dtype([("id", ">i8"), ("box", ">f4", 4)])  # least and greatest longitude, then latitude
_NODE: Final = np.dtype([("depth", ">u2"), ("n", ">u2"), ("cells", _CELL, _CELLS)])
_ROOT: Final = 1
_AT_ONCE: Final = 250  # rows of a statement; SQLite allows at least 999 values

Boxes = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def can_index() -> bool:
    """Return whether this Python's SQLite has R-trees."""
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute("CREATE VIRTUAL TABLE tree USING rtree(id, minx, maxx, miny, maxy)")
        except sqlite3.OperationalError:
            return False
    return True


def add_point_index(database: sqlite3.Connection, table: str, column: str, places: LonLat) -> None:
    """Add the spatial index of a table of points that GDAL wrote without one.

    Parameters
    ----------
    database : sqlite3.Connection
        A GeoPackage with pages of 4 kB.
    table, column : str
        The table and its column of points. Its rows are numbered from 1 in the column `fid`.
    places : LonLat
        Places of all rows, in order.
    """
    extension, statements = _declared(table, column)
    database.execute(
        "CREATE TABLE IF NOT EXISTS gpkg_extensions (table_name TEXT, column_name TEXT, "
        "extension_name TEXT NOT NULL, definition TEXT NOT NULL, scope TEXT NOT NULL, "
        "CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name))"
    )
    database.execute("INSERT INTO gpkg_extensions VALUES (?, ?, ?, ?, ?)", extension)
    tree = f"rtree_{table}_{column}"
    database.execute(f'CREATE VIRTUAL TABLE "{tree}" USING rtree(id, minx, maxx, miny, maxy)')
    _fill(database, tree, places)
    for statement in statements:
        database.execute(statement)


def _declared(table: str, column: str) -> tuple[tuple[str, ...], list[str]]:
    """Return how GDAL declares the index of such a table: its row of extensions, and its triggers in SQL."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "empty.gpkg"
        shape = pyarrow.field(column, pyarrow.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
        pyogrio.write_arrow(
            pyarrow.RecordBatchReader.from_batches(pyarrow.schema([shape]), iter([])),
            file,
            layer=table,
            driver="GPKG",
            geometry_name=column,
            geometry_type="Point",
            crs=CRS,
            GEOMETRY_NAME=column,
            FID="fid",
        )
        with closing(sqlite3.connect(file)) as database:
            (extension,) = database.execute(
                "SELECT * FROM gpkg_extensions WHERE extension_name = 'gpkg_rtree_index'"
            )
            triggers = database.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'rtree%' ORDER BY name"
            )
            return extension, [sql for (sql,) in triggers]


def _fill(database: sqlite3.Connection, tree: str, places: LonLat) -> None:
    """Put packed nodes into a new R-tree."""
    there = np.flatnonzero(~np.isnan(places.lon_deg))
    lon, lat = places.lon_deg[there], places.lat_deg[there]
    if not there.size:
        return
    order = _order(lon, lat)
    boxes = np.column_stack(
        [_outward(lon[order], -1), _outward(lon[order], 1), _outward(lat[order], -1), _outward(lat[order], 1)]
    )
    ids = there[order] + 1
    leaf_of = np.empty(ids.size, dtype=np.int64)
    first, depth, is_leaf = _ROOT + 1, 0, True
    while True:
        n_nodes = math.ceil(ids.size / _CELLS)
        numbers = np.arange(first, first + n_nodes) if n_nodes > 1 else np.array([_ROOT])
        parents = np.repeat(numbers, _CELLS)[: ids.size]
        _write_nodes(database, tree, numbers, ids, boxes, depth if n_nodes == 1 else 0)
        if is_leaf:
            leaf_of[order] = parents
            _insert(database, f"{tree}_rowid", there + 1, leaf_of)
        else:
            _insert(database, f"{tree}_parent", ids, parents)
        if n_nodes == 1:
            return
        boxes, ids = _around(boxes), numbers
        first, depth, is_leaf = first + n_nodes, depth + 1, False


def _order(lon: npt.NDArray[np.float64], lat: npt.NDArray[np.float64]) -> Ints:
    """Return the places of points in packed order."""
    n_columns = math.ceil(math.sqrt(math.ceil(lon.size / _CELLS)))
    column = np.empty(lon.size, dtype=np.int64)
    column[np.argsort(lon, kind="stable")] = np.arange(lon.size) // (n_columns * _CELLS)
    return np.lexsort((lat, column))


def _outward(values: npt.NDArray[np.float64], sign: int) -> Boxes:
    """Return the nearest 32-bit numbers that are not greater (`sign` -1) or not less (1)."""
    near = values.astype(np.float32)
    inside = near > values if sign < 0 else near < values
    near[inside] = np.nextafter(near[inside], np.float32(sign * np.inf))
    return near


def _around(boxes: Boxes) -> Boxes:
    """Return the box around those of each node."""
    starts = np.arange(0, len(boxes), _CELLS)
    least, greatest = np.minimum.reduceat(boxes, starts), np.maximum.reduceat(boxes, starts)
    return np.column_stack([least[:, 0], greatest[:, 1], least[:, 2], greatest[:, 3]])


def _write_nodes(
    database: sqlite3.Connection, tree: str, numbers: Ints, ids: Ints, boxes: Boxes, depth: int
) -> None:
    """Write nodes with the given cells; `depth` is of the tree, and only the root states it."""
    cells = np.zeros(numbers.size * _CELLS, dtype=_CELL)
    cells["id"][: ids.size], cells["box"][: ids.size] = ids, boxes
    nodes = np.zeros(numbers.size, dtype=_NODE)
    nodes["depth"], nodes["n"] = depth, _CELLS
    nodes["n"][-1] = ids.size - (numbers.size - 1) * _CELLS
    nodes["cells"] = cells.reshape(-1, _CELLS)
    database.executemany(
        f'INSERT OR REPLACE INTO "{tree}_node" VALUES (?, ?)',
        ((number, node.tobytes()) for number, node in zip(numbers.tolist(), nodes, strict=True)),
    )


def _insert(database: sqlite3.Connection, table: str, numbers: Ints, nodes: Ints) -> None:
    """Insert pairs of numbers, many in a statement, which takes half the time."""
    pairs = np.column_stack([numbers, nodes])
    n_whole = len(pairs) // _AT_ONCE * _AT_ONCE
    whole = pairs[:n_whole].reshape(-1, 2 * _AT_ONCE)
    statement = f'INSERT INTO "{table}" VALUES {", ".join(["(?, ?)"] * _AT_ONCE)}'
    database.executemany(statement, (row.tolist() for row in whole))
    database.executemany(f'INSERT INTO "{table}" VALUES (?, ?)', pairs[n_whole:].tolist())
