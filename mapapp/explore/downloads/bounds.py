"""Limits on files made for visitors: how many at once, how long each may take, and how large it may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mapapp.base.watch import Refused, Watch
from mapapp.explore.admission import Admission

MAX_AT_ONCE: Final = 1  # a report takes seconds of processor time, which answers need, too
MAX_WAITING: Final = 4
PATIENCE_S: Final = 20.0
MAX_SECONDS: Final = 120.0
MAX_BYTES: Final = 300_000_000
MAX_ROWS: Final = 200_000
MAX_REPORT_ROWS: Final = 20_000  # hundreds of pages
TOO_MUCH_MEMORY: Final = (
    "This file takes too much memory to make here. Choose a smaller area, or use the command line."
)


def file_places() -> Admission:
    """Admission to making files, which takes long and so has its own queue."""
    busy = "Other files are being made right now. Try again in a few seconds."
    return Admission(MAX_AT_ONCE, MAX_WAITING, PATIENCE_S, busy)


class FileWatch(Watch):
    """A watch that also ends work on a file that becomes too large.

    Parameters
    ----------
    folder : Path
        The folder of the work; every file in it counts.
    has_left : callable
        Whether the visitor has closed the connection.
    seconds : float
    """

    def __init__(
        self, folder: Path, has_left: Callable[[], bool] = lambda: False, seconds: float = MAX_SECONDS
    ) -> None:
        super().__init__(has_left, seconds)
        self._folder = folder

    def __call__(self, stage: str = "", done: int = 0, total: int = 0) -> None:
        """Continue, or raise Refused."""
        super().__call__(stage, done, total)
        if sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file()) > MAX_BYTES:
            raise Refused(
                413,
                "This file is too large to download here. Choose a smaller area, or use the command line.",
            )
