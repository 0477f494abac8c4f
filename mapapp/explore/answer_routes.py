"""Addresses that contain a release's version, so that browsers may cache what they answer forever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast
from urllib.parse import parse_qsl, urlencode

import flask
import pandas

from mapapp.answers import served_answers, words
from mapapp.answers.analyses import grids
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.analyses.grids import Limit
from mapapp.answers.analyses.picks_of_numbers import PickOf, of_flow_matrix, pick_of_rows
from mapapp.answers.analyses.results import FlowMatrix
from mapapp.answers.areas.areas import Areas
from mapapp.answers.commutes import lines
from mapapp.answers.commutes.pick import Pick
from mapapp.answers.release import Release
from mapapp.explore import web_app
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages.answer_matrix import MOST_UNITS
from mapapp.question.address import Address, to_query
from mapapp.question.question import SettledQuestion
from mapapp.show.content.dot_map import FINEST_TILE
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.morning import MOST_MOVING, morning
from mapapp.show.plotly import flow_lines

_MOST_DIGITS = 5


def read_request(
    views: Views, slug: str, version: str, largest: Mapping[str, int]
) -> tuple[Release, Address, dict[str, int]]:
    """The release, the view, and the numbers that a script adds to the query of a view.

    Any other address is not found: one with another version, or with a number that is malformed or too large.
    """
    release = views.releases.get(slug)
    if release is None or release.version != version:
        flask.abort(404)
    pairs = parse_qsl(flask.request.query_string.decode("ascii", "replace"), keep_blank_values=True)
    own = {name: value for name, value in pairs if name in largest}
    if not all(value.isascii() and value.isdigit() for value in own.values()):
        flask.abort(404)
    numbers = {name: int(value) for name, value in own.items() if len(value) <= _MOST_DIGITS}
    if len(numbers) < len(own) or any(number > largest[name] for name, number in numbers.items()):
        flask.abort(404)
    rest = [(name, value) for name, value in pairs if name not in (*largest, "release")]
    address, _ = views.parse(urlencode([*rest, ("release", slug)]))
    return release, address, numbers


def kept(content: bytes, mimetype: str = "application/json") -> flask.Response:
    """A response that browsers may cache forever."""
    response = flask.Response(content, mimetype=mimetype)
    response.headers["Cache-Control"] = web_app.FOR_EVER
    return response


# Addresses of the expected errors of single cells of a flow matrix, which take too long to compute for all at once.

CELL_PATH: Final = "cells/"
_OWN_CELL: Final = {"row": MOST_UNITS, "column": MOST_UNITS}
"""What the script adds to the query of a view; the last position is that of the totals."""


def cells_url(prefix: str, release: Release, address: Address) -> str:
    """Address of the cells of a matrix, to which the page's script adds a row and a column; empty without errors."""
    if not release.errors.is_known:
        return ""
    query = to_query(Address(question=address.question))
    return f"{prefix}{CELL_PATH}{release.slug}/{release.version}.json{query}"


def register_cells(server: flask.Flask, views: Views) -> None:
    """Serve the expected errors of cells."""

    @server.get(f"{views.prefix}{CELL_PATH}<slug>/<version>.json")
    def cell(slug: str, version: str) -> flask.Response:
        release, address, own = read_request(views, slug, version, _OWN_CELL)
        question = address.question
        if set(own) != set(_OWN_CELL) or not question.is_complete or not ENTRIES[question.analysis].pairs:
            flask.abort(404)
        limit = Limit(MOST_UNITS, MOST_UNITS)
        try:
            error = error_of_cell(release, views.settle(address), own["row"], own["column"], limit)
        except IndexError:
            flask.abort(404)
        return kept(json.dumps({"error": words.error_text(error), "size": error}).encode())


def error_of_cell(
    release: Release, question: SettledQuestion, row: int, column: int, limit: Limit
) -> float | None:
    """Return the expected error of a cell, by its position in the matrix with totals; None if it is not known.

    Raises
    ------
    IndexError
        If there is no such row or column.
    """
    answer = cast(FlowMatrix, served_answers.result(release, question))
    return release.errors.of_count(_pick(release.areas, answer, row, column, limit))


def _pick(areas: Areas, answer: FlowMatrix, row: int, column: int, limit: Limit) -> Pick:
    numbers, picks = of_flow_matrix(areas, answer)
    homes, works = grids.units_at(answer, limit)
    home = _margin(numbers["workers"], picks["homes"], [*homes, None][row])
    work = _margin(numbers["workers"], picks["works"], [*works, None][column])
    return replace(home, work=work.work)


def _margin(whole: Pick, pick_of: PickOf, units: pandas.DataFrame | None) -> Pick:
    """Return the pick of the units of a row or of a column; of the whole matrix for its total."""
    if units is None:
        return whole
    pick = pick_of_rows(pick_of, units)
    assert pick is not None, "a matrix has units of its layers only"
    return pick


# Addresses of the tiles of a map of dots.


def register_dots(server: flask.Flask, views: Views) -> None:
    """Serve tiles of dots, with one or two pixels per CSS pixel."""
    place = f"{views.prefix}{draw.DOTS_PATH}<slug>/<version>/<int:z>/<int:x>/<int:y>"

    @server.get(f"{place}.png", defaults={"ratio": 1})
    @server.get(f"{place}@2x.png", defaults={"ratio": 2})
    def tile(slug: str, version: str, z: int, x: int, y: int, ratio: int) -> flask.Response:
        if z > FINEST_TILE or max(x, y) >= 2**z:
            flask.abort(404)
        _, address, _ = read_request(views, slug, version, {})
        content = views.map_content(address, address.view)
        if content.kind != "points":
            flask.abort(404)
        return kept(content.dots.tile(z, x, y, ratio), "image/png")


_OWN_MORNING: Final = {"most": MOST_MOVING}


def register_morning(server: flask.Flask, views: Views) -> None:
    """Serve the workers of a view who move from home to work, at most as many as the script asks for."""

    @server.get(f"{views.prefix}{draw.MORNING_PATH}<slug>/<version>.json")
    def workers(slug: str, version: str) -> flask.Response:
        release, address, own = read_request(views, slug, version, _OWN_MORNING)
        content = views.map_content(address, address.view)
        if "most" not in own or not content.has_morning:
            flask.abort(404)
        moving_workers = morning(release, content.question, content.view, content.scheme, own["most"])
        return kept(moving_workers.as_json())


# Addresses of the flows that the page's script draws, and of the expected error of one of them.

FLOW_PATH: Final = "flows/"
_OWN_FLOW: Final = {"zoom": 24, "width": 10_000, "line": lines.MAX_LINES - 1}
"""What the script adds to the query of a view, and the largest allowed value."""


def register_flows(server: flask.Flask, views: Views) -> None:
    """Serve the flows of a view. Their address contains the release's version, so browsers may cache them forever."""

    @server.get(f"{views.prefix}{FLOW_PATH}<slug>/<version>.json")
    def flows(slug: str, version: str) -> flask.Response:
        content, own = _read_flow_request(views, slug, version)
        if "line" in own:
            return kept(_error(content, own["zoom"], own["line"]))
        caption = draw.flow_caption(content, own["zoom"], own.get("width", 700))
        return kept(flow_lines.flow_file(content.lines(own["zoom"]), caption))


def _read_flow_request(views: Views, slug: str, version: str) -> tuple[MapContent, dict[str, int]]:
    """The content of the map, and what the script adds; an address that it does not make is not found."""
    _, address, own = read_request(views, slug, version, _OWN_FLOW)
    content = views.map_content(address, address.view)
    if "zoom" not in own or content.kind != "lines":
        flask.abort(404)
    return content, own


def _error(content: MapContent, zoom: int, line: int) -> bytes:
    """The text of the expected error of a flow; empty if it is not known."""
    try:
        error = lines.error_of_line(content.release, content.question, content.view.least, zoom, line)
    except IndexError:
        flask.abort(404)
    return json.dumps({"error": words.error_text(error)}).encode()
