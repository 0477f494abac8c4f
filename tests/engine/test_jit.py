"""Kernels compile wherever the package is installed, and never run from a cache older than their sources."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from engine import _jit

KERNEL = """
from engine._jit import jit

@jit
def double(value):
    return 2 * value

print(double(21), hasattr(double, "py_func"), type(getattr(double, "_cache", None)).__name__)
"""


def run_kernel(tmp_path: Path, **environment: str) -> list[str]:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    command = [sys.executable, "-W", "error", str(script)]
    root = str(Path(_jit.__file__).parents[1])
    ran = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": root} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


def test_a_kernel_is_cached_where_it_can_be(tmp_path):
    assert run_kernel(tmp_path) == ["42", "True", "FunctionCache"]
    assert list((tmp_path / "__pycache__").glob("*.nbi"))


def test_a_kernel_compiles_where_no_cache_can_be_kept(tmp_path):
    # Numba is told to look in no place that exists: as in a read-only installation without a home.
    found = run_kernel(
        tmp_path, NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator", NUMBA_CACHE_DIR="", HOME=""
    )
    assert found == ["42", "True", "NullCache"]


def test_the_jit_can_be_switched_off(tmp_path):
    assert run_kernel(tmp_path, NUMBA_DISABLE_JIT="1") == ["42", "False", "NoneType"]


def test_fast_math_is_off_and_the_gil_is_released():
    from engine._kernels.urn import synthesize_range

    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    assert synthesize_range.targetoptions["nogil"] is True
    assert synthesize_range.targetoptions["fastmath"] is False


def test_the_cache_depends_on_every_kernel_source():
    from engine._kernels.urn import synthesize_range

    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    assert synthesize_range._cache._cache_file._source_stamp[1] == _jit._KERNEL_DIGEST


def test_without_readable_sources_nothing_is_cached(monkeypatch):
    monkeypatch.setattr(_jit, "_KERNEL_DIGEST", "")
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")

    def triple(value):
        return 3 * value

    compiled = _jit.jit(triple)
    assert compiled(2) == 6
    assert type(compiled._cache).__name__ == "NullCache"
