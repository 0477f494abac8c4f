"""Jobs per resident worker: counts against plain pandas, expected errors against the slope of the ratio, and notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commutemap import Filters, Release, change, open_release
from geodata.store.store import Store
from mapapp.answers import words
from mapapp.answers.analyses.job_balance import FEW_RESIDENTS, LEFT_OUT, NO_RESIDENTS, ratio_of
from mapapp.answers.analyses.measures import Number
from mapapp.answers.opened_release import COVERAGE
from tests.oracles import analyses as twin
from tests.releases import rewrite_table, write_release

BANDS = st.sets(st.integers(1, 3), max_size=2).map(tuple)
FILTERS = st.builds(Filters, BANDS, BANDS, BANDS)
COLUMNS = {"tract": "tract_id", "county": "county_id", "stplc": "layer_stplc", "zcta": "layer_zcta"}


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return open_release(demo_release)


@pytest.fixture(scope="module")
def workers(release: Release) -> Any:
    return twin.workers_of(release.store)


def counted_blocks(store: Store, area: Any) -> Any:
    """Blocks of an area (bool of every block) in the states whose workplaces the release covers."""
    blocks = store.table("blocks", ["state_id", "elsewhere"])
    covered = blocks["state_id"].isin(store.manifest["destination_states"]) & ~blocks["elsewhere"]
    return area & covered.to_numpy()


def plain_balance(store: Store, workers: Any, area: Any, column: str) -> dict[str, tuple[int, int]]:
    """Jobs and resident workers of each unit that has a counted block."""
    units = store.table("blocks", [column])[column].to_numpy()
    counted = counted_blocks(store, area)
    jobs, residents = (
        workers.loc[counted[workers[f"{end}_block"]], f"{end}_{column}"].value_counts()
        for end in ("work", "home")
    )
    return {unit: (int(jobs.get(unit, 0)), int(residents.get(unit, 0))) for unit in set(units[counted])}


@settings(max_examples=20, deadline=None)
@given(whole=st.booleans(), filters=FILTERS, layer=st.sampled_from(sorted(COLUMNS)))
def test_jobs_and_residents_are_those_of_plain_pandas(
    release: Release, workers: Any, whole: bool, filters: Filters, layer: str
) -> None:
    blocks = release.store.table("blocks")
    county = release.comparison(layer="county").units["unit_id"].iloc[0]
    area = numpy.ones(len(blocks), dtype=bool) if whole else (blocks["county_id"] == county).to_numpy()
    found = release.job_balance("all" if whole else f"county:{county}", filters, layer=layer)
    expected = plain_balance(release.store, twin.keeps(workers, filters), area, COLUMNS[layer])
    rows = found.units
    assert {row.unit_id: (row.jobs, row.workers) for row in rows.itertuples()} == expected
    assert twin.is_in_order(rows)
    row: Any
    for row in rows.itertuples():
        if row.workers >= 10:
            assert row.jobs_per_resident == row.jobs / row.workers
            assert row.caution == ""
        else:
            assert numpy.isnan(row.jobs_per_resident)
            assert row.caution == (FEW_RESIDENTS if row.workers else NO_RESIDENTS)
    jobs, residents = (sum(both) for both in zip(*expected.values(), strict=True))
    assert (found.jobs.value, found.workers.value) == (jobs, residents)
    assert found.jobs_per_resident.value == (jobs / residents if residents >= 10 else None)
    assert found.jobs_per_resident.expected_error is None


def test_the_ratio_is_as_uncertain_as_the_residents(release: Release) -> None:
    """An error of the residents moves the ratio by its slope, jobs / residents², a head."""
    county = release.comparison(layer="county").units["unit_id"].iloc[0]
    found: Any = release.job_balance(f"county:{county}", layer="tract", errors=True)
    assert found.jobs.expected_error == 0.0
    residents: Any = release.inflow_outflow(f"county:{county}", errors=True).living
    assert found.workers == residents
    assert found.jobs_per_resident.expected_error == pytest.approx(
        found.jobs.value * residents.expected_error / residents.value**2, rel=1e-12
    )
    beside = release.with_errors(release.comparison(f"county:{county}", side="home", layer="tract"))
    known = dict(zip(beside.units["unit_id"], beside.units["expected_error"], strict=True))
    rows = found.units.head(10)
    assert len(rows)
    for row in rows.itertuples():
        assert row.expected_error == known[row.unit_id]
        if row.workers >= 10:
            error = row.jobs * known[row.unit_id] / row.workers**2
            assert row.jobs_per_resident_error == pytest.approx(error, rel=1e-12)
            step = 1e-4 * row.workers  # the quotient itself, a little to either side
            slope = (row.jobs / (row.workers - step) - row.jobs / (row.workers + step)) / (2 * step)
            assert row.jobs_per_resident_error == pytest.approx(slope * known[row.unit_id], rel=1e-6)
        else:
            assert numpy.isnan(row.jobs_per_resident_error)


@pytest.mark.parametrize(
    ("residents", "value", "caution"),
    [(0, None, NO_RESIDENTS), (1, None, FEW_RESIDENTS), (9, None, FEW_RESIDENTS), (10, 2.0, "")],
)
def test_few_residents_have_no_ratio_but_a_reason(residents: int, value: float | None, caution: str) -> None:
    ratio = ratio_of(20, Number(residents, 3.0))
    assert (ratio.value, ratio.caution) == (value, caution)
    assert ratio.expected_error == (None if value is None else 20 * 3.0 / residents**2)


def test_no_jobs_are_a_ratio_of_zero() -> None:
    ratio = ratio_of(0, Number(25, 3.0))
    assert (ratio.value, ratio.expected_error) == (0.0, 0.0)


def test_residents_who_work_elsewhere_are_noted_by_code(tmp_path: Path) -> None:
    path = write_release(tmp_path / "squareland")
    release = open_release(path)
    about = release.job_balance("county:10001").about
    assert [note.code for note in about.notes] == [COVERAGE]
    assert "too high" in about.notes[0].text
    whole = release.job_balance(layer="county")
    assert whole.about.has_note(LEFT_OUT)
    states = set(
        release.store.table("counties").set_index("county_id").loc[whole.units["unit_id"], "state_id"]
    )
    assert states == {"10"}, "only counties whose jobs the release has"
    assert whole.jobs_per_resident.value == whole.jobs.value / whole.workers.value
    other = release.job_balance("county:11001")
    assert (other.jobs.value, other.workers.value, len(other.units)) == (0, 0, 0)
    assert other.jobs_per_resident.value is None
    json.dumps(other.to_dict(), allow_nan=False)


def test_a_release_that_covers_everything_needs_no_note(tmp_path: Path) -> None:
    path = write_release(tmp_path / "squareland")
    rewrite_table(path, "blocks", lambda blocks: blocks.assign(elsewhere=False))
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["destination_states"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    release = open_release(path)
    found = release.job_balance()
    assert not found.about.notes
    assert found.jobs.value == found.workers.value


def test_the_change_is_that_of_the_ratio(tmp_path: Path) -> None:
    paths = [write_release(tmp_path / str(seed), seed=seed) for seed in (1, 2)]
    answers: list[Any] = [open_release(path).job_balance("county:10001", layer="tract") for path in paths]
    before, after = answers
    found = change(before, after)
    numbers = found.numbers()["jobs_per_resident"]
    assert numbers["change"] == after.jobs_per_resident.value - before.jobs_per_resident.value
    earlier, later = (
        dict(zip(each.units["unit_id"], each.units["jobs_per_resident"], strict=True))
        for each in (before, after)
    )
    for row in found.rows.to_dict("records"):
        expected = later.get(row["unit_id"], numpy.nan) - earlier.get(row["unit_id"], numpy.nan)
        assert row["change"] == expected or (numpy.isnan(row["change"]) and numpy.isnan(expected))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0.00"), (1.234, "1.23"), (9.996, "10.0"), (12.34, "12.3"), (1234.5, "1,234")],
)
def test_a_ratio_in_words(value: float | None, text: str) -> None:
    assert words.ratio(value) == text


@pytest.mark.parametrize(
    ("error", "text"), [(None, ""), (0.0, "exact"), (0.001, "± 0.01"), (0.236, "± 0.24"), (12.3, "± 12.3")]
)
def test_the_error_of_a_ratio_in_words(error: float | None, text: str) -> None:
    assert words.ratio_error(error) == text
