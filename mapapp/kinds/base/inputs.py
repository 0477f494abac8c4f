"""The workers of one batch of destination tracts as arrays, in the order in which everything afterwards counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas

from engine.support.row_runs import row_runs
from geodata.store.schema import N_SEGMENTS, segment_code
from geodata.store.store import Store
from mapapp.kinds.base.geography import PUBLIC_COLUMNS, Geography, Ints, Workplaces, segment_bytes

_COLUMNS = [*PUBLIC_COLUMNS, "origin_index"]


class CountedSynthesizers(Protocol):
    """The public part of some synthesizers: where each one's workplace is, and its number of workers."""

    @property
    def tract(self) -> npt.NDArray[np.int32]:
        """Position of the destination tract: int32[S]."""
        ...

    @property
    def count(self) -> Ints:
        """n of each synthesizer: int64[S]."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What synthesis reads of a batch of destination tracts.

    S synthesizers, one for each (destination block, segment) with workers; T destination tracts.

    Attributes
    ----------
    destination_tract : int64[T]
        Row of `tracts` of each destination tract, rising. Public: workplace counts are.
    destination : int64[S]
        Row of `blocks` of each synthesizer's workplace; synthesizers are sorted by it, then by segment.
    segment : int64[S]
        0..26.
    tract : int32[S]
        Position in `destination_tract`.
    worker_ptr : int64[S + 1]
        Each synthesizer's workers.
    worker_origin : int32[workers]
        Row of `blocks` of each worker's home. Confidential.
    """

    destination_tract: Ints
    destination: Ints
    segment: Ints
    tract: npt.NDArray[np.int32]
    worker_ptr: Ints
    worker_origin: npt.NDArray[np.int32]

    @property
    def count(self) -> Ints:
        """n of each synthesizer (public): int64[S]."""
        return np.diff(self.worker_ptr)

    @property
    def destination_ptr(self) -> Ints:
        """Synthesizers of each destination block: int64[D + 1]."""
        return destination_ptr(self.destination)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkplaceCounts:
    """Workers of every synthesizer of some destination tracts: all of it public.

    Attributes
    ----------
    destination_tract : int64[T]
        Rows of `tracts`, rising.
    destination : int64[S]
        Row of `blocks` of each synthesizer's workplace, rising.
    segment : int64[S]
        0..26.
    tract : int32[S]
        Position in `destination_tract`.
    count : int64[S]
        n of each synthesizer.
    in_order : bool
        Whether the rows were read by destination and segment, as every writer of ours leaves them.
    """

    destination_tract: Ints
    destination: Ints
    segment: Ints
    tract: npt.NDArray[np.int32]
    count: Ints
    in_order: bool = False

    @classmethod
    def of(cls, inputs: Inputs) -> WorkplaceCounts:
        """The public part of a batch."""
        return cls(
            destination_tract=inputs.destination_tract,
            destination=inputs.destination,
            segment=inputs.segment,
            tract=inputs.tract,
            count=inputs.count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Synthesizers in the order in which a store holds their rows, in little memory, since a nation has millions.

    Attributes
    ----------
    destination_tract : int64[T]
        As in `WorkplaceCounts`; so are the others.
    destination : int32[S]
    segment : int8[S]
    tract, count : int32[S]
    """

    destination_tract: Ints
    destination: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int8]
    tract: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]

    @classmethod
    def of(cls, counts: WorkplaceCounts) -> RowCounts | None:
        """The synthesizers of a batch; None if its rows were not in their order."""
        if not counts.in_order or int(counts.count.max(initial=0)) > np.iinfo(np.int32).max:
            return None
        return cls(
            destination_tract=counts.destination_tract,
            destination=counts.destination.astype(np.int32),
            segment=counts.segment.astype(np.int8),
            tract=counts.tract,
            count=counts.count.astype(np.int32),
        )

    def widen(self) -> WorkplaceCounts:
        """The same in the numbers that certifying takes."""
        return WorkplaceCounts(
            destination_tract=self.destination_tract,
            destination=self.destination.astype(np.int64),
            segment=self.segment.astype(np.int64),
            tract=self.tract,
            count=self.count.astype(np.int64),
            in_order=True,
        )


def destination_ptr(destination: Ints) -> Ints:
    """Offsets at which the destination block of sorted synthesizers changes, and their number: int64[D + 1]."""
    return np.append(np.flatnonzero(np.diff(destination, prepend=-1)), destination.size)


def read_inputs(store: Store, geography: Geography, workplaces: Workplaces, batch: int) -> Inputs:
    """Read the jobs of one batch of destination tracts.

    A release has the same tables with synthetic homes; `certify` reads it the same way.
    """
    jobs = _jobs(store, workplaces, batch, _COLUMNS)
    destination, segment, worker_ptr, worker_origin = synthesizers_of(jobs)
    destination_tract, tract = _tracts(geography, workplaces, batch, destination)
    return Inputs(
        destination_tract=destination_tract,
        destination=destination,
        segment=segment,
        tract=tract,
        worker_ptr=worker_ptr,
        worker_origin=worker_origin,
    )


def read_homes(store: Store, workplaces: Workplaces, batch: int, counts: RowCounts) -> Inputs | None:
    """Read the homes of one batch whose synthesizers are known in the order of the rows: two columns instead of six.

    Returns
    -------
    Inputs or None
        None if the homes of a synthesizer do not rise; then :func:`read_inputs` sorts the rows.
    """
    jobs = _jobs(store, workplaces, batch, ["origin_index", "count"])
    origin, count = np.asarray(jobs["origin_index"]), np.asarray(jobs["count"])
    if np.any(count != 1):
        origin = np.repeat(origin, count)
    worker_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts.count, dtype=np.int64)))
    if worker_ptr[-1] != origin.size or not _homes_rise(worker_ptr, origin):
        return None
    return Inputs(
        destination_tract=counts.destination_tract,
        destination=counts.destination.astype(np.int64),
        segment=counts.segment.astype(np.int64),
        tract=counts.tract,
        worker_ptr=worker_ptr,
        worker_origin=origin,
    )


def _homes_rise(worker_ptr: Ints, origin: npt.NDArray[np.int32]) -> bool:
    """Whether the homes of each synthesizer rise: they may only fall where one begins."""
    falls = origin[1:] < origin[:-1]
    begins = worker_ptr[(worker_ptr > 0) & (worker_ptr < origin.size)]
    falls[begins - 1] = False
    return not falls.any()


def read_counts(store: Store, geography: Geography, workplaces: Workplaces, batch: int) -> WorkplaceCounts:
    """The public part of one batch of destination tracts: as it was listed, or read without the homes."""
    known = listed_counts(geography, workplaces, batch)
    if known is not None:
        return known.widen()
    jobs = _jobs(store, workplaces, batch, PUBLIC_COLUMNS)
    runs = row_runs(np.asarray(jobs["destination_index"]), segment_bytes(jobs), np.asarray(jobs["count"]))
    if runs is None:
        return _counts_of_unsorted(jobs, geography, workplaces, batch)
    destination = runs.destination.astype(np.int64)
    destination_tract, tract = _tracts(geography, workplaces, batch, destination)
    return WorkplaceCounts(
        destination_tract=destination_tract,
        destination=destination,
        segment=runs.segment.astype(np.int64),
        tract=tract,
        count=runs.count.astype(np.int64),
        in_order=True,
    )


def listed_counts(geography: Geography, workplaces: Workplaces, batch: int) -> RowCounts | None:
    """The synthesizers of one batch, if they are listed."""
    listed = workplaces.synthesizers
    if listed is None:
        return None
    first, last = workplaces.tract_ptr[batch : batch + 2].tolist()
    destination_tract = workplaces.tract[first:last]
    ptr = geography.blocks.block_ptr
    rows = listed.within((int(ptr[destination_tract[0]]), int(ptr[destination_tract[-1] + 1])))
    return RowCounts(
        destination_tract=destination_tract,
        destination=listed.destination[rows],
        segment=listed.segment[rows],
        tract=_tracts(geography, workplaces, batch, listed.destination[rows])[1],
        count=listed.count[rows],
    )


def _counts_of_unsorted(
    jobs: Mapping[str, npt.NDArray[np.generic]], geography: Geography, workplaces: Workplaces, batch: int
) -> WorkplaceCounts:
    """Synthesizers of rows in any order."""
    synthesizer = _synthesizer_of(jobs)
    count = np.asarray(jobs["count"])
    in_order = not np.any(synthesizer[1:] < synthesizer[:-1])
    order = np.argsort(synthesizer, kind="stable")
    distinct, n_workers = _sum_by_synthesizer(synthesizer[order], count[order])
    destination = distinct // N_SEGMENTS
    destination_tract, tract = _tracts(geography, workplaces, batch, destination)
    return WorkplaceCounts(
        destination_tract=destination_tract,
        destination=destination,
        segment=distinct % N_SEGMENTS,
        tract=tract,
        count=n_workers,
        in_order=in_order,
    )


def _jobs(
    store: Store, workplaces: Workplaces, batch: int, columns: list[str]
) -> Mapping[str, npt.NDArray[np.generic]]:
    first, last = (int(workplaces.row_ptr[batch + end]) for end in (0, 1))
    return store.slice("jobs", first, last, columns)


def _tracts(
    geography: Geography, workplaces: Workplaces, batch: int, destination: npt.NDArray[np.integer]
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """The destination tracts of a batch, and the position of each synthesizer's."""
    destination_tract = workplaces.tract[workplaces.tract_ptr[batch] : workplaces.tract_ptr[batch + 1]]
    tract = np.searchsorted(destination_tract, geography.tract_of_block[destination])
    return destination_tract, tract.astype(np.int32)


def segment_of(jobs: Mapping[str, npt.ArrayLike] | pandas.DataFrame) -> npt.NDArray[np.int64]:
    """Segment 0..26 of every row of a `jobs` table."""
    columns = (np.asarray(jobs[name], dtype=np.int64) for name in ("age", "earnings", "industry"))
    return np.asarray(segment_code(*columns), dtype=np.int64)


def synthesizers_of(jobs: Mapping[str, npt.ArrayLike]) -> tuple[Ints, Ints, Ints, npt.NDArray[np.int32]]:
    """Synthesizers of some rows of `jobs`: destination, segment, worker_ptr and worker_origin as in `Inputs`."""
    # Sorted by (destination, segment, origin), so that the order of rows in the source files decides nothing.
    synthesizer = _synthesizer_of(jobs)
    origin, count = np.asarray(jobs["origin_index"]), np.asarray(jobs["count"])
    if not _rises(synthesizer, origin):
        order = np.lexsort((origin, synthesizer))
        synthesizer, origin, count = synthesizer[order], origin[order], count[order]
    distinct, n_workers = _sum_by_synthesizer(synthesizer, count)
    worker_ptr = np.concatenate(([0], np.cumsum(n_workers))).astype(np.int64)
    if np.any(count != 1):
        origin = np.repeat(origin, count)
    return distinct // N_SEGMENTS, distinct % N_SEGMENTS, worker_ptr, origin


def _synthesizer_of(jobs: Mapping[str, npt.ArrayLike]) -> Ints:
    """A number for the (destination, segment) of every row, in this order."""
    synthesizer = np.asarray(jobs["destination_index"], dtype=np.int64) * N_SEGMENTS
    synthesizer += segment_bytes(jobs)
    return synthesizer


def _sum_by_synthesizer(synthesizer: Ints, count: npt.NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Distinct synthesizers of sorted rows, and the workers of each."""
    if not synthesizer.size:
        return _NONE, _NONE
    start = np.flatnonzero(np.append(True, synthesizer[1:] != synthesizer[:-1]))
    return synthesizer[start], np.add.reduceat(count.astype(np.int64), start)


_NONE: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def _rises(synthesizer: npt.NDArray[np.int64], origin: npt.NDArray[np.int32]) -> bool:
    """Whether rows come by synthesizer, then by origin, as every writer of ours leaves them."""
    same = synthesizer[1:] == synthesizer[:-1]
    return bool(np.all((synthesizer[1:] > synthesizer[:-1]) | (same & (origin[1:] >= origin[:-1]))))
