"""Worker records open and answer like a release, with further attributes, filters, and errors of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest
from msgspec import structs

from geodata.store.store import open_store
from mapapp.answers import served_answers
from mapapp.answers.analyses.measures import MEASURES
from mapapp.answers.commutes.pick import Pick
from mapapp.answers.errors import record_errors
from mapapp.answers.errors.answer_errors import ROWS
from mapapp.answers.errors.certificate_terms import ErrorTerms
from mapapp.answers.errors.error_marks import mark_of_grid, mark_of_table
from mapapp.answers.findings.findings import findings
from mapapp.answers.promise.method import chapters
from mapapp.answers.records.certificate import NO_EDGE
from mapapp.answers.records.claims import AttributeClaim, ErrorTerm, ValueClaim, records_claims
from mapapp.answers.records.rows import MOST_PAGES, ROWS_PER_PAGE, record_rows
from mapapp.answers.records.words import error_words
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.kinds.records.page import rows_page
from mapapp.question.address import Address
from mapapp.question.fields import Side
from mapapp.question.filters import Filters
from mapapp.question.question import Question
from tests.addresses import settled
from tests.records_store import certificate
from tests.releases import write_release

MEN = Filters(attributes=("sex:0",))


@pytest.fixture(scope="module")
def release(demo_records: Path) -> Release:
    return Release.open(demo_records)


@pytest.fixture(scope="module")
def rows(demo_records: Path) -> pandas.DataFrame:
    """The records themselves, with the county of work and of home."""
    store = open_store(demo_records, "records")
    records, county = store.table("records"), store.table("blocks", ["county_id"])["county_id"]
    return records.assign(
        work=county.iloc[records["destination_index"]].to_numpy(),
        home=county.iloc[records["origin_index"]].to_numpy(),
    )


def test_a_profile_counts_every_attribute(release: Release, rows: pandas.DataFrame) -> None:
    county = rows["work"].mode()[0]
    here = rows[rows["work"] == county]
    found = release.profile(f"county:{county}").attributes
    for name in ("sex", "education", "distance_band"):
        mine = found[found["attribute"] == name]
        assert mine["workers"].tolist() == [(here[name] == value).sum() for value in range(len(mine))]
        assert mine["share"].sum() == pytest.approx(1)


def test_a_cross_table_counts_the_records(release: Release, rows: pandas.DataFrame) -> None:
    county = rows["home"].mode()[0]
    here = rows[rows["home"] == county]
    answer = release.cross_table(f"county:{county}", ("sex", "age", "education"), side="home")
    found = answer.cells.set_index(["first", "second", "third"])["workers"]
    wanted = here.astype(dict.fromkeys(("sex", "age", "education"), str))
    counts = wanted.groupby(["sex", "age", "education"]).size()
    assert found[found > 0].to_dict() == counts.to_dict()
    totals = answer.totals.set_index(["first", "second", "third"])["workers"]
    assert totals["1", "", ""] == (here["sex"] == 1).sum()
    assert totals["", "2", "3"] == ((here["age"] == 2) & (here["education"] == 3)).sum()


def test_filters_by_attributes_apply_to_answers_and_points(release: Release, rows: pandas.DataFrame) -> None:
    men = rows[rows["sex"] == 0]
    answer = release.destinations("all", MEN, side="home", layer="county")
    counts = answer.units.set_index("unit_id")["workers"]
    assert counts.to_dict() == men["work"].value_counts().to_dict()
    assert answer.about.filters == "Sex: Male"
    both = Filters(age=(1,), attributes=("sex:0", "education:2", "education:3"))
    kept = men[(men["age"] == 1) & men["education"].isin([2, 3])]
    assert release.profile("all", both).workers.value == len(kept)
    assert len(release.flows.places(Pick(filters=both), "work")["lon_deg"]) == len(kept)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("shoes:1",), "this publication has only age, earnings, industry, sex"),
        (("sex:7",), r"has no value '7'; its values are 0 \(Male\), 1 \(Female\)"),
        (("age:1",), "has a filter of its own"),
    ],
)
def test_unknown_attributes_are_refused_in_one_line(
    release: Release, texts: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        release.profile("all", Filters(attributes=texts))


def test_a_release_refuses_attributes_that_it_does_not_have(tmp_path: Path) -> None:
    release = Release.open(write_release(tmp_path / "small.release", n_pairs=100))
    with pytest.raises(UsageError, match="has only age, earnings, industry"):
        release.profile("all", MEN)
    with pytest.raises(UsageError, match="has only age, earnings, industry"):
        release.cross_table("all", ("sex",))


@pytest.mark.parametrize("by", [("age", "age"), ("age", "earnings", "industry", "sex"), "age"])
def test_a_cross_table_has_one_to_three_attributes(release: Release, by: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="one to three different attributes"):
        release.cross_table("all", by)


def test_without_stated_terms_no_number_has_an_error(release: Release) -> None:
    answer = release.profile("all", errors=True)
    assert answer.workers.expected_error is None
    assert answer.bands["expected_error"].isna().all()
    assert release.inflow_outflow("all", errors=True).inflow.expected_error is None


def test_every_attribute_of_a_profile_has_its_error_however_few_rows_are_asked_for(
    seedless_records: Path,
) -> None:
    records = Release.open(seedless_records)
    profile = records.profile("all", errors=True).attributes
    assert profile["attribute"].nunique() > 5
    assert len(profile) > 40
    assert profile["expected_error"].notna().all()
    served = Release.open(seedless_records, "demo")
    counties = served.store.table("counties")
    county = f"county:{counties.loc[~counties['elsewhere'], 'county_id'].iloc[0]}"
    shown = served_answers.with_errors(served, settled(served, Question(analysis="profile", areas=(county,))))
    assert shown.tables()["attributes"]["expected_error"].isna().any()
    assert shown.about.marked_notes[mark_of_table(shown, "attributes").strip("()")] == record_errors.UNCOVERED


def test_a_number_without_an_error_has_the_mark_of_the_note_that_says_why(
    seedless_records: Path, demo_records: Path
) -> None:
    records = Release.open(seedless_records)
    tracts = records.store.table("tracts")
    tract = f"tract:{tracts.loc[~tracts['elsewhere'], 'tract_id'].iloc[0]}"
    block = f"block:{records.store.table('blocks', ['block_id'])['block_id'].iloc[0]}"
    for answer, marked in (
        (records.profile(tract, errors=True), {"segments": record_errors.UNCOVERED}),
        (records.profile(block, errors=True), {"workers": record_errors.PARTS_OF_TRACTS}),
        (records.profile(tract, side="home", errors=True), {"bands": record_errors.PARTS_OF_PUMAS}),
        (records.destinations(tract, layer="tract", errors=True), {"units": record_errors.PARTS_OF_PUMAS}),
        (
            records.distance_direction(tract, errors=True),
            {"median_mi": record_errors.DISTANCES, "bands": record_errors.DISTANCES},
        ),
        (records.inflow_outflow(tract, errors=True), {"net_inflow": record_errors.DIFFERENCES}),
        (records.profile("all", errors=True), {"workers": record_errors.PUBLIC_NUMBER}),
        (Release.open(demo_records).profile("all", errors=True), {"workers": record_errors.NOT_STATED}),
    ):
        about = answer.about
        texts = about.marked_notes
        found = {name: texts[mark.strip("()")] for name, mark in about.no_errors.items() if "," not in mark}
        assert found.items() >= marked.items()
        assert set(texts) == {
            letter for mark in about.no_errors.values() for letter in mark if letter.isalpha()
        }
        for name, number in answer.numbers().items():
            if isinstance(number, MEASURES) and number.value is not None:
                assert (number.expected_error is None) == (name in about.no_errors), name
        for name, table in answer.tables().items():
            if table["expected_error"].isna().any():
                assert name in about.no_errors or len(table) > ROWS, name
    assert "no_errors" not in records.destinations(tract, layer="state", errors=False).about.to_dict()


def test_only_attributes_that_a_table_holds_together_have_an_error(seedless_records: Path) -> None:
    """Finds an uncovered combination with a ±: the attributes of a number are those of its area, filters, and row."""
    records = Release.open(seedless_records)
    claims = records_claims(records.certificate)
    coarse = {(parent.attribute, parent.parent) for parent in claims.model.coarser_parents}
    tables = [
        {name, *(parent for parent in parents if (name, parent) not in coarse)}
        for name, parents in claims.model.parents.items()
    ]
    source = {group: claim.name for claim in claims.attributes for group in claim.derives or ()}
    tract_table = records.store.table("tracts")
    tracts = tract_table[~tract_table["elsewhere"]]
    tract, puma = f"tract:{tracts['tract_id'].iloc[0]}", f"puma:{tracts['puma_id'].iloc[0]}"
    numbers: list[tuple[set[str], float]] = []
    men = Filters(attributes=("sex:1",))
    questions: tuple[tuple[str, Side, str, Filters], ...] = (
        (tract, "work", "work_tract", Filters()),
        (puma, "work", "work_puma", Filters()),
        (puma, "home", "home_puma", Filters()),
        (puma, "home", "home_puma", men),
        ("all", "work", "", men),
    )
    for area, side, place, filters in questions:
        profile = records.profile(area, filters, side=side, errors=True)
        fixed = {place} - {""} | ({"sex"} if filters == men else set())
        for table, column in ((profile.bands, "characteristic"), (profile.attributes, "attribute")):
            rows = zip(table[column], table["expected_error"], strict=True)
            # Without the rows that the filter itself leaves empty.
            numbers += [
                ({*fixed, source.get(name, name)}, error) for name, error in rows if name not in fixed
            ]
    homes = records.destinations(tract, layer="puma", errors=True).units
    numbers += [({"work_tract", "home_puma"}, error) for error in homes["expected_error"].head(ROWS)]
    stated = {True: 0, False: 0}
    for attributes, error in numbers:
        is_covered = any(attributes <= table for table in tables)
        assert (error == error) == is_covered, attributes
        stated[is_covered] += 1
    assert min(stated.values()) >= 10


def test_totals_of_a_cross_table_have_their_errors_and_the_number_of_all_records_has_the_note_that_it_is_public(
    seedless_records: Path,
) -> None:
    served = Release.open(seedless_records, "demo")
    shown = served_answers.with_errors(
        served, settled(served, Question(analysis="cross-table", areas=("all",), by=("age", "earnings")))
    )
    assert shown.tables()["totals"]["expected_error"].notna().all()
    assert mark_of_grid(shown) == "(a)"
    assert shown.about.marked_notes["a"] == record_errors.PUBLIC_NUMBER
    assert any("±" not in sentence and "people work" in sentence for sentence in findings(shown))


def test_errors_of_records_are_ready_at_once(seedless_records: Path) -> None:
    errors = Release.open(seedless_records).errors
    assert errors.is_known
    errors.prepare()


def test_errors_follow_the_terms_of_the_certificate() -> None:
    terms = ErrorTerms(
        [_term("age", "sex", constant=8.0), _term("sex", constant=9.0, per_worker=0.5, squared=0.01)],
        [_attribute("sex", 2), _attribute("age", 3)],
    )
    assert terms.error(100, {"sex": 1}) == pytest.approx((9 + 50 + 100) ** 0.5)
    assert terms.error(100, {"sex": 2}) == 0, "all records, whose number is public"
    assert terms.error(100, {"age": 1}) == pytest.approx(16**0.5)  # the two cells of that age
    # Two of three ages: three quarters of four cells, and a quarter of all records.
    assert terms.error(100, {"age": 2}) == pytest.approx((0.75 * 32) ** 0.5)
    # And two sexes: all of them, so the error is that of the ages.
    assert terms.error(100, {"age": 2, "sex": 2}) == pytest.approx((0.75 * 32) ** 0.5)
    assert terms.error(0, {"sex": 1}) == 3, "an empty cell is not exact; earlier certificates lack its error"
    stated = structs.replace(_term("sex", constant=9.0), of_empty=4.0, per_worker_of_small=2.0, knee=100)
    of_sex = ErrorTerms([stated], [_attribute("sex", 2)])
    assert of_sex.error(0, {"sex": 1}) == 2
    assert of_sex.error(100, {"sex": 1}) == pytest.approx((9 + 2 * 100 / 2) ** 0.5)
    assert terms.error(100, {"work_puma": 1}) is None
    uncovered = structs.replace(_term("sex", constant=9.0), is_covered=False)
    assert ErrorTerms([uncovered], [_attribute("sex", 2)]).error(100, {"sex": 1}) is None


def _attribute(name: str, size: int) -> AttributeClaim:
    values = tuple(ValueClaim(code=str(code), label=str(code)) for code in range(size))
    return AttributeClaim(name=name, title=name, values=values, parents=(), derives=None)


def _term(*attributes: str, constant: float, per_worker: float = 0.0, squared: float = 0.0) -> ErrorTerm:
    return ErrorTerm(
        attributes=attributes,
        constant=constant,
        per_worker=per_worker,
        per_worker_squared=squared,
        is_covered=True,
    )


def test_the_words_on_errors_say_that_they_are_the_model_s_where_there_were_seeds(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset")
    seedless, seeded = (
        structs.replace(
            records_claims(certificate(store, 10, seeded=is_seeded)),
            expected_error=(_term("sex", constant=9.0),),
        )
        for is_seeded in (False, True)
    )
    assert "made from real ones" not in error_words(seedless)
    assert "made from real ones" in error_words(seeded)


def test_attributes_without_an_edge_get_a_caution(release: Release) -> None:
    assert release.cross_table("all", ("sex", "education")).about.has_note(NO_EDGE) is False
    apart = release.cross_table("all", ("industry", "education"))
    assert apart.about.has_note(NO_EDGE)
    assert "industry and education" in str(apart.about.notes[0])


def test_the_method_says_what_a_row_means(demo_records: Path) -> None:
    text = json.dumps([(each.title, each.parts) for each in chapters(Release.open(demo_records, "demo"))])
    assert "No row is a person" in text
    assert "Here \\u03b5 is 1 for a record left out, and 2 for a record changed" in text
    assert "Are these the records that were published?" in text
    assert "Totals at each workplace are exact" not in text


def test_rows_come_a_page_at_a_time(demo_records: Path, rows: pandas.DataFrame) -> None:
    served = Release.open(demo_records, "demo")
    question = Question(attributes=("sex:1",))
    n_women = int((rows["sex"] == 1).sum())
    first, last = (record_rows(served, question, page) for page in (1, 10**9))
    assert first.n_rows == n_women
    assert first.heads == (
        "Works in",
        "Lives in",
        "Age",
        "Earnings",
        "Industry",
        "Sex",
        "Education",
        "Distance from home to work",
    )
    assert len(first.rows) == ROWS_PER_PAGE
    assert {row[5] for row in first.rows} == {"Female"}
    assert last.page == last.n_pages <= MOST_PAGES
    pages = [record_rows(served, question, page).rows for page in range(1, first.n_pages + 1)]
    assert sum(map(len, pages)) == min(n_women, MOST_PAGES * ROWS_PER_PAGE)


def test_the_page_of_rows_says_what_a_row_means(demo_records: Path) -> None:
    served = Release.open(demo_records, "demo")
    shown = str(rows_page.page(served, Address(question=Question(attributes=("sex:0",))), 1))
    assert "No row is a person" in shown
    assert "Sex: Male" in shown
    assert "./records?attribute=sex:0&page=2" in shown
    assert rows_page.page_number("?page=7") == 7
    assert [rows_page.page_number(text) for text in ("?page=-1", "?page=99999", "", None)] == [1] * 4


def test_a_page_without_rows_says_so_and_offers_to_clear_the_filters(demo_records: Path) -> None:
    served = Release.open(demo_records, "demo")
    question = Question(areas=("all", "&circle:0,0,0.1"), attributes=("sex:0",))
    shown = str(rows_page.page(served, Address(question=question), 1))
    assert "No synthetic worker matches" in shown
    assert "Clear the filters" in shown
    assert "Page 1 of 1" not in shown
