"""How well expected errors cover, on Rhode Island: `python -m benchmarks.expected_error [--data DIR]`.

A release under the test key with the default setting. Counts between two tracts, between a workplace tract and a
county, between two counties, and of a home tract at all workplaces; up to 300 of each size, evenly spaced, by the count
read.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from benchmarks import rhode_island
from benchmarks.commands import commutemap
from geodata.store.store import Store, open_store
from mapapp.answers.errors.expected_error import ExpectedErrors

MOST = 300
COLUMNS = ["lon_deg", "lat_deg", "puma_index", "superpuma_index", "population", "county_id", "elsewhere"]
KINDS = (
    ("tract to tract", "work", "home", (0, 1, 3, 10, 50, 100)),
    ("tract to county", "work", "home_county", (1, 10, 50, 500)),
    ("county to county", "work_county", "home_county", (1, 100, 1000)),
    ("home tract, all workplaces", "everywhere", "home", (1, 50, 500)),
)
SMALLEST = ("--dataset", "{dataset}")


def read_jobs(store: Store, county: Any) -> pandas.DataFrame:
    """Jobs with the tract and county of both ends, and all workplaces as one."""
    jobs: pandas.DataFrame = store.table("jobs")
    tract_of_block = store.table("blocks", ["tract_index"])["tract_index"].to_numpy()
    for end, column in (("work", "destination_index"), ("home", "origin_index")):
        jobs[end] = tract_of_block[jobs[column]]
        jobs[f"{end}_county"] = county[jobs[end]]
    return jobs.assign(everywhere=0)


def counts_of(
    jobs: dict[str, pandas.DataFrame], work: str, home: str, inside: Any
) -> Iterator[tuple[Any, Any, int, int, dict[int, int]]]:
    """Every count of a kind: its areas, what is read, what is true, and what is read by workplace tract."""
    table = pandas.DataFrame({who: part.groupby([work, home])["count"].sum() for who, part in jobs.items()})
    if work == "work" and home == "home":
        every = pandas.MultiIndex.from_product([np.unique(jobs["real"]["work"]), np.flatnonzero(inside)])
        table = table.reindex(every)
    by_tract = jobs["drawn"].groupby([work, home, "work"])["count"].sum()
    known = dict(iter(by_tract.groupby(level=[0, 1])))
    for key, read, true in table.fillna(0).astype(int).itertuples(name=None):
        part = known.get(key)
        yield *key, read, true, {} if part is None else part.droplevel([0, 1]).to_dict()


def row_of(name: str, size: str, found: list[tuple[float, int]]) -> str:
    stated, error = np.array(found, dtype=float).T
    stated_rms, actual = np.sqrt((stated**2).mean()), np.sqrt((error**2).mean())
    within = [float((np.abs(error) <= times * stated).mean()) for times in (1, 2)]
    return f"| {name} | {size} | {len(found)} | {stated_rms:.1f} | {actual:.1f} | {within[0]:.0%} | {within[1]:.0%} |"


def measure(dataset: Path, release: Path) -> None:
    store = open_store(release, "release", verify=False)
    tracts = store.table("tracts", COLUMNS)
    county = pandas.factorize(tracts["county_id"])[0]
    inside = ~tracts["elsewhere"].to_numpy(bool)
    errors = ExpectedErrors(store.document("certificate.json"), tracts, store.table("prior"))
    real = open_store(dataset, "dataset", verify=False)
    jobs = {"drawn": read_jobs(store, county), "real": read_jobs(real, county)}
    keys = ["work", "work_county", "everywhere", "destination_index", "age", "earnings", "industry"]
    sizes = jobs["drawn"].groupby(keys)["count"].sum().rename("n_workers").reset_index()
    print(
        "| count | read | counts | stated | occurred | within 1 | within 2 |\n|---|---|---|---|---|---|---|"
    )
    for name, work, home, limits in KINDS:
        found: dict[int, list[Any]] = {limit: [] for limit in limits}
        for count in counts_of(jobs, work, home, inside):
            at = max((limit for limit in limits if limit <= count[2]), default=None)
            if at is not None:
                found[at].append(count)
        home_of = county if home.endswith("county") else np.arange(county.size)
        grouped = {
            area: part.groupby(["work", "n_workers"]).size().rename("n_synthesizers").reset_index()
            for area, part in sizes.groupby(work)
        }
        for at, limit in enumerate(limits):
            last = f"-{limits[at + 1] - 1}" if at + 1 < len(limits) else " or more"
            size = str(limit) if last == f"-{limit}" else f"{limit}{last}"
            if not found[limit]:
                continue
            chosen = found[limit][:: -(-len(found[limit]) // MOST)]
            rows = []
            for area, home_area, read, true, by_tract in chosen:
                here = (grouped[area][key].to_numpy() for key in ("work", "n_workers", "n_synthesizers"))
                tract, n_workers, times = here
                counts = np.zeros((1, county.size))
                counts[0, list(by_tract)] = list(by_tract.values())
                homes = (home_of == home_area).astype(float)[None]
                (stated,) = errors.of_counts(homes, counts, tract, n_workers, times[None])
                rows.append((stated.error, read - true))
            print(row_of(name, size, rows), flush=True)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        dataset, release = rhode_island.given_or_imported(chosen, Path(folder)), Path(folder) / "release"
        commutemap("synthesize", dataset, release, "--preset", "onthemap-v3", "--test-key")
        measure(dataset, release)


if __name__ == "__main__":
    main()
