"""Two rows with both row totals and column totals, at real size: the exact suppressor by certified bounds.

Given a column's total, one number says how its ones are spread over the two rows, and given the row totals these
numbers add up to a known sum. So all that is known of a table is one sum over independent columns. Columns without a
known total form one more column, the *pool*: if both row totals are known, its total is known, too. A query takes a
column or a cell out, and what its value would reveal about each person is a quotient of two sums of positive terms.

Where no released total ties a query to other people, the closed forms of `engine.suppression.safe_sums` decide.

Source: docs/theory/suppressed-tables.md, "Both totals".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from engine.arrays import FloatArray
from engine.suppression.kernels import two_rows as kernels
from engine.suppression.kernels.poisson_binomial import INFLATE
from engine.suppression.poisson_binomial import Types
from engine.suppression.safe_sums import NEVER, safe_split, safe_sums, unsafe_sum_bound
from engine.suppression.sum_laws import EMPTY, SumLaw, allow_any_sum, law_given_sum, law_of_sum, law_of_types
from engine.suppression.two_rows_ways import Ways
from engine.suppression.unsafe import limit_below

__all__ = ["Outlook", "TwoRows", "steps_by_bounds"]

_LEAST_SHARE = 2.0**-20
"""Values whose chance is below this part of a decision's delta count as unsafe without a check."""

_FLOOR_SHARE = 2.0**-80
_LEAST_FLOOR = 2.0**-180
"""Weights below this part of a decision's delta, but not below the least floor, are left out."""

_ROUNDINGS = 16.0
"""Covers the few operations between the laws and the comparison with a limit."""


class Outlook(NamedTuple):
    """A query before its decision.

    Attributes
    ----------
    safe : tuple of int
        The run of safe values that is most likely.
    unsafe : Fraction or float
        Upper bound of the chance of a value outside it.
    seen : tuple of int
        Values outside this range are so unlikely that nobody looked at them.
    """

    safe: tuple[int, int]
    unsafe: Fraction | float
    seen: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tied:
    """What is open in a state in which some row total is known.

    Attributes
    ----------
    main : int
        A row of known total: the one that is followed.
    left : int
        Ones in its open cells.
    columns : list of int
        Columns of known total whose cells are open.
    totals : list of int
        Their totals.
    pool : tuple of list of int
        Columns of unknown total, for the main row and the other: those whose cell in the row is open.
    in_pool : int or None
        Ones in the pool, None if the other row's total is not known.
    """

    main: int
    left: int
    columns: list[int]
    totals: list[int]
    pool: tuple[list[int], list[int]]
    in_pool: int | None


class _Taken(NamedTuple):
    """People whom a query takes out of a state: a column or a cell.

    Attributes
    ----------
    cells : tuple of (int or None)
        Column of the taken cell in the main row, and in the other.
    total : int or None
        Of both cells, if it is known; then the query asks for the value of the first.
    own : tuple of (int, int) pairs, or None
        Safe values of the two cells, if each value of the query says what they are. Otherwise their people are checked
        like all others.
    """

    cells: tuple[int | None, int | None]
    total: int | None
    own: tuple[tuple[int, int], tuple[int, int]] | None


class _Factors(NamedTuple):
    """As in the kernel: the taken cells, the pool by row, and the known columns."""

    first: SumLaw
    second: SumLaw
    pool_first: SumLaw
    pool_second: SumLaw
    known: SumLaw


class _Examined(NamedTuple):
    """Values of a query in order, from ``start`` on; as in the kernel, and a relative error and a missing weight."""

    start: int
    found: kernels.Found
    error: float
    missing: float

    def reverse(self, total: int) -> _Examined:
        """The same of what is left of a total."""
        weighed, last = self.found, self.start + self.found.weight.size - 1
        turned = kernels.Found(weighed.weight[::-1], weighed.missing[::-1], weighed.safe[::-1])
        return self._replace(start=total - last, found=turned)


_ANY = (0, 2**62)
_NOBODY = _Taken((None, None), None, (_ANY, _ANY))


class TwoRows:
    """Two rows of cells, and what has been released of them.

    Queries are numbered: the row totals, the column totals, and then the cells row by row.

    Parameters
    ----------
    cells : list of list of Types
        People of each row's cells.
    epsilon, decision_delta : Fraction
    """

    def __init__(self, cells: list[list[Types]], epsilon: Fraction, decision_delta: Fraction) -> None:
        self._cells, self._epsilon = cells, epsilon
        self._n_columns = len(cells[0])
        self._rows: list[int | None] = [None, None]
        self._columns: list[int | None] = [None] * self._n_columns
        self._values: list[list[int | None]] = [[None] * self._n_columns for _ in cells]
        limit = limit_below(decision_delta)
        self._least = limit * _LEAST_SHARE
        self._floor = max(limit * _FLOOR_SHARE, _LEAST_FLOOR)

    def release(self, query: int, value: int) -> None:
        """Take a released value into account."""
        if query < 2:
            self._rows[query] = value
        elif query < 2 + self._n_columns:
            self._columns[query - 2] = value
        else:
            row, column = self._place(query)
            self._values[row][column] = value

    def outlook(self, query: int) -> Outlook:
        """What is safe to release as the value of a query, and how likely another value is."""
        if query < 2:
            return self._query_alone(Types.of(pair for types in self._cells[query] for pair in _pairs(types)))
        if query < 2 + self._n_columns:
            return self._query_column(query - 2)
        return self._query_cell(*self._place(query))

    def is_safe_at(self, query: int) -> bool:
        """Whether what is known is certainly safe, after a query whose value nobody had looked at was released."""
        tied = self._find_tied()
        if tied is None or (query >= 2 + self._n_columns and not self._are_cells_safe(*self._place(query))):
            return False
        return bool(self._examine_values(tied, _NOBODY).found.safe[0])

    def is_determined(self, query: int) -> bool:
        """Whether what is known leaves one value of a query only."""
        if query >= 2 + self._n_columns and self._find_value(*self._place(query)) is not None:
            return True
        people = [[types.everyone for types in row] for row in self._cells]
        left = [
            None
            if total is None
            else total - sum(self._find_value(row, at) or 0 for at in range(self._n_columns))
            for row, total in enumerate(self._rows)
        ]
        columns = {at: self._columns[at] for at in self._open_columns()}
        pool = [{at: people[row][at] for at in self._pool(row)} for row in range(2)]
        ways = Ways.of(
            {at: (total or 0, people[0][at], people[1][at]) for at, total in columns.items()},
            (sum(pool[0].values()), sum(pool[1].values())),
            (left[0], left[1]),
        )
        if query < 2:
            return ways.least == ways.most and not any(pool[query].values())
        if query < 2 + self._n_columns:
            return ways.determines_pool(pool[0].get(query - 2, 0), pool[1].get(query - 2, 0))
        row, column = self._place(query)
        if column in columns:
            return ways.determines_column(column)
        return ways.determines_pool(*((people[row][column], 0) if row == 0 else (0, people[row][column])))

    def _place(self, query: int) -> tuple[int, int]:
        return divmod(query - 2 - self._n_columns, self._n_columns)

    def _find_value(self, row: int, column: int) -> int | None:
        """The value of a cell, released or left over from its column's total."""
        value, total, partner = (
            self._values[row][column],
            self._columns[column],
            self._values[1 - row][column],
        )
        return total - partner if value is None and total is not None and partner is not None else value

    def _open_columns(self) -> list[int]:
        """Columns of known total whose cells are not known."""
        every = range(self._n_columns)
        return [at for at in every if self._columns[at] is not None and self._find_value(0, at) is None]

    def _pool(self, row: int) -> list[int]:
        """Columns of unknown total whose cell in a row is not known."""
        every = range(self._n_columns)
        return [at for at in every if self._columns[at] is None and self._values[row][at] is None]

    def _are_cells_safe(self, row: int, column: int) -> bool:
        """Whether the known values of a cell and of the other cell of its column are safe for the cells' own people."""
        for cell_row in (row, 1 - row):
            value = self._find_value(cell_row, column)
            if value is not None:
                low, high = safe_sums(self._cells[cell_row][column], self._epsilon)
                if not low <= value <= high:
                    return False
        return True

    def _find_tied(self) -> _Tied | None:
        """What is open if some row total is known."""
        known = [row for row in range(2) if self._rows[row] is not None]
        if not known:
            return None
        main, every = known[0], range(self._n_columns)
        left = [
            (self._rows[row] or 0) - sum(self._find_value(row, column) or 0 for column in every)
            for row in range(2)
        ]
        columns = self._open_columns()
        totals = [self._columns[at] or 0 for at in columns]
        pool = self._pool(main), self._pool(1 - main)
        in_pool = sum(left) - sum(totals) if len(known) == 2 else None
        return _Tied(main=main, left=left[main], columns=columns, totals=totals, pool=pool, in_pool=in_pool)

    def _query_alone(self, types: Types) -> Outlook:
        """A query about people who have no known sum with others."""
        return self._query_beside(types, Types((), ()), None)

    def _query_beside(self, asked: Types, others: Types, total: int | None) -> Outlook:
        """A query about people who have a known sum with others, and with nobody else."""
        safe = safe_split(asked, others, total, self._epsilon)
        return Outlook(safe, unsafe_sum_bound(asked, others, total, safe), _ANY)

    def _query_column(self, column: int) -> Outlook:
        tied = self._find_tied()
        if tied is None:
            return self._query_alone(Types.of(pair for row in self._cells for pair in _pairs(row[column])))
        return _outlook(self._examine_values(tied, _Taken((column, column), None, None)), self._least)

    def _query_cell(self, row: int, column: int) -> Outlook:
        fixed, total, tied = self._find_value(row, column), self._columns[column], self._find_tied()
        if fixed is not None:
            return Outlook((fixed, fixed), Fraction(0), _ANY)
        types, others = self._cells[row][column], self._cells[1 - row][column]
        if total is not None and tied is None:
            return self._query_beside(types, others, total)
        is_main = tied is not None and row == tied.main
        if tied is None or (total is None and not is_main and tied.in_pool is None):
            return self._query_alone(types)
        if total is None:
            safe = safe_sums(types, self._epsilon)
            first = _Taken((column, None), None, (safe, _ANY))
            second = _Taken((None, column), None, (_ANY, safe))
            return _outlook(self._examine_values(tied, first if is_main else second), self._least)
        own = safe_sums(types, self._epsilon), safe_sums(others, self._epsilon)
        taken = _Taken((column, column), total, own if is_main else own[::-1])
        examined = self._examine_values(tied, taken)
        return _outlook(examined if is_main else examined.reverse(total), self._least)

    def _examine_values(self, tied: _Tied, taken: _Taken) -> _Examined:
        """Weights of a query's values, and which of them are certainly safe."""
        factors, rates = self._factors(tied, taken)
        queried, start = _list_values(factors, taken, tied.in_pool)
        limits = _limits(factors, rates, self._epsilon, self._floor, self._least)
        n = queried.least.size
        weighed = kernels.Found(np.empty(n), np.empty(n), np.empty(n, np.bool_))
        error = kernels.decide_values(
            kernels.Factors(*(law.for_kernel() for law in factors)),
            queried,
            tied.left,
            limits,
            _scratch(factors, limits.low.size),
            weighed,
        )
        return _Examined(start, weighed, error, limits.missing)

    def _factors(self, tied: _Tied, taken: _Taken) -> tuple[_Factors, list[Fraction]]:
        """Laws of what is taken, of the pool, and of the known columns, and the rates of all their types."""
        row, tilts, of_pool = self._tilts(tied)
        main, opposite = self._cells[tied.main], self._cells[1 - tied.main]
        held = {
            column: (total, tilt)
            for column, total, tilt in zip(tied.columns, tied.totals, tilts, strict=True)
        }
        known = [column for column in tied.columns if taken.total is None or column != taken.cells[0]]
        of_taken = of_pool if taken.total is None else held[taken.cells[0] or 0][1]
        pools = [[at for at in pool if at != gone] for pool, gone in zip(tied.pool, taken.cells, strict=True)]

        def law(cells: list[Types], column: int | None, tilt: float) -> SumLaw:
            return EMPTY if column is None else law_of_types(cells[column], tilt, self._floor)

        first = law(main, taken.cells[0], of_taken * row)
        second = law(opposite, taken.cells[1], of_taken)
        pool_first = law_of_sum([law(main, at, of_pool * row) for at in pools[0]], self._floor)
        pool_second = allow_any_sum(pool_first.weights.size)
        if tied.in_pool is not None:
            pool_second = law_of_sum([law(opposite, at, of_pool) for at in pools[1]], self._floor)
        columns = [
            law_given_sum(
                law(main, at, held[at][1] * row), law(opposite, at, held[at][1]), held[at][0], self._floor
            )
            for at in known
        ]
        if taken.own is not None:
            first, second = first.drop_parts(), second.drop_parts()
        factors = _Factors(first, second, pool_first, pool_second, law_of_sum(columns, self._floor))
        people = [types for at in known for types in (main[at], opposite[at])]
        people += [main[at] for at in pools[0]]
        people += [opposite[at] for at in pools[1] if tied.in_pool is not None]
        if taken.own is None:
            people += [
                cells[at] for cells, at in zip((main, opposite), taken.cells, strict=True) if at is not None
            ]
        return factors, [rate for types in people for rate in types.rates]

    def _tilts(self, tied: _Tied) -> tuple[float, list[float], float]:
        """Tilts of the main row, of the known columns, and of the pool."""
        main, opposite = self._cells[tied.main], self._cells[1 - tied.main]
        groups = [[cells[column]] for column in tied.columns for cells in (main, opposite)]
        groups += [[main[at] for at in tied.pool[0]], [opposite[at] for at in tied.pool[1]]]
        flat = [types for group in groups for types in group]
        sizes = [sum(len(types.people) for types in group) for group in groups]
        tilts = np.empty(len(tied.columns) + 1)
        of_row = kernels.fit_tilts(
            np.cumsum([0, *sizes]),
            np.array([people for types in flat for people in types.people], dtype=np.int64),
            np.concatenate([np.empty(0), *(types.odds() for types in flat)]),
            np.array([*tied.totals, -1 if tied.in_pool is None else tied.in_pool], dtype=np.int64),
            tied.left,
            tilts,
        )
        return of_row, tilts[:-1].tolist(), float(tilts[-1])


def _pairs(types: Types) -> Iterator[tuple[int, Fraction]]:
    return zip(types.people, types.rates, strict=True)


def _list_values(factors: _Factors, taken: _Taken, in_pool: int | None) -> tuple[kernels.Queried, int]:
    """Values that a query may have, and the first of them."""
    first, second = factors.first, factors.second
    ends = first.start + first.weights.size - 1, second.start + second.weights.size - 1
    if taken.total is None:
        values = np.arange(first.start + second.start, sum(ends) + 1)
        least, most = np.full(values.size, first.start), np.full(values.size, ends[0])
        in_query, from_pool = values, values
        cells = [values] * 2
    else:
        start = max(first.start, taken.total - ends[1])
        values = np.arange(start, max(min(ends[0], taken.total - second.start), start) + 1)
        least, most = values, values
        in_query, from_pool = np.full(values.size, taken.total), np.zeros(values.size, np.int64)
        cells = [values, taken.total - values]
    allowed = np.ones(values.size, np.bool_)
    for cell, (low, high) in zip(cells, taken.own or (), strict=False):
        allowed &= (low <= cell) & (cell <= high)
    if in_pool is None:
        from_pool = np.zeros(values.size, np.int64)
        in_pool = factors.pool_first.start + factors.pool_first.weights.size - 1
    return kernels.Queried(least, most, in_query, in_pool - from_pool, allowed), int(values[0])


def _limits(
    factors: _Factors, rates: list[Fraction], epsilon: Fraction, floor: float, least: float
) -> kernels.Limits:
    total, missing = 1.0, 0.0
    for law in factors:
        left_out = max(law.left_out, law.parts_left_out)
        missing = (missing * (law.total + left_out) + total * left_out) * INFLATE
        total *= law.total
    return kernels.Limits(
        np.array(
            [-limit_below(-max(rate * (1 - epsilon), 1 - (1 - rate) * (1 + epsilon))) for rate in rates]
        ),
        np.array([limit_below(min(rate * (1 + epsilon), 1 - (1 - rate) * (1 - epsilon))) for rate in rates]),
        missing,
        sum(law.roundings for law in factors) + _ROUNDINGS,
        factors.known.highest,
        floor,
        least,
    )


def _scratch(factors: _Factors, n_types: int) -> kernels.Scratch:
    n_query = factors.first.weights.size
    n_pool, n_known = factors.pool_first.weights.size, factors.known.weights.size
    return kernels.Scratch(*(np.empty(n) for n in (n_query, n_query, n_pool, n_pool, n_known, n_types)))


def _outlook(examined: _Examined, least: float) -> Outlook:
    """The most likely run of safe values, and the chance of another value at most."""
    weights, safe = examined.found.weight.tolist(), examined.found.safe.tolist()
    best, heaviest, run, weight = NEVER, 0.0, 0, 0.0
    for at, value_weight in enumerate(weights):
        if not safe[at]:
            run, weight = at + 1, 0.0
            continue
        weight += value_weight
        if weight > heaviest:
            best, heaviest = (run, at), weight
    whole, unsafe, missing = 0.0, 0.0, examined.missing
    for at, value_weight in enumerate(weights):
        whole += value_weight
        unsafe += 0.0 if best[0] <= at <= best[1] else value_weight
        missing += float(examined.found.missing[at])
    error = (examined.error + len(weights) * 2.0**-52) * INFLATE
    lowest = whole * (1.0 - error)
    enough = least * max(weights)
    seen = [at for at, value_weight in enumerate(weights) if value_weight >= enough]
    start = examined.start
    return Outlook(
        (start + best[0], start + best[1]) if best != NEVER else NEVER,
        (unsafe * (1.0 + error) + missing) / lowest * INFLATE if lowest > 0.0 else math.inf,
        (start + seen[0], start + seen[-1]),
    )


def steps_by_bounds(cells: list[list[Types]], decision_delta: Fraction) -> float:
    """About how many multiplications it takes to decide two rows, from public numbers alone."""
    deviations = math.sqrt(-2.0 * math.log(max(float(decision_delta) * _FLOOR_SHARE, _LEAST_FLOOR)))
    first, second = (np.array([_variance(types) for types in row], dtype=np.float64) for row in cells)
    both = first + second
    given_total = np.divide(first * second, both, out=np.zeros_like(both), where=both > 0.0)

    def length(variance: FloatArray) -> FloatArray:
        return 2.0 * deviations * np.sqrt(variance) + 1.0

    n_columns = both.size
    known, spread = length(given_total.sum()), length(given_total)
    products = known * spread.sum()
    pools = sum(length(row.sum()) * length(row).sum() for row in (first, second))
    of_columns = (length(both) * (spread + n_columns) * known).sum()
    of_cells = (spread * n_columns * known).sum()
    return float(of_columns + 2.0 * of_cells + n_columns * (6.0 * products + 3.0 * pools))


def _variance(types: Types) -> float:
    return sum(people * float(rate * (1 - rate)) for people, rate in zip(*types, strict=True))
