"""Wall time and peak memory of whole commands: `python -m benchmarks.end_to_end [--data ../shared/data] [--runs 3]`.

Runs `demo`, `import` and `synthesize` with either preset as a user does, each in its own process, several times. It
prints the median and the range. The first run of `synthesize` may compile the kernels; it is shown apart.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import rhode_island
from benchmarks.commands import commutemap
from mapapp.kinds.release.make.options import PRESETS

SMALLEST = ("--size", "small", "--runs", "1", "--data", "{data}")


def repeat(label: str, runs: int, output: Path, *arguments: object) -> None:
    """Measure a command several times, removing what it made between runs, and print a table row."""
    results = []
    for _ in range(runs):
        shutil.rmtree(output, ignore_errors=True)
        results.append(commutemap(*arguments))
    seconds = [one.wall_s for one in results]
    memory = max(one.peak_gib for one in results)
    print(
        f"| {label} | {statistics.median(seconds):.1f} | {min(seconds):.1f}–{max(seconds):.1f} | {memory:.2f} |",
        flush=True,
    )


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_data_option(parser)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", default="metro", help="of the demo country")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        demo, ri = place / "demo.dataset", place / "ri.dataset"
        release = place / "release"
        print("| command | median s | range s | peak GiB |\n|---|---|---|---|")
        size = chosen.size
        repeat(f"demo --size {size}", chosen.runs, demo, "demo", demo, "--size", size)
        repeat(f"synthesize {size}, first run", 1, release, "synthesize", demo, release)
        for preset in PRESETS:
            command = ("synthesize", demo, release, "--preset", preset)
            repeat(f"synthesize {size}, {preset}", chosen.runs, release, *command)
        if not chosen.data.is_dir():
            print(f"(Rhode Island left out: no {chosen.data})")
            return
        repeat("import Rhode Island", chosen.runs, ri, "import", ri, "--from", chosen.data)
        for preset in PRESETS:
            command = ("synthesize", ri, release, "--preset", preset)
            repeat(f"synthesize Rhode Island, {preset}", chosen.runs, release, *command)


if __name__ == "__main__":
    main()
