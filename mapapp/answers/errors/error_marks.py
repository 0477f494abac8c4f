"""What readers are shown beside a count: that its expected error exceeds it, or the letter of the note why it has none.

`mapapp.show.content.uncertain_units` says the same of the units on a map.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.results import Change, Result

EXCEEDS: Final = "± exceeds the count"
"""The mark for readers."""
EXCEEDS_COLUMN: Final = "error_exceeds_count"
"""The column for programs: True, False, or None if the expected error is unknown."""
EXCEEDS_NOTE: Final = "Where ± exceeds the count, the confidential count may be 0, or several times as large."
WITHIN: Final = "within twice its ±"
"""The mark of a change that may be noise, for readers."""
_NEEDED: Final = frozenset(("workers", "expected_error"))


def error_exceeds(count: float, error: float | None) -> bool:
    """Return whether the expected error of a positive count exceeds it; False if the error is unknown."""
    return error is not None and bool(0 < count < error)


def within_errors(change: npt.ArrayLike, error: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which changes are at most twice their expected error; False where that is unknown."""
    return np.asarray(np.abs(np.asarray(change, dtype=float)) <= 2 * np.asarray(error, dtype=float))


def mark_exceeding(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return a table of workers with `EXCEEDS_COLUMN` after the expected error; any other table unchanged."""
    if not set(table.columns) >= _NEEDED:
        return table
    exceeding = _find_exceeding(table).astype(object)
    exceeding[table["expected_error"].isna().to_numpy()] = None
    marked = table.copy(deep=False)
    place = table.columns.tolist().index("expected_error") + 1
    marked.insert(place, EXCEEDS_COLUMN, exceeding)
    return marked


def has_exceeding(table: pandas.DataFrame) -> bool:
    """Return whether the expected error of any row of a table of workers exceeds its count."""
    return bool(set(table.columns) >= _NEEDED and _find_exceeding(table).any())


def _find_exceeding(table: pandas.DataFrame) -> npt.NDArray[np.bool_]:
    error, count = (table[name].to_numpy(np.float64) for name in ("expected_error", "workers"))
    return (count > 0) & (error > count)


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
