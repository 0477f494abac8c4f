"""Who may talk to the workbench: pages that it served itself, by the name under which it listens.

Listening on loopback keeps other machines away, and not a web page that is open in the analyst's browser: any page may
send requests to this machine, and a name of its own can be pointed here (DNS rebinding). So every request must name
this machine as its host, and whatever is more than a plain look must come from a page of ours. Other users of the
machine reach loopback, too: where the system tells whose a connection is, it must be the analyst's own.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

import flask

from mapapp.errors import UsageError
from mapapp.workbench.peer import is_stranger

LOOPBACK_NAMES: Final = ("localhost",)
_LOOKS: Final = ("GET", "HEAD")


def require_loopback(host: str, *, exposed: bool) -> None:
    """Refuse to listen where other machines could connect, unless that was asked for in so many words.

    Raises
    ------
    UsageError
        The host is not this machine's own.
    """
    if not exposed and not is_loopback(host):
        raise UsageError(
            f"--host {host} lets other machines see confidential counts; leave it out, or add --expose if that is meant"
        )


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine to itself alone."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def add_guard(server: flask.Flask, *, host: str, exposed: bool) -> None:
    """Refuse requests that do not come from a page of ours, and let no answer be kept.

    Parameters
    ----------
    server : flask.Flask
    host : str
        Where the app listens.
    exposed : bool
        Whether other machines may connect; then addresses in digits, and this machine's name, are good hosts too.
    """
    names = {host.lower(), socket.gethostname().lower()} if exposed else {host.lower()}

    @server.before_request
    def check() -> flask.Response | None:
        request = flask.request
        if not exposed and is_stranger(request.remote_addr, request.environ.get("REMOTE_PORT")):
            return _refused("the workbench belongs to another user of this machine")
        if not _is_ours(request.host, names, exposed=exposed):
            return _refused("this address is not one that the workbench was opened at")
        if request.method not in _LOOKS and not _same_origin(request):
            return _refused("only pages of the workbench itself may ask this")
        if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not _is_visit(request):
            return _refused("only pages of the workbench itself may ask this")
        return None

    @server.after_request
    def keep_nothing(response: flask.Response) -> flask.Response:
        if "Cache-Control" not in response.headers or response.mimetype == "application/json":
            response.headers["Cache-Control"] = "no-store"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return response


def _is_ours(host: str, names: set[str], *, exposed: bool) -> bool:
    name = _name(host)
    if name in names or is_loopback(name):
        return True
    return exposed and _is_address(name)


def _name(host: str) -> str:
    """The host without its port; a tunnel may change the port, and a page elsewhere cannot take the name."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _same_origin(request: flask.Request) -> bool:
    """Whether the page that asks was served from the very host and port that it asks; browsers always say so."""
    return urlsplit(request.headers.get("Origin", "")).netloc.lower() == request.host.lower() != ""


def _is_visit(request: flask.Request) -> bool:
    """Somebody following a link to the workbench: a page of its own then, which the other cannot read."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"


def _refused(why: str) -> flask.Response:
    return flask.Response(f"Refused: {why}.\n", status=403, mimetype="text/plain")
