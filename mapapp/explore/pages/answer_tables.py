"""The complete table of each analysis, as plain text that the browser fills in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypedDict, cast

import pandas

from mapapp.answers import words
from mapapp.answers.analyses.change import largest_change
from mapapp.answers.analyses.characteristics import Characteristics
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import WORKER_CELLS, ColumnEntry, WideTable, text_of
from mapapp.answers.analyses.job_balance import JobBalance
from mapapp.answers.analyses.measures import Row, caution
from mapapp.answers.analyses.results import AreaComparison, Change, Destinations, FlowMatrix, Result
from mapapp.answers.analyses.short_tables import shortened
from mapapp.answers.areas.levels import NAMED, level_label
from mapapp.answers.areas.unit_names import name_parts
from mapapp.answers.errors.error_marks import (
    EXCEEDS,
    WITHIN,
    error_exceeds,
    mark_of_grid,
    mark_of_table,
    within_errors,
)
from mapapp.answers.wording import reader_text

SHORT_ROWS: Final = 12
MOST_ROWS: Final = 10_000  # more would slow the page down; the file has every row
SHARE: Final = " | "
"""Before the share of a count in the text of a cell."""
_WORKERS: Final = [cell.head for cell in WORKER_CELLS.values()]
_TEXTS: Final[dict[str, Callable[[float], str]]] = {
    "count": lambda value: f"{value:,}",
    "share": lambda value: words.percent(None if math.isnan(value) else value),
    "ratio": words.ratio,
    "change": lambda value: f"{value:+,}",
    "ratio change": words.ratio_change,
    "error": lambda value: words.error_text(value, sign=""),
    "ratio error": lambda value: words.ratio_error(value, sign=""),
}
"""How the page writes a cell, by its kind."""


class TableRow(TypedDict):
    """A row as the browser shows it.

    `unit` is the area that its name opens; `last` says that the row stays last when others are sorted.
    """

    name: str
    sub: str
    cells: list[str]
    marks: tuple[str, ...]
    unit: str
    last: bool


class ShownTable(TypedDict):
    """A table for the browser; `notes` say why counts marked with their letters have no expected error."""

    title: str
    heads: list[str]
    rows: list[TableRow]
    size: str
    can_grow: bool
    every: bool
    notes: dict[str, str]


UnitsAnswer = AreaComparison | Destinations | JobBalance | Characteristics
"""Answers whose table on the page has a row for each unit."""
RowOf = Callable[[Row], TableRow]
"""Makes the row that is shown from a row of the frame, as `itertuples` gives it."""


def table(result: Result, *, every: bool) -> ShownTable:
    """Title, column heads and rows of the main table; unless `every`, the first rows and a total of the others."""
    title, heads, frame, cells = _parts(result)
    without = _mark(result)
    n_rows = len(frame)
    limit = MOST_ROWS if every else SHORT_ROWS
    is_change = isinstance(result, Change)
    can_be_long = is_change or bool(entry_of(result).pairs) or frame is getattr(result, "units", None)
    shown = frame
    if can_be_long and n_rows > limit + 1:
        shown = frame.head(limit) if is_change else shortened(frame, limit)
    is_exact = words.all_exact(_errors(frame))
    if is_exact:
        shown = _without_errors(shown)
    if "±" in heads and (is_exact or (frame["expected_error"].isna().all() and not without)):
        heads = heads[:-1]
    nouns = result.about.nouns
    return {
        "title": reader_text(words.exact_title(title, is_exact=is_exact), nouns),
        "heads": [reader_text(head, nouns) for head in heads],
        "rows": [
            _mark_counts(_cut(cells(row), len(heads) - 1), row, heads, without) for row in shown.itertuples()
        ],
        "size": f"{n_rows:,} row{'s' * (n_rows != 1)}",
        "can_grow": n_rows > SHORT_ROWS + 1 and can_be_long,
        "every": every,
        "notes": {mark: text for mark, text in result.about.marked_notes.items() if mark in without},
    }


def _mark(result: Result) -> str:
    """The mark of counts without an expected error in the table on the page; empty if there is no stated reason."""
    if isinstance(result, Change):
        return ""
    page = entry_of(result).page_table
    if page is None or page.table:
        return mark_of_table(result, "units" if page is None else page.table)
    return mark_of_grid(result)


def _mark_counts(row: TableRow, source: Row, heads: list[str], without: str) -> TableRow:
    """The row with the mark beside each count that has no expected error."""
    if not without:
        return row
    cells = list(row["cells"])
    if hasattr(source, "counts"):
        for place, (_, error) in enumerate(source.counts):
            if error is not None and math.isnan(error):
                count, *share = cells[place].split(SHARE)
                cells[place] = SHARE.join([f"{count} {without}", *share])
    elif heads[-1] == "±" and not cells[-1]:
        cells[-1] = without
    return {**row, "cells": cells}


def _errors(frame: pandas.DataFrame) -> list[float | None]:
    """The expected errors of all counts of a table, which has one or several counts in a row."""
    if "counts" in frame.columns:
        return [error for counts in frame["counts"] for _, error in counts]
    return list(frame["expected_error"])


def _without_errors(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The same table with no error beside each of several counts in a row."""
    if "counts" not in frame.columns:
        return frame
    return frame.assign(counts=frame["counts"].map(lambda counts: [(n, None) for n, _ in counts]))


def _cut(row: TableRow, n_cells: int) -> TableRow:
    return {**row, "cells": row["cells"][:n_cells]}


def _parts(result: Result) -> tuple[str, list[str], pandas.DataFrame, RowOf]:
    if isinstance(result, Change):
        first, second, noun = result.words.heads
        rows, kind = largest_change(result.rows), entry_of(result.after).measure.kind
        return noun, ["", first, second, "%", noun, "±"], rows, _change_row(kind)
    entry = entry_of(result)
    page = entry.page_table
    if page is None:
        return _units(cast(UnitsAnswer, result))
    if page.wide is not None:
        wide = page.wide(result)
        title = f"{page.title}, with shares of each row" if wide.has_row_shares else page.title
        return title, [page.head, *wide.heads], wide.rows, _wide_row_of(wide)
    heads, frame = [page.head, *_WORKERS], getattr(result, page.table)
    if page.table == entry.pairs:
        return page.title, heads, _pairs(frame), _pair_row(cast(FlowMatrix, result))
    return page.title, heads, frame, _label_row


def _units(
    result: UnitsAnswer,
) -> tuple[str, list[str], pandas.DataFrame, RowOf]:
    """The parts of a table of units: which columns it has is declared with its analysis."""
    entry = entry_of(result)
    title = entry.page_title or entry.tables["units"].title
    heads = [_unit(result.layer), *(cell.head for cell in entry.cells.values())]
    return (
        text_of(title, result),
        heads,
        result.units,
        _unit_row(result.layer, entry.cells),
    )


def _unit(layer: str) -> str:
    return level_label(layer).split(" (")[0]


def _row(
    name: str,
    cells: list[str],
    *,
    marks: tuple[str, ...] = (),
    unit: str = "",
    sub: str = "",
    last: bool = False,
) -> TableRow:
    return {"name": name, "sub": sub, "cells": cells, "marks": marks, "unit": unit, "last": last}


def _marks(*counts: int) -> tuple[str, ...]:
    """The caution for each count; empty for a count of 0."""
    return tuple(caution(int(count)) if count else "" for count in counts)


def _worker_cells(row: object) -> list[str]:
    return [_TEXTS[column.kind](getattr(row, name)) for name, column in WORKER_CELLS.items()]


def _exceeds(row: Row) -> str:
    """The mark below the name of a row whose expected error exceeds its count; the map hatches such areas."""
    return EXCEEDS if error_exceeds(row.workers, row.expected_error) else ""


def _unit_row(layer: str, columns: dict[str, ColumnEntry]) -> RowOf:
    def cells(row: Row) -> TableRow:
        texts = [_TEXTS[column.kind](getattr(row, column_name)) for column_name, column in columns.items()]
        name, sub = (row.name, "") if layer in NAMED else name_parts(row.name)
        partly = "partly in the area" if getattr(row, "partly", False) else ""
        unit = f"{layer}:{row.unit_id}" if row.kind == "unit" else ""
        more = " · ".join(part for part in (sub, partly, _exceeds(row)) if part)
        counts = [
            getattr(row, column_name) for column_name, column in columns.items() if column.kind == "count"
        ]
        return _row(name, texts, marks=_marks(*counts), unit=unit, sub=more, last=row.kind != "unit")

    return cells


def _label_row(row: Row) -> TableRow:
    return _row(row.label, _worker_cells(row), marks=_marks(row.workers), sub=_exceeds(row))


def _wide_row_of(table: WideTable) -> RowOf:
    """Returns a function that formats several counts as a row; the browser puts a share below its count."""

    def cells(row: Row) -> TableRow:
        texts = [f"{n:,} {words.error_text(error)}".rstrip() for n, error in row.counts]
        whole = row.counts[-1][0] if row.counts else 0
        if table.has_row_shares and whole:
            shares = [f"{100 * n / whole:.0f}%" for n, _ in row.counts[:-1]]
            texts = [f"{text}{SHARE}{share}" for text, share in zip(texts, shares, strict=False)] + texts[-1:]
        return _row(row.label, texts, marks=_marks(*[n for n, _ in row.counts]), sub=row.sub)

    return cells


def _pairs(cells: pandas.DataFrame) -> pandas.DataFrame:
    return cells.assign(name=cells["home_name"], kind=cells["home_kind"])


def _pair_row(result: FlowMatrix) -> RowOf:
    def cells(row: Row) -> TableRow:
        if row.kind == "other":
            marks = _marks(row.workers)
            return _row(row.name, _worker_cells(row), marks=marks, sub=_exceeds(row), last=True)
        both = row.home_kind == "unit" and row.work_kind == "unit"
        pair = f"{result.home_layer}:{row.home_id} {result.work_layer}:{row.work_id}" if both else ""
        name, texts = f"{row.home_name} → {row.work_name}", _worker_cells(row)
        return _row(name, texts, marks=_marks(row.workers), unit=pair, sub=_exceeds(row))

    return cells


def _change_row(kind: str) -> RowOf:
    """Returns a function that formats a change in counts or ratios as a row."""
    change, error = ("change", "error") if kind == "count" else ("ratio change", "ratio error")

    def cells(row: Row) -> TableRow:
        fields = row._asdict()
        names = [
            str(fields[name])
            for name in ("home_name", "work_name", "name", "band_label", "direction", "label")
            if name in fields
        ]
        share = "–" if math.isnan(row.change_share) else f"{100 * row.change_share:+.0f}%"
        texts = [_TEXTS[kind](row.before), _TEXTS[kind](row.after), share, _TEXTS[change](row.change)]
        texts.append(_TEXTS[error](row.expected_error))
        marks = _marks(row.before, row.after) if kind == "count" else ()
        unclear = WITHIN if row.expected_error and within_errors(row.change, row.expected_error) else ""
        return _row(" → ".join(name for name in names if name), texts, marks=marks, sub=unclear)

    return cells
