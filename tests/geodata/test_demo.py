"""The generated country: it nests, it adds up, it reaches everywhere, and a seed decides all of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from geodata.demo import generate, write_demo
from geodata.demo.gazetteer import Names, join_stem, postal_codes
from geodata.demo.grouping import bisect_places
from geodata.demo.sizes import SCALES
from geodata.errors import GeodataError, StoreError
from geodata.geography.distance import distance_mi
from geodata.store.schema import (
    BASE_TABLES,
    LANDMARK_KINDS,
    N_SEGMENTS,
    OPTIONAL_TABLES,
    TABLES,
    WATER_KINDS,
    segment_code,
)
from geodata.store.store import open_store
from geodata.workers.schema import WorkerSchema

LEVELS = {
    "tract": "tracts",
    "puma": "pumas",
    "superpuma": "superpumas",
    "county": "counties",
    "state": "states",
}
SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def metro() -> tuple[dict[str, Any], dict[str, Any]]:
    return generate("metro", 1)


def commute_mi(tables: dict[str, Any]) -> Any:
    lon, lat = (tables["blocks"][name].to_numpy() for name in ("lon_deg", "lat_deg"))
    work, home = tables["jobs"]["destination_index"], tables["jobs"]["origin_index"]
    return distance_mi(lon[work], lat[work], lon[home], lat[home])


def check_hierarchy(tables: dict[str, Any]) -> None:
    blocks = tables["blocks"]
    assert blocks["block_id"].is_unique
    order = blocks[["tract_id", "block_id"]].apply(tuple, axis=1)
    assert order.is_monotonic_increasing
    for level, name in LEVELS.items():
        units = tables[name]
        assert units[f"{level}_id"].is_monotonic_increasing
        assert units[f"{level}_id"].is_unique
        people = blocks.groupby(f"{level}_id")["population"].sum()
        assert (units.set_index(f"{level}_id")["population"] == people).all()
        assert units["name"].str.len().min() > 2
        assert (units.geometry.isna() == units["elsewhere"]).all()
        assert shapely.is_valid(units.geometry[~units["elsewhere"]].to_numpy()).all()
    tracts = tables["tracts"]
    for column in ("puma_id", "superpuma_id", "county_id", "state_id"):
        assert (tracts[column].to_numpy()[blocks["tract_index"]] == blocks[column]).all()
    assert (tables["pumas"]["puma_id"].to_numpy()[tracts["puma_index"]] == tracts["puma_id"]).all()
    found = tables["superpumas"]["superpuma_id"].to_numpy()[tracts["superpuma_index"]]
    assert (found == tracts["superpuma_id"]).all()


def check_polygons(tables: dict[str, Any]) -> None:
    blocks, cells = tables["blocks"], tables["cells"]
    here = np.flatnonzero(~blocks["elsewhere"])
    assert (cells["block_index"] == here).all()
    polygon = cells.geometry.to_numpy()
    assert shapely.contains_xy(polygon, blocks["lon_deg"][here], blocks["lat_deg"][here]).all()
    area = shapely.area(polygon)
    for level, name in LEVELS.items():
        units = tables[name][~tables[name]["elsewhere"]]
        summed = np.bincount(
            np.searchsorted(units[f"{level}_id"].to_numpy(str), blocks[f"{level}_id"][here].to_numpy(str)),
            weights=area,
        )
        np.testing.assert_allclose(shapely.area(units.geometry.to_numpy()), summed, rtol=1e-6, err_msg=level)


def check_rows(tables: dict[str, Any], n_jobs: int) -> None:
    jobs, blocks, prior = tables["jobs"], tables["blocks"], tables["prior"]
    assert jobs["count"].sum() == n_jobs
    assert jobs["count"].min() >= 1
    for column in ("destination_index", "origin_index"):
        assert jobs[column].between(0, len(blocks) - 1).all()
    for column in ("age", "earnings", "industry"):
        assert set(jobs[column]) == {1, 2, 3}
    keys = ["destination_index", "age", "earnings", "industry", "origin_index"]
    assert not jobs.duplicated(keys).any()
    assert (jobs[keys].sort_values(keys, kind="stable").index == jobs.index).all()
    assert set(blocks["state_id"].to_numpy()[jobs["destination_index"]]) == {"81", "82"}
    assert prior["weight"].min() > 0
    assert not prior.duplicated(["destination_tract_index", "origin_tract_index"]).any()
    for column in ("destination_tract_index", "origin_tract_index"):
        assert prior[column].between(0, len(tables["tracts"]) - 1).all()


def check_base_map(tables: dict[str, Any]) -> None:
    for table in BASE_TABLES:
        columns = [*table.columns, *(["geometry"] if table.geometry else [])]
        assert list(tables[table.name].columns) == columns
        assert (tables[table.name]["name"].str.len() > 0).all()
        if table.geometry:
            assert shapely.is_valid(tables[table.name].geometry).all()
    water, roads, landmarks = tables["water"], tables["roads"], tables["landmarks"]
    assert set(water["kind"]) == set(WATER_KINDS)
    land = shapely.union_all(tables["states"].geometry.dropna().to_numpy())
    sea = shapely.union_all(water.geometry[water["kind"].isin(["ocean", "bay"])].to_numpy())
    assert shapely.area(shapely.intersection(sea, land)) < 1e-9  # fills end at the shore
    over = shapely.get_parts(shapely.intersection(roads.geometry.to_numpy(), sea))
    assert shapely.length(over).max(initial=0.0) < 0.04  # degrees: bridges of 2.6 km
    assert set(landmarks["kind"]) <= set(LANDMARK_KINDS)
    assert set(landmarks["county_id"]) <= set(tables["counties"]["county_id"])
    lon, lat = landmarks["lon_deg"].to_numpy(), landmarks["lat_deg"].to_numpy()
    assert shapely.contains_xy(land, lon, lat).all()
    assert {1, 2} == set(roads["rank"])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
@example(seed=134217727)  # a block's place lay 3 cm from the shore, and beyond it once both were rounded
@example(seed=683)  # a road crossed an island that has no blocks, and so is no land
@example(seed=1645932375)
@example(seed=684)  # borders of a cell that nearly touched crossed once rounded
@example(seed=1749617)  # its SuperPUMAs were once grouped by weights instead of people, and one fell short
def test_any_small_country_holds_together(seed: int) -> None:
    tables, facts = generate("small", seed)
    scale = SCALES["small"]
    check_hierarchy(tables)
    check_polygons(tables)
    check_base_map(tables)
    check_rows(tables, scale.n_jobs)
    assert facts["n_jobs"] == scale.n_jobs
    assert 40 <= len(tables["tracts"]) <= 60
    assert len(commute_mi(tables)) > 1_000
    check_superpumas(tables, scale.superpuma_people)


def check_superpumas(tables: dict[str, Any], fewest: int) -> None:
    superpumas = tables["superpumas"][~tables["superpumas"]["elsewhere"]]
    assert superpumas["population"].min() >= fewest
    pumas = tables["pumas"][~tables["pumas"]["elsewhere"]]
    for unit, members in pumas.groupby("superpuma_id"):
        polygon = members.geometry.to_numpy()
        away = shapely.distance(polygon[:, None], polygon[None, :])
        apart = np.where(np.eye(len(polygon), dtype=bool), np.inf, away)
        # A PUMA on an island, as in the real ones, goes with the nearest.
        near = (
            (away < 0.0005)
            | (away <= apart.min(axis=1, initial=9.0)[:, None])
            | (away <= apart.min(axis=0, initial=9.0))
        )
        reached = np.linalg.matrix_power(near.astype(np.int64), len(polygon))[0] > 0
        assert reached.all(), unit


def test_a_metro_country_holds_together(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tables, facts = metro
    check_hierarchy(tables)
    check_polygons(tables)
    check_rows(tables, SCALES["metro"].n_jobs)
    check_superpumas(tables, 400_000)
    pumas = tables["pumas"][~tables["pumas"]["elsewhere"]]
    assert pumas["population"].min() >= 100_000
    assert 250 <= len(tables["tracts"]) <= 400
    assert 8_000 <= len(tables["blocks"]) <= 15_000
    assert facts["destination_states"] == ["81", "82"]
    assert len(tables["superpumas"]) == 6 + 2


def test_ids_are_shaped_like_the_census_bureaus(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    blocks = metro[0]["blocks"]
    here = blocks[~blocks["elsewhere"]]
    assert here["block_id"].str.fullmatch(r"8[1-5]\d{13}").all()
    assert (here["block_id"].str[:11] == here["tract_id"]).all()
    assert (here["block_id"].str[:5] == here["county_id"]).all()
    assert (here["block_id"].str[:2] == here["state_id"]).all()
    assert (here["block_id"].str[:12] == here["layer_bgrp"]).all()
    assert here["puma_id"].str.fullmatch(r"8[1-5]\d{5}").all()


def test_every_layer_unit_has_a_name(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tables, facts = metro
    layers = tables["layers"]
    assert not layers.duplicated(["layer", "unit_id"]).any()
    assert {layer["column"] for layer in facts["layers"]} == {
        column for column in tables["blocks"] if column.startswith("layer_")
    }
    for layer in facts["layers"]:
        used = set(tables["blocks"][layer["column"]]) - {""}
        assert used == set(layers.loc[layers["layer"] == layer["layer"], "unit_id"]), layer
        assert len(used) == layer["n_units"] >= 4


def test_commutes_reach_every_distance(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tables, _ = metro
    count = tables["jobs"]["count"].to_numpy()
    away = commute_mi(tables)
    edges = [0, 1, 4, 10, 25, 100, 200, 500, np.inf]
    bands = [count[(away > low) & (away <= high)].sum() for low, high in pairwise(edges)]
    assert min(bands) > 500
    assert count[away == 0].sum() > 1_000
    assert 0.01 < count[away > 100].sum() / count.sum() < 0.05
    assert count[away > 500].sum() / count.sum() > 0.002
    homes = tables["blocks"]["elsewhere"].to_numpy()[tables["jobs"]["origin_index"]]
    assert count[homes].sum() > 500


def test_one_interstate_joins_the_twin_cities(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tables, _ = metro
    check_base_map(tables)
    roads, landmarks = tables["roads"], tables["landmarks"]
    interstates = shapely.union_all(roads.geometry[roads["rank"] == 1].to_numpy())
    stations = landmarks[landmarks["name"].str.endswith("Union Station")]
    away = shapely.distance(interstates, shapely.points(stations["lon_deg"], stations["lat_deg"]))
    assert len(away) == 5
    assert (away < 0.05).all()


def test_many_destinations_are_tiny(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    size = metro[0]["jobs"].groupby("destination_index")["count"].sum()
    assert (size < 10).sum() > 1_500
    assert size.max() > 1_000


def test_segments_go_with_each_other_and_with_distance(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    jobs = metro[0]["jobs"]
    away = np.minimum(commute_mi(metro[0]), 60.0)
    mean = [
        np.average(away[jobs["earnings"] == band], weights=jobs["count"][jobs["earnings"] == band])
        for band in (1, 2, 3)
    ]
    assert mean[0] + 1 < mean[1] < mean[2] - 1
    segment = segment_code(jobs["age"], jobs["earnings"], jobs["industry"])
    joint = np.bincount(segment, weights=jobs["count"], minlength=N_SEGMENTS).reshape(3, 3, 3)
    assert joint.min() > 0
    share = joint / joint.sum()
    apart = share.sum((1, 2))[:, None, None] * share.sum((0, 2))[:, None] * share.sum((0, 1))
    assert np.abs(share - apart).sum() > 0.15


def test_last_year_has_gaps_far_away(metro: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tables, _ = metro
    tracts, prior = tables["tracts"], tables["prior"]
    lon, lat = tracts["lon_deg"].to_numpy(), tracts["lat_deg"].to_numpy()
    work = np.unique(prior["destination_tract_index"])
    away = distance_mi(lon[work, None], lat[work, None], lon, lat)
    seen = np.zeros((len(work), len(tracts)), bool)
    seen[np.searchsorted(work, prior["destination_tract_index"]), prior["origin_tract_index"]] = True
    assert seen[away < 5].mean() > 0.8
    assert 0.001 < seen[away > 100].mean() < 0.3
    assert prior["weight"].sum() == pytest.approx(SCALES["metro"].n_jobs, rel=0.1)


def test_a_state_of_many_towns_nests_and_names_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    full = SCALES["state"]
    smaller = replace(
        full,
        people={state: people // 200 for state, people in full.people.items()},
        blocks={state: max(blocks // 40, 60) for state, blocks in full.blocks.items()},
        tract_people={state: people // 20 for state, people in full.tract_people.items()},
        n_jobs=25_000,
        puma_people=500,
        superpuma_people=2_000,
    )
    monkeypatch.setitem(SCALES, "state", smaller)
    tables, facts = generate("state", 1)
    check_hierarchy(tables)
    assert facts["n_jobs"] == 25_000
    assert not any("one resident in four" in note for note in facts["notes"])
    layers = tables["layers"]
    towns = layers.loc[layers["layer"] == "stplc", "name"]
    assert len(towns) > 100
    assert towns.is_unique
    assert tables["counties"]["state_id"].isin(["81", "82"]).sum() == sum(full.counties[:2])


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    facts = write_demo(tmp_path / "a", size="small", seed=5)
    write_demo(tmp_path / "b", size="small", seed=5)
    write_demo(tmp_path / "c", size="small", seed=6)
    first, again, other = (open_store(tmp_path / name, "dataset").manifest for name in "abc")
    assert first == again
    assert first["commitment_key"] == facts["commitment_key"]
    assert len(bytes.fromhex(first["commitment_key"])) == 32
    assert first["commitment_key"] != other["commitment_key"]
    different = {name for name in first["files"] if first["files"][name] != other["files"][name]}
    tables = (*TABLES["dataset"], *OPTIONAL_TABLES["dataset"])
    published = {"characteristics.parquet", "characteristic_counts.parquet"}  # a made-up country has none
    assert different == {f"{table.name}.parquet" for table in tables} - published


def test_progress_is_reported_and_ends() -> None:
    seen: list[tuple[str, int, int]] = []
    generate("small", 1, lambda *step: seen.append(step))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1] == seen[-1][2]


@pytest.mark.parametrize(("size", "seed"), [("tiny", 1), ("small", -1)])
def test_impossible_requests_are_refused_in_one_line(tmp_path: Path, size: str, seed: int) -> None:
    with pytest.raises(GeodataError) as refusal:
        write_demo(tmp_path / "d", size=size, seed=seed)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "d").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(StoreError, match="already exists"):
        write_demo(tmp_path / "d", size="small", seed=1)


@given(n_places=st.integers(1, 60), n_parts=st.integers(1, 12), seed=SEEDS)
def test_bisected_parts_are_none_of_them_empty(n_places: int, n_parts: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_parts = min(n_parts, n_places)
    part = bisect_places(rng.normal(size=(n_places, 2)), rng.random(n_places), n_parts)
    assert set(part) == set(range(n_parts))


def test_bisected_parts_weigh_about_the_same() -> None:
    rng = np.random.default_rng(1)
    weight = rng.random(4_000)
    part = bisect_places(rng.normal(size=(4_000, 2)), weight, 7)
    np.testing.assert_allclose(np.bincount(part, weights=weight), weight.sum() / 7, rtol=0.02)


def test_names_are_handed_out_once() -> None:
    names = Names(np.random.default_rng(1))
    given = [names.state() for _ in range(9)] + [names.town(coast=n % 2 == 0) for n in range(300)]
    given += [names.name_neighbor("Heronmouth") for _ in range(14)]
    assert len(set(given)) == len(given)
    assert join_stem("Moss", "stead") == "Mosstead"
    codes = postal_codes(["Fenland", "Fernmark", "Fellmere", "Fe"])
    assert len(set(codes)) == 4
    assert all(len(code) == 2 for code in codes)


def test_workers_are_the_jobs_one_by_one(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset")
    jobs, workers = store.table("jobs"), store.table("workers")
    keys = [name for name in jobs.columns if name != "count"]
    counted = workers.groupby(keys, as_index=False).size().rename(columns={"size": "count"})
    again = counted.sort_values(["destination_index", "age", "earnings", "industry", "origin_index"])
    assert again[list(jobs.columns)].to_numpy().tolist() == jobs.to_numpy().tolist()
    assert workers[keys].drop_duplicates().to_numpy().tolist() == jobs[keys].to_numpy().tolist()


def test_attributes_of_workers_go_with_home_work_and_each_other(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset")
    workers = store.table("workers")
    schema = WorkerSchema.from_facts(store.manifest)
    assert list(workers.columns[5:]) == list(schema.domains)
    assert all(workers[name].between(0, size - 1).all() for name, size in schema.domains.items())
    for derived, attribute in schema.derived_from.items():
        assert (np.array(attribute.derives[derived])[workers[attribute.name]] == workers[derived]).all()
    not_available = schema.domains["education"] - 1
    assert ((workers["education"] == not_available) == (workers["age"] == 1)).all()
    tracts = store.table("blocks")["tract_index"].to_numpy()
    seen = {
        "race": tracts[workers["origin_index"]],
        "firm_size": tracts[workers["destination_index"]],
        "sex": workers["naics_sector"],
        "education": workers["earnings"],
    }
    for name, beside in seen.items():
        counts = pandas.crosstab(workers[name].to_numpy(), np.asarray(beside)).to_numpy()
        # Of a table whose rows and columns are independent, the statistic is about its degrees of freedom.
        statistic, _, freedom, _ = chi2_contingency(counts)
        assert statistic > 1.5 * freedom, name
