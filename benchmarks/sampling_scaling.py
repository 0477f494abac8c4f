"""How sampling scales: `python -m benchmarks.sampling_scaling [--output FILE.png]`.

Work is linear in workers and kept points. Four sweeps change one size each and keep the others: workers per
destination, destinations, support points, threads. Seconds are the least of several runs, one after the other in one
process, the whole call of the engine with its checks. The retention of the third sweep falls as support points rise, so
that 25 are kept: what is left to see is what a support point costs that is not kept.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.sampling import by_engine, make_inputs

BLUE, GREY = "#2b6ca3", "#8a8a8a"
SMALLEST = ("--destinations", "100", "--runs", "1", "--output", "{folder}/scaling.png")


def seconds(runs: int, threads: int = 1, **sizes: Any) -> tuple[float, int]:
    """Least seconds of a sampling call, and how many workers it drew."""
    shape: dict[str, Any] = {
        "mean": 100.0,
        "n_support": 1000,
        "per_tract": 19,
        "retention": 0.025,
        "alpha": 0.1,
    }
    synthesizers, table = make_inputs(**(shape | sizes))
    by_engine(synthesizers, table, threads)
    tries = []
    for _ in range(runs):
        start = time.perf_counter()
        by_engine(synthesizers, table, threads)
        tries.append(time.perf_counter() - start)
    return min(tries), int(synthesizers.worker_point.size)


def sweep(name: str, unit: str, rows: Iterable[tuple[float, float, str]]) -> list[tuple[float, float]]:
    """Print one sweep as a table; return its points."""
    print(f"\n| {name} | seconds | {unit} |\n|---|---|---|")
    points = []
    for value, spent, rate in rows:
        print(f"| {value:,g} | {spent:.3f} | {rate} |", flush=True)
        points.append((value, spent))
    return points


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=None, help="picture to write (.png or .svg)")
    parser.add_argument("--destinations", type=int, default=20_000, help="where another size changes")
    parser.add_argument("--runs", type=int, default=5)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    n_cores, runs, n = os.cpu_count() or 1, chosen.runs, chosen.destinations
    sweeps = {
        f"workers per destination ({n:,} destinations)": sweep(
            "workers per destination",
            "ns per worker",
            (
                (mean, spent, f"{spent / n_workers * 1e9:.0f}")
                for mean in (3.0, 10.0, 30.0, 100.0, 300.0)
                for spent, n_workers in [seconds(runs, n_synthesizers=n, mean=mean)]
            ),
        ),
        "destinations (100 workers each)": sweep(
            "destinations",
            "µs per destination",
            (
                (count, spent, f"{spent / count * 1e6:.2f}")
                for count in (n // 10, 2 * n // 5, 8 * n // 5, 32 * n // 5)
                for spent, _ in [seconds(runs, n_synthesizers=count)]
            ),
        ),
        "support points (25 kept of each)": sweep(
            "support points",
            "µs per destination",
            (
                (k, spent, f"{spent / n * 1e6:.2f}")
                for k in (125, 500, 2_000, 8_000)
                for spent, _ in [seconds(runs, n_synthesizers=n, n_support=k, retention=25 / k)]
            ),
        ),
        f"threads ({n_cores} cores)": sweep(
            "threads",
            "times as fast as one",
            _with_threads(sorted({1, 2, n_cores, 2 * n_cores}), runs, 16 * n // 5),
        ),
    }
    if chosen.output is not None:
        _draw(sweeps, chosen.output)


def _with_threads(counts: list[int], runs: int, n_destinations: int) -> Iterable[tuple[float, float, str]]:
    alone = 0.0
    for threads in counts:
        spent, _ = seconds(runs, threads, n_synthesizers=n_destinations)
        alone = alone or spent
        yield threads, spent, f"{alone / spent:.2f}"


def _draw(sweeps: dict[str, list[tuple[float, float]]], output: Path) -> None:
    """One panel a sweep, measured beside the straight line through the first and the last point."""
    figure = Figure(figsize=(12, 3), layout="constrained")
    panels = figure.subplots(1, 4)
    for panel, (name, points) in zip(panels, sweeps.items(), strict=True):
        x, y = zip(*points, strict=True)
        if name.startswith("threads"):
            line = [y[0] / min(value, os.cpu_count() or 1) for value in x]
        else:
            slope = (y[-1] - y[0]) / (x[-1] - x[0])
            line = [y[0] + slope * (value - x[0]) for value in x]
        panel.loglog(
            x, line, color=GREY, linestyle="--", linewidth=1, label="straight line, or one thread shared out"
        )
        panel.loglog(x, y, color=BLUE, marker="o", label="measured")
        panel.set_xticks(x, [f"{value:,g}" for value in x], fontsize=8)
        panel.minorticks_off()
        panel.set_ylim(min(*y, *line) / 2, max(*y, *line) * 2)
        panel.set_xlabel(name, fontsize=8)
    panels[0].set_ylabel("seconds")
    panels[0].legend(frameon=False, fontsize=7)
    figure.savefig(output, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
