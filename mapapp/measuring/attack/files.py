"""An attack's findings as JSON and as CSV."""

from __future__ import annotations

import csv
from typing import IO

from engine.suppression.attack import Attack, Known
from mapapp.measuring.attack.words import runs_text, sets_of_small_cells

__all__ = ["attack_result", "write_attack_csv"]


def attack_result(found: Attack, title: str) -> dict[str, object]:
    """Return all findings as JSON takes them."""
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


def write_attack_csv(found: Attack, stream: IO[str]) -> None:
    """Write one line per suppressed cell."""
    writer = csv.writer(stream, lineterminator="\n")
    known = ("low", "high", "values", "range_is_exact")
    writer.writerow(["row", "column", *known, *(f"{name}_with_rule" for name in known)])
    for position in range(len(found.sums.stars)):
        writer.writerow(
            [*_names(found, position), *_line(found.before, position), *_line(found.after, position)]
        )


def _cell(found: Attack, position: int) -> dict[str, object]:
    row, column = _names(found, position)
    return {
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


def _names(found: Attack, position: int) -> tuple[str, str]:
    star = found.sums.stars[position]
    return found.table.row_name(star.row), found.table.column_name(star.column)


def _n_tables(known: Known | None) -> int | None:
    return None if known is None or known.tables is None else len(known.tables)
