"""The workbench as a web application of its own; `serve` knows nothing of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import flask
from dash import ALL, Dash, Input, Output, set_props
from werkzeug.exceptions import HTTPException

from geodata.store import open_store
from mapapp import edge
from mapapp.pages.explore import notes
from mapapp.paths import assets_dir
from mapapp.tune import lab, lab_callbacks
from mapapp.tune.frame import PAGES, frame, not_found
from mapapp.tune.guard import add_guard, require_loopback

LOG = logging.getLogger("commutemap.tune")


def create_app(dataset: Path, *, host: str = "127.0.0.1", exposed: bool = False) -> Dash:
    """Make the workbench of a dataset.

    Parameters
    ----------
    dataset : Path
    host : str
        Where it will listen; requests must name it.
    exposed : bool
        Whether other machines may connect.

    Raises
    ------
    UsageError
        The host is not this machine's own, and that was not asked for.
    StoreError
        When there is no whole, unaltered dataset; a release is refused.
    """
    require_loopback(host, exposed=exposed)
    store = open_store(Path(dataset), "dataset")
    app = Dash(
        __name__,
        assets_folder=str(assets_dir()),
        url_base_pathname="/",
        title="CommuteMap workbench",
        update_title="",
        index_string=edge.index_page("/"),
        suppress_callback_exceptions=True,  # pages come and go
        on_error=_excuse,
    )
    app.layout = frame(str(store.manifest.get("title") or Path(dataset).name))
    _route(app)
    lab_callbacks.register(app)
    app.server.register_error_handler(Exception, _fail)
    edge.add_headers(app.server, app.csp_hashes())
    add_guard(app.server, host=host, exposed=exposed)
    return app


def listen(app: Dash, host: str = "127.0.0.1", port: int = 8051) -> tuple[Any, str]:
    """Take a place to listen at, as :func:`mapapp.edge.listen`.

    Raises
    ------
    OSError
        When the place is taken or not allowed.
    """
    return edge.listen(app, host, port)


def _route(app: Dash) -> None:
    @app.callback(
        Output("page", "children"),
        Output({"type": "nav", "page": ALL}, "className"),
        Input("url", "pathname"),
    )
    def route(pathname: str | None) -> tuple[Any, list[str]]:
        path = "/" + (pathname or "/").strip("/")
        marks = ["here" if page == path else "" for page in PAGES]
        return lab.page() if path in ("/", "/lab") else not_found(), marks


def _excuse(error: Exception) -> None:
    """Tell the analyst in one line; the page stays as it was."""
    _log(error)
    text = "This could not be answered. The page still works; try another setting."
    set_props("notes", {"children": notes((text,))})


def _fail(error: Exception) -> Any:
    """An answer for whatever a route did not foresee."""
    if isinstance(error, HTTPException):
        return error
    _log(error)
    return flask.Response("Internal error.\n", status=500, mimetype="text/plain")


def _log(error: Exception) -> None:
    """Name the error. Its text could carry a confidential value, so that is for whoever asks for it."""
    details = error if os.environ.get("COMMUTEMAP_DEBUG") else None
    LOG.error(
        "internal error (%s); COMMUTEMAP_DEBUG=1 shows the details", type(error).__name__, exc_info=details
    )
