"""Time and memory against size: `python -m benchmarks.growth [--sizes 0.5 2 8] [--stages audit] [--scratch DIR]`.

Generates a country of each size, in millions of workers, from a state like Rhode Island to a nation, each a part of
the nation of `benchmarks.nation_data`. Runs `import`, `synthesize`, `certify`, and `audit` on it, each in a process
of its own, and asks a release a few dozen questions. Processor time and peak memory of each are added to a JSON file as
soon as they are measured. What is in the file is not measured again, so a run that was stopped goes on. What would need
more memory than the machine has, by the growth so far, is left out and named.

Pictures with the fitted exponents are drawn from the file, those of all stages in it:

    python -m benchmarks.growth --sizes 0.5 2 8
    python -m benchmarks.growth --scratch /large/disk
    python -m benchmarks.growth --sizes --pictures growth-pictures
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks import commands
from benchmarks.analyses import asks, draw_areas
from benchmarks.census_files import write_census_files
from benchmarks.nation_data import write_nation
from commutemap import Filters, open_release
from geodata.store.store import open_store

BLUE, GREY = "#2b6ca3", "#8a8a8a"
SIZES: Final = (0.5, 2.0, 8.0, 34.0, 140.0)
STAGES: Final = ("import", "synthesize", "certify", "audit", "analyses")
RESULTS: Final = Path(__file__).with_name("growth.json")
SMALLEST: Final = (
    *("--sizes", "0.01", "--areas", "2", "--results", "{folder}/growth.json"),
    *("--scratch", "{folder}", "--pictures", "{folder}"),
)
_KEPT_FREE_GIB: Final = 1.0

Results = dict[str, dict[str, dict[str, float]]]
"""By stage and size in millions of workers: processor seconds, peak GiB, and what else is measured of a stage."""


class Growth(NamedTuple):
    """Exponents of a number against workers: fitted over all sizes, and from the last size but one to the last."""

    of_all: float
    at_the_end: float


def measure_size(
    millions: float, stages: Sequence[str], results: Results, chosen: argparse.Namespace
) -> None:
    """Measure the stages that the results lack for one size, and write each to the file."""
    size = f"{millions:g}"
    missing = [stage for stage in stages if size not in results.get(stage, {})]
    missing = [stage for stage in missing if has_room(stage, millions, results)]
    if not missing:
        return
    with tempfile.TemporaryDirectory(dir=chosen.scratch, prefix="growth-") as name:
        place = Path(name)
        dataset, release = place / "country.dataset", place / "country.release"
        say(f"{size} million workers: generating the country")
        # In a process of its own: the peak of a command counts what its parent held when it was started.
        files = ("--files", place / "files") if "import" in missing else ()
        commands.run("benchmarks.growth", "--generate", dataset, "--sizes", millions, *files)
        if "import" in missing:
            record(
                "import",
                size,
                run("import", place / "again.dataset", "--from", place / "files"),
                results,
                chosen,
            )
        if set(missing) - {"import"}:
            done = run("synthesize", dataset, release, "--design", "none", "--test-key")
            record("synthesize", size, done, results, chosen)
        if "certify" in missing:
            record("certify", size, run("certify", release), results, chosen)
        if "audit" in missing:
            record("audit", size, run("audit", dataset, release, "--question", "all"), results, chosen)
        if "analyses" in missing:
            record("analyses", size, ask_release(release, chosen.areas), results, chosen)


def generate(path: Path, millions: float, files: Path | None) -> None:
    """Write a country, and the files that an import reads, if wanted."""
    write_nation(path, millions=millions)
    if files is not None:
        write_census_files(open_store(path, "dataset"), files)


def run(*arguments: object) -> dict[str, float]:
    """Processor seconds and peak GiB of a command."""
    say(f"  {arguments[0]}")
    done = commands.run("mapapp.commands.cli", *arguments)
    return {"processor_s": round(done.processor_s, 2), "peak_gib": round(done.peak_gib, 3)}


def ask_release(release: Path, n_areas: int) -> dict[str, float]:
    """Processor seconds of a question, the median; of preparing the release; and the peak of all that."""
    say("  analyses")
    done = commands.run("benchmarks.growth", "--ask", release, "--areas", n_areas)
    found: dict[str, float] = json.loads(done.output.splitlines()[-1])
    return found | {"peak_gib": round(done.peak_gib, 3)}


def asked(path: Path, n_areas: int) -> dict[str, float]:
    """What `--ask` prints: seconds of the processor, for all questions about some areas."""
    start = time.process_time()
    release = open_release(path)
    release.warm(list(release.areas.columns))
    prepared = time.process_time() - start
    areas = draw_areas(release, n_areas)
    seconds = []
    for _, ask in asks(release, ["county"]):
        for area in areas:
            release.areas.forget()
            start = time.process_time()
            ask(area, Filters())
            seconds.append(time.process_time() - start)
    return {
        "processor_s": round(float(np.median(seconds)), 4),
        "p95_processor_s": round(float(np.percentile(seconds, 95)), 4),
        "prepare_processor_s": round(prepared, 2),
    }


def record(
    stage: str, size: str, found: dict[str, float], results: Results, chosen: argparse.Namespace
) -> None:
    """Add what was measured to the file."""
    results.setdefault(stage, {})[size] = found
    partial = chosen.results.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    partial.replace(chosen.results)


def has_room(stage: str, millions: float, results: Results) -> bool:
    """Whether the machine has the memory that a stage will need, by a straight line through the two largest sizes."""
    known = sorted((float(size), found["peak_gib"]) for size, found in results.get(stage, {}).items())
    if len(known) < 2:
        return True
    (size, peak), (larger_size, larger_peak) = known[-2:]
    needed = larger_peak + (larger_peak - peak) / (larger_size - size) * (millions - larger_size)
    if needed <= memory_gib() - _KEPT_FREE_GIB:
        return True
    say(f"{stage} of {millions:g} million left out: it would need about {needed:.0f} GiB of memory")
    return False


def memory_gib() -> float:
    """Memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def say(text: str) -> None:
    """Progress, beside the table."""
    print(text, file=sys.stderr, flush=True)


def growth_of(results: Results, stage: str, number: str) -> Growth | None:
    """Exponents of a number of a stage; None with fewer than two sizes."""
    points = points_of(results, stage, number)
    if len(points) < 2:
        return None
    size, value = np.log(np.array(points)).T
    slope, _ = np.polyfit(size, value, 1)
    return Growth(float(slope), float((value[-1] - value[-2]) / (size[-1] - size[-2])))


def points_of(results: Results, stage: str, number: str) -> list[tuple[float, float]]:
    """Sizes in millions of workers and one number of a stage, ascending."""
    return sorted(
        (float(size), found[number]) for size, found in results.get(stage, {}).items() if found[number] > 0
    )


def show(results: Results) -> None:
    """Print all results, and the exponents."""
    print("| stage | million workers | processor s | peak GiB |\n|---|---|---|---|")
    for stage in STAGES:
        for size, found in sorted(results.get(stage, {}).items(), key=lambda each: float(each[0])):
            print(f"| {stage} | {size} | {found['processor_s']:.4g} | {found['peak_gib']:.2f} |")
    print("\n| stage | exponent of time: all sizes | last step | of memory: all sizes | last step |")
    print("|---|---|---|---|---|")
    for stage in STAGES:
        cells = []
        for number in ("processor_s", "peak_gib"):
            growth = growth_of(results, stage, number)
            cells += ["–", "–"] if growth is None else [f"{each:.2f}" for each in growth]
        print(f"| {stage} | {' | '.join(cells)} |")


def draw(results: Results, stage: str, output: Path) -> None:
    """Time and memory of one stage, each with the line of the fitted exponent."""
    figure = Figure(figsize=(7.6, 3.2), layout="constrained")
    time_name = "processor seconds of a question" if stage == "analyses" else "processor seconds"
    names = {"processor_s": time_name, "peak_gib": "peak memory, GiB"}
    for panel, (number, name) in zip(figure.subplots(1, 2), names.items(), strict=True):
        points = points_of(results, stage, number)
        growth = growth_of(results, stage, number)
        size, value = np.array(points or [(1.0, 1.0)]).T
        if growth is not None:
            slope, level = np.polyfit(np.log(size), np.log(value), 1)
            line = np.exp(level + slope * np.log(size))
            panel.plot(size, line, color=GREY, linestyle="--", linewidth=1)
            panel.set_title(f"grows as workers to the {growth.of_all:.2f}", fontsize=9)
        if points:
            panel.plot(size, value, color=BLUE, marker="o", linestyle="none")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks(size, [f"{each:g}" for each in size], fontsize=8)
        panel.minorticks_off()
        panel.set_ylim(value.min() / 2, value.max() * 2)
        panel.set_xlabel("million workers")
        panel.set_ylabel(name)
    figure.suptitle(stage, fontsize=10)
    figure.savefig(output, dpi=100, metadata={"Software": None})


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES, help="in millions of workers")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON file to add to")
    parser.add_argument("--scratch", type=Path, default=None, help="folder for datasets and releases")
    parser.add_argument("--pictures", type=Path, default=None, help="folder of growth-STAGE.png")
    parser.add_argument("--areas", type=int, default=6, help="that each analysis is asked about")
    for hidden in ("--ask", "--generate", "--files"):
        parser.add_argument(hidden, type=Path, default=None, help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.ask is not None:
        print(json.dumps(asked(chosen.ask, chosen.areas)))
        return
    if chosen.generate is not None:
        generate(chosen.generate, chosen.sizes[0], chosen.files)
        return
    results: Results = (
        json.loads(chosen.results.read_text(encoding="utf-8")) if chosen.results.exists() else {}
    )
    with tempfile.TemporaryDirectory(dir=chosen.scratch) as home:
        os.environ.setdefault("COMMUTEMAP_HOME", home)
        for millions in sorted(chosen.sizes):
            measure_size(millions, chosen.stages, results, chosen)
    show(results)
    if chosen.pictures is not None:
        for stage in (stage for stage in STAGES if stage in results):
            draw(results, stage, chosen.pictures / f"growth-{stage}.png")


if __name__ == "__main__":
    main()
