"""The rows of a table that a page shows: filtered, sorted, and a bounded number at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy
import numpy.typing as npt

from mapapp.kinds.tables.read.published import Cell, CellKind, OneTable, TablePromise
from mapapp.kinds.tables.read.served_table import ServedTable, Shown
from mapapp.kinds.tables.read.view import BY_NAME, BY_PEOPLE, TableView, fit_view

ROWS_AT_ONCE: Final = 60
TOTAL, REMAINDER = "total", "remainder"
"""Columns of sums, beside the table's own."""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One shown row: a unit, its people, and its cells by column; None where the table has no cell."""

    row_id: str
    name: str
    people: int
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a page shows of a table.

    Attributes
    ----------
    shown : Shown
    promise : TablePromise
    view : TableView
        The view without what the table does not have.
    color : str
        Identifier of the column on the map.
    columns : dict of str to str
        Labels of the shown columns by identifier, sums included.
    rows : tuple of SheetRow
        The rows of the shown page.
    n_found : int
        Rows whose name contains the text of the filter.
    n_pages : int
    totals : SheetRow or None
        Sums of the columns, if they were decided.
    notes : tuple of str
        What was left out of the address.
    """

    shown: Shown
    promise: TablePromise
    view: TableView
    color: str
    columns: dict[str, str]
    rows: tuple[SheetRow, ...]
    n_found: int
    n_pages: int
    totals: SheetRow | None
    notes: tuple[str, ...]


def make_sheet(served: ServedTable, view: TableView) -> Sheet:
    """Return what a page shows of a table."""
    tables = served.published.tables
    part = view.part if view.part <= len(tables) else 1
    places = tables[part - 1].rows if tables[part - 1].is_flows else {}
    shown = served.shown(part, view.of if view.of in places else "")
    view, notes = fit_view(view, n_parts=len(tables), columns=shown.columns, rows=shown.rows, places=places)
    order = _order(shown, view)
    n_pages = max(-(-len(order) // ROWS_AT_ONCE), 1)
    view = replace(view, page=min(view.page, n_pages))
    on_page = order[(view.page - 1) * ROWS_AT_ONCE : view.page * ROWS_AT_ONCE]
    sums = [] if shown.table.is_flows else _sums(shown.table)
    people = people_of_rows(shown)
    return Sheet(
        shown=shown,
        promise=served.published.promise,
        view=view,
        color=view.color or most_people(shown),
        columns=shown.columns | dict(sums),
        rows=tuple(_row(shown, int(row), int(people[row]), [name for name, _ in sums]) for row in on_page),
        n_found=len(order),
        n_pages=n_pages,
        totals=_column_totals(shown),
        notes=notes,
    )


def page_of(shown: Shown, view: TableView, row_id: str) -> int:
    """Return the page, from 1, that has a row; 1 if the filter leaves it out."""
    ids = list(shown.rows)
    at = [place for place, row in enumerate(_order(shown, view)) if ids[row] == row_id]
    return at[0] // ROWS_AT_ONCE + 1 if at else 1


def people_of_rows(shown: Shown) -> npt.NDArray[numpy.int64]:
    """Return the people of every row: all its cells, or what the prior expects of a row of flows."""
    if shown.table.is_flows:
        expected = shown.numbers("people")[:, 0] * shown.numbers("rate")[:, 0]
        return numpy.round(numpy.nan_to_num(expected)).astype(numpy.int64)
    total: npt.NDArray[numpy.int64] = numpy.nansum(shown.numbers("people"), axis=1).astype(numpy.int64)
    return total


def most_people(shown: Shown) -> str:
    """Return the column with the most people."""
    people = numpy.nansum(shown.numbers("people"), axis=0)
    return list(shown.columns)[int(people.argmax())]


def _order(shown: Shown, view: TableView) -> npt.NDArray[numpy.int64]:
    """Return the positions of the rows that the filter keeps, in the order of the view."""
    names, wanted = list(shown.rows.values()), view.find.casefold().strip()
    kept = numpy.flatnonzero([wanted in name.casefold() for name in names])
    if not view.sort or not len(kept):
        return kept
    if view.sorted_by == BY_NAME:
        order = numpy.array(sorted(range(len(kept)), key=lambda at: names[kept[at]].casefold()))
        return _taken(kept, order[::-1] if view.is_descending else order)
    numbers = (
        people_of_rows(shown).astype(numpy.float64)
        if view.sorted_by == BY_PEOPLE
        else shown.column("value", view.sorted_by)
    )[kept]
    numbers = numpy.where(numbers < 0, numpy.nan, numbers)  # NaN sorts last, so stars follow the counts
    order = numpy.argsort(-numbers if view.is_descending else numbers, kind="stable")
    return _taken(kept, order)


def _taken(rows: npt.NDArray[numpy.int64], order: npt.NDArray[numpy.int64]) -> npt.NDArray[numpy.int64]:
    return numpy.asarray(rows[order], dtype=numpy.int64)


def _row(shown: Shown, row: int, people: int, sums: Sequence[str]) -> SheetRow:
    row_id, name = list(shown.rows.items())[row]
    cells = [shown.table.cell(int(at)) if at >= 0 else None for at in shown.at[row]]
    more = [_sum_of(shown.table, kind, row_id) for kind in sums]
    return SheetRow(row_id, name, people, (*cells, *more))


_SUMS: Final[dict[str, tuple[CellKind, str]]] = {
    REMAINDER: ("remainder", "Suppressed cells together"),
    TOTAL: ("row_total", "All columns"),
}


def _sums(table: OneTable) -> list[tuple[str, str]]:
    return [(name, label) for name, (kind, label) in _SUMS.items() if len(table.of_kind(kind))]


def _sum_of(table: OneTable, name: str, row_id: str) -> Cell | None:
    sums = table.of_kind(_SUMS[name][0])
    at = sums.index[sums["row_id"] == row_id]
    return table.cell(int(at[0])) if len(at) else None


def _column_totals(shown: Shown) -> SheetRow | None:
    """Return the sums of the columns, and the sum of everything, if any of them was decided.

    For one workplace of a table of flows, they are its workers with all other homes.
    """
    table = shown.table
    if table.is_flows:
        rest = _sum_of(table, REMAINDER, shown.of)
        return None if rest is None else SheetRow("", "All other homes", 0, (rest,))
    totals, grand = table.of_kind("column_total"), table.of_kind("grand_total")
    if not len(totals) + len(grand):
        return None
    by_column = dict(zip(totals["column_id"], totals.index, strict=True))
    cells = [table.cell(int(by_column[column])) if column in by_column else None for column in shown.columns]
    whole = table.cell(int(grand.index[0])) if len(grand) else None
    more = [whole if name == TOTAL else None for name, _ in _sums(table)]
    return SheetRow("", "All rows", int(people_of_rows(shown).sum()), (*cells, *more))
