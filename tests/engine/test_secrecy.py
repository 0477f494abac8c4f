"""A process that holds a key leaves no core dump."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

STATE = """
import resource
from pathlib import Path
from engine.streams import SecretKey
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
key = {key}
print(resource.getrlimit(resource.RLIMIT_CORE)[0])
"""
DUMPABLE = """
import ctypes
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))  # PR_GET_DUMPABLE
"""


def state(key: str, code: str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", STATE.format(key=key) + code], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "key",
    [
        "SecretKey.fresh()",
        "__import__('engine.streams', fromlist=['x'])._unpack_key(bytes(32), False)",
    ],
    ids=["drawn", "handed over"],
)
def test_core_dumps_are_off_while_a_key_lives(key: str) -> None:
    assert state(key) == ["0"]


def test_the_test_key_is_no_secret() -> None:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert state("SecretKey.for_tests()") == [str(hard)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands core dumps to other programs")
def test_a_program_that_collects_core_dumps_gets_none() -> None:
    assert state("SecretKey.for_tests()", DUMPABLE)[1:] == ["1"]
    assert state("SecretKey.fresh()", DUMPABLE)[1:] == ["0"]


@pytest.mark.skipif(sys.platform != "linux", reason="the test looks into /proc")
def test_the_process_still_reads_its_own_connections() -> None:
    """The workbench tells by them which user of the machine asks."""
    code = f"print(len(Path({str(Path('/proc/net/tcp'))!r}).read_text()) > 0)"
    assert state("SecretKey.fresh()", code)[1:] == ["True"]
