"""Validity of a release: what was drawn against the closed form, against plain counting, and by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from geodata.geography.distance import distance_mi
from mapapp.analyst.validity.validity import AnalystData, Validity, measure_release


@pytest.fixture(scope="module")
def data(demo_dataset: Path) -> AnalystData:
    return AnalystData.open(demo_dataset)


@pytest.fixture(scope="module")
def found(data: AnalystData, demo_release: Path) -> Validity:
    return measure_release(data, demo_release)


@pytest.fixture(scope="module")
def workers(demo_dataset: Path, demo_release: Path) -> dict[str, Any]:
    """One row a worker, real and synthetic, with tracts, counties and miles between blocks."""
    blocks = pandas.read_parquet(demo_dataset / "blocks.parquet")
    tables = {}
    for who, path in (("real", demo_dataset), ("drawn", demo_release)):
        jobs = pandas.read_parquet(path / "jobs.parquet")
        jobs = jobs.loc[jobs.index.repeat(jobs["count"])].reset_index(drop=True)
        for end, column in (("work", "destination_index"), ("home", "origin_index")):
            at = blocks.iloc[jobs[column]].reset_index(drop=True)
            for name in ("tract_index", "county_id", "layer_ctycsub", "lon_deg", "lat_deg", "elsewhere"):
                jobs[f"{end}_{name}"] = at[name]
        jobs["miles"] = distance_mi(
            jobs["work_lon_deg"], jobs["work_lat_deg"], jobs["home_lon_deg"], jobs["home_lat_deg"]
        )
        tables[who] = jobs
    return tables


def test_drawing_comes_out_as_expected(found: Validity) -> None:
    """One release under the test key: always the same numbers. IMSE has the same expectation as its closed form."""
    summary = found.summary
    assert summary["imse_drawn_all"] == pytest.approx(summary["imse_all"], rel=0.1)
    assert summary["imse_drawn_small"] == pytest.approx(summary["imse_small"], rel=0.1)
    ranges = found.tables["ranges"]
    np.testing.assert_allclose(ranges["drawn_all"], ranges["posterior_all"], atol=0.02)
    assert 0 < summary["moved_all"] < summary["moved_small"] < 1
    assert summary["kl_drawn_all"] > summary["kl_all"] > 0


def test_lone_workers_in_their_tract_are_those_of_plain_counting(
    found: Validity, workers: dict[str, Any], demo_release: Path
) -> None:
    """One worker of block and segment has one real and one synthetic home; the expected chance is the certificate's."""
    cell = ["destination_index", "age", "earnings", "industry"]
    alone = {who: jobs[jobs.groupby(cell)["count"].transform("size") == 1] for who, jobs in workers.items()}
    homes = [alone[who].set_index(cell)["home_tract_index"].sort_index() for who in ("real", "drawn")]
    assert len(homes[0]) > 20
    assert found.summary["lone_in_tract"] == pytest.approx(float((homes[0] == homes[1]).mean()))
    certificate = json.loads((demo_release / "certificate.json").read_text())
    expected = certificate["lone_worker"]["true_tract"]["typical"]
    assert found.summary["lone_in_tract_expected"] == pytest.approx(expected)
    assert found.summary["lone_in_tract"] == pytest.approx(expected, abs=0.1)


def test_average_commutes_are_those_of_the_workers(found: Validity, workers: dict[str, Any]) -> None:
    table = found.tables["destinations"].set_index("destination_index")
    for who, jobs in workers.items():
        mean = jobs.groupby("destination_index")["miles"].mean()
        np.testing.assert_allclose(table[f"{who}_block_mi"], mean.loc[table.index], rtol=1e-9, atol=1e-9)
        short = jobs[jobs["miles"] < 6.23].groupby("destination_index")["miles"].mean().reindex(table.index)
        np.testing.assert_allclose(table[f"{who}_block_short_mi"], short, rtol=1e-9, atol=1e-9)


def test_flows_top_areas_and_in_and_outflow_are_those_of_plain_counting(
    found: Validity, workers: dict[str, Any]
) -> None:
    pairs = pandas.DataFrame(
        {who: jobs.groupby(["work_tract_index", "home_tract_index"]).size() for who, jobs in workers.items()}
    ).fillna(0)
    flows = found.tables["flows"].set_index(["by", "size"])
    mine = pairs[(pairs["drawn"] >= 3) & (pairs["drawn"] <= 9)]
    row: Any = flows.loc["read", "3-9"]
    assert row["n_flows"] == len(mine)
    error = (mine["drawn"] - mine["real"]).abs()
    assert row["mean_absolute_error"] == pytest.approx(error.mean())
    assert row["root_mean_square_error"] == pytest.approx(float((error**2).mean()) ** 0.5)
    assert flows.loc["real"]["real"].sum() == flows.loc["read"]["drawn"].sum() == len(workers["real"])

    listed = n_found = 0
    for _, table in pairs.groupby("work_tract_index"):
        length = min(10, int((table["real"] > 0).sum()))
        tops = [
            set(table[table[who] > 0].sort_values(who, ascending=False, kind="stable").index[:length])
            for who in workers
        ]
        listed, n_found = listed + length, n_found + len(tops[0] & tops[1])
    top = found.tables["top_areas"].set_index("workers_in_top").loc["all"]
    assert top["share_found"] == pytest.approx(n_found / listed)

    in_out = found.tables["in_out"].set_index(["level", "count"])
    for level, unit in (
        ("county", "county_id"),
        ("town", "layer_ctycsub"),
        ("tract", "tract_index"),
    ):
        counts = {}
        for who, jobs in workers.items():
            at_home = jobs[~jobs["home_elsewhere"] & (jobs[f"home_{unit}"] != "")]
            inside = (
                at_home[at_home[f"work_{unit}"] == at_home[f"home_{unit}"]].groupby(f"home_{unit}").size()
            )
            counts[who] = at_home.groupby(f"home_{unit}").size().sub(inside, fill_value=0)
        table = pandas.DataFrame(counts).fillna(0)
        row = in_out.loc[level, "outflow: lives there only"]
        assert row["drawn"] == table["drawn"].sum()
        error = (table["drawn"] - table["real"])[(table > 0).any(axis=1)].abs()
        assert row["mean_absolute_error"] == pytest.approx(error.mean())


def test_a_dataset_measured_against_itself_is_perfect(
    data: AnalystData, demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    """A release whose jobs are the real ones: every drawn measure says that nothing moved."""
    from geodata.store.schema import PUBLIC_TABLES
    from geodata.store.store import open_store, write_store

    release = open_store(demo_release, "release")
    with write_store(tmp_path / "r", "release") as writer:
        for table in PUBLIC_TABLES:
            writer.copy_table(release, table.name)
        writer.table("jobs", data.store.table("jobs"))
        writer.copy_table(release, "points")
        writer.document("certificate.json", release.document("certificate.json"))
    found = measure_release(data, tmp_path / "r")
    for name in ("kl_drawn", "imse_drawn", "moved", "infinite"):
        assert found.summary[f"{name}_all"] == pytest.approx(0.0, abs=1e-12)
    assert found.tables["flows"]["mean_absolute_error"].fillna(0).sum() == 0
    assert found.tables["top_areas"]["share_found"].dropna().eq(1).all()
    assert found.tables["in_out"]["relative_error"].eq(0).all()
    destinations = found.tables["destinations"]
    np.testing.assert_array_equal(destinations["real_block_mi"], destinations["drawn_block_mi"])


def test_parts_add_up(
    data: AnalystData, demo_release: Path, found: Validity, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mapapp.analyst.validity import confidential_parts

    monkeypatch.setattr(confidential_parts, "_PAIRS_OF_PART", 4 * data.geography.tracts.n_tracts)
    parts = measure_release(AnalystData(data.store), demo_release)
    assert parts.summary == pytest.approx(found.summary, nan_ok=True)
    for name in ("flows", "top_areas", "in_out", "ranges"):
        pandas.testing.assert_frame_equal(parts.tables[name], found.tables[name])
