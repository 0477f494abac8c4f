"""What a rule adds to ranges when the tables are too many to list: integer programming (HiGHS, by SciPy).

The whole rule ("the fewest complementary cells") is not linear. Two of its consequences are, and they are used:

- a cell that follows from the totals, whatever its value, is not primary;
- no complementary cell could have been shown alone: if it had been, it or another primary cell would follow.

So a range found here may be wider than what the rule really leaves, but is never too narrow. With "none" every
suppressed cell is primary, and the ranges are exact.

The least and greatest values that the program finds are checked in whole numbers against all equations and both
consequences. That nothing lies beyond them rests on HiGHS and its tolerances.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from time import monotonic
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack

from engine.arrays import BoolArray
from engine.suppression.attack.ordinary import OrdinarySuppressor, Rule, follows_from_totals
from engine.suppression.attack.ranges import equations, is_solution
from engine.suppression.progress import Progress, silent
from engine.suppression.tables_given import ContradictionError, Sums

__all__ = ["LARGEST_RANGE", "Needs", "joint_needs", "needs_of", "ranges_under_rule"]

LARGEST_RANGE: Final = 10**6
"""Widest range of a cell that the integer program is used for: its tolerance is a millionth."""
_TOLERANCE: Final = 1e-4
_OPTIMAL: Final = 0
_INFEASIBLE: Final = 2


class Needs(NamedTuple):
    """Two consequences of the rule for which cells are primary.

    Attributes
    ----------
    never : frozenset of int
        Stars that cannot be primary, by position.
    one_of : tuple of frozenset of int
        For each star: if none of these were primary, the star would not have been needed.
    """

    never: frozenset[int]
    one_of: tuple[frozenset[int], ...]

    def are_met(self, small: npt.NDArray[np.bool_]) -> BoolArray:
        """Say for sets of primary cells, bool[n, K], whether both consequences hold."""
        met = np.logical_not(np.logical_or.reduce(small[:, sorted(self.never)], axis=1))
        for group in self.one_of:
            met &= np.logical_or.reduce(small[:, sorted(group)], axis=1)
        return np.asarray(met, dtype=np.bool_)


def needs_of(suppressor: OrdinarySuppressor, stars: npt.NDArray[np.int64]) -> Needs:
    """Return what the rule requires of the primary cells among the published stars.

    Parameters
    ----------
    suppressor : OrdinarySuppressor
    stars : int64[K]
        Positions of the suppressed cells in the table, row-major.
    """
    if suppressor.rule.complementary == "none":
        return Needs(frozenset(), tuple(frozenset({position}) for position in range(len(stars))))
    place = {cell: position for position, cell in enumerate(stars.tolist())}
    pattern = frozenset(place)
    never = follows_from_totals(suppressor.layout, pattern)
    groups = [{cell, *follows_from_totals(suppressor.layout, pattern - {cell})} - never for cell in place]
    return Needs(
        frozenset(place[cell] for cell in never),
        tuple(frozenset(place[cell] for cell in group) for group in groups),
    )


def joint_needs(of_tables: Sequence[tuple[Needs, int]]) -> Needs:
    """Return what the rule requires of several tables, given the position of each table's first star among all."""
    never = [first + star for needs, first in of_tables for star in needs.never]
    groups = [
        frozenset(first + star for star in group) for needs, first in of_tables for group in needs.one_of
    ]
    return Needs(frozenset(never), tuple(groups))


class RuleRanges(NamedTuple):
    """Ranges under the rule.

    Attributes
    ----------
    low, high : list of int
    found : bool[K]
        The integer program settled both ends in time. Otherwise an end may be the one without the rule.
    """

    low: list[int]
    high: list[int]
    found: BoolArray


def ranges_under_rule(
    sums: Sums,
    low: list[int],
    high: list[int],
    needs: Needs,
    rule: Rule,
    *,
    seconds: float,
    progress: Progress = silent,
) -> RuleRanges | None:
    """Find ranges that the rule leaves, or None if a cell's range is too wide for the program.

    Parameters
    ----------
    sums : Sums
    low, high : list of int
        Ranges without the rule.
    needs : Needs
        What the rule requires.
    rule : Rule
    seconds : float
        For all programs together.
    progress : callable
        Called as progress(stage, done, total), cell by cell.

    Raises
    ------
    ContradictionError
        No table agrees with the totals and the rule.
    """
    if max(most - least for least, most in zip(low, high, strict=True)) > LARGEST_RANGE:
        return None
    program = _Program(sums, low, high, needs, rule)
    until = monotonic() + seconds
    ranges = RuleRanges(list(low), list(high), np.zeros(len(low), dtype=np.bool_))
    for position in range(len(low)):
        progress("ranges with the rule", position, len(low))
        ends = [program.end(position, sign, until) for sign in (1, -1)]
        if ends[0] is not None:
            ranges.low[position] = max(low[position], ends[0])
        if ends[1] is not None:
            ranges.high[position] = min(high[position], -ends[1])
        ranges.found[position] = None not in ends
    return ranges


class _Program:
    """One integer program; only its objective changes.

    Each cell has its value x and three zero-one variables: below, within, or above the rule's range. So x is at least
    low·below + rule.low·within + (rule.high + 1)·above and at most
    (rule.low - 1)·below + rule.high·within + high·above.
    """

    def __init__(self, sums: Sums, low: list[int], high: list[int], needs: Needs, rule: Rule) -> None:
        self._sums, self._low, self._high, self._needs, self._rule = sums, low, high, needs, rule
        n = len(low)
        least, most = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        identity = eye_array(n)
        nothing = csr_array((len(sums.rest), 3 * n))
        groups = _indicator(needs.one_of, n)
        at_least = hstack(
            [identity, -_scale_identity(least), -rule.low * identity, -(rule.high + 1) * identity]
        )
        at_most = hstack(
            [identity, -(rule.low - 1) * identity, -rule.high * identity, -_scale_identity(most)]
        )
        self._constraints = [
            LinearConstraint(hstack([equations(sums), nothing]), np.array(sums.rest), np.array(sums.rest)),
            LinearConstraint(hstack([csr_array((n, n)), identity, identity, identity]), 1, 1),
            LinearConstraint(at_least, 0, np.inf),
            LinearConstraint(at_most, -np.inf, 0),
            LinearConstraint(_widen_groups(groups, n), 1, np.inf),
        ]
        within = np.ones(n)
        within[sorted(needs.never)] = 0
        below, above = least < rule.low, most > rule.high
        self._bounds = Bounds(
            np.concatenate([least, np.zeros(3 * n)]), np.concatenate([most, below, within, above])
        )

    def end(self, position: int, sign: int, until: float) -> int | None:
        """Return the least value of sign times a cell; None if the time is up."""
        costs = np.zeros(4 * len(self._low))
        costs[position] = sign
        left = until - monotonic()
        if left <= 0:
            return None
        solution = milp(
            costs,
            integrality=np.ones(len(costs)),
            bounds=self._bounds,
            constraints=self._constraints,
            options={"time_limit": left, "mip_rel_gap": 0.0},
        )
        if solution.status == _INFEASIBLE:
            raise ContradictionError("no table with these totals gets these stars by the rule")
        if solution.status != _OPTIMAL or solution.x is None:
            return None
        witness = [round(value) for value in solution.x[: len(self._low)].tolist()]
        bound = ceil(solution.mip_dual_bound - _TOLERANCE)
        return bound if self._is_table(witness) and sign * witness[position] == bound else None

    def _is_table(self, witness: list[int]) -> bool:
        small = np.array([[self._rule.low <= value <= self._rule.high for value in witness]])
        return is_solution(self._sums, witness, list(self._low), list(self._high)) and bool(
            self._needs.are_met(small)[0]
        )


def _scale_identity(values: npt.NDArray[np.float64]) -> csr_array:
    n = np.arange(len(values))
    return csr_array((values, (n, n)), shape=(len(values), len(values)))


def _indicator(groups: tuple[frozenset[int], ...], n: int) -> csr_array:
    rows = [row for row, group in enumerate(groups) for _ in group]
    columns = [position for group in groups for position in sorted(group)]
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(groups), n))


def _widen_groups(groups: csr_array, n: int) -> csr_array:
    """Place the groups at the variables "within the rule's range"."""
    nothing = csr_array((groups.shape[0], n))
    return csr_array(hstack([nothing, nothing, groups, nothing]))
