"""From draws to the tables of a release. Everything here is post-processing of synthetic workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas

from engine.streams import SecretKey, Stage, uniforms
from geodata.points import CellPoints
from geodata.schema import PUBLIC_TABLES
from geodata.store import Store, StoreWriter
from mapapp.pipeline.inputs import Inputs, Ints

Singles = npt.NDArray[np.float32]

_UNIFORMS_PER_WORKER = 6
_HOME, _WORK = slice(0, 3), slice(3, 6)

PUBLIC_FACTS = ("title", "year", "job_type", "vintage", "destination_states", "layers")
"""What a release's manifest repeats of its dataset's: nothing that was counted from homes."""


def jobs_table(inputs: Inputs, home_block: Ints) -> pandas.DataFrame:
    """Count synthetic workers by destination, origin and segment: the release's `jobs`."""
    workers = np.repeat(np.arange(inputs.destination.size), inputs.count)
    n_blocks = len(inputs.blocks)
    synthesizer, origin, count = _counted(workers, home_block, n_blocks)
    segment = inputs.segment[synthesizer]
    return pandas.DataFrame(
        {
            "destination_index": inputs.destination[synthesizer].astype(np.int32),
            "origin_index": origin.astype(np.int32),
            "age": (segment // 9 + 1).astype(np.int8),
            "earnings": (segment // 3 % 3 + 1).astype(np.int8),
            "industry": (segment % 3 + 1).astype(np.int8),
            "count": count.astype(np.int32),
        }
    )


def points_table(
    key: SecretKey, inputs: Inputs, home_block: Ints, cells: Any, *, threads: int = 1
) -> pandas.DataFrame:
    """Draw one home and one workplace point for every synthetic worker: the release's `points`."""
    drawn = _uniforms(key, inputs, threads)
    work_block = np.repeat(inputs.destination, inputs.count)
    places = CellPoints(cells, n_blocks=len(inputs.blocks), used=np.union1d(work_block, home_block))
    home_lon, home_lat = places.draw(home_block, *drawn[:, _HOME].T)
    work_lon, work_lat = places.draw(work_block, *drawn[:, _WORK].T)
    return pandas.DataFrame(
        {
            "destination_index": work_block.astype(np.int32),
            "origin_index": home_block.astype(np.int32),
            "segment": np.repeat(inputs.segment, inputs.count).astype(np.int8),
            "home_lon_deg": home_lon,
            "home_lat_deg": home_lat,
            "work_lon_deg": work_lon,
            "work_lat_deg": work_lat,
        }
    )


def work_points(key: SecretKey, inputs: Inputs, cells: Any) -> tuple[Singles, Singles]:
    """Only the workplace points, lon and lat, as `points_table` draws them."""
    work_block = np.repeat(inputs.destination, inputs.count)
    places = CellPoints(cells, n_blocks=len(inputs.blocks), used=np.unique(work_block))
    return places.draw(work_block, *_uniforms(key, inputs, 1)[:, _WORK].T)


def _uniforms(key: SecretKey, inputs: Inputs, threads: int) -> npt.NDArray[np.float64]:
    """Six numbers a worker, from the stream of its (destination, segment)."""
    count = inputs.count * _UNIFORMS_PER_WORKER
    _, drawn = uniforms(key, Stage.POINT, inputs.destination, inputs.segment, count, threads=threads)
    return drawn.reshape(-1, _UNIFORMS_PER_WORKER)


def copy_public_tables(dataset: Store, writer: StoreWriter) -> None:
    """Copy the geography and the public prior of a dataset into a release, byte for byte."""
    for table in PUBLIC_TABLES:
        writer.copy_table(dataset, table.name)


def public_facts(dataset: Store) -> dict[str, Any]:
    """Facts of the dataset's manifest that a release may repeat."""
    return {name: dataset.manifest[name] for name in PUBLIC_FACTS if name in dataset.manifest}


def _counted(
    synthesizer: npt.NDArray[np.int64], block: Ints, n_blocks: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    pair, count = np.unique(synthesizer * n_blocks + block, return_counts=True)
    return pair // n_blocks, pair % n_blocks, count
