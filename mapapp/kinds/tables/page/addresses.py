"""Addresses of what the page of a table loads: its files, and the shapes of starred units."""

from __future__ import annotations

from typing import Final

from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.sheet import Sheet
from mapapp.kinds.tables.read.view import TableView, to_query

FILES_PATH: Final = "table-files/"
STARRED_PATH: Final = "starred/"


def file_url(prefix: str, served: ServedTable, name: str, part: int = 1) -> str:
    """Address of a file of a table; it contains the table's version."""
    query = f"?part={part}" if part > 1 else ""
    return f"{prefix}{FILES_PATH}{served.slug}/{served.version}/{name}{query}"


def starred_url(prefix: str, served: ServedTable, sheet: Sheet) -> str:
    """Address of the shapes of the units whose count in the column on the map is suppressed."""
    plain = TableView(part=sheet.view.part, of=sheet.view.of, color=sheet.view.color)
    return f"{prefix}{STARRED_PATH}{served.slug}/{served.version}.geojson{to_query(plain)}"
