"""Addresses of the flows that the page's script draws, and of the expected error of one of them."""

from __future__ import annotations

import json
from typing import Final

import flask

from mapapp.answers import commute_lines, words
from mapapp.answers.served_release import ServedRelease
from mapapp.drawing import map_content
from mapapp.drawing.plotly import flow_lines
from mapapp.explore import versioned
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.views import Views
from mapapp.question.address import Address

PATH: Final = "flows/"
_OWN: Final = {"zoom": 24, "width": 10_000, "line": commute_lines.MAX_LINES - 1}
"""What the script adds to the query of a view, and the largest allowed value."""


def register(server: flask.Flask, views: Views) -> None:
    """Serve the flows of a view. Their address contains the release's version, so browsers may cache them forever."""

    @server.get(f"{views.prefix}{PATH}<slug>/<version>.json")
    def flows(slug: str, version: str) -> flask.Response:
        release, address, own = _asked(views, slug, version)
        if "line" in own:
            return versioned.kept(_error(release, address, own["zoom"], own["line"]))
        question, view, before = address.question, address.view, views.before(address)
        drawn = map_content.drawn_lines(release, question, view, own["zoom"])
        caption = draw.flow_caption(release, question, view, before, own["zoom"], own.get("width", 700))
        return versioned.kept(flow_lines.flow_file(drawn, caption))


def _asked(views: Views, slug: str, version: str) -> tuple[ServedRelease, Address, dict[str, int]]:
    """The release, the view, and what the script adds; an address that it does not make is not found."""
    release, address, own = versioned.asked(views, slug, version, _OWN)
    kind = map_content.drawn_as(release, address.question, address.view, views.before(address))
    if "zoom" not in own or kind != "lines":
        flask.abort(404)
    return release, address, own


def _error(release: ServedRelease, address: Address, zoom: int, line: int) -> bytes:
    """The text of the expected error of a flow; empty if it is not known."""
    try:
        error = commute_lines.error_of_line(release, address.question, address.view.least, zoom, line)
    except IndexError:
        flask.abort(404)
    return json.dumps({"error": words.error_text(error)}).encode()
