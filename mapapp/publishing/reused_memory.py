"""Memory of batches, kept for the next batches of the same command, in large pages."""

from __future__ import annotations

import ctypes
import mmap
import os

# Options of mallopt(3), by the names of <malloc.h>.
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4
_M_ARENA_MAX = -8
_NEVER = -1

_RESERVED_PART = 2  # of the machine's memory; a nation needs 6 GiB
_PAGE = 2 << 20  # a large page, on most machines
_MADV_HUGEPAGE = 14  # Linux; Python's mmap module lists it only where its C library did


def keep_freed_memory() -> bool:
    """Let the arrays of a batch take the memory of earlier ones, for the rest of this process.

    By default, glibc returns every large array to the system when it is freed, and the system clears each page again
    for the next array, although every batch needs the same few hundred megabytes. A command that makes a release and
    ends should keep them; a server should not.

    The memory comes in large pages where the system has them. Tables of some megabytes are read at random, and the
    processor cannot remember where thousands of small pages are.

    Returns
    -------
    bool
        False where the C library has no such options; it then works as before.
    """
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
    except (AttributeError, OSError, TypeError):  # not glibc: macOS, musl, Windows
        return False
    # One arena, since others cannot hold large arrays; no array with a mapping of its own; nothing returned when freed.
    options = ((_M_ARENA_MAX, 1), (_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _NEVER))
    kept = all(mallopt(option, value) == 1 for option, value in options)
    if kept and not _is_limited():
        _ask_for_large_pages(library)
    return kept


def _is_limited() -> bool:
    """Whether addresses are scarce, so that none should be reserved."""
    import resource  # not at the top: Windows has no such module

    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits)


def _ask_for_large_pages(library: ctypes.CDLL) -> None:
    """Reserve addresses for all memory to come, ask for large pages there, and give the addresses to the C library.

    The system takes no memory for an address before something is written there. Where it has no large pages, or too
    little memory is left, nothing changes.
    """
    size = os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE // _RESERVED_PART
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    library.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    address = library.malloc(size)
    if address is None:
        return
    first = -(-address // _PAGE) * _PAGE
    library.madvise(first, address + size - first, _MADV_HUGEPAGE)
    library.free(address)
