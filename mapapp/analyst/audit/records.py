"""All workers of a dataset and of a release as coded records, for attackers and schemes that see everything at once.

Places are codes of a grid over the tracts with workplaces; homes beyond it are on its edge. Home tracts and counties
are in the order of their numbers.

Source: docs/audit.md, "Questions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mapapp.analyst.audit.questions import Areas, Target
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs

__all__ = ["CodedBlocks", "CodedRecords", "Records", "code_records"]

HOME_GRID: Final = 256
WORK_GRID: Final = 128

Blocks = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedBlocks:
    """Codes of every block: public.

    Attributes
    ----------
    grid : int32[blocks, 2]
        x and y on a grid of `HOME_GRID` cells a side over the tracts with workplaces.
    tract, county : int64[blocks]
    """

    grid: npt.NDArray[np.int32]
    tract: Ints
    county: Ints

    @classmethod
    def read(cls, data: AnalystData, areas: Areas) -> CodedBlocks:
        """Read them from a dataset."""
        geography = data.geography
        blocks = data.store.table("blocks", ["lon_deg", "lat_deg"])
        places = blocks[["lon_deg", "lat_deg"]].to_numpy(np.float64)
        inside = places[np.isin(geography.tract_of_block, data.tract)]
        low, high = inside.min(axis=0), inside.max(axis=0)
        cell = np.floor((places - low) / np.maximum(high - low, 1e-9) * HOME_GRID)
        tract = geography.tract_of_block.astype(np.int64)
        return cls(
            grid=np.clip(cell, 0, HOME_GRID - 1).astype(np.int32),
            tract=tract,
            county=areas.county_of_tract[tract],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Workers, synthesizer by synthesizer.

    Attributes
    ----------
    destination : int32[W]
        Row of `blocks` of the workplace.
    segment : int8[W]
    n : int32[W]
        Workers of the same workplace block and segment, this one included.
    home_block : int32[W]
        True homes. Confidential.
    released_block : int32[W]
        Synthetic homes.
    """

    destination: Blocks
    segment: npt.NDArray[np.int8]
    n: Blocks
    home_block: Blocks
    released_block: Blocks

    @classmethod
    def of(cls, inputs: Inputs, released_block: Blocks) -> Records:
        """The workers of some destination tracts, and their synthetic homes."""
        count = inputs.count
        return cls(
            destination=np.repeat(inputs.destination.astype(np.int32), count),
            segment=np.repeat(inputs.segment.astype(np.int8), count),
            n=np.repeat(count.astype(np.int32), count),
            home_block=inputs.worker_origin,
            released_block=released_block,
        )

    @classmethod
    def none(cls) -> Records:
        """No workers at all: what they are coded to is public."""
        no_blocks = np.empty(0, np.int32)
        return cls(
            destination=no_blocks,
            segment=np.empty(0, np.int8),
            n=no_blocks,
            home_block=no_blocks,
            released_block=no_blocks,
        )

    @classmethod
    def join(cls, parts: Sequence[Records]) -> Records:
        """Parts one after the other."""
        return cls(
            destination=np.concatenate([part.destination for part in parts]),
            segment=np.concatenate([part.segment for part in parts]),
            n=np.concatenate([part.n for part in parts]),
            home_block=np.concatenate([part.home_block for part in parts]),
            released_block=np.concatenate([part.released_block for part in parts]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRecords:
    """Records as a scheme or an attacker takes them.

    Attributes
    ----------
    names : tuple of str
        Quasi-identifiers, one per column of `codes`.
    codes : int64[W, d]
    sizes : int64[d]
    sensitive : int64[W]
    n_values : int
    """

    names: tuple[str, ...]
    codes: Ints
    sizes: Ints
    sensitive: Ints
    n_values: int


_Columns = dict[str, tuple[npt.NDArray[np.integer], int]]
"""Codes of each quasi-identifier, and how many codes it has."""


def code_records(target: Target, records: Records, blocks: CodedBlocks, *, released: bool) -> CodedRecords:
    """Code the true or the synthetic workers for one question; home points have no code that all tracts share."""
    home = records.released_block if released else records.home_block
    work, at = blocks.grid[records.destination] // (HOME_GRID // WORK_GRID), blocks.grid[home]
    workplace: _Columns = {"workplace x": (work[:, 0], WORK_GRID), "workplace y": (work[:, 1], WORK_GRID)}
    bands = _bands(records)
    if target in ("home tract", "home county"):
        unit = blocks.tract if target == "home tract" else blocks.county
        return _records(workplace | bands, unit[home], int(unit.max()) + 1)
    sensitive, n_values = bands.pop(target)
    homes: _Columns = {"home x": (at[:, 0], HOME_GRID), "home y": (at[:, 1], HOME_GRID)}
    return _records(homes | workplace | bands, sensitive, n_values)


def _bands(records: Records) -> _Columns:
    steps = {"age": 9, "earnings": 3, "industry": 1}
    return {name: (records.segment // step % 3, 3) for name, step in steps.items()}


def _records(columns: _Columns, sensitive: npt.NDArray[np.integer], n_values: int) -> CodedRecords:
    return CodedRecords(
        names=tuple(columns),
        codes=np.column_stack([code for code, _ in columns.values()]).astype(np.int64),
        sizes=np.array([size for _, size in columns.values()]),
        sensitive=sensitive.astype(np.int64),
        n_values=n_values,
    )
