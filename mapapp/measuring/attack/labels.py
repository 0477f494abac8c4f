"""Cells of a table by their labels, as a reader types them."""

from __future__ import annotations

from typing import Final

from engine.suppression.tables_given import GivenTable

__all__ = ["TOTAL", "Key", "cell_at", "keys_of_columns", "keys_of_rows", "plain", "some"]

TOTAL: Final = None
"""The key of a total, whatever its label is."""
Key = str | None


def plain(name: str) -> str:
    """Return a label without differences of case and spaces."""
    return " ".join(name.split()).casefold()


def some(names: tuple[str, ...]) -> str:
    """Return the first labels, for a message."""
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


def cell_at(table: GivenTable, text: str) -> tuple[int, int] | None:
    """Find a cell by "row,column"; None without one. A label may contain commas, so every comma is tried."""
    parts = text.split(",")
    rows = {plain(name): position for position, name in enumerate(table.row_names)}
    columns = {plain(name): position for position, name in enumerate(table.column_names)}
    for at in range(1, len(parts)):
        row, column = plain(",".join(parts[:at])), plain(",".join(parts[at:]))
        if row in rows and column in columns:
            return rows[row], columns[column]
    return None


def keys_of_rows(table: GivenTable) -> dict[Key, int]:
    """Return the position of each row by its label; the total's key is `TOTAL`."""
    return _keys(table.row_names, table.total_row)


def keys_of_columns(table: GivenTable) -> dict[Key, int]:
    """Return the position of each column by its label; the total's key is `TOTAL`."""
    return _keys(table.column_names, table.total_column)


def _keys(names: tuple[str, ...], has_total: bool) -> dict[Key, int]:
    found: dict[Key, int] = {plain(name): position for position, name in enumerate(names)}
    if has_total:
        del found[plain(names[-1])]
        found[TOTAL] = len(names) - 1
    return found
