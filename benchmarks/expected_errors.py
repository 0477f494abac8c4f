"""Stated and actual errors of the counts of a release: `python -m benchmarks.expected_errors [--data DIR]`.

Without options, releases are made as the recommended preset makes them on Rhode Island. Draws are keyed, so every run
finds the same numbers. Counts between a workplace tract and a home tract, and between two towns (county subdivisions,
or counties without towns), at all workplaces and at blocks of 1 to 9 workers; root mean squares over all counts
whose true value is in a class.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pandas

from benchmarks import rhode_island
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from engine.streams import PublicSeed, SecretKey, attempt_key
from geodata.schema import N_SEGMENTS
from geodata.store import Store, open_store
from mapapp.answers.expected_error import ExpectedErrors
from mapapp.answers.noisy_tables import ReleasedRows
from mapapp.answers.workplaces import UnitsOfTracts, WorkplaceCells, Workplaces, synthesizers_of
from mapapp.publishing.batch import SynthesisSource, draw_batch, jobs_of, open_source, prepare_batch
from mapapp.publishing.promise import make_certificate

CLASSES: Final = ((1, 2), (3, 9), (10, 49), (50, 99), (100, 499), (500, 10**9))
SMALL: Final = 9
TOWN: Final = "layer_ctycsub"
SMALLEST = ("--dataset", "{dataset}", "--epsilon", "6.5", "--draws", "1", "--every", "4")


class Places:
    """Tracts of blocks, and towns of tracts."""

    def __init__(self, store: Store) -> None:
        columns = ["lon_deg", "lat_deg", "puma_index", "superpuma_index", "population", "state_id"]
        self.tracts = store.table("tracts", [*columns, "county_id", "elsewhere"])
        self.flows = store.table("prior")
        blocks = store.table("blocks")
        self.tract_of_block = blocks["tract_index"].to_numpy(np.int64)
        unit = blocks[TOWN] if TOWN in blocks.columns else blocks["county_id"]
        code = pandas.factorize(unit.fillna(""))[0]
        times = pandas.Series(1, index=[self.tract_of_block, code]).groupby(level=[0, 1]).sum()
        most = times.sort_values().groupby(level=0).tail(1).index
        self.town = np.full(len(self.tracts), -1)
        self.town[most.get_level_values(0)] = most.get_level_values(1)
        self.town[self.tracts["elsewhere"].to_numpy(bool)] = -1

    def rows(self, jobs: pandas.DataFrame) -> pandas.DataFrame:
        """Workplace block, segment, home tract and workers of jobs."""
        bands = [jobs[name].to_numpy(np.int64) - 1 for name in ("age", "earnings", "industry")]
        return pandas.DataFrame(
            {
                "block": jobs["destination_index"].to_numpy(np.int64),
                "segment": bands[0] * 9 + bands[1] * 3 + bands[2],
                "home_tract": self.tract_of_block[jobs["origin_index"]],
                "workers": jobs["count"].to_numpy(np.int64),
            }
        )

    def matrix(self, rows: pandas.DataFrame) -> Any:
        """Workers by workplace tract and home tract."""
        n = len(self.tracts)
        place = self.tract_of_block[rows["block"]] * n + rows["home_tract"]
        return np.bincount(place, rows["workers"], n * n).reshape(n, n)

    def workplaces(self, rows: pandas.DataFrame, every: pandas.DataFrame, unit: str) -> Workplaces:
        """Synthesizers of some of all released workers."""
        cells = rows.groupby(["block", "segment"], as_index=False)["workers"].sum()
        block, segment, workers = (cells[name].to_numpy(np.int64) for name in ("block", "segment", "workers"))
        tract = self.tract_of_block[block]
        in_tract = np.bincount(self.tract_of_block[every["block"]], every["workers"], len(self.tracts))
        in_tract = in_tract.astype(np.int64)
        return synthesizers_of(WorkplaceCells(tract, block, segment, workers), UnitsOfTracts(unit, in_tract))


def draw(source: SynthesisSource, number: int) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """Jobs of one keyed draw, and the certificate."""
    key = attempt_key(SecretKey.for_tests(), (1 << 32) - 1 - number)
    prepared = [prepare_batch(source, batch) for batch in range(source.workplaces.n_batches)]
    certificate = make_certificate(
        source.store,
        [batch.certified for batch in prepared],
        source.prior,
        source.seed,
        source.privacy,
        source.parameters,
        confidential_inputs={"jobs": "0" * 64},
    )
    parts = [pandas.DataFrame(jobs_of(draw_batch(key, source, at, one))) for at, one in enumerate(prepared)]
    return pandas.concat(parts), certificate


def measure(places: Places, real: pandas.DataFrame, source: SynthesisSource, number: int, every: int) -> Any:
    """True count, stated error and actual error of all counts: rows by (workplaces, area)."""
    jobs, certificate = draw(source, number)
    drawn = places.rows(jobs)
    of_tract: dict[Hashable, pandas.DataFrame]
    of_tract = dict(iter(drawn.groupby(places.tract_of_block[drawn["block"]])))

    def released(tract: int) -> ReleasedRows:
        return ReleasedRows(*(of_tract[tract][name].to_numpy(np.int64) for name in ReleasedRows._fields))

    errors = ExpectedErrors(certificate, places.tracts, places.flows, released)
    in_block = np.bincount(real["block"], real["workers"], places.tract_of_block.size)
    found: dict[tuple[str, str], list[Any]] = {}
    for who in ("all", "small"):
        limit = SMALL if who == "small" else np.inf
        mine, truth = (rows[in_block[rows["block"]] <= limit] for rows in (drawn, real))
        counts, true = places.matrix(mine), places.matrix(truth)
        workplaces = places.workplaces(mine, drawn, source.parameters.unit)
        tracts = np.unique(workplaces.tract)[::every]
        towns = np.unique(places.town[tracts])
        inside = np.flatnonzero(places.town >= 0)
        by_tract = [(np.array([tract]), inside[:, None] == np.arange(len(places.town))) for tract in tracts]
        by_town = [
            (np.flatnonzero(places.town == town), towns[:, None] == places.town) for town in towns[towns >= 0]
        ]
        for area, questions in (("tract", by_tract), ("town", by_town)):
            found[who, area] = [
                _asked(errors, workplaces, counts, true, work, homes.astype(np.float64))
                for work, homes in questions
            ]
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _asked(
    errors: ExpectedErrors, workplaces: Workplaces, counts: Any, true: Any, work: Any, homes: Any
) -> Any:
    """True count, stated and actual error for one work area and several home areas."""
    tract, n_workers, times, n_units = workplaces.arrays(range(N_SEGMENTS))
    here = np.isin(tract, work)
    read = np.zeros((len(homes), len(counts)))
    read[:, work] = homes @ counts[work].T
    real = homes @ true[work].sum(axis=0)
    stated = errors.of_counts(
        homes,
        read,
        tract[here],
        n_workers[here],
        np.broadcast_to(times[here], (len(homes), int(here.sum()))),
        None if n_units is None else n_units[here],
    )
    return np.stack([real, [one.error for one in stated], read.sum(axis=1) - real], axis=1)


def report(epsilon: str, found: Any) -> tuple[int, int]:
    """Print a row for each class; return in how many the stated error is no less than the actual one."""
    covered = total = 0
    for (who, area), rows in found.items():
        for low, high in CLASSES:
            chosen = rows[(rows[:, 0] >= low) & (rows[:, 0] <= high)]
            if not len(chosen):
                continue
            stated, actual = np.sqrt((chosen[:, 1:] ** 2).mean(axis=0))
            size = f"{low}-{high}" if high < 10**9 else f"{low} or more"
            ratio = f"{stated / actual:.2f}" if actual else "no error"
            print(
                f"| {epsilon} | {area} | {who} | {size} | {len(chosen)} | {stated:.2f} | {actual:.2f} | {ratio} |"
            )
            covered, total = covered + (stated >= actual), total + 1
    return covered, total


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    parser.add_argument("--epsilon", nargs="+", default=["2", "4", "6.5", "8.98"])
    parser.add_argument("--mechanism", default="exponential", choices=get_args(Mechanism))
    parser.add_argument("--unit", default="cell", choices=get_args(Unit))
    parser.add_argument(
        "--clean", action=argparse.BooleanOptionalAction, help="by default, if the mechanism is exponential"
    )
    parser.add_argument(
        "--radii", nargs=2, type=float, default=[30.0, 40.0], help="of tracts and PUMAs, miles"
    )
    parser.add_argument("--far-state-miles", type=float, default=300.0, help="0 keeps all states apart")
    parser.add_argument("--draws", type=int, default=3, help="keyed draws")
    parser.add_argument("--first", type=int, default=0, help="number of the first keyed draw")
    parser.add_argument("--every", type=int, default=8, help="ask for every nth workplace tract")
    return parser


def parameters_of(chosen: argparse.Namespace) -> SynthesisParameters:
    """Shape of the releases that the options describe."""
    exponential = chosen.mechanism == "exponential"
    return SynthesisParameters(
        mechanism=chosen.mechanism,
        unit=chosen.unit,
        clean=exponential if chosen.clean is None else chosen.clean,
        tract_radius_mi=chosen.radii[0],
        puma_radius_mi=chosen.radii[1],
        far_state_miles=chosen.far_state_miles or None,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    print("| epsilon | area | workplaces | true count | counts | stated | actual | stated / actual |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(rhode_island.given_or_imported(chosen, Path(folder)), "dataset", verify=False)
        places = Places(store)
        real = places.rows(store.table("jobs"))
        covered = total = 0
        for epsilon in chosen.epsilon:
            privacy = PrivacyParameters(epsilon=epsilon, delta="1e-6", min_retention="1", accountant="sound")
            source = open_source(store, PublicSeed.for_tests(), privacy, parameters_of(chosen))
            numbers = range(chosen.first, chosen.first + chosen.draws)
            draws = [measure(places, real, source, number, chosen.every) for number in numbers]
            sums = report(
                epsilon, {name: np.concatenate([each[name] for each in draws]) for name in draws[0]}
            )
            covered, total = covered + sums[0], total + sums[1]
    print(f"\nStated at least the actual error in {covered} of {total} classes.")


if __name__ == "__main__":
    main()
