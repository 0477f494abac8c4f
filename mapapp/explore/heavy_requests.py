"""Admits requests to the public server that do expensive work."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import flask

from mapapp.base import watch
from mapapp.base.watch import LEFT, Refused, Watch
from mapapp.explore.admission import Admission
from mapapp.explore.listener.proxies import client_key
from mapapp.explore.web_app import N_THREADS

N_PLACES_EACH: Final = min(max(os.cpu_count() or 1, 2), 4)
N_PLACES: Final = N_PLACES_EACH + 1  # one client can never take all of them
N_WAITING: Final = N_THREADS * 3 // 4 - N_PLACES
N_WAITING_EACH: Final = N_WAITING // 2  # fewer than the threads one client may hold
PATIENCE_S: Final = 20.0  # the first visitors of a large release wait for its shapes
SECONDS: Final = 30.0
RETRY_S: Final = 2
BUSY: Final = "The server is busy. Try again in a few seconds."
HAS_LEFT: Final = "waitress.client_disconnected"
"""Where a request's environment has a function that says whether its client has closed the connection."""


def n_places(n_processes: int) -> int:
    """Pieces of work at once, for all processes that compute answers together."""
    return max(N_PLACES, n_processes + 1)


def answers(n_processes: int = 1) -> Admission:
    """Admission to the work that pages cause while in use."""
    most = n_places(n_processes)
    return Admission(
        most,
        N_WAITING + N_PLACES - most,
        PATIENCE_S,
        BUSY,
        n_places_each=most - 1,
        n_waiting_each=N_WAITING_EACH,
    )


def register(server: flask.Flask, admission: Admission, is_heavy: Callable[[flask.Request], bool]) -> None:
    """Make expensive requests wait for a place, and end their work when the client disconnects.

    A request holds its place until its response is complete. Other requests need no place and do not wait.
    """

    @server.before_request
    def admit() -> None:
        if is_heavy(flask.request):
            has_left = departure(flask.request)
            flask.g.place = admission.enter(client_key(flask.request.remote_addr or ""), has_left)
            flask.g.watch = watch.begin(Watch(has_left, SECONDS))

    @server.teardown_request
    def leave(_: BaseException | None) -> None:
        place, token = flask.g.pop("place", None), flask.g.pop("watch", None)
        if token is not None:
            watch.end(token)
        if place is not None:
            admission.leave(place)

    @server.errorhandler(Refused)
    def refuse(error: Refused) -> flask.Response:
        return refusal(error.status, error.text)


def departure(request: flask.Request) -> Callable[[], bool]:
    """Returns a function that says whether the client of a request has closed the connection."""
    has_left: Callable[[], bool] | None = request.environ.get(HAS_LEFT)
    return has_left or (lambda: False)


def refusal(status: int, text: str) -> flask.Response:
    """A one-line error response, with a Retry-After header if trying again may help."""
    status = (
        400 if status == LEFT else status
    )  # 499 is not a standard status; the client has disconnected anyway
    response = flask.Response(text + "\n", status=status, mimetype="text/plain")
    response.headers["Cache-Control"] = "no-store"
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_S)
    return response
