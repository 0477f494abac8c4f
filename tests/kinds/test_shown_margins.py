"""Releases that show fewer numbers of workers: nothing of the jobs beyond these numbers reaches any byte of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pytest

from geodata.store.store import open_store
from mapapp.answers.analyses import entries, grids
from mapapp.answers.analyses.change import change
from mapapp.answers.findings import sentences
from mapapp.answers.promise.method import chapters
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.commands.declared_options import setting_of
from mapapp.kinds.base.count_exposure import count_exposure
from mapapp.kinds.base.geography import read_geography, read_workplaces
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.margin_options import DatasetView, ShownMargins
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import designed_choice, parameters_of
from mapapp.kinds.release.make.shown_margins import add_shown_margins
from mapapp.question.filters import Filters
from mapapp.show.exports.lodes import write_lodes
from mapapp.show.exports.release_layers import flow_layer, point_layer, unit_layer
from tests.changed_datasets import with_other_table
from tests.commands.running import refused, run_here

NONE = ShownMargins(segments=())
AGE = ShownMargins(segments=("age",))
BY_TRACT = ShownMargins(workplaces="tract")
Jobs = pandas.DataFrame


def make(dataset: Path, release: Path, margins: ShownMargins) -> Path:
    """Make a release with the test key and everything chosen."""
    options = ReleaseOptions()
    run_synthesis(
        dataset,
        release,
        *parameters_of(dataset, options),
        view=DatasetView(margins=margins),
        design=designed_choice(options),
        test_key=True,
    )
    return release


def published(release: Path) -> dict[str, object]:
    """Everything in a release but its commitment to the dataset's file, under a key that stays secret."""
    certificate = json.loads((release / "certificate.json").read_text(encoding="utf-8"))
    del certificate["confidential_inputs"]
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    del manifest["files"]["certificate.json"]
    files = {path.name: path.read_bytes() for path in release.glob("*.parquet")}
    return {"certificate": certificate, "manifest": manifest, **files}


def workers(jobs: Jobs) -> Jobs:
    """One row a worker."""
    return jobs.loc[jobs.index.repeat(jobs["count"])].assign(count=1).reset_index(drop=True)


def counted(rows: Jobs) -> Jobs:
    """One row for each combination."""
    keys = ["destination_index", "age", "earnings", "industry", "origin_index"]
    summed = rows.groupby(keys)["count"].sum().reset_index()
    columns = ["destination_index", "origin_index", "age", "earnings", "industry", "count"]
    return summed[columns].astype({name: rows[name].dtype for name in columns})


def permute_segments(jobs: Jobs) -> Jobs:
    """Exchange earnings and industry among the workers of each workplace; each keeps home and age."""
    rows, rng = workers(jobs), np.random.default_rng(5)
    for at in rows.groupby("destination_index").indices.values():
        for name in ("earnings", "industry"):
            rows.loc[at, name] = rng.permutation(rows.loc[at, name].to_numpy())
    return counted(rows)


def permute_blocks(tract_of_block: npt.NDArray[np.int32]) -> Callable[[Jobs], Jobs]:
    """Return what exchanges workplaces among the workers of each tract of work."""

    def permute(jobs: Jobs) -> Jobs:
        rows, rng = workers(jobs), np.random.default_rng(6)
        tract = pandas.Series(tract_of_block[rows["destination_index"]])
        for at in tract.groupby(tract).indices.values():
            rows.loc[at, "destination_index"] = rng.permutation(rows.loc[at, "destination_index"].to_numpy())
        return counted(rows)

    return permute


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("margins")


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path, folder: Path) -> Path:
    """A copy, because releases enter its ledger."""
    return with_other_table(demo_dataset, folder / "d", "jobs", lambda jobs: jobs, keep_facts=True)


@pytest.fixture(scope="module")
def by_age(dataset: Path, folder: Path) -> Path:
    return make(dataset, folder / "age.release", AGE)


@pytest.fixture(scope="module")
def tract_totals(dataset: Path, folder: Path) -> Path:
    return make(dataset, folder / "totals.release", ShownMargins(segments=(), workplaces="tract"))


def test_permuted_segments_change_no_byte(dataset: Path, by_age: Path, folder: Path) -> None:
    """Finds that draw, n, design, or certificate read earnings or industry that the release does not show."""
    other = with_other_table(dataset, folder / "permuted", "jobs", permute_segments, keep_facts=True)
    tables = [open_store(path, "dataset").table("jobs") for path in (dataset, other)]
    assert not tables[0].equals(tables[1])
    assert published(make(other, folder / "permuted.release", AGE)) == published(by_age)


def test_permuted_blocks_of_a_tract_change_no_byte(dataset: Path, tract_totals: Path, folder: Path) -> None:
    """Finds that anything follows from the block of a job where workplaces are shown by tract."""
    tract_of_block = open_store(dataset, "dataset").table("blocks", ["tract_index"])["tract_index"].to_numpy()
    other = with_other_table(
        dataset, folder / "moved", "jobs", permute_blocks(tract_of_block), keep_facts=True
    )
    tables = [open_store(path, "dataset").table("jobs") for path in (dataset, other)]
    assert not tables[0].equals(tables[1])
    margins = ShownMargins(segments=(), workplaces="tract")
    assert published(make(other, folder / "moved.release", margins)) == published(tract_totals)


def test_everything_shown_is_the_release_as_before(dataset: Path) -> None:
    """Finds that a release that shows all is made of other bytes than before there was a choice."""
    store = open_store(dataset, "dataset")
    assert add_shown_margins(store, ShownMargins()) is store
    assert ShownMargins().facts_of(store.manifest) == {}


@pytest.mark.parametrize("margins", [NONE, AGE, BY_TRACT], ids=["none", "age", "tract"])
def test_sums_are_those_of_pandas(dataset: Path, margins: ShownMargins) -> None:
    """Finds a worker lost or counted elsewhere when jobs are summed."""
    store = open_store(dataset, "dataset")
    jobs, shown = store.table("jobs"), add_shown_margins(store, margins).table("jobs")
    tract = store.table("blocks", ["tract_index"])["tract_index"].to_numpy()
    for rows in (jobs, shown):
        rows["tract"] = tract[rows["destination_index"]]
    place = "tract" if margins.workplaces == "tract" else "destination_index"
    keys = [place, "origin_index", *margins.segments]
    assert jobs.groupby(keys)["count"].sum().equals(shown.groupby(keys)["count"].sum())
    if margins.workplaces == "tract":
        assert shown.groupby("tract")["destination_index"].nunique().max() == 1


def test_a_release_with_fewer_numbers_certifies(by_age: Path, tract_totals: Path) -> None:
    """Finds that the certificate cannot be made again from such a release."""
    for release, text in ((by_age, "by block and age only"), (tract_totals, "by tract only")):
        checks = {check.check: check for check in check_release(release)}
        assert all(check.ok for check in checks.values())
        assert checks["numbers shown"].detail == text


def test_a_release_that_shows_more_than_it_says_does_not_certify(by_age: Path, folder: Path) -> None:
    """Finds that a manifest that says less than the tables show is accepted."""
    from mapapp.kinds.release.make.shown_margins import check_margins

    store = open_store(by_age, "release")
    (good,) = check_margins(store)
    (bad,) = check_margins(store.add_facts(segments_by=[], workplaces_by="tract"))
    assert good.ok
    assert not bad.ok
    assert "age differs between workers" in bad.detail
    assert "not the block nearest" in bad.detail


def test_answers_have_only_what_is_shown(by_age: Path) -> None:
    """Finds a table, sentence, or filter about earnings that the release does not show."""
    release = Release.open(by_age)
    profile = release.profile()
    assert profile.bands["characteristic"].unique().tolist() == ["age"]
    assert profile.segments[["earnings", "industry"]].to_numpy().max() == 0
    assert profile.segments["workers"].sum() == profile.workers.value
    assert profile.margins.empty
    assert list(grids.of_profile(profile)) == ["Age", "Earnings", "All industries"]
    assert grids.of_profile(profile)["All industries"].tolist()[-1] == profile.workers.value
    assert len(entries.by_segment(profile).heads) == 1
    assert "earn" not in " ".join(sentences.of_profile(profile))
    assert not [name for name in release.comparison().units if str(name).startswith(("earnings", "industry"))]
    assert release.cross_table().by == ("age",)
    with pytest.raises(UsageError, match="earnings: this release does not show it"):
        release.profile(filters=Filters(earnings=(1,)))
    with pytest.raises(UsageError, match="has only age"):
        release.cross_table(by=("industry",))


def test_answers_without_any_characteristic(tract_totals: Path) -> None:
    """Finds an analysis or export that fails where workers are not told apart at all."""
    release = Release.open(tract_totals)
    profile = release.profile()
    assert profile.bands.empty
    assert profile.segments["label"].tolist() == ["All workers"]
    assert len(sentences.of_profile(profile)) == 1
    area = "county:81001"
    assert entries.by_group(release.inflow_outflow(area)).rows.empty
    assert any("exact by census tract" in note.text for note in profile.about.notes)
    with pytest.raises(UsageError, match="shows no attributes"):
        release.cross_table()


def test_exports_have_only_what_is_shown(by_age: Path, tmp_path: Path) -> None:
    """Finds a field of every worker's first band in an exported file."""
    release = Release.open(by_age)
    for layer in (
        unit_layer(release, "county"),
        point_layer(release.store, "home"),
        flow_layer(release.store),
    ):
        columns = next(iter(layer.parts())).frame.columns
        assert set(layer.fields) <= set(columns)
        assert not [name for name in (*layer.fields, *columns) if "earnings" in name or "industry" in name]
    with pytest.raises(UsageError, match="does not show all of age"):
        write_lodes(release.store, tmp_path)


def test_releases_that_show_different_things_are_not_compared(by_age: Path, demo_release: Path) -> None:
    """Finds a change from a band that one of two releases does not show, counted as 0 workers there."""
    profiles = [Release.open(path).profile() for path in (demo_release, by_age)]
    with pytest.raises(UsageError, match="do not both show the same"):
        change(*profiles)


def test_the_method_page_says_what_is_exact(by_age: Path, tract_totals: Path) -> None:
    """Finds a page that says that numbers are shown which are not, or hides that coarser ones are exact."""
    texts = [
        " ".join(str(part) for chapter in chapters(Release.open(path)) for part in chapter.parts)
        for path in (by_age, tract_totals)
    ]
    assert "How many people work in a block, by age, is already public." in texts[0]
    assert "How many people work in a census tract is already public." in texts[1]
    assert "exact by census tract of work" in texts[1]
    assert "The numbers of workers in a census tract are shown exactly" in texts[1]


def test_less_follows_from_fewer_numbers(dataset: Path) -> None:
    """Finds that a dry run counts what follows from numbers that the release would not show."""
    store = open_store(dataset, "dataset")

    def exposure(margins: ShownMargins) -> dict[str, int]:
        shown = add_shown_margins(store, margins)
        geography = read_geography(shown)
        return count_exposure(shown, geography, read_workplaces(shown, geography)).given_others

    everything, ages, nothing = (exposure(margins) for margins in (ShownMargins(), AGE, NONE))
    assert set(everything) == {"age", "earnings"}
    assert set(ages) == {"age"}
    assert ages["age"] < everything["age"]
    assert nothing == {}


def test_options_and_measures(dataset: Path, by_age: Path, folder: Path) -> None:
    """Finds unknown names that are taken for none, and a release that `validate` does not recognize."""
    wrong = refused("synthesize", dataset, folder / "never", "--segments", "age,income")
    assert "give some of age, earnings, industry" in wrong
    assert "each once" in refused("synthesize", dataset, folder / "never", "--segments", "age,age")
    assert setting_of(ShownMargins, {"segments": "industry, age"}).segments == ("age", "industry")
    assert setting_of(ShownMargins, {"segments": "none", "workplaces": "block"}) == NONE
    done = run_here("validate", dataset, by_age, "--sample", "3")
    assert done.code == 0, done.err


def test_a_sweep_measures_what_the_release_would_show(dataset: Path, folder: Path) -> None:
    """Finds a sweep of all numbers where the release shows fewer, or rows of the one resumed as the other's."""
    from mapapp.analyst.validity.confidential_parts import AnalystData

    file = folder / "swept.csv"
    sweep = ("sweep", dataset, "--over", "epsilon=2", "--design", "none", "--sample", "3", "--csv", file)
    everything, totals = (
        json.loads(run_here(*sweep, "--json", *options).out)
        for options in ((), ("--segments", "none", "--workplaces", "tract"))
    )
    assert everything["exact_numbers"]["segments"] == ["age", "earnings", "industry"]
    assert totals["exact_numbers"] == {"segments": [], "workplaces": "tract"}
    assert everything["rows"][0]["kl_all"] != totals["rows"][0]["kl_all"]
    lines = run_here(*sweep, "--segments", "age").out.splitlines()
    assert "exact numbers of workers by block and age only" in lines
    shown = add_shown_margins(open_store(dataset, "dataset"), AGE)
    assert AnalystData(shown).workplaces.n_workers.sum() == sum(
        open_store(dataset, "dataset").table("jobs")["count"]
    )
    refusal = refused("sweep", dataset, "--worker-records", "--over", "epsilon=2", "--segments", "age")
    assert "--segments is an option of releases" in refusal


def test_a_board_reads_of_the_numbers_that_are_shown(dataset: Path, folder: Path) -> None:
    """Finds exposure or parameters of all numbers in a justification of fewer."""
    board = folder / "board"
    shown = ("--segments", "age", "--workplaces", "tract")
    (folder / "plain.toml").write_text('design = "none"\n')
    done = run_here("justify", dataset, folder / "plain.toml", "-o", board, *shown)
    assert done.code == 0, done.err
    text = (board / "justification.md").read_text(encoding="utf-8")
    assert "| Exact numbers of workers | by tract and age |" in text
    assert "The age band follows with certainty" in text
    assert "earnings band follows" not in text
    (folder / "hidden.toml").write_text('design = "none"\nsegments = "none"\n')
    refusal = refused("justify", dataset, folder / "hidden.toml", "-o", folder / "other")
    assert "segments and workplaces are not part of a setting" in refusal
