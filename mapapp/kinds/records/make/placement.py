"""From codes to rows: blocks, the order of the rows, and points; all of it post-processing.

Records may be placed in parts, and rows collected workplace by workplace: what is drawn for a record depends on its
number, and for a point on its workplace, never on what else is in the part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.placement.points import CellTriangles, place_points
from engine.records.placing import draw_places
from engine.streams import SecretKey
from geodata.store.schema import N_SEGMENTS, segment_code
from geodata.workers.order import sort_workers
from mapapp.kinds.records.make.attributes import BAND, HOME_PUMA, WORK_PUMA, WORK_TRACT, RecordAttributes

__all__ = ["RecordRows", "job_rows", "place_codes", "point_columns", "sort_rows"]

Codes = npt.NDArray[np.int32]
Column = npt.NDArray[np.generic]
Columns = dict[str, Column]

_JOB: Final = ("age", "earnings", "industry")
_MISSING: Final = 1  # code of an attribute of the job that the dataset lacks


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRows:
    """Synthetic workers in the order in which they are written, which says nothing about how they were made.

    Attributes
    ----------
    columns : dict of str to array
        Columns of the table `records`.
    """

    columns: Columns

    @property
    def segment(self) -> npt.NDArray[np.int8]:
        """Segment of each worker."""
        age, earnings, industry = (self.columns[name].astype(np.int64) for name in _JOB)
        return segment_code(age, earnings, industry).astype(np.int8)


def place_codes(
    key: SecretKey, codes: Codes, attributes: RecordAttributes, *, first: int = 0, threads: int = 1
) -> Columns:
    """Give records ``first`` to ``first + n - 1`` their blocks: columns of `records`, in the order of the numbers.

    Parameters
    ----------
    key : SecretKey
    codes : int32[n, m]
        In resampling order.
    attributes : RecordAttributes
    first : int
        Number of the first record among all records.
    threads : int
        Threads to use; the result does not depend on it.
    """
    column = {name: codes[:, place] for place, name in enumerate(attributes.names)}
    band = column[BAND].astype(np.int8)
    placed = draw_places(
        key,
        attributes.work_tract[column[WORK_TRACT]],
        column[HOME_PUMA],
        band,
        attributes.ground,
        first=first,
        threads=threads,
    )
    columns: Columns = {"destination_index": placed.work_block, "origin_index": placed.home_block}
    columns |= _of_the_job(column, attributes)
    columns["distance_band"] = band
    return columns | {name: column[name].astype(np.int16) for name in _further(attributes)}


def sort_rows(columns: Columns, attributes: RecordAttributes) -> RecordRows:
    """Sort the records of some workplaces: all of these."""
    domains = {
        name: len(attributes.attributes[attributes.place(name)].codes)
        for name in (BAND, *_further(attributes))
    }
    return RecordRows(columns=sort_workers(columns, attributes.geography.n_blocks, domains))


def _further(attributes: RecordAttributes) -> list[str]:
    """Attributes that have columns of their own beyond the usual ones."""
    usual = (*_JOB, WORK_PUMA, HOME_PUMA, WORK_TRACT, BAND)
    return [name for name in attributes.names if name not in usual]


def _of_the_job(column: Mapping[str, npt.NDArray[np.int32]], attributes: RecordAttributes) -> Columns:
    """Age, earnings, and industry: as drawn, or as another attribute derives them."""
    columns: Columns = {}
    for name in _JOB:
        source = next((attribute for attribute in attributes.attributes if name in attribute.derives), None)
        if source is not None:
            groups = np.array(source.derives[name], dtype=np.int8)
            columns[name] = groups[column[source.name]]
        elif name in column:
            columns[name] = (column[name] + 1).astype(np.int8)
        else:
            n = next(iter(column.values())).size
            columns[name] = np.full(n, _MISSING, dtype=np.int8)
    return columns


def job_rows(rows: RecordRows) -> Columns:
    """Count records by workplace, segment, and home: columns of `jobs`."""
    columns = rows.columns
    # Rows are sorted by these three first.
    keys = [columns["destination_index"], rows.segment, columns["origin_index"]]
    changes = np.zeros(max(keys[0].size - 1, 0), dtype=np.bool_)
    for key in keys:
        changes |= key[1:] != key[:-1]
    start = np.flatnonzero(np.append(True, changes))[: keys[0].size]
    names = ("destination_index", "origin_index", *_JOB)
    return {
        **{name: columns[name][start] for name in names},
        "count": np.diff(np.append(start, keys[0].size)).astype(np.int32),
    }


def point_columns(
    key: SecretKey, rows: RecordRows, cells: CellTriangles, *, with_homes: bool = True, threads: int = 1
) -> Columns:
    """Draw a point at home and one at work for every record: columns of `points`.

    Parameters
    ----------
    key : SecretKey
    rows : RecordRows
        All records of some workplaces.
    cells : CellTriangles
        Of their blocks.
    with_homes : bool
        Otherwise points at home are missing, and those at work are the same.
    threads : int
        Threads to use; the result does not depend on it.
    """
    work, home = (rows.columns[name].astype(np.int32) for name in ("destination_index", "origin_index"))
    # A stream serves the workers of one workplace and segment, as in a release.
    unit = work.astype(np.int64) * N_SEGMENTS + rows.segment
    start = np.flatnonzero(np.append(True, unit[1:] != unit[:-1]))[: unit.size]
    places = place_points(
        key,
        work[start],
        rows.segment[start],
        np.append(start, unit.size).astype(np.int64),
        home if with_homes else None,
        cells,
        threads=threads,
    )
    return {
        "destination_index": work,
        "origin_index": home,
        "segment": rows.segment,
        "home_lon_deg": places.home_lon_deg,
        "home_lat_deg": places.home_lat_deg,
        "work_lon_deg": places.work_lon_deg,
        "work_lat_deg": places.work_lat_deg,
    }
