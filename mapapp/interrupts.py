"""Signals that end a command: Ctrl-C, SIGTERM, and SIGHUP of a terminal that closes.

Each ends the command as Ctrl-C does: what is half done is cleaned up, and the exit code is 128 and the signal's number,
as a shell reports it. None is lost, and a second one does not cut the clean-up short.
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

_AGAIN_S: Final = 90.0  # longer than any clean-up
_SOON_S: Final = 0.05
_DEFAULTS: Final = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class Interrupt(KeyboardInterrupt):
    """A signal asked this process to end.

    Attributes
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(error: BaseException) -> int:
    """Exit code of a command that was stopped: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.

    Parameters
    ----------
    error : BaseException
        KeyboardInterrupt, or what a library raised in its place.
    """
    found: BaseException | None = error
    while found is not None and not isinstance(found, Interrupt):
        found = found.__cause__
    return 128 + (signal.SIGINT if found is None else found.number)


def answer_interrupts() -> None:
    """Have signals that end a process raise Interrupt for the rest of it, once for all within a minute and a half.

    Where Python drops what is raised, as in a `__del__` that the collector calls, it is raised again soon after.
    A signal that is ignored already stays ignored: a shell ignores Ctrl-C for jobs in the background, nohup SIGHUP.
    To be called from the main thread of a program of our own.
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
        # A timer of the system and not a thread: the collector may have come in the middle of starting one.
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
    """Have these signals do nothing any more: the command is done, and has said so."""
    for number in _DEFAULTS:
        signal.signal(number, signal.SIG_IGN)
