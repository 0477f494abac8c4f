"""How long every analysis takes: `python -m benchmarks.analyses [RELEASE …] [--areas 60] [--data ../shared/data]`.

Without a release: Rhode Island, where its files are, and a generated region of 5 million workers, both made first under
the test key (some minutes). Areas are drawn with a fixed seed: units of every layer, circles and rings around places
where people work, combinations, whole states and everything. Each analysis is asked about each area once, with the
area's blocks found anew; the table has the
median, the 95th percentile and the slowest, by the clock and of processor time, which other work on the machine
hardly touches; and the growth of memory.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rhode_island
from benchmarks.nation_data import write_nation
from commutemap import Filters, Release, open_release

SMALLEST = ("{release}", "--areas", "2")


def make_region(folder: Path) -> Path:
    write_nation(folder / "region.dataset", millions=5)
    return rhode_island.synthesize(folder / "region.dataset")


def draw_areas(release: Release, count: int) -> list[str]:
    """Texts of areas, most of them where workplaces are."""
    rng = np.random.default_rng(5)
    works = release.comparison(layer="block").units
    works = works[works["workers"] > 0]
    blocks = release.store.table("blocks").set_index("block_id")
    layers = [layer for layer in release.areas.columns if layer != "superpuma"]
    found = ["all"]
    for place in range(count - 1):
        block = blocks.loc[works["unit_id"].iloc[int(rng.integers(len(works)))]]
        layer = layers[place % len(layers)]
        unit_id = block[release.areas.columns[layer]]
        unit = f"{layer}:{unit_id}" if unit_id else f"county:{block['county_id']}"
        circle = f"circle:{block['lon_deg']:.4f},{block['lat_deg']:.4f},{rng.choice([1, 5, 10, 25, 50])}"
        ring = f"ring:{block['lon_deg']:.4f},{block['lat_deg']:.4f},5,{rng.choice([10, 20, 40])}"
        found.append([unit, unit, circle, ring, f"{unit} -{circle}", f"{unit} +{circle}"][place % 6])
    return list(dict.fromkeys(found))


def asks(release: Release, layers: list[str]) -> Iterator[tuple[str, Callable[[str, Filters], Any]]]:
    """Every analysis by name, of one area."""
    for side in ("work", "home"):
        yield f"profile, {side}", partial(release.profile, side=side)
        yield (
            f"distance and direction, {side}",
            partial(release.distance_direction, side=side),
        )
        for layer in layers:
            yield (
                f"comparison by {layer}, {side}",
                partial(release.comparison, side=side, layer=layer),
            )
            yield (
                f"destinations by {layer}, {side}",
                partial(release.destinations, side=side, layer=layer),
            )
    yield "inflow and outflow", release.inflow_outflow
    yield "paired areas", lambda area, kept: release.paired(area, other_area(area), kept)
    yield "flow matrix, county × county", lambda area, kept: release.flow_matrix(filters=kept, work_area=area)


def other_area(area: str) -> str:
    return "all" if area == "all" else f"-{area.split(' ')[0]}"


def measure(release: Release, areas: list[str]) -> None:
    rng = np.random.default_rng(6)
    kept = [Filters(), Filters(age=(1,)), Filters(earnings=(3,), industry=(1, 2))]
    everything: list[tuple[float, float]] = []
    for name, ask in asks(release, ["county", "tract"]):
        seconds = []
        for area in areas:
            release.areas.forget()
            filters = kept[int(rng.integers(len(kept)))]
            seconds.append(timed(partial(ask, area, filters)))
        everything += seconds
        show(name, seconds)
    show("**all of them**", everything)

    def with_errors(area: str) -> object:
        return release.with_errors(release.inflow_outflow(area), 0)

    seconds = [timed(partial(with_errors, area)) for area in areas]
    show("inflow and outflow, with the expected errors of its numbers", seconds)
    seconds = [timed(lambda: release.flow_matrix("county", "county")) for _ in range(5)]
    show("flow matrix of everything, county × county", seconds)
    show(
        "flow matrix of everything, tract × tract in parts",
        [timed(lambda: sum(map(len, release.flow_matrix_parts("tract", "tract"))))],
    )


def timed(ask: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds; on an idle machine the first is at most the second."""
    start, used = time.perf_counter(), time.process_time()
    ask()
    return time.perf_counter() - start, time.process_time() - used


def show(name: str, seconds: list[tuple[float, float]]) -> None:
    wall, used = zip(*seconds, strict=True)
    columns = [1000 * np.percentile(values, share) for values, share in ((wall, 50), (wall, 95), (wall, 100))]
    columns += [1000 * np.percentile(used, share) for share in (50, 95)]
    print(f"| {name} | {' | '.join(f'{value:.0f}' for value in columns)} |", flush=True)


def memory_mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", type=Path, nargs="*")
    parser.add_argument("--areas", type=int, default=60)
    rhode_island.add_data_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("COMMUTEMAP_HOME", folder)
        paths = chosen.releases
        if not paths:
            made = [rhode_island.make_release(Path(folder), chosen.data)] if chosen.data.is_dir() else []
            paths = [*made, make_region(Path(folder))]
        for path in paths:
            start = time.perf_counter()
            release = open_release(path)
            opened = time.perf_counter() - start
            workers = release.profile().workers.value
            areas = draw_areas(release, chosen.areas)
            release.warm(list(release.areas.columns))  # as a server does before its first visitor
            before = memory_mib()
            print(f"\n{release.title}: {workers:,} workers, {len(areas)} areas; opened in {opened:.1f} s\n")
            print("| analysis | median ms | p95 ms | slowest ms | CPU: median ms | p95 ms |")
            print("|---|---|---|---|---|---|")
            measure(release, areas)
            print(f"\nMemory {before:.0f} MiB before, {memory_mib():.0f} MiB after.")


if __name__ == "__main__":
    main()
