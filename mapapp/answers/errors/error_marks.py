"""Marks of counts that have no expected error, by table: letters of the notes that say why."""

from __future__ import annotations

from mapapp.answers.entries import entry_of
from mapapp.answers.results import Change, Result


def mark_of_table(result: Result, name: str) -> str:
    """Return the mark of rows of a table that have no expected error for a stated reason; empty for none."""
    return "" if isinstance(result, Change) else result.about.no_errors.get(name, "")


def mark_of_grid(result: Result) -> str:
    """Return the mark of counts of a table with several counts in a row, which is made of one or more tables."""
    if isinstance(result, Change):
        return ""
    entry = entry_of(result)
    names = (entry.compared, *entry.in_grid, *entry.distance_tables, "segments")
    # If all other counts have an error, the only one without is that of everybody.
    marks = list(filter(None, (mark_of_table(result, name) for name in names))) or [
        mark_of_table(result, "workers")
    ]
    letters = sorted({letter for mark in marks for letter in mark.strip("()").split(", ") if letter})
    return f"({', '.join(letters)})" if letters else ""


def has_row_errors(result: Result) -> bool:
    """Return whether any row of the tables of an answer has an expected error."""
    tables = result.tables().values()
    return any("expected_error" in table and table["expected_error"].notna().any() for table in tables)
