"""Writes answers as complete tables: JSON, CSV and XLSX.

`mapapp.show.exports.answers` writes answers with shapes.

Names in a release come from outside files, so they could contain formulas. In CSV, text that a spreadsheet would take
for a formula gets an apostrophe; in XLSX, all text is written as text.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Final

import numpy as np
import numpy.typing as npt
import pandas
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from mapapp.answers.analyses.entries import entry_of, grid_of
from mapapp.answers.analyses.measures import Miles, Number, Ratio
from mapapp.answers.analyses.results import NUMBERS, Change, Result
from mapapp.answers.errors.error_marks import EXCEEDS_COLUMN, error_exceeds, mark_exceeding
from mapapp.answers.findings.findings import findings
from mapapp.answers.publication import job_type_in_words
from mapapp.base.errors import UsageError
from mapapp.show.exports.provenance import Provenance
from mapapp.show.exports.spreadsheet import CREATED, MAX_CELL, MAX_SHEET_ROWS, WORKBOOK, harmless, write_cell

# A sheet of a workbook that is written column by column: four times as fast as cell by cell, in much less memory.
#
# XlsxWriter keeps an object for each cell until the workbook is closed. Here a sheet keeps its tables as columns of
# numbers and of positions in the workbook's list of strings, and formats them when XlsxWriter asks for its data. The
# file has the same cells.

_AT_ONCE: Final = 20_000
"""Rows whose text is in memory at a time."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of numbers, or of positions in a list of cells without their places."""

    values: npt.NDArray[np.generic]
    cells: Sequence[str] | None = None

    def texts(self, start: int, end: int) -> list[str]:
        """Return some of the cells without their places."""
        values = self.values[start:end].tolist()
        return list(map(_number, values)) if self.cells is None else [self.cells[code] for code in values]


class BulkSheet(Worksheet):  # type: ignore[misc]  # the library is not typed for mypy
    """A worksheet to whose cells tables can be added; rows written by the usual methods must be above them."""

    def add_table(self, first_row: int, table: pandas.DataFrame) -> None:
        """Write a table without its header from a row on; missing values and empty texts stay empty cells.

        Parameters
        ----------
        first_row : int
            From 0; below every earlier table.
        table : DataFrame
            Columns of plain values.
        """
        if table.empty:
            return
        columns = [self._column(table[name]) for name in table.columns]
        self.__dict__.setdefault("bulk", []).append((first_row, columns))
        self._check_dimensions(first_row, 0)
        self._check_dimensions(first_row + len(table) - 1, len(columns) - 1)

    def _column(self, column: pandas.Series) -> _Column:
        if column.dtype.kind in "iuf":
            return _Column(column.to_numpy())
        place_of: dict[tuple[type, object], int] = {}  # by type, too: True equals 1
        values = column.tolist()
        codes = [place_of.setdefault((value.__class__, value), len(place_of)) for value in values]
        return _Column(np.array(codes, dtype=np.int32), [self._cell(value) for _, value in place_of])

    def _cell(self, value: object) -> str:
        """Return a cell without its place; empty if nothing is to be written."""
        if isinstance(value, str) and value:
            return f' t="s"><v>{self.str_table._get_shared_string_index(value[:MAX_CELL])}</v></c>'
        if isinstance(value, bool):
            return f' t="b"><v>{int(value)}</v></c>'
        return _number(value) if isinstance(value, (int, float)) else ""

    def _write_rows(self) -> None:
        super()._write_rows()
        for first_row, columns in self.__dict__.get("bulk", []):
            for text in _rows(first_row, columns):
                self.fh.write(text)


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"><v>{value:.16G}</v></c>"


def _rows(first_row: int, columns: Sequence[_Column]) -> Iterator[str]:
    """Yield the XML of many rows at a time."""
    letters = [f'<c r="{xl_col_to_name(place)}' for place in range(len(columns))]
    n_rows = columns[0].values.size
    for start in range(0, n_rows, _AT_ONCE):
        end = min(start + _AT_ONCE, n_rows)
        numbers = [f'{row}"' for row in range(first_row + start + 1, first_row + end + 1)]
        cells = [
            [
                f"{letter}{row}{text}" if text else ""
                for row, text in zip(numbers, column.texts(start, end), strict=True)
            ]
            for letter, column in zip(letters, columns, strict=True)
        ]
        yield "".join(
            f'<row r="{row}>{"".join(parts)}</row>' for row, *parts in zip(numbers, *cells, strict=True)
        )


WIDE: Final = "wide"
"""The sheet of an answer's grid."""

_ROWS_AT_ONCE: Final = 50_000
"""Rows of a table that are prepared for a workbook at a time."""
MAX_SHEET_COLUMNS: Final = 16_000
"""Most columns of a grid in a sheet, which holds 16,384."""


def main_table(result: Result) -> str:
    """Name of the table that is exported by default."""
    return next(iter(result.tables()), NUMBERS)


def table_of(result: Result, name: str) -> pandas.DataFrame:
    """One table of an answer, preceded by the columns ``release``, ``year``, ``area``, ``area_text`` and ``side``.

    Raises
    ------
    UsageError
        If the answer has no such table.
    """
    return _with_about(result, plain_table_of(result, name))


def plain_table_of(result: Result, name: str) -> pandas.DataFrame:
    """One table of an answer.

    Raises
    ------
    UsageError
        If the answer does not have that table.
    """
    tables = result.tables()
    if name != NUMBERS and name not in tables:
        raise UsageError(
            f"table {name!r}: {result.about.title} has {', '.join(dict.fromkeys([*tables, NUMBERS]))}"
        )
    return tables[name] if name in tables else _numbers(result)


def wide_tables(results: Iterable[Result]) -> Iterator[pandas.DataFrame]:
    """Yield the grids of answers; they must have the same columns, because they are written one below the other.

    Raises
    ------
    UsageError
        If an analysis has no grid, a grid has too many cells, or two grids differ in their columns.
    """
    first: list[str] = []
    for result in results:
        grid = grid_of(result)
        if grid is None:
            raise UsageError(
                f"{result.about.title} has no wide form; leave out --wide, or ask for a profile or a flow matrix"
            )
        if first and list(grid.columns) != first:
            raise UsageError(
                "the matrices have different columns; write each to a file of its own, or leave out --wide"
            )
        first = list(grid.columns)
        yield _with_about(result, grid) if result.about.side else grid


def write_json(results: Iterable[Result], stream: IO[str], sources: Sequence[Provenance] = ()) -> None:
    """Write ``{"sources": [...], "answers": [...]}``, with each answer as from `Result.to_dict`."""
    releases = [source.to_dict() for source in sources]
    stream.write(f'{{"sources": {json.dumps(releases, ensure_ascii=False, allow_nan=False)},\n"answers": [')
    for place, result in enumerate(results):
        stream.write(",\n" if place else "\n")
        json.dump(result.with_findings(findings(result)), stream, ensure_ascii=False, allow_nan=False)
    stream.write("\n]}\n")


def write_csv(tables: Iterable[pandas.DataFrame], stream: IO[str]) -> None:
    """Write tables with the same columns, one below the other."""
    writer = csv.writer(stream, lineterminator="\n")
    header: list[str] | None = None
    for table in map(mark_exceeding, tables):
        if header is None:
            header = list(table.columns)
            writer.writerow(header)
        columns = [_csv_column(table[name]) for name in header]
        writer.writerows(zip(*columns, strict=True))


def write_xlsx(
    results: Iterable[Result], stream: IO[bytes], sources: Sequence[Provenance] = ()
) -> tuple[str, ...]:
    """Write a workbook with a sheet each for the releases, the question, the numbers, and every table.

    The same answers give the same bytes.

    Returns
    -------
    tuple of str
        What the workbook leaves out, and why; its sheet `about` says so, too.

    Raises
    ------
    UsageError
        If a table has more rows than a sheet holds.
    """
    with xlsxwriter.Workbook(stream, {**WORKBOOK, "constant_memory": False}) as book:
        book.set_properties({"created": CREATED})
        bold = book.add_format({"bold": True})
        _write_sources(book, bold, sources)
        sheets: dict[str, _Sheet] = {}
        left_out: dict[str, None] = {}
        for result in results:
            grid, why_not = sheet_grid(result)
            left_out |= {why_not: None} if why_not else {}
            for name, table in {
                "about": _about_table(result, why_not or _about_grid(result)),
                NUMBERS: plain_table_of(result, NUMBERS),
                **result.tables(),
                **({} if grid is None else {WIDE: grid}),
            }.items():
                if name not in sheets:
                    sheets[name] = _Sheet(book.add_worksheet(name, BulkSheet), bold)
                sheets[name].add(result, table)
    return tuple(left_out)


def sheet_grid(result: Result) -> tuple[pandas.DataFrame | None, str]:
    """Return an answer's grid if it fits in a sheet, and otherwise why it is left out; the text is empty if it is not.

    For an analysis without a grid it is None, and every column is kept.
    """
    try:
        grid = grid_of(result)
    except UsageError as error:
        return None, _left_out(result, str(error))
    n_columns = 0 if grid is None else len(grid.columns)
    if n_columns > MAX_SHEET_COLUMNS:
        too_wide = f"it has {n_columns:,} columns (at most {MAX_SHEET_COLUMNS:,}); write CSV with --wide"
        return None, _left_out(result, too_wide)
    return grid, ""


def _about_grid(result: Result) -> str:
    """Return where the expected errors of a matrix are; empty if the answer's grid has them, or has no grid."""
    pairs = entry_of(result).pairs
    if not pairs or result.has_several:
        return ""
    return f"The sheet {WIDE} has counts only; the sheet {pairs} has the expected errors of the largest."


def _left_out(result: Result, why: str) -> str:
    return f"The sheet {WIDE} is left out: {why}. The sheet {main_table(result)} has every number."


class _Sheet:
    """One sheet of a workbook, filled from the top."""

    def __init__(self, sheet: BulkSheet, bold: Format) -> None:
        self._sheet = sheet
        self._bold = bold
        self._row = 0

    def add(self, result: Result, table: pandas.DataFrame) -> None:
        """Add a table of an answer below the earlier ones, in parts; the header is written once, at the top."""
        if max(self._row, 1) + len(table) > MAX_SHEET_ROWS + 1:
            raise UsageError(
                f"{len(table):,} rows do not fit in a sheet (at most {MAX_SHEET_ROWS:,}); write CSV instead, or count "
                "larger areas"
            )
        for start in range(0, max(len(table), 1), _ROWS_AT_ONCE):
            part = _with_about(result, mark_exceeding(table.iloc[start : start + _ROWS_AT_ONCE]))
            if not self._row:
                self._write_heads(part)
            self._sheet.add_table(self._row, part)
            self._row += len(part)

    def _write_heads(self, table: pandas.DataFrame) -> None:
        for column, name in enumerate(table.columns):
            self._sheet.write_string(0, column, name, self._bold)
            self._sheet.set_column(column, column, min(max(len(name), _width(table[name])) + 2, 50))
        self._sheet.freeze_panes(1, 0)
        self._row = 1


def _write_sources(book: xlsxwriter.Workbook, bold: Format, sources: Sequence[Provenance]) -> None:
    """Add a sheet with the origin of the answers, one column for each release."""
    if not sources:
        return
    sheet = book.add_worksheet("provenance")
    sheet.set_column(0, 0, 20)
    sheet.set_column(1, len(sources), 70)
    for column, source in enumerate(sources, 1):
        for row, (name, value) in enumerate(source.to_dict().items()):
            sheet.write_string(row, 0, name, bold)
            write_cell(sheet, row, column, ", ".join(value) if isinstance(value, list) else value)


def _with_about(result: Result, table: pandas.DataFrame) -> pandas.DataFrame:
    about = result.about
    front = {
        "release": about.release,
        "year": about.year,
        "area": about.area,
        "area_text": about.area_text,
        "side": about.side or "",
    }
    if result.has_several:  # whose rows may have a year of their own
        front = {name: value for name, value in front.items() if name not in table.columns}
    columns = {name: [value] * len(table) for name, value in front.items()}
    behind = {name: table[name].to_numpy() for name in table.columns}
    return pandas.DataFrame(columns | {_apart(name, front): values for name, values in behind.items()})


def _apart(name: str, taken: Container[str]) -> str:
    return f"row_{name}" if name in taken else name


def _numbers(result: Result) -> pandas.DataFrame:
    row: dict[str, object] = {}
    if isinstance(result, Change):
        for name, change in result.numbers().items():
            row |= {f"{name}_{when}": number for when, number in change.items()}
        return pandas.DataFrame([row])
    for name, value in result.numbers().items():
        if isinstance(value, (Number, Ratio)):
            row |= {
                name: value.value,
                f"{name}_expected_error": value.expected_error,
                f"{name}_caution": value.caution,
            }
            if isinstance(value, Number):
                row |= {f"{name}_{EXCEEDS_COLUMN}": _exceeds(value)}
        elif isinstance(value, Miles):
            row |= {name: value.value, f"{name}_expected_error": value.expected_error}
        else:
            row[name] = value
    return pandas.DataFrame([row])


def _exceeds(number: Number) -> bool | None:
    """Return whether the expected error of a number exceeds it; None if the error is unknown."""
    return None if number.expected_error is None else error_exceeds(number.value, number.expected_error)


def _about_table(result: Result, about_grid: str) -> pandas.DataFrame:
    about = result.about
    promise = {
        f"promise: {name}": "; ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in about.promise.items()
    }
    rows = {
        "title": about.title,
        "release": about.release,
        "version": about.version,
        "job type": job_type_in_words(about.job_type),
        "workers": about.filters or "all",
        "blocks in the area": about.n_blocks,
        "blocks cut by the border": about.n_edge_blocks,
        **promise,
        **{f"finding {place + 1}": text for place, text in enumerate(findings(result))},
        **{f"note {place + 1}": note.text for place, note in enumerate(about.notes)},
        **({f"sheet {WIDE}": about_grid} if about_grid else {}),
    }
    return pandas.DataFrame({"what": list(rows), "value": [str(value) for value in rows.values()]})


def _csv_column(column: pandas.Series) -> list[object]:
    """Cells of a column: short numbers, empty cells for missing values, and no text that looks like a formula."""
    if column.dtype.kind == "f":
        return ["" if pandas.isna(value) else format(value, ".10g") for value in column.tolist()]
    if column.dtype.kind in "iub":
        return list(column.tolist())
    return [harmless("" if value is None or value != value else value) for value in column.tolist()]


def _width(column: pandas.Series) -> int:
    return max((len(str(value)) for value in column.head(50).tolist()), default=0)
