"""Exact ranges of suppressed cells from all totals together, each with a proof in whole numbers.

The equations of a two-way table are those of a network, so the least and the greatest value of a cell as a real number
are whole numbers. Each is the solution of a linear program (HiGHS, by SciPy). Its floating-point numbers are not
trusted: they are rounded, and two facts are checked in whole numbers of any size.

- The rounded solution satisfies every equation: the cell *can* have this value (a witness).
- The rounded prices of the equations prove, by weak duality, that the cell cannot go beyond some value.

With links between tables the equations need not be those of a network. Then a solution may have fractions, and an
integer program looks for the witness; and prices may be fractions, so they are rounded to multiples of a half, a third,
and so on, too: the largest whole number that they prove counts.

If the two values are equal, the end of the range is certified. Otherwise the wider value is returned, not certified.
"""

from __future__ import annotations

from math import ceil
from time import monotonic
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack

from engine.arrays import BoolArray
from engine.suppression.progress import Progress, silent
from engine.suppression.tables_given import ContradictionError, Named, Sums

__all__ = ["Ranges", "equations", "exact_ranges", "is_solution", "why_infeasible"]

_SHARES: Final = (1, 2, 3, 4, 6)
"""Prices are rounded to multiples of one over these."""
_TOLERANCE: Final = 1e-6
_WITNESS_SECONDS: Final = 5.0
Values = list[int]


class Ranges(NamedTuple):
    """Ranges of the suppressed cells.

    Attributes
    ----------
    low : list of int
    high : list of (int or None)
        None without a limit.
    certified : bool[K]
        Both ends are attained and proved. Otherwise the range may be wider than necessary.
    """

    low: list[int]
    high: list[int | None]
    certified: BoolArray


def exact_ranges(
    table: Named,
    sums: Sums,
    low: list[int],
    high: list[int | None],
    *,
    seconds: float,
    progress: Progress = silent,
) -> Ranges:
    """Find the least and the greatest value of each suppressed cell.

    Parameters
    ----------
    table : Named
    sums : Sums
    low, high : list
        Ranges that are known to contain the exact ones.
    seconds : float
        No new linear program is started after this time; the cells that are left keep the given ranges.
    progress : callable
        Called as progress(stage, done, total), cell by cell.

    Raises
    ------
    ContradictionError
        No table has these totals.
    """
    search = _Search(sums, low, high)
    if search.solve(np.zeros(len(sums.stars))) is None:
        raise ContradictionError(why_infeasible(table, sums, low, high))
    until = monotonic() + seconds
    for position in range(len(sums.stars)):
        progress("ranges from totals", position, len(sums.stars))
        for sign in (1, -1):
            if monotonic() < until:
                search.settle(position, sign)
    certified = [search.is_settled(position) for position in range(len(sums.stars))]
    return Ranges(search.low, search.high, np.array(certified, dtype=np.bool_))


class _Solved(NamedTuple):
    """The prices of the equations in a linear program, and the least value that it found."""

    prices: npt.NDArray[np.float64]
    least: float


class _Search:
    """Ranges that shrink from outside, and the least and greatest values of all witnesses so far."""

    def __init__(self, sums: Sums, low: list[int], high: list[int | None]) -> None:
        self.low, self.high = list(low), list(high)
        self._sums = sums
        self._matrix = equations(sums)
        self._inner_low: list[int | None] = [None] * len(low)
        self._inner_high: list[int | None] = [None] * len(low)
        self._unlimited = [False] * len(low)

    def is_settled(self, position: int) -> bool:
        low_is_exact = self._inner_low[position] == self.low[position]
        high = self.high[position]
        return low_is_exact and (
            self._unlimited[position] if high is None else self._inner_high[position] == high
        )

    def settle(self, position: int, sign: int) -> None:
        """Find the least (sign 1) or the greatest (sign -1) value of a cell, unless a witness has it already."""
        inner = self._inner_low if sign > 0 else self._inner_high
        outer = self.low[position] if sign > 0 else self.high[position]
        if outer is not None and inner[position] == outer:
            return
        costs = np.zeros(len(self.low))
        costs[position] = sign
        solved = self.solve(costs)
        if solved is None:
            # Only a greatest value can be unlimited; the equations have a solution.
            self._unlimited[position] = sign < 0
            return
        bound = self._prove_bound(solved, position, sign)
        if bound is None:
            return
        if sign > 0:
            self.low[position] = max(self.low[position], bound)
        else:
            high = self.high[position]
            self.high[position] = -bound if high is None else min(high, -bound)

    def solve(self, costs: npt.NDArray[np.float64]) -> _Solved | None:
        """Solve a linear program, and remember a witness; None if the program has no solution."""
        rest = np.array(self._sums.rest, dtype=np.float64)
        bounds = list(zip(self.low, self.high, strict=True))
        solution = linprog(costs, A_eq=self._matrix, b_eq=rest, bounds=bounds, method="highs-ds")
        if solution.x is None:
            return None
        if not self._remember(solution.x):
            self._remember(self._solve_whole(costs, rest, bounds))
        return _Solved(np.asarray(solution.eqlin.marginals, dtype=np.float64), float(solution.fun))

    def _solve_whole(
        self,
        costs: npt.NDArray[np.float64],
        rest: npt.NDArray[np.float64],
        bounds: list[tuple[int, int | None]],
    ) -> npt.NDArray[np.float64] | None:
        """Solve the same program in whole numbers; None if that takes too long."""
        low = np.array([least for least, _ in bounds], dtype=np.float64)
        high = np.array([np.inf if most is None else most for _, most in bounds], dtype=np.float64)
        solution = milp(
            costs,
            integrality=np.ones(costs.size),
            bounds=Bounds(low, high),
            constraints=[LinearConstraint(self._matrix, rest, rest)],
            options={"time_limit": _WITNESS_SECONDS},
        )
        return None if solution.x is None else np.asarray(solution.x, dtype=np.float64)

    def _remember(self, solution: npt.NDArray[np.float64] | None) -> bool:
        """Round a solution, and remember it if it satisfies every equation in whole numbers."""
        witness = [] if solution is None else [round(value) for value in solution.tolist()]
        if len(witness) < len(self.low) or not is_solution(self._sums, witness, self.low, self.high):
            return False
        for position, value in enumerate(witness):
            least, most = self._inner_low[position], self._inner_high[position]
            self._inner_low[position] = value if least is None else min(least, value)
            self._inner_high[position] = value if most is None else max(most, value)
        return True

    def _prove_bound(self, solved: _Solved, position: int, sign: int) -> int | None:
        """Return the best lower bound of sign times the cell that the rounded prices prove; None without one."""
        best, wanted = None, ceil(solved.least - _TOLERANCE)
        for share in _SHARES:
            prices = [round(value * share) for value in solved.prices.tolist()]
            bound = self._bound(prices, position, sign * share)
            if bound is not None:
                whole = -(-bound // share)
                best = whole if best is None else max(best, whole)
            if best is not None and best >= wanted:
                break
        return best

    def _bound(self, prices: list[int], position: int, cost_of_cell: int) -> int | None:
        """Return a lower bound of a cost times the cell, by weak duality; None without one."""
        bound: int = sum(price * rest for price, rest in zip(prices, self._sums.rest, strict=True))
        for star_index, star in enumerate(self._sums.stars):
            cost = (cost_of_cell if star_index == position else 0) - sum(
                s * prices[line] for line, s in star.lines
            )
            end = self.low[star_index] if cost > 0 else self.high[star_index]
            if cost != 0 and end is None:
                return None
            bound += cost * (end or 0)
        return bound


def equations(sums: Sums) -> csr_array:
    """Return the equations as a sparse matrix, one row per equation and one column per suppressed cell."""
    entries = [
        (line, position, sign) for position, star in enumerate(sums.stars) for line, sign in star.lines
    ]
    rows, columns, signs = (
        (np.array(part) for part in zip(*entries, strict=True)) if entries else ([], [], [])
    )
    return csr_array((signs, (rows, columns)), shape=(len(sums.rest), len(sums.stars)), dtype=np.float64)


def is_solution(sums: Sums, values: Values, low: list[int], high: list[int | None]) -> bool:
    """Whether whole numbers satisfy every equation and lie in the given ranges, without rounding."""
    left = list(sums.rest)
    for value, star in zip(values, sums.stars, strict=True):
        for line, sign in star.lines:
            left[line] -= sign * value
    inside = all(
        least <= value and (most is None or value <= most)
        for value, least, most in zip(values, low, high, strict=True)
    )
    return inside and not any(left)


def why_infeasible(table: Named, sums: Sums, low: list[int], high: list[int | None]) -> str:
    """Name rows and columns that would have to be changed, as few units as possible, for the table to add up."""
    n_stars, n_lines = len(sums.stars), len(sums.rest)
    unit = eye_array(n_lines)
    matrix = hstack([equations(sums), unit, -unit])
    costs = np.concatenate([np.zeros(n_stars), np.ones(2 * n_lines)])
    bounds = [*zip(low, high, strict=True), *[(0, None)] * (2 * n_lines)]
    solution = linprog(
        costs, A_eq=matrix, b_eq=np.array(sums.rest, dtype=np.float64), bounds=bounds, method="highs-ds"
    )
    if solution.x is None:
        return "no whole numbers fit all rows and columns together; correct the table"
    off = np.abs(solution.x[n_stars : n_stars + n_lines]) + np.abs(solution.x[n_stars + n_lines :])
    names = [table.line_name(line) for line in np.flatnonzero(off > 0.5).tolist()][:3]
    return (
        f"no whole numbers fit all rows and columns together; the totals of {' and '.join(names)} do not agree "
        "with the others"
    )
