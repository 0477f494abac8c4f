"""Work that goes on while the page stays usable: on a thread, with progress, and ended by asking.

Nothing is written anywhere: what a job finds lives in memory until it is forgotten.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from engine.errors import EngineError
from geodata.errors import GeodataError
from mapapp.errors import UsageError
from mapapp.explore.background import run_in_background
from mapapp.progress import Report
from mapapp.publishing.ledger import LedgerError

State = Literal["running", "done", "cancelled", "failed"]

_NUMBERS = itertools.count(1)

LOG = logging.getLogger("commutemap.tune")
EXPECTED_ERRORS = (EngineError, GeodataError, LedgerError, UsageError)


class Cancelled(Exception):
    """Raised in a job whose end was asked for."""


class Job:
    """One piece of work on a thread of its own, cancelled when the process ends.

    Parameters
    ----------
    work : callable
        Takes the job's :meth:`report`, which raises :class:`Cancelled` once the end was asked for. What it returns is
        the job's `result`.
    """

    def __init__(self, work: Callable[[Report], Any]) -> None:
        self.number = next(_NUMBERS)
        self.state: State = "running"
        self.stage, self.done, self.total = "", 0, 0
        self.result: Any = None
        self.error = ""
        self._work = work
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._ended = threading.Event()
        run_in_background(self._run, stop=self.cancel)

    def report(self, stage: str, done: int, total: int) -> None:
        """Take note of progress; Cancelled where the end was asked for."""
        if self._stop.is_set():
            raise Cancelled
        self.stage, self.done, self.total = stage, done, total

    def cancel(self) -> None:
        """Ask for the end; the work stops at its next report."""
        self._stop.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; whether it came."""
        return self._ended.wait(timeout_s)

    @property
    def age_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    @property
    def percent(self) -> float | None:
        """How far it is, or None where that is not known."""
        return 100.0 * self.done / self.total if self.total else None

    def _run(self) -> None:
        try:
            self.result = self._work(self.report)
            self.state = "done"
        except Cancelled:
            self.state = "cancelled"
        except Exception as error:
            self.error = one_line(error)
            self.state = "failed"
        finally:
            self._ended.set()


def one_line(error: Exception) -> str:
    """An error as one line for the analyst. What nobody foresaw is only named: its text could hold a count."""
    if isinstance(error, EXPECTED_ERRORS):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or type(error).__name__}"
    if isinstance(error, MemoryError):
        return "not enough memory; close other programs or use a machine with more"
    LOG.error("internal error (%s) in a job of the workbench", type(error).__name__)
    return f"internal error ({type(error).__name__}), a bug of this program; another setting may work"
