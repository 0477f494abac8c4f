"""Cells of a table by their labels, as a reader types them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from engine.suppression.attack.linked_tables import CellOf, Link, LinkedTables
from engine.suppression.tables_given import LARGEST, GivenTable
from mapapp.base.errors import UsageError

TOTAL: Final = None
"""The key of a total, whatever its label is."""
Key = str | None


def normalize_label(name: str) -> str:
    """Return a label without differences of case and spaces."""
    return " ".join(name.split()).casefold()


def list_first(names: tuple[str, ...]) -> str:
    """Return the first labels, for a message."""
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


def cell_at(table: GivenTable, text: str) -> tuple[int, int] | None:
    """Find a cell by "row,column"; None without one. A label may contain commas, so every comma is tried."""
    parts = text.split(",")
    rows = {normalize_label(name): position for position, name in enumerate(table.row_names)}
    columns = {normalize_label(name): position for position, name in enumerate(table.column_names)}
    for at in range(1, len(parts)):
        row, column = normalize_label(",".join(parts[:at])), normalize_label(",".join(parts[at:]))
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
    keys: dict[Key, int] = {normalize_label(name): position for position, name in enumerate(names)}
    if has_total:
        del keys[normalize_label(names[-1])]
        keys[TOTAL] = len(names) - 1
    return keys


# What else somebody knows about a cell: `row,column=100`, `row,column<=100`, `row,column>=100`.
#
# Of several tables, the name of one comes first: `table:row,column=100`.

_KNOWN: Final = re.compile(r"(?P<cell>.*[^<>=\s])\s*(?P<sign><=|>=|=)\s*(?P<number>[0-9]+)\s*", re.DOTALL)


def add_knowledge(table: GivenTable, known: tuple[str, ...]) -> GivenTable:
    """Return the table for somebody who also knows these facts.

    Raises
    ------
    UsageError
        A fact cannot be read, or names no cell of the table.
    """
    (known_table,) = add_knowledge_to_tables([table], [""], known)
    return known_table


def add_knowledge_to_tables(
    tables: Sequence[GivenTable], names: Sequence[str], known: tuple[str, ...]
) -> list[GivenTable]:
    """Return several tables for somebody who also knows these facts; errors are those of :func:`add_knowledge`."""
    known_tables = list(tables)
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
        known_tables[at] = known_tables[at].add_known_range(row, column, low, high)
    return known_tables


def _cell(
    tables: Sequence[GivenTable], names: Sequence[str], text: str, cell: str
) -> tuple[int, tuple[int, int]]:
    """Find the table, and the cell by its labels."""
    named = [at for at, name in enumerate(names) if name and cell.startswith(f"{name}:")]
    wanted = cell[len(names[named[0]]) + 1 :] if named else cell
    asked = named[:1] or range(len(tables))
    matches = [(at, place) for at in asked if (place := cell_at(tables[at], wanted)) is not None]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"--know {text!r}: {' and '.join(names[at] for at, _ in matches[:3])} both have that cell; begin with the "
            f"table, such as {names[matches[0][0]]}:{wanted}"
        )
    table = tables[asked[0]]
    of = f" of {names[asked[0]]}" if len(tables) > 1 else ""
    raise UsageError(
        f"--know {text!r}: no such cell; the rows{of} are {list_first(table.row_names)}, the columns "
        f"{list_first(table.column_names)}"
    )


# How several tables are linked: by the labels that they share, or as somebody says.
#
# By labels: a cell of two tables with the same row label and the same column label is one number; any label of a total
# is the same label. So tables with the same rows and other columns share the totals of their rows, and the grand total.
#
# As somebody says: `A:North,low = B:North,low + B:North,middle` links single cells; `A:County = B:Town + B:City` links
# rows, in all columns whose label the tables share; `A:,low = B:,low + B:,middle` links columns in the same way.

_SPELLING: Final = (
    "give TABLE:ROW,COLUMN = TABLE:ROW,COLUMN + …, or TABLE:ROW for a row and TABLE:,COLUMN for a column"
)


def table_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return short names of the files; the whole path where two would have the same."""
    stems = [path.stem for path in paths]
    return tuple(
        stem if stems.count(stem) == 1 else str(path) for path, stem in zip(paths, stems, strict=True)
    )


def link_by_labels(tables: Sequence[GivenTable], names: tuple[str, ...]) -> LinkedTables:
    """Link cells that have the same labels in two tables.

    Raises
    ------
    UsageError
        A table shares no cell with the others.
    """
    first: dict[tuple[Key, Key], CellOf] = {}
    links: list[Link] = []
    sharing: set[int] = set()
    for number, table in enumerate(tables):
        for row_key, row in keys_of_rows(table).items():
            for column_key, column in keys_of_columns(table).items():
                cell = CellOf(number, row, column)
                earlier = first.setdefault((row_key, column_key), cell)
                if earlier != cell:
                    links.append(Link((earlier,), (cell,)))
                    sharing |= {earlier.table, number}
    apart = sorted(set(range(len(tables))) - sharing)
    if apart:
        raise UsageError(
            f"{names[apart[0]]}: no cell has the same row and column labels in another table; say how they are linked: "
            f"--link LINK, where you {_SPELLING}"
        )
    return LinkedTables(
        tables=tuple(tables), names=names, links=tuple(links), attacked=tuple(range(len(tables)))
    )


def link_as_said(tables: Sequence[GivenTable], names: tuple[str, ...], texts: Sequence[str]) -> LinkedTables:
    """Link cells, rows, or columns as the texts say.

    Raises
    ------
    UsageError
        A text is no link, or names what no table has.
    """
    links = [link for text in texts for link in _links(tables, names, text)]
    return LinkedTables(
        tables=tuple(tables), names=names, links=tuple(links), attacked=tuple(range(len(tables)))
    )


class _Term(NamedTuple):
    """A cell, a row, or a column of a table, and its cells by what the others must share."""

    kind: str
    cells: dict[Key, CellOf]


def _links(tables: Sequence[GivenTable], names: Sequence[str], text: str) -> list[Link]:
    sides = text.split("=")
    if len(sides) != 2:
        raise UsageError(f"--link {text!r}: {_SPELLING}")
    read = [[_term(tables, names, text, term) for term in side.split(" + ")] for side in sides]
    terms = [term for side in read for term in side]
    if len({term.kind for term in terms}) > 1:
        raise UsageError(f"--link {text!r}: link cells to cells, rows to rows, or columns to columns")
    shared = [key for key in terms[0].cells if all(key in term.cells for term in terms)]
    if not shared:
        what = "column" if terms[0].kind == "row" else "row"
        raise UsageError(f"--link {text!r}: the tables share no {what} label; link single cells")
    links = [Link(*(tuple(term.cells[key] for term in side) for side in read)) for key in shared]
    for link in links:
        cells = [cell for cell, _ in link.list_signed()]
        if len(set(cells)) < len(cells):
            raise UsageError(f"--link {text!r}: name each cell once")
    return links


def _term(tables: Sequence[GivenTable], names: Sequence[str], text: str, term: str) -> _Term:
    term = term.strip()
    number = next((at for at, name in enumerate(names) if term.startswith(f"{name}:")), None)
    if number is None:
        raise UsageError(
            f"--link {text!r}: {term!r} begins with no table; the tables are {list_first(tuple(names))}; {_SPELLING}"
        )
    table, wanted = tables[number], term[len(names[number]) + 1 :].strip()
    if (cell := cell_at(table, wanted)) is not None:
        return _Term("cell", {"": CellOf(number, *cell)})
    rows, columns = (
        [normalize_label(name) for name in labels] for labels in (table.row_names, table.column_names)
    )
    if normalize_label(wanted) in rows:
        row = rows.index(normalize_label(wanted))
        return _Term("row", {key: CellOf(number, row, at) for key, at in keys_of_columns(table).items()})
    if wanted.startswith(",") and normalize_label(wanted[1:]) in columns:
        column = columns.index(normalize_label(wanted[1:]))
        return _Term("column", {key: CellOf(number, at, column) for key, at in keys_of_rows(table).items()})
    raise UsageError(
        f"--link {text!r}: {names[number]} has no cell, row, or column {wanted[:60]!r}; its rows are "
        f"{list_first(table.row_names)}, its columns {list_first(table.column_names)}"
    )
