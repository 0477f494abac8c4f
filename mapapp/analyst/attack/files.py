"""An attack's findings as JSON and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO

from engine.suppression.attack.attack import Attack, Known
from mapapp.analyst.attack.words import runs_text, sets_of_small_cells

__all__ = ["attack_result", "linked_result", "write_attack_csv"]


def linked_result(attacks: Sequence[Attack], titles: Sequence[str]) -> dict[str, object]:
    """Return all findings about several tables as JSON takes them: one for each group that links join."""
    linked = attacks[0].linked
    return {
        "tables": list(titles),
        "names": list(linked.names),
        "links": [linked.link_name(link) for link in linked.links],
        "groups": [
            attack_result(attack, [titles[number] for number in attack.linked.attacked]) for attack in attacks
        ],
    }


def attack_result(attack: Attack, title: object) -> dict[str, object]:
    """Return all findings about one table, or a group of linked ones, as JSON takes them."""
    before, after, rule = attack.before, attack.after, attack.rule
    return {
        "table": title,
        "suppressed_cells": len(attack.sums.stars),
        "rule": None
        if rule is None
        else {
            "low": rule.low,
            "high": rule.high,
            "complementary": rule.complementary,
            "ties": rule.ties,
            "used": attack.rule_used,
        },
        "method": "listed" if before.tables is not None else "programming",
        "tables": _n_tables(before),
        "tables_left": _n_tables(after),
        "share_left": attack.share_left,
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
            {"tables": n, "cells": [_names(attack, position) for position in cells]}
            for n, cells in sets_of_small_cells(attack)
        ],
        "excluded": [exclusion._asdict() for exclusion in attack.excluded],
        "cells": [_cell(attack, position) for position in range(len(attack.sums.stars))],
    }


def write_attack_csv(attacks: Sequence[Attack], stream: IO[str]) -> None:
    """Write one line per suppressed cell; of several tables, with the table."""
    writer = csv.writer(stream, lineterminator="\n")
    known = ("low", "high", "values", "range_is_exact")
    ahead = ["table"] * (len(attacks[0].linked.tables) > 1)
    writer.writerow([*ahead, "row", "column", *known, *(f"{name}_with_rule" for name in known)])
    for attack in attacks:
        for position in range(len(attack.sums.stars)):
            writer.writerow(
                [*_names(attack, position), *_line(attack.before, position), *_line(attack.after, position)]
            )


def _cell(attack: Attack, position: int) -> dict[str, object]:
    *table, row, column = _names(attack, position)
    return {
        **({"table": table[0]} if table else {}),
        "row": row,
        "column": column,
        "before": _known_values(attack.before, position),
        "after": None if attack.after is None else _known_values(attack.after, position),
    }


def _known_values(known: Known, position: int) -> dict[str, object]:
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


def _names(attack: Attack, position: int) -> tuple[str, ...]:
    """The row and the column of a suppressed cell; of several tables, the table first."""
    star, linked = attack.sums.stars[position], attack.linked
    table = linked.tables[star.table]
    return (
        *linked.names[star.table : star.table + 1],
        table.row_name(star.row),
        table.column_name(star.column),
    )


def _n_tables(known: Known | None) -> int | None:
    return None if known is None or known.tables is None else len(known.tables)
