"""What the workers of one test run share."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

BROWSER_GROUPS = ("tests/browser/test_explore_in_browser.py", "tests/browser")
"""Tests that need the browser and its server: two groups of about equal cost. A test is in the first that fits."""

SLOWEST_FIRST = (
    *BROWSER_GROUPS,
    "tests/kinds/test_cluster.py",
    "tests/show/test_pictures.py",
    "tests/show/test_batch.py",
    "tests/test_wheel.py",
    "tests/test_benchmarks.py",
    "tests/commands/test_killed.py",
    "tests/geodata/test_real_files.py",
    "tests/engine/test_jit.py",
    "tests/kinds/test_mechanisms.py",
    "tests/engine/comparison/test_histograms_law.py",
    "tests/show/test_reports.py",
)
"""Groups of tests that take longest, by processor time; a run that ends with short ones keeps every processor busy."""


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that is filled once in a test run; tests must not write into it.

    Parameters
    ----------
    factory : pytest.TempPathFactory
        Of the worker that asks.
    name : str
        Unique in the run.
    make : callable
        Fills the folder that it is given. The other workers wait for it.
    """
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    shared.mkdir(exist_ok=True)
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = shared / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder


def group_of(test: str) -> str:
    """The tests that one worker runs, by node id: those of a file, or one of the groups that need the browser."""
    file = test.split("::")[0]
    return next((group for group in BROWSER_GROUPS if file.startswith(group)), file)


def rank_of(group: str) -> int:
    """Place of a group in the order of a run."""
    return SLOWEST_FIRST.index(group) if group in SLOWEST_FIRST else len(SLOWEST_FIRST)
