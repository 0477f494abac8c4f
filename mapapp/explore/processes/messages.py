"""What the listening process and one that computes send each other, pickled, over a socket pair that only they have."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Final

from geodata.geography.area_files import AreaFile

_POLL_S: Final = 0.25
_PART_BYTES: Final = 1 << 20
_HELD_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a process serves, sent once.

    Attributes
    ----------
    publications : tuple of Path
    prefix : str
    embed_from : tuple of str
    number, n_processes : int
        Which one it is, from 0, and how many there are.
    files_in : str
        Folder for the unfinished files of a process that makes files; empty for one that computes answers.
    file_bytes : int
        Most memory that its files take beyond the publications.
    """

    publications: tuple[Path, ...]
    prefix: str
    embed_from: tuple[str, ...]
    number: int = 0
    n_processes: int = 1
    files_in: str = ""
    file_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Ready:
    """The process has opened the publications."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The process could not open them; `said` is one line."""

    said: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its environment, its body, and the content of (or an error about) each upload that it names."""

    environ: Mapping[str, str]
    body: bytes
    uploads: Mapping[str, AreaFile | str]


@dataclass(frozen=True, slots=True)
class Left:
    """The client of the request in progress has closed the connection. It may arrive after the response was sent."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The beginning of a response; if there is more, parts of bytes follow, and an empty one ends it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    has_more: bool


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response. A long body is in a file without a name, at its beginning."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | IO[bytes]


def send_response(
    connection: Connection, status: int, headers: Iterable[tuple[str, str]], parts: Iterable[bytes]
) -> None:
    """Send a response; a short one as a single message."""
    sliced = _slice_parts(parts)
    held, n_bytes, has_more = list[bytes](), 0, False
    for part in sliced:
        held.append(part)
        n_bytes += len(part)
        if n_bytes >= _HELD_BYTES:
            has_more = True
            break
    connection.send(Answered(status, tuple(headers), b"".join(held), has_more))
    if has_more:
        for part in sliced:
            connection.send(part)
        connection.send(b"")


def receive_response(connection: Connection, has_left: Callable[[], bool]) -> Response:
    """Receive a response, and tell the other process if its client leaves meanwhile.

    Raises
    ------
    EOFError, OSError
        If the other process has ended.
    """
    is_told = False
    while not connection.poll(_POLL_S):
        if not is_told and has_left():
            connection.send(Left())
            is_told = True
    first = connection.recv()
    assert isinstance(first, Answered), "a response begins with its status"
    if not first.has_more:
        return Response(first.status, first.headers, first.body)
    with ExitStack() as unless_whole:
        file: IO[bytes] = unless_whole.enter_context(tempfile.TemporaryFile())
        part = first.body
        while part:
            file.write(part)
            part = connection.recv()
        file.seek(0)
        unless_whole.pop_all()  # closed by whoever sends it on
    return Response(first.status, first.headers, file)


def _slice_parts(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts without empty ones, none longer than a message should be."""
    for part in parts:
        for start in range(0, len(part), _PART_BYTES):
            yield part[start : start + _PART_BYTES]
