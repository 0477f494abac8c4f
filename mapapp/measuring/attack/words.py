"""What an attack found, in sentences that somebody who publishes such tables can follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from engine.suppression.attack import Attack, Known
from engine.suppression.narrowing import Step
from engine.suppression.ordinary import Rule
from engine.suppression.rule_check import patterns_of
from engine.suppression.tables_given import SUPPRESSED

__all__ = ["attack_lines", "runs_text", "sets_of_small_cells"]

SHOWN_CELLS: Final = 40
SHOWN_STEPS: Final = 30
SHOWN_SETS: Final = 10


def attack_lines(found: Attack, title: str) -> list[str]:
    """All that `commutemap attack` prints."""
    lines = [f"{title}: {_described(found)}"]
    if not found.sums.stars:
        return [*lines, "No cell is suppressed, so there is nothing to find."]
    lines += ["", *_before_lines(found)]
    if found.rule is not None:
        lines += ["", *_after_lines(found, found.rule)]
    return [*lines, "", *_steps(found), "", _closing(found)]


def runs_text(runs: list[tuple[int, int | None]]) -> str:
    """The values of a cell: "0–5 or 50–55"."""
    parts = []
    for low, high in runs[:4]:
        if high is None:
            parts.append(f"{low:,} or more")
        else:
            parts.append(f"{low:,}" if low == high else f"{low:,}–{high:,}")
    return " or ".join(parts) + (f" or {len(runs) - 4:,} more ranges" if len(runs) > 4 else "")


def sets_of_small_cells(found: Attack) -> list[tuple[int, list[int]]]:
    """Which cells can be primary together, by position, and in how many tables; the most frequent first."""
    if found.rule is None or found.after is None or found.after.tables is None:
        return []
    patterns = patterns_of(found.after.tables, found.rule)
    pairs = zip(patterns.primary, patterns.n_tables.tolist(), strict=True)
    sets = [(n_tables, np.flatnonzero(row).tolist()) for row, n_tables in pairs]
    return sorted(sets, key=lambda one: (-one[0], one[1]))


def _described(found: Attack) -> str:
    table = found.table
    n_rows, n_columns = table.values.shape[0] - table.total_row, table.values.shape[1] - table.total_column
    totals = {
        (True, True): "totals of rows and columns",
        (True, False): "totals of columns only",
        (False, True): "totals of rows only",
        (False, False): "no totals",
    }[table.total_row, table.total_column]
    return (
        f"{n_rows:,} × {n_columns:,} cells, {totals}; {_counted(len(found.sums.stars), 'suppressed cell')}."
    )


def _before_lines(found: Attack) -> list[str]:
    known = found.before
    if known.tables is not None:
        agree = "agrees" if len(known.tables) == 1 else "agree"
        how = f"{_counted(len(known.tables), 'table')} of whole numbers {agree} with them; all were listed"
    else:
        how = "the tables that agree with them are too many to list; the ranges were computed by linear programming"
        how += _unsettled(known)
    clue = ", and what else is known" if _knows_more(found) else ""
    return [f"From what is published{clue}: {how}.", *_cells(found, known)]


def _after_lines(found: Attack, rule: Rule) -> list[str]:
    known = found.after
    named = f"With the rule ({_rule_text(rule)})"
    if known is None:
        return [f"{named}: not used, because a range is too wide for integer programming."]
    if known.tables is not None and found.before.tables is not None:
        n, of = len(known.tables), len(found.before.tables)
        how = f"the suppressor was run again on each table, and {n:,} of {of:,} {'gets' if n == 1 else 'get'} these "
        how += f"stars ({_share(n, of)})"
        if found.rule_used == "consequences":
            how = (
                f"running the suppressor again would take too long; {n:,} of {of:,} tables ({_share(n, of)}) have no "
                "star that could have been left out alone; the rule may give away more"
            )
    else:
        how = "the ranges were computed by integer programming"
        if found.rule_used == "consequences":
            how += (
                ", which only uses that no star could have been left out alone; the rule may give away more"
            )
        how += _unsettled(known) if found.rule_used == "whole" else ""
    return [f"{named}: {how}.", *_excluded(found, rule), *_cells(found, known), *_sets(found, rule)]


def _excluded(found: Attack, rule: Rule) -> Iterator[str]:
    """Why the other tables do not get these stars."""
    n_published = len(found.sums.stars)
    for n_tables, n_stars in found.excluded:
        tables = f"  {_counted(n_tables, 'other')}"
        if n_stars is None:
            yield f"{tables} would need more than these {n_published:,} stars."
        elif n_stars == 0:
            yield f"{tables} would have no star, because no cell is from {rule.low} to {rule.high}."
        elif n_stars == n_published:
            yield f"{tables} would have as many stars, in other cells."
        else:
            yield f"{tables} would need only {_counted(n_stars, 'star')}."


def _rule_text(rule: Rule) -> str:
    ties = {
        "any": "the fewest further cells, chosen in an unknown way",
        "first": "the fewest further cells, the first such choice row by row",
    }[rule.ties]
    return f"{rule.low}–{rule.high} suppressed, and {'no' if rule.complementary == 'none' else ties}" + (
        " further cells" if rule.complementary == "none" else ""
    )


def _cells(found: Attack, known: Known) -> Iterator[str]:
    """One line per suppressed cell, cells with the fewest values first if not all are shown."""
    names = [_name(found, position) for position in range(len(found.sums.stars))]
    order = list(range(len(names)))
    if len(order) > SHOWN_CELLS:
        order = sorted(order, key=lambda position: (_width(known, position), position))[:SHOWN_CELLS]
    width = max(len(names[position]) for position in order)
    for position in order:
        yield f"  {names[position]:<{width}}  {runs_text(known.runs(position))}{_mark(found, known, position)}"
    if len(order) < len(names):
        yield f"  … and {len(names) - len(order):,} more, with wider ranges; --csv and --json have all."


def _mark(found: Attack, known: Known, position: int) -> str:
    if known.low[position] == known.high[position]:
        return "  known exactly"
    rule = found.rule
    if rule is not None and known.within(rule.low, rule.high)[position]:
        return f"  certainly {rule.low}–{rule.high}"
    return ""


def _sets(found: Attack, rule: Rule) -> Iterator[str]:
    sets = sets_of_small_cells(found)
    if not sets or rule.complementary == "none":
        return
    what = f"cells from {rule.low} to {rule.high}"
    yield f"  The {what} are " + ("these:" if len(sets) == 1 else f"one of {len(sets):,} sets:")
    for n, cells in sets[:SHOWN_SETS]:
        yield f"    {_counted(n, 'table')}: {'; '.join(_name(found, position) for position in cells)}"
    if len(sets) > SHOWN_SETS:
        yield f"    … and {len(sets) - SHOWN_SETS:,} more sets."


def _steps(found: Attack) -> Iterator[str]:
    """How ranges follow, one row or column at a time; only the last step for each end of a range."""
    last = {(step.star, step.is_low): step for step in found.steps}
    kept = sorted(last.values(), key=found.steps.index)
    yield "How it follows:"
    introduced: set[int] = set()
    for step in kept[:SHOWN_STEPS]:
        if step.line not in introduced:
            introduced.add(step.line)
            yield f"  {_line_text(found, step.line)}"
        yield f"    {_step_text(found, step)}"
    if len(kept) > SHOWN_STEPS:
        yield f"  … and {len(kept) - SHOWN_STEPS:,} more steps like these."
    if not kept:
        yield "  No row or column narrows a cell by itself."
    yield from _together(found)


def _line_text(found: Attack, line: int) -> str:
    """What a row or column says: "Row North adds up to 110. Its shown cells ..."."""
    table = found.table
    n_rows = table.values.shape[0]
    cells = table.values[line] if line < n_rows else table.values[:, line - n_rows]
    name = table.line_name(line)
    name = name[0].upper() + name[1:]
    total, parts = int(cells[-1]), cells[:-1]
    shown = int(parts[parts != SUPPRESSED].sum())
    n_stars = int((parts == SUPPRESSED).sum())
    if total == SUPPRESSED:
        return f"{name} shows {shown:,}, and its total is suppressed."
    if n_stars == len(parts):
        all_of = "both of" if n_stars == 2 else f"all {n_stars:,} of"
        return f"{name} adds up to {total:,}, and {all_of} its cells are suppressed."
    are = "its suppressed cell is" if n_stars == 1 else f"its {n_stars:,} suppressed cells add up to"
    return f"{name} adds up to {total:,} and shows {shown:,}, so {are} {total - shown:,}."


def _step_text(found: Attack, step: Step) -> str:
    name = _name(found, step.star)
    cells = [star for star in found.sums.stars if step.line in dict(star.lines)]
    end = f"{name} is at {'least' if step.is_low else 'most'} {step.bound:,}"
    total_is_star = any(dict(star.lines)[step.line] < 0 for star in cells)
    if len(cells) == 1:
        return f"So {name} is {step.bound:,}."
    if total_is_star:
        return f"So {end}."
    others = (
        "The other suppressed cell is"
        if len(cells) == 2
        else f"The other {len(cells) - 1:,} suppressed cells are"
    )
    together = "" if len(cells) == 2 else " together"
    return f"{others} at {'most' if step.is_low else 'least'} {step.others:,}{together}, so {end}."


def _together(found: Attack) -> Iterator[str]:
    """Ranges that no single row or column gives."""
    low = [star.low for star in found.sums.stars]
    high = [star.high for star in found.sums.stars]
    for step in found.steps:
        if step.is_low:
            low[step.star] = step.bound
        else:
            high[step.star] = step.bound
    positions = range(len(low))
    more = [p for p in positions if (low[p], high[p]) != (found.before.low[p], found.before.high[p])]
    for position in more[:SHOWN_STEPS]:
        known = runs_text([(found.before.low[position], found.before.high[position])])
        yield f"  All rows and columns together: {_name(found, position)} is {known}."
    if len(more) > SHOWN_STEPS:
        yield f"  … and {len(more) - SHOWN_STEPS:,} more cells from all rows and columns together."


def _closing(found: Attack) -> str:
    """Cells known exactly, and cells known to be small, before and after the rule."""
    known = [sum(found.before.exact())]
    small = [] if found.rule is None else [sum(found.before.within(found.rule.low, found.rule.high))]
    if found.after is not None and found.rule is not None:
        known.append(sum(found.after.exact()))
        small.append(sum(found.after.within(found.rule.low, found.rule.high)))
    text = f"Known exactly: {_arrow(known)} of {_counted(len(found.sums.stars), 'suppressed cell')}"
    if found.rule is None:
        return f"{text}. If you know which values were suppressed, add --rule, such as --rule 0..5."
    return f"{text}; certainly {found.rule.low}–{found.rule.high}: {_arrow(small)}" + (
        " (from totals → with the rule)." if len(known) == 2 else " (from totals)."
    )


def _arrow(numbers: list[int]) -> str:
    return " → ".join(f"{number:,}" for number in numbers)


def _unsettled(known: Known) -> str:
    n = int((~known.settled).sum())
    return f" ({_counted(n, 'cell')} not settled in time: the real range may be narrower)" if n else ""


def _knows_more(found: Attack) -> bool:
    return found.table.least is not None or found.table.most is not None


def _name(found: Attack, position: int) -> str:
    star = found.sums.stars[position]
    return f"{found.table.row_name(star.row)}, {found.table.column_name(star.column)}"


def _width(known: Known, position: int) -> float:
    high = known.high[position]
    return float("inf") if high is None else high - known.low[position]


def _share(n: int, of: int) -> str:
    share = 100 * n / of
    return f"{share:.1f}%" if share >= 0.1 or n == 0 else "less than 0.1%"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
