"""Published characteristics: against a recount of WAC and RAC files with pandas, and what is refused or noted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from commutemap import Filters, Release, UsageError, change, open_release
from geodata.demo.characteristics_files import write_characteristics
from geodata.sources.characteristics import count_rows, counts_table, read_characteristics
from geodata.sources.lodes import BlockLookup
from geodata.store.characteristic_groups import GROUPS
from geodata.store.schema import CHARACTERISTIC_CODES
from geodata.store.store import open_store
from mapapp.answers.analyses.characteristics import LEAST_JOBS
from mapapp.answers.analyses.place_characteristics import NOT_PUBLISHED
from mapapp.answers.opened_release import COVERAGE
from mapapp.explore.callbacks.explore import answer_of
from mapapp.explore.callbacks.views import Views
from mapapp.question.fields import characteristic_named
from tests.addresses import address_of
from tests.published_counts import counts_of, dense_of, replace_counts, workers_of
from tests.releases import write_release


@pytest.fixture(scope="module")
def files(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_characteristics(open_store(demo_dataset, "dataset"), folder)
    return folder


@pytest.fixture(scope="module")
def release(demo_release: Path, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The demo's release with the counts of all its files."""
    path = Path(shutil.copytree(demo_release, tmp_path_factory.mktemp("demo") / "r"))
    lookup = BlockLookup.of(open_store(path, "release").table("blocks"), 2020)
    read = [read_characteristics(file) for file in sorted(files.iterdir())]
    table = counts_table([count_rows(each, lookup) for each in read])
    return open_release(replace_counts(path, table, [each.as_fact() for each in read]))


def recount(files: Path, release: Release, side: str, segments: tuple[str, ...], county: str) -> Any:
    """The rows of the files of some segments, summed by tract, within a county if it is named."""
    kind, geocode = ("wac", "w_geocode") if side == "work" else ("rac", "h_geocode")
    rows = pandas.concat(
        pandas.read_csv(file, dtype={geocode: str})
        for segment in segments
        for file in sorted(files.glob(f"*_{kind}_{segment}_*"))
    )
    rows = rows[rows[geocode].str.startswith(county)]
    blocks = release.store.table("blocks", ["block_id", "tract_id"]).set_index("block_id")["tract_id"]
    return rows.drop(columns="createdate").groupby(rows[geocode].map(blocks)).sum(numeric_only=True)


@pytest.mark.parametrize("side", ["work", "home"])
@pytest.mark.parametrize(
    ("filters", "segments"),
    [
        (Filters(), ("S000",)),
        (Filters(age=(1,)), ("SA01",)),
        (Filters(earnings=(1, 3)), ("SE01", "SE03")),
        (Filters(industry=(2,)), ("SI02",)),
    ],
)
def test_counts_and_shares_are_those_of_the_files(
    release: Release, files: Path, side: Any, filters: Filters, segments: tuple[str, ...]
) -> None:
    county = release.comparison(layer="county").units["unit_id"][0]
    for place, area in (("", "all"), (county, f"county:{county}")):
        wanted = recount(files, release, side, segments, place)
        for code in ("CNS16", "CA02", "CR04", "CS02"):
            group = next(group for group in GROUPS if code in group.codes)
            found = release.characteristics(area, code, filters, side=side, layer="tract")
            units = found.units.set_index("unit_id")
            assert units["jobs"].sum() == found.known.value == wanted[list(group.codes)].to_numpy().sum()
            of_units = units[units["jobs"] > 0]
            mine = wanted[wanted[list(group.codes)].sum(axis=1) > 0]
            assert of_units["workers"].sort_index().to_dict() == mine[code].sort_index().to_dict()
            share = (mine[code] / mine[list(group.codes)].sum(axis=1)).sort_index()
            assert of_units["share_of_jobs"].sort_index().tolist() == pytest.approx(share.tolist())
            assert found.jobs.value == wanted["C000"].sum()
            assert found.share_of_known == pytest.approx(found.counted.value / found.known.value)
        classes = found.classes.set_index("code")["workers"]
        assert classes.to_dict() == wanted[classes.index].sum().to_dict()
        assert (units["kind"] == "unit").all()


def test_the_largest_share_comes_first_and_small_units_last(release: Release) -> None:
    units = release.characteristics(layer="county").units
    enough = units["jobs"] >= LEAST_JOBS
    n = int(enough.sum())
    assert 1 < n < len(units)
    assert enough.tolist() == [True] * n + [False] * (len(units) - n)
    assert units["share_of_jobs"][:n].is_monotonic_decreasing


def test_files_of_the_demo_agree_with_its_jobs(demo_dataset: Path, files: Path) -> None:
    """WAC of all workers has the jobs of OD files, and RAC those of its homes; segments add up to all workers."""
    store = open_store(demo_dataset, "dataset")
    jobs, blocks = store.table("jobs"), store.table("blocks")
    for kind, position, geocode in (
        ("wac", "destination_index", "w_geocode"),
        ("rac", "origin_index", "h_geocode"),
    ):
        read = {
            segment: pandas.concat(
                pandas.read_csv(file, dtype={geocode: str})
                for file in sorted(files.glob(f"*_{kind}_{segment}_*"))
            ).set_index(geocode)
            for segment in ("S000", "SA01", "SA02", "SA03", "SI01", "SI02", "SI03")
        }
        inside = jobs[~blocks["elsewhere"].to_numpy()[jobs[position]]]
        wanted = inside.groupby(blocks["block_id"].to_numpy(dtype=object)[inside[position]])["count"].sum()
        assert read["S000"]["C000"].sort_index().to_dict() == wanted.to_dict()
        for letter in "AI":
            parts = pandas.concat(read[f"S{letter}0{band}"] for band in (1, 2, 3)).groupby(level=0).sum()
            assert parts["CNS07"].sum() == read["S000"]["CNS07"].sum()
            assert parts["C000"].sort_index().to_dict() == wanted.to_dict()


def test_two_way_tables_are_those_of_segment_files(release: Release, demo_dataset: Path) -> None:
    workers = open_store(demo_dataset, "dataset").table("workers")
    table = release.characteristics().two_way
    assert len(table) == 27
    for first, second, third in (("age", "earnings", "industry"), ("earnings", "industry", "age")):
        rows = table[table[third] == 0].set_index([first, second])["workers"]
        assert (
            rows.to_dict()
            == workers.groupby([first, second]).size().reindex(rows.index, fill_value=0).to_dict()
        )
    assert release.characteristics(filters=Filters(age=(1,))).two_way.empty
    assert "two_way" not in release.characteristics(filters=Filters(age=(1,))).tables()


def made(
    path: Path, *, year: int = 2019, job_type: str = "JT00", keep: Callable[[Any], bool] = bool
) -> Release:
    """The release made by hand with files of a year and job type, of which some are kept."""
    store = open_store(write_release(path, n_pairs=400), "release")
    states = store.table("blocks")["state_id"]
    kept: Any = {"work": ["10"], "home": ["10", "11"]}
    table, files = counts_of(store.table("jobs"), states, kept, year=year, job_type=job_type)
    return open_release(replace_counts(path, table, [file for file in files if keep(file)]))


def refusal(ask: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        ask()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_files_do_not_have_is_refused_or_noted_and_never_zero(tmp_path: Path) -> None:
    usual = made(tmp_path / "usual")
    found = usual.characteristics()
    assert set(found.classes["attribute"]) == {
        "age", "earnings", "sector", "race", "ethnicity", "education", "sex",
    }  # fmt: skip
    (note,) = [note.text for note in found.about.notes if note.code == NOT_PUBLISHED]
    assert note == (
        "Firm age and firm size are not published in WAC files of 2019 for job type JT00: LODES has this only for all "
        "private jobs (JT02)."
    )
    assert any("only for workers aged 30 or older" in note.text for note in found.about.notes)
    assert "LODES has this only for all private jobs (JT02)" in refusal(
        lambda: usual.characteristics("all", "CFS01")
    )
    young = usual.characteristics(filters=Filters(age=(1,)))
    assert "education" not in set(young.classes["attribute"])
    assert any(
        note.text.startswith("Education is not published") and "aged 30 or older" in note.text
        for note in young.about.notes
    )
    assert not usual.characteristics(side="home").about.has_note(COVERAGE)

    private = made(tmp_path / "private", job_type="JT02")
    firms = private.characteristics("all", "CFS03")
    assert {"firm_age", "firm_size"} <= set(firms.classes["attribute"])
    assert firms.counted.value > 0
    assert any("national size of the firm" in note.text for note in firms.about.notes)
    assert "by workplace" in refusal(lambda: private.characteristics("all", "CFS03", side="home"))

    early = made(tmp_path / "early", year=2008)
    assert set(early.characteristics().classes["attribute"]) == {"age", "earnings", "sector"}
    assert "from 2009 on" in refusal(lambda: early.characteristics("all", "CR04"))


def test_missing_files_and_other_filters_are_refused_in_one_line(tmp_path: Path) -> None:
    none = made(tmp_path / "none", keep=lambda _: False)
    assert "import them with --public-characteristics or --published" in refusal(none.characteristics)
    assert none.published_profile() is None
    few = made(
        tmp_path / "few", keep=lambda file: file["end"] == "work" and file["segment"] in ("S000", "SA01")
    )
    assert "de_rac_S000_JT00_YEAR.csv.gz" in refusal(lambda: few.characteristics(side="home"))
    assert few.characteristics(filters=Filters(age=(1,))).jobs.value > 0
    assert few.characteristics().two_way.empty
    wanted = "de_wac_SA02_JT00_2019.csv.gz is not in this publication"
    assert wanted in refusal(lambda: few.characteristics(filters=Filters(age=(1, 2))))
    both = Filters(age=(1,), earnings=(2,))
    assert "not by age and earnings; leave one out" in refusal(lambda: few.characteristics(filters=both))
    sex = Filters(attributes=("sex:F",))
    assert "attributes of worker records" in refusal(lambda: few.characteristics(filters=sex))
    assert "dc_wac_S000_JT00_2019.csv.gz" in refusal(lambda: few.characteristics("state:11"))
    assert "outside the imported states" in refusal(lambda: few.characteristics("state:90"))
    (note,) = [note.text for note in few.characteristics().about.notes if note.code == "no-file"]
    assert note.startswith("Jobs in District of Columbia are not counted")


def test_the_table_of_earlier_versions_gives_the_same(tmp_path: Path) -> None:
    now = made(tmp_path / "now", keep=lambda file: file["segment"] == "S000")
    path = Path(shutil.copytree(tmp_path / "now", tmp_path / "before"))
    table = open_store(path, "release").table("characteristic_counts")
    files = [
        {name: value for name, value in file.items() if name != "segment"}
        for file in open_store(path, "release").manifest["characteristics"]
    ]
    before = open_release(replace_counts(path, table, files, dense=True))
    assert len(dense_of(table)) < len(table)
    for side in ("work", "home"):
        one, other = (each.characteristics("county:10001", "CD02", side=side) for each in (now, before))
        assert one.to_dict() | {"about": {}} == other.to_dict() | {"about": {}}
    assert "SA01" in refusal(lambda: before.characteristics(filters=Filters(age=(1,))))


def test_classes_agree_with_the_workers_they_were_made_of(tmp_path: Path) -> None:
    release = made(tmp_path / "r")
    jobs, blocks = release.store.table("jobs"), release.store.table("blocks")
    workers = workers_of(jobs)
    here = (blocks["county_id"] == "10003").to_numpy()[workers["destination_index"]]
    code = CHARACTERISTIC_CODES.index("CNS16")
    found = release.characteristics("county:10003", "CNS16")
    assert found.counted.value == ((workers["code sector"] == code) & here).sum()


def test_a_class_can_be_named_by_its_label() -> None:
    assert characteristic_named("cns16") == characteristic_named("health care") == "CNS16"
    assert characteristic_named("Female") == "CS02"
    assert characteristic_named("bachelor's") == "CD04"
    assert "could be" in refusal(lambda: characteristic_named("workers"))
    assert "does not exist" in refusal(lambda: characteristic_named("astronauts"))


def test_answers_of_two_releases_are_compared(tmp_path: Path) -> None:
    earlier, later = made(tmp_path / "a", year=2018), made(tmp_path / "b")
    found = change(earlier.characteristics(layer="county"), later.characteristics(layer="county"))
    assert found.rows["change"].tolist() == [0] * len(found.rows)
    assert not any(note.code == "both-noisy" for note in found.about.notes)
    assert (
        "count the same number of jobs of the class “Health care and social assistance”"
        in found.findings()[0]
    )
    with pytest.raises(UsageError, match="ask both releases the same question"):
        change(earlier.characteristics("all", "CS01"), later.characteristics("all", "CS02"))


def test_the_page_shows_a_comparison_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "r"
    made(path, keep=lambda _: False)
    views = Views({"r": open_release(path)})
    address = address_of(analysis="characteristics", areas=("county:10001",), age=(1,))
    found, missing, notes = answer_of(views, address)
    assert (found.about.analysis, found.about.filters, missing) == ("comparison", "", "")
    assert notes[0].startswith("This publication has no counts of LODES characteristics (WAC, RAC)")
