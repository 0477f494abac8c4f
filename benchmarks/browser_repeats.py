"""Repeat the browser tests beside a load: `python -m benchmarks.browser_repeats [--times 20] [--load 4] [-- PYTEST …]`.

Starts busy loops in processes of their own, at the priority of the tests, runs `pytest tests/browser` as many times as
asked, each time in a fresh process, and counts which tests failed. The loops end with the benchmark, or by themselves
when it has been killed. Exits with 1 if any run failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMALLEST = ("--times", "1", "--load", "1", "--", "tests/test_sharing.py", "-k", "could_not_be_filled")

BUSY_LOOP = """
import os, sys, time
parent, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
while os.getppid() == parent and time.monotonic() < end:
    sum(range(200_000))
"""
MOST_SECONDS = 4 * 3600.0
"""A busy loop ends then even if its benchmark has not."""


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep `n` processes busy until the block ends."""
    command = [sys.executable, "-c", BUSY_LOOP, str(os.getpid()), str(MOST_SECONDS)]
    loops = [subprocess.Popen(command) for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def failures(tests: Sequence[str], log: Path | None) -> tuple[int, list[str]]:
    """Run the tests once: pytest's exit code, and the tests that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if log is not None and done.returncode:
        with log.open("a", encoding="utf-8") as stream:
            stream.write(done.stdout + done.stderr)
    found = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return done.returncode, list(dict.fromkeys(found))


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--load", type=int, default=4, help="number of busy processes")
    parser.add_argument("--log", type=Path, help="append the output of failed runs to this file")
    parser.add_argument("tests", nargs="*", default=["tests/browser"], help="arguments of pytest, after --")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    counted: Counter[str] = Counter()
    n_failed = 0
    print("| run | exit code | failed | seconds |\n|---|---|---|---|")
    with busy(chosen.load):
        for number in range(1, chosen.times + 1):
            start = time.monotonic()
            code, names = failures(chosen.tests, chosen.log)
            counted.update(names)
            n_failed += code != 0
            print(f"| {number} | {code} | {len(names)} | {time.monotonic() - start:.0f} |", flush=True)
    print(f"\n{n_failed} of {chosen.times} runs failed, beside a load of {chosen.load}")
    for name, count in counted.most_common():
        print(f"- {name}: {count} of {chosen.times}")
    if n_failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
