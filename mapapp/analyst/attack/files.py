"""An attack's findings as JSON and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO

from engine.suppression.attack.attack import Attack, Known
from mapapp.analyst.attack.words import runs_text, sets_of_small_cells

__all__ = ["attack_result", "linked_result", "write_attack_csv"]


def linked_result(found: Sequence[Attack], titles: Sequence[str]) -> dict[str, object]:
    """Return all findings about several tables as JSON takes them: one for each group that links join."""
    linked = found[0].linked
    return {
        "tables": list(titles),
        "names": list(linked.names),
        "links": [linked.link_name(link) for link in linked.links],
        "groups": [attack_result(one, [titles[number] for number in one.linked.attacked]) for one in found],
    }


def attack_result(found: Attack, title: object) -> dict[str, object]:
    """Return all findings about one table, or a group of linked ones, as JSON takes them."""
    before, after, rule = found.before, found.after, found.rule
    return {
        "table": title,
        "suppressed_cells": len(found.sums.stars),
        "rule": None
        if rule is None
        else {
            "low": rule.low,
            "high": rule.high,
            "complementary": rule.complementary,
            "ties": rule.ties,
            "used": found.rule_used,
        },
        "method": "listed" if before.tables is not None else "programming",
        "tables": _n_tables(before),
        "tables_left": _n_tables(after),
        "share_left": found.share_left,
        "known_exactly": {
            "before": sum(before.exact()),
            "after": None if after is None else sum(after.exact()),
        },
        "certainly_primary": None
        if rule is None
        else {
            "before": sum(before.within(rule.low, rule.high)),
            "after": None if after is None else sum(after.within(rule.low, rule.high)),
        },
        "primary_sets": [
            {"tables": n, "cells": [_names(found, position) for position in cells]}
            for n, cells in sets_of_small_cells(found)
        ],
        "excluded": [each._asdict() for each in found.excluded],
        "cells": [_cell(found, position) for position in range(len(found.sums.stars))],
    }


def write_attack_csv(found: Sequence[Attack], stream: IO[str]) -> None:
    """Write one line per suppressed cell; of several tables, with the table."""
    writer = csv.writer(stream, lineterminator="\n")
    known = ("low", "high", "values", "range_is_exact")
    ahead = ["table"] * (len(found[0].linked.tables) > 1)
    writer.writerow([*ahead, "row", "column", *known, *(f"{name}_with_rule" for name in known)])
    for one in found:
        for position in range(len(one.sums.stars)):
            writer.writerow(
                [*_names(one, position), *_line(one.before, position), *_line(one.after, position)]
            )


def _cell(found: Attack, position: int) -> dict[str, object]:
    *table, row, column = _names(found, position)
    return {
        **({"table": table[0]} if table else {}),
        "row": row,
        "column": column,
        "before": _known(found.before, position),
        "after": None if found.after is None else _known(found.after, position),
    }


def _known(known: Known, position: int) -> dict[str, object]:
    return {
        "low": known.low[position],
        "high": known.high[position],
        "values": known.runs(position),
        "range_is_exact": bool(known.settled[position]),
    }


def _line(known: Known | None, position: int) -> list[object]:
    if known is None:
        return ["", "", "", ""]
    high = known.high[position]
    exact = "yes" if known.settled[position] else "no"
    return [known.low[position], "" if high is None else high, runs_text(known.runs(position)), exact]


def _names(found: Attack, position: int) -> tuple[str, ...]:
    """The row and the column of a suppressed cell; of several tables, the table first."""
    star, linked = found.sums.stars[position], found.linked
    table = linked.tables[star.table]
    return (
        *linked.names[star.table : star.table + 1],
        table.row_name(star.row),
        table.column_name(star.column),
    )


def _n_tables(known: Known | None) -> int | None:
    return None if known is None or known.tables is None else len(known.tables)
