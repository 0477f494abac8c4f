"""Read anybody's table of counts with stars: first row and first column are labels, totals are labeled Total."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray
from engine.suppression.tables_given import SUPPRESSED, GivenTable
from mapapp.analyst.attack.cell_text import STAR, Conventions, printable
from mapapp.analyst.attack.subtotals import (
    NOTHING_SAID,
    How,
    Subtotals,
    families_of,
    is_total,
    subtotals_of,
)
from mapapp.base.errors import UsageError
from mapapp.kinds.tables.files.grid import REMAINDER_LABEL

__all__ = ["read_people", "read_table"]

MOST_CELLS: Final = 1_000_000
MOST_STARS: Final = 20_000
_DELIMITERS: Final = (",", ";", "\t")

Counts = npt.NDArray[np.int64]


class _Labeled(NamedTuple):
    """Counts as they are in the file, and their labels."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Counts
    low: Counts
    high: Counts
    subtotals: Subtotals | None = None

    @property
    def is_range(self) -> BoolArray:
        """Which suppressed cells have limits, bool[R, C]."""
        return np.asarray((self.values == SUPPRESSED) & ((self.low > 0) | (self.high != SUPPRESSED)))


def read_table(
    path: Path, conventions: Conventions | None = None, how: How = NOTHING_SAID
) -> tuple[GivenTable, Subtotals | None]:
    """Read a published table from a CSV file.

    Fields are separated by commas, semicolons, or tabs. A row and a column labeled Total (or Totals, All, Sum, Grand
    total) are totals, at the end or at the beginning. Whole numbers may have thousands separators. A cell that is a
    range is suppressed, with limits; so is every cell of a rounded table. A column without counts, some of whose cells
    are empty, has flags of the column before it. A table that `commutemap export` wrote as printed can have a column of
    what each row's suppressed cells add up to; it becomes one of totals.

    Returns
    -------
    table : GivenTable
    subtotals : Subtotals or None
        If rows are sums of others, the table has no row of totals: the families have all that is known of rows.

    Raises
    ------
    UsageError
        The file is no such table; the message names the row and the column.
    """
    parsed = _add_row_totals(path, _read(path, conventions or Conventions(), how))
    row_total = None if parsed.subtotals is not None else _total(path, "row", parsed.rows)
    column_total = _total(path, "column", parsed.columns)
    rows, columns = (
        _move_totals_last(len(parsed.rows), row_total),
        _move_totals_last(len(parsed.columns), column_total),
    )
    if len(rows) == (row_total is not None) or len(columns) == (column_total is not None):
        raise UsageError(f"{path}: the table has only totals; give at least one other row and column")
    has_ranges, order = bool(parsed.is_range.any()), np.ix_(rows, columns)
    table = GivenTable(
        values=parsed.values[order],
        least=parsed.low[order] if has_ranges else None,
        most=np.where(parsed.is_range, parsed.high, SUPPRESSED)[order] if has_ranges else None,
        total_row=row_total is not None,
        total_column=column_total is not None,
        row_names=tuple(parsed.rows[row] for row in rows),
        column_names=tuple(parsed.columns[column] for column in columns),
    )
    return table, parsed.subtotals


def read_people(path: Path, table: GivenTable) -> Counts:
    """Read how many people each cell of a table has, int64[R, C]; ``SUPPRESSED`` where the file does not say.

    The file has the labels of the table, in any order; it may leave out totals.

    Raises
    ------
    UsageError
        The file is no table, or lacks a row or column.
    """
    people = _read(path, Conventions(), How("none"))
    counts = np.where(people.values == SUPPRESSED, people.high, people.values)
    most = np.full(table.values.shape, SUPPRESSED, dtype=np.int64)
    for row, column in np.argwhere(table.interior).tolist():
        names = table.row_names[row], table.column_names[column]
        if names[0] not in people.rows or names[1] not in people.columns:
            raise UsageError(f"{path}: no {table.cell_name(row, column)}; give the labels of the table")
        most[row, column] = counts[people.rows.index(names[0]), people.columns.index(names[1])]
    return most


def _read(path: Path, conventions: Conventions, how: How) -> _Labeled:
    lines, delimiter = _lines(path)
    lines, further = _take_column(path, lines, how)
    texts = [line[0] for line in lines[1:]]
    columns = tuple(_label(path, "column", text) for text in lines[0][1:])
    rows = _row_labels(path, texts, how, further)
    for kind, labels in (("row", rows), ("column", columns)):
        repeated = next((label for label, times in Counter(labels).items() if times > 1), None)
        if repeated is not None:
            raise UsageError(f"{path}: two {kind}s are labeled {repeated!r}; give each its own label")
    counts, flag_of = _pair_flags(path, columns, lines, conventions)
    meanings = np.zeros((3, len(rows), len(counts)), dtype=np.int64)
    for row, line in enumerate(lines[1:]):
        for place, column in enumerate(counts):
            text = line[column + 1].strip()
            # A row's only suppressed cell is its own remainder, and is not repeated there.
            known = text or (STAR if columns[column] == REMAINDER_LABEL else "")
            flag = line[flag_of[column] + 1].strip() if column in flag_of else ""
            try:
                meanings[:, row, place] = conventions.flagged(known, flag, delimiter)
            except UsageError as error:
                at = f"row {rows[row]}, column {columns[column]}"
                raise UsageError(f"{path}: {at}: {error}") from error
    columns = tuple(columns[column] for column in counts)
    values, low, high = meanings
    n_stars = int(np.count_nonzero(values == SUPPRESSED))
    if n_stars > MOST_STARS:
        raise UsageError(
            f"{path}: {n_stars:,} suppressed cells; give a part of the table with {MOST_STARS:,} at most"
        )
    try:
        subtotals = subtotals_of(texts, values, how, further)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return _Labeled(rows, columns, values, np.where(values == SUPPRESSED, low, 0), high, subtotals)


def _take_column(path: Path, lines: list[list[str]], how: How) -> tuple[list[list[str]], list[str]]:
    """Take the column of levels or of parents out of a table; return the other columns, and its cells."""
    if not how.column:
        return lines, []
    labels = [" ".join(text.split()) for text in lines[0]]
    if how.column not in labels[1:]:
        raise UsageError(
            f"{path}: --subtotals {how.way}={how.column}: no such column; the columns are {', '.join(labels[1:9])}"
        )
    place = labels.index(how.column, 1)
    return [line[:place] + line[place + 1 :] for line in lines], [line[place] for line in lines[1:]]


def _row_labels(path: Path, texts: list[str], how: How, further: list[str]) -> tuple[str, ...]:
    """Return the labels of rows; where two are equal, after those of the rows that they are parts of."""
    labels = [_label(path, "row", text) for text in texts]
    way = how.way or "indent"
    if len(set(labels)) == len(labels) or way not in ("indent", "level"):
        return tuple(labels)
    try:
        families = families_of(way, texts, further)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    repeated = {label for label, times in Counter(labels).items() if times > 1}
    named = list(labels)
    for family in families:  # a row comes after the one that it is a part of
        for child in family.children:
            if labels[child] in repeated:
                named[child] = f"{named[family.parent]}: {labels[child]}"
    return tuple(named)


def _pair_flags(
    path: Path, columns: tuple[str, ...], lines: list[list[str]], conventions: Conventions
) -> tuple[list[int], dict[int, int]]:
    """Find the columns of counts, and the column of flags after some of them."""
    texts = [[line[column + 1].strip() for line in lines[1:]] for column in range(len(columns))]
    flags = [
        column
        for column, label in enumerate(columns)
        if label != REMAINDER_LABEL and conventions.is_flag_column(texts[column])
    ]
    for column in flags:
        if column == 0 or column - 1 in flags:
            raise UsageError(
                f"{path}: column {columns[column]} looks like flags, but no column of counts is before it; put each "
                "column of flags after its counts"
            )
    counts = [column for column in range(len(columns)) if column not in flags]
    return counts, {column - 1: column for column in flags}


def _add_row_totals(path: Path, table: _Labeled) -> _Labeled:
    """Replace a column of remainders by totals: what a row shows and its remainder; unknown if the remainder is."""
    if REMAINDER_LABEL not in table.columns:
        return table
    if table.is_range.any():
        raise UsageError(
            f"{path}: a column {REMAINDER_LABEL!r} beside ranges or rounded counts; leave out that column"
        )
    place = table.columns.index(REMAINDER_LABEL)
    cells = np.delete(table.values, place, axis=1)
    columns = table.columns[:place] + table.columns[place + 1 :]
    if any(is_total(label) for label in columns):
        return _Labeled(table.rows, columns, cells, *_limits_of(cells), table.subtotals)
    remainder, is_star = table.values[:, place], cells == SUPPRESSED
    total = np.where(is_star, 0, cells).sum(axis=1) + np.maximum(remainder, 0)
    total = np.where(is_star.any(axis=1) & (remainder == SUPPRESSED), SUPPRESSED, total)
    values = np.column_stack([cells, total])
    return _Labeled(table.rows, (*columns, "Total"), values, *_limits_of(values), table.subtotals)


def _limits_of(values: Counts) -> tuple[Counts, Counts]:
    """The smallest and largest values of cells without ranges."""
    return np.zeros_like(values), values


def _lines(path: Path) -> tuple[list[list[str]], str]:
    """Split the file into rows of fields, all of one length; return the separator as well."""
    text = _text(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    try:
        delimiter = max(
            _DELIMITERS, key=lambda separator: len(next(csv.reader([first], delimiter=separator), []))
        )
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise UsageError(f"{path}: not a CSV file ({error}); save the table as CSV") from error
    numbered = [
        (number, line) for number, line in enumerate(lines, start=1) if any(part.strip() for part in line)
    ]
    if len(numbered) < 2 or len(numbered[0][1]) < 2:
        raise UsageError(
            f"{path}: no table; give labels in the first row and the first column, and counts or stars"
        )
    width = len(numbered[0][1])
    for number, line in numbered:
        if len(line) != width:
            raise UsageError(
                f"{path}: line {number} has {len(line)} fields, but the first has {width}; put labels and numbers that "
                "contain the separator in quotes"
            )
    if (len(numbered) - 1) * (width - 1) > MOST_CELLS:
        raise UsageError(f"{path}: more than {MOST_CELLS:,} cells; give a part of the table")
    return [line for _, line in numbered], delimiter


def _text(path: Path) -> str:
    data = path.read_bytes()
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text; save the table as CSV in UTF-8") from error


def _label(path: Path, kind: str, text: str) -> str:
    label = " ".join(text.split())
    if not label:
        raise UsageError(
            f"{path}: a {kind} has no label; label rows in the first column and columns in the first row"
        )
    return "".join(printable(mark) for mark in label)


def _total(path: Path, kind: str, labels: tuple[str, ...]) -> int | None:
    """Return the position of the totals; None without."""
    positions = [position for position, label in enumerate(labels) if is_total(label)]
    if len(positions) > 1:
        both = " and ".join(labels[position] for position in positions[:2])
        raise UsageError(f"{path}: {both} are both labeled as totals; keep one {kind} of totals")
    if positions and positions[0] not in {0, len(labels) - 1}:
        raise UsageError(
            f"{path}: {kind} {labels[positions[0]]} is neither first nor last; put totals at the end"
        )
    return positions[0] if positions else None


def _move_totals_last(n: int, total: int | None) -> list[int]:
    others = [position for position in range(n) if position != total]
    return others if total is None else [*others, total]
