"""How well expected errors of distances and directions cover: `python -m benchmarks.distance_errors DATASET RELEASE`.

The release is one of the dataset. Both ends of about 60 areas (fixed seed) are asked for bands of 10, 25 and 50 miles
and eight directions; the table has, by what is counted and its size, which share of counts lies within two stated
errors of the real one, and the root mean square of real and stated errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.analyses import draw_areas
from geodata.distance import bearing_deg, distance_mi
from geodata.store import open_store
from mapapp.api import open_release
from mapapp.queries.prepared import DIRECTIONS, octant

EDGES_MI = (10.0, 25.0, 50.0)
SIZES = (0, 3, 30, 300, 3_000, np.inf)
SMALLEST = ("{dataset}", "{release}", "--areas", "2")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("release", type=Path)
    parser.add_argument("--areas", type=int, default=60)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    release = open_release(chosen.release)
    jobs = open_store(chosen.dataset, "dataset").table("jobs")
    lon, lat = (release.areas.places[name].to_numpy() for name in ("lon_deg", "lat_deg"))
    place = {
        side: jobs[f"{end}_index"].to_numpy() for side, end in (("work", "destination"), ("home", "origin"))
    }
    at = {side: (lon[blocks], lat[blocks]) for side, blocks in place.items()}
    band = np.searchsorted(EDGES_MI, distance_mi(*at["work"], *at["home"]), side="right")
    way = {
        "work": octant(bearing_deg(*at["work"], *at["home"])) % len(DIRECTIONS),
        "home": octant(bearing_deg(*at["home"], *at["work"])) % len(DIRECTIONS),
    }
    found: dict[tuple[str, str], list[Any]] = {}
    for area in draw_areas(release, chosen.areas):
        blocks = release.areas.select(area).blocks
        inside = np.zeros(lon.size, dtype=bool)
        inside[slice(None) if blocks is None else blocks] = True
        for side in place:
            answer: Any = release.with_errors(release.distance_direction(area, side=side, edges_mi=EDGES_MI))
            mine = inside[place[side]]
            real = np.zeros((len(EDGES_MI) + 1, len(DIRECTIONS)))
            np.add.at(real, (band[mine], way[side][mine]), jobs["count"].to_numpy()[mine])
            for name, counts in (
                ("cells", real.ravel()),
                ("bands", real.sum(1)),
                ("directions", real.sum(0)),
            ):
                table = getattr(answer, name)
                rows = np.stack([table["workers"], counts, table["expected_error"]], axis=1).astype(float)
                found.setdefault((name, side), []).append(rows[~np.isnan(rows[:, 2])])
    told({key: np.concatenate(rows) for key, rows in found.items()})


def told(found: dict[tuple[str, str], Any]) -> None:
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


def within(rows: Any) -> float:
    return float(np.mean(np.abs(rows[:, 0] - rows[:, 1]) <= 2 * rows[:, 2]))


if __name__ == "__main__":
    main()
