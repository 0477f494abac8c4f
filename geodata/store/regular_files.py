"""Reading the files of a store safely: they must be regular files, not links, and must not change meanwhile.

A store may come from an untrusted source. A symbolic link in it could make the program read, hash or copy any file of
its user, and a pipe would make it wait forever; both are refused before a byte is read. Opening never blocks.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final, NoReturn

from geodata.errors import StoreError
from geodata.json_objects import JsonObject

_MOST_JSON_BYTES: Final = 256 << 20
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read.

    Attributes
    ----------
    identity : tuple of int
        Device, number, size in bytes, and when content and entry were last changed, in nanoseconds.
    sha256 : str
        Hexadecimal, of its content.
    """

    identity: tuple[int, ...]
    sha256: str

    @property
    def n_bytes(self) -> int:
        """Size of the file."""
        return self.identity[2]


@contextmanager
def open_regular(file: Path) -> Iterator[BufferedReader]:
    """Open a regular file for reading.

    Raises
    ------
    StoreError
        The file does not exist, or is a link, a folder or a device.
    """
    require_regular(file)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags)
    except OSError as error:  # replaced since it was checked
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):
            require_regular(file)
        raise
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            _refuse(file, os.fstat(descriptor).st_mode)
        yield stream


def require_regular(file: Path) -> None:
    """Raise StoreError unless a path is a regular file, without opening or following it."""
    try:
        mode = os.lstat(file).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"{file}: no such file; make the store again or restore the file") from None
    except (ValueError, OSError) as error:  # not a possible file name
        raise StoreError(f"{str(file)!r}: not a valid file name ({error}); make the store again") from None
    if not stat.S_ISREG(mode):
        _refuse(file, mode)


def read_state(file: Path) -> FileState:
    """Read a file and return its identity and digest.

    Raises
    ------
    StoreError
        It is not a regular file, or was changed while it was read.
    """
    with open_regular(file) as stream:
        before = _identity(os.fstat(stream.fileno()))
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if _identity(os.fstat(stream.fileno())) != before:
            raise StoreError(f"{file}: was changed while it was read; run again")
    return FileState(before, digest)


def read_identity(file: Path) -> tuple[int, ...]:
    """Numbers that identify a file and its last change, as `FileState.identity`."""
    with open_regular(file) as stream:
        return _identity(os.fstat(stream.fileno()))


def read_object(file: Path) -> JsonObject:
    """Read a JSON document that is one object.

    Raises
    ------
    StoreError
        It is not a regular file, not UTF-8, not JSON, not an object, or has a field twice.
    """
    with open_regular(file) as stream:
        content = stream.read(_MOST_JSON_BYTES + 1)
    if len(content) > _MOST_JSON_BYTES:
        raise StoreError(
            f"{file}: more than {_MOST_JSON_BYTES >> 20} MiB, too large for such a document; restore it"
        )
    return parse_object(content, file)


def parse_object(content: bytes, file: Path, *, finite: bool = False) -> JsonObject:
    """Parse the content of a JSON document as `read_object` does; with `finite`, also refuse NaN and Infinity."""
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_number if finite else None,
            parse_float=_parse_finite if finite else None,
        )
        if _SURROGATE.search(content):
            json.dumps(document, ensure_ascii=False).encode(
                "utf-8"
            )  # half of a surrogate pair cannot be shown
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise StoreError(f"{file}: cannot be read as JSON ({reason}); make the store again") from error
    if not isinstance(document, dict):
        raise StoreError(
            f"{file}: holds a {type(document).__name__}, but must hold an object; make the store again"
        )
    return document


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> JsonObject:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"field {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return document


def _parse_finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _refuse(file: Path, mode: int) -> NoReturn:
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
    raise StoreError(f"{file}: is {kind}, but must be a regular file; make the store again")
