"""The real files of Rhode Island, Connecticut and Massachusetts beside the checkout, where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
import shapely

from benchmarks.ordinary_tables import found_in, workers_of
from geodata.importing.importing import Imported, import_dataset, write_dataset
from geodata.sources.lodes import COUNTS
from geodata.sources.recognize import sources_in
from geodata.store.store import open_store
from mapapp.kinds.records.measure.groups import group_sizes
from mapapp.show.exports.lodes import write_lodes

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (DATA / "lodes").is_dir(), reason="no real Census files in ../shared/data"),
]


@pytest.fixture(scope="session")
def rhode_island() -> Imported:
    return import_dataset(sources_in(DATA)[0], commitment_key="ab" * 32)


def test_every_file_is_recognised() -> None:
    sources, unknown = sources_in(DATA)
    counts = {role: len(paths) for role, paths in sources.roles().items()}
    assert counts == {
        "od": 4, "crosswalks": 3, "tracts": 2, "blocks": 0, "tract_puma": 1, "puma_names": 1, "population": 2,
        "prior_flows": 1, "base_map": 0, "characteristics": 0, "checksums": 0, "versions": 0, "workers": 0,
        "worker_schema": 0,
    }  # fmt: skip
    assert {path.name for path in unknown} >= {"LODESTechDoc7.5.pdf", "adult.data.gz"}


def test_totals(rhode_island: Imported) -> None:
    jobs, blocks = rhode_island.tables["jobs"], rhode_island.tables["blocks"]
    home_state = blocks["state_id"].to_numpy(dtype=object)[jobs["origin_index"]]
    away = blocks["elsewhere"].to_numpy()[jobs["origin_index"]]
    assert jobs["count"].sum() == 406_052 + 70_737
    assert jobs["count"][away].sum() == sum(rhode_island.facts["elsewhere"].values()) == 8_256
    assert not np.isin(home_state[away], ["09", "25", "44"]).any()
    assert rhode_island.facts["outflow"] == {"09": 11_247, "25": 84_217}


def test_all_published_margins_are_recovered(rhode_island: Imported) -> None:
    """By pair of blocks for homes inside, by workplace and state for homes elsewhere."""
    files = [DATA / "lodes" / f"ri_od_{part}_JT00_2019.csv.gz" for part in ("main", "aux")]
    published = pandas.concat(
        [pandas.read_csv(path, dtype={"w_geocode": "str", "h_geocode": "str"}) for path in files]
    )
    blocks, jobs = rhode_island.tables["blocks"], rhode_island.tables["jobs"]
    known = set(blocks.loc[~blocks["elsewhere"], "block_id"])
    home = published["h_geocode"]
    published["home"] = home.where(home.isin(known), home.str[:2])
    wanted = published.groupby(["w_geocode", "home"], sort=True)[list(COUNTS)].sum()
    count = jobs["count"].to_numpy(np.int64)
    block = blocks["block_id"].to_numpy(dtype=object)
    columns = {"S000": count}
    for name, letter in (("age", "A"), ("earnings", "E"), ("industry", "I")):
        columns |= {f"S{letter}0{k}": count * (jobs[name].to_numpy() == k) for k in (1, 2, 3)}
    made = pandas.DataFrame(columns)
    made["w_geocode"], made["home"] = block[jobs["destination_index"]], block[jobs["origin_index"]]
    found = made.groupby(["w_geocode", "home"], sort=True)[list(COUNTS)].sum()
    assert found.index.equals(wanted.index)
    assert (found.to_numpy() == wanted.to_numpy()).all()


def test_every_tract_has_a_polygon_and_cells_partition_it(rhode_island: Imported) -> None:
    tracts, blocks, cells = (rhode_island.tables[name] for name in ("tracts", "blocks", "cells"))
    inside = ~tracts["elsewhere"].to_numpy()
    assert (tracts["derived"] == (tracts["state_id"] == "09") & inside).all()
    assert tracts["derived"].sum() == 833
    assert len(cells) == (~blocks["elsewhere"]).sum() == 250_267
    cell = np.asarray(cells.geometry.array, dtype=object)
    polygon = np.asarray(tracts.geometry.array, dtype=object)
    assert (shapely.area(cell) > 0).all()
    assert shapely.is_valid(cell).all()
    assert shapely.is_valid(polygon[inside]).all()
    owner = blocks["tract_index"].to_numpy()[cells["block_index"]]
    together = np.bincount(owner, weights=shapely.area(cell), minlength=len(tracts))[inside]
    assert np.allclose(together, shapely.area(polygon[inside]), rtol=1e-9, atol=0)
    for position in np.flatnonzero(inside)[::100]:
        own = shapely.union_all(cell[owner == position])
        assert own.symmetric_difference(polygon[position]).area < 1e-9 * polygon[position].area


def test_people_and_superpumas(rhode_island: Imported) -> None:
    t = rhode_island.tables
    for name in ("blocks", "tracts", "pumas", "superpumas", "counties", "states"):
        inside = t[name][~t[name]["elsewhere"]]
        assert inside["population"].sum() == 11_174_293  # the 2010 census counts of the three states
    inside = t["superpumas"][~t["superpumas"]["elsewhere"]]
    assert (inside["population"] >= 400_000).all()
    assert inside.groupby("state_id").size().to_dict() == {"09": 7, "25": 13, "44": 2}
    assert (inside["superpuma_id"].str[:2] == inside["state_id"]).all()


def test_workers_in_large_groups_are_those_of_the_method(rhode_island: Imported) -> None:
    """Of all workers, by PUMA of work, PUMA of home, industry, earnings, and age."""
    t = rhode_island.tables
    puma = t["tracts"]["puma_id"].to_numpy()[
        t["tracts"]
        .reset_index(names="at")
        .set_index("tract_id")["at"]
        .loc[t["blocks"]["tract_id"]]
        .to_numpy()
    ]
    jobs = t["jobs"].loc[t["jobs"].index.repeat(t["jobs"]["count"])]
    places = [puma[jobs[name].to_numpy()] for name in ("destination_index", "origin_index")]
    columns = [np.unique(each, return_inverse=True)[1] for each in places]
    columns += [jobs[name].to_numpy() - 1 for name in ("industry", "earnings", "age")]
    codes = np.stack(columns, axis=1).astype(np.int32)
    found = group_sizes(codes, tuple((codes.max(axis=0) + 1).tolist()))
    shares = [one.share_in([500, 1_000, 2_000]).round(2).tolist() for one in found[2:6]]
    assert shares == [[0.93, 0.91, 0.85], [0.88, 0.81, 0.69], [0.77, 0.62, 0.45], [0.54, 0.38, 0.20]]


def test_membership_is_the_crosswalks(rhode_island: Imported) -> None:
    """Two blocks of Rhode Island's crosswalk lie in Massachusetts; five of others in states not imported."""
    blocks = rhode_island.tables["blocks"].set_index("block_id")
    assert blocks.loc["440070169002029", "tract_id"] == "25005632100"
    assert blocks.loc["440070101023030", "county_id"] == "25005"
    here = blocks[~blocks["elsewhere"]]
    assert set(here["state_id"]) == {"09", "25", "44"}
    assert "5 blocks that the crosswalk puts into a state" in " ".join(rhode_island.facts["notes"])


def test_an_export_in_the_lodes_layout_gives_the_published_rows_back(
    rhode_island: Imported, tmp_path: Path
) -> None:
    """The published files as if they were a release: every row is as published, except homes elsewhere."""
    write_dataset(tmp_path / "ri.dataset", rhode_island)
    store = open_store(tmp_path / "ri.dataset", "dataset", verify=False)
    (tmp_path / "ri.dataset" / "certificate.json").write_text("{}", encoding="utf-8")
    (tmp_path / "out").mkdir()
    write_lodes(store, tmp_path / "out")
    imported_states = {"44", "09", "25"}
    for name in ("ri_od_main_JT00_2019.csv.gz", "ri_od_aux_JT00_2019.csv.gz"):
        theirs = pandas.read_csv(DATA / "lodes" / name, dtype=str)
        ours = pandas.read_csv(tmp_path / "out" / name, dtype=str)
        outside = ~theirs["h_geocode"].str[:2].isin(imported_states)
        theirs.loc[outside, "h_geocode"] = theirs.loc[outside, "h_geocode"].str[:2] + "0" * 13
        keys, counts = ["w_geocode", "h_geocode"], list(COUNTS)
        theirs[counts], ours[counts] = theirs[counts].astype(int), ours[counts].astype(int)
        wanted = theirs.groupby(keys)[counts].sum()
        # Two blocks of the crosswalk are in tracts of Massachusetts: a release has them in another place.
        found = ours.set_index(keys)[counts].sort_index()
        pandas.testing.assert_frame_equal(found, wanted, check_dtype=False)


@pytest.mark.parametrize(
    ("unit", "home", "ties", "expected"),
    [
        ("town", "same town", "first", "4 351 6 10 0.69|0 → 2|0 → 0|0 → 0|0 → 2|8 → 7"),
        ("town", "outside the state", "first", "11 351 24 30 0.48|0 → 8|0 → 0|0 → 0|3 → 7|22 → 24"),
        ("tract", "same town", "first", "171 2169 411 365 0.77|68 → 198|22 → 41|46 → 75|149 → 182|368 → 374"),
        ("tract", "outside the state", "first", "197 2169 566 407 0.75|103 → 314|38 → 86|80 → 154|242 → 287|403 → 414"),
        ("tract", "outside the state", "any", "197 2169 566 407 0.85|103 → 264|38 → 64|80 → 117|242 → 264|403 → 416"),
    ],
)  # fmt: skip
def test_what_ordinary_suppression_gives_away(
    rhode_island: Imported, unit: str, home: str, ties: str, expected: str
) -> None:
    """The table in docs/replications/rhode-island.md."""
    tables = rhode_island.tables
    workers = workers_of(tables["jobs"], tables["blocks"], "layer_ctycsub")
    found = found_in(workers, unit, home, ties)
    assert " ".join(map(str, found[:5])) + "|" + "|".join(map(str, found[5:])) == expected
