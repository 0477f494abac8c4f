"""The generated nation, at a size that takes a second: it nests, adds up, is sorted, and a seed decides all of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.demo import generate
from geodata.demo.names import postal_codes
from geodata.demo.nation import NATION, NationScale, write_nation
from geodata.demo.nation.division import Areas, divided
from geodata.demo.nation.tract_grids import rectangles_wkb, shared_out
from geodata.demo.nation.units import make_units
from geodata.distance import distance_mi
from geodata.errors import GeodataError, StoreError
from geodata.schema import CRS, segment_code
from geodata.store import Store, open_store
from tests.commands.running import run_here

TINY = NationScale(
    size="nation",
    extent_deg=(-100.0, 38.0, -97.0, 40.0),
    n_cities=6,
    n_states=3,
    n_places=1_700,
    people_per_place=165,
    superpuma_people=30_000,
    puma_people=8_000,
    tract_people=4_583,
    tract_blocks=20,
    n_jobs=20_000,
)
ABOVE = {
    "tracts": ("tract", "puma", "superpuma", "county", "state"),
    "pumas": ("puma", "superpuma", "state"),
    "superpumas": ("superpuma", "state"),
    "counties": ("county", "state"),
    "states": ("state",),
}


@pytest.fixture(scope="module")
def nation(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("nation") / "tiny.dataset"
    write_nation(path, seed=1, scale=TINY)
    return open_store(path, "dataset")


def test_it_has_a_base_map(nation: Store) -> None:
    for name in ("water", "roads", "rails", "landmarks"):
        assert len(nation.table(name)) > 0
    assert set(nation.table("landmarks")["county_id"]) <= set(nation.table("counties")["county_id"])
    assert set(nation.table("water")["kind"]) == {"ocean", "river"}


def here(table: Any) -> Any:
    assert table["elsewhere"].tolist() == [False] * (len(table) - 1) + [True]
    return table[:-1]


def test_units_nest_and_add_up(nation: Store) -> None:
    blocks = nation.table("blocks")
    order = list(zip(blocks["tract_id"], blocks["block_id"], strict=True))
    assert order == sorted(order)
    assert blocks["block_id"].is_unique
    for name, levels in ABOVE.items():
        units, key = nation.table(name), f"{levels[0]}_id"
        assert units[key].is_monotonic_increasing
        assert units[key].is_unique
        assert units["name"].str.len().min() > 2
        people = blocks.groupby(key)["population"].sum()
        assert (units.set_index(key)["population"] == people).all()
        members = blocks[[f"{level}_id" for level in levels]].drop_duplicates()
        assert len(members) == len(units)
        joined = units.merge(members, on=key, suffixes=("", "_of_blocks"))
        for level in levels[1:]:
            assert (joined[f"{level}_id"] == joined[f"{level}_id_of_blocks"]).all()
    tracts = nation.table("tracts")
    assert (tracts["tract_id"].to_numpy()[blocks["tract_index"]] == blocks["tract_id"]).all()
    for level in ("puma", "superpuma"):
        ids = nation.table(f"{level}s")[f"{level}_id"].to_numpy()
        assert (ids[tracts[f"{level}_index"]] == tracts[f"{level}_id"]).all()
    assert here(blocks)["population"].sum() == TINY.n_people


def test_thresholds_are_met(nation: Store) -> None:
    assert here(nation.table("superpumas"))["population"].min() >= TINY.superpuma_people
    assert here(nation.table("pumas"))["population"].min() >= TINY.puma_people
    assert len(nation.table("states")) == TINY.n_states + 1
    assert 50 <= len(nation.table("tracts")) <= 80


def test_ids_are_shaped_like_the_census_bureaus(nation: Store) -> None:
    blocks = here(nation.table("blocks"))
    assert blocks["block_id"].str.fullmatch(r"0[1-3]\d{13}").all()
    assert (blocks["block_id"].str[:11] == blocks["tract_id"]).all()
    assert (blocks["block_id"].str[:5] == blocks["county_id"]).all()
    assert (blocks["block_id"].str[:12] == blocks["layer_bgrp"]).all()
    assert blocks["puma_id"].str.fullmatch(r"0[1-3]\d{5}").all()
    assert blocks["superpuma_id"].str.fullmatch(r"0[1-3]S\d{3}").all()
    layers = nation.table("layers")
    assert sorted(layers["unit_id"]) == sorted(set(blocks["layer_bgrp"]))
    assert nation.manifest["layers"][0]["n_units"] == len(layers)


def test_cells_tile_their_tracts(nation: Store) -> None:
    blocks, cells = here(nation.table("blocks")), nation.table("cells")
    assert cells["block_index"].tolist() == list(range(len(blocks)))
    assert cells.crs == CRS
    polygon = cells.geometry.to_numpy()
    assert shapely.is_valid(polygon).all()
    assert shapely.is_ccw(shapely.get_exterior_ring(polygon)).all()
    assert shapely.contains_xy(polygon, blocks["lon_deg"], blocks["lat_deg"]).all()
    for name, levels in ABOVE.items():
        units = here(nation.table(name))
        number = np.searchsorted(
            units[f"{levels[0]}_id"].to_numpy(str), blocks[f"{levels[0]}_id"].to_numpy(str)
        )
        outer = units.geometry.to_numpy()
        assert shapely.covers(outer[number], polygon).all()
        area = np.bincount(number, weights=shapely.area(polygon))
        np.testing.assert_allclose(area, shapely.area(outer), rtol=1e-9, err_msg=name)
        assert nation.table(name).geometry.isna().sum() == 1
    west, south, east, north = TINY.extent_deg
    assert shapely.area(polygon).sum() == pytest.approx((east - west) * (north - south))


def test_jobs_are_sorted_and_each_row_is_another(nation: Store) -> None:
    jobs, n_blocks = nation.table("jobs"), len(nation.table("blocks"))
    assert jobs["count"].sum() == TINY.n_jobs == nation.manifest["n_jobs"]
    assert jobs["count"].min() >= 1
    segment = segment_code(jobs["age"], jobs["earnings"], jobs["industry"]).to_numpy(np.int64)
    key = (jobs["destination_index"].to_numpy(np.int64) * 27 + segment) * n_blocks + jobs["origin_index"]
    assert (np.diff(key) > 0).all()
    assert jobs["destination_index"].between(0, n_blocks - 2).all()
    assert jobs["origin_index"].between(0, n_blocks - 1).all()
    assert set(segment) == set(range(27))
    away = jobs["origin_index"] == n_blocks - 1
    assert nation.manifest["elsewhere"] == {"99": int(jobs["count"][away].sum())}
    people = nation.table("blocks")["population"].to_numpy()
    assert people[jobs["origin_index"]].min() > 0
    assert nation.table("prior").empty


def test_many_workplaces_are_small_and_most_homes_near(nation: Store) -> None:
    jobs, blocks = nation.table("jobs"), nation.table("blocks")
    size = jobs.groupby("destination_index")["count"].sum()
    assert 0.1 < len(size) / len(blocks) < 0.25
    assert (size < 10).mean() > 0.15
    assert size.max() > 10 * size.median()
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    work, home = jobs["destination_index"], jobs["origin_index"]
    away = distance_mi(lon[work], lat[work], lon[home], lat[home])
    everywhere = distance_mi(lon[work], lat[work], np.roll(lon[home], 999), np.roll(lat[home], 999))
    assert np.median(away) < 0.6 * np.median(everywhere)
    by_earnings = [np.median(away[jobs["earnings"] == band]) for band in (1, 2, 3)]
    assert by_earnings == sorted(by_earnings)


def test_seed_decides_every_byte_and_threads_none(tmp_path: Path) -> None:
    facts = write_nation(tmp_path / "a", seed=5, scale=TINY, threads=1)
    write_nation(tmp_path / "b", seed=5, scale=TINY, threads=3)
    write_nation(tmp_path / "c", seed=6, scale=TINY)
    first, again, other = (open_store(tmp_path / name, "dataset").manifest for name in "abc")
    assert first == again
    assert first["commitment_key"] == facts["commitment_key"] != other["commitment_key"]
    same = {name for name in first["files"] if first["files"][name] == other["files"][name]}
    assert same == {"prior.parquet"}


def test_small_parts_make_the_same_kind_of_nation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks of tracts and of jobs, as the real size has, join without a seam."""
    monkeypatch.setattr("geodata.demo.nation._TRACTS_AT_ONCE", 7)
    monkeypatch.setattr("geodata.demo.nation._JOBS_AT_ONCE", 1_500)
    write_nation(tmp_path / "d", seed=1, scale=TINY)
    store = open_store(tmp_path / "d", "dataset")
    test_units_nest_and_add_up(store)
    test_ids_are_shaped_like_the_census_bureaus(store)
    test_cells_tile_their_tracts(store)
    test_jobs_are_sorted_and_each_row_is_another(store)


def test_synthesize_and_certify_take_it(nation: Store, tmp_path: Path) -> None:
    release = tmp_path / "tiny.release"
    done = run_here("synthesize", nation.path, release, "--test-key", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["n_workers"] == TINY.n_jobs
    checked = run_here("certify", release)
    assert checked.code == 0, checked.err


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    def stop(stage: str, _done: int, _total: int) -> None:
        if stage == "Sending people to work":
            assert any(tmp_path.rglob("cells.parquet"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_nation(tmp_path / "d", seed=1, scale=TINY, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_and_a_nation_is_not_held_in_memory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(StoreError, match="already exists"):
        write_nation(tmp_path / "d", seed=1)
    with pytest.raises(GeodataError, match="choose small or metro"):
        generate("nation", 1)


def test_any_seed_meets_the_thresholds() -> None:
    scale = replace(NATION, n_places=120_000, people_per_place=2_750, tract_people=90_000)
    for seed in range(3):
        units = make_units(scale, np.random.default_rng(seed))
        assert np.bincount(units.superpuma, weights=units.people).min() >= scale.superpuma_people
        assert np.bincount(units.puma, weights=units.people).min() >= scale.puma_people
        assert units.people.sum() == NATION.n_people
        assert max(np.bincount(units.state_of[level]).max() for level in ("county", "superpuma")) < 999
        assert 700 <= len(units.box["superpuma"]) <= 800
        assert 2_200 <= len(units.box["puma"]) <= 2_600


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_areas=st.integers(1, 4), most=st.integers(1, 9))
def test_divided_areas_tile_what_they_divide(seed: int, n_areas: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    box = np.array([[10.0 * area, 40.0, 10.0 * area + 9.0, 44.0] for area in range(n_areas)])
    n_places = rng.integers(most, 200, n_areas)
    place = np.vstack([rng.uniform(b[:2], b[2:], (n, 2)) for b, n in zip(box, n_places, strict=True)])
    whole = Areas(place=place, ptr=np.append(0, np.cumsum(n_places)), box=box)
    n_parts = rng.integers(1, most + 1, n_areas)
    weight = rng.uniform(0.2, 1.0, n_parts.sum())
    parts = divided(whole, n_parts, weight)
    outer = np.repeat(np.arange(n_areas), n_parts)
    assert (parts.n_places >= 1).all()
    assert (np.bincount(outer, weights=parts.n_places) == n_places).all()
    assert (np.sort(parts.place, axis=0) == np.sort(place, axis=0)).all()
    polygon = shapely.box(*parts.box.T)
    assert shapely.covers(shapely.box(*box.T)[outer], polygon).all()
    np.testing.assert_allclose(np.bincount(outer, weights=shapely.area(polygon)), 36.0)
    inside = parts.box[np.repeat(np.arange(outer.size), parts.n_places)]
    assert (parts.place >= inside[:, :2] - 1e-6).all()
    assert (parts.place <= inside[:, 2:] + 1e-6).all()
    # Every cut is off by less than a place, and a part is the result of a few cuts.
    wanted = weight / np.bincount(outer, weights=weight)[outer] * n_places[outer]
    assert (np.abs(parts.n_places - np.maximum(wanted, 1)) <= most).all()


@given(
    total=st.lists(st.integers(0, 10_000), min_size=1, max_size=6),
    seed=st.integers(0, 2**32 - 1),
)
def test_shared_out_meets_every_total(total: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 9, len(total))
    weight = rng.lognormal(0.0, 2.0, size.sum()) + 1e-9
    group = np.repeat(np.arange(size.size), size)
    result = shared_out(np.array(total), weight, np.cumsum(size) - size)
    assert (result >= 0).all()
    assert (np.bincount(group, weights=result) == total).all()
    expected = weight / np.bincount(group, weights=weight)[group] * np.array(total)[group]
    assert np.abs(result - expected).max() <= 1.0 + 1e-6


def test_rectangles_are_written_as_shapely_reads_them() -> None:
    box = np.array([[-100.5, 38.25, -100.25, 38.5], [-99.0, 39.0, -98.0, 39.5]])
    found = shapely.from_wkb(rectangles_wkb(box).to_numpy(zero_copy_only=False))
    assert shapely.equals(found, shapely.box(*box.T)).all()


def test_there_are_postal_codes_for_any_number_of_states() -> None:
    codes = postal_codes(["Aa"] * 26)
    assert len(set(codes)) == 26
