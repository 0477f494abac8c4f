"""What else somebody knows about a cell: `row,column=100`, `row,column<=100`, `row,column>=100`.

Of several tables, the name of one comes first: `table:row,column=100`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from engine.suppression.tables_given import LARGEST, GivenTable
from mapapp.base.errors import UsageError
from mapapp.measuring.attack.labels import cell_at, some

__all__ = ["with_knowledge", "with_knowledge_of"]

_KNOWN: Final = re.compile(r"(?P<cell>.*[^<>=\s])\s*(?P<sign><=|>=|=)\s*(?P<number>[0-9]+)\s*", re.DOTALL)


def with_knowledge(table: GivenTable, known: tuple[str, ...]) -> GivenTable:
    """Return the table for somebody who also knows these facts.

    Raises
    ------
    UsageError
        A fact cannot be read, or names no cell of the table.
    """
    (found,) = with_knowledge_of([table], [""], known)
    return found


def with_knowledge_of(
    tables: Sequence[GivenTable], names: Sequence[str], known: tuple[str, ...]
) -> list[GivenTable]:
    """Return several tables for somebody who also knows these facts; errors are those of :func:`with_knowledge`."""
    found = list(tables)
    for text in known:
        fact = _KNOWN.fullmatch(text)
        if fact is None or int(fact["number"]) > LARGEST:
            raise UsageError(
                f"--know {text!r}: give ROW,COLUMN=NUMBER with labels of the table and a whole number; "
                "<= and >= work, too"
            )
        at, (row, column) = _cell(tables, names, text, fact["cell"])
        number = int(fact["number"])
        low = 0 if fact["sign"] == "<=" else number
        high = None if fact["sign"] == ">=" else number
        found[at] = found[at].with_known(row, column, low, high)
    return found


def _cell(
    tables: Sequence[GivenTable], names: Sequence[str], text: str, cell: str
) -> tuple[int, tuple[int, int]]:
    """Find the table, and the cell by its labels."""
    named = [at for at, name in enumerate(names) if name and cell.startswith(f"{name}:")]
    wanted = cell[len(names[named[0]]) + 1 :] if named else cell
    asked = named[:1] or range(len(tables))
    found = [(at, place) for at in asked if (place := cell_at(tables[at], wanted)) is not None]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"--know {text!r}: {' and '.join(names[at] for at, _ in found[:3])} both have that cell; begin with the "
            f"table, such as {names[found[0][0]]}:{wanted}"
        )
    table = tables[asked[0]]
    of = f" of {names[asked[0]]}" if len(tables) > 1 else ""
    raise UsageError(
        f"--know {text!r}: no such cell; the rows{of} are {some(table.row_names)}, the columns "
        f"{some(table.column_names)}"
    )
