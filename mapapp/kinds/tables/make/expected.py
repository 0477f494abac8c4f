"""What tables can be expected to release, from public inputs alone: nothing is spent, and no home is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.suppression.cells import releasable
from engine.suppression.rows import expected_rows
from engine.suppression.suppressed import share_delta
from mapapp.base.progress import Report, silent
from mapapp.kinds.tables.make.decide import Rule, expected_decisions, rows_of_flows
from mapapp.kinds.tables.make.forest import Forest
from mapapp.kinds.tables.make.nodes import Nodes
from mapapp.kinds.tables.make.prior import Planned

__all__ = ["ExpectedForest", "ExpectedTable", "expected_forest", "expected_table"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedTable:
    """The expected outcome of a table.

    Attributes
    ----------
    nodes : Nodes
        Everything that is decided.
    releasable : bool[C]
        Whether each cell of the finest table is released, if the table does not stop at a breach: exactly, if cells are
        independent; with sums and of flows, as if each count released before were the expected one.
    """

    nodes: Nodes
    releasable: npt.NDArray[np.bool_]

    @property
    def plan(self) -> Planned:
        """The cells of the finest table, in the order of decision."""
        return self.nodes.plan

    @property
    def n_decisions(self) -> int:
        """How many decisions share delta."""
        return len(self.nodes)

    @property
    def share_of_cells(self) -> float:
        """Share of the cells to be released."""
        return float(self.releasable.mean()) if self.releasable.size else 0.0

    @property
    def people_released(self) -> float:
        """People in the cells to be released; of flows, the expected workers of the flows."""
        plan = self.plan
        if not plan.spec.flows:
            return float(plan.people[self.releasable].sum())
        expected = plan.people * (plan.rates.numerator / plan.rates.denominator)
        return float(expected[self.releasable].sum())

    @property
    def share_of_people(self) -> float:
        """Share of the people to be released: those in the cells; of flows, the expected workers of the flows."""
        return self.people_released / self.plan.n_people


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedForest:
    """The expected outcome of all tables of a publication; for each set of jobs, that of its finest table.

    Attributes
    ----------
    n_decisions : int
        How many decisions share delta.
    parts : tuple of ExpectedTable
    """

    n_decisions: int
    parts: tuple[ExpectedTable, ...]

    @property
    def n_cells(self) -> int:
        """Cells of the finest tables."""
        return sum(part.plan.n_cells for part in self.parts)

    @property
    def releasable(self) -> npt.NDArray[np.bool_]:
        """Whether each of them is released, as in `ExpectedTable`."""
        return np.concatenate([part.releasable for part in self.parts])

    @property
    def share_of_cells(self) -> float:
        """Share of the cells to be released."""
        return float(self.releasable.mean()) if self.n_cells else 0.0

    @property
    def share_of_people(self) -> float:
        """Share of the people to be released, as in `ExpectedTable`."""
        return sum(part.people_released for part in self.parts) / sum(
            part.plan.n_people for part in self.parts
        )


def expected_forest(
    forest: Forest, epsilon: Fraction, delta: Fraction, report: Report = silent
) -> ExpectedForest:
    """Work out which cells of all tables of a publication are to be released; as :func:`expected_table`."""
    parts = tuple(
        _expect_table(nodes, epsilon, share_delta(delta, len(forest)), report) for nodes in forest.trees
    )
    return ExpectedForest(n_decisions=len(forest), parts=parts)


def expected_table(nodes: Nodes, epsilon: Fraction, delta: Fraction) -> ExpectedTable:
    """Work out which cells of a table are to be released.

    Parameters
    ----------
    nodes : Nodes
    epsilon, delta : Fraction
        Above 0 and below 1; delta is shared among all decisions.
    """
    return _expect_table(nodes, epsilon, share_delta(delta, len(nodes)), silent)


def _expect_table(nodes: Nodes, epsilon: Fraction, decision_delta: Fraction, report: Report) -> ExpectedTable:
    plan = nodes.plan
    if plan.spec.flows:
        expected = expected_rows(*rows_of_flows(plan), epsilon=epsilon, decision_delta=decision_delta)
    elif nodes.before:
        expected = expected_decisions(nodes, Rule(epsilon, decision_delta), report).released[nodes.cells]
    else:
        expected = releasable(
            plan.people, plan.rates, epsilon, decision_delta
        )  # remainders come after all cells
    return ExpectedTable(nodes=nodes, releasable=expected)
