"""Freed memory stays with a server, up to a limit, and pages of later arrays are not cleared again."""

import resource
import subprocess
import sys

import pytest

from mapapp.explore.kept_memory import keep_freed_memory

_FAULTS = """
import resource
import threading
import numpy as np
from mapapp.explore.kept_memory import keep_freed_memory

kept = keep_freed_memory()

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


def test_arrays_take_the_memory_of_freed_ones() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True, timeout=60
    )
    kept, faults = map(int, run.stdout.split())
    if not kept:
        pytest.skip("this C library has no such options")
    pages = 1_000_000 // resource.getpagesize()
    # Fresh memory for each of the 40 arrays would be forty times as many faults.
    assert faults < 5 * pages


def test_says_so_where_the_c_library_has_no_such_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    assert not keep_freed_memory()
