"""A generated nation, as large as a real one: written as it is made, in little memory.

A rectangle of land with some hundred cities, divided into states, SuperPUMAs, PUMAs, counties, tracts and blocks,
rectangles within rectangles, so that all units nest. Workplaces are many and mostly small; homes follow gravity
with a long tail. The nation serves for measurements; the smaller countries look better on a map.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.nation.base_map import nation_base_map
from geodata.demo.nation.commutes import NearbyPull, draw_jobs, make_homes, make_pull
from geodata.demo.nation.gazetteer import NationGazetteer, make_gazetteer
from geodata.demo.nation.settlement import KM_PER_DEG, city_places
from geodata.demo.nation.sizes import ELSEWHERE, NATION, NationScale
from geodata.demo.nation.tables import (
    block_columns,
    cell_columns,
    elsewhere_block,
    layer_table,
    unit_tables,
)
from geodata.demo.nation.tract_grids import TractGrids, make_tract_grids, rectangles_wkb
from geodata.demo.nation.units import NationUnits, make_units
from geodata.demo.nation.workplaces import NationWorkplaces, job_weights, make_workplaces
from geodata.distance import KM_PER_MI
from geodata.in_order import in_order
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.schema import LAYER_LABELS
from geodata.store import StoreWriter, refuse_existing, writing_store
from geodata.table_stream import Columns

__all__ = ["NATION", "NationScale", "write_nation"]

_YEAR: Final = 2023
_TRACTS_AT_ONCE: Final = 1_000
_JOBS_AT_ONCE: Final = 1_000_000
_WITHIN: Final = 0.45  # mean distance between two places of a tract, relative to the root of its area


def write_nation(
    path: Path,
    *,
    seed: int,
    scale: NationScale = NATION,
    threads: int | None = None,
    progress: Progress = silent,
) -> JsonObject:
    """Generate a nation and write it as a dataset, byte for byte the same for the same scale and seed.

    Parameters
    ----------
    path : Path
        Where there is nothing yet.
    seed : int
        At least 0; decides everything.
    scale : NationScale
        How large.
    threads : int, optional
        Threads that generate; the result is the same for any number. All processors when None.
    progress : callable
        Called with (stage, done, total).

    Returns
    -------
    dict
        The facts of the manifest.

    Raises
    ------
    StoreError
        The path exists or cannot be written.
    """
    refuse_existing(path)
    progress("Dividing the land", 0, 1)
    units = make_units(scale, np.random.default_rng([seed, 0]))
    gazetteer = make_gazetteer(units, np.random.default_rng([seed, 1]))
    n_threads = threads or os.cpu_count() or 1
    with writing_store(path, "dataset") as writer, ThreadPoolExecutor(max_workers=n_threads) as pool:
        land = _write_blocks(writer, pool, units, gazetteer, scale, seed, progress)
        for name, table in unit_tables(units, gazetteer, land.centre_deg).items():
            writer.table(name, table)
        writer.table("layers", layer_table(land.n_groups, gazetteer))
        # The first places that a generator draws with the units' seed are those of the cities.
        cities = city_places(scale, np.random.default_rng([seed, 0]))
        rng = np.random.default_rng([seed, 4])
        for name, table in nation_base_map(scale, cities, units, gazetteer, land.centre_deg, rng).items():
            writer.table(name, table)
        with writer.stream("prior"):
            pass  # a nation has no flows, so the gravity prior is used
        n_elsewhere = _write_jobs(writer, pool, units, land, scale, seed, progress)
        progress("Writing", 0, 1)
        facts = _facts(scale, seed, gazetteer, int(land.n_groups.sum()), n_elsewhere)
        writer.facts(**facts)
    return facts


class _WrittenBlocks:
    """Facts about the blocks that are kept in memory after the blocks are written."""

    def __init__(self, units: NationUnits) -> None:
        self.people: list[Ints] = []
        self.weight: list[Floats] = []
        self.tract: list[Ints] = []
        self.centre_deg = np.empty((units.n_tracts, 2))
        self.n_groups = np.empty(units.n_tracts, np.int64)
        self.n_blocks = 0

    def add(self, grids: TractGrids, weight: Floats) -> None:
        """Remember the blocks of the next tracts."""
        first, end = int(grids.tract[0]), int(grids.tract[-1]) + 1
        within, place = grids.tract - first, grids.place_deg
        people = np.bincount(within, weights=grids.people)
        for axis in (0, 1):
            summed = np.bincount(within, weights=grids.people * place[:, axis])
            self.centre_deg[first:end, axis] = summed / people
        np.maximum.reduceat(
            grids.group, np.searchsorted(within, np.arange(end - first)), out=self.n_groups[first:end]
        )
        self.people.append(grids.people)
        self.weight.append(weight)
        self.tract.append(grids.tract.astype(np.int32))
        self.n_blocks += grids.tract.size


def _write_blocks(
    writer: StoreWriter,
    pool: Executor,
    units: NationUnits,
    gazetteer: NationGazetteer,
    scale: NationScale,
    seed: int,
    progress: Progress,
) -> _WrittenBlocks:
    """Write `blocks` and `cells`."""
    starts = range(0, units.n_tracts, _TRACTS_AT_ONCE)

    def make(start: int) -> tuple[TractGrids, Columns, pyarrow.Array, Floats]:
        rng = np.random.default_rng([seed, 2, start])
        grids = make_tract_grids(units, start, min(start + _TRACTS_AT_ONCE, units.n_tracts), scale, rng)
        columns = block_columns(grids, units, gazetteer)
        return grids, columns, rectangles_wkb(grids.box), job_weights(grids.tract, rng)

    land = _WrittenBlocks(units)
    with writer.stream("blocks") as blocks, writer.stream("cells") as cells:
        for done, (grids, columns, outlines, weight) in enumerate(in_order(pool, make, starts)):
            progress("Drawing blocks", done, len(starts))
            blocks.write(columns)
            cells.write(cell_columns(land.n_blocks, outlines))
            land.add(grids, weight)
        blocks.write(elsewhere_block(units))
    progress("Drawing blocks", len(starts), len(starts))
    return land


def _write_jobs(
    writer: StoreWriter,
    pool: Executor,
    units: NationUnits,
    land: _WrittenBlocks,
    scale: NationScale,
    seed: int,
    progress: Progress,
) -> int:
    """Write `jobs`, and count those of people from elsewhere."""
    tract_of_block = np.concatenate(land.tract)
    workplaces = make_workplaces(np.concatenate(land.weight), scale.n_jobs)
    work_tract = tract_of_block[workplaces.block].astype(np.int64)
    pull = _pull(units, land, tract_of_block)
    cuts = _cuts(work_tract, workplaces.n_jobs)

    def draw(part: int) -> Columns:
        rows = slice(cuts[part], cuts[part + 1])
        here = NationWorkplaces(block=workplaces.block[rows], n_jobs=workplaces.n_jobs[rows])
        return draw_jobs(pull, here, work_tract[rows], np.random.default_rng([seed, 3, part]))

    n_elsewhere = 0
    with writer.stream("jobs") as jobs:
        for done, columns in enumerate(in_order(pool, draw, range(len(cuts) - 1))):
            progress("Sending people to work", done, len(cuts) - 1)
            jobs.write(columns)
            n_elsewhere += int(columns["count"][columns["origin_index"] == land.n_blocks].sum())
    progress("Sending people to work", 1, 1)
    return n_elsewhere


def _pull(units: NationUnits, land: _WrittenBlocks, tract_of_block: Ints) -> NearbyPull:
    west, south, east, north = units.box["tract"].T
    km = KM_PER_DEG * np.sqrt((east - west) * (north - south) * np.cos(np.radians((south + north) / 2)))
    tract_ptr = np.searchsorted(tract_of_block, np.arange(units.n_tracts + 1))
    people = np.concatenate(land.people)
    return make_pull(make_homes(people, tract_ptr, land.centre_deg, _WITHIN * km / KM_PER_MI), units)


def _cuts(work_tract: Ints, n_jobs: Ints) -> list[int]:
    """Cut workplaces into parts of about equally many jobs, without dividing a tract."""
    starts = np.flatnonzero(np.diff(work_tract, prepend=-1))
    before = (np.cumsum(n_jobs) - n_jobs)[starts] // _JOBS_AT_ONCE
    return [*starts[np.diff(before, prepend=-1) != 0].tolist(), work_tract.size]


def _facts(
    scale: NationScale, seed: int, gazetteer: NationGazetteer, n_groups: int, n_elsewhere: int
) -> JsonObject:
    return {
        "title": f"{gazetteer.country}, a made-up country ({scale.size}, seed {seed})",
        "year": _YEAR,
        "job_type": "JT00",
        "vintage": {"blocks": "generated", "pumas": "generated"},
        "destination_states": gazetteer.ids["state"],
        "residents_only": [],
        "segments": "joint",
        "sources": [],
        "layers": [
            {"layer": "bgrp", "label": LAYER_LABELS["bgrp"], "column": "layer_bgrp", "n_units": n_groups}
        ],
        "n_jobs": scale.n_jobs,
        "elsewhere": {ELSEWHERE: n_elsewhere},
        "outflow": {},
        "notes": [
            f"Generated by `commutemap demo --size {scale.size} --seed {seed}`: no person, employer or place is real, "
            "and a state's code is not that of any real one.",
            "There are no public flows between its tracts, so the gravity prior is used.",
            f"PUMAs have at least {scale.puma_people:,} people and SuperPUMAs {scale.superpuma_people:,}.",
        ],
        # Nothing about a generated country is secret, and a key made from the seed makes its files repeatable.
        "commitment_key": sha256(f"commutemap demo {scale.size} {seed}".encode()).hexdigest(),
    }
