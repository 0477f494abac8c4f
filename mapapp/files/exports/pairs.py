"""Jobs of a release by pair of blocks, with the margins that LODES publishes, in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from geodata.schema import N_SEGMENTS, segment_code
from geodata.store import Store
from mapapp.answers.counted import band_sums

Ints = npt.NDArray[np.int64]
_COLUMNS = ["destination_index", "origin_index", "age", "earnings", "industry", "count"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Some pairs of blocks with jobs, each once, ordered by workplace, then home.

    Attributes
    ----------
    work, home : int64[N]
        Rows of `blocks`.
    counts : int64[N, 10]
        Columns as `geodata.lodes.COUNTS`.
    """

    work: Ints
    home: Ints
    counts: Ints


def pairs_in_parts(store: Store) -> Iterator[tuple[Pairs, int, int]]:
    """Yield the pairs of a release in parts of whole workplaces, with the rows of `jobs` read so far and in total."""
    n_blocks = int(store.manifest["files"]["blocks.parquet"]["rows"])
    total, done = int(store.manifest["files"]["jobs.parquet"]["rows"]), 0
    for batch in store.batches("jobs", _COLUMNS):
        columns = {name: batch[name].to_numpy().astype(np.int64) for name in _COLUMNS}
        done += batch.num_rows
        yield _pairs(columns, n_blocks), done, total


def _pairs(jobs: dict[str, Ints], n_blocks: int) -> Pairs:
    key, row = np.unique(jobs["destination_index"] * n_blocks + jobs["origin_index"], return_inverse=True)
    segment = segment_code(jobs["age"], jobs["earnings"], jobs["industry"])
    cell = row.astype(np.int64) * N_SEGMENTS + segment
    summed = np.bincount(cell, weights=jobs["count"], minlength=key.size * N_SEGMENTS)  # exact below 2**53
    by_segment = summed.astype(np.int64).reshape(key.size, N_SEGMENTS)
    counts = np.column_stack([by_segment.sum(axis=1), band_sums(by_segment)])
    return Pairs(key // n_blocks, key % n_blocks, counts)
