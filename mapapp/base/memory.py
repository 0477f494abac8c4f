"""Freed memory that a process keeps for the next arrays, instead of giving it back to the system.

By default, glibc gives each thread its own heap, and returns every large array to the system when it is freed. The
system then clears each page again for the next array. One heap serves all threads here, because others cannot hold
large arrays, and each would keep as much.

Both functions return False where the C library has no such options (macOS, musl); everything then works as before.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
from typing import Final

from mapapp.base.memory_limits import FREED_BYTES

# Options of mallopt(3), by the names of <malloc.h>.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_MMAP_MAX: Final = -4
_M_ARENA_MAX: Final = -8
_NEVER: Final = -1

_RESERVED_PART: Final = 2  # of the machine's memory; a nation needs 6 GiB
_PAGE: Final = 2 << 20  # a large page, on most machines
_MADV_HUGEPAGE: Final = 14  # Linux; Python's mmap module lists it only where its C library did


def keep_some_freed_memory() -> bool:
    """Let the arrays of an answer take the memory of earlier ones, up to a limit; call it before threads start."""
    return _set((_M_MMAP_THRESHOLD, FREED_BYTES // 2), (_M_TRIM_THRESHOLD, FREED_BYTES))


def keep_all_freed_memory() -> bool:
    """Let the arrays of a batch take the memory of earlier ones, for the rest of this process.

    A command that makes a release and ends should keep it; a server should not. The memory comes in large pages where
    the system has them. Tables of some megabytes are read at random, and the processor cannot remember where thousands
    of small pages are.
    """
    kept = _set((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _NEVER))
    if kept and not _is_limited():
        _ask_for_large_pages(ctypes.CDLL(None))
    return kept


def _set(*options: tuple[int, int]) -> bool:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc: macOS, musl
        return False
    return all(mallopt(option, value) == 1 for option, value in ((_M_ARENA_MAX, 1), *options))


def _is_limited() -> bool:
    """Whether addresses are scarce, so that none should be reserved."""
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
