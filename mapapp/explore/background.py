"""Background work of a server, on a thread that ends before the process does."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

__all__ = ["run_in_background"]


def run_in_background(work: Callable[[], object], *, stop: Callable[[], object]) -> None:
    """Start work on a thread. When the process ends, ask the work to stop, and wait until it has.

    Python alone would cut the thread off in the middle of a library's native code, which can abort the process.

    Parameters
    ----------
    work : callable
        Handles its own errors.
    stop : callable
        Called once, on another thread, if the process ends before the work does. The work should return soon after.
    """

    def run() -> None:
        try:
            work()
        finally:
            atexit.unregister(end)

    def end() -> None:
        stop()
        thread.join()

    thread = threading.Thread(target=run, daemon=True)
    atexit.register(end)
    thread.start()
