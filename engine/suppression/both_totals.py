"""Tables with both row totals and column totals: the exact suppressor.

Small tables are decided in whole numbers (`engine.suppression.two_way`), and tables of two rows at any real size by
certified bounds (`engine.suppression.two_rows`). Three rows would need sums over pairs of row totals, so larger tables
of three rows are refused before they start, like tables of more rows; a tree of sums (`engine.suppression.sum_tree`)
has no such limit.

Source: Nabar and Mishra, Algorithm 1 and Theorem 3; docs/theory/suppressed-tables.md, "Both totals".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engine.arrays import as_int, as_ptr
from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression.poisson_binomial import Types
from engine.suppression.progress import Progress, silent
from engine.suppression.rates import Rates
from engine.suppression.safe_sums import NEVER
from engine.suppression.sum_tree import DecidedTree
from engine.suppression.suppressed import Ints, check_people, check_promise
from engine.suppression.two_rows import Outlook, TwoRows, steps_by_bounds
from engine.suppression.two_way import MOST_ROWS, Known, TwoWay

__all__ = ["TwoWayTable", "refuse_large_two_way", "suppress_two_way"]

MOST_EXACT_STEPS = 2 * 10**9
"""Larger tables are not decided in whole numbers, which would take minutes."""

FEW_STEPS = 10**7
"""Tables of two rows that take more steps in whole numbers are decided by bounds."""

MOST_STEPS = 10**12
"""Tables that take more steps by bounds are refused before they start: some minutes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoWayTable:
    """People of a table with both totals.

    Parameters
    ----------
    shape : tuple of int
        Rows R, up to three, and columns C.
    type_ptr : int64[R * C + 1]
        CSR offsets of each cell's types, cells row by row.
    type_people : int64[Y]
        People of each type.
    type_rates : Rates
        Their prior [Y].

    Raises
    ------
    ParameterError
        There are more than three rows, or lengths differ.
    """

    shape: tuple[int, int]
    type_ptr: Ints
    type_people: Ints
    type_rates: Rates

    def __post_init__(self) -> None:
        rows, columns = self.shape
        if rows > MOST_ROWS:
            raise ParameterError(
                f"{rows} rows with both totals; up to {MOST_ROWS} are possible: swap rows and columns, or give row "
                "totals or column totals only"
            )
        pointer = as_ptr("type_ptr", self.type_ptr, total=len(self.type_rates))
        if pointer.size != rows * columns + 1:
            raise ParameterError(
                f"type_ptr has {pointer.size} offsets for {rows} rows and {columns} columns: "
                f"give {rows * columns + 1}"
            )
        people = check_people("type_people", self.type_people, len(self.type_rates), "rates")
        object.__setattr__(self, "type_ptr", pointer)
        object.__setattr__(self, "type_people", people)

    def cells(self) -> list[list[Types]]:
        """Types of each row's cells."""
        pointer, people = self.type_ptr.tolist(), self.type_people.tolist()
        flat = [
            Types.of((people[at], self.type_rates.fraction(at)) for at in range(first, last))
            for first, last in pairwise(pointer)
        ]
        rows, columns = self.shape
        return [flat[row * columns : (row + 1) * columns] for row in range(rows)]


def suppress_two_way(
    table: TwoWayTable,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    progress: Progress = silent,
) -> DecidedTree:
    """Decide row totals, column totals and then the cells of a table: the exact suppressor.

    Small tables are decided in whole numbers, others by certified bounds: what these leave open is suppressed. The
    result is the same on every machine.

    Parameters
    ----------
    table : TwoWayTable
    values : int[R + C + R * C]
        Row totals, column totals, and cells row by row.
    epsilon : Fraction
        0 < epsilon < 1.
    decision_delta : Fraction
        Delta divided by the number of decisions, 0 < decision_delta < 1.
    progress : callable
        Called as progress(stage, done, total).

    Returns
    -------
    DecidedTree
        In the order of ``values``. An interval is the run of safe values that is most likely; values outside it count
        as unsafe. Bounds do not look at values that are all but impossible; if such a value is released after all, and
        is safe, the interval is that value.

    Raises
    ------
    ParameterError
        A parameter is out of range, or values contradict each other.
    OverflowRefusedError
        The table is too large to be decided exactly.
    """
    check_promise(epsilon, decision_delta)
    cells = table.cells()
    counts = _check_values(cells, values)
    _refuse_large(cells, decision_delta)
    if _is_exact(cells):
        return _decide(_WholeNumbers(cells, epsilon), counts, decision_delta, progress)
    return _decide(TwoRows(cells, epsilon, decision_delta), counts, decision_delta, progress)


def refuse_large_two_way(table: TwoWayTable, decision_delta: Fraction) -> None:
    """Refuse a table whose decisions would take too many steps, by an estimate from public numbers.

    Raises
    ------
    OverflowRefusedError
        The table is too large to be decided exactly.
    """
    _refuse_large(table.cells(), decision_delta)


class _Deciding(Protocol):
    """What is known of a table, and what it says about the next query."""

    def outlook(self, query: int) -> Outlook:
        """What is safe to release as the value of a query, and how likely another value is."""

    def release(self, query: int, value: int) -> None:
        """Take a released value into account."""

    def is_safe_at(self, query: int) -> bool:
        """Whether what is known is certainly safe, after a value outside ``Outlook.seen`` was released."""

    def is_determined(self, query: int) -> bool:
        """Whether what is known leaves one value of a query only."""


def _decide(table: _Deciding, counts: list[int], decision_delta: Fraction, progress: Progress) -> DecidedTree:
    n = len(counts)
    released, derived = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    low, high = np.zeros(n, np.int64), np.zeros(n, np.int64)
    breach = -1
    for query in range(n):
        progress("deciding", query, n)
        if breach >= 0:
            low[query], high[query] = NEVER
            continue
        outlook, count = table.outlook(query), counts[query]
        low[query], high[query] = outlook.safe
        if outlook.unsafe > decision_delta:
            continue
        released[query] = True
        table.release(query, count)
        if outlook.safe[0] <= count <= outlook.safe[1]:
            continue
        if not outlook.seen[0] <= count <= outlook.seen[1] and table.is_safe_at(query):
            low[query] = high[query] = count
        else:
            breach = query
    for query in np.flatnonzero(~released).tolist():
        derived[query] = table.is_determined(query)
    return DecidedTree(released, low, high, breach, derived)


class _WholeNumbers:
    """A small table, decided in whole numbers."""

    def __init__(self, cells: list[list[Types]], epsilon: Fraction) -> None:
        shape = len(cells), len(cells[0])
        self._table = TwoWay(*shape, [types for row in cells for types in row])
        self._known, self._epsilon = Known.nothing(*shape), epsilon

    def outlook(self, query: int) -> Outlook:
        law = self._table.law(self._known, query)
        low, high, chance = _safe_run(self._table, self._known, query, law, self._epsilon)
        return Outlook((low, high), 1 - chance, (0, self._table.most(query)))

    def release(self, query: int, value: int) -> None:
        self._known = self._known.add_value(query, value)

    def is_safe_at(self, query: int) -> bool:
        return False  # every value has been looked at

    def is_determined(self, query: int) -> bool:
        return len(self._table.law(self._known, query)) == 1


def _safe_run(
    table: TwoWay, known: Known, query: int, law: dict[int, int], epsilon: Fraction
) -> tuple[int, int, Fraction]:
    """The most likely run of safe values, and its chance."""
    whole = sum(law.values())
    best, run, weight = (*NEVER, 0), list[int](), 0
    for value, value_weight in law.items():
        if not table.is_safe(known.add_value(query, value), epsilon):
            run, weight = [], 0
            continue
        run.append(value)
        weight += value_weight
        if weight > best[2]:
            best = (run[0], value, weight)
    return best[0], best[1], Fraction(best[2], whole)


def _check_values(table: list[list[Types]], values: npt.ArrayLike) -> list[int]:
    counts, rows, columns = as_int("values", values), len(table), len(table[0])
    if counts.size != rows + columns + rows * columns:
        raise ParameterError(
            f"{counts.size} values for {rows} rows and {columns} columns: give the row totals, the column totals, and "
            "then the cells"
        )
    cells = counts[rows + columns :].reshape(rows, columns)
    if (cells.sum(axis=1) != counts[:rows]).any() or (
        cells.sum(axis=0) != counts[rows : rows + columns]
    ).any():
        raise ParameterError("the totals are not the sums of the cells: correct the values")
    people = np.array([types.everyone for row in table for types in row])
    above = np.flatnonzero(cells.ravel() > people)
    if above.size:
        at = int(above[0])
        raise ParameterError(
            f"the value of cell {at} exceeds its {people[at]} people: count each person at most once"
        )
    return [int(count) for count in counts]


def _refuse_large(cells: list[list[Types]], decision_delta: Fraction) -> None:
    if _is_exact(cells):
        return
    steps, most, way_out = (
        _exact_steps(cells),
        MOST_EXACT_STEPS,
        "take two rows, of which far more can be decided",
    )
    if len(cells) == 2:
        steps, most, way_out = steps_by_bounds(cells, decision_delta), MOST_STEPS, "take fewer columns"
    if steps > most:
        raise OverflowRefusedError(
            f"deciding {len(cells)} rows with both totals takes about {steps:.1e} steps, more than {most:.0e}: "
            f"give row totals or column totals only, or {way_out}"
        )


def _is_exact(cells: list[list[Types]]) -> bool:
    """Whether a table is decided in whole numbers."""
    return _exact_steps(cells) <= (FEW_STEPS if len(cells) == 2 else MOST_EXACT_STEPS)


def _exact_steps(cells: list[list[Types]]) -> float:
    """About how many steps whole numbers take: states times values, for each possible value of each query."""
    people = np.array([[float(types.everyone) for types in row] for row in cells])
    rows, columns = people.sum(axis=1) + 1.0, people.sum(axis=0) + 1.0
    states = float(np.prod(rows))
    once = states * float(((people + 1.0) * columns).sum())
    queries, widest = rows.size + columns.size + people.size, float(max(rows.max(), columns.max()))
    return float(queries * widest * once / max(1.0, states / widest))
