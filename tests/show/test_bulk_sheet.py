"""Tables written to a workbook at once have the same cells as those written one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import pandas
import pytest
import xlsxwriter

from mapapp.show.exports.spreadsheet import MAX_CELL, WORKBOOK, write_cell
from mapapp.show.files import answers
from mapapp.show.files.answers import BulkSheet


def frames() -> list[pandas.DataFrame]:
    first = pandas.DataFrame(
        {
            "text": ["a <b> & “c”", "", None, "=1+1", " spaced ", "x" * (MAX_CELL + 5), "\x01\n"],
            "count": np.arange(7) * 10**14,
            "error": [0.1, np.nan, 1e-300, 1 / 3, 12.0, np.nan, -2.5],
            "yes": np.array([True, False, None, True, None, False, True], dtype=object),
            "flag": [True, False] * 3 + [True],
            "mixed": [1, "one", 1.5, True, None, "1", 0],
        }
    )
    return [first, first.iloc[:0], first.iloc[::-1].reset_index(drop=True)]


def cells(path: Path) -> list[list[tuple[object, str]]]:
    sheet = openpyxl.load_workbook(path).active
    return [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows()]


def test_a_table_has_the_cells_that_are_written_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**WORKBOOK, "constant_memory": False}
    with xlsxwriter.Workbook(tmp_path / "plain.xlsx", options) as book:
        sheet, row = book.add_worksheet("n"), 1
        sheet.write_string(0, 0, "head")
        for frame in frames():
            for column, name in enumerate(frame.columns):
                for place, value in enumerate(frame[name].tolist()):
                    missing = value is None or value != value
                    write_cell(sheet, row + place, column, None if missing else value)
            row += len(frame)
    for at_once in (3, 10_000):
        monkeypatch.setattr(answers, "_AT_ONCE", at_once)
        with xlsxwriter.Workbook(tmp_path / f"{at_once}.xlsx", options) as book:
            bulk, row = book.add_worksheet("n", BulkSheet), 1
            bulk.write_string(0, 0, "head")
            for frame in frames():
                bulk.add_table(row, frame)
                row += len(frame)
        assert cells(tmp_path / f"{at_once}.xlsx") == cells(tmp_path / "plain.xlsx")
