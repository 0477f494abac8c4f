"""Addresses that contain a release's version, so that browsers may cache what they answer forever."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import flask

from mapapp.answers.release import Release
from mapapp.explore import web_app
from mapapp.explore.callbacks.views import Views
from mapapp.question.address import Address

_MOST_DIGITS = 5


def asked(
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


def kept(content: bytes) -> flask.Response:
    """A JSON response that browsers may cache forever."""
    response = flask.Response(content, mimetype="application/json")
    response.headers["Cache-Control"] = web_app.FOR_EVER
    return response
