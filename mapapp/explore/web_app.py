"""What our web apps share: the HTML frame, response headers, compression, and the listening socket.

Pages load nothing from other machines: the headers tell the browser to refuse anything else.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import re
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypedDict

import flask
from dash import Dash
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from mapapp.explore.listener.gate import Gate
from mapapp.explore.listener.limits import DEFAULT_LIMITS, Limits
from mapapp.explore.listener.proxies import TrustedProxies
from mapapp.explore.listener.server import AnyServer, create_server

FOR_EVER: Final = "public, max-age=31536000, immutable"
MAX_CALLBACK_BYTES: Final = 4 << 20  # a setup file in base64
MAX_UPLOAD_BYTES: Final = 20 << 20
UPLOAD_PATH: Final = "upload/area"
N_THREADS: Final = 64  # most of them wait for a place; see `mapapp.explore.heavy_requests`
_ONLY_FOR_DEBUGGING: Final = (
    "python_version",
    "dash_version",
    "dash_version_url",
    "ddk_version",
    "plotly_version",
    "plotly_cloud_installed",
)
_COMPRESSED: Final = ("application/json", "application/javascript", "text/")
_MAX_COMPRESSED: Final = 32 << 20  # a larger response is sent uncompressed, as it is read
_HEAD: Final = "<!-- head -->"
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="theme-color" content="#14304f">
<!-- head -->
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


class ListenOptions(TypedDict, total=False):
    """Options of :func:`listen`, for functions that pass them on."""

    limits: Limits
    host_names: Iterable[str]
    trusted_proxies: Iterable[str]


class App(Dash):
    """A Dash app that does not reveal its software versions and serves only the assets of its page."""

    def __init__(self, name: str, *, head: Callable[[], str] | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self._head = head or (lambda: page_head(self.title))
        self._assets = _names_in(self.config.assets_folder, self.config.assets_ignore)
        self.server.before_request(self._refuse_other_assets)

    def index(self, *path: object, **named: object) -> str:
        """Return the HTML frame; its title is filled in last, so that no name in it can change the rest."""
        page: str = super().index(*path, **named)  # type: ignore[no-untyped-call]  # Dash leaves it without types
        return page.replace(_HEAD, self._head(), 1)

    def _config(self) -> dict[str, object]:
        """The configuration for the page's scripts, without entries that only Dash's debugging tools need."""
        whole: dict[str, object] = super()._config()  # type: ignore[no-untyped-call]  # Dash leaves it without types
        return {name: value for name, value in whole.items() if name not in _ONLY_FOR_DEBUGGING}

    def _refuse_other_assets(self) -> None:
        """Refuse all but the exact names of the page's files, whatever else names them on the disk.

        Dash leaves files that match `assets_ignore` out of the page but would still serve them.
        """
        if _is_asset(flask.request) and (flask.request.view_args or {}).get("filename") not in self._assets:
            flask.abort(404)


def _is_asset(request: flask.Request) -> bool:
    return (request.endpoint or "").endswith("dash_assets.static")


def _names_in(folder: str, ignored: str) -> frozenset[str]:
    """Names of the files in a folder, without those that are ignored."""
    names = (entry.name for entry in Path(folder).iterdir() if entry.is_file())
    return frozenset(name for name in names if not (ignored and re.search(ignored, name)))


def page_head(title: str, description: str = "", color_scheme: str = "light") -> str:
    """The title of a page, what search engines and previews of links show, and the colors before its styles load.

    Parameters
    ----------
    title, description : str
        Plain text; it is escaped here.
    color_scheme : str
        As in CSS: `light`, `dark`, or `light dark` for what the system prefers.
    """
    lines = [f"<title>{html.escape(title)}</title>", f'<meta name="color-scheme" content="{color_scheme}">']
    if description:
        words = {
            'name="description"': description,
            'property="og:title"': title,
            'property="og:description"': description,
            'property="og:type"': "website",
            'property="og:site_name"': "CommuteMap",
        }
        lines += [f'<meta {name} content="{html.escape(text)}">' for name, text in words.items()]
    return "\n".join(lines)


def index_page(prefix: str) -> str:
    """The HTML that Dash fills in; `prefix` is where the app is mounted, with a trailing slash."""
    return _PAGE.replace("{prefix}", prefix)


def listen(
    app: Dash,
    host: str,
    port: int,
    *,
    limits: Limits = DEFAULT_LIMITS,
    host_names: Iterable[str] = (),
    trusted_proxies: Iterable[str] = (),
) -> tuple[AnyServer, str]:
    """Bind to a host and port (0 for any free port); returns the server, which has a `run` method, and its address.

    Parameters
    ----------
    app : dash.Dash
    host : str
    port : int
    limits : Limits, optional
    host_names : iterable of str
        Host names that requests may use; any if empty.
    trusted_proxies : iterable of str
        Addresses and networks of proxies whose forwarded headers we trust.

    Raises
    ------
    OSError
        If the port is taken or not allowed.
    UsageError
        If a trusted proxy is neither an address nor a network.
    """
    prefix = app.config.routes_pathname_prefix
    gate = Gate(
        limits,
        bodies={
            f"{prefix}_dash-update-component": MAX_CALLBACK_BYTES,
            f"{prefix}{UPLOAD_PATH}": MAX_UPLOAD_BYTES,
        },
        prefix=prefix,
        host_names=host_names,
        proxies=TrustedProxies(trusted_proxies),
    )
    server = create_server(app.server, gate, host=host, port=port, threads=N_THREADS)
    bound = (
        getattr(server, "effective_port", None) or server.effective_listen[0][1]
    )  # a host name may have several
    shown = f"[{host}]" if ":" in host else host
    return server, f"http://{shown}:{bound}{app.config.url_base_pathname}"


def add_refusals(server: flask.Flask, log: Callable[[Exception], None]) -> None:
    """Answer failed requests with a one-line error, and pass unexpected errors to `log`."""

    @server.errorhandler(Exception)
    def refuse(error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return _line(error.code or 500, error.name, error.get_response())
        log(error)
        path = flask.request.path
        if "/_dash-component-suites/" in path:
            return _line(404, "Not Found")
        if path.endswith("/_dash-update-component"):  # errors in a valid request appear on the page
            return _line(400, "This request does not come from the page")
        return _line(500, "The server could not answer this request")


def _line(code: int, text: str, response: Response | None = None) -> Response:
    reply = flask.Response() if response is None else response
    if 300 <= code < 400:
        return reply
    reply.status_code, reply.mimetype = code, "text/plain"
    reply.set_data(f"{code} {text}\n")
    return reply


def error_line(error: BaseException) -> str:
    """An error and where it occurred, in one line without file paths."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    places = " < ".join(f"{Path(frame.filename).stem}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} {str(error)[:100]!r} at {places}"


def add_headers(server: flask.Flask, script_hashes: Iterable[str], embed_from: Iterable[str] = ()) -> None:
    """Let pages load only what this server sends, and compress long responses.

    Parameters
    ----------
    server : flask.Flask
    script_hashes : iterable of str
        Hashes of the scripts within the page.
    embed_from : iterable of str
        Origins of the sites that may show pages with `embed=1` in a frame.
    """
    policy = "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {' '.join(script_hashes)}",
            "style-src 'self' 'unsafe-inline'",  # the controls and the map set styles on elements
            "img-src 'self' data: blob:",
            "connect-src 'self' data: blob:",
            "worker-src 'self' blob:",  # the map library starts its own workers
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )
    embeddable = " ".join((policy, *embed_from))
    small: dict[str, bytes] = {}

    @server.after_request
    def finish(response: flask.Response) -> flask.Response:
        is_embedded = flask.request.args.get("embed") == "1"
        response.headers["Content-Security-Policy"] = embeddable if is_embedded else policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Permissions-Policy"] = "geolocation=(), camera=(), microphone=()"
        _set_cache_control(response)
        return _compress(response, small)


def _set_cache_control(response: flask.Response) -> None:
    """Cache files whose address changes with their content, revalidate pages, and store no answers."""
    if _is_asset(flask.request) and "m" in flask.request.args and response.status_code in (200, 304):
        response.headers["Cache-Control"] = FOR_EVER
    elif "Cache-Control" not in response.headers:
        can_be_asked_again = response.mimetype == "text/html" or "ETag" in response.headers
        response.headers["Cache-Control"] = "no-cache" if can_be_asked_again else "no-store"


def _compress(response: flask.Response, kept: dict[str, bytes]) -> flask.Response:
    """Gzip long texts; library scripts are compressed once and cached."""
    fit = (response.mimetype or "").startswith(_COMPRESSED) and response.status_code == 200
    large = (response.content_length or 0) > _MAX_COMPRESSED
    if not fit or large or response.content_encoding:
        return response
    response.vary.add("Accept-Encoding")
    if not takes_gzip(flask.request):
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
    return response


def takes_gzip(request: flask.Request) -> bool:
    """Whether the client accepts gzip; a quality of 0 refuses it."""
    return request.accept_encodings.quality("gzip") > 0


def geojson(packed: bytes) -> flask.Response:
    """A response with a gzipped GeoJSON, or 304 if the browser's copy is current."""
    zipped = takes_gzip(flask.request)
    response = flask.Response(packed if zipped else gzip.decompress(packed), mimetype="application/geo+json")
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = FOR_EVER
    response.set_etag(hashlib.sha256(packed).hexdigest()[:20])
    response.make_conditional(flask.request)
    return response
