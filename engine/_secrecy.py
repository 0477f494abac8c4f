"""Keeping a process's memory out of files: no core dump may hold a key."""

import ctypes
import resource
import sys
from contextlib import suppress

_PR_SET_DUMPABLE = 4  # <linux/prctl.h>


def forbid_core_dumps() -> None:
    """Have this process leave no core dump, whatever ends it, and let no other process of its user read its memory.

    For the rest of the process: memory that a key has left is not wiped. The limit alone is not enough on Linux, where
    a program that takes core dumps (`core_pattern` with a pipe) gets them whatever the limit is.
    """
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
