"""The numbers behind a table: how many people each cell holds, which is public, and how many of them it counts.

:func:`count_people` reads workplaces, segments, and numbers of workers, all of which a dataset's publications show; it
does not read homes. :func:`count_values` reads homes. Of a dataset, its result is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.geography.distance import distance_mi
from geodata.store.store import Store
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.tables.make.spec import TableSpec
from mapapp.question.filters import CHARACTERISTICS

__all__ = ["Ground", "count_people", "count_values", "read_ground"]

Ints = npt.NDArray[np.int64]

_SEGMENT: Final = ("age", "earnings", "industry")
_MOST_CELLS: Final = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """The units of a table in one store.

    Attributes
    ----------
    row_of_block : int64[blocks]
        Row of each block; -1 outside all units.
    row_ids, row_names : tuple of str
        Every unit of the row layer, ascending by identifier.
    column_ids, column_names : tuple of str
        Columns in order; of flows, every unit where homes can be.
    home_of_block : int64[blocks]
        Of flows, the column of each block; -1 outside all units. Otherwise empty.
    state_of_block : int64[blocks]
    lon_deg, lat_deg : float64[blocks]
        Internal points.
    work_blocks : bool[blocks]
        Where the workplaces of the table's jobs can be.
    """

    row_of_block: Ints
    row_ids: tuple[str, ...]
    row_names: tuple[str, ...]
    column_ids: tuple[str, ...]
    column_names: tuple[str, ...]
    home_of_block: Ints
    state_of_block: Ints
    lon_deg: npt.NDArray[np.float64]
    lat_deg: npt.NDArray[np.float64]
    work_blocks: npt.NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.row_ids), len(self.column_ids)


def read_ground(store: Store, spec: TableSpec, areas: Areas | None = None) -> Ground:
    """Read the units of a table.

    Parameters
    ----------
    store : Store
    spec : TableSpec
        With the area of its jobs located in the store, if it has one.
    areas : Areas, optional
        The areas of the store, where they are open already.

    Raises
    ------
    UsageError
        The store has no such layer, or the table would have too many cells.
    """
    areas = areas or Areas(store)
    row_of_block, row_ids, row_names = _units(_layer(store, areas, spec.rows, "--rows"))
    if spec.flows:
        homes = _layer(store, areas, spec.flows, "--flows")
        home_of_block, column_ids, column_names = _units(homes, with_elsewhere=True)
    else:
        home_of_block = np.zeros(0, dtype=np.int64)
        column_ids, column_names = _segment_columns(spec.columns)
    if len(row_ids) * len(column_ids) > _MOST_CELLS:
        raise UsageError(
            f"{len(row_ids):,} × {len(column_ids):,} cells are too many (at most {_MOST_CELLS:,}); choose larger units"
        )
    blocks = store.table("blocks", ["state_id", "lon_deg", "lat_deg"])
    return Ground(
        row_of_block=row_of_block,
        row_ids=row_ids,
        row_names=row_names,
        column_ids=column_ids,
        column_names=column_names,
        home_of_block=home_of_block,
        state_of_block=np.unique(blocks["state_id"].to_numpy(str), return_inverse=True)[1].astype(np.int64),
        lon_deg=blocks["lon_deg"].to_numpy(np.float64),
        lat_deg=blocks["lat_deg"].to_numpy(np.float64),
        work_blocks=spec.jobs.work_blocks(areas, len(blocks)),
    )


def count_people(store: Store, spec: TableSpec, ground: Ground) -> Ints:
    """Count the workers of each cell; of flows, the workers of each row in its one column. Homes are not read.

    Returns
    -------
    int64[rows, columns]
        Of flows, int64[rows, 1].
    """
    n_columns = 1 if spec.flows else ground.shape[1]
    people = np.zeros(len(ground.row_ids) * n_columns, dtype=np.int64)
    for part in store.batches("jobs", ["destination_index", *_SEGMENT, "count"]):
        jobs = {name: part[name].to_numpy() for name in part.column_names}
        row = ground.row_of_block[jobs["destination_index"]]
        placed = (row >= 0) & ground.work_blocks[jobs["destination_index"]] & spec.jobs.among(jobs)
        cell = row * n_columns + _segment_column(jobs, spec.columns)
        people += np.bincount(cell[placed], jobs["count"][placed], minlength=people.size).astype(np.int64)
    return people.reshape(-1, n_columns)


def count_values(store: Store, spec: TableSpec, ground: Ground, report: Report = silent) -> Ints:
    """Count the workers that each cell's value is about: int64[rows, columns]. Of a dataset, this is confidential.

    `report` is called as report(stage, done, total), in rows of jobs.
    """
    n_rows, n_columns = ground.shape
    values = np.zeros(n_rows * n_columns, dtype=np.int64)
    n_done, n_jobs = 0, int(store.manifest["files"]["jobs.parquet"]["rows"])
    for part in store.batches("jobs", ["destination_index", "origin_index", *_SEGMENT, "count"]):
        jobs = {name: part[name].to_numpy() for name in part.column_names}
        work, home = jobs["destination_index"], jobs["origin_index"]
        row = ground.row_of_block[work]
        column = ground.home_of_block[home] if spec.flows else _segment_column(jobs, spec.columns)
        counted = (row >= 0) & (column >= 0) & ground.work_blocks[work] & spec.jobs.among(jobs)
        if not spec.flows:
            counted &= _is_counted(spec, ground, work, home)
        report("counting workers", n_done, n_jobs)
        n_done += len(home)
        cell = (row * n_columns + column)[counted]
        values += np.bincount(cell, jobs["count"][counted], minlength=values.size).astype(np.int64)
    return values.reshape(n_rows, n_columns)


def _is_counted(
    spec: TableSpec, ground: Ground, work: npt.NDArray[np.int32], home: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    if spec.counts.kind == "same-unit":
        return np.asarray(ground.row_of_block[work] == ground.row_of_block[home])
    if spec.counts.kind == "outside-state":
        return np.asarray(ground.state_of_block[work] != ground.state_of_block[home])
    lon, lat = ground.lon_deg, ground.lat_deg
    away = distance_mi(lon[work], lat[work], lon[home], lat[home])
    return np.asarray((away > (spec.counts.miles or 0.0)) & (work != home))


def _segment_column(jobs: Mapping[str, npt.NDArray[np.generic]], columns: Sequence[str]) -> Ints:
    """Column of each row of jobs: the codes 1..3 of the columns as digits."""
    zero = np.zeros(len(jobs["count"]), dtype=np.int64)
    return reduce(lambda number, name: number * 3 + jobs[name].astype(np.int64) - 1, columns, zero)


def _segment_columns(columns: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    codes = list(product((1, 2, 3), repeat=len(columns)))
    labels = [
        ", ".join(CHARACTERISTICS[name][code - 1] for name, code in zip(columns, key, strict=True))
        for key in codes
    ]
    return tuple(".".join(map(str, key)) for key in codes), tuple(labels)


def _layer(store: Store, areas: Areas, layer: str, option: str) -> LayerUnits:
    if layer not in areas.columns:
        raise UsageError(
            f"{option} {layer[:40]}: {store.path} has no such layer; it has {', '.join(areas.columns)}"
        )
    return areas.units(layer)


def _units(
    units: LayerUnits, *, with_elsewhere: bool = False
) -> tuple[Ints, tuple[str, ...], tuple[str, ...]]:
    """Number of each block's unit (-1 for none), identifiers and names."""
    kinds = ("unit", "elsewhere") if with_elsewhere else ("unit",)
    kept = units.rows["kind"].isin(kinds).to_numpy()
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int64)
    rows = units.rows[kept]
    return number[units.code], tuple(rows["unit_id"].astype(str)), tuple(rows["name"].astype(str))
