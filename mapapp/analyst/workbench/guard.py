"""Who may use the workbench: the analyst who was given its address, from pages that the workbench itself served.

Listening on loopback keeps other machines away. It does not keep away other users of this machine, who can connect to
loopback too, nor a web page that is open in the analyst's browser: any page may send requests to this machine, and its
owner can point a host name of theirs here (DNS rebinding). So three things are checked:

- The request knows a secret. `tune` prints an address that ends in a random token. The first visit exchanges the token
  for a cookie, and redirects to the address without the token, so that the token leaves the address bar.
- The request names this machine as its host.
- A request that does more than read comes from a page of the workbench.

A browser sends the cookies of 127.0.0.1 to every server on 127.0.0.1, whatever its port, and another user may run one
of them. Therefore all pages of the workbench lie under a random path, and the cookie is sent under that path only.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Set
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final
from urllib.parse import urlencode, urlsplit

import flask

from mapapp.base.errors import UsageError

LOOPBACK_NAMES: Final = ("localhost",)
COOKIE: Final = "commutemap_workbench"
_READING: Final = ("GET", "HEAD")


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The secrets of one run of the workbench. They live in memory and end with it.

    Attributes
    ----------
    token : str
        Part of the printed address; exchanged for the cookie.
    cookie : str
        What a browser sends once it has shown the token.
    path : str
        Random path under which all pages lie, with a slash at both ends.
    """

    token: str = field(default_factory=_secret, repr=False)
    cookie: str = field(default_factory=_secret, repr=False)
    path: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(9)}/")

    def address(self, page: str) -> str:
        """The address to print, made from that of the start page."""
        return f"{page}?{urlencode({'token': self.token})}"


def require_loopback(host: str, *, exposed: bool) -> None:
    """Refuse to listen where other machines could connect, unless the analyst asked for it.

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
    """Whether a name or address can be reached from this machine only."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def add_guard(server: flask.Flask, access: Access, *, host: str, exposed: bool) -> None:
    """Refuse requests without the secret and requests that do not come from our pages; let no response be cached.

    Parameters
    ----------
    server : flask.Flask
    access : Access
    host : str
        Where the app listens.
    exposed : bool
        Whether other machines may connect. Then numeric addresses and this machine's name are accepted as hosts, too.
    """
    names = {host.lower(), socket.gethostname().lower()} if exposed else {host.lower()}

    @server.before_request
    def check() -> flask.Response | None:
        request = flask.request
        if not _names_this_machine(request.host, names, exposed=exposed):
            return _refuse_request("this address is not one that the workbench was opened at")
        if "token" in request.args and request.method in _READING:
            return _exchange_token(request, access)
        if not _equal(request.cookies.get(COOKIE, ""), access.cookie):
            return _refuse_request(
                "open the address that commutemap tune printed; paste it if a link does not work"
            )
        if request.method not in _READING and not _same_origin(request):
            return _refuse_request("only pages of the workbench itself may ask this")
        if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not _is_visit(request):
            return _refuse_request("only pages of the workbench itself may ask this")
        return None

    @server.after_request
    def keep_nothing(response: flask.Response) -> flask.Response:
        if "Cache-Control" not in response.headers or response.mimetype == "application/json":
            response.headers["Cache-Control"] = "no-store"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        return response


def _exchange_token(request: flask.Request, access: Access) -> flask.Response:
    """Exchange the token for the cookie, and redirect to the same page without the token."""
    if not _equal(request.args["token"], access.token):
        return _refuse_request(
            "the token in the address is not that of this run; open the address that was printed last"
        )
    if not request.path.startswith(access.path):
        return _refuse_request("the address is not complete; open the whole address that was printed")
    response = flask.Response(status=303, headers={"Location": request.path, "Cache-Control": "no-store"})
    response.set_cookie(COOKIE, access.cookie, path=access.path, httponly=True, samesite="Strict")
    return response


def _equal(given: str, secret: str) -> bool:
    """Whether a text is the secret; the time that this takes does not tell how much of it is right."""
    return compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def _names_this_machine(host: str, names: Set[str], *, exposed: bool) -> bool:
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
    """Whether a link to the workbench was followed: it opens a page of its own, which the linking page cannot read."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"


def _refuse_request(why: str) -> flask.Response:
    return flask.Response(f"Refused: {why}.\n", status=403, mimetype="text/plain")
