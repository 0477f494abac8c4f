"""A whole import from tiny source folders: what the tables say, and that nothing depends on chance."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random
from typing import Any

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from geodata.errors import SourceFileError, StoreError
from geodata.importing.importing import Imported, import_dataset, write_dataset
from geodata.sources.crosswalk import read_crosswalks
from geodata.sources.recognize import Sources, sources_in
from geodata.store.schema import TABLES
from geodata.store.store import open_store
from tests.geodata import samples

KEY = "0f" * 32


def imported(directory: Path, **options: Any) -> Imported:
    return import_dataset(sources_in(directory)[0], commitment_key=KEY, **options)


@pytest.fixture(scope="module")
def lodes_7(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return imported(samples.write_sources(tmp_path_factory.mktemp("lodes7"), lodes=7))


@pytest.fixture(scope="module")
def lodes_8(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return imported(samples.write_sources(tmp_path_factory.mktemp("lodes8"), lodes=8))


@pytest.fixture(params=["lodes_7", "lodes_8"])
def either(request: pytest.FixtureRequest) -> Imported:
    found: Imported = request.getfixturevalue(request.param)
    return found


def test_tables_follow_the_schema_and_can_be_stored(either: Imported, tmp_path: Path) -> None:
    write_dataset(tmp_path / "ri.dataset", either)
    store = open_store(tmp_path / "ri.dataset", "dataset")
    assert store.manifest["n_jobs"] == samples.N_MAIN_JOBS + samples.N_AUX_JOBS
    for table in TABLES["dataset"]:
        assert len(store.table(table.name)) == len(either.tables[table.name])


def test_every_job_is_there(either: Imported) -> None:
    jobs = either.tables["jobs"]
    blocks = either.tables["blocks"]
    assert jobs["count"].sum() == samples.N_MAIN_JOBS + samples.N_AUX_JOBS
    home_state = blocks["state_id"].to_numpy()[jobs["origin_index"]]
    assert jobs["count"][home_state == "36"].sum() == samples.N_ELSEWHERE_JOBS
    keys = ["destination_index", "age", "earnings", "industry", "origin_index"]
    assert not jobs.duplicated(keys).any()
    assert (jobs[keys].sort_values(keys, kind="stable").index == jobs.index).all()
    assert (blocks["state_id"].to_numpy()[jobs["destination_index"]] == "44").all()


def test_margins_of_a_row_of_several_jobs_are_recovered(lodes_7: Imported) -> None:
    jobs, block = lodes_7.tables["jobs"], lodes_7.tables["blocks"]["block_id"].to_numpy(dtype=object)
    pair = jobs[
        (block[jobs["destination_index"]] == samples.block_id(samples.RI_TRACTS[1], 2))
        & (block[jobs["origin_index"]] == samples.block_id(samples.RI_TRACTS[0], 2))
    ]
    margins = [pair.groupby(name)["count"].sum().to_dict() for name in ("age", "earnings", "industry")]
    assert margins == [{1: 2, 2: 4, 3: 1}, {1: 3, 2: 3, 3: 1}, {2: 2, 3: 5}]


def test_positions_agree_with_identifiers(either: Imported) -> None:
    t = either.tables
    for part, whole, key in (
        ("blocks", "tracts", "tract"),
        ("tracts", "pumas", "puma"),
        ("tracts", "superpumas", "superpuma"),
    ):
        positions = t[part][f"{key}_index"].to_numpy()
        assert (t[whole][f"{key}_id"].to_numpy()[positions] == t[part][f"{key}_id"].to_numpy()).all()
    order = t["blocks"].sort_values(["tract_id", "block_id"]).index
    assert (order == np.arange(len(order))).all()
    for name, key in (
        ("tracts", "tract_id"),
        ("pumas", "puma_id"),
        ("counties", "county_id"),
        ("states", "state_id"),
    ):
        assert t[name][key].is_monotonic_increasing
        assert t[name][key].is_unique


def test_people_add_up_at_every_level(either: Imported) -> None:
    t = either.tables
    totals = {
        name: int(t[name].loc[~t[name]["elsewhere"], "population"].sum())
        for name in t
        if "population" in t[name]
    }
    assert set(totals) == {"blocks", "tracts", "pumas", "superpumas", "counties", "states"}
    assert set(totals.values()) == {sum(1001 + 200 * k for k in range(5))}
    first = t["blocks"].loc[t["blocks"]["tract_id"] == samples.RI_TRACTS[0], "population"]
    assert first.tolist() == [134, 133, 133, 201, 200, 200]


def test_elsewhere_units_are_all_other_states_even_empty_ones(either: Imported) -> None:
    t = either.tables
    away = t["blocks"][t["blocks"]["elsewhere"]]
    assert len(away) == 56 - 2
    assert (away["block_id"] == away["state_id"]).all()
    assert (away["superpuma_id"] == away["state_id"]).all()
    for name in ("tracts", "pumas", "superpumas", "counties", "states"):
        outside = t[name][t[name]["elsewhere"]]
        assert len(outside) == 54
        assert outside.geometry.isna().all()
        assert t[name][~t[name]["elsewhere"]].geometry.notna().all()
    assert either.facts["elsewhere"] == {"36": samples.N_ELSEWHERE_JOBS}


def test_outflow_is_told_and_not_imported(either: Imported) -> None:
    assert either.facts["outflow"] == {"09": samples.N_OUTFLOW_JOBS}
    assert "outflow: jobs of RI residents in CT are not imported" in " ".join(either.facts["notes"])


def test_cells_partition_tracts_and_tracts_without_polygons_get_theirs(either: Imported) -> None:
    t = either.tables
    tract = t["tracts"][~t["tracts"]["elsewhere"]]
    assert tract["derived"].tolist() == [True, True, False, False, False]
    cell = np.asarray(t["cells"].geometry.array, dtype=object)
    owner = t["blocks"]["tract_index"].to_numpy()[t["cells"]["block_index"]]
    assert not shapely.is_empty(cell).any()
    for position, polygon in tract.geometry.items():
        own = cell[owner == position]
        assert shapely.area(own).sum() == pytest.approx(polygon.area, rel=1e-9)
        assert shapely.union_all(own).symmetric_difference(polygon).area < 1e-9 * polygon.area


def test_layers_keep_every_column_of_the_crosswalk(lodes_7: Imported, lodes_8: Imported) -> None:
    columns = {str(c).removeprefix("layer_") for c in lodes_7.tables["blocks"] if str(c).startswith("layer_")}
    wanted = {"bgrp", "cbsa", "zcta", "stplc", "ctycsub", "stcd", "stsldl", "stsldu", "tsub", "mil", "stwib"}
    assert columns == wanted | {"necta"}
    assert {
        str(c).removeprefix("layer_") for c in lodes_8.tables["blocks"] if str(c).startswith("layer_")
    } == wanted
    assert [fact["layer"] for fact in lodes_8.facts["layers"]] == [
        "bgrp", "cbsa", "zcta", "stplc", "ctycsub", "stcd", "stsldl", "stsldu", "stwib"
    ]  # fmt: skip
    blocks, layers = lodes_7.tables["blocks"], lodes_7.tables["layers"]
    assert set(blocks["layer_stcd"]) == {"", "4401", "4402", "0901", "0902"}
    assert (blocks["layer_tsub"] == "").all()
    assert set(layers[layers["layer"] == "stcd"]["unit_id"]) == {"4401", "4402", "0901", "0902"}
    assert layers.loc[layers["unit_id"] == "4402", "name"].tolist() == ["District 2, 44"]


def test_planning_regions_find_the_census_files_of_the_old_tracts(lodes_8: Imported) -> None:
    tracts = lodes_8.tables["tracts"].set_index("tract_id")
    region = tracts.loc["09180700100"]
    assert region["county_id"] == "09180"
    assert region["puma_id"] == "0900500"
    assert region["lon_deg"] == pytest.approx(-71.53 + 0.01)
    prior = lodes_8.tables["prior"]
    origin = lodes_8.tables["tracts"]["tract_id"].to_numpy()[prior["origin_tract_index"]]
    assert prior["weight"][origin == "09180700100"].tolist() == [10.0]


def test_prior_flows_take_unpadded_codes_and_states_elsewhere(lodes_7: Imported) -> None:
    prior, tract = lodes_7.tables["prior"], lodes_7.tables["tracts"]["tract_id"].to_numpy()
    rows = {
        (tract[d], tract[o], w)
        for d, o, w in zip(
            prior["destination_tract_index"], prior["origin_tract_index"], prior["weight"], strict=True
        )
    }
    assert rows == {
        ("44001010100", "44001010100", 120.0),
        ("44001010100", "44003020100", 45.0),
        ("44001010200", "09011700100", 10.0),
        ("44001010200", "36", 5.0),
    }
    assert "prior flows: 1 of 5" in " ".join(lodes_7.facts["notes"])


def test_facts_name_what_was_read(lodes_7: Imported) -> None:
    facts = lodes_7.facts
    assert (facts["title"], facts["year"], facts["job_type"]) == ("Rhode Island, 2019", 2019, "JT00")
    assert facts["vintage"] == {"blocks": 2010, "pumas": "2010"}
    assert facts["destination_states"] == ["44"]
    assert facts["commitment_key"] == KEY
    assert sorted({source["role"] for source in facts["sources"]}) == [
        "crosswalks", "od", "population", "prior_flows", "puma_names", "tract_puma", "tracts"
    ]  # fmt: skip
    assert all(len(source["sha256"]) == 64 and source["rows"] > 0 for source in facts["sources"])
    names = lodes_7.tables["pumas"].set_index("puma_id")["name"]
    assert names["4400101"] == "South, with a comma"
    assert names["0900500"] == "PUMA 00500, CT"


def test_the_same_files_give_the_same_tables(lodes_7: Imported, tmp_path: Path) -> None:
    """Whatever the number of threads and the order of the rows."""
    folder = samples.write_sources(tmp_path / "again")
    for path in folder.glob("*_od_*"):
        head, *rows = samples.read_text(path).splitlines()
        samples.write_text(path, "\n".join([head, *reversed(rows)]) + "\n")
    again = imported(folder, threads=1)
    for name, table in lodes_7.tables.items():
        pandas.testing.assert_frame_equal(pandas.DataFrame(table), pandas.DataFrame(again.tables[name]))


def test_the_order_of_the_rows_of_a_crosswalk_does_not_matter(tmp_path: Path) -> None:
    paths = sources_in(samples.write_sources(tmp_path))[0].crosswalks
    sorted_rows = read_crosswalks(paths)
    for path in paths:
        head, *rows = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
        Random(5).shuffle(rows)
        path.write_bytes(gzip.compress("".join([head, *rows]).encode()))
    shuffled = read_crosswalks(paths)
    pandas.testing.assert_frame_equal(shuffled.blocks, sorted_rows.blocks)
    pandas.testing.assert_frame_equal(shuffled.layers, sorted_rows.layers)
    assert sorted_rows.blocks["block_id"].is_monotonic_increasing
    for unit, names in sorted_rows.names.items():
        pandas.testing.assert_series_equal(shuffled.names[unit], names)


def test_the_key_is_drawn_anew_unless_given(tmp_path: Path) -> None:
    sources, _ = sources_in(samples.write_sources(tmp_path))
    keys = {import_dataset(sources).facts["commitment_key"] for _ in range(2)}
    assert len(keys) == 2
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        import_dataset(sources, commitment_key="abc")


@pytest.mark.parametrize("kind", ["gpkg", "geojson"])
def test_polygons_of_other_formats_give_the_same_cells(kind: Any, lodes_7: Imported, tmp_path: Path) -> None:
    other = imported(samples.write_sources(tmp_path, polygons=kind))
    for name in ("cells", "tracts"):
        here, there = (i.tables[name].geometry for i in (lodes_7, other))
        apart = [a.symmetric_difference(b).area for a, b in zip(here, there, strict=True) if a is not None]
        assert max(apart) < 1e-12


def test_without_any_polygon_pumas_or_people_there_is_still_a_map(tmp_path: Path) -> None:
    sources, _ = sources_in(samples.write_sources(tmp_path, polygons="none"))
    bare = Sources(od=sources.od, crosswalks=sources.crosswalks)
    result = import_dataset(bare, commitment_key=KEY)
    tracts = result.tables["tracts"][~result.tables["tracts"]["elsewhere"]]
    assert tracts["derived"].all()
    assert (tracts["puma_id"] == tracts["county_id"]).all()
    assert not tracts.geometry.is_empty.any()
    notes = " ".join(result.facts["notes"])
    assert "no tract-to-PUMA file: their counties are used as PUMAs" in notes
    assert "no population file: every block counts as one person" in notes


def test_block_polygons_become_the_cells(tmp_path: Path, lodes_7: Imported) -> None:
    folder = samples.write_sources(tmp_path)
    cells, blocks = lodes_7.tables["cells"], lodes_7.tables["blocks"]
    smaller = shapely.buffer(np.asarray(cells.geometry.array, dtype=object), -1e-4)
    real = geopandas.GeoDataFrame(cells).set_geometry(smaller, crs=cells.crs)
    real["GEOID10"] = blocks["block_id"].to_numpy()[cells["block_index"]]
    real = real[real["GEOID10"].str.startswith("44001010100")].drop(columns="block_index")
    real.to_file(folder / "tl_2010_44_tabblock10.gpkg", driver="GPKG", engine="pyogrio")
    given = np.asarray(imported(folder).tables["cells"].geometry.array, dtype=object)
    taken = shapely.equals_exact(given, smaller)
    assert taken.sum() == 6
    assert shapely.equals_exact(given[~taken], np.asarray(cells.geometry.array, dtype=object)[~taken]).all()


def test_a_block_of_a_state_without_crosswalk_stays_with_its_neighbors(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path)
    block = samples.block_id(samples.RI_TRACTS[0], 4)
    samples.replace_text(
        folder / "ri_xwalk.csv.gz",
        f'{block},44,RI,Rhode Island,44001,"County 001, RI",44001010100',
        f'{block},25,MA,Massachusetts,25005,"Bristol County, MA",25005632100',
    )
    result = imported(folder)
    row = result.tables["blocks"].set_index("block_id").loc[block]
    assert (row["tract_id"], row["county_id"], row["state_id"]) == ("44001010100", "44001", "44")
    assert "1 blocks that the crosswalk puts into a state" in " ".join(result.facts["notes"])


def test_a_county_of_its_own_is_kept_for_a_block(tmp_path: Path) -> None:
    """Membership is the crosswalk's, even where the tract's identifier says otherwise."""
    folder = samples.write_sources(tmp_path)
    block = samples.block_id(samples.RI_TRACTS[0], 4)
    samples.replace_text(
        folder / "ri_xwalk.csv.gz", f"{block},44,RI,Rhode Island,44001", f"{block},44,RI,Rhode Island,44009"
    )
    tables = imported(folder).tables
    assert tables["blocks"].set_index("block_id").loc[block, "county_id"] == "44009"
    counties = tables["counties"].set_index("county_id")
    assert counties.loc["44009", "population"] == 200
    assert counties["population"].sum() == tables["blocks"]["population"].sum()


def test_nothing_is_half_written(either: Imported, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="already exists"):
        write_dataset(tmp_path / "taken", either)
    broken = Imported(
        tables={**either.tables, "prior": either.tables["prior"].drop(columns="weight")}, facts=either.facts
    )
    with pytest.raises(AssertionError):
        write_dataset(tmp_path / "ri.dataset", broken)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_no_od_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="no OD file given"):
        import_dataset(Sources())


def test_progress_is_told_in_order(tmp_path: Path) -> None:
    steps_reported: list[tuple[str, int, int]] = []
    imported(samples.write_sources(tmp_path), progress=lambda *step: steps_reported.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in steps_reported)) == [
        "reading files", "cutting block cells", "joining polygons", "placing jobs"
    ]  # fmt: skip
    assert all(0 <= done <= total for _, done, total in steps_reported)
