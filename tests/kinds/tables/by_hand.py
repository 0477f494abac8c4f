"""The decisions of small tables made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.suppression.rates import Rates
from mapapp.kinds.tables.make.counts import Ground
from mapapp.kinds.tables.make.nodes import Nodes, nodes_of
from mapapp.kinds.tables.make.prior import Planned
from mapapp.kinds.tables.make.spec import Counts, TableSpec


def by_hand(
    people: list[list[int]], totals: Any, *, remainders: bool = False, rate: tuple[int, int] = (1, 2)
) -> Nodes:
    """Nodes of a table with columns by earnings; cells without people are left out."""
    table = np.array(people, dtype=np.int64)
    spec = TableSpec(rows="county", columns=("earnings",), counts=Counts(kind="same-unit"), totals=totals)
    ground = Ground(
        row_of_block=np.arange(len(table)),
        row_ids=tuple(f"r{row}" for row in range(len(table))),
        row_names=tuple(f"Row {row}" for row in range(len(table))),
        column_ids=("1", "2", "3"),
        column_names=("low", "middle", "high"),
        home_of_block=np.zeros(0, dtype=np.int64),
        state_of_block=np.zeros(len(table), dtype=np.int64),
        lon_deg=np.zeros(len(table)),
        lat_deg=np.zeros(len(table)),
        work_blocks=np.ones(len(table), dtype=np.bool_),
    )
    row, column = np.nonzero(table)
    numerator = np.full(row.size, rate[0], dtype=np.int64)
    plan = Planned(
        spec=spec,
        ground=ground,
        row=row.astype(np.int64),
        column=column.astype(np.int64),
        people=table[row, column],
        rates=Rates(numerator=numerator, denominator=np.full(row.size, rate[1], dtype=np.int64)),
        smoothing=None,
    )
    return nodes_of(plan, [spec], [ground], remainders=remainders)
