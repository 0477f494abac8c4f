"""Where real homes are within support points: `python -m benchmarks.homes_within_points [--data DIR]`.

Homes that a support point of several tracts draws are placed by population. With D workers of the point, s the share
of a home area in its people and g in its gravity mass, the squared error (D s - X)^2 of the real number X in the area
is fitted by

    clustered D s (1 - s)  +  toward D^2 (g - s)^2  +  homes^2 D^2 s^2 (1 - s)^2

for areas with D s > 1, by least squares of errors relative to (D s + 2)^2. Expected errors under Algorithms 1-2
(`mapapp.answers.errors.dirichlet_multinomial`) use `CLUSTERED` and `HOMES`, `EVERYWHERE` for the sum over all
workplaces, and the whole of the second term.

Rows: real homes of the setting's points of several tracts, which a release does not show; real homes of points that are
single tracts, taken together by PUMA; and the same in a release under the test key, which everybody can see. A released
number also varies by how it was drawn, so there 1 is taken from `clustered`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas
from scipy.optimize import nnls

from benchmarks import rhode_island
from benchmarks.expected_errors import Places, draw
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.geography.distance import distance_mi
from geodata.store.store import open_store
from mapapp.answers.errors.certificate_terms import SupportTerms
from mapapp.answers.errors.support_prior import Floats, SupportPriors
from mapapp.kinds.release.make.batch import open_source

LEAST_MI: Final = 3.0
"""Single tracts nearer than this are left out: within so few miles, gravity differs most."""
GROUPS: Final = {
    "tract to tract": ["work", "home"],
    "tract to town": ["work", "home_town"],
    "town to town": ["work_town", "home_town"],
    "home tract, all workplaces": ["home"],
}
SMALLEST = ("--dataset", "{dataset}")


def homes_of_points(places: Places, terms: SupportTerms, matrix: Floats, *, single: bool) -> pandas.DataFrame:
    """Homes in points of several tracts, or in single tracts taken together by PUMA.

    Returns
    -------
    DataFrame
        work, home, work_town, home_town; real or released `workers`, those expected by `people` and by `gravity`, and
        the expected variance by `chance` and `apart`, the most that may be elsewhere.
    """
    supports = SupportPriors(terms, places.tracts, places.flows)
    lon, lat = (places.tracts[name].to_numpy(np.float64) for name in ("lon_deg", "lat_deg"))
    puma = places.tracts["puma_index"].to_numpy(np.int64)
    parts = []
    for work in np.flatnonzero(matrix.sum(axis=1)):
        prior = supports.of_tract(int(work))
        by_people, by_gravity = prior.people, prior.gravity
        alone = np.bincount(prior.point)[prior.point] == 1
        chosen = (places.town >= 0) & (alone == single)
        if single:
            away = distance_mi(lon[work], lat[work], lon, lat)
            chosen &= away > LEAST_MI
            by_people = np.maximum(places.tracts["population"].to_numpy(np.float64), 1.0)
            by_gravity = by_people * supports.decay(away)
        home = np.flatnonzero(chosen)
        frame = pandas.DataFrame(
            {
                "work": work,
                "home": home,
                "work_town": places.town[work],
                "home_town": places.town[home],
                "point": (puma if single else prior.point)[home],
                "workers": matrix[work, home].astype(np.float64),
                "s": by_people[home],
                "g": by_gravity[home],
            }
        )
        parts.append(frame)
    found = pandas.concat(parts, ignore_index=True)
    of_point = found.groupby(["work", "point"])
    total = of_point["workers"].transform("sum")
    found["s"] /= of_point["s"].transform("sum")
    found["g"] /= of_point["g"].transform("sum")
    town_share = found.groupby(["work", "point", "home_town"])["s"].transform("sum")
    found["people"], found["gravity"] = total * found["s"], total * found["g"]
    # Of an area within the point, the rest of the point is elsewhere.
    found["of_tract"] = found["people"] * (1.0 - found["s"])
    found["of_town"] = found["people"] * np.maximum(1.0 - town_share, 0.0)
    return found[of_point["s"].transform("size") > 1]


def fit(homes: pandas.DataFrame, by: list[str], released: int) -> str:
    """Return a row of the fitted parts for home areas of a kind."""
    rest = "of_tract" if "home" in by else "of_town"
    area = homes.groupby(by)[["workers", "people", "gravity", rest]].sum()
    area = area[area["people"] > 1.0]
    if area.empty:
        return "0 | | | |"
    workers, people, gravity, apart = (area[name].to_numpy(np.float64) for name in area)
    weight = 1.0 / (people + 2.0) ** 2
    terms = np.stack([apart, (gravity - people) ** 2, apart**2], axis=1)
    (clustered, toward, homes_squared), _ = nnls(terms * weight[:, None], (workers - people) ** 2 * weight)
    return f"{len(area)} | {clustered - released:.2f} | {toward:.2f} | {np.sqrt(homes_squared):.2f} |"


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    rhode_island.add_dataset_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(rhode_island.given_or_imported(chosen, Path(folder)), "dataset", verify=False)
        places = Places(store)
        privacy = PrivacyParameters(epsilon="8.982", delta="1e-6", min_retention="0.025", accountant="sound")
        source = open_source(store, PublicSeed.for_tests(), privacy, SynthesisParameters())
        jobs, certificate = draw(source, 0)
        terms = SupportTerms.of(certificate)
        real, drawn = (places.matrix(places.rows(each)) for each in (store.table("jobs"), jobs))
    print("| homes | areas | number | clustered | toward | homes |\n|---|---|---|---|---|---|")
    for name, matrix, single, released in (
        ("real, points of several tracts", real, False, 0),
        ("real, single tracts by PUMA", real, True, 0),
        ("released, single tracts by PUMA", drawn, True, 1),
    ):
        homes = homes_of_points(places, terms, matrix, single=single)
        for areas, by in GROUPS.items():
            print(f"| {name} | {areas} | {fit(homes, by, released)}", flush=True)


if __name__ == "__main__":
    main()
