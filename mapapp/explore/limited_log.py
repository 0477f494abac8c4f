"""A log that visitors cannot fill: a few lines a minute about requests that fail, and how many were left out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Final

MOST_LINES: Final = 20
"""Lines in a minute; who forges requests without end would otherwise fill the disk."""
_WINDOW_S: Final = 60.0


class LimitedLog:
    """The lines that one app logs about failed requests; safe to use from several threads.

    Parameters
    ----------
    clock : callable
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._began = clock()
        self._n_lines = 0

    def error(self, line: str, *, details: Exception | None = None) -> None:
        """Log a line, with the traceback of `details`, unless there were too many within the minute."""
        with self._lock:
            now, left_out = self._clock(), 0
            if now - self._began >= _WINDOW_S:
                left_out = max(self._n_lines - MOST_LINES, 0)
                self._began, self._n_lines = now, 0
            self._n_lines += 1
            is_shown = self._n_lines <= MOST_LINES
        log = logging.getLogger("commutemap")
        if left_out:
            log.error("%s more lines about failed requests were left out", f"{left_out:,}")
        if is_shown:
            log.error("%s", line, exc_info=details)
