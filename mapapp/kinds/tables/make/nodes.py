"""The decisions of tables of the same jobs in order: sums above the cells, the cells, and the remainders of rows.

Every sum is a set of cells, and two sets are nested or have nothing in common; so all tables of the same jobs share one
state (docs/theory/suppressed-tables.md, "Sums"). A coarser table is a sum over the cells of the finest one. Sums come
first, coarsest first; then the cells, row by row; then the remainders, each of which is decided as the total of its
row. Tables of jobs that have none in common have a state each (:mod:`mapapp.kinds.tables.make.forest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp

from engine.suppression.sum_tree import SumTree
from mapapp.base.errors import UsageError
from mapapp.kinds.tables.make.counts import Ground
from mapapp.kinds.tables.make.prior import Planned
from mapapp.kinds.tables.make.spec import TableSpec

__all__ = ["Nodes", "Sums", "entry_name", "fill_in", "finest_of", "nodes_of"]

Ints = npt.NDArray[np.int64]

_CONTRADICTION: Final = "released sums contradict each other; do not use this table"


class Sums(NamedTuple):
    """Sums over cells of the finest table, all of one kind.

    Attributes
    ----------
    table : int
        Position of the table that they belong to.
    kind : str
        As in the store: "cell" of a coarser table, "row_total", "column_total", or "remainder".
    row, column : int64[S]
        Of each sum, in its own table; -1 if it has none.
    of_cell : int64[C]
        The sum that each cell belongs to; -1 for none.
    """

    table: int
    kind: str
    row: Ints
    column: Ints
    of_cell: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nodes:
    """All decisions of tables of the same jobs, in order.

    Attributes
    ----------
    plan : Planned
        The cells of the finest table.
    table : int
        Its position.
    grounds : tuple of Ground
        Of every table of the publication.
    before, after : tuple of Sums
        Decided before and after the cells.
    parent : int64[N]
        The smallest sum that contains each node, -1 for none.
    """

    plan: Planned
    table: int
    grounds: tuple[Ground, ...]
    before: tuple[Sums, ...]
    after: tuple[Sums, ...]
    parent: Ints

    def __len__(self) -> int:
        """Number of decisions, N."""
        return int(self.parent.size)

    @property
    def cells(self) -> slice:
        """Where the cells are among all decisions."""
        first = sum(sums.row.size for sums in self.before)
        return slice(first, first + self.plan.n_cells)

    @property
    def is_flat(self) -> bool:
        """Whether there are cells alone, which are independent of each other."""
        return not self.before and not self.after

    @property
    def is_two_way(self) -> bool:
        """Whether there are totals of both directions, which are not nested."""
        return self.plan.spec.totals == "both"

    def table_of(self, node: int) -> int:
        """Return the position of the table that a decision belongs to."""
        all_sums = (*self.before, *self.after)
        for sums, start in zip(all_sums, self.starts(), strict=True):
            if start <= node < start + sums.row.size:
                return sums.table
        return self.table

    def starts(self) -> list[int]:
        """Return where each of `before`, then each of `after`, begins among all decisions."""
        ahead = np.cumsum([0, *(sums.row.size for sums in self.before)])[:-1]
        behind = self.cells.stop + np.cumsum([0, *(sums.row.size for sums in self.after)])[:-1]
        return [*ahead.tolist(), *behind.tolist()]

    def tree(self) -> SumTree:
        """Return the nodes as the engine takes them: the cells hold the people."""
        holds = np.zeros(len(self), dtype=np.int64)
        holds[self.cells] = 1
        return SumTree(
            parent=self.parent,
            type_ptr=np.append(0, np.cumsum(holds)),
            type_people=self.plan.people,
            type_rates=self.plan.rates,
        )

    def sum_cells(self, of_cells: Ints) -> Ints:
        """Sum numbers of the cells to every node."""
        parts = [_sum_cells(sums, of_cells) for sums in self.before]
        return np.concatenate([*parts, of_cells, *(_sum_cells(sums, of_cells) for sums in self.after)])


def nodes_of(
    plan: Planned,
    specs: Sequence[TableSpec],
    grounds: Sequence[Ground],
    *,
    remainders: bool,
    tables: Sequence[int] | None = None,
) -> Nodes:
    """Put all decisions in order.

    Parameters
    ----------
    plan : Planned
        The cells of the finest table.
    specs, grounds : sequence of TableSpec, Ground
        All tables.
    remainders : bool
        Whether the union of a row's suppressed cells is decided after the cells.
    tables : sequence of int, optional
        Positions of the tables of these jobs, if others are published with them.

    Raises
    ------
    UsageError
        A table is not a sum over the cells of the finest one, or two sums overlap.
    """
    finest = specs.index(plan.spec)
    places = range(len(specs)) if tables is None else tables
    coarser = [_coarser(plan, specs, grounds[place], place) for place in places if place != finest]
    if plan.spec.totals == "both" and not coarser:
        return _two_way(plan, finest, grounds)
    before = [*coarser, *_totals(plan, finest)]
    before.sort(key=lambda sums: sums.row.size)
    after = [_row_sums(plan, finest, "remainder")] if remainders else []
    place_of = np.cumsum([0, *(sums.row.size for sums in before)])
    n_before = int(place_of[-1])
    parents: list[Ints] = []
    above = np.full(plan.n_cells, -1, dtype=np.int64)
    for sums, first in zip(before, place_of[:-1].tolist(), strict=True):
        parents.append(_parent_of(sums, above, specs, [*zip(place_of.tolist(), before, strict=False)]))
        above = np.where(sums.of_cell >= 0, first + sums.of_cell, above)
    for sums in after:
        parents.append(np.empty(0, dtype=np.int64))
        above = n_before + plan.n_cells + sums.of_cell
    tail = [np.full(sums.row.size, -1, dtype=np.int64) for sums in after]
    return Nodes(
        plan=plan,
        table=finest,
        grounds=tuple(grounds),
        before=tuple(before),
        after=tuple(after),
        parent=np.concatenate([*parents, above, *tail]),
    )


def finest_of(tables: Sequence[int], specs: Sequence[TableSpec], grounds: Sequence[Ground]) -> int:
    """Return the position of the table with the most cells, of some tables of the same jobs."""
    return max(tables, key=lambda place: (len(specs[place].columns), grounds[place].shape[0], -place))


def entry_name(specs: Sequence[TableSpec], table: int) -> str:
    """Return how messages name one of several tables."""
    return f"[[table]] {table + 1} ({specs[table].shown_title})"


def fill_in(nodes: Nodes, released: npt.NDArray[np.bool_], values: Ints) -> Ints:
    """Return some counts of the cells that agree with all released sums, and their sums: int64[N].

    Where the released sums leave one value only, it is that value. The engine's suppressor needs whole counts; given
    these instead of the real ones, it must decide the same.

    Parameters
    ----------
    nodes : Nodes
    released : bool[N]
    values : int64[N]
        Read where released only.

    Raises
    ------
    UsageError
        Released sums contradict each other.
    """
    if nodes.is_two_way:
        return nodes.sum_cells(_fill_in_two_way(nodes, released, values))
    people = nodes.plan.people
    counts = np.where(released[nodes.cells], values[nodes.cells], 0)
    is_open = ~released[nodes.cells]
    starts = nodes.starts()
    smallest_first = [*zip(nodes.before, starts, strict=False)][::-1]
    for sums, start in [*zip(nodes.after, starts[len(nodes.before) :], strict=True), *smallest_first]:
        order = np.argsort(sums.of_cell, kind="stable")
        ptr = np.searchsorted(sums.of_cell[order], np.arange(sums.row.size + 1))
        for number in np.flatnonzero(released[start : start + sums.row.size]).tolist():
            cells = order[ptr[number] : ptr[number + 1]]
            left = int(values[start + number]) - int(counts[cells].sum())
            for cell in cells[is_open[cells]].tolist():
                counts[cell] = min(max(left, 0), int(people[cell]))
                left -= int(counts[cell])
            if left:
                raise UsageError(_CONTRADICTION)
            is_open[cells] = False
    return nodes.sum_cells(counts)


def _fill_in_two_way(nodes: Nodes, released: npt.NDArray[np.bool_], values: Ints) -> Ints:
    """Whole counts of the cells that agree with released cells and totals of both directions."""
    cells, n_cells = nodes.cells, nodes.plan.n_cells
    membership = np.concatenate(
        [sums.of_cell == np.arange(sums.row.size)[:, None] for sums in nodes.before]
    ).astype(np.float64)
    known = released[: cells.start]
    low = np.where(released[cells], values[cells], 0)
    high = np.where(released[cells], values[cells], nodes.plan.people)
    constraints = []
    if known.any():
        sums = values[: cells.start][known]
        constraints.append(LinearConstraint(membership[known], sums, sums))
    solution = milp(
        np.zeros(n_cells), integrality=np.ones(n_cells), bounds=Bounds(low, high), constraints=constraints
    )
    if solution.x is None:
        raise UsageError(_CONTRADICTION)
    return np.asarray(np.round(solution.x), dtype=np.int64)


def _sum_cells(sums: Sums, of_cells: Ints) -> Ints:
    in_sum = sums.of_cell >= 0
    total = np.zeros(sums.row.size, dtype=np.int64)
    np.add.at(total, sums.of_cell[in_sum], of_cells[in_sum])
    return total


def _totals(plan: Planned, table: int) -> list[Sums]:
    if plan.spec.totals == "rows":
        return [_row_sums(plan, table, "row_total")]
    return [_column_sums(plan, table)] if plan.spec.totals == "columns" else []


def _two_way(plan: Planned, table: int, grounds: Sequence[Ground]) -> Nodes:
    """Totals of both directions, which overlap: none is part of another."""
    before = (_row_sums(plan, table, "row_total"), _column_sums(plan, table))
    n_nodes = plan.n_cells + sum(sums.row.size for sums in before)
    return Nodes(
        plan=plan,
        table=table,
        grounds=tuple(grounds),
        before=before,
        after=(),
        parent=np.full(n_nodes, -1, dtype=np.int64),
    )


def _column_sums(plan: Planned, table: int) -> Sums:
    column, of_cell = np.unique(plan.column, return_inverse=True)
    none = np.full(column.size, -1, dtype=np.int64)
    return Sums(table, "column_total", none, column, of_cell.astype(np.int64))


def _row_sums(plan: Planned, table: int, kind: str) -> Sums:
    row, of_cell = np.unique(plan.row, return_inverse=True)
    return Sums(table, kind, row, np.full(row.size, -1, dtype=np.int64), of_cell.astype(np.int64))


def _parent_of(
    sums: Sums, above: Ints, specs: Sequence[TableSpec], starts: Sequence[tuple[int, Sums]]
) -> Ints:
    """Parents of some sums, given the parents of their cells so far; all cells of a sum must share one."""
    parent = np.full(sums.row.size, -2, dtype=np.int64)
    for cell, number in enumerate(sums.of_cell.tolist()):
        if number < 0:
            continue
        if parent[number] not in (-2, above[cell]):
            crossed = max(int(parent[number]), int(above[cell]))
            overlapped = next(earlier for start, earlier in reversed(starts) if start <= crossed)
            what, overlapped_name = (entry_name(specs, table) for table in (sums.table, overlapped.table))
            raise UsageError(
                f"the sums of {what} overlap with those of {overlapped_name} "
                "without being parts of them; tables of the same jobs must refine each other, such as county by "
                "industry and town by industry and earnings"
            )
        parent[number] = above[cell]
    return np.maximum(parent, -1)


def _coarser(plan: Planned, specs: Sequence[TableSpec], ground: Ground, table: int) -> Sums:
    """The cells of a coarser table as sums over those of the finest one."""
    spec, finest = specs[table], specs.index(plan.spec)
    what, finest_name = entry_name(specs, table), entry_name(specs, finest)
    same = spec.counts == plan.spec.counts and (
        spec.counts.kind != "same-unit" or spec.rows == plan.spec.rows
    )
    if spec.flows or plan.spec.flows or not same or spec.totals != "none" or plan.spec.totals != "none":
        raise UsageError(
            f"{what} does not refine {finest_name}, nor the other way round: tables of the same jobs must count "
            "the same workers, without flows or totals; make one of them, or give them jobs that have none in common"
        )
    if not set(spec.columns) <= set(plan.spec.columns):
        raise UsageError(
            f"{what} has columns that {finest_name} lacks; tables of the same jobs must refine each other"
        )
    row_of = _row_within(plan.ground, ground, np.unique(plan.row), f"{what} is not refined by {finest_name}")
    column_of = _column_within(plan.spec.columns, spec.columns)
    row, column = row_of[plan.row], column_of[plan.column]
    n_columns = ground.shape[1]
    key, of_cell = np.unique(row * n_columns + column, return_inverse=True)
    return Sums(table, "cell", key // n_columns, key % n_columns, of_cell.astype(np.int64))


def _row_within(fine: Ground, coarse: Ground, rows: Ints, what: str) -> Ints:
    """Row of the coarser table that holds each row of the finest one, by all of its blocks."""
    coarse_row = np.full(fine.shape[0], -1, dtype=np.int64)
    inside = (fine.row_of_block >= 0) & fine.work_blocks
    pairs = np.unique(np.stack([fine.row_of_block[inside], coarse.row_of_block[inside]]), axis=1)
    rows_seen, times = np.unique(pairs[0], return_counts=True)
    split = np.intersect1d(rows_seen[times > 1], rows)
    outside = np.intersect1d(pairs[0][pairs[1] < 0], rows)
    if split.size or outside.size:
        at = int((split if split.size else outside)[0])
        raise UsageError(
            f"{what}: {fine.row_names[at]} is not wholly inside one row of the first; choose layers that nest, such "
            "as county and tract"
        )
    coarse_row[pairs[0]] = pairs[1]
    return coarse_row


def _column_within(fine: Sequence[str], coarse: Sequence[str]) -> Ints:
    """Column of the coarser table that each column of the finest one is part of."""
    digits = (
        np.stack(np.unravel_index(np.arange(3 ** len(fine)), (3,) * len(fine))) if fine else np.zeros((0, 1))
    )
    coarse_column = np.zeros(digits.shape[1], dtype=np.int64)
    for name in coarse:
        coarse_column = coarse_column * 3 + digits[fine.index(name)].astype(np.int64)
    return coarse_column
