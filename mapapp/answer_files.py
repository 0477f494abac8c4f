"""Answers as files: JSON, CSV, XLSX and GeoJSON; every row, whatever a page shows of them.

Names in a release come from public files, but also from whoever made them: a text cell that a spreadsheet would take
for a formula gets an apostrophe in CSV, and in XLSX all text is written as text.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

import pandas
import shapely
import xlsxwriter

from mapapp.errors import UsageError
from mapapp.exports.spreadsheet import harmless
from mapapp.queries.analyses import Release
from mapapp.queries.results import FlowMatrix, Number, Result

NUMBERS: Final = "numbers"
"""A table that every answer has besides its own: one row with all its numbers."""

FORMATS: Final = ("text", "json", "csv", "xlsx", "geojson")
_MAX_SHEET_ROWS: Final = 1_048_575  # of Excel, below the header
_DECIMALS: Final = 5


def main_table(result: Result) -> str:
    """Name of the table that an export without a choice gets."""
    return next(iter(result.tables()), NUMBERS)


def table_of(result: Result, name: str) -> Any:
    """One table of an answer, with what it is about in front: ``release``, ``year``, ``area``, ``area_text``, ``side``.

    Raises
    ------
    UsageError
        When the answer has no such table.
    """
    tables = result.tables()
    if name != NUMBERS and name not in tables:
        raise UsageError(f"table {name!r}: {result.about.title} has {', '.join([*tables, NUMBERS])}")
    table = _numbers(result) if name == NUMBERS else tables[name]
    return _with_about(result, table)


def write_json(results: Iterable[Result], stream: IO[str]) -> None:
    """Write ``{"answers": [...]}``, each as `Result.to_dict`, one after the other as they come."""
    stream.write('{"answers": [')
    for place, result in enumerate(results):
        stream.write(",\n" if place else "\n")
        json.dump(result.to_dict(), stream, ensure_ascii=False, allow_nan=False)
    stream.write("\n]}\n")


def write_csv(tables: Iterable[Any], stream: IO[str]) -> None:
    """Write tables with the same columns below each other."""
    writer = csv.writer(stream, lineterminator="\n")
    header: list[str] | None = None
    for table in tables:
        if header is None:
            header = list(table.columns)
            writer.writerow(header)
        columns = [_csv_column(table[name]) for name in header]
        writer.writerows(zip(*columns, strict=True))


def write_xlsx(results: Iterable[Result], stream: IO[bytes]) -> None:
    """Write a workbook: what was asked, a sheet of numbers, and a sheet for each table.

    Raises
    ------
    UsageError
        When a table has more rows than a sheet holds.
    """
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(stream, {**options, "in_memory": True, "nan_inf_to_errors": False}) as book:
        bold = book.add_format({"bold": True})
        sheets: dict[str, _Sheet] = {}
        for result in results:
            for name, table in {
                "about": _about_table(result),
                NUMBERS: _numbers(result),
                **result.tables(),
            }.items():
                if name not in sheets:
                    sheets[name] = _Sheet(book.add_worksheet(name), bold)
                sheets[name].add(_with_about(result, table))


def write_geojson(release: Release, results: Iterable[Result], stream: IO[str]) -> None:
    """Write the rows of answers as features: units with their outlines, flows as lines between centres, else the area.

    Rows without a place, such as a rest, have no geometry. All coordinates are EPSG:4326.
    """
    stream.write('{"type": "FeatureCollection", "features": [')
    first = True
    for result in results:
        for feature in _features(release, result):
            stream.write("\n" if first else ",\n")
            json.dump(feature, stream, ensure_ascii=False, allow_nan=False)
            first = False
    stream.write("\n]}\n")


class _Sheet:
    """One sheet of a workbook, filled from the top."""

    def __init__(self, sheet: Any, bold: Any) -> None:
        self._sheet = sheet
        self._bold = bold
        self._row = 0

    def add(self, table: Any) -> None:
        """Put a table below what is there; its header stands once, at the top."""
        if not self._row:
            for column, name in enumerate(table.columns):
                self._sheet.write_string(0, column, name, self._bold)
                self._sheet.set_column(column, column, min(max(len(name), _width(table[name])) + 2, 50))
            self._sheet.freeze_panes(1, 0)
            self._row = 1
        if self._row + len(table) > _MAX_SHEET_ROWS + 1:
            raise UsageError(
                f"{len(table):,} rows are more than a sheet holds ({_MAX_SHEET_ROWS:,}); write CSV instead"
            )
        for column, name in enumerate(table.columns):
            for place, value in enumerate(table[name].tolist()):
                self._write(self._row + place, column, value)
        self._row += len(table)

    def _write(self, row: int, column: int, value: Any) -> None:
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float)) and not pandas.isna(value):
            self._sheet.write_number(row, column, value)
        elif isinstance(value, str) and value:
            self._sheet.write_string(row, column, value[:32_000])


def _with_about(result: Result, table: Any) -> Any:
    about = result.about
    front = {
        "release": about.release,
        "year": about.year,
        "area": about.area,
        "area_text": about.area_text,
        "side": about.side or "",
    }
    columns = {name: [value] * len(table) for name, value in front.items()}
    behind = {name: table[name].to_numpy() for name in table.columns}
    return pandas.DataFrame(columns | {_apart(name, front): values for name, values in behind.items()})


def _apart(name: str, taken: dict[str, str]) -> str:
    return f"row_{name}" if name in taken else name


def _numbers(result: Result) -> Any:
    row: dict[str, Any] = {}
    for name, value in result.numbers().items():
        if isinstance(value, Number):
            row |= {
                name: value.value,
                f"{name}_expected_error": value.expected_error,
                f"{name}_caution": value.caution,
            }
        elif isinstance(value, dict):
            row |= {f"{name}_{when}": number for when, number in value.items()}
        else:
            row[name] = value
    return pandas.DataFrame([row])


def _about_table(result: Result) -> Any:
    about = result.about
    promise = {f"promise: {name}": value for name, value in about.promise.items()}
    rows = {
        "title": about.title,
        "release": about.release,
        "version": about.version,
        "job type": about.job_type,
        "workers": about.filters or "all",
        "blocks in the area": about.n_blocks,
        "blocks cut by the border": about.n_edge_blocks,
        **promise,
        **{f"note {place + 1}": note for place, note in enumerate(about.notes)},
    }
    return pandas.DataFrame({"what": list(rows), "value": [str(value) for value in rows.values()]})


def _csv_column(column: Any) -> list[Any]:
    """Cells of a column: numbers short, nothing for a missing one, no text that a spreadsheet would compute."""
    if column.dtype.kind == "f":
        return ["" if pandas.isna(value) else format(value, ".10g") for value in column.tolist()]
    if column.dtype.kind in "iub":
        return column.tolist()  # type: ignore[no-any-return]
    return [harmless("" if value is None or value != value else value) for value in column.tolist()]


def _width(column: Any) -> int:
    return max((len(str(value)) for value in column.head(50).tolist()), default=0)


def _features(release: Release, result: Result) -> Iterator[dict[str, Any]]:
    if isinstance(result, FlowMatrix):
        yield from _lines(result)
        return
    table = table_of(result, main_table(result))
    layer = getattr(result, "layer", None)
    if layer is None:
        chosen = release.areas.select(result.about.area_text) if "|" not in result.about.area_text else None
        outline = release.outlines.of_blocks(chosen.blocks) if chosen is not None else None
        for row in _rows(table_of(result, NUMBERS)):
            yield _feature(outline, row)
        return
    outlines = release.outlines.of_layer(layer)
    for row in _rows(table):
        yield _feature(outlines.get(row["unit_id"]) if row["kind"] == "unit" else None, row)


def _lines(result: FlowMatrix) -> Iterator[dict[str, Any]]:
    places = {
        end: {
            (row.kind, row.unit_id): (row.lon_deg, row.lat_deg)
            for row in margin.itertuples()
            if not pandas.isna(row.lon_deg)
        }
        for end, margin in (("home", result.homes), ("work", result.works))
    }
    for row in _rows(_with_about(result, result.cells)):
        ends = [places[end].get((row[f"{end}_kind"], row[f"{end}_id"])) for end in ("home", "work")]
        yield _feature(shapely.LineString(ends) if None not in ends else None, row)


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    for row in table.to_dict("records"):
        yield {
            name: None if isinstance(value, float) and pandas.isna(value) else value
            for name, value in row.items()
        }


def _feature(shape: Any, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = (
        None if shape is None else shapely.geometry.mapping(shapely.set_precision(shape, 10**-_DECIMALS))
    )
    if geometry is not None:
        geometry = {"type": geometry["type"], "coordinates": _rounded(geometry["coordinates"])}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def _rounded(value: Any) -> Any:
    return round(value, _DECIMALS) if isinstance(value, float) else [_rounded(part) for part in value]
