"""Expected errors beside answers: the formula asked with what a plain reading of the jobs says a row counts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from commutemap import Filters, Release, change, open_release
from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from mapapp.answers.analyses.short_tables import shortened
from mapapp.answers.errors.expected_error import ExpectedErrors
from mapapp.kinds.release.make.run import run_synthesis
from tests.answers.errors.one_count import error_of_count
from tests.oracles import analyses as twin
from tests.releases import write_release


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return open_release(demo_release)


@pytest.fixture(scope="module")
def workers(release: Release) -> Any:
    return twin.workers_of(release.store)


@pytest.fixture(scope="module")
def county(release: Release) -> str:
    return str(release.comparison(layer="county").units["unit_id"].iloc[0])


def plain_error(release: Release, workers: Any, home: Any, work: Any) -> float:
    """Error of the count of workers with home blocks `home` and work blocks `work` (bool of every block)."""
    store = release.store
    blocks, tracts = store.table("blocks"), store.table("tracts")
    share = []
    for tract in range(len(tracts)):
        mine = (blocks["tract_index"] == tract).to_numpy()
        people = blocks["population"].to_numpy()
        weight = people if people[mine].sum() else numpy.ones(len(blocks))
        share.append(weight[mine & home].sum() / weight[mine].sum())
    there = workers[work[workers["work_block"]]]
    sizes = there.groupby(["work_tract_index", "work_block", "age", "earnings", "industry"]).size()
    table = sizes.reset_index(name="n_workers").rename(columns={"work_tract_index": "tract_index"})
    table = table.groupby(["tract_index", "n_workers"]).size().reset_index(name="n_synthesizers")
    counts = there[home[there["home_block"]]].groupby("work_tract_index").size().to_dict()
    formula = ExpectedErrors(release.certificate, tracts, store.table("prior"))
    return error_of_count(formula, share, table, counts).error


def within(release: Release, column: str, unit_id: str) -> Any:
    return (release.store.table("blocks", [column])[column] == unit_id).to_numpy()


def test_inflow_and_outflow(release: Release, workers: Any, county: str) -> None:
    here = within(release, "county_id", county)
    everywhere = numpy.ones(len(here), dtype=bool)
    found: Any = release.with_errors(release.inflow_outflow(f"county:{county}"), rows=99)
    stay, leave, living = (
        pytest.approx(plain_error(release, workers, here, work), rel=1e-9)
        for work in (here, ~here, everywhere)
    )
    assert found.stay.expected_error == found.inflow.expected_error == stay
    assert found.outflow.expected_error == leave
    assert found.living.expected_error == found.net_inflow.expected_error == living
    assert found.employed.expected_error == 0.0
    assert found.groups["expected_error"].tolist() == [stay, leave, stay]
    young = workers[workers["age"] == 1]
    row = found.segments[
        (found.segments["group"] == "outflow") & (found.segments["characteristic"] == "age")
    ].iloc[0]
    assert row["expected_error"] == pytest.approx(plain_error(release, young, here, ~here), rel=1e-9)
    assert found.segments["expected_error"].notna().all()


def test_destinations_and_profile(release: Release, workers: Any, county: str) -> None:
    here = within(release, "county_id", county)
    kept = Filters(industry=(2, 3))
    mine = twin.keeps(workers, kept)
    found: Any = release.with_errors(release.destinations(f"county:{county}", kept, layer="tract"), rows=3)
    assert found.workers.expected_error == 0.0
    for row in found.units.head(3).itertuples():
        home = within(release, "tract_id", row.unit_id)
        assert row.expected_error == pytest.approx(plain_error(release, mine, home, here), rel=1e-9)
    assert found.units["expected_error"].iloc[3:].isna().all()
    profile: Any = release.with_errors(release.profile(f"county:{county}", kept, side="home"))
    everywhere = numpy.ones(len(here), dtype=bool)
    assert profile.workers.expected_error == pytest.approx(
        plain_error(release, mine, here, everywhere), rel=1e-9
    )
    left_out = profile.bands[(profile.bands["characteristic"] == "industry") & (profile.bands["band"] == 1)]
    assert left_out["expected_error"].tolist() == [0.0]
    by_work: Any = release.with_errors(release.profile(f"county:{county}"), rows=99)
    assert (by_work.bands["expected_error"] == 0).all()


def test_pairs_and_matrices(release: Release, workers: Any, county: str) -> None:
    matrix: Any = release.with_errors(release.flow_matrix("county", "puma"), rows=2)
    for row in matrix.cells.head(2).itertuples():
        column = "state_id" if row.home_kind == "elsewhere" else "county_id"
        home, work = within(release, column, row.home_id), within(release, "puma_id", row.work_id)
        assert row.expected_error == pytest.approx(plain_error(release, workers, home, work), rel=1e-9)
    assert (matrix.works["expected_error"].head(2) == 0).all()
    assert (matrix.homes["expected_error"].head(2) > 0).all()
    pair: Any = release.with_errors(release.paired(f"county:{county}", "all"), rows=1)
    assert pair.workers.expected_error == pair.living.expected_error > 0
    assert pair.employed.expected_error == 0
    assert pair.bands["expected_error"].notna().sum() == 1
    assert pair.distances["expected_error"].gt(0).all()
    here: Any = release.with_errors(release.distance_direction(f"county:{county}", side="home"))
    assert pair.distances["expected_error"].tolist() == here.bands["expected_error"].tolist()


def test_the_rest_of_a_table_has_the_error_of_its_sum(release: Release, workers: Any, county: str) -> None:
    found: Any = release.with_errors(release.destinations(f"county:{county}", layer="county"), rows=1)
    rest = found.units.iloc[1:]
    work = within(release, "county_id", county)
    home = sum(
        within(release, "state_id" if row.kind == "elsewhere" else "county_id", row.unit_id)
        for row in rest.itertuples()
    )
    other = shortened(found.units, 1).iloc[-1]
    assert other["workers"] == rest["workers"].sum()
    assert other["expected_error"] == pytest.approx(plain_error(release, workers, home > 0, work), rel=1e-9)
    assert numpy.isnan(shortened(found.units, 2)["expected_error"].iloc[-1])


def test_the_rest_of_a_flow_matrix_has_the_error_of_its_sum(
    release: Release, workers: Any, county: str
) -> None:
    """With one workplace area, all cells but the first are one count of workers with other homes."""
    matrix = release.flow_matrix("county", "county", work_area=f"county:{county}")
    found: Any = release.with_errors(matrix, rows=1)
    other = shortened(found.cells, 1).iloc[-1]
    first = found.cells.iloc[0]
    kind = "state_id" if first["home_kind"] == "elsewhere" else "county_id"
    here, work = within(release, kind, first["home_id"]), within(release, "county_id", county)
    assert other["workers"] == matrix.cells["workers"].iloc[1:].sum()
    assert other["expected_error"] == pytest.approx(plain_error(release, workers, ~here, work), rel=0.1)


def test_a_change_has_the_errors_of_both(release: Release, county: str) -> None:
    answer = release.with_errors(release.destinations(f"county:{county}"), rows=1)
    rows = change(answer, answer).rows
    assert rows["expected_error"].iloc[0] == pytest.approx(answer.units["expected_error"].iloc[0] * 2**0.5)
    assert rows["expected_error"].iloc[1:].isna().all()


def test_a_mechanism_without_a_formula_has_no_errors(tmp_path: Path) -> None:
    release = open_release(write_release(tmp_path / "made.release", n_pairs=50))
    answer: Any = release.with_errors(release.inflow_outflow("county:10001"))
    assert answer.stay.expected_error is None
    assert answer.groups["expected_error"].isna().all()
    assert isinstance(answer.groups, pandas.DataFrame)


@pytest.mark.parametrize("unit", ["cell", "block", "tract"])
def test_answers_of_the_exponential_mechanism_have_errors(
    unit: Unit, demo_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every count with a home area has one, and a part of what was drawn together is less certain than the whole."""
    path = tmp_path / "exponential.release"
    dataset = shutil.copytree(demo_dataset, tmp_path / "d.dataset")
    run_synthesis(
        dataset,
        path,
        PrivacyParameters(epsilon="6.5", delta="1e-6", min_retention="1", accountant="sound"),
        SynthesisParameters(mechanism="exponential", unit=unit),
        test_key=True,
    )
    release = open_release(path)
    found = release.inflow_outflow("Tarnwick city", errors=True)
    assert found.stay.expected_error is not None
    assert 0 < found.stay.expected_error < found.stay.value
    assert found.employed.expected_error == 0.0
    assert found.segments["expected_error"].head(10).notna().all()
    by_distance = release.distance_direction("Tarnwick city", errors=True)
    assert by_distance.bands["expected_error"].gt(0).all()
    assert by_distance.median_mi.expected_error is not None
    assert by_distance.median_mi.expected_error > 0
    prepared = open_release(path)
    prepared.errors.prepare()
    monkeypatch.setattr(prepared.flows, "by_pair", None)  # no released table is read again
    assert prepared.inflow_outflow("Tarnwick city", errors=True).stay == found.stay
