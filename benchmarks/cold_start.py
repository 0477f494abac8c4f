"""Cold and warm starts of the small demo's synthesis: `python -m benchmarks.cold_start [--runs 3]`.

Cold: no kernel is compiled yet. Each cold run has an empty kernel cache, and the warm run after it uses what the cold
one left there.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.commands import commutemap

SMALLEST = ("--runs", "1")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    seconds: dict[str, list[float]] = {"cold": [], "warm": []}
    with tempfile.TemporaryDirectory() as folder:
        demo, release = Path(folder) / "demo.dataset", Path(folder) / "release"
        commutemap("demo", demo, "--size", "small")
        for run in range(chosen.runs):
            cache = {"NUMBA_CACHE_DIR": str(Path(folder) / f"cache{run}")}
            for start in seconds.values():
                start.append(commutemap("synthesize", demo, release, environment=cache).wall_s)
                shutil.rmtree(release)
    print("| synthesize, small demo | median s | range s |\n|---|---|---|")
    for name, walls in seconds.items():
        print(f"| {name} | {statistics.median(walls):.1f} | {min(walls):.1f}–{max(walls):.1f} |")


if __name__ == "__main__":
    main()
