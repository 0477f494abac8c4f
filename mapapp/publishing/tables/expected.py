"""What a table can be expected to release, from public inputs alone: nothing is spent, and no home is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.suppression.cells import releasable
from engine.suppression.rows import expected_rows
from mapapp.publishing.tables.decide import Rule, expected_decisions, rows_of_flows
from mapapp.publishing.tables.nodes import Nodes
from mapapp.publishing.tables.prior import Planned

__all__ = ["ExpectedTable", "expected_table"]


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
    def share_of_people(self) -> float:
        """Share of the people to be released: those in the cells; of flows, the expected workers of the flows."""
        plan = self.plan
        if not plan.spec.flows:
            return float(plan.people[self.releasable].sum() / plan.n_people)
        expected = plan.people * (plan.rates.numerator / plan.rates.denominator)
        return float(expected[self.releasable].sum() / plan.n_people)


def expected_table(nodes: Nodes, epsilon: Fraction, delta: Fraction) -> ExpectedTable:
    """Work out which cells of a table are to be released.

    Parameters
    ----------
    nodes : Nodes
    epsilon, delta : Fraction
        Above 0 and below 1; delta is shared among all decisions.
    """
    plan, decision_delta = nodes.plan, delta / len(nodes)
    if plan.spec.flows:
        found = expected_rows(*rows_of_flows(plan), epsilon=epsilon, decision_delta=decision_delta)
    elif nodes.before:
        found = expected_decisions(nodes, Rule(epsilon, decision_delta)).released[nodes.cells]
    else:
        found = releasable(
            plan.people, plan.rates, epsilon, decision_delta
        )  # remainders come after all cells
    return ExpectedTable(nodes=nodes, releasable=found)
