"""The complete tables of an answer: every row and column, with readable heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import pandas

from geodata.store.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from mapapp.answers import words
from mapapp.answers.analyses.change import largest_change
from mapapp.answers.analyses.cross_table import KEYS
from mapapp.answers.analyses.entries import entry_of, grid_of
from mapapp.answers.analyses.entry import ColumnEntry, text_of
from mapapp.answers.analyses.grids import ERROR, Limit
from mapapp.answers.analyses.results import Change, Result
from mapapp.answers.analyses.short_tables import shortened
from mapapp.answers.errors.error_marks import (
    EXCEEDS,
    EXCEEDS_COLUMN,
    mark_exceeding,
    mark_of_grid,
    mark_of_table,
)
from mapapp.show.files.answers import WIDE
from mapapp.show.reports.content import Column, Kind, Table

_BANDS: Final = {"age": AGE_BANDS, "earnings": EARNINGS_BANDS, "industry": INDUSTRY_GROUPS}
_HEADS: Final[dict[str, tuple[str, Kind, bool]]] = {
    "name": ("Name", "text", True),
    "unit_id": ("Identifier", "code", True),
    "kind": ("Kind", "text", False),
    "lon_deg": ("Longitude, degrees", "degrees", False),
    "lat_deg": ("Latitude, degrees", "degrees", False),
    "partly": ("Partly", "yes", True),
    "group": ("Group", "text", False),
    "group_label": ("Group", "text", True),
    "characteristic": ("Characteristic", "text", False),
    "characteristic_label": ("Characteristic", "text", True),
    "band": ("Band", "count", False),
    "label": ("", "text", True),
    "band_label": ("Distance", "text", True),
    "direction": ("Direction", "code", False),
    "direction_label": ("Direction", "text", True),
    "age": ("Age band", "count", False),
    "earnings": ("Earnings band", "count", False),
    "industry": ("Industry group", "count", False),
    "home_name": ("Live in", "text", True),
    "home_id": ("Home identifier", "code", False),
    "home_kind": ("Home kind", "text", False),
    "work_name": ("Work in", "text", True),
    "work_id": ("Workplace identifier", "code", False),
    "work_kind": ("Workplace kind", "text", False),
    **{name: (f"{name.capitalize()} attribute", "code", False) for name in KEYS},
    "attribute": ("Attribute", "code", False),
    "title": ("Attribute", "text", True),
    "code": ("Code", "code", False),
    "workers": ("Workers", "count", True),
    "share": ("Share", "share", True),
    "expected_error": ("Expected error", "error", True),
    EXCEEDS_COLUMN: (EXCEEDS, "yes", True),
    "caution": ("Caution", "text", True),
    **{
        f"{name}_{band}": (label, "count", True)
        for name, labels in _BANDS.items()
        for band, label in enumerate(labels, 1)
    },
}
_MARKED: Final = "The notes say why counts marked {mark} have no expected error."
_NONE_KNOWN: Final = "These counts have no expected error: see the notes marked {mark}."
_NOTHING: Final[Mapping[str, ColumnEntry]] = MappingProxyType({})
_FIRST: Final = (
    "name",
    "group_label",
    "characteristic_label",
    "direction_label",
    "band_label",
    "title",
    "label",
)
_ENDS: Final = {"work": "homes", "home": "workplaces"}


def tables(result: Result, grid: pandas.DataFrame | None = None) -> tuple[Table, ...]:
    """Every table of an answer with every row, the main one first; then its grid, if one is given."""
    return (*_tables(result, None), *_grid_tables(result, grid))


def printed_tables(result: Result, rows: int | None) -> tuple[Table, ...]:
    """The tables of an answer for HTML and PDF: tables of areas have at most `rows` rows, and one for all others.

    A grid comes after the main table, and replaces the tables that have the same counts.
    """
    in_grid = () if result.has_several else entry_of(result).in_grid
    plain_tables = [table for table in _tables(result, rows) if table.name not in in_grid]
    return (*plain_tables[:1], *_grid_tables(result, grid_of(result, _GRID), most=True), *plain_tables[1:])


def _tables(result: Result, rows: int | None) -> list[Table]:
    answer_tables = []
    for name, whole in result.tables().items():
        title, about = _title(result, name)
        own, frame = _own_columns(result, name), _short(whole, rows)
        about = _cut_words(about, frame, whole)
        if _has_bands_apart(result, name):
            every = [f"{characteristic}_{band}" for characteristic in _BANDS for band in (1, 2, 3)]
            bands = [column for column in every if column in frame.columns]  # a release may show fewer
            plain, mark = frame.drop(columns=bands), mark_of_table(result, name)
            answer_tables.append(table_of(name, title, about, plain, no_error=mark))
            if not bands:
                continue
            named = frame[["name", "unit_id", "kind", *bands]]
            wide = table_of("bands", f"{title}: age, earnings, and industry", _BANDS_WORDS, named)
            answer_tables.append(_hide_identifiers(wide))
        else:
            answer_tables.append(table_of(name, title, about, frame, own, mark_of_table(result, name)))
    return answer_tables


def _short(frame: pandas.DataFrame, rows: int | None) -> pandas.DataFrame:
    """The first rows of a table of areas, and one for all others; other tables are short."""
    if rows is not None and "first" in frame.columns and len(frame) > max(rows, _MOST_GRID_ROWS):
        return frame.sort_values("workers", ascending=False, kind="stable").head(_MOST_GRID_ROWS)
    is_long = rows is not None and len(frame) > rows + 1
    if rows is None or not is_long or not {"kind", "home_kind"} & set(frame.columns):
        return frame
    return shortened(frame, rows)


def _cut_words(about: str, short: pandas.DataFrame, whole: pandas.DataFrame) -> str:
    if len(short) == len(whole):
        return about
    # A table of units ends with those outside any unit and with other states; a table of pairs does not.
    if "first" in short:
        return f"The {len(short):,} largest of {len(whole):,} rows. The XLSX report has every row. {about}"
    n_largest = int((short["kind"] == "unit").sum()) if "kind" in short else len(short) - 1
    return (
        f"The {n_largest:,} largest of {len(whole):,} rows, and all others together. "
        "The XLSX report has every row; --rows all prints them here."
    )


def cut(table: Table, rows: int | None) -> Table:
    """A table that compares areas or releases; if its rows are areas, their number is limited."""
    is_long = rows is not None and len(table.rows) > rows + 1
    if (
        rows is None
        or not is_long
        or not any(column.name in ("kind", "home_kind") for column in table.columns)
    ):
        return table
    text = f"The first {rows:,} of {len(table.rows):,} rows; the XLSX report has every row."
    return replace(table, rows=table.rows[:rows], words=f"{table.words} {text}".strip())


_GRID: Final = Limit(rows=20, columns=7)
"""Printed size of a grid, whose columns must fit on a page."""


_MOST_GRID_ROWS: Final = 200


def _grid_tables(result: Result, grid: pandas.DataFrame | None, *, most: bool = False) -> tuple[Table, ...]:
    """The grid of an answer as a table; none without a grid. With `most`, a long grid is cut for printing."""
    if grid is None:
        return ()
    columns = []
    for name in grid.columns:
        kind: Kind = "count" if grid[name].dtype.kind in "iu" else "text"
        kind = "error" if name.endswith(ERROR) else kind
        columns.append(Column(name=name, head="±" if kind == "error" else name, kind=kind))
    n_rows, grid = len(grid), grid.head(_MOST_GRID_ROWS) if most else grid
    cut = (
        f" The first {len(grid):,} of {n_rows:,} rows; the XLSX report has every row."
        if len(grid) < n_rows
        else ""
    )
    values, mark = [plain_column(grid[name]) for name in grid.columns], mark_of_grid(result)
    if mark:
        cut += f" {_MARKED if any(column.kind == 'error' for column in columns) else _NONE_KNOWN}".format(
            mark=mark
        )
        values = [
            [mark if cell is None else cell for cell in cells] if column.kind == "error" else cells
            for column, cells in zip(columns, values, strict=True)
        ]
    rows = tuple(zip(*values, strict=True))
    title = f"{_title(result, next(iter(result.tables())))[0]}: as a grid"
    return (Table(name=WIDE, title=title, words=f"{_GRID_WORDS}{cut}", columns=tuple(columns), rows=rows),)


_GRID_WORDS: Final = "Totals are at the end of rows and columns."


def _has_bands_apart(result: Result, name: str) -> bool:
    return not isinstance(result, Change) and entry_of(result).tables[name].bands_apart


def first_rows(result: Result, n_rows: int) -> Table | None:
    """The first rows of the main table, and one row for all others; None if the answer has no table."""
    name, frame = next(iter(result.tables().items()), ("", None))
    if frame is None:
        return None
    bands = [f"{characteristic}_{band}" for characteristic in _BANDS for band in (1, 2, 3)]
    frame = frame.drop(columns=bands, errors="ignore")
    frame = largest_change(frame) if isinstance(result, Change) else frame
    short = shortened(frame, n_rows) if "share" in frame.columns else frame.head(n_rows)
    mark = mark_of_table(result, name)
    return table_of(name, *_title(result, name), short, _own_columns(result, name), mark)


_BANDS_WORDS: Final = (
    "Workers by age in years, by monthly earnings, and by industry; each of the three adds up to all workers."
)


def _own_columns(result: Result, name: str) -> Mapping[str, ColumnEntry]:
    """Columns of a table that its analysis declares."""
    return change_columns(result) if isinstance(result, Change) else entry_of(result).tables[name].columns


def change_columns(result: Change) -> Mapping[str, ColumnEntry]:
    """Columns of a comparison, headed as it is called."""
    first, second, noun = result.words.heads
    if entry_of(result.after).measure.kind == "ratio":
        columns = {
            "before": ColumnEntry(first, "ratio"),
            "after": ColumnEntry(second, "ratio"),
            "change": ColumnEntry(noun, "ratio change"),
            "expected_error": ColumnEntry("Expected error", "ratio error"),
        }
    else:
        columns = {
            "before": ColumnEntry(first, "count"),
            "after": ColumnEntry(second, "count"),
            "change": ColumnEntry(noun, "change"),
        }
    return columns | {"change_share": ColumnEntry(f"{noun}, %", "change share")}


def table_of(
    name: str,
    title: str,
    about: str,
    frame: pandas.DataFrame,
    own: Mapping[str, ColumnEntry] = _NOTHING,
    no_error: str = "",
) -> Table:
    """A table of a frame with known columns, or with some of its `own`; those for people come first.

    Rows without an expected error have the mark `no_error` in place of it.
    """
    frame = _label_codes(mark_exceeding(frame))
    first = [column_name for column_name in _FIRST if column_name in frame.columns]
    order = [*first, *(column_name for column_name in frame.columns if column_name not in first)]
    columns = []
    for column_name in order:
        head, kind, printed = (
            (own[column_name].head, own[column_name].kind, True)
            if column_name in own
            else _HEADS[column_name]
        )
        columns.append(Column(name=column_name, head=head or _label_head(frame), kind=kind, printed=printed))
    if any(column.kind == "error" for column in columns) and words.all_exact(frame["expected_error"]):
        about = f"{about} All counts are exact.".strip()
        columns = [replace(column, printed=column.printed and column.kind != "error") for column in columns]
    errors = frame["expected_error"].notna().sum() if "expected_error" in frame else 0
    if 0 < errors < len(frame):
        about = f"{about} {errors:,} of {len(frame):,} rows have an expected error.".strip()
    values = [plain_column(frame[column_name]) for column_name in order]
    if no_error and "expected_error" in order:
        about = f"{about} {_MARKED.format(mark=no_error)}".strip()
        place = order.index("expected_error")
        values[place] = [no_error if cell is None else cell for cell in values[place]]
    rows = tuple(zip(*values, strict=True))
    return Table(name=name, title=title, words=about, columns=tuple(columns), rows=rows)


def _hide_identifiers(table: Table) -> Table:
    """The same table without printed identifiers, which would make it too wide."""
    columns = (replace(column, printed=column.printed and column.kind != "code") for column in table.columns)
    return replace(table, columns=tuple(columns))


def _label_codes(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The same frame with a column of words for each column of codes."""
    if "partly" in frame.columns:  # workers outside every unit are not part of one
        frame = frame.assign(partly=frame["partly"].astype(bool) & (frame["kind"] == "unit"))
    if "group" in frame.columns and "characteristic" in frame.columns:
        groups = {"inflow": "Come in", "outflow": "Go out", "stay": "Live and work here"}
        frame = frame.assign(group_label=frame["group"].map(groups))
    if "characteristic" in frame.columns:
        frame = frame.assign(characteristic_label=frame["characteristic"].map(words.BAND_TITLES))
    if "direction" in frame.columns and "label" not in frame.columns:
        frame = frame.assign(direction_label=frame["direction"].map(words.DIRECTION_NAMES))
    return frame


def _label_head(frame: pandas.DataFrame) -> str:
    for column, head in (
        ("characteristic", "Band"),
        ("age", "Segment"),
        ("first", "Group"),
        ("attribute", "Value"),
        ("group", "Group"),
        ("direction", "Direction"),
    ):
        if column in frame.columns:
            return head
    return "Distance"


def plain_column(column: pandas.Series, kind: str = "") -> list[object]:
    """The values of a column, None where missing; counts in a column of decimals as whole numbers."""
    if kind in ("count", "change"):
        return [None if pandas.isna(value) else round(value) for value in column.tolist()]
    if column.dtype.kind == "f":
        return [None if pandas.isna(value) else value for value in column.tolist()]
    return [None if value is None or value != value else value for value in column.tolist()]


def _title(result: Result, name: str) -> tuple[str, str]:
    """Title of a table, and what its shares refer to."""
    if isinstance(result, Change):
        return result.words.title, result.words.order
    entry = entry_of(result).tables[name]
    return text_of(entry.title, result), text_of(entry.words, result)
