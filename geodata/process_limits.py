"""Limits of a process that reads or makes files for visitors."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def limit_memory(n_bytes: int) -> None:
    """Limit the address space of this process, if the system allows that."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
    except ValueError:
        if sys.platform == "linux":  # macOS has this limit and accepts no value for it
            raise


def memory_bytes() -> int:
    """Address space of this process; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
