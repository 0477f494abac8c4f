"""Plant faults in a copy of the tree, one at a time, and say which tests find them.

    python -m tests.planted_faults                      # all faults of tests/planted_faults.toml
    python -m tests.planted_faults "Inflow and outflow" # those whose names contain a text
    python -m tests.planted_faults --tier first         # with the tests of `make test` alone

A fault of a kernel is planted with the JIT off and looked for by the tests marked `jit_off`: it compiles nothing, and
the kernels compiled in the checkout serve all other faults. A test counts only if it passes without the fault. The exit
code is 1 if a fault is not found or cannot be planted.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FAULTS: Final = Path(__file__).with_suffix(".toml")
_TIERS: Final = {"first": "not second_tier", "second": "second_tier"}
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_TESTS_PASSED, _TESTS_FAILED, _NO_TESTS = 0, 1, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A careless change that the tests should find.

    Attributes
    ----------
    name : str
        What goes wrong for a user.
    file : str
        Where it is planted.
    old, new : str
        The text there, once in the file, and what replaces it.
    tests : tuple of str
        Files and node ids expected to find it.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def is_in_kernel(self) -> bool:
        """Whether the file's digest is in the name of every compiled kernel."""
        return "kernels" in Path(self.file).parts

    def planted(self, root: Path) -> str:
        """The file with the fault (ValueError if the old text is not there exactly once)."""
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.file} has the old text {text.count(self.old)} times, not once: {self.name}"
            )
        return text.replace(self.old, self.new)


def listed_faults() -> list[Fault]:
    """All faults of the list."""
    tables = tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**table, "tests": tuple(table["tests"])}) for table in tables]


def copy_tree(target: Path) -> None:
    """Copy the tracked files of the checkout, and the kernels compiled there."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    compiled = (
        path.relative_to(ROOT) for path in ROOT.glob("engine/**/__pycache__/*") if path.suffix != ".pyc"
    )
    for path in (*map(Path, os.fsdecode(tracked).split("\0")[:-1]), *compiled):
        if (ROOT / path).is_file():  # not deleted meanwhile
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, target / path)


def first_failure(fault: Fault, tests: tuple[str, ...], copy: Path, tier: str) -> str | None:
    """Run those of some tests that are of a tier; return the first that fails, or None if none does.

    Raises
    ------
    ValueError
        The tests cannot be run.
    """
    chosen = _TIERS[tier] + (" and jit_off" if fault.is_in_kernel else "")
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    if fault.is_in_kernel:
        environment["NUMBA_DISABLE_JIT"] = "1"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-m",
        chosen,
    ]
    run = subprocess.run(
        [*command, *tests], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode in (_TESTS_PASSED, _NO_TESTS):
        return None
    failed = _FAILED.search(run.stdout)
    if run.returncode != _TESTS_FAILED or failed is None:
        raise ValueError(
            f"pytest ended with exit code {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
        )
    return failed[1]


def find(fault: Fault, copy: Path, tiers: tuple[str, ...]) -> tuple[str, str]:
    """Plant a fault in the copy; return the tier that finds it, or NOT FOUND, and the first test that fails.

    Raises
    ------
    ValueError
        The fault cannot be planted, its tests cannot be run, or that test fails without the fault, too.
    """
    planted = fault.planted(copy)
    for tier in tiers:
        try:
            (copy / fault.file).write_text(planted, encoding="utf-8")
            test = first_failure(fault, fault.tests, copy, tier)
        finally:
            shutil.copy2(ROOT / fault.file, copy / fault.file)  # with its time: Python compiles it again
        if test is not None:
            if first_failure(fault, (test,), copy, tier) is not None:
                raise ValueError(f"{test} fails without the fault, too")
            return f"{tier} tier", test
    return "NOT FOUND", ""


def main() -> int:
    """Plant the faults that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.planted_faults", description="Plant faults, run their tests."
    )
    parser.add_argument(
        "names", nargs="*", help="texts in the names or files of faults; all faults if none is given"
    )
    parser.add_argument("--tier", choices=("first", "all"), default="all", help="tests to run")
    arguments = parser.parse_args()
    tiers = ("first",) if arguments.tier == "first" else ("first", "second")
    faults = [
        fault
        for fault in listed_faults()
        if not arguments.names or any(name in fault.name or name in fault.file for name in arguments.names)
    ]
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder)
        copy_tree(copy)
        for fault in faults:
            begin = time.monotonic()
            try:
                found, test = find(fault, copy, tiers)
            except ValueError as error:
                found, test = "NOT RUN", str(error)
            sums[found] += 1
            print(f"{found:11} {time.monotonic() - begin:4.0f} s  {fault.name}  {test}", flush=True)
    print(", ".join(f"{found}: {sums[found]}" for found in sorted(sums)) or "no such fault")
    return int(not sums or bool(sums["NOT FOUND"] + sums["NOT RUN"]))


if __name__ == "__main__":
    sys.exit(main())
