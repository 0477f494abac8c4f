"""The places of workers, read from the points of a release, of which there are too many to keep."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow.parquet

from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.pick import Ends, Ints, Pick, Places, is_kept, mark_blocks
from mapapp.base import watch
from mapapp.question.fields import Side

_BLOCK: Final = {"work": "destination_index", "home": "origin_index"}
_SEGMENT: Final = "segment"
_DTYPE: Final = {_SEGMENT: np.int8}


class WorkerPlaces:
    """The places of a release's workers; safe to use from several threads at once."""

    def __init__(self, store: Store, attributes: Attributes, n_blocks: int) -> None:
        self._store = store
        self._attributes = attributes
        self._n_blocks = n_blocks

    def of(self, pick: Pick, end: Side) -> Places:
        """Return what `Flows.places` does."""
        lon_deg, lat_deg, segment = self._columns(pick, [f"{end}_lon_deg", f"{end}_lat_deg"])
        return {"lon_deg": lon_deg, "lat_deg": lat_deg, "segment": segment}

    def ends(self, pick: Pick) -> Ends:
        """Return what `Flows.ends` does."""
        return Ends(*self._columns(pick, Ends._fields[:-1]))

    def _columns(self, pick: Pick, names: Sequence[str]) -> list[npt.NDArray[Any]]:
        """Return columns of the picked workers who have places there, and after them their segments."""
        picked = {_BLOCK[side]: getattr(pick, side) for side in _BLOCK}
        marks = {
            name: mark_blocks(blocks, self._n_blocks) for name, blocks in picked.items() if blocks is not None
        }
        if len(pick.filters.segments) < N_SEGMENTS:
            marks[_SEGMENT] = is_kept(pick.filters).astype(np.bool_)
        values = self._attributes.marks(pick.filters)
        read = [*names, _SEGMENT]
        parts = {name: [np.empty(0, dtype=_DTYPE.get(name, np.float32))] for name in read}
        for first, stop, first_block, last_block in self._groups.tolist():
            watch.check()
            if pick.work is not None and not marks[_BLOCK["work"]][first_block : last_block + 1].any():
                continue
            rows = self._store.slice("points", first, stop, list({*marks, *read}))
            if values:  # row i of `records` belongs to row i of `points`
                rows |= self._store.slice("records", first, stop, list(values))
            is_in = ~np.any([np.isnan(rows[name]) for name in names], axis=0)
            for name, mark in (marks | values).items():
                is_in &= mark[rows[name]]
            for name in read:
                parts[name].append(rows[name][is_in].astype(parts[name][0].dtype, copy=False))
        return [np.concatenate(parts[name]) for name in read]

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
