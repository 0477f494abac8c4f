"""Writes a report as a workbook with one sheet per table and typed cells."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from typing import IO, Final

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from mapapp.base.errors import UsageError
from mapapp.show.reports.content import ERRORS, Answer, Column, Kind, Report, Table, shown

MOST_ROWS: Final = 1_048_575  # Excel's limit, without the header
MOST_LETTERS: Final = 32_000  # about Excel's limit for a cell
_LONG_NAME: Final = 31
_EPOCH: Final = datetime.date(1980, 1, 1)
"""Creation date of a workbook whose report has no date."""

_FORMATS: Final[dict[Kind, str]] = {
    "count": "#,##0",
    "change": "+#,##0;-#,##0;0",
    "share": "0.0%",
    "change share": "+0.0%;-0.0%;0.0%",
    "error": "#,##0.0",
    "miles": "0.0",
    "ratio": "#,##0.00",
    "ratio change": "+#,##0.00;-#,##0.00;0.00",
    "ratio error": "#,##0.00",
    "degrees": "0.00000",
}
_OPTIONS: Final = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}


def write_xlsx(report: Report, stream: IO[bytes]) -> None:
    """Write a report; the same report gives the same bytes.

    Raises
    ------
    UsageError
        If a table has more rows than a sheet holds.
    """
    content = BytesIO()
    with xlsxwriter.Workbook(content, _OPTIONS) as book:
        day = report.date or _EPOCH
        created = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
        book.set_properties(
            {"title": report.title, "subject": report.subtitle, "author": "CommuteMap", "created": created}
        )
        _Book(book).write(report)
    stream.write(content.getvalue())


class _Book:
    """The sheets and cell formats of one workbook."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._book = book
        self._names: set[str] = set()
        self._head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self._bold = book.add_format({"bold": True})
        self._title = book.add_format({"bold": True, "font_size": 16})
        self._wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self._formats = {kind: book.add_format({"num_format": form}) for kind, form in _FORMATS.items()}

    def write(self, report: Report) -> None:
        front = self._add("Report")
        tables = [
            (self._add(self._free(_sheet_name(report, answer, table))), table, answer)
            for answer in report.answers
            for table in (*_numbers(answer), *answer.tables)
        ]
        beside = [(self._add(self._free(table.name)), table) for table in report.comparison]
        self._front(
            front, report, [(worksheet.get_name(), table, answer) for worksheet, table, answer in tables]
        )
        for sheet, table, _ in tables:
            self._table(sheet, table)
        for sheet, table in beside:
            self._table(sheet, table)
        self._provenance(self._add("Provenance"), report)
        self._method(self._add("Method"), report)
        self._remake(self._add("Setup"), report)
        front.activate()

    def _add(self, name: str) -> Worksheet:
        self._names.add(name.lower())
        return self._book.add_worksheet(name)

    def _free(self, name: str) -> str:
        name = re.sub(r"[\[\]:*?/\\']", " ", name)[:_LONG_NAME]
        number, free_name = 2, name
        while free_name.lower() in self._names:
            tail = f" {number}"
            free_name, number = name[: _LONG_NAME - len(tail)] + tail, number + 1
        return free_name

    def _front(self, sheet: Worksheet, report: Report, listed: Sequence[tuple[str, Table, Answer]]) -> None:
        """Write the front sheet: a summary, and a list of the other sheets."""
        sheet.set_column(0, 0, 34)
        sheet.set_column(1, 1, 110)
        sheet.write_string(0, 0, _cut(report.title), self._title)
        rows: list[tuple[str, str]] = [("", report.subtitle)]
        rows += [("Report date", report.date.isoformat())] if report.date else []
        rows += [("Warning", report.warning)] if report.warning else []
        rows += [("Privacy", f"{report.kept}. See the sheets Method and Provenance."), ("", "")]
        for answer in report.answers:
            rows.append((answer.heading, answer.sentence))
            rows += [("Finding", finding) for finding in answer.findings]
            rows += [("Only", answer.filters)] if answer.filters else []
            rows += [("", answer.empty)] if answer.empty else []
            rows += [("Note", note) for note in answer.notes]
            rows += [("Left out", answer.left_out)] if answer.left_out else []
        rows += [("", ""), ("Sheet", "Content")]
        rows += [
            (name, f"{answer.heading}: {table.title}. {table.words}".strip())
            for name, table, answer in listed
        ]
        rows += [(table.name, f"{table.title}. {table.words}".strip()) for table in report.comparison]
        rows += [("Provenance", "Certificate, sources, and checksums"), ("Method", "How to read the numbers")]
        rows += [("Setup", "How to reproduce this report")]
        self._texts(sheet, rows, 1)

    def _texts(self, sheet: Worksheet, rows: Iterable[tuple[str, str]], start: int = 0) -> int:
        place = start
        for term, value in rows:
            if term:
                sheet.write_string(place, 0, _cut(term), self._wrapped)
            if value:
                sheet.write_string(place, 1, _cut(value), self._wrapped)
            place += 1
        return place

    def _table(self, sheet: Worksheet, table: Table) -> None:
        if len(table.rows) > MOST_ROWS:
            raise UsageError(
                f"{table.title}: {len(table.rows):,} rows do not fit in a sheet (at most {MOST_ROWS:,}); "
                "write html instead"
            )
        for place, column in enumerate(table.columns):
            sheet.write_string(0, place, _cut(column.head), self._head)
            sheet.set_column(place, place, _width(table, place, column))
            form, write = self._formats.get(column.kind), _writer(sheet, column.kind)
            for number, row in enumerate(table.rows, 1):
                value = row[place]
                if isinstance(value, str) and column.kind in ERRORS:
                    sheet.write_string(number, place, value)  # the mark of a note, in place of a number
                elif value is not None and value != "":
                    write(number, place, value, form)
        sheet.freeze_panes(1, 0)
        if table.rows:
            sheet.autofilter(0, 0, len(table.rows), len(table.columns) - 1)

    def _provenance(self, sheet: Worksheet, report: Report) -> None:
        sheet.set_column(0, 0, 34)
        sheet.set_column(1, 1, 90)
        place = 0
        for source in report.sources:
            sheet.write_string(place, 0, _cut(source.title), self._bold)
            rows = [("Warning", source.warning)] if source.warning else []
            place = self._texts(sheet, [*rows, *source.provenance, *source.certificate], place + 1) + 1

    def _method(self, sheet: Worksheet, report: Report) -> None:
        sheet.set_column(0, 0, 34)
        sheet.set_column(1, 1, 110)
        place = 0
        for source in report.sources:
            for chapter in source.method:
                texts = [
                    text for part in chapter.parts for text in ((part,) if isinstance(part, str) else part)
                ]
                terms = [chapter.title, *[""] * (len(texts) - 1)]
                place = self._texts(sheet, zip(terms, texts, strict=True), place)

    def _remake(self, sheet: Worksheet, report: Report) -> None:
        sheet.set_column(0, 0, 34)
        sheet.set_column(1, 1, 110)
        rows = [("Command", report.remake.command_for("xlsx"))]
        rows += [("Link", link or "?") for _, link in report.remake.links]
        place = self._texts(sheet, rows)
        for name, text in report.remake.setups:
            # A cell holds about 32,000 characters; the file is the cells joined together.
            parts = [text[start : start + MOST_LETTERS] for start in range(0, len(text), MOST_LETTERS)]
            terms = [name, *[""] * (len(parts) - 1)]
            place = self._texts(sheet, zip(terms, parts, strict=True), place)


def _numbers(answer: Answer) -> tuple[Table, ...]:
    """The key numbers as a table; none without key numbers."""
    if not answer.numbers:
        return ()
    errors: Kind = (
        "ratio error" if any(number.error_kind == "ratio error" for number in answer.numbers) else "error"
    )
    columns = (
        Column(name="number", head="Number", kind="text"),
        Column(name="value", head="Value", kind="number"),
        Column(name="unit", head="Unit", kind="text"),
        Column(name="error", head="Expected error", kind=errors),
        Column(name="caution", head="Caution", kind="text"),
    )
    units = {"share": "share, 0 to 1", "miles": "miles", "ratio": "ratio", "ratio change": "ratio"}
    rows = tuple(
        (number.label, number.value, units.get(number.kind, number.unit), number.error_cell, number.caution)
        for number in answer.numbers
    )
    table = Table(
        name="numbers",
        title="Key numbers",
        words=answer.sentence,
        columns=columns,
        rows=rows,
    )
    return (table,)


def _sheet_name(report: Report, answer: Answer, table: Table) -> str:
    place = report.answers.index(answer) + 1
    return table.name if len(report.answers) == 1 else f"{place} {table.name}"


def _writer(sheet: Worksheet, kind: Kind) -> Callable[..., object]:
    write: Callable[..., object]
    if kind in _FORMATS or kind == "number":
        write = sheet.write_number
    elif kind == "yes":
        write = sheet.write_boolean
    else:

        def write(row: int, place: int, value: object, form: Format) -> object:
            return sheet.write_string(row, place, _cut(str(value)), form)

    return write


def _cut(text: str) -> str:
    return text[:MOST_LETTERS]


def _width(table: Table, place: int, column: Column) -> int:
    texts = (shown(column.kind, row[place]) for row in table.rows[:200])
    return min(max([len(column.head) // 2 + 4, *(len(text) + 2 for text in texts)]), 60)
