"""Addresses of the flows that the page's script draws, and of the expected error of one of them."""

from __future__ import annotations

import json
from typing import Final

import flask

from mapapp.answers import commute_lines, words
from mapapp.drawing.map_content import MapContent
from mapapp.drawing.plotly import flow_lines
from mapapp.explore import versioned
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.views import Views

PATH: Final = "flows/"
_OWN: Final = {"zoom": 24, "width": 10_000, "line": commute_lines.MAX_LINES - 1}
"""What the script adds to the query of a view, and the largest allowed value."""


def register(server: flask.Flask, views: Views) -> None:
    """Serve the flows of a view. Their address contains the release's version, so browsers may cache them forever."""

    @server.get(f"{views.prefix}{PATH}<slug>/<version>.json")
    def flows(slug: str, version: str) -> flask.Response:
        content, own = _asked(views, slug, version)
        if "line" in own:
            return versioned.kept(_error(content, own["zoom"], own["line"]))
        caption = draw.flow_caption(content, own["zoom"], own.get("width", 700))
        return versioned.kept(flow_lines.flow_file(content.lines(own["zoom"]), caption))


def _asked(views: Views, slug: str, version: str) -> tuple[MapContent, dict[str, int]]:
    """The content of the map, and what the script adds; an address that it does not make is not found."""
    _, address, own = versioned.asked(views, slug, version, _OWN)
    content = views.map_content(address, address.view)
    if "zoom" not in own or content.kind != "lines":
        flask.abort(404)
    return content, own


def _error(content: MapContent, zoom: int, line: int) -> bytes:
    """The text of the expected error of a flow; empty if it is not known."""
    try:
        error = commute_lines.error_of_line(content.release, content.question, content.view.least, zoom, line)
    except IndexError:
        flask.abort(404)
    return json.dumps({"error": words.error_text(error)}).encode()
