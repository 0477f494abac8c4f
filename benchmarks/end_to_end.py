"""Wall time and peak memory of whole commands: `python -m benchmarks.end_to_end [--data ../shared/data] [--runs 3]`.

Runs `demo`, `import` and `synthesize` as a user does, each in a process of its own, several times, and prints
the median and the range. The first run of `synthesize` may compile the kernels; it is shown apart.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path


def measure(*arguments: object) -> tuple[float, float]:
    """Run `commutemap` once: wall seconds, and peak resident memory in GiB."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "mapapp.cli", *map(str, arguments), "-q"], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"`commutemap {' '.join(map(str, arguments))}` ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 2**20


def repeat(label: str, runs: int, output: Path, *arguments: object) -> None:
    """Measure a command several times, removing what it made between runs, and print a table row."""
    results = []
    for _ in range(runs):
        shutil.rmtree(output, ignore_errors=True)
        results.append(measure(*arguments))
    seconds = [wall for wall, _ in results]
    memory = max(peak for _, peak in results)
    print(
        f"| {label} | {statistics.median(seconds):.1f} | {min(seconds):.1f}–{max(seconds):.1f} | {memory:.2f} |",
        flush=True,
    )


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--runs", type=int, default=3)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        demo, ri = place / "demo.dataset", place / "ri.dataset"
        release = place / "release"
        print("| command | median s | range s | peak GiB |\n|---|---|---|---|")
        repeat("demo --size metro", chosen.runs, demo, "demo", demo, "--size", "metro")
        repeat("synthesize metro, first run", 1, release, "synthesize", demo, release)
        repeat("synthesize metro", chosen.runs, release, "synthesize", demo, release)
        if not chosen.data.is_dir():
            print(f"(Rhode Island left out: no {chosen.data})")
            return
        repeat("import Rhode Island", chosen.runs, ri, "import", ri, "--from", chosen.data)
        repeat("synthesize Rhode Island", chosen.runs, release, "synthesize", ri, release)


if __name__ == "__main__":
    main()
