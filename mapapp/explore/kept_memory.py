"""Memory of one answer, kept for the next ones of the same process."""

from __future__ import annotations

import ctypes
from typing import Final

# Options of mallopt(3), by the names of <malloc.h>.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
KEPT_BYTES: Final = 64 << 20
"""Most freed memory that a process keeps at the end of its heap."""


def keep_freed_memory() -> bool:
    """Let the arrays of an answer take the memory of earlier ones; call it before threads start.

    By default, glibc gives each thread its own heap, and often returns a large array to the system when it is freed.
    The system then clears each page again for the next array. A question needs some tens of megabytes for a moment.

    Returns
    -------
    bool
        False where the C library has no such options; it then works as before.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc: macOS, musl, Windows
        return False
    # One heap, because each would keep as much.
    options = ((_M_ARENA_MAX, 1), (_M_MMAP_THRESHOLD, KEPT_BYTES // 2), (_M_TRIM_THRESHOLD, KEPT_BYTES))
    return all(mallopt(option, value) == 1 for option, value in options)
