"""What an attack found, in sentences that somebody who publishes such tables can follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from engine.suppression.attack.attack import Attack, Known
from engine.suppression.attack.linked_tables import CellOf, Link
from engine.suppression.attack.narrowing import Step
from engine.suppression.attack.ordinary import Rule
from engine.suppression.attack.rule_check import patterns_of
from engine.suppression.attack.rule_reasons import Reason, RuleReasons
from engine.suppression.tables_given import SUPPRESSED, GivenTable

__all__ = ["attack_lines", "runs_text", "sets_of_small_cells"]

SHOWN_CELLS: Final = 40
SHOWN_STEPS: Final = 30
SHOWN_SETS: Final = 10


def attack_lines(attacks: Sequence[Attack], titles: Sequence[str], how_linked: str = "") -> list[str]:
    """All that `commutemap attack` prints: about one table, or about each group of linked ones.

    Parameters
    ----------
    attacks : sequence of Attack
        One for each group of tables.
    titles : sequence of str
        Of all tables.
    how_linked : str
        Of several tables, in a sentence.
    """
    linked = attacks[0].linked
    lines = [f"{title}: {_describe_table(linked.tables[number])}" for number, title in enumerate(titles)]
    lines += [how_linked] * bool(how_linked)
    if not any(attack.sums.stars for attack in attacks):
        return [*lines, "No cell is suppressed, so there is nothing to find."]
    for attack in attacks:
        if attack.sums.stars:
            lines += ["", *_group_lines(attack, is_alone=len(attacks) == 1)]
    return lines


def _group_lines(attack: Attack, *, is_alone: bool) -> Iterator[str]:
    """What follows about the tables of one group."""
    if not is_alone:
        names = [attack.linked.names[number] for number in attack.linked.attacked]
        yield f"{' and '.join(names)}, whose suppressed cells no link joins to those of another table:"
    yield from _before_lines(attack)
    if attack.rule is not None:
        yield ""
        yield from _after_lines(attack, attack.rule)
    yield from ("", "How it follows:", *_steps(attack, attack.steps))
    if not attack.steps:
        yield "  No row or column narrows a cell by itself."
    yield from _joint_lines(attack)
    if attack.rule is not None and attack.reasons is not None:
        yield from ("", "What the rule adds:", *_reasons(attack, attack.rule, attack.reasons))
    yield from ("", _closing_line(attack))


def runs_text(runs: list[tuple[int, int | None]]) -> str:
    """The values of a cell: "0–5 or 50–55"."""
    parts = []
    for low, high in runs[:4]:
        if high is None:
            parts.append(f"{low:,} or more")
        else:
            parts.append(f"{low:,}" if low == high else f"{low:,}–{high:,}")
    return " or ".join(parts) + (f" or {len(runs) - 4:,} more ranges" if len(runs) > 4 else "")


def sets_of_small_cells(attack: Attack) -> list[tuple[int, list[int]]]:
    """Which cells can be primary together, by position, and in how many tables; the most frequent first."""
    if attack.rule is None or attack.after is None or attack.after.tables is None:
        return []
    patterns = patterns_of(attack.after.tables, attack.rule)
    pairs = zip(patterns.primary, patterns.n_tables.tolist(), strict=True)
    sets = [(n_tables, np.flatnonzero(row).tolist()) for row, n_tables in pairs]
    return sorted(sets, key=lambda counted_set: (-counted_set[0], counted_set[1]))


def _describe_table(table: GivenTable) -> str:
    n_rows, n_columns = table.values.shape[0] - table.total_row, table.values.shape[1] - table.total_column
    totals = {
        (True, True): "totals of rows and columns",
        (True, False): "totals of columns only",
        (False, True): "totals of rows only",
        (False, False): "no totals",
    }[table.total_row, table.total_column]
    n_stars = int(table.suppressed.sum())
    return f"{n_rows:,} × {n_columns:,} cells, {totals}; {_count_nouns(n_stars, 'suppressed cell')}."


def _before_lines(attack: Attack) -> list[str]:
    known = attack.before
    if known.tables is not None:
        agree = "agrees" if len(known.tables) == 1 else "agree"
        what = "table" if len(attack.linked.attacked) == 1 else "set"
        of = "" if what == "table" else " of tables"
        how = (
            f"{_count_nouns(len(known.tables), what)}{of} of whole numbers {agree} with them; all were listed"
        )
    else:
        how = "the tables that agree with them are too many to list; the ranges were computed by linear programming"
        how += _unsettled_clause(known)
    clue = ", and what else is known" if _knows_more(attack) else ""
    used = attack.linked.used_links()
    clue = (", with the links" if any(not link.is_within_one_table for link in used) else "") + clue
    return [f"From what is published{clue}: {how}.", *_cells(attack, known)]


def _after_lines(attack: Attack, rule: Rule) -> list[str]:
    known = attack.after
    named = f"With the rule ({_rule_text(rule)})"
    if known is None:
        return [f"{named}: not used, because a range is too wide for integer programming."]
    if known.tables is not None and attack.before.tables is not None:
        n, of = len(known.tables), len(attack.before.tables)
        how = f"the suppressor was run again on each table, and {n:,} of {of:,} {'gets' if n == 1 else 'get'} these "
        how += f"stars ({_share(n, of)})"
        if attack.rule_used == "consequences":
            how = (
                f"running the suppressor again would take too long; {n:,} of {of:,} tables ({_share(n, of)}) have no "
                "star that could have been left out alone; the rule may give away more"
            )
    else:
        how = "the ranges were computed by integer programming"
        if attack.rule_used == "consequences":
            how += (
                ", which only uses that no star could have been left out alone; the rule may give away more"
            )
        how += _unsettled_clause(known) if attack.rule_used == "whole" else ""
    return [f"{named}: {how}.", *_excluded_lines(attack, rule), *_cells(attack, known), *_sets(attack, rule)]


def _excluded_lines(attack: Attack, rule: Rule) -> Iterator[str]:
    """Why the other tables do not get these stars."""
    n_published = len(attack.sums.stars)
    for n_tables, n_stars in attack.excluded:
        tables = f"  {_count_nouns(n_tables, 'other')}"
        if n_stars is None:
            yield f"{tables} would need more than these {n_published:,} stars."
        elif n_stars == 0:
            yield f"{tables} would have no star, because no cell is from {rule.low} to {rule.high}."
        elif n_stars == n_published:
            yield f"{tables} would have as many stars, in other cells."
        else:
            yield f"{tables} would need only {_count_nouns(n_stars, 'star')}."


def _rule_text(rule: Rule) -> str:
    ties = {
        "any": "the fewest further cells, chosen in an unknown way",
        "first": "the fewest further cells, the first such choice row by row",
    }[rule.ties]
    return f"{rule.low}–{rule.high} suppressed, and {'no' if rule.complementary == 'none' else ties}" + (
        " further cells" if rule.complementary == "none" else ""
    )


def _cells(attack: Attack, known: Known) -> Iterator[str]:
    """One line per suppressed cell, cells with the fewest values first if not all are shown."""
    names = [_name(attack, position) for position in range(len(attack.sums.stars))]
    order = list(range(len(names)))
    if len(order) > SHOWN_CELLS:
        order = sorted(order, key=lambda position: (_width(known, position), position))[:SHOWN_CELLS]
    width = max(len(names[position]) for position in order)
    for position in order:
        yield f"  {names[position]:<{width}}  {runs_text(known.runs(position))}{_mark(attack, known, position)}"
    if len(order) < len(names):
        yield f"  … and {len(names) - len(order):,} more, with wider ranges; --csv and --json have all."


def _mark(attack: Attack, known: Known, position: int) -> str:
    if known.low[position] == known.high[position]:
        return "  known exactly"
    rule = attack.rule
    if rule is not None and known.within(rule.low, rule.high)[position]:
        return f"  certainly {rule.low}–{rule.high}"
    return ""


def _sets(attack: Attack, rule: Rule) -> Iterator[str]:
    sets = sets_of_small_cells(attack)
    if not sets or rule.complementary == "none":
        return
    what = f"cells from {rule.low} to {rule.high}"
    yield f"  The {what} are " + ("these:" if len(sets) == 1 else f"one of {len(sets):,} sets:")
    for n, cells in sets[:SHOWN_SETS]:
        yield f"    {_count_nouns(n, 'table')}: {'; '.join(_name(attack, position) for position in cells)}"
    if len(sets) > SHOWN_SETS:
        yield f"    … and {len(sets) - SHOWN_SETS:,} more sets."


def _steps(attack: Attack, steps: list[Step]) -> Iterator[str]:
    """How ranges follow, one row, column, or link at a time; only the last step for each end of a range."""
    last = {(step.star, step.is_low): step for step in steps}
    kept = sorted(last.values(), key=steps.index)
    said: set[str] = set()
    for step in kept[:SHOWN_STEPS]:
        for text in (f"  {_line_text(attack, step.line)}", f"    {_step_text(attack, step)}"):
            if text not in said:
                said.add(text)
                yield text
    if len(kept) > SHOWN_STEPS:
        yield f"  … and {len(kept) - SHOWN_STEPS:,} more steps like these."


def _reasons(attack: Attack, rule: Rule, known: RuleReasons) -> Iterator[str]:
    """Short arguments for what the rule adds."""
    small = f"from {rule.low} to {rule.high}"
    if known.fewest > 1:
        yield (
            f"  No table with fewer than {known.fewest:,} cells {small} gets these stars, so at least "
            f"{known.fewest:,} cells are {small}."
        )
        for line, most in known.at_most[:SHOWN_STEPS]:
            yield f"  {_room(attack, line, most, small)}"
    reasons = [_reason(attack, reason, small) for reason in known.reasons if reason.why != "every"]
    if len(reasons) < len(known.reasons):
        yield f"  No further cells are suppressed, so every suppressed cell is {small}."
    yield from (f"  {text}" for text in reasons[:SHOWN_STEPS])
    if len(reasons) > SHOWN_STEPS:
        yield f"  … and {len(reasons) - SHOWN_STEPS:,} more cells like these."
    if known.steps:
        yield "  From that it follows:"
        yield from (f"  {text}" for text in _steps(attack, known.steps))
    elif not known.reasons and known.fewest < 2:
        yield "  Nothing that a few steps show; see the ranges above."


def _room(attack: Attack, line: int, most: int, small: str) -> str:
    """How many cells of a line can be primary, since its cells add up to more than that."""
    n_stars = len(attack.sums.members()[line])
    name, rest = attack.linked.line_name(line), attack.sums.rest[line]
    few = {0: "none of them can be", 1: "at most one of them is"}.get(most, f"at most {most:,} of them are")
    return f"The {n_stars:,} suppressed cells of {name} add up to {rest:,}, so {few} {small}."


def _reason(attack: Attack, reason: Reason, small: str) -> str:
    name = _name(attack, reason.star)
    if reason.why == "needed":
        return (
            f"If {name} had been shown, no other suppressed cell would follow from the totals. So it is suppressed "
            f"because it is {small}."
        )
    if reason.why == "follows":
        return (
            f"{name} follows from the totals, whatever its value is. The rule does not allow that for a cell {small}, "
            "so it is not one."
        )
    where = "every set" if reason.is_primary else "no set"
    return f"{name} is {small} in {where} that is left."


def _line_text(attack: Attack, line: int) -> str:
    """What a row, a column, or a link says: "Row North adds up to 110. Its shown cells ..."."""
    linked = attack.linked
    if line >= linked.first_link:
        return _link_text(attack, linked.links[line - linked.first_link])
    number = int(np.searchsorted(linked.starts, line, side="right")) - 1
    table, own = linked.tables[number], line - linked.starts[number]
    n_rows = table.values.shape[0]
    cells = table.values[own] if own < n_rows else table.values[:, own - n_rows]
    name = linked.line_name(line)
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


def _link_text(attack: Attack, link: Link) -> str:
    """What a link says, with the numbers that are shown."""
    sides = []
    for side in link:
        cells = [(attack.linked.name_of(cell), attack.linked.value(cell)) for cell in side]
        sides.append(
            " + ".join(name if value == SUPPRESSED else f"{name} ({value:,})" for name, value in cells)
        )
    what = "Rows add up" if link.is_within_one_table else "The tables are linked"
    return f"{what}: {' = '.join(sides)}."


def _step_text(attack: Attack, step: Step) -> str:
    name = _name(attack, step.star)
    cells = [star for star in attack.sums.stars if step.line in dict(star.lines)]
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


def _joint_lines(attack: Attack) -> Iterator[str]:
    """Ranges that no single row or column gives."""
    low = [star.low for star in attack.sums.stars]
    high = [star.high for star in attack.sums.stars]
    for step in attack.steps:
        if step.is_low:
            low[step.star] = step.bound
        else:
            high[step.star] = step.bound
    positions = range(len(low))
    more = [p for p in positions if (low[p], high[p]) != (attack.before.low[p], attack.before.high[p])]
    for position in more[:SHOWN_STEPS]:
        known = runs_text([(attack.before.low[position], attack.before.high[position])])
        yield f"  All rows and columns together: {_name(attack, position)} is {known}."
    if len(more) > SHOWN_STEPS:
        yield f"  … and {len(more) - SHOWN_STEPS:,} more cells from all rows and columns together."


def _closing_line(attack: Attack) -> str:
    """Cells known exactly, and cells known to be small, before and after the rule."""
    known = [sum(attack.before.exact())]
    small = [] if attack.rule is None else [sum(attack.before.within(attack.rule.low, attack.rule.high))]
    if attack.after is not None and attack.rule is not None:
        known.append(sum(attack.after.exact()))
        small.append(sum(attack.after.within(attack.rule.low, attack.rule.high)))
    text = f"Known exactly: {_arrow(known)} of {_count_nouns(len(attack.sums.stars), 'suppressed cell')}"
    if attack.rule is None:
        return f"{text}. If you know which values were suppressed, add --rule, such as --rule 0..5."
    return f"{text}; certainly {attack.rule.low}–{attack.rule.high}: {_arrow(small)}" + (
        " (from totals → with the rule)." if len(known) == 2 else " (from totals)."
    )


def _arrow(numbers: list[int]) -> str:
    return " → ".join(f"{number:,}" for number in numbers)


def _unsettled_clause(known: Known) -> str:
    n = int((~known.settled).sum())
    return f" ({_count_nouns(n, 'cell')} not settled in time: the real range may be narrower)" if n else ""


def _knows_more(attack: Attack) -> bool:
    tables = [attack.linked.tables[number] for number in attack.linked.attacked]
    return any(table.least is not None or table.most is not None for table in tables)


def _name(attack: Attack, position: int) -> str:
    star = attack.sums.stars[position]
    return attack.linked.name_of(CellOf(star.table, star.row, star.column))


def _width(known: Known, position: int) -> float:
    high = known.high[position]
    return float("inf") if high is None else high - known.low[position]


def _share(n: int, of: int) -> str:
    share = 100 * n / of
    return f"{share:.1f}%" if share >= 0.1 or n == 0 else "less than 0.1%"


def _count_nouns(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
