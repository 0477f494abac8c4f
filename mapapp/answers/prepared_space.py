"""How much room the prepared copies of releases may take, and which of them go first.

A process that uses copies holds a shared lock on the file `in-use` among them. Copies that no process uses are evicted,
the least recently used ones first, until all together fit.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final

from geodata.atomic_writes import clear_abandoned, partial_name
from mapapp.errors import UsageError

LIMIT: Final = "COMMUTEMAP_PREPARED_GB"
"""Environment variable: how many gigabytes (10⁹ bytes) the copies of all releases may take together."""

_DEFAULT_GB: Final = 10.0
_IN_USE: Final = "in-use"
_COPIES: Final = re.compile(r"[0-9a-f]{32}-\d+")  # what `prepared` calls them


class Lease:
    """Keeps copies from being evicted for as long as it lives.

    Parameters
    ----------
    file : int
        Descriptor of a locked file, which the lease closes.
    """

    def __init__(self, file: int) -> None:
        self._close = weakref.finalize(self, os.close, file)

    def end(self) -> None:
        """Let the copies be evicted."""
        self._close()


def lease(place: Path) -> Lease | None:
    """Note that copies are used now, and keep them from being evicted; None if there are none.

    Raises
    ------
    OSError
        When they cannot be locked.
    """
    file = _opened(place)
    if file is None:
        return None
    held = Lease(file)
    fcntl.flock(file, fcntl.LOCK_SH)
    with suppress(OSError):  # copies on a disk that cannot be written are used, too
        os.utime(file, ns=(time.time_ns(), time.time_ns()))  # finer than the system's own stamp
    return held if _is_at(file, place) else None


def limit_bytes() -> int:
    """Greatest size of all copies together.

    Raises
    ------
    UsageError
        When the environment says what is no size.
    """
    text = os.environ.get(LIMIT, "")
    try:
        gigabytes = float(text) if text else _DEFAULT_GB
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < 1e9:
        raise UsageError(
            f"{LIMIT} is {text!r}; give a number of gigabytes from 0 on, or leave it out for {_DEFAULT_GB:g}"
        )
    return int(gigabytes * 1e9)


def evict(folder: Path, limit: int) -> None:
    """Remove the least recently used copies that no process uses, until the rest take at most `limit` bytes."""
    clear_abandoned(folder)
    sizes = {place: _size(place) for place in folder.iterdir() if _COPIES.fullmatch(place.name)}
    total = sum(sizes.values())
    for place in sorted(sizes, key=_used_at):
        if total <= limit:
            return
        if _is_removed(place):
            total -= sizes[place]


def _is_removed(place: Path) -> bool:
    file = _opened(place)
    if file is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(file, place):
            return False
        # First its name, so that nobody opens what is half removed.
        gone = partial_name(place)
        os.rename(place, gone)
        shutil.rmtree(gone, ignore_errors=True)
    except OSError:  # another process uses it, or it is not ours to remove
        return False
    finally:
        os.close(file)
    return True


def _opened(place: Path) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.open(place / _IN_USE, flags, 0o600)
    return None


def _is_at(file: int, place: Path) -> bool:
    """Whether the copies are still where they were when the file was opened."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(place / _IN_USE))
    except FileNotFoundError:
        return False


def _used_at(place: Path) -> float:
    with suppress(OSError):
        return (place / _IN_USE).stat().st_mtime
    return 0.0


def _size(place: Path) -> int:
    total = 0
    for file in place.iterdir():
        with suppress(OSError):
            total += file.lstat().st_size
    return total
