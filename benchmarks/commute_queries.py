"""Every query of commutes: `python -m benchmarks.commute_queries RELEASE [--copies 28] [--runs 5]`.

The table has the median processor time of each query of `Flows` about a tract, a county, all blocks of the release, and
everything, and the most memory that its arrays take at once. Nothing is kept from one query to the next. With several
copies, the commutes are those of as many such releases beside each other: 28 copies of the demo state are a nation.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from geodata.store.store import Store, open_store
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.columns import mapped_columns, write_columns
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Blocks, Ints, Pick
from mapapp.answers.commutes.prepared import Prepared, prepare
from mapapp.question.filters import Filters

SMALLEST = ("{release}", "--copies", "2", "--runs", "1")
EDGES_MI: Final = (10.0, 25.0, 50.0)
Query = Callable[[Flows], object]


def make_copies(store: Store, folder: Path, n_copies: int) -> tuple[Prepared, Store]:
    """Commutes of several such releases beside each other, and a store with the number of their blocks."""
    prepared, files = prepare(store), store.manifest["files"]
    if n_copies == 1:
        return prepared, store
    columns, n_blocks = mapped_columns(prepared.by_work, ()), files["blocks.parquet"]["rows"]
    batches = (
        columns | {end: np.add(columns[end], copy * n_blocks, dtype=np.int32) for end in ("work", "home")}
        for copy in range(n_copies)
    )
    made = replace(prepared, by_work=folder / "by_work", by_home=folder / "by_home")
    write_columns(batches, n_copies * columns["work"].size, (), made.by_work, made.by_home)
    blocks = files["blocks.parquet"] | {"rows": n_copies * n_blocks}
    return made, store.add_facts(files=files | {"blocks.parquet": blocks})


def draw_areas(store: Store, n_jobs: Ints) -> Iterator[tuple[str, Blocks | None]]:
    """The tract and the county with most commutes, all blocks of one copy, and everything."""
    blocks = store.table("blocks", ["tract_id", "county_id"])
    for unit in ("tract", "county"):
        number = np.unique(blocks[f"{unit}_id"].astype(str), return_inverse=True)[1]
        largest = np.argmax(np.bincount(number, n_jobs))
        yield unit, np.flatnonzero(number == largest).astype(np.int32)
    yield "one copy", np.arange(len(blocks), dtype=np.int32)
    yield "everything", None


def queries(area: Blocks | None, code: Blocks) -> Iterator[tuple[str, Query]]:
    """Every query of `Flows` about workers of an area."""
    work, home = Pick(work=area), Pick(home=area)
    some = Pick(work=area, filters=Filters(earnings=(3,)))
    n_codes = int(code.max()) + 1
    yield "by_segment", lambda flows: flows.by_segment(work)
    yield "by_segment, filtered", lambda flows: flows.by_segment(some)
    yield "by_segment, home", lambda flows: flows.by_segment(home)
    yield "by_segment_at_ends", lambda flows: flows.by_segment_at_ends(area, Filters())
    yield "of_pair", lambda flows: flows.of_pair(Pick(work=area, home=area), EDGES_MI)
    yield "by_values", lambda flows: flows.by_values(work, ["age", "industry"])
    yield "rows", lambda flows: flows.rows(work, first=100, n=50)
    yield "by_block, own end", lambda flows: flows.by_block(work, "work")
    yield "by_block, other end", lambda flows: flows.by_block(work, "home")
    yield "by_block, other end, filtered", lambda flows: flows.by_block(some, "home")
    yield "by_block_and_segment", lambda flows: flows.by_block_and_segment(work, "work")
    yield "by_code_and_segment", lambda flows: flows.by_code_and_segment(work, "work", code, n_codes)
    if area is not None:
        inside = area
        yield "by_segment_within", lambda flows: flows.by_segment_within(work, "home", inside)
        yield "by_pair", lambda flows: flows.by_pair(work)
    yield "distances", lambda flows: flows.distances(work, "work", EDGES_MI, own_block=False)
    yield "distances, own block", lambda flows: flows.distances(work, "work", EDGES_MI, own_block=True)
    yield (
        "distances, home, filtered",
        lambda flows: flows.distances(replace(home, filters=some.filters), "home", EDGES_MI, own_block=False),
    )
    yield "distances_by_workplace", lambda flows: flows.distances_by_workplace(work, "work", EDGES_MI)
    yield "distance_sums", lambda flows: flows.distance_sums(work, 5.5)
    yield "quantiles_mi", lambda flows: flows.quantiles_mi(work, [0.4, 0.6])
    yield "median_mi", lambda flows: flows.median_mi(work)
    yield "matrix", lambda flows: sum(part[0].size for part in flows.matrix(work, code, code))


def spent_ms(flows: Flows, query: Query) -> float:
    """Processor milliseconds of a query about which nothing is kept."""
    flows._last = None
    flows._of_everywhere.clear()
    start = time.process_time()
    query(flows)
    return 1000 * (time.process_time() - start)


def peak_mib(flows: Flows, query: Query) -> float:
    tracemalloc.start()
    spent_ms(flows, query)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def measure(release: Path, n_copies: int, runs: int, folder: Path) -> None:
    made, store = make_copies(open_store(release, "release"), folder, n_copies)
    flows = Flows(made, store, Attributes())
    county = np.unique(store.table("blocks", ["county_id"])["county_id"].astype(str), return_inverse=True)[1]
    code = np.concatenate([county + copy * (county.max() + 1) for copy in range(n_copies)]).astype(np.int32)
    work = mapped_columns(made.by_work, ())["work"]
    n_jobs: Ints = np.bincount(work[: work.size // n_copies], minlength=county.size)
    print(f"\n{work.size:,} rows of commutes\n\n| query | area | CPU ms | MiB |\n|---|---|---|---|")
    for area_name, area in draw_areas(store, n_jobs):
        for name, query in queries(area, code):
            spent = statistics.median(spent_ms(flows, query) for _ in range(runs))
            print(f"| {name} | {area_name} | {spent:.1f} | {peak_mib(flows, query):.0f} |", flush=True)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("COMMUTEMAP_HOME", folder)
        measure(chosen.release, chosen.copies, chosen.runs, Path(folder))


if __name__ == "__main__":
    main()
