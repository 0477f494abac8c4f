"""The disk space for prepared copies of releases, and their eviction.

A process that uses copies holds a shared lock on the file `in-use` in their folder. Copies that no process uses are
evicted, least recently used first, until the rest fit.
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
from mapapp.base.errors import UsageError

LIMIT: Final = "COMMUTEMAP_PREPARED_GB"
"""Environment variable: gigabytes (10⁹ bytes) that the copies of all releases may take together."""

_DEFAULT_GB: Final = 10.0
_IN_USE: Final = "in-use"
_COPIES: Final = re.compile(r"[0-9a-f]{32}-\d+")  # folder names given by `prepared`


class Lease:
    """Protects copies from eviction as long as it exists.

    Parameters
    ----------
    file : int
        Descriptor of the locked file; the lease closes it.
    """

    def __init__(self, file: int) -> None:
        self._close = weakref.finalize(self, os.close, file)

    def end(self) -> None:
        """Allow the copies to be evicted."""
        self._close()


def lease(place: Path) -> Lease | None:
    """Mark copies as used now and protect them from eviction; return None if they do not exist.

    Raises
    ------
    OSError
        If they cannot be locked.
    """
    file = _opened(place)
    if file is None:
        return None
    held = Lease(file)
    fcntl.flock(file, fcntl.LOCK_SH)
    with suppress(OSError):  # copies on a read-only disk can be used, too
        os.utime(file, ns=(time.time_ns(), time.time_ns()))  # more precise than the system's own timestamp
    return held if _is_at(file, place) else None


def limit_bytes() -> int:
    """Return the size limit for all copies together, in bytes.

    Raises
    ------
    UsageError
        If the environment variable is not a size.
    """
    text = os.environ.get(LIMIT, "")
    try:
        gigabytes = float(text) if text else _DEFAULT_GB
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < 1e9:
        raise UsageError(
            f"{LIMIT} is {text!r}; give a number of gigabytes, 0 or more, or unset it for {_DEFAULT_GB:g}"
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
        # Rename first, so that no process opens half-removed copies.
        gone = partial_name(place)
        os.rename(place, gone)
        shutil.rmtree(gone, ignore_errors=True)
    except OSError:  # another process uses it, or we may not remove it
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
    """Return whether the copies are still where they were when the file was opened."""
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
