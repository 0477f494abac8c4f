"""The public geography of a store as arrays, and which destination tracts are worked on together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.placement import BlockTable
from engine.tracts import OriginTracts
from geodata.elsewhere import division_numbers
from geodata.errors import StoreError
from geodata.store import Store

Ints = npt.NDArray[np.int64]

DEFAULT_BATCHES: Final = 16
_FEWEST_WORKERS: Final = 50_000
_MOST_WORKERS: Final = 1_000_000
_MOST_TRACTS: Final = 1_000


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
        Where the flows are the workers of an earlier release: which, as in `mapapp.publishing.last_release`.
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
    """

    tract: Ints
    n_workers: Ints
    tract_ptr: Ints
    row_ptr: Ints
    in_order: bool

    @property
    def n_batches(self) -> int:
        """B, the number of batches."""
        return self.tract_ptr.size - 1


def read_geography(store: Store) -> Geography:
    """Read the public tables of a dataset or release that synthesis uses."""
    blocks = store.table("blocks", ["tract_index", "population"])
    columns = ["lon_deg", "lat_deg", "puma_index", "superpuma_index", "population", "state_id", "elsewhere"]
    tracts = store.table("tracts", columns)
    division = division_numbers(tracts["state_id"])
    tract_of_block = blocks["tract_index"].to_numpy(np.int32)
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


def read_workplaces(store: Store, geography: Geography, *, n_batches: int = DEFAULT_BATCHES) -> Workplaces:
    """Count workers by destination tract, and divide the tracts into batches of about as many workers.

    How they are divided changes nothing in a release.

    Parameters
    ----------
    store : Store
    geography : Geography
        Of the same store.
    n_batches : int
        Batches wanted; fewer where they would be small, more where they would be large.

    Raises
    ------
    StoreError
        When the store holds no jobs.
    """
    workers = np.zeros(geography.tracts.n_tracts, dtype=np.int64)
    rows = np.zeros_like(workers)
    last, in_order = -1, True
    for part in store.batches("jobs", ["destination_index", "count"]):
        destination = part["destination_index"].to_numpy()
        if destination.size:
            in_order = in_order and bool(
                destination[0] >= last and np.all(destination[1:] >= destination[:-1])
            )
            last = int(destination[-1])
        _count_by_tract(geography.tract_of_block[destination], part["count"].to_numpy(), workers, rows)
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
    )


def _count_by_tract(tract: Ints, count: Ints, workers: Ints, rows: Ints) -> None:
    """Add a row group's workers and rows; runs of one tract are added up first."""
    if not tract.size:
        return
    start = np.flatnonzero(np.append(True, tract[1:] != tract[:-1]))
    np.add.at(workers, tract[start], np.add.reduceat(count.astype(np.int64), start))
    np.add.at(rows, tract[start], np.diff(np.append(start, tract.size)))


def _batches(workers: Ints, wanted: int) -> Ints:
    """Cut destination tracts where their workers and their number together fill a batch."""
    filled = np.cumsum(workers / wanted + 1.0 / _MOST_TRACTS)
    cut = np.flatnonzero(np.diff(np.floor(filled)) > 0) + 1
    return np.concatenate(([0], cut, [workers.size])).astype(np.int64)
