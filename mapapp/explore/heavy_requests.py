"""Which requests of the public server do expensive work, and how they are admitted to it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import flask

from mapapp.answers import watch
from mapapp.answers.watch import LEFT, Refused, Watch
from mapapp.explore.admission import Admission
from mapapp.explore.listener.proxies import client_key
from mapapp.explore.web_app import N_THREADS

N_PLACES_EACH: Final = min(max(os.cpu_count() or 1, 2), 4)
N_PLACES: Final = N_PLACES_EACH + 1  # one client never takes all of them
N_WAITING: Final = N_THREADS * 3 // 4 - N_PLACES
N_WAITING_EACH: Final = N_WAITING // 2  # fewer than the threads that one client may hold
PATIENCE_S: Final = 20.0  # the first visitors of a large release wait for its shapes
SECONDS: Final = 30.0
RETRY_S: Final = 2
BUSY: Final = "The server is busy; try again in a few seconds."


def answers() -> Admission:
    """Places for what a page asks for while it is used."""
    return Admission(
        N_PLACES, N_WAITING, PATIENCE_S, BUSY, n_places_each=N_PLACES_EACH, n_waiting_each=N_WAITING_EACH
    )


def register(server: flask.Flask, admission: Admission, is_heavy: Callable[[flask.Request], bool]) -> None:
    """Let requests that do expensive work wait for a place, and end their work when nobody waits for it.

    A request holds its place until its response is complete. Others hold none, and wait for nobody.
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
    """Tells whether the visitor who sent a request has closed the connection."""
    has_left: Any = request.environ.get("waitress.client_disconnected")
    return has_left or (lambda: False)


def refusal(status: int, text: str) -> flask.Response:
    """One line on a request that is not answered, and when to try again where that may help."""
    status = 400 if status == LEFT else status  # 499 is not a standard status, and nobody reads this response
    response = flask.Response(text + "\n", status=status, mimetype="text/plain")
    response.headers["Cache-Control"] = "no-store"
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_S)
    return response
