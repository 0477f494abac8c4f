"""Addresses of the flows that the page's script draws, and of the expected error of one of them."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qsl, urlencode

import flask

from mapapp.answers import commute_lines, words
from mapapp.answers.served_release import ServedRelease
from mapapp.drawing import map_content
from mapapp.drawing.plotly import flow_lines
from mapapp.explore import web_app
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
            return _kept(_error(release, address, own["zoom"], own["line"]))
        question, view, before = address.question, address.view, views.before(address)
        drawn = map_content.drawn_lines(release, question, view, own["zoom"])
        caption = draw.flow_caption(release, question, view, before, own["zoom"], own.get("width", 700))
        return _kept(flow_lines.flow_file(drawn, caption))


def _asked(views: Views, slug: str, version: str) -> tuple[ServedRelease, Address, dict[str, int]]:
    """The release, the view, and what the script adds; an address that it does not make is not found."""
    release = views.releases.get(slug)
    if release is None or release.version != version:
        flask.abort(404)
    pairs = parse_qsl(flask.request.query_string.decode("ascii", "replace"), keep_blank_values=True)
    own = {name: value for name, value in pairs if name in _OWN}
    if "zoom" not in own or not all(value.isascii() and value.isdigit() for value in own.values()):
        flask.abort(404)
    numbers = {name: int(value) for name, value in own.items() if len(value) < 6}
    if len(numbers) < len(own) or any(number > _OWN[name] for name, number in numbers.items()):
        flask.abort(404)
    rest = [(name, value) for name, value in pairs if name not in (*_OWN, "release")]
    address, _ = views.parse(urlencode([*rest, ("release", slug)]))
    kind = map_content.drawn_as(release, address.question, address.view, views.before(address))
    if kind != "lines":
        flask.abort(404)
    return release, address, numbers


def _error(release: ServedRelease, address: Address, zoom: int, line: int) -> bytes:
    """The text of the expected error of a flow; empty if it is not known."""
    try:
        error = commute_lines.error_of_line(release, address.question, address.view.least, zoom, line)
    except IndexError:
        flask.abort(404)
    return json.dumps({"error": words.error_text(error)}).encode()


def _kept(content: bytes) -> flask.Response:
    response = flask.Response(content, mimetype="application/json")
    response.headers["Cache-Control"] = web_app.FOR_EVER
    return response
