"""Counties on 1 to 64 workers, simulated: `python -m benchmarks.scheduling [--measure DATASET] [--output FILE.png]`.

A nation of 3,143 counties is distributed county by county, or in batches of at most a million workers as the program
cuts them. Each worker takes the next batch of the list when it is free, either in the order of a file or the longest
first. The time of a batch is drawn from measured ones: a straight line in workers and workplace tracts, times the
measured deviation of some county from that line. The number of workers of a county is lognormal, as in the United
States: half of all counties have fewer than about 10,000 workers, and the largest has millions.

`--measure DATASET` measures such times: it certifies, draws, and places some counties of a generated nation on one
thread, and writes them to `benchmarks/county_times.json`. A straggler is one worker at a quarter of the speed. With
copies, a worker that finds the list empty begins again the batch that would end last, and the first copy to end counts.
"""

from __future__ import annotations

import argparse
import heapq
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from engine.streams import PublicSeed, SecretKey
from geodata.store.store import Store, open_store
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.geography import Workplaces
from mapapp.kinds.release.make.batch import (
    SynthesisSource,
    draw_batch,
    jobs_of,
    open_source,
    points_of,
    prepare_batch,
)
from mapapp.kinds.release.make.settings import preset_setting

TIMES: Final = Path(__file__).with_name("county_times.json")
SMALLEST: Final = (
    *("--measure", "{dataset}", "--times", "{folder}/times.json", "--counties", "40"),
    *("--output", "{folder}/scheduling.png"),
)
BLUE, GREY, RED = "#2b6ca3", "#8a8a8a", "#b0413e"
MACHINES: Final = (1, 2, 4, 8, 16, 32, 64)
N_WORKERS: Final = 140_000_000
COUNTIES: Final = 3_143
LARGEST_BATCH: Final = 1_000_000
WORKERS_OF_TRACT: Final = 1_950
SLOWER: Final = 4.0
_SPREAD: Final = 1.7
"""Standard deviation of the logarithm of a county's workers."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountyTimes:
    """Measured counties.

    Attributes
    ----------
    workers, tracts : int64[C]
        Workers and workplace tracts of each county.
    seconds : float64[C]
        Processor seconds of one thread: support points, certification, draws, home blocks, and points.
    """

    workers: Ints
    tracts: Ints
    seconds: Floats

    def line(self) -> Floats:
        """Seconds of a batch as such, of a worker, and of a tract: float64[3], at least 0, least squares of shares."""
        from scipy.optimize import nnls

        terms = (
            np.column_stack((np.ones(self.workers.size), self.workers, self.tracts)) / self.seconds[:, None]
        )
        found, _ = nnls(terms, np.ones(self.seconds.size))
        return np.asarray(found)

    def deviations(self) -> Floats:
        """Measured seconds of each county in units of those of the line."""
        return self.seconds / seconds_on(self.line(), self.workers, self.tracts)


def seconds_on(line: Floats, workers: Ints, tracts: Ints) -> Floats:
    """Seconds of batches by the line."""
    return np.asarray(line[0] + line[1] * workers + line[2] * tracts)


def measured(dataset: Path, most: int) -> CountyTimes:
    """Measure up to `most` counties of a dataset, evenly spaced by their numbers of workers."""
    store, key = open_store(dataset, "dataset"), SecretKey.for_tests()
    source = open_source(store, PublicSeed.for_tests(), *preset_setting("recommended", "gravity"))
    source = replace(source, workplaces=by_county(store, source))
    workplaces = source.workplaces
    cells = read_cells(store, np.ones(source.geography.n_blocks, dtype=np.bool_))
    first, last = workplaces.tract_ptr[:-1], workplaces.tract_ptr[1:]
    workers = np.add.reduceat(workplaces.n_workers, first)
    rank = np.linspace(0, workers.size - 1, min(most, workers.size)).round().astype(np.int64)
    chosen = np.argsort(workers, kind="stable")[np.unique(rank)]
    seconds = []
    for round_of in range(2):  # the first compiles, on the smallest county
        for county in (chosen if round_of else chosen[:1]).tolist():
            start = time.process_time()
            drawn = draw_batch(key, source, county, prepare_batch(source, county))
            jobs_of(drawn)
            points_of(key, drawn, cells)
            seconds.append(time.process_time() - start)
    return CountyTimes(workers=workers[chosen], tracts=(last - first)[chosen], seconds=np.array(seconds[1:]))


def by_county(store: Store, source: SynthesisSource) -> Workplaces:
    """The workplaces of a dataset, with a batch for each county."""
    workplaces, geography = source.workplaces, source.geography
    county = store.table("tracts", ["county_id"])["county_id"].to_numpy()[workplaces.tract]
    cuts = np.append(np.flatnonzero(np.append(True, county[1:] != county[:-1])), county.size)
    rows = np.zeros(geography.tracts.n_tracts, dtype=np.int64)
    for part in store.batches("jobs", ["destination_index"]):
        rows += np.bincount(
            geography.tract_of_block[part["destination_index"].to_numpy()], minlength=rows.size
        )
    before = np.append(0, np.cumsum(rows[workplaces.tract]))
    return replace(workplaces, tract_ptr=cuts, row_ptr=before[cuts])


def read_times(path: Path) -> CountyTimes:
    """Measured times from a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return CountyTimes(
        workers=np.array(found["workers"], dtype=np.int64),
        tracts=np.array(found["tracts"], dtype=np.int64),
        seconds=np.array(found["seconds"]),
    )


def write_times(path: Path, times: CountyTimes) -> None:
    """Write measured times to a file."""
    found = {
        "workers": times.workers.tolist(),
        "tracts": times.tracts.tolist(),
        "seconds": [round(each, 4) for each in times.seconds.tolist()],
    }
    path.write_text(json.dumps(found) + "\n", encoding="utf-8")


def simulated_batches(times: CountyTimes, n_counties: int, largest: int | None, seed: int = 1) -> Floats:
    """Seconds of the batches of a nation, in the order of the file; a county above `largest` workers is cut."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(0, _SPREAD, n_counties)
    workers = np.maximum((size / size.sum() * N_WORKERS * n_counties / COUNTIES).astype(np.int64), 1)
    deviation = rng.choice(times.deviations(), n_counties)
    parts = np.ones(n_counties, dtype=np.int64) if largest is None else -(-workers // largest)
    tracts = np.maximum(workers // WORKERS_OF_TRACT, 1)
    one = seconds_on(times.line(), workers // parts, np.maximum(tracts // parts, 1)) * deviation
    return np.repeat(one, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What became of some batches on some workers.

    Attributes
    ----------
    end : float
        When the last batch was done.
    idle : float
        Share of the workers' time, up to the end, in which they had nothing to do.
    """

    end: float
    idle: float


def list_schedule(
    seconds: Floats, speeds: Sequence[float], *, longest_first: bool, copies: bool = False
) -> Schedule:
    """Give each batch of a list to the worker that is free first.

    Parameters
    ----------
    seconds : float64[B]
        Of each batch on a worker of speed 1.
    speeds : sequence of float
        One for each worker.
    longest_first : bool
        Whether the list is sorted, or in the order given.
    copies : bool
        Whether a worker without a batch begins a copy of the one that would end last, if its copy would end earlier.
    """
    order = np.sort(seconds)[::-1] if longest_first else seconds
    free = [(0.0, worker) for worker in range(len(speeds))]
    heapq.heapify(free)
    ends: list[float] = []
    busy = 0.0
    running: dict[int, tuple[float, float]] = {}  # by worker: seconds and end of its last batch
    for each in order.tolist():
        start, worker = heapq.heappop(free)
        end = start + each / speeds[worker]
        busy += end - start
        running[worker] = each, end
        ends.append(end)
        heapq.heappush(free, (end, worker))
    end = max(ends)
    if copies:
        end, busy = _with_copies(free, running, speeds, busy)
    return Schedule(end=end, idle=max(1 - busy / (end * len(speeds)), 0.0))


def _with_copies(
    free: list[tuple[float, int]],
    running: dict[int, tuple[float, float]],
    speeds: Sequence[float],
    busy: float,
) -> tuple[float, float]:
    """End and busy seconds if workers that are free copy the batch that would end last, one copy each."""
    left = dict(running)
    for start, worker in sorted(free):
        slow = max(left, key=lambda each: left[each][1])
        each, end = left[slow]
        copied = start + each / speeds[worker]
        if slow == worker or copied >= end:
            continue
        left[slow] = each, copied  # the other copy is stopped when this one ends
        busy += copied - start - (end - copied)
    return max(end for _, end in left.values()), busy


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--measure", type=Path, default=None, help="dataset whose counties are measured first"
    )
    parser.add_argument("--most", type=int, default=60, help="counties to measure")
    parser.add_argument("--times", type=Path, default=TIMES, help="file of measured counties")
    parser.add_argument("--counties", type=int, default=COUNTIES, help="to simulate")
    parser.add_argument("--output", type=Path, default=None, help="picture to write (.png or .svg)")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    if chosen.measure is not None:
        write_times(chosen.times, measured(chosen.measure, chosen.most))
    times = read_times(chosen.times)
    batch_s, worker_s, tract_s = times.line().tolist()
    spread = np.percentile(times.deviations(), (10, 90)).tolist()
    print(
        f"{times.workers.size} counties measured: {batch_s * 1e3:.0f} ms a batch, {worker_s * 1e6:.2f} µs a worker, "
        f"{tract_s * 1e3:.1f} ms a tract; times {spread[0]:.2f} to {spread[1]:.2f} (80% of counties)\n"
    )
    lists = {
        "counties": simulated_batches(times, chosen.counties, None),
        "cut at a million": simulated_batches(times, chosen.counties, LARGEST_BATCH),
    }
    for name, seconds in lists.items():
        share = seconds.max() / seconds.sum()
        print(
            f"{name}: {seconds.size:,} batches, {seconds.sum():.0f} s together, the longest {share:.1%} of all"
        )
    show(lists)
    if chosen.output is not None:
        draw(lists, chosen.output)


def show(lists: dict[str, Floats]) -> None:
    """Print the schedules on one worker to many."""
    print("\nEnds are in units of all work shared out evenly.\n")
    print("| workers | batches | order | end | idle | end with a straggler | and copies |")
    print("|---|---|---|---|---|---|---|")
    for machines in MACHINES:
        for name, seconds in lists.items():
            even = seconds.sum() / machines
            for longest_first in (False, True):
                alike = list_schedule(seconds, [1.0] * machines, longest_first=longest_first)
                slow = [1 / SLOWER, *[1.0] * (machines - 1)]
                lame = list_schedule(seconds, slow, longest_first=longest_first)
                copied = list_schedule(seconds, slow, longest_first=longest_first, copies=True)
                print(
                    f"| {machines} | {name} | {'longest first' if longest_first else 'file'} | {alike.end / even:.3f} "
                    f"| {alike.idle:.1%} | {lame.end / even:.3f} | {copied.end / even:.3f} |"
                )


def draw(lists: dict[str, Floats], output: Path) -> None:
    """How many times as fast as one worker, and the idle share, against workers."""
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(MACHINES, MACHINES, color=GREY, linestyle="--", linewidth=1, label="evenly shared")
    styles = {"counties": RED, "cut at a million": BLUE}
    for name, seconds in lists.items():
        for longest_first in (False, True):
            found = [list_schedule(seconds, [1.0] * n, longest_first=longest_first) for n in MACHINES]
            style = {
                "color": styles[name],
                "marker": "o",
                "markersize": 3,
                "linestyle": "-" if longest_first else ":",
            }
            label = f"{name}, {'longest first' if longest_first else 'order of the file'}"
            left.plot(MACHINES, [seconds.sum() / each.end for each in found], label=label, **style)
            right.plot(MACHINES, [100 * each.idle for each in found], **style)
    for panel in (left, right):
        panel.set_xscale("log", base=2)
        panel.set_xticks(MACHINES, [str(each) for each in MACHINES])
        panel.minorticks_off()
        panel.set_xlabel("workers")
    left.set_yscale("log", base=2)
    left.set_yticks(MACHINES, [str(each) for each in MACHINES])
    left.set_ylabel("times as fast as one")
    right.set_ylabel("idle, percent of the workers' time")
    left.legend(frameon=False, fontsize=7)
    figure.savefig(output, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
