"""Ends work that nobody waits for any more, or that takes too long: expensive loops call :func:`check` as they go on.

The watch of a request is kept in a context variable, so that no function between the request and the loop need pass it.
Without one, as on the command line, :func:`check` does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, RLock
from typing import Any, Final

LEFT: Final = 499  # the client closed the connection; it never sees this status
_POLL_S: Final = 0.25
_LATE: Final = "This takes too long for a page; choose a smaller area, or use the command line."


class Refused(Exception):
    """Work that a server does not do, or does not finish.

    Parameters
    ----------
    status : int
        Of HTTP.
    text : str
        One line for the visitor.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Watch:
    """Called as work goes on (stage, done, total): ends it when its time is up, or when its visitor has left.

    Parameters
    ----------
    has_left : callable
        Whether the visitor has closed the connection.
    seconds : float
        How long the work may take.
    """

    def __init__(self, has_left: Callable[[], bool], seconds: float) -> None:
        self._has_left = has_left
        self._until = time.monotonic() + seconds

    def __call__(self, stage: str = "", done: int = 0, total: int = 0) -> None:
        """Go on, or raise Refused."""
        if self._has_left():
            raise Refused(LEFT, "The visitor has left.")
        if time.monotonic() > self._until:
            raise Refused(503, _LATE)


_current: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Watch the work of this thread."""
    token = begin(watch)
    try:
        yield
    finally:
        end(token)


def begin(watch: Watch | None) -> Any:
    """Watch the work of this thread from now on; returns what :func:`end` takes."""
    return _current.set(watch)


def end(token: Any) -> None:
    """Watch what was watched before :func:`begin`."""
    _current.reset(token)


def check() -> None:
    """Go on, or raise Refused if nobody waits for this thread's work any more or its time is up."""
    watch = _current.get()
    if watch is not None:
        watch()


@contextmanager
def held(lock: RLock | Lock) -> Iterator[None]:
    """Hold a lock; while another thread has it, go on looking whether anybody still waits for this one."""
    while not lock.acquire(timeout=_POLL_S):
        check()
    try:
        yield
    finally:
        lock.release()
