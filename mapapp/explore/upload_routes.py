"""The addresses where a page uploads an area file and polls its progress, so that no thread waits for the reading."""

from __future__ import annotations

import flask

from geodata.geography.area_files import MAX_BYTES
from mapapp.explore.callbacks.views import Views
from mapapp.explore.listener.proxies import client_key
from mapapp.explore.web_app import UPLOAD_PATH

_BYTES = "application/octet-stream"


def register(server: flask.Flask, views: Views) -> None:
    """Accept uploads, and report their progress."""

    @server.post(f"{views.prefix}{UPLOAD_PATH}")
    def upload() -> tuple[dict[str, str], int]:
        request = flask.request
        if request.mimetype != _BYTES:  # no form on another site can send this type
            flask.abort(415)
        size = request.content_length
        if size is None or size > MAX_BYTES:
            flask.abort(413)
        client = client_key(request.remote_addr or "")
        views.uploads.check_room(client, size)
        token = views.uploads.add(client, request.args.get("name", "")[:200], request.get_data(cache=False))
        return {"token": token}, 202

    @server.get(f"{views.prefix}{UPLOAD_PATH}/<token>")
    def progress(token: str) -> tuple[dict[str, object], int]:
        upload_state = views.uploads.progress(token)
        return upload_state, 404 if upload_state["state"] == "gone" else 200
