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
import scipy.sparse

from benchmarks import rhode_island
from benchmarks.error_classes import HEAD, Asked, report, rows_of, summary
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters, Unit
from engine.streams import PublicSeed, SecretKey, attempt_key
from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store, open_store
from mapapp.answers.errors.expected_error import (
    ExpectedErrors,
    UnitsOfTracts,
    WorkplaceCells,
    Workplaces,
    synthesizers_of,
)
from mapapp.answers.errors.exponential_noise import ReleasedRows
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts
from mapapp.kinds.release.make.batch import SynthesisSource, draw_batch, jobs_of, open_source, prepare_batch
from mapapp.kinds.release.make.promise import make_certificate

SMALL: Final = 9
TOWN: Final = "layer_ctycsub"
SMALLEST = ("--dataset", "{dataset}", "--epsilon", "6.5", "--draws", "1", "--further", "3", "--every", "4")


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


class Counts:
    """All counts that are asked for: between tracts, and between towns, at all workplaces and at small ones."""

    def __init__(self, places: Places, real: pandas.DataFrame, every: int) -> None:
        self._places = places
        self._in_block = np.bincount(real["block"], real["workers"], places.tract_of_block.size)
        self._inside = np.flatnonzero(places.town >= 0)
        self._tracts: dict[str, Any] = {}
        self.true: dict[tuple[str, str], Any] = {}
        for who in ("all", "small"):
            mine = self.at_workplaces(real, who)
            self._tracts[who] = np.unique(places.tract_of_block[mine["block"]])[::every]
            self.true |= {(who, area): each for area, each in self._counts(who, places.matrix(mine)).items()}

    def at_workplaces(self, rows: pandas.DataFrame, who: str) -> pandas.DataFrame:
        """Rows at all workplaces, or at those of few workers."""
        return rows if who == "all" else rows[self._in_block[rows["block"]] <= SMALL]

    def questions(self, who: str, area: str) -> list[tuple[Any, scipy.sparse.csr_array]]:
        """Tracts of each work area, and the home areas: float64[R, n_tracts]."""
        tracts, town = self._tracts[who], self._places.town
        if area == "tract":
            n = np.arange(self._inside.size)
            one = scipy.sparse.csr_array((np.ones(n.size), (n, self._inside)), shape=(n.size, town.size))
            return [(np.array([tract]), one) for tract in tracts]
        towns = self._towns(who)
        homes = scipy.sparse.csr_array((towns[:, None] == town).astype(np.float64))
        return [(np.flatnonzero(town == each), homes) for each in towns]

    def errors(self, rows: pandas.DataFrame) -> dict[tuple[str, str], Any]:
        """Actual errors of all counts in a draw."""
        found: dict[tuple[str, str], Any] = {}
        for who in ("all", "small"):
            counts = self._counts(who, self._places.matrix(self.at_workplaces(rows, who)))
            found |= {(who, area): each - self.true[who, area] for area, each in counts.items()}
        return found

    def _towns(self, who: str) -> Any:
        towns = np.unique(self._places.town[self._tracts[who]])
        return towns[towns >= 0]

    def _counts(self, who: str, matrix: Any) -> dict[str, Any]:
        of_town = scipy.sparse.csr_array((self._towns(who)[:, None] == self._places.town).astype(np.float64))
        by_tract = matrix[np.ix_(self._tracts[who], self._inside)]
        return {"tract": by_tract.ravel(), "town": (of_town @ (of_town @ matrix).T).T.ravel()}


def stated_errors(
    places: Places, counts: Counts, drawn: pandas.DataFrame, certificate: dict[str, Any], unit: str
) -> dict[tuple[str, str], Any]:
    """Stated errors of all counts in a draw."""
    of_tract: dict[Hashable, pandas.DataFrame]
    of_tract = dict(iter(drawn.groupby(places.tract_of_block[drawn["block"]])))

    def released(tract: int) -> ReleasedRows:
        return ReleasedRows(*(of_tract[tract][name].to_numpy(np.int64) for name in ReleasedRows._fields))

    errors = ExpectedErrors(certificate, places.tracts, places.flows, released)
    found = {}
    for who, area in counts.true:
        mine = counts.at_workplaces(drawn, who)
        matrix, workplaces = places.matrix(mine), places.workplaces(mine, drawn, unit)
        found[who, area] = np.concatenate(
            [_stated(errors, workplaces, matrix, *each) for each in counts.questions(who, area)]
        )
    return found


def _stated(
    errors: ExpectedErrors, workplaces: Workplaces, matrix: Any, work: Any, homes: scipy.sparse.csr_array
) -> Any:
    """Stated errors for one work area and several home areas."""
    tract, n_workers, times, n_units = workplaces.arrays(range(N_SEGMENTS))
    here = np.isin(tract, work)
    read = np.zeros((homes.shape[0], len(matrix)))
    read[:, work] = homes @ matrix[work].T
    of_areas = homes.tocoo()
    row, home, share = (each[None] for each in (of_areas.row, of_areas.col, of_areas.data))
    listed = HomeValues(row.astype(np.int64), home.astype(np.int64), share, share)
    found = errors.of_counts(
        ValuesOfTracts(lambda _: listed, np.arange(homes.shape[0]), share.size),
        read,
        tract[here],
        n_workers[here],
        np.broadcast_to(times[here], (len(read), int(here.sum()))),
        None if n_units is None else n_units[here],
    )
    return np.array([one.error for one in found])


def measure(
    places: Places, counts: Counts, source: SynthesisSource, measured: range, further: range
) -> dict[tuple[str, str], Asked]:
    """Stated and actual errors of some keyed draws, and actual errors of further ones."""
    stated: list[dict[tuple[str, str], Any]] = []
    actual: list[dict[tuple[str, str], Any]] = []
    law: list[dict[tuple[str, str], Any]] = []
    for number in (*measured, *further):
        jobs, certificate = draw(source, number)
        drawn = places.rows(jobs)
        (actual if number in measured else law).append(counts.errors(drawn))
        if number in measured:
            stated.append(stated_errors(places, counts, drawn, certificate, source.parameters.unit))
    return {
        name: Asked(true, *(rows_of([each[name] for each in part]) for part in (stated, actual, law)))
        for name, true in counts.true.items()
    }


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
    parser.add_argument("--further", type=int, default=30, help="draws that show what a right error would do")
    parser.add_argument(
        "--preset", choices=["onthemap-v3"], help="the published setting, but for the epsilon"
    )
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


def source_of(store: Store, epsilon: str, chosen: argparse.Namespace) -> SynthesisSource:
    """What the options draw from; `--preset onthemap-v3` is the published setting but for the epsilon."""
    published = chosen.preset == "onthemap-v3"
    privacy = PrivacyParameters(
        epsilon=epsilon, delta="1e-6", min_retention="0.025" if published else "1", accountant="sound"
    )
    parameters = SynthesisParameters() if published else parameters_of(chosen)
    return open_source(store, PublicSeed.for_tests(), privacy, parameters)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(rhode_island.given_or_imported(chosen, Path(folder)), "dataset", verify=False)
        places = Places(store)
        counts = Counts(places, places.rows(store.table("jobs")), chosen.every)
        measured = range(chosen.first, chosen.first + chosen.draws)
        further = range(measured.stop, measured.stop + chosen.further)
        rows = []
        for epsilon in chosen.epsilon:
            source = source_of(store, epsilon, chosen)
            rows += report(epsilon, measure(places, counts, source, measured, further))
    print(f"\n{summary(rows)}")


if __name__ == "__main__":
    main()
