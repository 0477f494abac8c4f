"""Why the rule narrows a range: which cells it shows to be primary or not, and what follows from that line by line.

Four short arguments are looked for.

- *Every*: without complementary cells, every suppressed cell is primary.
- *Needed*: if this cell had been shown, no other suppressed cell would follow from the totals. So its star protects
  itself, and the cell is primary.
- *Follows*: the totals determine the cell, whatever its value. So the rule cannot have protected it: it is not primary.
- *Sets*: the cell is primary in all sets of primary cells that are left, or in none of them.

The ranges of these cells are narrowed, and the equations are used again, one at a time. This may not reach the ranges
that the whole rule leaves; what it reaches is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.suppression.attack.narrowing import Step, narrow, narrow_ranges
from engine.suppression.attack.ordinary import Rule
from engine.suppression.attack.rule_check import patterns_of
from engine.suppression.attack.rule_ranges import Needs
from engine.suppression.tables_given import Named, Sums

__all__ = ["Reason", "RuleReasons", "Why", "reasons_of"]

Why = Literal["every", "needed", "follows", "sets"]


class Reason(NamedTuple):
    """Why a suppressed cell is primary, or is not."""

    star: int
    is_primary: bool
    why: Why


class RuleReasons(NamedTuple):
    """What the rule shows in a few steps.

    Attributes
    ----------
    fewest : int
        Least number of primary cells in the tables that the rule leaves; 0 if they are not listed, or if there are no
        complementary cells.
    at_most : list of (int, int)
        Lines with shown totals that leave room for fewer primary cells than they have suppressed cells that could be
        primary, and how many they leave room for.
    reasons : list of Reason
        Those that narrow a range.
    steps : list of Step
        What follows from them, one line at a time.
    """

    fewest: int
    at_most: list[tuple[int, int]]
    reasons: list[Reason]
    steps: list[Step]


def reasons_of(
    table: Named,
    sums: Sums,
    ranges: tuple[Sequence[int], Sequence[int | None]],
    rule: Rule,
    needs: Needs,
    left: npt.NDArray[np.int64] | None,
) -> RuleReasons:
    """Look for short arguments.

    Parameters
    ----------
    table : Named
        What names lines and cells in messages.
    sums : Sums
    ranges : (list of int, list of (int or None))
        Least and greatest values without the rule.
    rule : Rule
    needs : Needs
        What the rule requires of the primary cells.
    left : int64[n, K] or None
        The tables that the whole rule leaves, if they are listed.
    """
    reason_of_star = {
        star: Reason(star, True, "needed") for group in needs.one_of if len(group) == 1 for star in group
    }
    if rule.complementary == "none":
        reason_of_star = {star: Reason(star, True, "every") for star in range(len(sums.stars))}
    reason_of_star |= {star: Reason(star, False, "follows") for star in needs.never}
    fewest = 0
    if left is not None and len(left):
        primary = patterns_of(left, rule).primary
        fewest = int(primary.sum(axis=1).min()) if rule.complementary == "fewest" else 0
        n_sets = primary.sum(axis=0).tolist()
        for star in range(len(sums.stars)):
            if n_sets[star] in (0, len(primary)):
                reason_of_star.setdefault(star, Reason(star, n_sets[star] > 0, "sets"))
    low, high = list(ranges[0]), list(ranges[1])
    reasons = []
    for star, reason in sorted(reason_of_star.items()):
        narrowed = _narrow_range(low[star], high[star], rule, reason.is_primary)
        if narrowed != (low[star], high[star]):
            reasons.append(reason)
            low[star], high[star] = narrowed
    steps = narrow(table, narrow_ranges(sums, low, high)).steps
    return RuleReasons(fewest, _list_crowded_lines(sums, ranges, rule), reasons, steps)


def _narrow_range(low: int, high: int | None, rule: Rule, is_primary: bool) -> tuple[int, int | None]:
    """Return the range of a primary cell, or of one that is not."""
    if is_primary:
        return max(low, rule.low), rule.high if high is None else min(high, rule.high)
    if low >= rule.low:
        low = max(low, rule.high + 1)
    if high is not None and high <= rule.high:
        high = min(high, rule.low - 1)
    return low, high


def _list_crowded_lines(
    sums: Sums, ranges: tuple[Sequence[int], Sequence[int | None]], rule: Rule
) -> list[tuple[int, int]]:
    """Lines in which not all cells that could be primary can be, because they would add up to too little."""
    lines = []
    for line, members in enumerate(sums.members()):
        most = [ranges[1][star] for star in members]
        if not members or None in most or any(dict(sums.stars[star].lines)[line] < 0 for star in members):
            continue
        tops = [top for top in most if top is not None]
        can_be = [
            top
            for star, top in zip(members, tops, strict=True)
            if ranges[0][star] <= rule.high and top >= rule.low
        ]
        room = sum(tops) - sums.rest[line]
        n = 0
        for loss in sorted(max(top - rule.high, 0) for top in can_be):
            room -= loss
            if room < 0:
                break
            n += 1
        if n < len(can_be):
            lines.append((line, n))
    return lines
