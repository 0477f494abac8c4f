"""A sweep of worker records as plain values, and as lines for a person. CONFIDENTIAL, all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mapapp.analyst.sweep.sweep import Axis, Cell, SweptRow
from mapapp.analyst.validity.result import CONFIDENTIAL
from mapapp.kinds.records.measure.margins import MARGINS

__all__ = ["scope_line", "sweep_dict", "sweep_lines"]

_HEADS: Final = {
    "work_home": "work×home",
    "home_earnings": "home×earnings",
    "band_industry": "distance×industry",
    "work_tract": "work tract",
    "four_way": "four-way",
    "singles": "singles",
    "pairs": "pairs",
}
_LEGEND: Final = (
    "work and home: PUMAs; four-way: work × home PUMA × industry × earnings; singles and pairs: means over all single "
    "attributes and all pairs",
    "epsilon: one record added or taken away; replaced: one record replaced, which a ledger would be charged; passed: "
    "share of the tries that passed",
)


def sweep_dict(path: Path, axes: Sequence[Axis], rows: Sequence[SweptRow], n: int) -> dict[str, object]:
    """Plain values for JSON; `n` is the number of choices of the whole grid."""
    return {
        "confidential": CONFIDENTIAL,
        "dataset": str(path),
        "over": {axis.name: [text for text, _ in axis.values] for axis in axes},
        "n_settings": n,
        "rows": [row.to_dict() for row in rows],
    }


def scope_line(rows: Sequence[SweptRow]) -> str:
    """Say what was measured, and that it is confidential."""
    of = next((row.values for row in rows if row.values["workers"] is not None), None)
    if of is None:
        return "CONFIDENTIAL, not for publication: nothing was measured"
    return (
        f"CONFIDENTIAL, not for publication: total variation distance of worker records from {of['workers']:,} real "
        f"workers; mean of {of['seeds']} draws"
    )


def sweep_lines(axes: Sequence[Axis], rows: Sequence[SweptRow]) -> list[str]:
    """Lines for the terminal: a table with one row for each choice, and what passed before topping up below it."""
    names = [axis.name for axis in axes]
    shown = [name for name in MARGINS if any(row.values[name] is not None for row in rows)]
    table = [[*names, "epsilon", "replaced", "delta", "passed", *(_HEADS[name] for name in shown)]]
    refused: dict[int, str] = {}
    for row in rows:
        values = row.values
        own = [*row.axis_values.values(), *_promise(values), _digits(values["pass_rate"])]
        table.append([*own, *(_digits(values[name]) for name in shown)])
        if values["refusal"] is not None:
            refused[len(table)] = f"    no records: {values['refusal']}"
        elif values["pairs_before"] is not None:
            table.append(
                ["", *[""] * (len(own) - 2), "before", *(_digits(values[f"{name}_before"]) for name in shown)]
            )
    for floor, label in _floors(rows):
        table.append(
            [*[""] * (len(names) + 2), "", label, *(_digits(floor[f"{name}_floor"]) for name in shown)]
        )
    widths = [max(len(line[at]) for line in table) for at in range(len(table[0]))]
    text: list[str] = []
    for number, line in enumerate(table, 1):
        text.append("  ".join(cell.rjust(wide) for cell, wide in zip(line, widths, strict=True)).rstrip())
        text += [refused[number]] if number in refused else []
    note = [
        f"  {line}"
        for line in (
            *_LEGEND,
            "before: what passed, before the model tops it up; chance: a resample of the real workers",
        )
    ]
    return [scope_line(rows), *text, *note]


def _promise(values: Mapping[str, Cell]) -> list[str]:
    delta = values["delta_add_remove"]
    return [
        _digits(values["epsilon_add_remove"]),
        _digits(values["epsilon_replace_one"]),
        "–" if delta is None else f"{delta:g}",
    ]


def _floors(rows: Sequence[SweptRow]) -> list[tuple[Mapping[str, Cell], str]]:
    """One row of noise floors for each number of records."""
    of_size = {row.values["records"]: row.values for row in rows if row.values["pairs_floor"] is not None}
    return [
        (values, "chance" if len(of_size) == 1 else f"chance, {size:,} records")
        for size, values in of_size.items()
    ]


def _digits(value: Cell) -> str:
    return "–" if value is None else f"{value:.3f}"
