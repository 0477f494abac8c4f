"""Published characteristics of a generated country: WAC and RAC files whose sums are those of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.characteristic_groups import (
    BANDS,
    ENDS,
    FILE_KINDS,
    GROUPS,
    SEGMENTS,
    TOTAL,
    CharacteristicGroup,
    End,
)
from geodata.store.schema import CHARACTERISTIC_CODES
from geodata.store.store import Store

_ATTRIBUTE: Final = {"sector": "naics_sector"}
"""Attribute of the demo's workers that is a group's, where their names differ."""
_POSITION: Final[dict[End, str]] = {"work": "destination_index", "home": "origin_index"}
_FIRST_STATE: Final = 81


def write_characteristics(dataset: Store, folder: Path) -> list[Path]:
    """Write the files of all workers and of every segment: WAC of the states with workplaces, RAC of all.

    Parameters
    ----------
    dataset : Store
        Made by `write_demo`, with worker records.
    folder : Path
        Of the new files, which are gzipped CSV with the layout of LODES 7.5.
    """
    workers = dataset.table("workers")
    blocks = dataset.table("blocks", ["block_id", "state_id", "elsewhere"])
    facts, written = dataset.manifest, []
    year, job_type = int(facts["year"]), str(facts["job_type"])
    for end in ENDS:
        states = sorted(set(blocks.loc[~blocks["elsewhere"], "state_id"]))
        states = [state for state in states if end == "home" or state in facts["destination_states"]]
        groups = [group for group in GROUPS if not group.why_not_published(end, year, job_type)]
        for segment in SEGMENTS:
            kept = workers
            if segment in BANDS:
                band = BANDS[segment]
                kept = workers[workers[band.characteristic] == band.band]
            counts = _counts(kept, kept[_POSITION[end]].to_numpy(), groups, len(blocks))
            for state in states:
                rows = np.flatnonzero((blocks["state_id"] == state) & (counts[:, 0] > 0))
                name = f"{postal_of(state)}_{FILE_KINDS[end].lower()}_{segment}_{job_type}_{year}.csv.gz"
                _write(folder / name, end, blocks["block_id"].to_numpy(dtype=object)[rows], counts[rows])
                written.append(folder / name)
    return written


def postal_of(state_id: str) -> str:
    """Abbreviation of a made-up state, which no state of the United States has."""
    return f"x{chr(ord('a') + int(state_id) - _FIRST_STATE)}"


def _counts(
    workers: pandas.DataFrame,
    block: npt.NDArray[np.int32],
    groups: list[CharacteristicGroup],
    n_blocks: int,
) -> npt.NDArray[np.int64]:
    """Count workers by block and code: int64[blocks, codes]."""
    counts = np.zeros((n_blocks, len(CHARACTERISTIC_CODES)), dtype=np.int64)
    counts[:, CHARACTERISTIC_CODES.index(TOTAL)] = np.bincount(block, minlength=n_blocks)
    for group in groups:
        for code, is_in in _members(group, workers):
            here = np.bincount(block[is_in], minlength=n_blocks)
            counts[:, CHARACTERISTIC_CODES.index(code)] = here
    return counts


def _members(
    group: CharacteristicGroup, workers: pandas.DataFrame
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Yield each code of a group, and which workers it counts; a group that the demo does not draw is derived."""
    name = _ATTRIBUTE.get(group.name, group.name)
    if name not in workers:  # firm age: the larger, the older
        name = "firm_size"
    value = workers[name].to_numpy()
    first = 1 if name in ("age", "earnings") else 0
    for place, code in enumerate(group.codes):
        yield code, value == place + first


def _write(path: Path, end: End, block: npt.NDArray[np.object_], counts: npt.NDArray[np.int64]) -> None:
    work_only = [code for group in GROUPS if group.work_only for code in group.codes]
    columns = [code for code in CHARACTERISTIC_CODES if end == "work" or code not in work_only]
    table = pandas.DataFrame(counts, columns=list(CHARACTERISTIC_CODES))[columns]
    table.insert(0, f"{end[0]}_geocode", block)
    table["createdate"] = "20240101"
    table.to_csv(path, index=False, lineterminator="\n", compression={"method": "gzip", "mtime": 0})
