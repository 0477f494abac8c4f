"""The program of a process that computes answers: `python -m mapapp.explore.processes.worker FILE…`.

The arguments are the numbers of its open sockets. It listens nowhere, and ends when its standard input does.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from importlib import import_module
from multiprocessing.connection import Connection
from types import TracebackType
from typing import TYPE_CHECKING, Final

import flask
from dash import Dash

from geodata.errors import GeodataError
from geodata.geography.area_files import AreaFile
from geodata.process_limits import limit_memory, memory_bytes
from mapapp.base.errors import UsageError
from mapapp.base.memory import keep_some_freed_memory
from mapapp.explore import server
from mapapp.explore.heavy_requests import HAS_LEFT
from mapapp.explore.processes.messages import Asked, Failed, Ready, Setup, send_response
from mapapp.explore.uploads import Uploads

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

UPLOADS: Final = "commutemap.uploads"
"""Where a request's environment has the uploads that it names."""
_LOOK_S: Final = 0.05
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the listening process ends this one


class CarriedUploads(Uploads):
    """Uploaded files that came with a request from the listening process, which has read them."""

    def area(self, token: object) -> AreaFile:
        """The content of a file; UsageError if the file was not read or is gone."""
        carried = flask.request.environ.get(UPLOADS, {})
        upload = carried.get(token) if isinstance(token, str) else None
        if not isinstance(upload, AreaFile):
            raise UsageError(upload or "the server no longer has this file; choose it again")
        return upload


class Departure:
    """Whether the client of a request has left, or the listening process has ended.

    Parameters
    ----------
    connection : Connection
        While a request is answered, nothing but a note of either kind arrives on it.
    ending : threading.Event
    """

    def __init__(self, connection: Connection, ending: threading.Event) -> None:
        self._connection, self._ending = connection, ending
        self._has_left, self._next_look = False, 0.0

    def __call__(self) -> bool:
        """Return whether to stop; this looks at the connection now and then, because loops ask often."""
        now = time.monotonic()
        if not self._has_left and now >= self._next_look:
            self._next_look = now + _LOOK_S
            self._has_left = self._ending.is_set() or self._connection.poll(0)
        return self._has_left


def main(files: Iterable[str]) -> int:
    """Open what the first message names, then answer requests until standard input ends; returns an exit code."""
    keep_some_freed_memory()
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    connections = [Connection(int(file)) for file in files]
    try:
        setup = connections[0].recv()
        app = _open_app(setup)
        if setup.files_in:
            _limit_files(setup)
        connections[0].send(Ready())
    except (EOFError, BrokenPipeError):
        return 0
    except (UsageError, GeodataError, OSError, MemoryError) as error:
        with suppress(OSError):
            connections[0].send(Failed(" ".join(str(error).split()) or type(error).__name__))
        return 1
    ending = threading.Event()
    threads = [
        threading.Thread(target=serve, args=(app.server, connection, ending)) for connection in connections
    ]
    for thread in threads:
        thread.start()
    if not setup.files_in:
        server.prepare(app, has_outlines=setup.number == 0)
    sys.stdin.buffer.read()
    if setup.files_in:  # typesetting has no steps at which it could stop
        shutil.rmtree(setup.files_in, ignore_errors=True)
        os.kill(os.getpid(), signal.SIGKILL)
    ending.set()
    for thread in threads:
        thread.join()
    return 0


def _open_app(setup: Setup) -> Dash:
    return server.create_app(
        list(setup.publications),
        setup.prefix,
        embed_from=setup.embed_from,
        processes=setup.n_processes,
        uploads=CarriedUploads(),
    )


def _limit_files(setup: Setup) -> None:
    """Load what draws and typesets; then limit what files take, and where they lie until they are finished."""
    import_module("mapapp.show.reports")  # a process that computes answers does without
    tempfile.tempdir = setup.files_in
    limit_memory(memory_bytes() + setup.file_bytes)


def serve(application: flask.Flask, connection: Connection, ending: threading.Event) -> None:
    """Answer the requests of a connection, one after the other, until it is closed."""
    with suppress(EOFError, OSError), closing(connection):
        while True:
            asked = connection.recv()
            if isinstance(asked, Asked):  # otherwise a visitor has left whose response was sent already
                _answer(application, connection, asked, Departure(connection, ending))


def _answer(application: flask.Flask, connection: Connection, asked: Asked, departure: Departure) -> None:
    response_heads: list[tuple[int, list[tuple[str, str]]]] = []

    def start(
        status: str,
        headers: list[tuple[str, str]],
        _: tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None = None,
    ) -> Callable[[bytes], object]:
        response_heads.append((int(status.split()[0]), headers))
        return lambda _: None

    parts = application.wsgi_app(_environ(asked, departure), start)
    try:
        send_response(connection, *response_heads[-1], parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()


def _environ(asked: Asked, departure: Departure) -> WSGIEnvironment:
    return {
        **asked.environ,
        "wsgi.version": (1, 0),
        "wsgi.input": io.BytesIO(asked.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
        HAS_LEFT: departure,
        UPLOADS: asked.uploads,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
