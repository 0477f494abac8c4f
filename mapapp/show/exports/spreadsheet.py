"""Tables for spreadsheets, with all text protected from being read as a formula."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Final

import pyarrow
import pyarrow.compute
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from geodata.progress import Progress, silent
from mapapp.base.errors import UsageError
from mapapp.show.exports.layer import Layer, records
from mapapp.show.exports.provenance import Provenance

WORKBOOK: Final = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "constant_memory": True,
}
CREATED: Final = datetime.datetime(1980, 1, 1)
"""The creation date in every workbook, fixed so that the same tables give the same bytes."""

MAX_SHEET_ROWS: Final = 1_048_575  # Excel's limit, without the header
MAX_CELL: Final = 32_000
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def harmless(value: object) -> object:
    """A CSV cell; text that a spreadsheet would read as a formula gets an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def harmless_texts(texts: pyarrow.Array) -> pyarrow.Array:
    """Texts as cells of a CSV file, as :func:`harmless` gives them."""
    begins = [pyarrow.compute.starts_with(texts, start) for start in _FORMULA]
    marked = pyarrow.compute.binary_join_element_wise("'", texts, "")
    return pyarrow.compute.if_else(reduce(pyarrow.compute.or_, begins), marked, texts)


def write_workbook(
    layers: Sequence[Layer],
    provenance: Provenance,
    notes: Sequence[str],
    file: Path,
    *,
    report: Progress = silent,
) -> None:
    """Write a sheet `provenance` and one sheet per layer, row by row, so that memory stays small.

    Raises
    ------
    UsageError
        If a layer has more rows than a sheet holds.
    """
    with xlsxwriter.Workbook(str(file), {**WORKBOOK, "tmpdir": str(file.parent)}) as book:
        book.set_properties({"created": CREATED, "title": provenance.title[:200]})
        bold = book.add_format({"bold": True})
        about = book.add_worksheet("provenance")
        rows = [*provenance.texts().items(), *(("note", note) for note in notes)]
        for row, (name, text) in enumerate(rows):
            about.write_string(row, 0, name, bold)
            about.write_string(row, 1, text[:MAX_CELL])
        about.set_column(0, 0, 20)
        about.set_column(1, 1, 90)
        for layer in layers:
            _write_sheet(book.add_worksheet(layer.name[:31]), bold, layer, report)


def _write_sheet(sheet: Worksheet, bold: Format, layer: Layer, report: Progress) -> None:
    sheet.freeze_panes(1, 0)
    for column, (name, kind) in enumerate(layer.fields.items()):
        sheet.set_column(column, column, 24 if kind == "text" else 12)
        sheet.write_string(0, column, name, bold)
    at = 1
    for part in layer.report_parts(report):
        if at + len(part.frame) > MAX_SHEET_ROWS + 1:
            raise UsageError(
                f"{layer.title}: too many rows for a sheet (at most {MAX_SHEET_ROWS:,}); write csv or gpkg instead"
            )
        for row in records(layer, part):
            for column, value in enumerate(row.values()):
                write_cell(sheet, at, column, value)
            at += 1


def write_cell(sheet: Worksheet, row: int, column: int, value: object) -> None:
    """Write a plain value with its own type; text stays text, and None leaves the cell empty."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float)):
        sheet.write_number(row, column, value)
    elif isinstance(value, str) and value:
        sheet.write_string(row, column, value[:MAX_CELL])
