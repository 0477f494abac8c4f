"""Expected errors of distance bands and directions against the formula, tract by tract, with explicit home areas."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from commutemap import Filters, Release, open_release
from geodata.geography.distance import bearing_deg, distance_mi
from mapapp.answers.errors.expected_error import ExpectedErrors
from tests.answers.errors.one_count import error_of_count
from tests.oracles import analyses as twin

EDGES = (3.0, 12.0)
DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return open_release(demo_release)


@pytest.fixture(scope="module")
def county(release: Release) -> str:
    return str(release.comparison(layer="county").units["unit_id"].iloc[0])


def cell_of(here: Any, there: Any) -> tuple[int, str]:
    """Distance band and direction of one place from another."""
    miles = float(distance_mi(*here, *there))
    bearing = float(bearing_deg(*here, *there))
    way = "" if math.isnan(bearing) else DIRECTIONS[int((bearing + 22.5) % 360 // 45)]
    return sum(miles >= edge for edge in EDGES), way


def plain_errors(
    release: Release, county: str, side: str, kept: tuple[int, ...]
) -> dict[tuple[int, str], tuple[float, float]]:
    """Error without placement, and the most placement, of each (band, direction) of a county's workers or residents."""
    store = release.store
    tracts, blocks, workers = store.table("tracts"), store.table("blocks"), twin.workers_of(release.store)
    mine = (blocks["county_id"] == county).to_numpy()
    workers = workers[mine[workers[f"{side}_block"]] & workers["age"].isin(kept)]
    place = [tuple(row) for row in tracts[["lon_deg", "lat_deg"]].to_numpy()]
    block_place = [tuple(row) for row in blocks[["lon_deg", "lat_deg"]].to_numpy()]
    everybody = twin.workers_of(release.store)
    sizes = everybody[everybody["age"].isin(kept)]
    if side == "work":
        sizes = sizes[mine[sizes["work_block"]]]
    sizes = sizes.groupby(["work_tract_index", "work_block", "age", "earnings", "industry"]).size()
    formula = ExpectedErrors(release.certificate, tracts, store.table("prior"))
    parts: dict[tuple[int, str], list[Any]] = {}
    for work, mine_of_tract in sizes.groupby(level=0):
        table = mine_of_tract.value_counts().rename_axis("n_workers").reset_index(name="n_synthesizers")
        table["tract_index"] = work
        share: dict[tuple[int, str], Any] = {}
        for home in range(len(tracts)):
            people = blocks["population"].to_numpy() * (blocks["tract_index"] == home).to_numpy()
            people = people if people.sum() else (blocks["tract_index"] == home).to_numpy().astype(float)
            lives = people[mine].sum() / people.sum() if side == "home" else 1.0
            if home == work:
                cells = {(0, way): lives / 8 for way in DIRECTIONS}
            else:
                ends = (place[work], place[home]) if side == "work" else (place[home], place[work])
                cells = {cell_of(*ends): lives}
            for cell, part in cells.items():
                share.setdefault(cell, numpy.zeros(len(tracts)))[home] += part
        counts: dict[tuple[int, str], int] = {}
        for row in workers[workers["work_tract_index"] == work].itertuples():
            here, there = block_place[row.work_block], block_place[row.home_block]
            cell = cell_of(here, there) if side == "work" else cell_of(there, here)
            counts[cell] = counts.get(cell, 0) + 1
        for band in range(len(EDGES) + 1):
            for way in DIRECTIONS:
                home_share = share.get((band, way), numpy.zeros(len(tracts)))
                one = error_of_count(formula, home_share, table, {int(work): counts.get((band, way), 0)})
                parts.setdefault((band, way), []).append(one)
    known = {
        cell: math.hypot(sum(one.bias for one in found), math.sqrt(sum(one.sd**2 for one in found)))
        for cell, found in parts.items()
    }
    # Placement can have either sign in each tract; only its size is reported.
    return {cell: (known[cell], sum(one.placement for one in found)) for cell, found in parts.items()}


@pytest.mark.parametrize(("side", "ages"), [("work", (1, 2, 3)), ("home", (2,))])
def test_every_band_and_direction(release: Release, county: str, side: Any, ages: tuple[int, ...]) -> None:
    kept = Filters(age=ages)
    answer: Any = release.distance_direction(f"county:{county}", kept, side=side, edges_mi=EDGES)
    found: Any = release.with_errors(answer)
    wanted = plain_errors(release, county, side, ages)
    exact = 0
    for row in found.cells.itertuples():
        if row.direction:
            least, placement = wanted[row.band, row.direction]
            assert least * (1 - 1e-9) <= row.expected_error <= math.hypot(least, placement) * (1 + 1e-9), row
            exact += placement < 0.01 * least
        else:
            assert row.expected_error > 0
    assert exact >= 3
    assert found.directions["expected_error"].gt(0).all()
    assert found.bands["expected_error"].gt(0).all()


def test_a_single_band_has_the_error_of_the_total(release: Release, county: str) -> None:
    answer: Any = release.distance_direction(f"county:{county}", side="home", edges_mi=(20_000.0,))
    found: Any = release.with_errors(answer)
    assert found.bands["expected_error"].iloc[0] == pytest.approx(found.workers.expected_error)


def test_an_area_where_nobody_works(release: Release) -> None:
    blocks = release.store.table("blocks")
    works = twin.workers_of(release.store)["work_block"].unique()
    idle = blocks.drop(index=works).iloc[0]
    area = f"circle:{idle['lon_deg']:.5f},{idle['lat_deg']:.5f},0.001"
    found: Any = release.with_errors(release.distance_direction(area))
    assert found.workers.value == 0
    assert isinstance(found.bands, pandas.DataFrame)
    assert (found.bands["expected_error"] == 0).all()
