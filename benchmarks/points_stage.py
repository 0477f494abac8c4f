"""What follows the draw of homes, step by step: `python -m benchmarks.points_stage [--dataset DIR] [--every K]`.

Takes every K-th batch of a generated nation, with its workers' homes as if they had been drawn, and prints what cutting
block cells, counting `jobs`, drawing points under the test key, and writing both tables cost: processor seconds for all
of the nation, how many of them the system took (memory and files), and bytes a row. One line is the time of the random
bits of all points alone, each block made by itself; a draw makes sixteen together.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks import commands
from engine.streams import SecretKey, Stage, stream_words
from geodata.store.schema import JOBS, POINTS
from geodata.store.store import Store, open_store
from geodata.store.table_stream import TableStream
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.geography import read_geography, read_workplaces
from mapapp.kinds.base.inputs import synthesizers_of
from mapapp.kinds.release.make.batch import DrawnBatch, jobs_of, points_of

_WORKER_WORDS = 6
SMALLEST = ("--millions", "0.01", "--every", "1")


class Spent:
    """Processor seconds by step, and how many of them the system took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.system: dict[str, float] = {}

    @contextmanager
    def on(self, step: str) -> Iterator[None]:
        start, before = time.process_time(), os.times().system
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.process_time() - start
        self.system[step] = self.system.get(step, 0.0) + os.times().system - before


def drawn_batches(store: Store, every: int) -> Iterator[DrawnBatch]:
    workplaces = read_workplaces(store, read_geography(store))
    for batch in range(0, workplaces.n_batches, every):
        first, last = workplaces.row_ptr[batch : batch + 2].tolist()
        destination, segment, ptr, home = synthesizers_of(store.slice("jobs", first, last))
        yield DrawnBatch(
            destination=destination.astype(np.int32),
            segment=segment.astype(np.int8),
            synthetic_ptr=ptr,
            home_block=np.array(home),
        )


def measure(store: Store, every: int, folder: Path) -> None:
    n_blocks, spent, key = store.manifest["files"]["blocks.parquet"]["rows"], Spent(), SecretKey.for_tests()
    used = np.zeros(n_blocks, dtype=np.bool_)
    for part in store.batches("jobs", ["destination_index", "origin_index"]):
        used[part["destination_index"].to_numpy()] = used[part["origin_index"].to_numpy()] = True
    with spent.on("cutting block cells"):
        cells = read_cells(store, used)
    n_workers = 0
    with ThreadPoolExecutor(1) as disk:
        streams = {table.name: TableStream(folder / table.name, table, disk) for table in (JOBS, POINTS)}
        for number, drawn in enumerate(drawn_batches(store, every)):
            if number == 0:  # compiles, too
                points_of(key, drawn, cells)
                jobs_of(drawn)
            n_workers += drawn.home_block.size
            with spent.on("counting `jobs`"):
                jobs = jobs_of(drawn)
            with spent.on("writing `jobs`"):
                streams["jobs"].write(jobs)
            with spent.on("drawing points"):
                points = points_of(key, drawn, cells)
            with spent.on("writing `points`"):
                streams["points"].write(points)
            n_words = np.diff(drawn.synthetic_ptr) * _WORKER_WORDS
            with spent.on("random bits of points, each block by itself"):
                stream_words(key, Stage.POINT, drawn.destination, drawn.segment, n_words)
        for name, stream in streams.items():
            with spent.on(f"writing `{name}`"):
                stream.close()
    total = int(store.table("jobs", ["count"])["count"].sum())
    print(f"{total:,} workers, of which {n_workers:,} were measured; {len(cells.triangle):,} triangles\n")
    print("| step | processor seconds | of these the system |\n|---|---|---|")
    for step, seconds in spent.seconds.items():
        share = 1.0 if step == "cutting block cells" else total / n_workers
        print(f"| {step} | {seconds * share:.1f} | {spent.system[step] * share:.1f} |")
    for name, stream in streams.items():
        print(f"| bytes a row of `{name}` | {(folder / name).stat().st_size / stream.rows:.2f} | |")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--millions", type=float, default=140, help="of workers of the generated nation")
    parser.add_argument("--every", type=int, default=14, help="take one of so many batches")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="commutemap-points-") as name:
        folder = Path(name)
        dataset = chosen.dataset or folder / "nation.dataset"
        if chosen.dataset is None:
            commands.run("benchmarks.nation_data", dataset, "--millions", chosen.millions)
        measure(open_store(dataset, "dataset", verify=False), chosen.every, folder)


if __name__ == "__main__":
    main()
