"""Responses to callbacks, kept as they were sent, so that a view that was shown before costs no work.

A callback marked with :func:`kept_for` depends on nothing but its key, the colors that the visitor's system prefers,
and the publications that are served. Its response is kept, compressed, under a digest of these and of the outputs that
the request names, so that a forged request can never change what others get. A kept response needs no place
(`mapapp.explore.heavy_requests`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from typing import Final, TypeVar

import flask

from mapapp.base import memory_limits
from mapapp.base.result_cache import ResultCache
from mapapp.explore.callbacks.views import Views
from mapapp.explore.color_scheme import preferred_theme
from mapapp.explore.web_app import takes_gzip

_MOST_REQUEST_BYTES: Final = 256 << 10
_MARK: Final = "kept_for"
Callback = TypeVar("Callback", bound=Callable[..., object])
Key = Callable[..., object]
"""Takes the arguments of a callback; returns what its response depends on as a value that JSON can hold, or None."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A response as it was sent."""

    content: bytes
    is_zipped: bool


def kept_for(key: Key) -> Callable[[Callback], Callback]:
    """Mark a callback whose responses are kept; apply it below `app.callback`."""

    def mark(callback: Callback) -> Callback:
        setattr(callback, _MARK, key)
        return callback

    return mark


def register(server: flask.Flask, callbacks: Mapping[str, Mapping[str, Sized]], views: Views) -> None:
    """Keep the responses of the marked callbacks.

    Register it before what admits requests to places and before what compresses responses: Flask calls what comes
    before a request in order, and what comes after it in reverse.

    Parameters
    ----------
    server : flask.Flask
    callbacks : mapping
        Dash's own, by their outputs as requests name them.
    views : Views
    """
    keys = _find_marked_callbacks(callbacks)
    kept: ResultCache[_Kept] = ResultCache(
        max_size=memory_limits.RESPONSES_BYTES, size_of=lambda kept_response: len(kept_response.content)
    )
    path = f"{views.prefix}_dash-update-component"

    @server.before_request
    def find() -> flask.Response | None:
        request = flask.request
        if request.path != path or (request.content_length or 0) > _MOST_REQUEST_BYTES:
            return None
        digest = _digest(keys, views, _body(request))
        kept_response = None if digest is None else kept.get(digest)
        if kept_response is None:
            flask.g.kept_under = digest
            return None
        return _response(kept_response)

    @server.after_request
    def keep(response: flask.Response) -> flask.Response:
        digest = flask.g.pop("kept_under", None)
        if digest is not None and response.status_code == 200:
            kept.put(digest, _Kept(response.get_data(), response.content_encoding == "gzip"))
        return response


def _find_marked_callbacks(callbacks: Mapping[str, Mapping[str, Sized]]) -> dict[str, tuple[int, Key]]:
    """The number of arguments and the key of each marked callback, by its outputs as requests name them."""
    keys: dict[str, tuple[int, Key]] = {}
    for output, about in callbacks.items():
        key = getattr(about.get("callback"), _MARK, None)
        if key is not None:
            keys[output] = len(about["inputs"]) + len(about["state"]), key
    return keys


def _body(request: flask.Request) -> Mapping[str, object]:
    """The JSON object that a request carries; an empty one if it carries anything else."""
    try:
        body = request.get_json(silent=True)
    except RecursionError:
        return {}
    return body if isinstance(body, dict) else {}


def _digest(keys: Mapping[str, tuple[int, Key]], views: Views, body: Mapping[str, object]) -> str | None:
    """What a response is kept under; None if it is not kept, or if the request is not one of the page's."""
    output = body.get("output")
    if not isinstance(output, str) or output not in keys:
        return None
    n_given, key_of = keys[output]
    given = [
        argument["value"]
        for part in ("inputs", "state")
        for argument in _list_entries(body.get(part))
        if isinstance(argument, dict) and "value" in argument
    ]
    if len(given) != n_given:
        return None
    key = key_of(*given)
    if key is None:
        return None
    parts = [output, body.get("outputs"), key, preferred_theme(), [*views.releases], [*views.tables]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _list_entries(given: object) -> list[object]:
    return given if isinstance(given, list) else []


def _response(kept_response: _Kept) -> flask.Response:
    unzips = kept_response.is_zipped and not takes_gzip(flask.request)
    content = gzip.decompress(kept_response.content) if unzips else kept_response.content
    response = flask.Response(content, mimetype="application/json")
    if kept_response.is_zipped:
        response.vary.add("Accept-Encoding")
        if not unzips:
            response.headers["Content-Encoding"] = "gzip"
    return response
