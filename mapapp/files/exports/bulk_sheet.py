"""A sheet of a workbook that is written column by column: four times as fast as cell by cell, in much less memory.

XlsxWriter keeps an object for each cell until the workbook is closed. Here a sheet keeps its tables as columns of
numbers and of positions in the workbook's list of strings, and formats them when XlsxWriter asks for its data. The
file has the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from mapapp.files.exports.spreadsheet import MAX_CELL

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
