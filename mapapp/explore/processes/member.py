"""One process that computes answers, as the listening process sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import mapapp
from mapapp.base.errors import UsageError
from mapapp.explore.processes.messages import Failed, Setup

_MODULE: Final = "mapapp.explore.processes.worker"
_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"


class Member:
    """A process, started at once, with connections for one request each.

    It is in a session of its own: Ctrl-C reaches the listening process alone. It ends when its standard input does,
    so it does not outlive the listening process, however that ends.

    Parameters
    ----------
    setup : Setup
    n_connections : int
        Most requests at once.

    Attributes
    ----------
    idle : list of Connection
        Connections that carry no request.
    n_busy : int
        Requests in progress.
    is_ready : bool
        Whether it takes requests.
    """

    def __init__(self, setup: Setup, n_connections: int) -> None:
        pairs = [Pipe() for _ in range(n_connections)]
        self.idle: list[Connection] = [ours for ours, _ in pairs]
        self.n_busy, self.is_ready = 0, False
        files = [theirs.fileno() for _, theirs in pairs]
        path = (str(Path(mapapp.__file__).parents[1]), os.environ.get("PYTHONPATH"))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, *map(str, files)],
            env={_BLAS_THREADS: "1"} | os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=files,
            start_new_session=True,
        )
        for _, theirs in pairs:
            theirs.close()
        with suppress(OSError):  # it has ended already, as whoever waits for it finds out
            self.idle[0].send(setup)

    def wait_until_ready(self) -> None:
        """Wait until the process has opened the publications.

        Raises
        ------
        UsageError
            If it cannot, or has ended.
        """
        try:
            said = self.idle[0].recv()
        except (EOFError, OSError):
            how = how_it_ended(self.process.wait())
            raise UsageError(f"a process that computes answers {how} while it started") from None
        if isinstance(said, Failed):
            raise UsageError(said.said)

    def leave(self) -> None:
        """Let the process end: it stops its work at the next step."""
        self.is_ready = False
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        while self.idle:
            self.idle.pop().close()


def how_it_ended(code: int) -> str:
    """How a process ended, for a line of the log."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
    return f"was killed ({name})"
