"""The public geography of a store as arrays, and which destination tracts are worked on together."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.placement.placement import BlockTable
from engine.support.row_runs import RowRuns, row_runs
from engine.support.tracts import OriginTracts
from geodata.errors import StoreError
from geodata.geography.elsewhere import division_numbers
from geodata.progress import work_in_order
from geodata.store.schema import COPIED_TABLES, PUBLIC_TABLES, Table, segment_code
from geodata.store.store import Store, StoreWriter

Ints = npt.NDArray[np.int64]

DEFAULT_BATCHES: Final = 16
_FEWEST_WORKERS: Final = 50_000
_MOST_WORKERS: Final = 1_000_000
_MOST_TRACTS: Final = 1_000
_GROUPS_AT_ONCE: Final = 4  # row groups of `jobs` read together, about a million rows

PUBLIC_COLUMNS: Final = ["destination_index", "age", "earnings", "industry", "count"]
"""Columns of `jobs` that are public: all but the homes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Geography:
    """What every destination tract shares: nothing here is confidential.

    Attributes
    ----------
    tracts : OriginTracts
        All tracts, in the order of the store.
    tract_of_block : int32[blocks]
        Row of `tracts` of every block; never falls.
    blocks : BlockTable
        Blocks by tract, with population.
    flows : DataFrame
        Public tract flows; empty if the store lacks them.
    last_release : dict, optional
        Where the flows are the workers of an earlier release: which, as in `mapapp.kinds.release.make.last_release`.
    """

    tracts: OriginTracts
    tract_of_block: npt.NDArray[np.int32]
    blocks: BlockTable
    flows: pandas.DataFrame
    last_release: Mapping[str, object] | None = None

    @property
    def n_blocks(self) -> int:
        """Number of blocks, elsewhere units included."""
        return self.tract_of_block.size


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSynthesizers:
    """Every synthesizer of a store, in the order of its rows: all of it public.

    Attributes
    ----------
    destination : int32[S]
        Row of `blocks` of each workplace; never falls.
    segment : int8[S]
        0..26, rising within a workplace.
    count : int32[S]
        Workers.
    """

    destination: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int8]
    count: npt.NDArray[np.int32]

    @classmethod
    def of(cls, parts: Sequence[RowRuns]) -> ListedSynthesizers:
        """Those of several parts of a table, one after the other."""
        return cls(
            destination=np.concatenate([part.destination for part in parts]),
            segment=np.concatenate([part.segment for part in parts]),
            count=np.concatenate([part.count for part in parts]),
        )

    def within(self, blocks: tuple[int, int]) -> slice:
        """Those whose workplaces are some consecutive blocks: from the first up to the second."""
        first, last = np.searchsorted(self.destination, np.array(blocks, dtype=np.int32)).tolist()
        return slice(first, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplaces:
    """Destination tracts, and the workers of each: public, since counts by workplace are.

    T destination tracts in B batches; a batch is worked on as a whole.

    Attributes
    ----------
    tract : int64[T]
        Row of `tracts` of each tract with workplaces, rising.
    n_workers : int64[T]
        Workers of each.
    tract_ptr : int64[B + 1]
        The destination tracts of batch b are ``tract_ptr[b]`` up to ``tract_ptr[b + 1]``.
    row_ptr : int64[B + 1]
        So are its rows of `jobs`.
    in_order : bool
        Whether `jobs` is sorted by destination; else there is one batch, of everything.
    synthesizers : ListedSynthesizers or None
        All synthesizers, if they were to be listed and `jobs` is sorted by workplace and segment.
    """

    tract: Ints
    n_workers: Ints
    tract_ptr: Ints
    row_ptr: Ints
    in_order: bool
    synthesizers: ListedSynthesizers | None = None

    @property
    def n_batches(self) -> int:
        """B, the number of batches."""
        return self.tract_ptr.size - 1


def segment_bytes(jobs: Mapping[str, npt.ArrayLike]) -> npt.NDArray[np.int8]:
    """Segment 0..26 of every row of `jobs`, in single bytes as its columns are: longer ones take longer to make."""
    columns = (np.asarray(jobs[name], dtype=np.int8) for name in ("age", "earnings", "industry"))
    return np.asarray(segment_code(*columns), dtype=np.int8)


def read_geography(store: Store) -> Geography:
    """Read the public tables of a dataset or release that synthesis uses."""
    blocks = store.table("blocks", ["tract_index", "population"])
    columns = ["lon_deg", "lat_deg", "puma_index", "superpuma_index", "population", "state_id", "elsewhere"]
    tracts = store.table("tracts", columns)
    division = division_numbers(tracts["state_id"])
    # An array of its own: kernels take writable ones, and would copy those of pandas for every batch.
    tract_of_block = np.array(blocks["tract_index"], dtype=np.int32)
    rows = np.searchsorted(tract_of_block, np.arange(len(tracts) + 1)).astype(np.int64)
    return Geography(
        tracts=OriginTracts(
            lon_deg=tracts["lon_deg"].to_numpy(np.float64),
            lat_deg=tracts["lat_deg"].to_numpy(np.float64),
            puma=tracts["puma_index"].to_numpy(),
            superpuma=tracts["superpuma_index"].to_numpy(),
            population=tracts["population"].to_numpy(),
            far_group=np.where(tracts["elsewhere"].to_numpy(np.bool_), division, np.int32(-1)),
        ),
        tract_of_block=tract_of_block,
        blocks=BlockTable(block_ptr=rows, block_population=blocks["population"].to_numpy()),
        flows=store.table("prior"),
        last_release=store.manifest.get("last_release"),
    )


def read_workplaces(
    store: Store,
    geography: Geography,
    *,
    n_batches: int = DEFAULT_BATCHES,
    listed: bool = False,
    threads: int = 1,
) -> Workplaces:
    """Count workers by destination tract, and divide the tracts into batches of about as many workers.

    How they are divided changes nothing in a release.

    Parameters
    ----------
    store : Store
    geography : Geography
        Of the same store.
    n_batches : int
        Batches wanted; fewer where they would be small, more where they would be large.
    listed : bool
        Also list the synthesizers, which saves reading the same rows again: nine bytes for each.
    threads : int
        Threads to use; the result does not depend on it.

    Raises
    ------
    StoreError
        When the store holds no jobs.
    """
    workers = np.zeros(geography.tracts.n_tracts, dtype=np.int64)
    rows = np.zeros_like(workers)
    last, in_order = -1, True
    lists: list[RowRuns] | None = [] if listed else None
    columns = PUBLIC_COLUMNS if listed else ["destination_index", "count"]
    row_ptr = store.row_ptr("jobs")
    ends = np.unique(np.append(row_ptr[::_GROUPS_AT_ONCE], row_ptr[-1])).tolist()

    def count_span(span: tuple[int, int]) -> _Counted:
        return _count_rows(geography, store.slice("jobs", *span, columns), listed=listed)

    for part in work_in_order(count_span, itertools.pairwise(ends), threads):
        np.add.at(workers, part.tract, part.workers)
        np.add.at(rows, part.tract, part.rows)
        # A synthesizer whose rows were read in two parts would be listed twice.
        if part.runs is None or part.ends[0] <= last:
            lists = None
        elif lists is not None:
            lists.append(part.runs)
        in_order = in_order and part.in_order and part.ends[0] >= last
        last = part.ends[1]
    tract = np.flatnonzero(rows)
    if not tract.size:
        raise StoreError(f"{store.path}: no jobs in it, so there is nothing to synthesize; import OD files")
    first_row = np.append(0, np.cumsum(rows[tract]))
    wanted = int(np.clip(workers.sum() // n_batches, _FEWEST_WORKERS, _MOST_WORKERS))
    tract_ptr = _batches(workers[tract], wanted) if in_order else np.array([0, tract.size])
    return Workplaces(
        tract=tract,
        n_workers=workers[tract],
        tract_ptr=tract_ptr,
        row_ptr=first_row[tract_ptr],
        in_order=in_order,
        synthesizers=None if lists is None else ListedSynthesizers.of(lists),
    )


class _Counted(NamedTuple):
    """Some rows of `jobs`: workers and rows by tract, the first and last workplace, and the runs if they are sorted."""

    tract: Ints
    workers: Ints
    rows: Ints
    ends: tuple[int, int]
    in_order: bool
    runs: RowRuns | None


def _count_rows(geography: Geography, jobs: Mapping[str, npt.ArrayLike], *, listed: bool) -> _Counted:
    """Count rows by tract; runs of one workplace are added up first."""
    destination, count = np.asarray(jobs["destination_index"]), np.asarray(jobs["count"])
    no_segment = np.zeros(destination.size, dtype=np.int8)
    runs = row_runs(destination, segment_bytes(jobs), count) if listed else None
    by_place = runs or row_runs(destination, no_segment, count)
    ends = (int(destination[0]), int(destination[-1]))
    if by_place is not None:
        tract, workers = geography.tract_of_block[by_place.destination], by_place.count
        n_rows = np.diff(by_place.row_ptr)
    else:
        tract, workers, n_rows = geography.tract_of_block[destination], count, np.ones_like(count)
    start = np.flatnonzero(np.append(True, tract[1:] != tract[:-1]))
    return _Counted(
        tract=tract[start].astype(np.int64),
        workers=np.add.reduceat(workers.astype(np.int64), start),
        rows=np.add.reduceat(n_rows.astype(np.int64), start),
        ends=ends,
        in_order=by_place is not None or bool(np.all(destination[1:] >= destination[:-1])),
        runs=runs,
    )


def _batches(workers: Ints, wanted: int) -> Ints:
    """Cut destination tracts where their workers and their number together fill a batch."""
    filled = np.cumsum(workers / wanted + 1.0 / _MOST_TRACTS)
    cut = np.flatnonzero(np.diff(np.floor(filled)) > 0) + 1
    return np.concatenate(([0], cut, [workers.size])).astype(np.int64)


# The public tables of a dataset, which its publications have as well.


def copy_public_tables(dataset: Store, writer: StoreWriter, tables: Sequence[Table] = PUBLIC_TABLES) -> None:
    """Copy some tables of a dataset, its base map, and its characteristics into a publication, byte for byte."""
    optional = [table for table in COPIED_TABLES if dataset.has_table(table.name)]
    for table in (*tables, *optional):
        writer.copy_table(dataset, table.name)
