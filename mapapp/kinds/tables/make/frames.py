"""The rows of a table store: what was decided as `table_cells`, and the prior as `table_prior`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from engine.suppression.sum_tree import DecidedTree
from geodata.store.schema import TABLE_CELLS, TABLE_PRIOR
from mapapp.kinds.tables.make.counts import Ground
from mapapp.kinds.tables.make.nodes import Nodes, Sums

__all__ = ["cell_rows", "name_of", "prior_rows", "rows_of_all"]

Ints = npt.NDArray[np.int64]

OTHER_HOMES: Final = "All other homes"
REMAINDER: Final = "All suppressed cells"
TOTAL: Final = "Total"
_LABELS: Final = {"row_total": TOTAL, "remainder": REMAINDER, "grand_total": TOTAL}


def rows_of_all(
    trees: Sequence[Nodes], decided: Sequence[DecidedTree], values: Sequence[Ints]
) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return :func:`cell_rows` and :func:`prior_rows` of all sets of jobs, in order."""
    cells = [cell_rows(*tree) for tree in zip(trees, decided, values, strict=True)]
    priors = [prior_rows(nodes) for nodes in trees]
    return pandas.concat(cells, ignore_index=True), pandas.concat(priors, ignore_index=True)


def cell_rows(nodes: Nodes, decided: DecidedTree, values: Ints) -> pandas.DataFrame:
    """Return everything that was decided, in order, with published values; after flows, what is left of each row.

    Parameters
    ----------
    nodes, decided : Nodes, DecidedTree
    values : int64[N]
        -1 where suppressed.
    """
    state = np.where(decided.released, "released", np.where(decided.derived, "derived", "suppressed"))
    frame = pandas.concat(
        [_name_sums(nodes, sums) for sums in nodes.before] + [_name_cells(nodes)], ignore_index=True
    )
    n_ahead = len(frame)
    frame["people"] = nodes.sum_cells(nodes.plan.people)[:n_ahead]
    frame["value"], frame["state"] = values[:n_ahead], state[:n_ahead]
    frame["low"], frame["high"] = np.maximum(decided.low[:n_ahead], 0), np.maximum(decided.high[:n_ahead], -1)
    parts = [frame]
    parts += [_remainders(nodes, sums, decided, values) for sums in nodes.after]
    if nodes.plan.spec.flows:
        parts.append(_other_homes(nodes, values))
    return pandas.concat(parts, ignore_index=True)[list(TABLE_CELLS.columns)].astype(TABLE_CELLS.columns)


def name_of(nodes: Nodes, position: int) -> str:
    """Return the row and column of a decision."""
    frame = pandas.concat(
        [
            *(_name_sums(nodes, sums) for sums in nodes.before),
            _name_cells(nodes),
            *(_name_sums(nodes, sums) for sums in nodes.after),
        ],
        ignore_index=True,
    )
    return f"{frame['row'][position]}, {frame['column'][position]}"


def _name_cells(nodes: Nodes) -> pandas.DataFrame:
    plan = nodes.plan
    return _names(nodes.table, "cell", plan.ground, plan.row, plan.column)


def _name_sums(nodes: Nodes, sums: Sums) -> pandas.DataFrame:
    return _names(sums.table, sums.kind, nodes.grounds[sums.table], sums.row, sums.column)


def _names(table: int, kind: str, ground: Ground, row: Ints, column: Ints) -> pandas.DataFrame:
    label = _LABELS.get(kind, "")
    return pandas.DataFrame(
        {
            "table": table,
            "kind": kind,
            "row_id": _taken(ground.row_ids, row, ""),
            "row": _taken(ground.row_names, row, TOTAL),
            "column_id": _taken(ground.column_ids, column, ""),
            "column": _taken(ground.column_names, column, label),
        }
    )


def _taken(texts: Sequence[str], positions: Ints, otherwise: str) -> npt.NDArray[np.object_]:
    return np.array([*texts, otherwise], dtype=object)[positions]


def _remainders(nodes: Nodes, sums: Sums, decided: DecidedTree, values: Ints) -> pandas.DataFrame:
    """Remainders of at least two suppressed cells: a row's total without its released cells."""
    start = nodes.cells.stop
    remainders = slice(start, start + sums.row.size)
    is_released = decided.released[nodes.cells]
    base = np.zeros(sums.row.size, dtype=np.int64)
    np.add.at(base, sums.of_cell[is_released], values[nodes.cells][is_released])
    people, starred = np.zeros_like(base), np.zeros_like(base)
    np.add.at(people, sums.of_cell[~is_released], nodes.plan.people[~is_released])
    np.add.at(starred, sums.of_cell[~is_released], 1)
    frame = _name_sums(nodes, sums)
    frame["people"] = people
    frame["value"] = np.where(values[remainders] >= 0, values[remainders] - base, -1)
    frame["state"] = np.where(decided.released[remainders], "released", "suppressed")
    frame["low"], frame["high"] = (
        np.maximum(decided.low[remainders] - base, 0),
        np.maximum(decided.high[remainders] - base, -1),
    )
    return frame[starred > 1]


def _other_homes(nodes: Nodes, values: Ints) -> pandas.DataFrame:
    """For each row of flows, the workers with all homes that are not released; they follow from the others."""
    plan = nodes.plan
    first = np.unique(plan.row, return_index=True)[1]
    people = plan.people[first]
    frame = _names(
        nodes.table, "remainder", plan.ground, plan.row[first], np.full(first.size, -1, dtype=np.int64)
    )
    frame["column"] = OTHER_HOMES
    frame["people"] = people
    frame["value"] = people - np.add.reduceat(np.maximum(values, 0), first)
    frame["state"], frame["low"], frame["high"] = "derived", 0, people
    return frame


def prior_rows(nodes: Nodes) -> pandas.DataFrame:
    """Return the prior of the cells of the finest table, in the same order."""
    plan = nodes.plan
    frame = _name_cells(nodes)[["table", "row_id", "column_id"]]
    frame["people"] = plan.people
    frame["numerator"], frame["denominator"] = plan.rates.numerator, plan.rates.denominator
    return frame.astype(TABLE_PRIOR.columns)
