"""How well expected errors of distances and directions cover: `python -m benchmarks.distance_errors DATASET RELEASE…`.

The releases are of the dataset. Both ends of about 60 areas (fixed seed) are asked for bands of 10, 25 and 50 miles and
eight directions, for the median distance and for the mean of commutes under 100 miles. The tables have, by what is
counted and its size, which share of numbers lies within two stated errors of the real one, and the root mean square of
real and stated errors; of medians and means also the ratio of the two.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.analyses import draw_areas
from commutemap import Release, open_release
from geodata.geography.distance import bearing_deg, distance_mi
from geodata.store.store import Store, open_store
from mapapp.answers.commutes.pick import MEAN_LIMIT_MI
from mapapp.answers.commutes.prepared import DIRECTIONS, octant
from mapapp.question.fields import Side

EDGES_MI = (10.0, 25.0, 50.0)
SIDES: tuple[Side, ...] = ("work", "home")
WORKERS = (0, 1_000, 10_000, 100_000, np.inf)
SIZES = (0, 3, 30, 300, 3_000, np.inf)
SMALLEST = ("{dataset}", "{release}", "--areas", "2")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("releases", type=Path, nargs="+", metavar="release")
    parser.add_argument("--areas", type=int, default=60)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    found: dict[tuple[str, str], list[Any]] = {}
    miles: dict[tuple[str, str], list[Any]] = {}
    dataset = open_store(chosen.dataset, "dataset")
    for path in chosen.releases:
        release = open_release(path)
        real = Real(release, dataset)
        for area in draw_areas(release, chosen.areas):
            for side in SIDES:
                plain = release.distance_direction(area, side=side, edges_mi=EDGES_MI)
                answer: Any = release.with_errors(plain)
                for name, rows in real.counts(answer, area, side).items():
                    found.setdefault((name, side), []).append(rows[~np.isnan(rows[:, 2])])
                for name, row in real.miles(answer, area, side).items():
                    miles.setdefault((name, side), []).append(row)
    print_errors({key: np.concatenate(rows) for key, rows in found.items()})
    told_miles({key: np.array(rows) for key, rows in miles.items()})


class Real:
    """The confidential jobs behind a release, counted as its answers are."""

    def __init__(self, release: Release, dataset: Store) -> None:
        self._release = release
        jobs = dataset.table("jobs")
        ends = zip(SIDES, ("destination", "origin"), strict=True)
        self._place = {side: jobs[f"{end}_index"].to_numpy() for side, end in ends}
        self._count = jobs["count"].to_numpy()
        lon, lat = (release.areas.places[name].to_numpy() for name in ("lon_deg", "lat_deg"))
        at = {side: (lon[blocks], lat[blocks]) for side, blocks in self._place.items()}
        own = self._place["work"] == self._place["home"]
        self._away = np.where(own, 0.0, distance_mi(*at["work"], *at["home"]))
        self._band = np.searchsorted(EDGES_MI, self._away, side="right")
        self._way = {
            "work": octant(bearing_deg(*at["work"], *at["home"])) % len(DIRECTIONS),
            "home": octant(bearing_deg(*at["home"], *at["work"])) % len(DIRECTIONS),
        }

    def counts(self, answer: Any, area: str, side: Side) -> dict[str, Any]:
        """Read and real count and stated error of every row of an answer: float64[rows, 3] by table."""
        mine = self._mine(area, side)
        real = np.zeros((len(EDGES_MI) + 1, len(DIRECTIONS)))
        np.add.at(real, (self._band[mine], self._way[side][mine]), self._count[mine])
        found = {}
        for name, counts in (("cells", real.ravel()), ("bands", real.sum(1)), ("directions", real.sum(0))):
            table = getattr(answer, name)
            rows = np.stack([table["workers"], counts, table["expected_error"]], axis=1)
            found[name] = rows.astype(float)
        return found

    def miles(self, answer: Any, area: str, side: Side) -> dict[str, tuple[float, ...]]:
        """Workers, read and real value and stated error of the median and the mean; nothing without workers."""
        mine = self._mine(area, side)
        away = np.repeat(self._away[mine], self._count[mine])
        near = away[away < MEAN_LIMIT_MI]
        if not near.size or answer.mean_under_100_mi.value is None:
            return {}
        found: dict[str, tuple[float, ...]] = {}
        for name, real in (("median_mi", np.median(away)), ("mean_under_100_mi", near.mean())):
            shown = getattr(answer, name)
            found[name] = (answer.workers.value, shown.value, float(real), shown.expected_error)
        return found

    def _mine(self, area: str, side: Side) -> Any:
        blocks = self._release.areas.select(area).blocks
        inside = np.zeros(len(self._release.areas.places), dtype=bool)
        inside[slice(None) if blocks is None else blocks] = True
        return inside[self._place[side]]


def print_errors(found: dict[tuple[str, str], Any]) -> None:
    print(
        "| counts | of | size | number | within two errors | real error | stated |\n|---|---|---|---|---|---|---|"
    )
    for (name, side), rows in found.items():
        for low, high in pairwise(SIZES):
            some = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
            if len(some):
                real, stated = (np.sqrt(np.mean(each**2)) for each in (some[:, 0] - some[:, 1], some[:, 2]))
                size = f"{low:g}–{high:g} | {len(some)} | {within(some):.0%}"
                print(f"| {name} | {side} | {size} | {real:.1f} | {stated:.1f} |")
    everything = np.concatenate(list(found.values()))
    print(f"\n{len(everything):,} counts: {within(everything):.1%} within two stated errors")


def told_miles(found: dict[tuple[str, str], Any]) -> None:
    print(
        "\n| distance | of | workers | number | within two errors | real error, mi | stated, mi | stated / real |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for (name, side), rows in found.items():
        for low, high in pairwise(WORKERS):
            some = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
            if len(some):
                real, stated = (np.sqrt(np.mean(each**2)) for each in (some[:, 1] - some[:, 2], some[:, 3]))
                size = f"{low:,.0f}–{high:,.0f} | {len(some)} | {within(some[:, 1:]):.0%}"
                print(f"| {name} | {side} | {size} | {real:.2f} | {stated:.2f} | {stated / real:.2f} |")


def within(rows: Any) -> float:
    return float(np.mean(np.abs(rows[:, 0] - rows[:, 1]) <= 2 * rows[:, 2]))


if __name__ == "__main__":
    main()
