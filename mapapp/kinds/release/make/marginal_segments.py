"""Joint segments of a workplace from its public margins, for draws of whole blocks and tracts.

LODES has only margins, and import assigns joint segments pair by pair, so numbers of workers by joint segment depend on
where colleagues live. If all workers of a block are drawn together, homes need no segment: only the numbers of workers
by block and joint segment are needed, to deal out what was drawn. They are computed here from the block's margins
alone, which no home changes. So the promise then holds for the source as it came.

Source: docs/theory/method.md, section 7d, "Sources without joint segments".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas

from engine.parameters import Unit
from geodata.sources.segments import Ints, joint_counts
from geodata.store.schema import JOBS, N_SEGMENTS
from geodata.store.store import Store
from mapapp.kinds.base.inputs import segment_of

__all__ = ["add_joint_segments", "assigns_from_margins", "has_marginal_segments"]

_BANDS: Final = np.stack(np.unravel_index(np.arange(N_SEGMENTS), (3, 3, 3)), axis=1).astype(np.int8) + 1
"""Age, earnings, and industry of each joint segment, 1 to 3: int8[27, 3]."""


def assigns_from_margins(store: Store, units: tuple[Unit, ...]) -> bool:
    """Whether joint segments are computed from margins of workplaces, because larger units may be drawn.

    Parameters
    ----------
    store : Store
        A dataset or a release. One that does not say how it came by its segments keeps them.
    units : tuple of str
        That are drawn, or may be chosen.
    """
    return store.manifest.get("segments") == "assigned" and any(unit != "cell" for unit in units)


def add_joint_segments(store: Store) -> Store:
    """Return the store with joint segments computed from each workplace's margins; nothing on disk changes.

    Workers of a workplace get segments in the order of their homes, so that which home has which segment says nothing.

    Parameters
    ----------
    store : Store
        A dataset, or a release.
    """
    jobs = store.table("jobs", [*JOBS.columns])
    workplaces = _Workplaces.of(jobs, store.table("blocks", ["block_id"])["block_id"])
    order = np.lexsort((jobs["origin_index"], jobs["destination_index"]))
    count = jobs["count"].to_numpy()[order]
    origin = np.repeat(jobs["origin_index"].to_numpy()[order], count)
    place = np.repeat(np.arange(workplaces.block.size), workplaces.joint.sum(axis=1))
    segment = np.repeat(np.tile(np.arange(N_SEGMENTS), workplaces.block.size), workplaces.joint.ravel())
    key = (place * N_SEGMENTS + segment) * (int(origin.max(initial=0)) + 1) + origin
    distinct, n_jobs = np.unique(key, return_counts=True)
    synthesizer, home = np.divmod(distinct, int(origin.max(initial=0)) + 1)
    bands = _BANDS[synthesizer % N_SEGMENTS]
    columns = {
        "destination_index": workplaces.block[synthesizer // N_SEGMENTS],
        "origin_index": home,
        **dict(zip(("age", "earnings", "industry"), bands.T, strict=True)),
        "count": n_jobs,
    }
    return store.replace_table("jobs", pandas.DataFrame(columns).astype(JOBS.columns))


def has_marginal_segments(store: Store) -> bool:
    """Whether the numbers of workers by workplace and segment are those computed from margins."""
    jobs = store.table("jobs", [name for name in JOBS.columns if name != "origin_index"])
    workplaces = _Workplaces.of(jobs, store.table("blocks", ["block_id"])["block_id"])
    return bool(np.array_equal(workplaces.found, workplaces.joint))


@dataclass(frozen=True, slots=True)
class _Workplaces:
    """Workplaces with their workers by joint segment.

    Attributes
    ----------
    block : int64[D]
        Row of `blocks`, rising.
    found, joint : int64[D, 27]
        As the table has them, and as computed from its margins.
    """

    block: Ints
    found: Ints
    joint: Ints

    @classmethod
    def of(cls, jobs: pandas.DataFrame, block_id: pandas.Series) -> _Workplaces:
        """Count the workers of each workplace, and compute joint segments from the margins."""
        block, at = np.unique(jobs["destination_index"].to_numpy(np.int64), return_inverse=True)
        size = (block.size, N_SEGMENTS)
        counted = np.bincount(at * N_SEGMENTS + segment_of(jobs), jobs["count"], block.size * N_SEGMENTS)
        counts = counted.astype(np.int64).reshape(size)  # exact below 2**53
        cube = counts.reshape(-1, 3, 3, 3)
        age, earnings, industry = (cube.sum(axis=axes) for axes in ((2, 3), (1, 3), (1, 2)))
        turn = np.array([int(code[-4:]) for code in block_id.iloc[block]], dtype=np.int64)
        return cls(block, counts, joint_counts(age, earnings, industry, turn).reshape(size))
