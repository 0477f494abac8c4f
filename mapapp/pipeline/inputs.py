"""The dataset as arrays: who works where, in the order in which everything afterwards counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import StoreError
from geodata.schema import N_SEGMENTS, TRACTS, segment_code
from geodata.store import Store

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What synthesis reads from a dataset.

    S synthesizers, one for each (destination block, segment) with workers; T destination tracts.

    Attributes
    ----------
    blocks, tracts : DataFrame
        The public geography, in the order of the store.
    prior : DataFrame
        Public tract flows; empty where the dataset has none.
    destination_tract : int64[T]
        Row of `tracts` of each tract with workplaces, ascending. Public: workplace counts are.
    destination : int64[S]
        Row of `blocks` of each synthesizer's workplace; synthesizers are sorted by it, then by segment.
    segment : int64[S]
        0..26.
    tract : int32[S]
        Position in `destination_tract`.
    worker_ptr : int64[S + 1]
        Each synthesizer's workers.
    worker_origin : int64[workers]
        Row of `blocks` of each worker's home. Confidential.
    """

    blocks: pandas.DataFrame
    tracts: pandas.DataFrame
    prior: pandas.DataFrame
    destination_tract: Ints
    destination: Ints
    segment: Ints
    tract: npt.NDArray[np.int32]
    worker_ptr: Ints
    worker_origin: Ints

    @property
    def count(self) -> Ints:
        """n of each synthesizer (public): int64[S]."""
        return np.diff(self.worker_ptr)

    @property
    def tract_of_block(self) -> Ints:
        """Row of `tracts` of every block: int64[blocks]."""
        return np.asarray(self.blocks["tract_index"], dtype=np.int64)


def read_inputs(dataset: Store) -> Inputs:
    """Read a dataset's tables into the arrays of synthesis.

    A release has the same tables with synthetic homes; `certify` reads it the same way.

    Raises
    ------
    StoreError
        When the dataset holds no jobs.
    """
    blocks = dataset.table("blocks", ["block_id", "tract_index", "population", "elsewhere"])
    tracts = dataset.table("tracts", list(TRACTS.columns))
    jobs = dataset.table("jobs")
    if jobs.empty:
        raise StoreError(f"{dataset.path}: no jobs in it, so there is nothing to synthesize; import OD files")
    tract_of_block = blocks["tract_index"].to_numpy(np.int64)
    destination, segment, worker_ptr, worker_origin = _synthesizers(jobs)
    destination_tract, tract = np.unique(tract_of_block[destination], return_inverse=True)
    return Inputs(
        blocks=blocks,
        tracts=tracts,
        prior=dataset.table("prior"),
        destination_tract=destination_tract,
        destination=destination,
        segment=segment,
        tract=tract.astype(np.int32),
        worker_ptr=worker_ptr,
        worker_origin=worker_origin,
    )


def segment_of(jobs: pandas.DataFrame) -> Ints:
    """Segment 0..26 of every row of a `jobs` table."""
    columns = (jobs[name].to_numpy(np.int64) for name in ("age", "earnings", "industry"))
    return np.asarray(segment_code(*columns), dtype=np.int64)


def _synthesizers(jobs: pandas.DataFrame) -> tuple[Ints, Ints, Ints, Ints]:
    # Sorted by (destination, segment, origin), so that the order of rows in the source files decides nothing.
    synthesizer = jobs["destination_index"].to_numpy(np.int64) * N_SEGMENTS + segment_of(jobs)
    origin = jobs["origin_index"].to_numpy(np.int64)
    order = np.lexsort((origin, synthesizer))
    count = jobs["count"].to_numpy(np.int64)[order]
    workers = np.repeat(synthesizer[order], count)
    distinct, first = np.unique(workers, return_index=True)
    worker_ptr = np.append(first, workers.size).astype(np.int64)
    return distinct // N_SEGMENTS, distinct % N_SEGMENTS, worker_ptr, np.repeat(origin[order], count)
