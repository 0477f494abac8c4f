"""Freed memory stays with a process that says so, and pages of later arrays are not cleared again."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from mapapp.base.memory import keep_all_freed_memory, keep_some_freed_memory

_FAULTS = """
import resource
import sys
import threading
import numpy as np
from mapapp.base import memory as kept_memory

kept = getattr(kept_memory, sys.argv[1])()

def fill():
    for _ in range(20):
        np.zeros(1_000_000, dtype=np.int8).fill(1)

fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
thread = threading.Thread(target=fill)
thread.start()
thread.join()
fill()
print(int(kept), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.parametrize("keep", ["keep_some_freed_memory", "keep_all_freed_memory"])
def test_arrays_take_the_memory_of_freed_ones(keep: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _FAULTS, keep], capture_output=True, text=True, check=True, timeout=60
    )
    kept, faults = map(int, run.stdout.split())
    if not kept:
        pytest.skip("this C library has no such options")
    pages = 1_000_000 // resource.getpagesize()
    # Fresh memory for each of the 40 arrays would be forty times as many faults.
    assert faults < 5 * pages


def test_says_so_where_the_c_library_has_no_such_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert not keep_some_freed_memory()
    assert not keep_all_freed_memory()


_LARGE_PAGES = """
import re
import resource
import sys
from pathlib import Path
import numpy as np
from mapapp.base.memory import keep_all_freed_memory

if "limited" in sys.argv:
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 50, resource.RLIM_INFINITY))
kept = keep_all_freed_memory()
# The first may lie before the first large page.
table = [np.ones(1 << 20, dtype=np.int8) for _ in range(4)][-1]
# The mapping of the table, and the flags by which the system knows what was asked for.
flags, inside = "", False
for line in Path("/proc/self/smaps").read_text().splitlines():
    if bounds := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
        inside = int(bounds[1], 16) <= table.ctypes.data < int(bounds[2], 16)
    elif inside and line.startswith("VmFlags:"):
        flags = line
print(int(kept), int(" hg" in flags))
"""


def asks_for_large_pages(*arguments: str) -> bool:
    """Whether the last of four tables of 1 MiB lies where large pages are asked for."""
    run = subprocess.run(
        [sys.executable, "-c", _LARGE_PAGES, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    kept, asks = map(int, run.stdout.split())
    if not kept:
        pytest.skip("this C library has no such options")
    return bool(asks)


_NO_LARGE_PAGES = pytest.mark.skipif(
    not (Path("/sys/kernel/mm/transparent_hugepage/enabled").exists() and Path("/proc/self/smaps").exists()),
    reason="this system has no large pages",
)


@_NO_LARGE_PAGES
def test_tables_too_small_for_large_pages_of_their_own_lie_in_large_pages() -> None:
    assert asks_for_large_pages()


@_NO_LARGE_PAGES
def test_no_addresses_are_reserved_where_they_are_limited() -> None:
    assert not asks_for_large_pages("limited")
