"""Ctrl-C: it ends a command, is not lost, and pressed again does not cut short what cleans up."""

from __future__ import annotations

import math
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN_S: Final = 90.0  # longer than any clean-up
_SOON_S: Final = 0.05


def answer_interrupts() -> None:
    """Have Ctrl-C raise KeyboardInterrupt for the rest of this process, once for all within a minute and a half.

    Where Python drops what is raised, as in a `__del__` that the collector calls, it is raised again soon after.
    Nothing changes where whoever started the program had it ignore Ctrl-C, as a shell does for jobs in the background.
    To be called from the main thread of a program of our own.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    raised_at = -math.inf

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal raised_at
        if time.monotonic() - raised_at > _AGAIN_S:
            raised_at = time.monotonic()
            raise KeyboardInterrupt

    def drop(dropped: UnraisableHookArgs) -> None:
        # A timer of the system and not a thread: the collector may have come in the middle of starting one.
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _SOON_S)
        else:
            sys.__unraisablehook__(dropped)

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = drop


def ignore_interrupts() -> None:
    """Have Ctrl-C do nothing any more: all is done, and said."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
