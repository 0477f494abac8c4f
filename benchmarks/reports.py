"""How long a report takes, and how large it is: `python -m benchmarks.reports RELEASE [--area …] [--layer …]`.

For each analysis: asking and drawing once, and writing each format, by the clock and of processor time, in one process
that has the release open. Then a batch with one report for every unit of the layer in each format, as a command of its
own, `commutemap report RELEASE --batch …`, everything included. The numbers of docs/reports.md are of Rhode Island:
`python -m benchmarks.reports ri.release --area county:44007 --all state:44 --layer ctycsub`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from benchmarks.commands import commutemap
from mapapp.answers.release import Release, open_releases
from mapapp.question.question import Question
from mapapp.show.reports import FORMS, Part, build, write

ANALYSES = (
    "destinations",
    "profile",
    "comparison",
    "distance-direction",
    "inflow-outflow",
    "job-balance",
    "flow-matrix",
)
SMALLEST = (
    "{release}",
    "--area",
    "county:81011",
    "--all",
    "county:81011",
    "--layer",
    "county",
    "--analyses",
    "profile",
    "--formats",
    "xlsx",
)


def one_by_one(release: Release, area: str, layer: str, analyses: Sequence[str]) -> None:
    print(f"one report, {area}: seconds by the clock (of processor time), kB\n")
    print(f"| analysis | asked, drawn | {' | '.join(FORMS)} |\n|---|---{'|---' * len(FORMS)}|")
    for analysis in analyses:
        others = (area,) if analysis == "flow-matrix" else ()
        question = Question(analysis=analysis, areas=(area,), others=others, layer=layer)
        start, spent = time.perf_counter(), time.process_time()
        report = build([release], [Part(question)])
        cells = [f"{time.perf_counter() - start:.1f} ({time.process_time() - spent:.1f})"]
        for form in FORMS:
            stream = BytesIO()
            start, spent = time.perf_counter(), time.process_time()
            write(report, form, stream)
            took = f"{time.perf_counter() - start:.2f} ({time.process_time() - spent:.2f})"
            cells.append(f"{took}, {len(stream.getvalue()) // 1000:,}")
        print(f"| {analysis} | {' | '.join(cells)} |")


def batches(path: Path, area: str, layer: str, folder: Path, forms: Sequence[str]) -> None:
    print(f"\nevery {layer} of {area}, {os.cpu_count()} processors, start of the program included\n")
    print("| format | reports | seconds | of processor time | MB |\n|---|---|---|---|---|")
    for form in forms:
        file, out = folder / f"{form}.toml", folder / form
        file.write_text(
            f'formats = "{form}"\nlayer = "{layer}"\n\n[[report]]\neach = "{layer}"\narea = "{area}"\n'
        )
        done = commutemap("report", path, "--batch", file, "-o", out)
        files = list(out.glob(f"*.{form}"))
        n_files = len(files) - (form == "html")  # the index is no report
        size = sum(each.stat().st_size for each in files) / 1e6
        print(f"| {form} | {n_files} | {done.wall_s:.1f} | {done.processor_s:.1f} | {size:.1f} |")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--area", default="county:44007", help="of the single reports")
    parser.add_argument("--all", default="state:44", help="of the batch")
    parser.add_argument("--layer", default="ctycsub")
    parser.add_argument("--analyses", nargs="+", choices=ANALYSES, default=ANALYSES)
    parser.add_argument("--formats", nargs="+", choices=FORMS, default=FORMS, help="of the batch")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    (release,) = open_releases([chosen.release]).values()
    build([release], [Part(Question(areas=(chosen.area,), layer=chosen.layer))])  # what is made only once
    one_by_one(release, chosen.area, chosen.layer, chosen.analyses)
    with tempfile.TemporaryDirectory() as folder:
        batches(chosen.release, chosen.all, chosen.layer, Path(folder), chosen.formats)


if __name__ == "__main__":
    main()
