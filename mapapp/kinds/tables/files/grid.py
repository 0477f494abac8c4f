"""A table as a statistical office prints it: a row for each unit, a column for each group, stars and all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mapapp.answers.words import BAND_LABELS
from mapapp.kinds.tables.read.published import OneTable
from mapapp.kinds.tables.read.words import STAR

__all__ = ["ABSENT", "REMAINDER_LABEL", "Grid", "Heading", "grid_of"]

ABSENT: Final = ""
"""Printed where a table has no cell."""
_TOTAL: Final = "Total"
REMAINDER_LABEL: Final = "Suppressed cells together"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading over some columns that stand beside each other."""

    text: str
    width: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as it is printed.

    Attributes
    ----------
    headings : tuple of tuple of Heading
        Lines of headings over the columns, from the widest to the narrowest; each line covers all columns.
    labels : tuple of str
        One full label for each column.
    rows : tuple of (str, tuple of int or str)
        Name of each row and its entries: counts, `*` where suppressed, and `ABSENT`.
    """

    headings: tuple[tuple[Heading, ...], ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int | str, ...]], ...]


def grid_of(table: OneTable) -> Grid:
    """Return a table as it is printed; totals and remainders are its last columns and row, where it has them."""
    frame = table.cells
    keys = zip(frame["kind"], frame["row_id"], frame["column_id"], strict=True)
    values = (int(value) for value in frame["value"].to_numpy())
    entries: dict[tuple[str, str, str], int | str] = {
        key: STAR if value < 0 else value for key, value in zip(keys, values, strict=True)
    }
    kinds = {kind for kind, _, _ in entries}
    columns = list(table.column_labels)
    last = [
        (kind, text)
        for kind, text in (("remainder", REMAINDER_LABEL), ("row_total", _TOTAL))
        if kind in kinds
    ]

    def line(row_id: str) -> tuple[int | str, ...]:
        of_columns = (entries.get(("cell", row_id, column), ABSENT) for column in columns)
        return (*of_columns, *(entries.get((kind, row_id, ""), ABSENT) for kind, _ in last))

    rows = [(name, line(row_id)) for row_id, name in table.rows.items()]
    if kinds & {"column_total", "grand_total"}:
        below = [entries.get(("column_total", "", column), ABSENT) for column in columns]
        corner = entries.get(("grand_total", "", ""), ABSENT)
        rows.append((_TOTAL, (*below, *(corner if kind == "row_total" else ABSENT for kind, _ in last))))
    texts = [text for _, text in last]
    return Grid(
        headings=_headings(table, columns, texts),
        labels=(*table.column_labels.values(), *texts),
        rows=tuple(rows),
    )


def _headings(table: OneTable, columns: list[str], last: list[str]) -> tuple[tuple[Heading, ...], ...]:
    if len(table.columns) < 2:
        return (tuple(Heading(text, 1) for text in (*table.column_labels.values(), *last)),)
    codes = [column.split(".") for column in columns]
    lines = []
    for place, name in enumerate(table.columns):
        labels = [(tuple(parts[: place + 1]), BAND_LABELS[name][int(parts[place]) - 1]) for parts in codes]
        merged = [Heading(label, len(list(group))) for (_, label), group in groupby(labels)]
        is_lowest = place == len(table.columns) - 1
        lines.append((*merged, *(Heading(text if is_lowest else "", 1) for text in last)))
    return tuple(lines)
