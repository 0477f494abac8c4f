"""Flows between zones: from a table of pairs, of trips, or a matrix, to counts by rows of zones."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow

from geodata.errors import SourceFileError
from geodata.sources.reading import LARGEST, TextTable, what_is_wrong
from geodata.zones.columns import FlowColumns
from geodata.zones.zones import TOTALS

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
UNKNOWN: Final = -1
"""Row of a place without a zone."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flows:
    """Trips by pair of zones, in any order; a pair may occur several times.

    Attributes
    ----------
    origin, destination : int64[R]
        Rows of the zones, or `UNKNOWN`.
    count : int64[R]
        Above 0.
    n_rows : int
        Rows of the file.
    unknown_origins, unknown_destinations : Counter
        Trips by code of a place without a zone; those that also end in such a place count at their destination only.
    n_rounded : int
        Counts that were rounded.
    """

    origin: Ints
    destination: Ints
    count: Ints
    n_rows: int
    unknown_origins: Counter[str]
    unknown_destinations: Counter[str]
    n_rounded: int = 0


def check_flows(
    text: TextTable, columns: FlowColumns, codes: list[str], *, rounded: bool, quoted: bool
) -> Flows:
    """Check a table of flows whose columns are known.

    Parameters
    ----------
    text : TextTable
        With a dictionary for each column.
    columns : FlowColumns
    codes : list of str
        Codes of the zones, in their order.
    rounded : bool
        Round counts that are not whole.
    quoted : bool
        Whether messages may quote codes of origins: those of confidential flows say where somebody lives.

    Raises
    ------
    SourceFileError, SourceRowError
        A column is missing, a count is not whole or negative, codes are spelled differently, or a total is among them.
    """
    named = [
        name
        for name in (columns.origin, columns.destination, columns.count)
        if name or name == columns.origin
    ]
    lacking = [name for name in named if name is not None and name not in text.table.column_names]
    if lacking:
        found = ", ".join(text.table.column_names[:8])
        raise SourceFileError(
            f"{text.path}: column {lacking[0]!r} is missing (found {found}); correct the schema"
        )
    lookup = _Lookup(text.path, codes, quoted)
    if columns.matrix:
        return _of_matrix(text, columns, lookup, rounded=rounded)
    origin, home = lookup.rows(text.column(columns.origin), is_origin=True)
    destination, work = lookup.rows(text.column(columns.destination), is_origin=False)
    if columns.count is None:
        count, n_rounded = np.ones(text.rows, dtype=np.int64), 0
    else:
        count, n_rounded = _counts(text, columns.count, rounded=rounded)
    some = np.flatnonzero(count)
    return _flows(
        origin[some], destination[some], count[some], (home[some], work[some]), lookup, text.rows, n_rounded
    )


class _Lookup:
    """Rows of zones by code, and checks of the codes that no zone has."""

    def __init__(self, path: Path, codes: list[str], quoted: bool) -> None:
        self._path, self._quoted = path, quoted
        self._row = {code: row for row, code in enumerate(codes)}
        self._spelled = {_fold(code): code for code in codes}
        self.unknown: list[str] = []

    def rows(self, column: pyarrow.DictionaryArray, *, is_origin: bool) -> tuple[Ints, Ints]:
        """Row of the zone of each cell, or `UNKNOWN`, and the position of its text in `unknown`."""
        texts = [str(text).strip() for text in column.dictionary.to_pylist()]
        row, place = self.of_texts(texts, is_origin=is_origin)
        index = column.indices.to_numpy()
        return row[index], place[index]

    def of_texts(self, texts: list[str], *, is_origin: bool) -> tuple[Ints, Ints]:
        """The same for distinct texts."""
        self._check_spelling(texts, is_origin=is_origin)
        row = np.array([self._row.get(text, UNKNOWN) for text in texts], dtype=np.int64)
        place = np.full(len(texts), UNKNOWN, dtype=np.int64)
        for at in np.flatnonzero(row == UNKNOWN).tolist():
            place[at] = len(self.unknown)
            self.unknown.append(texts[at])
        return row, place

    def _check_spelling(self, texts: list[str], *, is_origin: bool) -> None:
        end = "origins" if is_origin else "destinations"
        strange = [text for text in texts if text not in self._row]
        totals = [text for text in strange if text.lower() in TOTALS]
        if totals:
            raise SourceFileError(f"{self._path}: {totals[0]!r} is a total among the {end}; leave it out")
        other = [text for text in strange if _fold(text) in self._spelled]
        if other:
            shown = (
                f", such as {other[0]!r} for {self._spelled[_fold(other[0])]!r}"
                if self._quoted or not is_origin
                else ""
            )
            raise SourceFileError(
                f"{self._path}: {len(other):,} codes of {end} differ from those of the zones by leading zeros or "
                f"case{shown}; spell them alike in both files"
            )
        if len(strange) == len(texts):
            raise SourceFileError(
                f"{self._path}: none of the {end} is a zone; check that both files have the same codes"
            )


def _fold(code: str) -> str:
    return code.strip().lstrip("0").casefold()


def _counts(text: TextTable, name: str, *, rounded: bool) -> tuple[Ints, int]:
    """Count of each row, and how many were rounded."""
    column = text.column(name)
    index = column.indices.to_numpy()
    cells = [str(cell).strip() for cell in column.dictionary.to_pylist()]
    values = np.zeros(len(cells), dtype=np.int64)
    is_rounded = np.zeros(len(cells), dtype=bool)
    for at, cell in enumerate(cells):
        if cell.isascii() and cell.isdecimal() and len(cell) < 11 and int(cell) <= LARGEST:
            values[at] = int(cell)
        elif (
            _NUMBER.fullmatch(cell) and 0 <= float(cell) <= LARGEST and (rounded or float(cell).is_integer())
        ):
            values[at] = round(float(cell))
            is_rounded[at] = not float(cell).is_integer()
        else:
            _refuse_count(text, name, cell, int(np.flatnonzero(index == at)[0]))
    return values[index], int(is_rounded[index].sum())


def _refuse_count(text: TextTable, name: str, cell: str, row: int) -> None:
    is_fraction = bool(_NUMBER.fullmatch(cell)) and float(cell) > 0
    remedy = (
        "counts with fractions are often weights, so a row is not a person and no promise holds; --round rounds "
        "them, with "
        "--published only"
        if is_fraction
        else "correct the row"
    )
    text.refuse(row, f"{name} is {what_is_wrong(cell)}; it must be a whole number of 0 or more", remedy)


def _of_matrix(text: TextTable, columns: FlowColumns, lookup: _Lookup, *, rounded: bool) -> Flows:
    labels = [name for name in text.table.column_names if name != columns.origin]
    origin, home = lookup.rows(text.column(columns.origin), is_origin=True)
    destination, work = lookup.of_texts(labels, is_origin=False)
    parts = []
    n_rounded = 0
    for at, name in enumerate(labels):
        count, n = _counts(text, name, rounded=rounded)
        some = np.flatnonzero(count)
        n_rounded += n
        ends = (np.full(some.size, value) for value in (destination[at], work[at]))
        parts.append((origin[some], *ends, count[some], home[some]))
    from_row, to_row, to_text, count, from_text = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _flows(from_row, to_row, count, (from_text, to_text), lookup, text.rows, n_rounded)


def _flows(
    origin: Ints,
    destination: Ints,
    count: Ints,
    places: tuple[Ints, Ints],
    lookup: _Lookup,
    n_rows: int,
    n_rounded: int,
) -> Flows:
    home, work = places
    kept = destination != UNKNOWN
    origins = _by_text(home[kept], count[kept], lookup.unknown)
    destinations = _by_text(work, count, lookup.unknown)
    return Flows(origin, destination, count, n_rows, origins, destinations, n_rounded)


def _by_text(place: Ints, count: Ints, texts: list[str]) -> Counter[str]:
    lost = place != UNKNOWN
    sums = np.bincount(place[lost], count[lost], minlength=len(texts))
    return Counter({texts[at]: int(sums[at]) for at in np.flatnonzero(sums).tolist()})
