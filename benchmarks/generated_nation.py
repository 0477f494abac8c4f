"""The generated nation and the streamed tables: `python -m benchmarks.generated_nation [--dataset DIR]`.

Generates a nation (or takes the one at DIR), prints time, peak memory and what is in it, then writes its jobs again as
`jobs` and `points` of a release on one core and prints rows a second and bytes a row. Needs 3 GB of disk.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow

from benchmarks.commands import commutemap
from engine.parameters import SynthesisParameters
from geodata.atomic_writes import writing_beside
from geodata.distance import distance_matrix_mi, distance_mi
from geodata.schema import segment_code
from geodata.store import Store, StoreWriter, open_store

SAMPLED_TRACTS = 500
EVERY_GROUP = 25  # commutes are measured in one of this many row groups
SMALLEST = ("--size", "small")


def what_is_in_it(store: Store) -> None:
    for name in ("states", "counties", "superpumas", "pumas", "tracts", "blocks", "layers", "jobs"):
        print(f"| rows of {name} | {store.manifest['files'][f'{name}.parquet']['rows']:,} |")
    blocks = store.table("blocks", ["lon_deg", "lat_deg"])
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    ptr = store.row_ptr("jobs")
    size, n_synthesizers, away, count = [], 0, [], []
    for group in range(len(ptr) - 1):
        jobs = store.slice("jobs", int(ptr[group]), int(ptr[group + 1]))
        work, home = jobs["destination_index"], jobs["origin_index"]
        age, earnings, industry = (
            np.asarray(jobs[name], np.int64) for name in ("age", "earnings", "industry")
        )
        segment = segment_code(age, earnings, industry)
        n_synthesizers += int(np.count_nonzero(np.diff(work.astype(np.int64) * 27 + segment, prepend=-1)))
        size.append(np.add.reduceat(jobs["count"], np.flatnonzero(np.diff(work, prepend=-1))))
        if group % EVERY_GROUP == 0:
            away.append(distance_mi(lon[work], lat[work], lon[home], lat[home]))
            count.append(jobs["count"])
    workers, miles, weight = np.concatenate(size), np.concatenate(away), np.concatenate(count)
    print(
        f"| destination blocks; with fewer than 10 workers | {workers.size:,}; {(workers < 10).mean():.0%} |"
    )
    print(f"| workers; (destination, segment) pairs | {workers.sum():,}; {n_synthesizers:,} |")
    order = np.argsort(miles)
    running = np.cumsum(weight[order]) / weight.sum()
    quantiles = miles[order][np.searchsorted(running, (0.5, 0.75, 0.9))].round(1).tolist()
    print(f"| commutes, miles: 50%, 75%, 90% | {quantiles} |")
    print(f"| beyond 100 miles | {weight[miles > 100].sum() / weight.sum():.1%} |")
    support_points(store)


def support_points(store: Store) -> None:
    tracts = store.table("tracts", ["lon_deg", "lat_deg", "puma_index", "superpuma_index"])
    lon, lat, puma, superpuma = (tracts[name].to_numpy() for name in tracts)
    n_tracts = len(tracts) - 1
    chosen = np.random.default_rng(0).choice(n_tracts, min(SAMPLED_TRACTS, n_tracts), replace=False)
    published = SynthesisParameters()
    rows = []
    for away in distance_matrix_mi(lon[chosen], lat[chosen], lon, lat):
        near, far = away < published.q50_mi, away >= published.q90_mi
        rows.append((near.sum(), len(set(puma[~near & ~far])), len(set(superpuma[far]))))
    levels = np.array(rows)
    total = levels.sum(axis=1)
    print(f"| support points: least, mean, greatest | {total.min()}, {total.mean():.0f}, {total.max()} |")
    print(f"| by level: tract, PUMA, SuperPUMA (mean) | {levels.mean(axis=0).round().astype(int).tolist()} |")


def points_of(
    jobs: dict[str, Any], place: npt.NDArray[np.float32], rng: np.random.Generator
) -> dict[str, Any]:
    work, home = (np.repeat(jobs[name], jobs["count"]) for name in ("destination_index", "origin_index"))
    segment = np.repeat(segment_code(jobs["age"], jobs["earnings"], jobs["industry"]), jobs["count"])
    columns = {"destination_index": work, "origin_index": home, "segment": segment.astype(np.int8)}
    for name, block in (("home", home), ("work", work)):
        drawn = place[block] + rng.random((block.size, 2), np.float32) * np.float32(0.005)
        columns |= {f"{name}_lon_deg": drawn[:, 0].copy(), f"{name}_lat_deg": drawn[:, 1].copy()}
    return columns


def write_rates(store: Store) -> None:
    """Seconds within `write` and `close` only, synced as they go; rows are made between the calls."""
    pyarrow.set_cpu_count(1)
    blocks = store.table("blocks", ["lon_deg", "lat_deg"])
    place = blocks.to_numpy(np.float32)
    rng = np.random.default_rng(1)
    ptr = store.row_ptr("jobs")
    for name in ("jobs", "points"):
        target = store.path.with_name(f"{store.path.name}.rates")
        with writing_beside(target) as partial, ThreadPoolExecutor(1) as disk:
            seconds = 0.0
            with StoreWriter(partial, "release", disk).stream(name) as stream:
                for group in range(len(ptr) - 1):
                    rows = store.slice("jobs", int(ptr[group]), int(ptr[group + 1]))
                    rows = points_of(rows, place, rng) if name == "points" else rows
                    start = time.perf_counter()
                    stream.write(rows)
                    seconds += time.perf_counter() - start
                start = time.perf_counter()
            seconds += time.perf_counter() - start
            size = (partial.folder / f"{name}.parquet").stat().st_size
        print(
            f"| writing {name} | {stream.rows:,} rows in {seconds:.1f} s: "
            f"{stream.rows / seconds / 1e6:.1f} million a second, {size / stream.rows:.1f} bytes a row |"
        )


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--size", default="nation", help="of the country to generate")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        place = chosen.dataset or Path(folder) / "nation.dataset"
        print("| | |\n|---|---|")
        if chosen.dataset is None:
            done = commutemap("demo", place, "--size", chosen.size)
            print(f"| time, peak memory | {done.wall_s:.1f} s, {done.peak_gib:.2f} GiB |", flush=True)
        store = open_store(place, "dataset")
        print(f"| disk | {sum(file.stat().st_size for file in place.iterdir()) / 1e9:.2f} GB |")
        what_is_in_it(store)
        write_rates(store)


if __name__ == "__main__":
    main()
