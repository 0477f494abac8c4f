"""The attack on tables with stars: what follows from totals and links, and what the rule that made the stars adds.

Where the tables that agree with the totals can be listed, everything is exact: the suppressor is run again on each, and
those that get the same stars are kept. Otherwise ranges come from linear and integer programs, and say so.

Source: Nabar and Mishra, "Releasing Private Contingency Tables", Figure 1; docs/attack.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray
from engine.errors import OverflowRefusedError
from engine.suppression.attack.consistent import LISTED, list_consistent
from engine.suppression.attack.linked_tables import LinkedTables
from engine.suppression.attack.narrowing import Step, narrow, narrow_ranges
from engine.suppression.attack.ordinary import Layout, OrdinarySuppressor, Rule
from engine.suppression.attack.ranges import exact_ranges, why_infeasible
from engine.suppression.attack.rule_check import Outcome, agrees_with_rule, outcomes, stars_of
from engine.suppression.attack.rule_ranges import Needs, RuleRanges, joint_needs, needs_of, ranges_under_rule
from engine.suppression.attack.rule_reasons import RuleReasons, reasons_of
from engine.suppression.progress import Progress, silent
from engine.suppression.tables_given import ContradictionError, GivenTable, Star, Sums

__all__ = ["Attack", "Known", "RuleUsed", "attack_linked", "attack_table"]

RuleUsed = Literal["whole", "consequences", "not used"]
_Program = Callable[[Sums, list[int], list[int], Needs, Rule], RuleRanges | None]
Tables = npt.NDArray[np.int64]


class Known(NamedTuple):
    """What is known about the suppressed cells at one stage.

    Attributes
    ----------
    low : list of int
    high : list of (int or None)
        None without a limit.
    settled : bool[K]
        The range is exact; otherwise the real one may be narrower.
    tables : int64[n, K] or None
        All values that are possible together; None if they were not listed.
    """

    low: list[int]
    high: list[int | None]
    settled: BoolArray
    tables: Tables | None

    @classmethod
    def of(cls, tables: Tables) -> Known:
        """Return what listed tables say."""
        low, high = tables.min(axis=0).tolist(), tables.max(axis=0).tolist()
        return cls(low, high, np.ones(tables.shape[1], dtype=np.bool_), tables)

    def exact(self) -> list[bool]:
        """Whether each cell is known exactly."""
        return [low == high for low, high in zip(self.low, self.high, strict=True)]

    def within(self, low: int, high: int) -> list[bool]:
        """Whether each cell is known to be in a range of values."""
        return [
            low <= least and most is not None and most <= high
            for least, most in zip(self.low, self.high, strict=True)
        ]

    def runs(self, position: int) -> list[tuple[int, int | None]]:
        """Return the values of a cell as runs of whole numbers; its range, if the tables were not listed."""
        if self.tables is None:
            return [(self.low[position], self.high[position])]
        values = np.unique(self.tables[:, position])
        parts = np.split(values, np.flatnonzero(np.diff(values) > 1) + 1)
        return [(int(part[0]), int(part[-1])) for part in parts]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attack:
    """What follows from a published table, or from several that are linked.

    Attributes
    ----------
    linked : LinkedTables
        The tables; findings are about those that are `attacked`.
    sums : Sums
        Their suppressed cells, in row-major order, and their equations.
    rule : Rule or None
        The rule that made the stars, if it is known.
    steps : list of Step
        How ranges follow from one row or column at a time.
    before : Known
        From totals alone.
    after : Known or None
        With the rule as well.
    rule_used : {"whole", "consequences", "not used"}
        "consequences": the rule was too costly to run again, and only what follows from it simply was used, so the
        ranges may be wider than what it really gives away. "not used": no rule, or ranges too wide for it.
    excluded : list of Outcome
        What the rule gives to the listed tables that it excludes, where that could be found.
    reasons : RuleReasons or None
        Short arguments for what the rule adds.
    """

    linked: LinkedTables
    sums: Sums
    rule: Rule | None
    steps: list[Step]
    before: Known
    after: Known | None
    rule_used: RuleUsed
    excluded: list[Outcome]
    reasons: RuleReasons | None

    @property
    def share_left(self) -> float | None:
        """Share of the tables with these totals that the rule leaves; None if they were not listed."""
        if self.after is None or self.after.tables is None or self.before.tables is None:
            return None
        return len(self.after.tables) / len(self.before.tables)


def attack_table(
    table: GivenTable,
    rule: Rule | None = None,
    *,
    limit: int = LISTED,
    seconds: float = 60.0,
    progress: Progress = silent,
) -> Attack:
    """Find what follows from a table with suppressed cells.

    Parameters
    ----------
    table : GivenTable
    rule : Rule, optional
        How the stars were made.
    limit : int
        Most values to keep when tables are listed: tables times suppressed cells.
    seconds : float
        For the linear programs, and again for the integer programs, where tables are not listed.
    progress : callable
        Called as progress(stage, done, total).

    Raises
    ------
    ContradictionError
        No table has these totals, or none gets these stars by the rule.
    """
    return _attack(LinkedTables.of(table), rule, limit, seconds, progress)


def attack_linked(
    linked: LinkedTables,
    rule: Rule | None = None,
    *,
    limit: int = LISTED,
    seconds: float = 60.0,
    progress: Progress = silent,
) -> list[Attack]:
    """Find what follows from several tables, each suppressed by itself, and the links between them.

    Parameters and errors are those of :func:`attack_table`. Tables that no link joins through suppressed cells are
    attacked apart from each other.
    """
    return [_attack(group, rule, limit, seconds, progress) for group in linked.groups()]


def _attack(
    linked: LinkedTables, rule: Rule | None, limit: int, seconds: float, progress: Progress
) -> Attack:
    sums = linked.sums()
    if rule is not None:
        for number in linked.attacked:
            _check_shown_by_rule(linked, number, rule)
    narrowed = narrow(linked, sums)
    narrower = narrow_ranges(sums, narrowed.low, narrowed.high)
    try:
        listed = list_consistent(narrower, limit=limit)
    except OverflowRefusedError:
        listed = None
    if listed is not None and not len(listed):
        raise ContradictionError(why_infeasible(linked, sums, narrowed.low, narrowed.high))
    if listed is None:
        low, high, settled = exact_ranges(
            linked, sums, narrowed.low, narrowed.high, seconds=seconds, progress=progress
        )
        before = Known(low, high, settled, None)
    elif sums.stars:
        before = Known.of(listed)
    else:
        before = Known([], [], np.zeros(0, dtype=np.bool_), listed)
    suppressed = [] if rule is None else _list_suppressed(linked, sums, rule)
    after, used = _apply_rule(
        sums, before, rule, suppressed, partial(ranges_under_rule, seconds=seconds, progress=progress)
    )
    reasons = None
    if rule is not None and after is not None:
        left = after.tables if used == "whole" else None
        reasons = reasons_of(linked, sums, (before.low, before.high), rule, _needs(suppressed), left)
    return Attack(
        linked=linked,
        sums=sums,
        rule=rule,
        steps=narrowed.steps,
        before=before,
        after=after,
        rule_used=used,
        excluded=_list_excluded(before, suppressed) if used == "whole" else [],
        reasons=reasons,
    )


class _Suppressed(NamedTuple):
    """One table's suppressor, the positions of its stars in the table, and which of all stars they are."""

    suppressor: OrdinarySuppressor
    stars: npt.NDArray[np.int64]
    among: slice


def _list_suppressed(linked: LinkedTables, sums: Sums, rule: Rule) -> list[_Suppressed]:
    suppressed = []
    for number in linked.attacked:
        table, positions = (
            linked.tables[number],
            [at for at, star in enumerate(sums.stars) if star.table == number],
        )
        if positions:
            among = slice(positions[0], positions[-1] + 1)
            stars = stars_of(table, sums._replace(stars=sums.stars[among]))
            suppressed.append(_Suppressed(OrdinarySuppressor(Layout.of(table), rule), stars, among))
    return suppressed


def _needs(suppressed: list[_Suppressed]) -> Needs:
    return joint_needs(
        [
            (needs_of(suppression.suppressor, suppression.stars), suppression.among.start)
            for suppression in suppressed
        ]
    )


def _list_excluded(before: Known, suppressed: list[_Suppressed]) -> list[Outcome]:
    """What the rule gives to the other tables; of linked tables, this is not said."""
    if before.tables is None or len(suppressed) != 1:
        return []
    try:
        return outcomes(before.tables, suppressed[0].stars, suppressed[0].suppressor)
    except OverflowRefusedError:
        return []


def _check_shown_by_rule(linked: LinkedTables, number: int, rule: Rule) -> None:
    """Refuse a table that shows a value which the rule suppresses."""
    table = linked.tables[number]
    n_columns = table.values.shape[1]
    for cell in Layout.of(table).cells():
        row, column = divmod(cell, n_columns)
        if rule.low <= table.values[row, column] <= rule.high:
            name = linked.star_name(Star(row, column, (), 0, None, number))
            raise ContradictionError(
                f"{name} shows {table.values[row, column]}, which the rule "
                f"{rule.low}..{rule.high} suppresses: these stars were made by another rule"
            )


def _apply_rule(
    sums: Sums, before: Known, rule: Rule | None, suppressed: list[_Suppressed], program: _Program
) -> tuple[Known | None, RuleUsed]:
    if rule is None or not sums.stars:
        return None, "not used"
    used: RuleUsed = "whole"
    if before.tables is not None:
        agrees = np.ones(len(before.tables), dtype=np.bool_)
        for suppression in suppressed:
            values = before.tables[:, suppression.among]
            try:
                agrees &= agrees_with_rule(values, suppression.stars, suppression.suppressor)
            except OverflowRefusedError:
                used = "consequences"
                small = (values >= rule.low) & (values <= rule.high)
                agrees &= needs_of(suppression.suppressor, suppression.stars).are_met(small)
        if not agrees.any():
            raise ContradictionError(_why_no_table(rule))
        after = Known.of(before.tables[agrees])
        return (after if used == "whole" else after._replace(settled=~after.settled)), used
    return _apply_rule_by_programs(sums, before, rule, suppressed, program)


def _apply_rule_by_programs(
    sums: Sums, before: Known, rule: Rule, suppressed: list[_Suppressed], program: _Program
) -> tuple[Known | None, RuleUsed]:
    """Use the rule's consequences by integer programs."""
    needs = _needs(suppressed)
    if not all(needs.one_of):
        raise ContradictionError(_why_no_table(rule))
    low, high = _narrow_primary(before, needs.one_of, rule)
    limited = [most for most in high if most is not None]
    if len(limited) < len(high):
        return None, "not used"
    ranges = program(sums, low, limited, needs, rule)
    if ranges is None:
        return None, "not used"
    used: RuleUsed = "whole" if rule.complementary == "none" else "consequences"
    settled = ranges.found & (used == "whole")
    return Known(ranges.low, list(ranges.high), settled, None), used


def _narrow_primary(
    before: Known, one_of: tuple[frozenset[int], ...], rule: Rule
) -> tuple[list[int], list[int | None]]:
    """Return the ranges, narrowed for stars that are certainly primary."""
    low, high = list(before.low), list(before.high)
    for position in {next(iter(group)) for group in one_of if len(group) == 1}:
        most = high[position]
        low[position] = max(low[position], rule.low)
        high[position] = rule.high if most is None else min(most, rule.high)
        if low[position] > (high[position] or 0):
            raise ContradictionError(_why_no_table(rule))
    return low, high


def _why_no_table(rule: Rule) -> str:
    what = "the fewest complementary cells" if rule.complementary == "fewest" else "no complementary cells"
    return (
        f"no table with these totals gets these stars if {rule.low}..{rule.high} is suppressed with {what}: "
        "they were made by another rule"
    )
