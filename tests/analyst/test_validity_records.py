"""Worker records measured against their dataset: distances against plain counting, flows, and what is refused."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas
import pytest

from geodata.store.store import open_store
from mapapp.base.errors import UsageError
from mapapp.kinds.records.make.attributes import RecordAttribute, read_attributes
from mapapp.kinds.records.make.workers import read_codes
from mapapp.kinds.records.measure.validity import TableDistances, measure_records
from mapapp.kinds.records.measure.validity_result import RecordsValidity, distance_matrix
from tests.changed_datasets import with_other_table


@pytest.fixture(scope="module")
def found(demo_dataset: Path, seedless_records: Path) -> RecordsValidity:
    return measure_records(demo_dataset, seedless_records)


@pytest.fixture(scope="module")
def workers(demo_dataset: Path, seedless_records: Path) -> dict[str, pandas.DataFrame]:
    """One row a worker, real and synthetic, with a column for every attribute."""
    dataset, records = open_store(demo_dataset, "dataset"), open_store(seedless_records, "records")
    attributes = read_attributes(dataset)
    return {
        who: pandas.DataFrame(np.concatenate(list(read_codes(store, attributes))), columns=attributes.names)
        for who, store in (("real", dataset), ("drawn", records))
    }


def share_that_moves(workers: dict[str, pandas.DataFrame], names: list[str]) -> float:
    real, drawn = (workers[who].groupby(names).size() / len(workers[who]) for who in ("real", "drawn"))
    return float(real.sub(drawn, fill_value=0.0).abs().sum() / 2)


def test_distances_are_half_the_differences_of_shares(
    found: RecordsValidity, workers: dict[str, pandas.DataFrame]
) -> None:
    names = list(workers["real"].columns)
    assert list(found.tables["attributes"]["attribute"]) == names
    for row in found.tables["attributes"].to_dict("records"):
        assert row["distance"] == pytest.approx(share_that_moves(workers, [row["attribute"]]), abs=1e-12)
    pairs = found.tables["pairs"]
    assert list(zip(pairs["first"], pairs["second"], strict=True)) == list(combinations(names, 2))
    for row in pairs.iloc[::7].to_dict("records"):
        assert row["distance"] == pytest.approx(
            share_that_moves(workers, [row["first"], row["second"]]), abs=1e-12
        )
    listed = found.tables["combinations"].set_index("attributes")
    wide = listed.loc["work_puma x home_puma", "distance"]
    assert wide == pytest.approx(share_that_moves(workers, ["work_puma", "home_puma"]), abs=1e-12)


def test_a_pair_is_at_least_as_far_as_its_attributes_and_a_resample_is_nearer(found: RecordsValidity) -> None:
    single = found.tables["attributes"].set_index("attribute")["distance"]
    for row in found.tables["pairs"].to_dict("records"):
        assert row["distance"] >= max(single[row["first"]], single[row["second"]]) - 1e-12
    assert 0 < found.summary["pairs_noise_floor"] < found.summary["pairs"] < found.summary["pairs_largest"]


def test_the_distance_band_is_the_one_that_was_drawn(
    workers: dict[str, pandas.DataFrame], seedless_records: Path
) -> None:
    stored = open_store(seedless_records, "records").table("records", ["distance_band"])["distance_band"]
    assert workers["drawn"]["distance_band"].to_numpy().tolist() == stored.to_numpy().tolist()


def test_flows_and_areas_count_records_at_their_own_workplaces(
    found: RecordsValidity, demo_dataset: Path, seedless_records: Path
) -> None:
    blocks = pandas.read_parquet(demo_dataset / "blocks.parquet", columns=["county_id", "elsewhere"])
    county = blocks["county_id"].where(~blocks["elsewhere"], "")
    inflow = []
    for path in (demo_dataset, seedless_records):
        jobs = pandas.read_parquet(path / "jobs.parquet")
        work, home = (county.to_numpy()[jobs[name]] for name in ("destination_index", "origin_index"))
        inflow.append(int(jobs["count"][(work != "") & (work != home)].sum()))
    rows = found.tables["in_out"].set_index(["level", "count"])
    rows = rows.loc[[("county", "inflow: works there only")]]
    assert rows[["real", "drawn"]].to_numpy().tolist() == [inflow]
    assert found.tables["flows"].query("by == 'real'")["real"].sum() == found.facts["scope"]["workers"]
    assert found.tables["flows"].query("by == 'real'")["drawn"].sum() == found.facts["scope"]["records"]


def test_derived_attributes_and_tables_too_large_to_hold_are_counted() -> None:
    attributes = [
        RecordAttribute(
            name=name,
            title=name,
            codes=tuple(map(str, range(size))),
            labels=tuple(map(str, range(size))),
            parents=(),
            derives={"industry": (1, 1, 2, 3)} if name == "sector" else {},
        )
        for name, size in (("sector", 4), ("home", 3_000), ("work", 3_000))
    ]
    real = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3]], dtype=np.int32)
    drawn = np.array([[1, 0, 0], [1, 1, 2], [2, 2, 2], [2, 3, 3]], dtype=np.int32)
    distances = TableDistances(attributes, real, drawn)
    assert distances.of(["sector"])[0] == 0.5
    assert distances.of(["industry"])[0] == 0.25
    assert distances.n_cells(["home", "work"]) == 9_000_000
    assert distances.of(["home", "work"])[0] == 0.25
    assert not distances.has(["earnings"])


def test_the_square_has_records_below_and_the_noise_floor_above(found: RecordsValidity) -> None:
    attributes, pairs = found.tables["attributes"], found.tables["pairs"]
    matrix = distance_matrix(attributes, pairs)
    first, second = pairs[["first", "second"]].iloc[3]
    assert matrix.loc[second, first] == pairs["distance"].iloc[3]
    assert matrix.loc[first, second] == pairs["noise_floor"].iloc[3]
    assert matrix.to_numpy().diagonal().tolist() == attributes["distance"].tolist()


def test_a_note_says_that_the_certificate_commits_to_other_workers(found: RecordsValidity) -> None:
    assert not any("note:" in line for line in found.lines())
    facts = deepcopy(found.facts)
    facts["records"]["is_of_these_workers"] = False
    other = replace(found, facts=facts)
    assert "commits to other workers" in other.lines()[-1]


def test_records_of_another_dataset_are_refused(
    demo_dataset: Path, demo_records: Path, seedless_records: Path, tmp_path: Path
) -> None:
    moved = with_other_table(
        demo_dataset,
        tmp_path / "moved",
        "blocks",
        lambda blocks: blocks.assign(population=blocks["population"] + 1),
    )
    with pytest.raises(UsageError, match=r"not made from the geography .* \(blocks differ\)"):
        measure_records(moved, seedless_records)
    with pytest.raises(UsageError, match=r"has other attributes.*sex"):
        measure_records(demo_dataset, demo_records)
