"""Standard streams of a command that may be closed, or full, from the start or while it prints.

A closed descriptor would be given to the next file that is opened, and what is printed would end up in that file. So
its place is taken at once. Errors of standard output are told apart from those of files by their type.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_INPUT, _OUTPUT, _ERRORS = range(3)
_ENCODING: Final = "utf-8"


class OutputError(Exception):
    """Standard output cannot be written: its reader has closed it, its disk is full, or it was never open."""


class _Output(io.FileIO):
    """Standard output, whose errors are not those of any file that a command writes."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(error.strerror) from None


class _Errors(io.FileIO):
    """Standard error: a message that nobody can read must not take the place of the exit code."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Take the places of closed descriptors, and let output that cannot be written raise OutputError from now on."""
    for number in (_INPUT, _OUTPUT, _ERRORS):
        if not _is_open(number):
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number; who writes there gets an error
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(sys.stdout, _Output, _OUTPUT)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(sys.stderr, _Errors, _ERRORS)


def drop_output() -> None:
    """Send what standard output still holds, and all that follows, nowhere: Python writes it when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _stream(before: TextIO | None, kind: type[io.FileIO], number: int) -> TextIO:
    """A text stream like the one before, which is None where the descriptor was closed."""
    if not isinstance(before, io.TextIOWrapper):
        closed = os.open(os.devnull, os.O_RDONLY)  # the number itself may be another file's by now
        return io.TextIOWrapper(io.BufferedWriter(kind(closed, "w")), encoding=_ENCODING, line_buffering=True)
    before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(number, "w", closefd=False)),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.line_buffering or before.write_through,
    )
