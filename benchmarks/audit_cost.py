"""What an audit costs against workers: `python -m benchmarks.audit_cost [--dataset DIR] [--output FILE.png]`.

Audits growing samples of the workplace tracts of a dataset (by default the small demo), all questions, without other
schemes. The setting is drawn in memory, which is part of the time. Seconds are processor time of one run, after one on
the smallest sample that compiles and caches; peak memory is that of the process so far.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.commands import commutemap
from mapapp.analyst.audit.audited import audited_setting
from mapapp.analyst.audit.questions import QUESTIONS
from mapapp.analyst.audit.run import audited_workers
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.kinds.release.make.options import PRESETS, Preset
from mapapp.kinds.release.make.settings import preset_setting

BLUE, GREY = "#2b6ca3", "#8a8a8a"
PARTS = (8, 4, 2, 1)
SMALLEST = ("--output", "{folder}/audit-cost.png")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path, default=None, help="dataset to audit")
    parser.add_argument("--preset", choices=tuple(PRESETS), default="onthemap-v3")
    parser.add_argument("--output", type=Path, default=None, help="picture to write (.png or .svg)")
    return parser


def measure(dataset: Path, preset: Preset) -> list[tuple[int, float]]:
    """Print a row for each sample; return workers and seconds."""
    data = AnalystData.open(dataset)
    setting = audited_setting(data, preset, *preset_setting(preset, "gravity"))
    samples = [data.sample(max(data.tract.size // part, 1)) for part in PARTS]
    audited_workers(data, setting, QUESTIONS, tracts=samples[0])
    print("| workers | processor seconds | µs per worker | peak MiB |\n|---|---|---|---|")
    points = []
    for sample in samples:
        start = time.process_time()
        found = audited_workers(data, setting, QUESTIONS, tracts=sample)
        spent, n = time.process_time() - start, found.n_workers
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {n:,} | {spent:.2f} | {spent / n * 1e6:.1f} | {peak:,.0f} |", flush=True)
        points.append((n, spent))
    return points


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.dataset is not None:
        points = measure(chosen.dataset, chosen.preset)
    else:
        with tempfile.TemporaryDirectory() as folder:
            commutemap("demo", Path(folder, "demo.dataset"), "-q")
            points = measure(Path(folder, "demo.dataset"), chosen.preset)
    if chosen.output is not None:
        _draw(points, chosen.output)


def _draw(points: list[tuple[int, float]], output: Path) -> None:
    """Seconds against workers, beside the straight line through the last point."""
    workers, spent = zip(*points, strict=True)
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    panel = figure.subplots()
    line = [spent[-1] * n / workers[-1] for n in workers]
    panel.loglog(workers, line, color=GREY, linestyle="--", linewidth=1, label="in proportion to workers")
    panel.loglog(workers, spent, color=BLUE, marker="o", label="measured")
    panel.set_xticks(workers, [f"{n:,}" for n in workers], fontsize=8)
    panel.minorticks_off()
    panel.set_ylim(min(*spent, *line) / 2, max(*spent, *line) * 2)
    panel.set_xlabel("workers")
    panel.set_ylabel("processor seconds")
    panel.legend(frameon=False, fontsize=8)
    figure.savefig(output, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
