"""The public map as a web application: releases in, pages out. It can open nothing but releases.

No page needs another machine: styles, scripts, fonts and shapes all come from here, and the headers tell the
browser to refuse anything else.
"""

from __future__ import annotations

import gzip
import logging
import threading
from pathlib import Path
from typing import Any, Final

import flask
import waitress
from dash import Dash, set_props

from mapapp import layers
from mapapp.callbacks import draw, explore, routing
from mapapp.callbacks.views import Views
from mapapp.errors import UsageError
from mapapp.pages.explore import notes
from mapapp.pages.frame import frame
from mapapp.paths import assets_dir
from mapapp.queries.release import ServedRelease, open_releases
from mapapp.url_state import ViewState, from_query

FOR_EVER: Final = "public, max-age=31536000, immutable"
N_THREADS: Final = 8
_VIEWS: Final = "commutemap"
_SQUEEZED: Final = ("application/json", "application/javascript", "text/")
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="theme-color" content="#14304f">
<title>{%title%}</title>
<link rel="icon" type="image/svg+xml" href="{prefix}assets/icon.svg">
{%css%}
</head>
<body>
{%app_entry%}
<noscript>This map needs JavaScript.</noscript>
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""


def create_app(releases: list[Path], prefix: str = "/") -> Dash:
    """Make the app that serves these releases; the first one is shown first.

    Raises
    ------
    UsageError
        Without a release.
    StoreError
        When one is not a whole, unaltered release; a dataset is refused.
    """
    if not releases:
        raise UsageError("no release to serve; name at least one")
    views = Views(open_releases([Path(path) for path in releases]), prefix)
    app = Dash(
        __name__,
        assets_folder=str(assets_dir()),
        url_base_pathname=prefix,
        title="CommuteMap",
        update_title="",
        index_string=_PAGE.replace("{prefix}", prefix),
        suppress_callback_exceptions=True,  # pages come and go
        on_error=_excuse,
    )
    app.layout = frame()
    routing.register(app, views)
    explore.register(app, views)
    app.server.extensions[_VIEWS] = views
    _add_files(app.server, views)
    _add_headers(app.server, app.csp_hashes())
    return app


def listen(app: Dash, host: str = "127.0.0.1", port: int = 8050) -> tuple[Any, str]:
    """Take a place to listen at, port 0 for a free one; returns the server, to `run`, and its address.

    The base layers are made ready meanwhile, so that not even the first visitor waits for them.

    Raises
    ------
    OSError
        When the place is taken or not allowed.
    """
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a line for each waiting request is no news
    server = waitress.create_server(app.server, host=host, port=port, threads=N_THREADS, ident=None)
    threading.Thread(target=_make_ready, args=(app.server.extensions[_VIEWS],), daemon=True).start()
    taken = getattr(server, "effective_port", None) or server.effective_listen[0][1]  # several for a name
    shown = f"[{host}]" if ":" in host else host
    return server, f"http://{shown}:{taken}{app.config.url_base_pathname}"


def _make_ready(views: Views) -> None:
    for release in views.releases.values():
        try:
            for name in layers.BASE_LAYERS:
                layers.base_layer(release, name)
            release.summary(ViewState())
        except Exception:  # whoever asks for it will be told
            logging.getLogger("commutemap").warning("%s could not be made ready", release.slug)


def _excuse(error: Exception) -> None:
    """Tell the visitor in one line, and whoever runs the server in full; the page stays as it was."""
    logging.getLogger("commutemap").error("a page could not be answered", exc_info=error)
    text = "This could not be answered. The rest of the page still works; go back, or ask in another way."
    set_props("notes", {"children": notes((text,))})


def _add_files(server: flask.Flask, views: Views) -> None:
    """Shapes and pictures: addresses with the release's version in them, so they may be kept for ever."""

    @server.get(f"{views.prefix}geo/<slug>/<version>/<name>.geojson")
    def shapes(slug: str, version: str, name: str) -> flask.Response:
        release = _release(views, slug, version)
        if name == "areas":
            areas = tuple(dict.fromkeys(flask.request.args.getlist("area")))[:200]
            return _file(layers.outlines(release, tuple(area for area in areas if area in release.areas)))
        if name not in layers.BASE_LAYERS:
            flask.abort(404)
        return _file(layers.base_layer(release, name))

    @server.get(f"{views.prefix}density/<slug>/<version>.png")
    def density(slug: str, version: str) -> flask.Response:
        release = _release(views, slug, version)
        query = flask.request.query_string.decode("ascii", "replace")
        state, _ = from_query(query, releases=views.releases, is_area=lambda _, area: area in release.areas)
        response = flask.Response(draw.density_image(release, state).png, mimetype="image/png")
        response.headers["Cache-Control"] = FOR_EVER
        return response


def _release(views: Views, slug: str, version: str) -> ServedRelease:
    release = views.releases.get(slug)
    if release is None or release.version != version:
        flask.abort(404)
    return release


def _file(packed: bytes) -> flask.Response:
    """A gzipped GeoJSON as an answer, or only the news that the browser's copy is still good."""
    zipped = "gzip" in flask.request.headers.get("Accept-Encoding", "")
    response = flask.Response(packed if zipped else gzip.decompress(packed), mimetype="application/geo+json")
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = FOR_EVER
    response.set_etag(layers.etag(packed))
    response.make_conditional(flask.request)
    return response


def _add_headers(server: flask.Flask, script_hashes: Any) -> None:
    policy = "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {' '.join(script_hashes)}",
            "style-src 'self' 'unsafe-inline'",  # the controls and the map set styles on elements
            "img-src 'self' data: blob:",
            "connect-src 'self' data: blob:",
            "worker-src 'self' blob:",  # the map draws in workers it makes itself
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )
    small: dict[str, bytes] = {}

    @server.after_request
    def finish(response: flask.Response) -> flask.Response:
        response.headers["Content-Security-Policy"] = policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Permissions-Policy"] = "geolocation=(), camera=(), microphone=()"
        return _squeeze(response, small)


def _squeeze(response: flask.Response, kept: dict[str, bytes]) -> flask.Response:
    """Gzip long texts; a script of the libraries is squeezed once and kept."""
    fit = (response.mimetype or "").startswith(_SQUEEZED) and response.status_code == 200
    if not fit or "gzip" not in flask.request.headers.get("Accept-Encoding", "") or response.content_encoding:
        return response
    response.direct_passthrough = False
    body = response.get_data()
    if len(body) < 2_000:
        return response
    path = flask.request.path
    if "/_dash-component-suites/" in path:
        if path not in kept:
            kept[path] = gzip.compress(body, compresslevel=6, mtime=0)
        body = kept[path]
    else:
        body = gzip.compress(body, compresslevel=1, mtime=0)
    response.set_data(body)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    return response
