"""Requests that the listening process passes on, and what it keeps of the responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

import flask
from werkzeug.wsgi import FileWrapper

from geodata.geography.area_files import AreaFile
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.result_cache import ResultCache
from mapapp.explore import answer_routes, web_app
from mapapp.explore import answer_routes as flow_routes
from mapapp.explore.admission import Admission
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.views import Views
from mapapp.explore.color_scheme import preferred_theme
from mapapp.explore.downloads import files as downloads
from mapapp.explore.heavy_requests import departure
from mapapp.explore.listener.proxies import client_key
from mapapp.explore.processes.file_process import DRAWN, FileProcess
from mapapp.explore.processes.messages import Asked, Response
from mapapp.explore.processes.pool import Pool
from mapapp.explore.uploads import Uploads
from mapapp.kinds.pages import PAGES

_CALLBACK: Final = "_dash-update-component"
_OF_KINDS: Final = tuple(path for page in PAGES for path in page.shapes)
_SHAPES: Final = (
    "geo/",
    "density/",
    *draw.DOTS_PATHS,
    flow_routes.FLOW_PATH,
    answer_routes.CELL_PATH,
    *_OF_KINDS,
)
_FILES: Final = (downloads.PATH, *(path for page in PAGES for path in page.files))


@dataclass(frozen=True, slots=True)
class _Kept:
    """A response as it was sent."""

    headers: tuple[tuple[str, str], ...]
    body: bytes


def keep_shapes(server: flask.Flask, views: Views) -> None:
    """Keep shapes, pictures, and flows that browsers may cache forever, for visitors who ask for the same later.

    Register it before what admits requests to places.
    """
    kept: ResultCache[_Kept] = ResultCache(
        max_size=memory_limits.FORWARDED_BYTES, size_of=lambda kept_response: len(kept_response.body)
    )

    @server.before_request
    def find() -> flask.Response | None:
        request = flask.request
        if request.method != "GET" or not _path(views).startswith(_SHAPES):
            return None
        key = (request.full_path, web_app.takes_gzip(request), preferred_theme())
        kept_response = kept.get(key)
        if kept_response is None:
            flask.g.shapes_under = key
            return None
        response = flask.Response(kept_response.body, headers=list(kept_response.headers))
        response.make_conditional(request)
        return response

    @server.after_request
    def keep(response: flask.Response) -> flask.Response:
        key = flask.g.pop("shapes_under", None)
        is_fixed = response.headers.get("Cache-Control") == web_app.FOR_EVER
        if key is not None and is_fixed and response.status_code == 200:
            body = response.get_data()
            if len(body) <= memory_limits.FORWARDED_BYTES_EACH:
                kept.put(key, _Kept(tuple(response.headers.items()), body))
        return response


def register(server: flask.Flask, views: Views, pool: Pool, file_places: Admission) -> None:
    """Pass requests on that need computing. Register it after what admits requests to places.

    Files wait for one of `file_places`. The other requests have a place already.
    """

    @server.before_request
    def forward() -> flask.Response | None:
        request, path = flask.request, _path(views)
        is_file = path.startswith(_FILES)
        if path.startswith(downloads.PATH) and _is_drawn(path):  # another process makes it
            return None
        if not (is_file or path == _CALLBACK or path.startswith(_SHAPES)):
            return None
        has_left = departure(request)
        client = client_key(request.remote_addr or "")
        with file_places.place(client, has_left) if is_file else nullcontext():
            return _response(pool.ask(asked_of(views), _key(), has_left))


def drawn_file(views: Views, files: FileProcess, name: str) -> flask.Response | None:
    """The requested file, made by another process; None if it is not drawn."""
    if not _is_drawn(name):
        return None
    return _response(files.ask(asked_of(views), departure(flask.request)))


def _is_drawn(path: str) -> bool:
    return path.rpartition("/")[2].startswith(DRAWN)


def asked_of(views: Views) -> Asked:
    """The request in progress, for another process."""
    request = flask.request
    environ = {name: value for name, value in request.environ.items() if isinstance(value, str)}
    return Asked(environ, request.get_data(), _uploads(views.uploads))


def _path(views: Views) -> str:
    return flask.request.path.removeprefix(views.prefix)


def _response(worker_response: Response) -> flask.Response:
    headers = list(worker_response.headers)
    if isinstance(worker_response.body, bytes):
        # A response to HEAD has the length of another one and no body.
        response = flask.Response(status=worker_response.status, headers=headers)
        if worker_response.body:
            response.set_data(worker_response.body)
        return response
    response = flask.Response(
        FileWrapper(worker_response.body), status=worker_response.status, headers=headers
    )
    response.direct_passthrough = True
    response.call_on_close(worker_response.body.close)
    return response


def _values() -> Iterator[object]:
    """The values that a callback's request carries; a forged one may contain anything."""
    try:
        body = flask.request.get_json(silent=True)
    except RecursionError:
        return
    for part in ("inputs", "state"):
        listed = body.get(part) if isinstance(body, dict) else None
        for argument in listed if isinstance(listed, list) else ():
            if isinstance(argument, dict):
                yield argument.get("value")


def _key() -> str:
    """The areas that the request is about, as its address or its callback's view spells them."""
    areas = flask.request.args.getlist("area")
    for value in () if areas else _values():
        text = value.get("search") if isinstance(value, dict) else value
        if isinstance(text, str) and text.startswith("?"):
            areas = parse_qs(text[1:]).get("area", [])
            break
    return "\n".join(areas)


def _uploads(uploads: Uploads) -> Mapping[str, AreaFile | str]:
    """The uploads that a choice in the request names, or what is wrong with them."""
    upload_by_token: dict[str, AreaFile | str] = {}
    for value in _values():
        choices = value.get("choices") if isinstance(value, dict) else None
        for choice in choices if isinstance(choices, list) else ():
            given = choice.get("value") if isinstance(choice, dict) else None
            token = given.get("token") if isinstance(given, dict) else None
            if isinstance(token, str):
                try:
                    upload_by_token[token] = uploads.area(token)
                except UsageError as error:
                    upload_by_token[token] = str(error)
    return upload_by_token
