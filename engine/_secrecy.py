"""Keeping a process's memory out of files, because a core dump could contain a key."""

import ctypes
import resource
import sys
from contextlib import suppress

_PR_SET_DUMPABLE = 4  # <linux/prctl.h>


def forbid_core_dumps() -> None:
    """Turn off core dumps for this process, and stop other processes of the same user from reading its memory.

    This lasts for the rest of the process, because freed memory that held a key is not wiped. On Linux the limit alone
    is not enough: a program that receives core dumps (`core_pattern` with a pipe) gets them whatever the limit is.
    """
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
