"""A nation end to end: `python -m benchmarks.nation [--dataset DIR] [--threads N]`.

Generates the nation (or takes the one at DIR) and makes releases of it, each in a process of its own: with its 27
segments by either preset, whose radii are not designed; and by Algorithms 1 and 2 with one segment, every
destination's workers in one synthesizer. Prints what each stage costs by the clock, and the peak of memory. Needs 8 GB
of disk. Budget: 120 s and 12 GiB on 2 cores, for coarsening, certification, pruning, drawing and writing.

`--every 20` works on every 20th batch only, in one thread and without writing, and prints the processor time of each
stage, scaled to all batches. Laws of tables are found before.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from benchmarks import commands
from engine.streams import PublicSeed, SecretKey
from geodata.store.schema import TABLES
from geodata.store.store import Store, open_store, write_store
from mapapp.kinds.base.inputs import RowCounts
from mapapp.kinds.release.make.batch import PreparedBatch, SynthesisSource, draw_batch, jobs_of, open_source
from mapapp.kinds.release.make.options import PRESETS, Preset, ReleaseOptions
from mapapp.kinds.release.make.promise import certify_batch
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import parameters_of

STAGES = {
    "reading the dataset": "reading the dataset, fitting the prior",
    "certifying prior weights": "coarsening, prior, certification",
    "drawing synthetic workers": "pruning, drawing, home blocks; writing `jobs`",
    "cutting block cells": "cutting block cells",
    "drawing points": "drawing points; writing `points`",
    "writing the release": "copying public tables, hashes",
}
SMALLEST = ("--millions", "0.01")

Made = TypeVar("Made")


class Timed(Protocol):
    """Runs some work as part of a stage."""

    def __call__(self, stage: str, work: Callable[[], Made], /) -> Made: ...


def in_one_segment(store: Store, path: Path) -> None:
    """The same commutes; age, earnings, and industry forgotten."""
    with write_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            if table.name != "jobs":
                writer.copy_table(store, table.name)
        ptr = store.row_ptr("jobs")
        with writer.stream("jobs") as stream:
            for first, last in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True):
                jobs = store.slice("jobs", first, last)
                commute = jobs["destination_index"].astype(np.int64) << 32 | jobs["origin_index"].astype(
                    np.int64
                )
                commute, of = np.unique(commute, return_inverse=True)
                count = np.bincount(of, jobs["count"]).astype(np.int32)
                one = np.ones(count.size, dtype=np.int8)
                stream.write(
                    {
                        "destination_index": (commute >> 32).astype(np.int32),
                        "origin_index": (commute & 0xFFFFFFFF).astype(np.int32),
                        "age": one,
                        "earnings": one,
                        "industry": one,
                        "count": count,
                    }
                )
        writer.facts(
            **{k: v for k, v in store.manifest.items() if k not in ("schema_version", "kind", "files")}
        )


def synthesize(dataset: Path, release: Path, preset: Preset, threads: int | None) -> None:
    """Make a release under the test key; print the seconds of each stage and the peak as JSON."""
    began = time.perf_counter()
    seconds: dict[str, float] = {}
    running, since = "", began

    def report(stage: str, _done: int, _total: int) -> None:
        nonlocal running, since
        if stage != running:
            at = time.perf_counter()
            seconds[running] = seconds.get(running, 0.0) + at - since
            running, since = stage, at

    privacy, parameters = parameters_of(
        dataset, ReleaseOptions(preset=preset, design="none", prior="gravity")
    )
    outcome = run_synthesis(
        dataset,
        release,
        privacy,
        parameters,
        test_key=True,
        workers=threads,
        report=report,
    )
    report("", 0, 0)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": {name: spent for name, spent in seconds.items() if name},
                "wall": time.perf_counter() - began,
                "cpu": usage.ru_utime + usage.ru_stime,
                "peak_gib": usage.ru_maxrss / 2**20,
                "synthesizers": outcome.sizes.n_synthesizers,
                "workers": outcome.sizes.n_workers,
                "n_support": outcome.sizes.n_support,
            }
        )
    )


def sample(dataset: Path, preset: Preset, every: int) -> dict[str, float]:
    """Processor seconds of each stage of all batches, from every few of them."""
    privacy, parameters = parameters_of(
        dataset, ReleaseOptions(preset=preset, design="none", prior="gravity")
    )
    began = time.process_time()
    store = open_store(dataset, "dataset", verify=False)
    source = open_source(store, PublicSeed.for_tests(), privacy, parameters, listed=True)
    reading = time.process_time() - began
    numbers = range(0, source.workplaces.n_batches, every)
    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[[], Made], /) -> Made:
        began = time.process_time()
        made = work()
        seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - began
        return made

    for _ in range(2):  # the first time loads kernels and finds the laws of tables
        seconds.clear()
        for number in numbers:
            _sample_batch(source, number, timed)
    first = {"reading geography and workplaces, fitting the prior": reading}
    return first | {
        stage: spent * source.workplaces.n_batches / len(numbers) for stage, spent in seconds.items()
    }


def _sample_batch(source: SynthesisSource, number: int, timed: Timed) -> None:
    privacy, parameters = source.privacy, source.parameters
    counts = timed("listed workplaces of the batch", lambda: source.counts(number))
    support = timed("support points, prior", lambda: source.support(counts.destination_tract))
    certified = timed("certification", lambda: certify_batch(counts, support, privacy, parameters))
    prepared = PreparedBatch(support=support, certified=certified, counts=RowCounts.of(counts))
    drawn = timed(
        "reading homes, drawing, home blocks",
        lambda: draw_batch(SecretKey.for_tests(), source, number, prepared),
    )
    timed("rows of `jobs`", lambda: jobs_of(drawn))


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path, default=None)
    parser.add_argument("--millions", type=float, default=140, help="of workers of the generated nation")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--every", type=int, default=None, help="work on every few batches only")
    parser.add_argument("--release", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--preset", choices=tuple(PRESETS), default="onthemap-v3", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.release is not None:
        synthesize(chosen.dataset, chosen.release, chosen.preset, chosen.threads)
        return
    with tempfile.TemporaryDirectory(prefix="commutemap-nation-") as name:
        place = Path(name)
        dataset = chosen.dataset or place / "nation.dataset"
        if chosen.dataset is None:
            made = commands.run("benchmarks.nation_data", dataset, "--millions", chosen.millions)
            print(f"generating the country: {made.wall_s:.1f} s, {made.peak_gib:.1f} GiB\n", flush=True)
        if chosen.every is not None:
            for preset in PRESETS:
                print(f"\n27 segments, {preset}, processor time\n\n| stage | seconds |\n|---|---|")
                for stage, spent in sample(dataset, preset, chosen.every).items():
                    print(f"| {stage} | {spent:.1f} |", flush=True)
            return
        in_one_segment(open_store(dataset, "dataset", verify=False), place / "merged.dataset")
        runs = [(f"27 segments, {preset}", dataset, preset) for preset in PRESETS]
        for title, path, preset in (
            *runs,
            ("one segment, onthemap-v3", place / "merged.dataset", "onthemap-v3"),
        ):
            threads = ("--threads", chosen.threads) if chosen.threads else ()
            where = ("--dataset", path, "--release", place / "release", "--preset", preset)
            done = commands.run("benchmarks.nation", *where, *threads)
            print_table(title, json.loads(done.output))
            shutil.rmtree(place / "release")


def print_table(title: str, found: dict[str, float | dict[str, float] | list[float]]) -> None:
    """What one run cost."""
    seconds = found["seconds"]
    assert isinstance(seconds, dict)
    print(f"\n{title}: {found['synthesizers']:,} synthesizers, {found['workers']:,} workers\n")
    print("| stage | seconds |\n|---|---|")
    for stage, spent in seconds.items():
        print(f"| {STAGES.get(stage, stage)} | {spent:.1f} |")
    print(f"| all, by the clock | {found['wall']:.1f} |")
    print(f"| all, of both cores | {found['cpu']:.1f} |")
    print(f"| peak memory, GiB | {found['peak_gib']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
