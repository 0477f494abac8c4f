"""Bounds of the work that strangers may ask for: so many files at once, so long each, and none for who has left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MAX_AT_ONCE: Final = 2
MAX_SECONDS: Final = 120.0
MAX_BYTES: Final = 300_000_000
MAX_ROWS: Final = 200_000
MAX_REPORT_ROWS: Final = 20_000  # hundreds of pages


class Refused(Exception):
    """A file is not made.

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


class Turns:
    """Places for `n` pieces of work at once; who comes when all are taken is told so."""

    def __init__(self, n: int = MAX_AT_ONCE) -> None:
        self._places = threading.BoundedSemaphore(n)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place.

        Raises
        ------
        Refused
            When there is none.
        """
        if not self._places.acquire(blocking=False):
            raise Refused(503, "Other files are being made at the moment; try again in a few seconds.")
        try:
            yield
        finally:
            self._places.release()


class Watch:
    """Called as work goes on (stage, done, total): ends it when its time is up, or nobody waits for it any more.

    Parameters
    ----------
    folder : Path
        Where the work is done; what lies in it counts.
    has_left : callable
        Whether the visitor has closed the connection.
    seconds : float
    """

    def __init__(
        self, folder: Path, has_left: Callable[[], bool] = lambda: False, seconds: float = MAX_SECONDS
    ) -> None:
        self._folder = folder
        self._has_left = has_left
        self._until = time.monotonic() + seconds

    def __call__(self, stage: str = "", done: int = 0, total: int = 0) -> None:
        """Go on, or raise Refused."""
        if self._has_left():
            raise Refused(499, "The visitor has left.")
        if time.monotonic() > self._until:
            raise Refused(
                503, "This takes too long for a page; choose a smaller area, or use the command line."
            )
        if sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file()) > MAX_BYTES:
            raise Refused(
                413, "This file is too large for a page; choose a smaller area, or use the command line."
            )
