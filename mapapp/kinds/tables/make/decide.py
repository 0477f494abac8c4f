"""Decisions of a table: which cells and sums are released, in a fixed order.

A decision reads public inputs (people, prior, epsilon, delta) and values that were released before it, and nothing
else. The code shows this in two ways. Independent cells are decided from public inputs alone, and a value is opened
only after its cell's decision (:class:`Sealed`). And whatever the engine was given, :func:`decide_twice` decides again
from the published values alone, with suppressed ones replaced by any that agree with them, and insists on the same
decisions; `certify` does the same.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.streams import SecretKey
from engine.suppression.both_totals import TwoWayTable, refuse_large_two_way, suppress_two_way
from engine.suppression.cells import releasable, safe_intervals
from engine.suppression.rates import Rates
from engine.suppression.rows import suppress_rows, suppress_rows_by
from engine.suppression.sampled import sampling_plan, suppress_cells_sampled, suppress_rows_sampled
from engine.suppression.sum_tree import DecidedTree, refuse_large, suppress_tree
from engine.suppression.suppressed import Decided, check_people, check_promise
from mapapp.base.progress import Report, silent
from mapapp.kinds.tables.make.nodes import Nodes, fill_in
from mapapp.kinds.tables.make.prior import Planned

__all__ = [
    "Rule",
    "Sealed",
    "decide",
    "decide_as_stated",
    "decide_twice",
    "expected_decisions",
    "published_values",
    "require_decidable",
    "rows_of_flows",
    "same_decisions",
]

Ints = npt.NDArray[np.int64]


class Rule(NamedTuple):
    """How cells are decided.

    Attributes
    ----------
    epsilon : Fraction
    decision_delta : Fraction
        Delta divided by the number of decisions.
    key : SecretKey or None
        Of the coins of Algorithm 3; None decides exactly, without coins.
    """

    epsilon: Fraction
    decision_delta: Fraction
    key: SecretKey | None = None


class Sealed:
    """Values of cells, each of which may be opened once its cell is released.

    Parameters
    ----------
    values : int64[C]
        In the order of decision; confidential.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Ints) -> None:
        self._values = values

    def __repr__(self) -> str:
        """Return the number of values, but none of them."""
        return f"Sealed({self._values.size} values)"

    def open(self, position: int) -> int:
        """Return the value of a released cell."""
        return int(self._values[position])

    def for_engine(self) -> Ints:
        """Return all values, for a suppressor of the engine, which opens each after its decision."""
        return self._values


def decide_twice(
    nodes: Nodes, sealed: Sealed, rule: Rule, report: Report = silent
) -> tuple[DecidedTree, Ints]:
    """Decide the nodes of a table, then decide them again from the published values alone.

    Returns
    -------
    decided : DecidedTree
    values : int64[N]
        As published: -1 where suppressed.

    Raises
    ------
    AssertionError
        The two differ, so that a decision depended on a value that is not published. Nothing may be published then.
    """
    decided = decide(nodes, sealed, rule, report)
    all_values = nodes.sum_cells(sealed.for_engine())
    values, consistent = published_values(nodes, decided, np.where(decided.released, all_values, -1))
    again = decide(
        nodes,
        Sealed(consistent[nodes.cells]),
        rule,
        lambda _stage, done, total: report("deciding again from what is published", done, total),
    )
    if not same_decisions(decided, again):
        raise AssertionError("a decision depended on a suppressed value")
    return decided, values


def published_values(nodes: Nodes, decided: DecidedTree, released_values: Ints) -> tuple[Ints, Ints]:
    """Return the values to publish, -1 where suppressed, and counts of all nodes that agree with them.

    Parameters
    ----------
    nodes, decided : Nodes, DecidedTree
    released_values : int64[N]
        Read where released only; derived values follow from them.
    """
    if nodes.plan.spec.flows:
        return released_values, np.maximum(released_values, 0)
    consistent = fill_in(nodes, decided.released, released_values)
    shown = decided.released | decided.derived
    return np.where(shown, consistent, -1), consistent


def same_decisions(first: DecidedTree, second: DecidedTree) -> bool:
    """Return whether two suppressors released the same cells, with the same safe intervals."""
    return bool(
        np.array_equal(first.released, second.released)
        and np.array_equal(first.derived, second.derived)
        and np.array_equal(first.low, second.low)
        and np.array_equal(first.high, second.high)
        and first.breach == second.breach
    )


def decide(nodes: Nodes, sealed: Sealed, rule: Rule, report: Report = silent) -> DecidedTree:
    """Decide all nodes in order, and stop at the first value that lies outside its safe interval."""
    plan = nodes.plan
    if plan.spec.flows:
        return _as_tree(_decide_rows(plan, sealed, rule))
    if nodes.is_two_way:
        return _decide_two_way(nodes, nodes.sum_cells(sealed.for_engine()), rule, report)
    if not nodes.is_flat:
        return suppress_tree(
            nodes.tree(),
            nodes.sum_cells(sealed.for_engine()),
            epsilon=rule.epsilon,
            decision_delta=rule.decision_delta,
            progress=report,
        )
    if rule.key is not None:
        return _as_tree(
            suppress_cells_sampled(
                plan.people,
                plan.rates,
                sealed.for_engine(),
                epsilon=rule.epsilon,
                decision_delta=rule.decision_delta,
                key=rule.key,
            )
        )
    may = releasable(plan.people, plan.rates, rule.epsilon, rule.decision_delta)
    low, high = safe_intervals(plan.people, plan.rates, rule.epsilon)
    return _as_tree(_open_safe(may, sealed, low, high))


def _open_safe(may: npt.NDArray[np.bool_], sealed: Sealed, low: Ints, high: Ints) -> Decided:
    """Open the values of cells that may be released, up to the first that is not safe."""
    released, breach = np.zeros_like(may), -1
    for position in np.flatnonzero(may).tolist():
        released[position] = True
        if not low[position] <= sealed.open(position) <= high[position]:
            breach = position
            break
    return Decided(released, low, high, breach)


def _decide_rows(plan: Planned, sealed: Sealed, rule: Rule) -> Decided:
    of_rows = (*rows_of_flows(plan), sealed.for_engine())
    if rule.key is not None:
        return suppress_rows_sampled(
            *of_rows, epsilon=rule.epsilon, decision_delta=rule.decision_delta, key=rule.key
        )
    return suppress_rows(*of_rows, epsilon=rule.epsilon, decision_delta=rule.decision_delta)


def rows_of_flows(plan: Planned) -> tuple[Ints, Ints, Rates]:
    """People of the rows of flows, offsets of their cells, and rates, as the engine takes them."""
    row_ptr = plan.row_ptr
    return plan.people[row_ptr[:-1]], row_ptr, plan.rates


def _decide_two_way(nodes: Nodes, values: Ints, rule: Rule, report: Report) -> DecidedTree:
    """Decide row totals, column totals, and cells; the engine wants the cells without people, too."""
    table, place = _two_way(nodes)
    n_sums = nodes.cells.start
    whole = np.zeros(n_sums + table.type_ptr.size - 1, dtype=np.int64)
    positions = np.concatenate([np.arange(n_sums), n_sums + place])
    whole[positions] = values
    decided = suppress_two_way(
        table, whole, epsilon=rule.epsilon, decision_delta=rule.decision_delta, progress=report
    )
    breach = int(np.searchsorted(positions, decided.breach)) if decided.breach >= 0 else -1
    return DecidedTree(
        decided.released[positions],
        decided.low[positions],
        decided.high[positions],
        breach,
        decided.derived[positions],
    )


def _two_way(nodes: Nodes) -> tuple[TwoWayTable, Ints]:
    """The table as the engine takes it, and the place of each cell in it."""
    plan, (rows, columns) = nodes.plan, nodes.before
    shape = rows.row.size, columns.column.size
    place = rows.of_cell * shape[1] + columns.of_cell
    holds = np.zeros(shape[0] * shape[1], dtype=np.int64)
    holds[place] = 1
    return TwoWayTable(
        shape=shape, type_ptr=np.append(0, np.cumsum(holds)), type_people=plan.people, type_rates=plan.rates
    ), place


def decide_as_stated(nodes: Nodes, values: Ints, epsilon: Fraction) -> DecidedTree:
    """Work out safe intervals and the breach of cells or flows whose decisions nobody can repeat.

    Parameters
    ----------
    nodes : Nodes
        Without sums.
    values : int64[N]
        Released values; -1 where suppressed.
    epsilon : Fraction
    """
    plan, is_released, opened = nodes.plan, values >= 0, np.maximum(values, 0)
    if plan.spec.flows:
        return _as_tree(
            suppress_rows_by(
                lambda query: bool(is_released[query.position]), *rows_of_flows(plan), opened, epsilon=epsilon
            )
        )
    low, high = safe_intervals(plan.people, plan.rates, epsilon)
    return _as_tree(_open_safe(is_released, Sealed(opened), low, high))


def expected_decisions(nodes: Nodes, rule: Rule, report: Report = silent) -> DecidedTree:
    """Decide as if every count were the expected one, for a dry run from public input alone."""
    expected = nodes.plan.people * nodes.plan.rates.numerator / nodes.plan.rates.denominator
    return decide(nodes, Sealed(np.floor(expected + 0.5).astype(np.int64)), rule, report)


def require_decidable(nodes: Nodes, rule: Rule) -> None:
    """Refuse whatever a decision would refuse, from public numbers alone: a refused table must not enter the ledger.

    Raises
    ------
    ParameterError
        Epsilon has too many decimals, a cell has too many people, or sampling would take too long.
    OverflowRefusedError
        Sums are too large to be decided exactly.
    """
    check_promise(rule.epsilon, rule.decision_delta)
    check_people("people", nodes.plan.people, nodes.plan.n_cells, "cells")
    if rule.key is not None:
        sampling_plan(rule.decision_delta)
    if nodes.is_two_way:
        refuse_large_two_way(_two_way(nodes)[0], rule.decision_delta)
    elif not nodes.is_flat:
        refuse_large(nodes.tree())


def _as_tree(decided: Decided) -> DecidedTree:
    return DecidedTree(*decided, np.zeros(decided.released.size, dtype=np.bool_))
