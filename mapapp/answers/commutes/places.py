"""The places of workers, read from the points of a release, of which there are too many to keep."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import pyarrow.parquet

from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.pick import Ints, Pick, Places, is_kept, mark_blocks
from mapapp.base import watch
from mapapp.question.fields import Side

_BLOCK: Final = {"work": "destination_index", "home": "origin_index"}
_PLACE: Final = ("lon_deg", "lat_deg")


class WorkerPlaces:
    """The places of a release's workers; safe to use from several threads at once."""

    def __init__(self, store: Store, attributes: Attributes, n_blocks: int) -> None:
        self._store = store
        self._attributes = attributes
        self._n_blocks = n_blocks

    def of(self, pick: Pick, end: Side) -> Places:
        """Return what `Flows.places` does."""
        picked = {_BLOCK[side]: getattr(pick, side) for side in _BLOCK}
        marks = {
            name: mark_blocks(blocks, self._n_blocks) for name, blocks in picked.items() if blocks is not None
        }
        if len(pick.filters.segments) < N_SEGMENTS:
            marks["segment"] = is_kept(pick.filters).astype(np.bool_)
        values = self._attributes.marks(pick.filters)
        names = [f"{end}_{name}" for name in _PLACE]
        columns = {name: [np.empty(0, dtype=np.float32)] for name in _PLACE}
        for first, stop, first_block, last_block in self._groups.tolist():
            watch.check()
            if pick.work is not None and not marks["destination_index"][first_block : last_block + 1].any():
                continue
            rows = self._store.slice("points", first, stop, [*marks, *names])
            if values:  # row i of `records` belongs to row i of `points`
                rows |= self._store.slice("records", first, stop, list(values))
            is_in = ~np.isnan(rows[names[0]])
            for name, mark in (marks | values).items():
                is_in &= mark[rows[name]]
            for name, column in zip(columns, names, strict=True):
                columns[name].append(rows[column][is_in].astype(np.float32, copy=False))
        return {name: np.concatenate(parts) for name, parts in columns.items()}

    @cached_property
    def _groups(self) -> Ints:
        """First row, end, first and last workplace block of each row group of `points`: int64[groups, 4]."""
        facts = pyarrow.parquet.read_metadata(self._store.file("points"))
        column = facts.schema.names.index(_BLOCK["work"])
        groups = [facts.row_group(number) for number in range(facts.num_row_groups)]
        ends = np.cumsum([0, *(group.num_rows for group in groups)])
        blocks = [group.column(column).statistics for group in groups]
        return np.array(
            [
                (first, stop, block.min, block.max)
                for first, stop, block in zip(ends[:-1], ends[1:], blocks, strict=True)
            ],
            dtype=np.int64,
        ).reshape(-1, 4)
