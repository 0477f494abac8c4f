"""How well stated errors cover, by kind of number: `python -m benchmarks.distance_errors DATASET PUBLICATION…`.

The publications are releases, or worker records, of the dataset. About a dozen units each of a coarse and a fine layer
are asked for their inflow and outflow, the largest rows of their destinations at both ends, their bands of age,
earnings, and industry, and, of releases, their distance bands, median, and mean distance; and flows between all units
for pairs. Every number is compared with that of the real jobs, counted by the same query. A row of the table has the
root mean square of the errors as multiples of the stated ones (1 is right, 0.8 to 1.1 is the goal), and which share
lies within one stated error and within two. The change of a number from one publication to the next of the same jobs is
0; their errors are not independent, so theirs are below 1.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from commutemap import Release, open_release
from geodata.store.store import Store, open_store
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Pick
from mapapp.answers.commutes.prepared import prepare
from mapapp.answers.publication import is_of_records
from mapapp.question.fields import Side

SIDES: Final[tuple[Side, ...]] = ("work", "home")
LEAST_WORKERS: Final = 100
EDGES_MI: Final = (10.0, 25.0, 50.0)
N_ROWS: Final = 10
N_PAIRS: Final = 150
SMALLEST = ("{dataset}", "{release}", "--areas", "2")

Numbers = dict[str, list[tuple[float, float]]]
"""Errors and stated errors, by kind."""


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("publications", type=Path, nargs="+", metavar="publication")
    parser.add_argument("--areas", type=int, default=12, help="units of each layer")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        real = Real(open_store(chosen.dataset, "dataset"), Path(folder))
        publications = [open_release(path) for path in chosen.publications]
        numbers: Numbers = defaultdict(list)
        for publication in publications:
            for kind, error, stated in numbers_of(publication, real, chosen.areas):
                numbers[kind].append((error, stated))
        for before, after in pairwise(publications):
            for kind, error, stated in changes_of(before, after, chosen.areas):
                numbers[kind].append((error, stated))
        print_table(numbers)


class Real:
    """The confidential jobs, counted as answers count them."""

    def __init__(self, dataset: Store, folder: Path) -> None:
        self._flows = Flows(prepare(dataset, home=folder), dataset, Attributes())

    def count(self, pick: Pick) -> int:
        return int(self._flows.by_segment(pick).sum())

    def bands(self, pick: Pick, edges_mi: Sequence[float]) -> list[int]:
        """Commutes by distance band."""
        return [int(n) for n in self._flows.of_pair(pick, edges_mi)[1]]

    def miles(self, pick: Pick) -> tuple[float, float | None]:
        """Median, and mean of commutes under 100 miles."""
        _, sums = self._flows.distance_sums(pick, 1.0)
        near, miles = (float(sums[at].sum()) for at in (2, 3))
        return float(self._flows.quantiles_mi(pick, [0.5])[0]), miles / near if near else None


def numbers_of(publication: Release, real: Real, n_areas: int) -> Iterator[tuple[str, float, float]]:
    """Kind, error, and stated error (NaN if none) of the numbers of a publication."""
    of_records = is_of_records(publication.certificate)
    rows_layer = "puma" if of_records or "ctycsub" not in publication.areas.columns else "ctycsub"
    for area in areas_of(publication, n_areas):
        yield from _of_answer(
            publication, real, publication.inflow_outflow(area, errors=True), {"groups": "inflow, outflow"}
        )
        for side in SIDES:
            homes = publication.destinations(area, layer=rows_layer, side=side, errors=True)
            yield from _of_answer(publication, real, homes, {"units": "rows"})
            pick = entry_of(homes).counts(publication.areas, homes)[0]["workers"]
            stated = homes.workers.expected_error
            error = float(homes.workers.value - real.count(pick))
            yield f"all, {side}", error, np.nan if stated is None else stated
            profile = publication.profile(area, side=side, errors=True)
            yield from _of_answer(publication, real, profile, {"bands": f"bands, {side}"})
            if not of_records:
                yield from _of_miles(publication, real, area, side)
    matrix = publication.flow_matrix(home_layer=rows_layer, work_layer=rows_layer)
    pick_of = entry_of(matrix).counts(publication.areas, matrix)[1]["cells"]
    at = np.unique(np.linspace(0, len(matrix.cells) - 1, N_PAIRS).round().astype(int))
    cells: list[Any] = list(matrix.cells.iloc[at].itertuples())
    picks = [of_cell for cell in cells if (of_cell := pick_of(cell)) is not None]  # a cell has a pick always
    for cell, of_cell, stated in zip(cells, picks, publication.errors.of_counts(picks), strict=True):
        yield "pairs", cell.workers - real.count(of_cell), np.nan if stated is None else stated


def areas_of(publication: Release, n_areas: int) -> list[str]:
    """Units of two layers with workplaces, evenly spaced by their workers."""
    fine = "ctycsub" if "ctycsub" in publication.areas.columns else "puma"
    layers = ("county", "puma") if is_of_records(publication.certificate) else ("county", fine)
    areas = []
    for layer in layers:
        units = publication.comparison(layer=layer).units
        ids = units[(units["workers"] >= LEAST_WORKERS) & (units["kind"] == "unit")]["unit_id"].tolist()
        at = np.unique(np.linspace(0, len(ids) - 1, min(n_areas, len(ids))).round().astype(int))
        areas += [f"{layer}:{ids[place]}" for place in at]
    return areas


def _of_answer(
    publication: Release, real: Real, answer: Any, tables: dict[str, str]
) -> Iterator[tuple[str, float, float]]:
    # Those who come in are the others of all who work here, whose number a release has exactly.
    rows = publication.errors._counts(entry_of(answer), answer)[1]
    for table, kind in tables.items():
        rows_of_table: list[Any] = list(getattr(answer, table).head(N_ROWS).itertuples())
        for row in rows_of_table:
            pick = rows[table](row)
            if pick is None:
                continue
            shown = row.workers
            if getattr(row, "group", "") == "inflow" and pick.home is pick.work:
                shown = answer.stay.value
            yield kind, float(shown - real.count(pick)), float(row.expected_error)


def _of_miles(publication: Release, real: Real, area: str, side: Side) -> Iterator[tuple[str, float, float]]:
    answer = publication.distance_direction(area, side=side, edges_mi=EDGES_MI, errors=True)
    pick = entry_of(answer).counts(publication.areas, answer)[0]["workers"]
    bands: list[Any] = list(answer.bands.itertuples())
    for row, n in zip(bands, real.bands(pick, EDGES_MI), strict=True):
        yield "distance bands", float(row.workers - n), row.expected_error
    median, mean = real.miles(pick)
    for kind, shown, value in (
        ("medians", answer.median_mi, median),
        ("means", answer.mean_under_100_mi, mean),
    ):
        if shown.value is not None and value is not None and shown.expected_error is not None:
            yield kind, shown.value - value, shown.expected_error


def changes_of(before: Release, after: Release, n_areas: int) -> Iterator[tuple[str, float, float]]:
    """Changes between two publications of the same jobs, and their stated errors."""
    for area in areas_of(before, n_areas):
        earlier, later = (each.inflow_outflow(area, errors=True) for each in (before, after))
        for name in ("outflow", "stay"):
            first, second = getattr(earlier, name), getattr(later, name)
            if first.expected_error is not None and second.expected_error is not None:
                stated = float(np.hypot(first.expected_error, second.expected_error))
                yield "changes", float(second.value - first.value), stated


def print_table(numbers: Numbers) -> None:
    print(
        "| kind | numbers | with ± | exact | error / ± | within 1 | within 2 |\n|---|---|---|---|---|---|---|"
    )
    for kind, pairs in numbers.items():
        error, stated = np.array(pairs).T
        known, is_exact = ~np.isnan(stated), stated == 0
        assert not error[is_exact].any(), f"{kind}: a number without an error differs from the real one"
        ratio = np.abs(error[known & ~is_exact]) / stated[known & ~is_exact]
        rms = f"{np.sqrt((ratio**2).mean()):.2f}" if ratio.size else "–"
        within = " | ".join(f"{(ratio <= times).mean():.0%}" if ratio.size else "–" for times in (1, 2))
        print(
            f"| {kind} | {error.size} | {ratio.size} | {int(is_exact.sum())} | {rms} | {within} |", flush=True
        )


if __name__ == "__main__":
    main()
