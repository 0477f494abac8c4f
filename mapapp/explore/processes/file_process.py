"""The process that draws and typesets files for visitors, and ends soon, which returns all its memory."""

from __future__ import annotations

import atexit
import logging
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from threading import Lock, Timer
from typing import Final

from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.watch import Refused, Watch
from mapapp.explore.downloads.bounds import MAX_SECONDS, TOO_MUCH_MEMORY
from mapapp.explore.processes.member import Member
from mapapp.explore.processes.messages import Asked, Response, Setup, receive_response

DRAWN: Final = ("report.", "map.", "chart.")
"""How the names of files begin that are drawn or typeset: Matplotlib and Typst keep memory, and fonts open."""
MOST_FILES: Final = 10
"""The process ends after as many files."""
IDLE_S: Final = 60.0
"""Most memory of the process beyond what the open publications take."""
_POLL_S: Final = 0.25
_LOST: Final = "This file could not be made just now. Try again in a few seconds."


class FileProcess:
    """Makes one file at a time in a process that starts with the first of them; safe to use from several threads.

    Parameters
    ----------
    setup : callable
        Returns what the process serves.
    """

    def __init__(self, setup: Callable[[], Setup]) -> None:
        self._setup_now = setup
        self._setup: Setup | None = None
        self._lock = Lock()
        self._member: Member | None = None
        self._leaving = ExitStack()
        self._n_made = 0
        self._idle: Timer | None = None

    @property
    def process_id(self) -> int | None:
        """Number of the process, if there is one."""
        member = self._member
        return None if member is None else member.process.pid

    def ask(self, asked: Asked, has_left: Callable[[], bool]) -> Response:
        """Let the process answer a request; it is killed when the time is up or the visitor leaves.

        Raises
        ------
        Refused
            If it is killed, or ends without an answer.
        """
        watching = Watch(has_left, MAX_SECONDS)

        def goes_on() -> bool:
            watching()
            return False

        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            is_whole = False
            try:
                connection = self._ready(goes_on).idle[0]
                connection.send(asked)
                response = receive_response(connection, goes_on)
                is_whole = True
                return response
            except (EOFError, OSError) as error:
                logging.getLogger("commutemap").error("the process that makes files ended before its file")
                raise Refused(413, TOO_MUCH_MEMORY) from error
            finally:
                self._n_made += 1
                if is_whole and self._n_made < MOST_FILES:
                    self._end_when_idle()
                else:
                    self._end()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        member, idle = self._member, self._idle
        if member is not None:
            member.process.kill()
            member.process.wait()
        if idle is not None:
            idle.cancel()
            idle.join()

    def _ready(self, goes_on: Callable[[], bool]) -> Member:
        """The process, with all publications open."""
        setup = self._setup_now()
        if self._member is not None and setup == self._setup and self._member.process.poll() is None:
            return self._member
        self._end()
        atexit.register(self.stop)
        folder = self._leaving.enter_context(
            tempfile.TemporaryDirectory(prefix="commutemap-", ignore_cleanup_errors=True)
        )
        self._setup, self._n_made = setup, 0
        self._member = member = Member(
            replace(setup, files_in=folder, file_bytes=memory_limits.FILE_PROCESS_BYTES), 1
        )
        self._leaving.callback(self._kill_member, member)
        while not member.idle[0].poll(_POLL_S):
            goes_on()
        try:
            member.wait_until_ready()
        except UsageError as error:
            logging.getLogger("commutemap").error("no file can be made: %s", error)
            raise Refused(503, _LOST) from error
        return member

    def _kill_member(self, member: Member) -> None:
        member.process.kill()
        member.process.wait()
        member.leave()
        self._member = None
        atexit.unregister(self.stop)

    def _end(self) -> None:
        """End the process, and remove what it has left."""
        self._leaving.close()

    def _end_when_idle(self) -> None:
        def end() -> None:
            with self._lock:  # if a file is being made, the process ends after it
                self._end()

        self._idle = Timer(IDLE_S, end)
        self._idle.daemon = True
        self._idle.start()
