"""Tables with suppressed cells as a workbook: as printed, with every field, reasons for stars, codebook, and about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Final

import pandas
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from mapapp.base.errors import UsageError
from mapapp.kinds.tables.files.fields import codebook, long_frame, plain_rows
from mapapp.kinds.tables.files.grid import Grid, Heading, grid_of
from mapapp.kinds.tables.files.provenance import TableProvenance
from mapapp.kinds.tables.read.published import OneTable, PublishedTable
from mapapp.kinds.tables.read.words import (
    STAR,
    counted_sentence,
    how_decided,
    limits,
    prior_sentence,
    promise_sentence,
)
from mapapp.show.exports.spreadsheet import CREATED, MAX_CELL, MAX_SHEET_ROWS, write_cell

__all__ = ["table_xlsx"]

_OPTIONS: Final = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}
_LONG_NAME: Final = 31
_ROW_WIDTH: Final = 34
_FIRST_ROW: Final = 3
"""Of the headings of a printed table; its title and what it counts are above."""


def table_xlsx(published: PublishedTable) -> bytes:
    """All published tables as one workbook; the same tables give the same bytes.

    Raises
    ------
    UsageError
        If there are more cells than a sheet holds.
    """
    content = BytesIO()
    with xlsxwriter.Workbook(content, _OPTIONS) as book:
        book.set_properties({"created": CREATED, "title": published.title[:200], "author": "CommuteMap"})
        _Book(book).write(published)
    return content.getvalue()


class _Book:
    """The sheets and cell formats of one workbook."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._book = book
        self._names: set[str] = set()
        self._title = book.add_format({"bold": True, "font_size": 14})
        self._bold = book.add_format({"bold": True})
        self._head = book.add_format(
            {"bold": True, "text_wrap": True, "valign": "vcenter", "align": "center", "border": 1}
        )
        self._count = book.add_format({"num_format": "#,##0"})
        self._star = book.add_format({"align": "right"})
        self._wrapped = book.add_format({"text_wrap": True, "valign": "top"})

    def write(self, published: PublishedTable) -> None:
        for table in published.tables:
            self._write_printed(self._add(table.title), table)
        frames = [long_frame(published, table) for table in published.tables]
        every = pandas.concat(frames, ignore_index=True)
        self._rows(self._add("Every field"), list(every.columns), plain_rows(every))
        stars = every[every["state"] == "suppressed"]
        shown = stars[["table", "row", "column", "kind", "people", "why"]]
        self._rows(self._add("Stars"), list(shown.columns), plain_rows(shown))
        rows = [(row.table, row.column, row.code, row.meaning) for row in codebook(published)]
        self._rows(self._add("Codebook"), ["table", "column", "code", "meaning"], rows)
        self._about(self._add("About"), published)

    def _add(self, title: str) -> Worksheet:
        """Add a sheet under a name that is allowed and not yet in use."""
        name = re.sub(r"[\[\]:*?/\\']", " ", title).strip()[:_LONG_NAME] or "Table"
        number, free_name = 2, name
        while free_name.lower() in self._names:
            tail = f" {number}"
            free_name, number = name[: _LONG_NAME - len(tail)] + tail, number + 1
        self._names.add(free_name.lower())
        return self._book.add_worksheet(free_name)

    def _write_printed(self, sheet: Worksheet, table: OneTable) -> None:
        grid = grid_of(table)
        sheet.write_string(0, 0, table.title[:MAX_CELL], self._title)
        sheet.write_string(1, 0, f"{counted_sentence(table)} {STAR}: suppressed; see the sheet Stars.")
        sheet.set_column(0, 0, _ROW_WIDTH)
        sheet.set_column(1, len(grid.labels), 14)
        self._headings(sheet, table, grid)
        start = _FIRST_ROW + len(grid.headings)
        for row, (name, entries) in enumerate(grid.rows, start=start):
            sheet.write_string(row, 0, name[:MAX_CELL])
            for column, entry in enumerate(entries, start=1):
                if isinstance(entry, int):
                    sheet.write_number(row, column, entry, self._count)
                elif entry:
                    sheet.write_string(row, column, entry, self._star)
        sheet.freeze_panes(start, 1)

    def _headings(self, sheet: Worksheet, table: OneTable, grid: Grid) -> None:
        last = _FIRST_ROW + len(grid.headings) - 1
        _write_span(sheet, (_FIRST_ROW, 0, last, 0), table.row_label, self._head)
        for row, line in enumerate(grid.headings, start=_FIRST_ROW):
            for column, heading in _place_headings(line):
                _write_span(sheet, (row, column, row, column + heading.width - 1), heading.text, self._head)

    def _rows(self, sheet: Worksheet, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        for column, name in enumerate(head):
            sheet.write_string(0, column, name, self._bold)
            sheet.set_column(column, column, 60 if name in ("why", "meaning") else 16)
        at = 0
        for at, row in enumerate(rows, start=1):
            if at > MAX_SHEET_ROWS:
                raise UsageError(
                    f"more than {MAX_SHEET_ROWS:,} cells do not fit in a sheet; write csv instead"
                )
            for column, value in enumerate(row):
                write_cell(sheet, at, column, value)
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, at, len(head) - 1)

    def _about(self, sheet: Worksheet, published: PublishedTable) -> None:
        sheet.set_column(0, 0, 20)
        sheet.set_column(1, 1, 100, self._wrapped)
        rows = [
            ("promise", promise_sentence(published.promise)),
            ("how decided", how_decided(published.promise)),
            ("prior", prior_sentence(published.claims.prior)),
            *(("not promised", text) for text in limits(published)),
            *TableProvenance.of(published).texts().items(),
        ]
        for row, (name, text) in enumerate(rows):
            sheet.write_string(row, 0, name, self._bold)
            sheet.write_string(row, 1, text[:MAX_CELL], self._wrapped)


def _place_headings(line: Sequence[Heading]) -> Iterator[tuple[int, Heading]]:
    """Headings with the sheet column that each begins in."""
    at = 1
    for heading in line:
        yield at, heading
        at += heading.width


def _write_span(sheet: Worksheet, place: tuple[int, int, int, int], text: str, form: Format) -> None:
    """Write a heading over some cells: first row, first column, last row, last column."""
    first_row, first_column, *_ = place
    if place[:2] != place[2:]:
        sheet.merge_range(*place, "", form)
    sheet.write_string(first_row, first_column, text[:MAX_CELL], form)
