"""All decisions of a publication: tables of the same jobs share a state, and each set of jobs has one of its own.

A job is one person here. If no job is counted in two of the states, then by the prior they are independent of each
other: what one of them releases says nothing about the people of another (docs/theory/suppressed-tables.md, "Tables
over different jobs"). They are decided one after another, in the order of the file, and share delta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.suppression.sum_tree import DecidedTree
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.tables.make.counts import Ground
from mapapp.kinds.tables.make.decide import Rule, Sealed, decide_twice
from mapapp.kinds.tables.make.nodes import Nodes, entry_name, finest_of, nodes_of
from mapapp.kinds.tables.make.prior import Planned
from mapapp.kinds.tables.make.spec import TableSpec

__all__ = ["Forest", "decide_forest", "decide_nothing", "forest_of"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forest:
    """All decisions of a publication, in order.

    Attributes
    ----------
    specs : tuple of TableSpec
        Every table, with the area of its jobs located.
    trees : tuple of Nodes
        For each set of jobs, the decisions about it.
    """

    specs: tuple[TableSpec, ...]
    trees: tuple[Nodes, ...]

    def __len__(self) -> int:
        """Number of decisions, which share delta."""
        return sum(len(nodes) for nodes in self.trees)

    @property
    def has_remainders(self) -> bool:
        """Whether remainders of rows are decided."""
        return any(nodes.after for nodes in self.trees)

    def breach(self, decided: Sequence[DecidedTree]) -> tuple[int, Nodes, int] | None:
        """Return where the publication stopped: the number of the decision, and the tree and its own number there."""
        ahead = 0
        for nodes, decisions in zip(self.trees, decided, strict=True):
            if decisions.breach >= 0:
                return ahead + decisions.breach, nodes, decisions.breach
            ahead += len(nodes)
        return None


def forest_of(
    specs: Sequence[TableSpec],
    grounds: Sequence[Ground],
    plan_of: Callable[[int, bool], Planned],
    *,
    remainders: bool,
) -> Forest:
    """Put all decisions of a publication in order.

    Parameters
    ----------
    specs, grounds : sequence of TableSpec, Ground
        All tables; the areas of their jobs are located.
    plan_of : callable
        Returns the cells of a table, given its position and whether it is the only one that has a prior.
    remainders : bool
        Whether the sum of a row's suppressed cells is decided, for the jobs that have one table without totals.

    Raises
    ------
    UsageError
        Two tables have some jobs in common, but not all, or do not refine each other.
    """
    sets = _sets_of_jobs(specs, grounds)
    trees = []
    for tables in sets:
        plan = plan_of(finest_of(tables, specs, grounds), len(sets) == 1)
        is_plain = len(tables) == 1 and not plan.spec.flows and plan.spec.totals == "none"
        trees.append(nodes_of(plan, specs, grounds, remainders=remainders and is_plain, tables=tables))
    return Forest(specs=tuple(specs), trees=tuple(trees))


def decide_forest(
    forest: Forest, counted: Sequence[Ints], rule: Rule, report: Report = silent
) -> list[tuple[DecidedTree, Ints]]:
    """Decide all trees in order, each of them twice, up to the first released value outside its safe interval.

    Parameters
    ----------
    forest : Forest
    counted : sequence of int64[C]
        Confidential values of the cells of each tree.
    rule : Rule
    report : callable
        Called with (stage, done, total).

    Returns
    -------
    list of (DecidedTree, int64[N])
        For each tree, what was decided, and the published values, -1 where suppressed.
    """
    trees: list[tuple[DecidedTree, Ints]] = []
    for nodes, values in zip(forest.trees, counted, strict=True):
        has_stopped = any(decided.breach >= 0 for decided, _ in trees)
        trees.append(
            (decide_nothing(nodes), np.full(len(nodes), -1, dtype=np.int64))
            if has_stopped
            else decide_twice(nodes, Sealed(values), rule, report)
        )
    return trees


def decide_nothing(nodes: Nodes) -> DecidedTree:
    """Return what is decided about jobs after the publication stopped at others: nothing."""
    nothing, zeros = np.zeros(len(nodes), dtype=np.bool_), np.zeros(len(nodes), dtype=np.int64)
    return DecidedTree(nothing, zeros, zeros - 1, -1, nothing)


def _sets_of_jobs(specs: Sequence[TableSpec], grounds: Sequence[Ground]) -> list[list[int]]:
    """Group the positions of the tables by their jobs, in the order of the file."""
    sets: list[list[int]] = []
    for table in range(len(specs)):
        same_jobs = None
        for tables in sets:
            if _are_same(specs, grounds, tables[0], table):
                same_jobs = tables
            elif not _are_disjoint(specs, grounds, tables[0], table):
                raise UsageError(
                    f"{entry_name(specs, tables[0])} and {entry_name(specs, table)} have some jobs in common, but not "
                    "all; tables of one file must refine each other over the same jobs, or have no job in common; "
                    "change age, earnings, industry, or work-area"
                )
        if same_jobs is None:
            sets.append([table])
        else:
            same_jobs.append(table)
    return sets


def _are_same(specs: Sequence[TableSpec], grounds: Sequence[Ground], first: int, second: int) -> bool:
    places = np.array_equal(grounds[first].work_blocks, grounds[second].work_blocks)
    return specs[first].jobs.filters == specs[second].jobs.filters and places


def _are_disjoint(specs: Sequence[TableSpec], grounds: Sequence[Ground], first: int, second: int) -> bool:
    places = grounds[first].work_blocks & grounds[second].work_blocks
    return not places.any() or not specs[first].jobs.has_bands_in_common(specs[second].jobs)
