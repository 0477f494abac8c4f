"""Work that goes on while the page stays usable: each job runs on a thread, reports progress, and can be cancelled.

Nothing is written to disk: the result of a job lives in memory.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from engine.errors import EngineError
from geodata.errors import GeodataError
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.explore.background import run_in_background
from mapapp.kinds.base.ledger_entry import LedgerError

State = Literal["running", "done", "cancelled", "failed"]
Result = TypeVar("Result", covariant=True)
Work = Callable[[Report], Result]
"""What a job does: takes a function to report progress to, which raises Cancelled to end the work."""

_NUMBERS = itertools.count(1)

LOG = logging.getLogger("commutemap.tune")
EXPECTED_ERRORS = (EngineError, GeodataError, LedgerError, UsageError)


class Cancelled(Exception):
    """Raised in a job that was cancelled."""


class Job(Generic[Result]):
    """One piece of work on a thread of its own; cancelled when the process ends.

    Parameters
    ----------
    work : callable
        Takes the job's :meth:`report`, which raises :class:`Cancelled` once the job is cancelled. Its return value
        becomes the job's `result`.
    """

    def __init__(self, work: Work[Result]) -> None:
        self.number = next(_NUMBERS)
        self.state: State = "running"
        self.stage, self.done, self.total = "", 0, 0
        self.result: Result | None = None
        self.error = ""
        self._work = work
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._ended = threading.Event()
        run_in_background(self._run, stop=self.cancel)

    def report(self, stage: str, done: int, total: int) -> None:
        """Record progress; raises Cancelled if the job was cancelled."""
        if self._stop.is_set():
            raise Cancelled
        self.stage, self.done, self.total = stage, done, total

    def cancel(self) -> None:
        """Cancel the job; it stops at its next report."""
        self._stop.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended; False if the timeout came first."""
        return self._ended.wait(timeout_s)

    @property
    def age_s(self) -> float:
        """Seconds since the job began."""
        return time.monotonic() - self._began

    @property
    def percent(self) -> float | None:
        """Share of the work that is done; None if that is not known."""
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
    """An error as one line for the analyst. An unexpected one is only named: its text could hold a count."""
    if isinstance(error, EXPECTED_ERRORS):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or type(error).__name__}"
    if isinstance(error, MemoryError):
        return "not enough memory; close other programs or use a machine with more"
    LOG.error("internal error (%s) in a job of the workbench", type(error).__name__)
    return f"internal error ({type(error).__name__}), a bug of this program; another setting may work"
