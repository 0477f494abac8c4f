"""Addresses of the files of published tables: their certificate, and the shapes of starred units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import flask

from mapapp.answers.opened_publication import certificate_json
from mapapp.base.watch import Refused
from mapapp.explore import web_app
from mapapp.explore.admission import Admission
from mapapp.explore.callbacks.views import Views
from mapapp.explore.heavy_requests import departure, refusal
from mapapp.explore.listener.proxies import client_key
from mapapp.kinds.tables.files.csv import table_csv
from mapapp.kinds.tables.files.xlsx import table_xlsx
from mapapp.kinds.tables.page.addresses import FILES_PATH, STARRED_PATH
from mapapp.kinds.tables.page.map import starred_units
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.sheet import make_sheet
from mapapp.kinds.tables.read.view import TableView
from mapapp.show.content import map_layers
from mapapp.show.content.map_layers import pack_shapes
from mapapp.show.exports.layer import safe_name

_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_GONE: Final = "This file does not exist. The table may have been replaced; reload the page."


@dataclass(frozen=True, slots=True)
class TableFile:
    """A downloadable file of a table: its media type, and the function that makes it for one part, from 1."""

    mimetype: str
    make: Callable[[ServedTable, int], bytes]


FILES: Final[Mapping[str, TableFile]] = {
    "certificate.json": TableFile(
        "application/json", lambda served, _: certificate_json(served.certificate).encode()
    ),
    "table.csv": TableFile("text/csv", lambda served, part: table_csv(served.published, part - 1)),
    "tables.xlsx": TableFile(_XLSX, lambda served, _: table_xlsx(served.published)),
}
"""Every downloadable file, by the last part of its address."""


def register(server: flask.Flask, views: Views, places: Admission) -> None:
    """Serve the files; those that take work wait for a place."""

    @server.get(f"{views.prefix}{FILES_PATH}<slug>/<version>/<name>")
    def table_file(slug: str, version: str, name: str) -> flask.Response:
        served, part = views.tables.get(slug), flask.request.args.get("part", "1")
        is_known = served is not None and served.version == version and name in FILES
        if not is_known or served is None or part not in _parts(served):
            return refusal(404, _GONE)
        try:
            client = client_key(flask.request.remote_addr or "")
            with places.place(client, departure(flask.request)):
                content = FILES[name].make(served, int(part))
        except Refused as refused:
            return refusal(refused.status, refused.text)
        response = flask.Response(content, mimetype=FILES[name].mimetype)
        title = served.published.tables[int(part) - 1].title
        stem, _, suffix = name.partition(".")
        shown = f"{served.title} {title if stem == 'table' else stem}"
        response.headers["Content-Disposition"] = (
            f'attachment; filename="{safe_name(shown, most=120)}.{suffix}"'
        )
        return response

    @server.get(f"{views.prefix}{STARRED_PATH}<slug>/<version>.geojson")
    def starred(slug: str, version: str) -> flask.Response:
        served = views.tables.get(slug)
        if served is None or served.version != version:
            flask.abort(404)
        view, _ = views.table_view(flask.request.query_string.decode("ascii", "replace"))
        return web_app.geojson(starred_layer(served, view))


def _parts(served: ServedTable) -> list[str]:
    return [str(table.position + 1) for table in served.published.tables]


def starred_layer(served: ServedTable, view: TableView) -> bytes:
    """Gzipped GeoJSON of the units whose count in the column on the map is suppressed."""
    sheet = make_sheet(served, view)

    def make() -> bytes:
        shapes = map_layers.unit_shapes(served, sheet.shown.row_layer)
        starred = [unit for unit in starred_units(sheet.shown, sheet.color) if unit in shapes]
        return pack_shapes(starred, [shapes[unit] for unit in starred])

    key = ("starred", sheet.shown.table.position, sheet.shown.of, sheet.color)
    return served.once(key, make)
