"""Signals that end a command: Ctrl-C, SIGTERM, and SIGHUP (the terminal closed).

Each ends the command as Ctrl-C does: unfinished work is cleaned up, and the exit code is 128 plus the signal number, as
in a shell. No signal is lost, and a second one does not interrupt the cleanup.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN_S: Final = 90.0  # longer than any cleanup
_SOON_S: Final = 0.05
_DEFAULTS: Final = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class Interrupt(KeyboardInterrupt):
    """A signal ended this process.

    Attributes
    ----------
    number : int
        Signal number.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(error: BaseException) -> int:
    """Exit code of a command that was stopped: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.

    Parameters
    ----------
    error : BaseException
        KeyboardInterrupt, or the exception that a library raised from it.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Interrupt):
        cause = cause.__cause__
    return 128 + (signal.SIGINT if cause is None else cause.number)


def raise_on_interrupt() -> None:
    """Make the signals that end a process raise Interrupt, at most once in 90 seconds.

    If Python drops the exception, as in a `__del__` that the garbage collector calls, it is raised again shortly after.
    A signal that is already ignored stays ignored: shells ignore Ctrl-C for background jobs, and nohup ignores SIGHUP.
    Call this from the main thread of our own programs only.
    """
    raised, raised_at = signal.SIGINT.value, -math.inf

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal raised, raised_at
        if time.monotonic() - raised_at > _AGAIN_S:
            raised, raised_at = number, time.monotonic()
            raise Interrupt(number)

    def again(number: int, frame: FrameType | None) -> None:
        raise Interrupt(raised)

    def drop(dropped: UnraisableHookArgs) -> None:
        # A system timer, not a thread: the collector may have run while a thread was being started.
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _SOON_S)
        else:
            sys.__unraisablehook__(dropped)

    answered = [number for number, default in _DEFAULTS.items() if signal.getsignal(number) == default]
    if not answered:
        return
    signal.signal(signal.SIGALRM, again)
    for number in answered:
        signal.signal(number, interrupt)
    sys.unraisablehook = drop


def ignore_interrupts() -> None:
    """Ignore these signals from now on: the command has finished and printed its result."""
    for number in _DEFAULTS:
        signal.signal(number, signal.SIG_IGN)
