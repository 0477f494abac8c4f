"""What else somebody knows about a cell: `row,column=100`, `row,column<=100`, `row,column>=100`."""

from __future__ import annotations

import re
from typing import Final

from engine.suppression.tables_given import LARGEST, GivenTable
from mapapp.errors import UsageError

__all__ = ["with_knowledge"]

_KNOWN: Final = re.compile(r"(?P<cell>.*[^<>=\s])\s*(?P<sign><=|>=|=)\s*(?P<number>[0-9]+)\s*", re.DOTALL)


def with_knowledge(table: GivenTable, known: tuple[str, ...]) -> GivenTable:
    """Return the table for somebody who also knows these facts.

    Raises
    ------
    UsageError
        A fact cannot be read, or names no cell of the table.
    """
    for text in known:
        found = _KNOWN.fullmatch(text)
        if found is None or int(found["number"]) > LARGEST:
            raise UsageError(
                f"--know {text!r}: give ROW,COLUMN=NUMBER with labels of the table and a whole number; "
                "<= and >= work, too"
            )
        row, column = _cell(table, text, found["cell"])
        number = int(found["number"])
        low = 0 if found["sign"] == "<=" else number
        high = None if found["sign"] == ">=" else number
        table = table.with_known(row, column, low, high)
    return table


def _cell(table: GivenTable, text: str, cell: str) -> tuple[int, int]:
    """Find a cell by its labels. A label may contain commas, so every comma is tried."""
    parts = cell.split(",")
    rows = {_plain(name): position for position, name in enumerate(table.row_names)}
    columns = {_plain(name): position for position, name in enumerate(table.column_names)}
    for at in range(1, len(parts)):
        row, column = _plain(",".join(parts[:at])), _plain(",".join(parts[at:]))
        if row in rows and column in columns:
            return rows[row], columns[column]
    raise UsageError(
        f"--know {text!r}: no such cell; the rows are {_some(table.row_names)}, the columns {_some(table.column_names)}"
    )


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
