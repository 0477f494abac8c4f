"""Stops work that takes too long or that no visitor waits for any more; expensive loops call :func:`check` regularly.

A context variable holds the watch of a request, so that functions between the request and the loop need not pass it on.
Without a watch, as on the command line, :func:`check` does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from threading import Lock, RLock
from typing import Final

LEFT: Final = 499  # the client closed the connection; it never sees this status
_POLL_S: Final = 0.25
_LATE: Final = "This takes too long for a page; choose a smaller area, or use the command line."


class Refused(Exception):
    """The server refuses work, or stops it before it is finished.

    Parameters
    ----------
    status : int
        HTTP status.
    text : str
        One-line message for the visitor.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Watch:
    """Callable (stage, done, total) that stops work when its time is up or its visitor has left.

    Parameters
    ----------
    has_left : callable
        Returns whether the visitor has closed the connection.
    seconds : float
        Time limit for the work.
    """

    def __init__(self, has_left: Callable[[], bool], seconds: float) -> None:
        self._has_left = has_left
        self._until = time.monotonic() + seconds

    def __call__(self, stage: str = "", done: int = 0, total: int = 0) -> None:
        """Raise Refused if the work must stop."""
        if self._has_left():
            raise Refused(LEFT, "The visitor has left.")
        if time.monotonic() > self._until:
            raise Refused(503, _LATE)


_current: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watch_work(watch: Watch) -> Iterator[None]:
    """Watch the work of this thread during the block."""
    token = begin(watch)
    try:
        yield
    finally:
        end(token)


def begin(watch: Watch | None) -> Token[Watch | None]:
    """Watch the work of this thread from now on; return a token for :func:`end`."""
    return _current.set(watch)


def end(token: Token[Watch | None]) -> None:
    """Restore the watch that was active before :func:`begin`."""
    _current.reset(token)


def check() -> None:
    """Raise Refused if the visitor of this thread's work has left or its time is up."""
    watch = _current.get()
    if watch is not None:
        watch()


@contextmanager
def hold_lock(lock: RLock | Lock) -> Iterator[None]:
    """Hold a lock; while waiting for it, call :func:`check` regularly."""
    while not lock.acquire(timeout=_POLL_S):
        check()
    try:
        yield
    finally:
        lock.release()
