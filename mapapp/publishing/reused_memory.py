"""Memory of batches, kept for the next batches of the same command."""

from __future__ import annotations

import ctypes

# Options of mallopt(3), by the names of <malloc.h>.
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4
_M_ARENA_MAX = -8
_NEVER = -1


def keep_freed_memory() -> bool:
    """Let the arrays of a batch take the memory of earlier ones, for the rest of this process.

    By default, glibc returns every large array to the system when it is freed, and the system clears each page again
    for the next array, although every batch needs the same few hundred megabytes. A command that makes a release and
    ends should keep them; a server should not.

    Returns
    -------
    bool
        False where the C library has no such options; it then works as before.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc: macOS, musl, Windows
        return False
    # One arena, since others cannot hold large arrays; no array with a mapping of its own; nothing returned when freed.
    options = ((_M_ARENA_MAX, 1), (_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _NEVER))
    return all(mallopt(option, value) == 1 for option, value in options)
