"""What the page says beside its numbers: errors of changes, cautions of every count, settings that mean something."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geodata.store.store import sha256_of
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.entries import ENTRIES, headline_of, n_about
from mapapp.answers.analyses.job_balance import JobBalance
from mapapp.answers.analyses.measures import Number, caution
from mapapp.answers.analyses.results import InflowOutflow
from mapapp.answers.findings.findings import added_findings, findings
from mapapp.answers.findings.words import amount
from mapapp.answers.opened_release import COVERAGE
from mapapp.answers.publication import UNBOUND_NOTE
from mapapp.answers.release import Release
from mapapp.explore.callbacks.explore import answer_of
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import answer, answer_charts, answer_tables, controls, method
from mapapp.explore.pages.answer_tables import SHARE
from mapapp.question.address import Address
from mapapp.question.analyses import ANALYSES
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.paper.charts import chart_pictures
from mapapp.show.reports.tables import tables
from tests.addresses import address_of, settled
from tests.addresses import shown as question_and_view
from tests.releases import rewrite_table, write_release


@pytest.fixture(scope="module")
def views(demo_release: Path) -> Views:
    return Views({name: Release.open(demo_release, name) for name in ("now", "before")})


DRAWN = [name for name in ANALYSES if not ENTRIES[name].is_published]
"""Analyses of what is drawn; these releases have no published counts."""


def _state(views: Views, analysis: Any) -> Address:
    release = views.release(Address())
    county = served_answers.units(release, settled(release, Question(layer="county")))["unit_id"].iloc[0]
    return address_of(
        analysis=analysis, areas=(f"county:{county}",), others=(f"county:{county}",), against="before"
    )


@pytest.mark.parametrize("analysis", DRAWN)
def test_a_change_has_the_errors_of_both_releases(views: Views, analysis: str) -> None:
    release, before, state = views.releases["now"], views.releases["before"], _state(views, analysis).question
    found = served_answers.compare_with_errors(before, release, settled(release, state))
    table = answer_tables.table(found, every=False)
    page = json.dumps(answer.tiles(found), default=lambda part: part.to_plotly_json(), ensure_ascii=False)
    one = headline_of(found.after).expected_error
    if one:
        assert f"± {math.hypot(one, one):,.0f}" in page or f"± {math.hypot(one, one):.1f}" in page
    if analysis in ("profile", "cross-table", "comparison"):  # counts by workplace, which are exact
        assert table["title"] == "Difference (exact counts)"
        assert table["heads"][-1] == "Difference"
        assert all(row["cells"][-1] for row in table["rows"][:5])
    elif analysis != "distance-direction":  # the formula is about areas
        assert table["heads"][-1] == "±"
        assert all(row["cells"][-1] for row in table["rows"][:5])
    assert answer.main_result(found).about.title in found.about.title


@pytest.mark.parametrize("side", ["work", "home"])
@pytest.mark.parametrize("analysis", ["profile", "comparison"])
def test_exact_counts_say_so_once(views: Views, analysis: Any, side: Any) -> None:
    """Counts by workplace are published unchanged: one word says so, and no row repeats it."""
    release, question = views.releases["now"], _state(views, analysis).question
    found = served_answers.with_errors(release, settled(release, replace(question, side=side)))
    table, is_exact = answer_tables.table(found, every=True), side == "work"
    assert table["title"].endswith("(exact counts)") == is_exact
    if analysis == "profile":
        assert any("±" in cell for row in table["rows"] for cell in row["cells"]) != is_exact
    else:
        assert table["heads"][-1] == ("Share" if is_exact else "±")
    page = json.dumps(
        answer.headline(release, question, found, ""), default=lambda part: part.to_plotly_json()
    )
    assert (", exact" in page) == is_exact
    charts = json.dumps(
        answer_charts.charts(found), default=lambda part: part.to_plotly_json(), ensure_ascii=False
    )
    assert charts.count("exact") == is_exact
    assert ("±" in charts) != is_exact
    for printed in tables(found):
        if any(column.name == "expected_error" for column in printed.columns):
            heads = [printed.columns[place].head for place in printed.printed]
            assert ("Expected error" in heads) != is_exact
            assert ("All counts are exact." in printed.words) == is_exact
    pictures = chart_pictures(release, found, form="svg")
    assert [title.endswith("(exact counts)") for title, _, _ in pictures] == [is_exact]


def test_counts_of_several_columns_say_once_that_they_are_exact(views: Views) -> None:
    release, question = views.releases["now"], _state(views, "inflow-outflow").question
    found = served_answers.with_errors(release, settled(release, question))
    assert isinstance(found, InflowOutflow)
    exact = replace(found, segments=found.segments.assign(expected_error=0.0))
    table = answer_tables.table(exact, every=True)
    assert table["title"] == "Who comes, goes, and stays (exact counts)"
    assert all(cell.replace(",", "").isdigit() for row in table["rows"] for cell in row["cells"])


@pytest.mark.parametrize("analysis", DRAWN)
def test_every_small_count_of_a_table_has_its_caution(views: Views, analysis: str) -> None:
    state = _state(views, analysis)
    for each in (state, replace(state, against="")):
        found, _, _ = answer_of(views, each)
        for row in answer_tables.table(found, every=True)["rows"]:
            for text, mark in zip(row["cells"], row["marks"], strict=False):
                count = int(text.split(SHARE)[0].replace(",", ""))
                assert mark == (caution(count) if count else "")


def test_a_release_against_itself_says_that_it_is_none(views: Views) -> None:
    _, _, notes = answer_of(views, address_of(release="before", against="before"))
    assert "another release" in notes[0]


def test_the_method_page_says_what_an_older_certificate_does_not_bind(views: Views, tmp_path: Path) -> None:
    older = Release.open(write_release(tmp_path / "older", n_pairs=50), "older")
    for release, is_noted in ((older, True), (views.releases["now"], False)):
        page = json.dumps(method.page(release), default=lambda part: part.to_plotly_json())
        assert (UNBOUND_NOTE in page) == is_noted
        assert ("not covered by this certificate (schema 1)" in page) == is_noted
        assert sha256_of(release.store.path / "manifest.json") in page


def test_settings_that_change_nothing_are_hidden() -> None:
    def shown(state: Question, view: View | None = None) -> set[str]:
        hidden = controls.hidden_fields(state, view or View())
        return {name for name, away in zip(controls.FIELDS, hidden, strict=True) if not away}

    assert shown(Question()) == {"side", "layer", "show", "color"}
    assert shown(Question(), View(show="areas")) == {"side", "layer", "show", "per"}
    assert shown(Question(), View(show="density")) == {"side", "layer", "show"}
    assert shown(Question(analysis="inflow-outflow", areas=("county:1",))) == set()
    assert shown(Question(analysis="flow-matrix")) == {"side", "matrix"}
    assert shown(Question(analysis="job-balance")) == {"layer"}
    assert shown(Question(areas=("county:1",))) == {"side", "layer", "show", "color"}
    assert shown(Question(areas=("county:1",)), View(show="areas")) == {"side", "layer", "show", "per"}
    assert shown(Question(analysis="job-balance"), View(show="areas")) == {"layer"}


def test_menus_of_layers_begin_with_the_usual_ones_and_leave_out_empty_ones(
    demo_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = Release.open(demo_release, "demo")
    usual = [
        level
        for level in ("ctycsub", "stplc", "county", "zcta", "tract", "bgrp")
        if level in release.areas.columns
    ]
    known = set(release.areas.columns)
    # A layer without a unit. Other releases of the process share the areas.
    monkeypatch.setitem(release.areas.columns, "trib", "layer_trib")
    offered = list(Views({"demo": release}).layers(Address()))
    assert offered[: len(usual)] == usual
    assert len(usual) >= 5
    assert set(offered) == known


def test_the_control_shows_what_the_map_draws() -> None:
    question, view = question_and_view(areas=("county:10001",))

    def closed(asked: Question, kind: str) -> list[object]:
        return [option["value"] for option in controls.show_options(asked, kind) if option["disabled"]]

    for kind in ("points", "density", "areas"):
        assert controls.show_value(question, view, kind) == kind
        assert closed(question, kind) == []
        assert controls.show_note(kind) == ""
    assert closed(Question(), "points") == ["lines"]
    assert closed(question, "change") == ["points", "density", "lines"]
    assert controls.show_note("change")
    assert controls.show_value(*question_and_view(analysis="inflow-outflow"), "arrows") == "points"


def test_jobs_without_residents_are_an_answer(tmp_path: Path) -> None:
    """An airport has jobs, and nobody lives there: the page shows the jobs and says why there is no ratio."""
    path = write_release(tmp_path / "airport")
    blocks = Release.open(path, "airport").store.table("blocks")
    empty = blocks.index[blocks["tract_id"] == blocks["tract_id"].iloc[0]]
    other = int(blocks.index[blocks["tract_id"] != blocks["tract_id"].iloc[0]][0])

    def moved(jobs: Any) -> Any:
        homes = jobs["origin_index"]
        return jobs.assign(origin_index=homes.mask(homes.isin(empty), other).astype("int32"))

    rewrite_table(path, "jobs", moved)
    views = Views({"airport": Release.open(path, "airport")})
    address = address_of(analysis="job-balance", areas=(f"tract:{blocks['tract_id'].iloc[0]}",))
    found, missing, _ = answer_of(views, address)
    assert not missing
    jobs = found.numbers()["jobs"]
    assert isinstance(jobs, Number)
    assert n_about(found) == jobs.value > 0
    page = answer.answer(views.release(address), address, found, missing)
    text = json.dumps(page, default=lambda part: part.to_plotly_json(), ensure_ascii=False)
    for said in (
        "no resident workers",
        "jobs in the area",
        "the number of jobs per resident worker is therefore too high",
    ):
        assert said in text
    assert "No synthetic worker" not in text
    assert answer.glance(found) == "no resident workers"
    (row,) = answer_tables.table(found, every=True)["rows"]
    assert row["cells"][1:3] == ["0", "–"]


def test_the_page_shows_jobs_per_resident_worker_by_unit(views: Views) -> None:
    address = replace(_state(views, "job-balance"), against="").having(layer="tract")
    found, _, _ = answer_of(views, address)
    sure = served_answers.with_errors(
        views.release(address), settled(views.release(address), address.question)
    )
    table = answer_tables.table(sure, every=False)
    assert table["heads"][1:] == ["Jobs", "Live here", "Jobs per worker", "±"]
    units = sure.tables()["units"]
    for row, unit in zip(table["rows"], units.to_dict("records"), strict=False):
        if row["unit"]:
            ratio, error = unit["jobs_per_resident"], unit["jobs_per_resident_error"]
            counts = [f"{unit['jobs']:,}", f"{unit['workers']:,}"]
            assert row["cells"] == [*counts, words.ratio(ratio), words.ratio_error(error, sign="")]
    assert found.about.has_note(COVERAGE)
    whole = address_of(analysis="job-balance")
    everything, missing, _ = answer_of(views, whole)
    assert not missing, "without an area, every unit of the release is shown"
    assert n_about(everything) > n_about(found)


def test_a_cross_table_has_the_share_of_each_row_below_its_counts(demo_records: Path) -> None:
    served = Release.open(demo_records, "demo")
    answer = served.cross_table("all", ("education", "sex"))
    shown = answer_tables.table(answer, every=False)
    assert shown["title"] == "Cross table, with shares of each row"
    for row in shown["rows"]:
        *counts, whole = row["cells"]
        parts = [cell.split(SHARE) for cell in counts]
        numbers = [int(count.replace(",", "")) for count, _ in parts]
        assert sum(numbers) == int(whole.replace(",", ""))
        assert [share for _, share in parts] == [f"{100 * n / sum(numbers):.0f}%" for n in numbers]


@pytest.mark.parametrize("analysis", DRAWN)
def test_the_sentences_beside_a_number_are_at_most_two_and_do_not_repeat_it(
    views: Views, analysis: str
) -> None:
    release, question = views.releases["now"], _state(views, analysis).question
    found = served_answers.with_errors(release, settled(release, question))
    said, sentences = findings(found), added_findings(found)
    assert len(sentences) <= 2
    assert said[0] not in sentences
    assert all(sentence[0].isupper() or sentence[0].isdigit() for sentence in sentences)
    count = amount(headline_of(found))
    assert all(f"{count.people} " not in sentence.lower() for sentence in sentences)


def test_jobs_per_resident_worker_begin_with_the_ratio(views: Views) -> None:
    release, question = views.releases["now"], _state(views, "job-balance").question
    found = served_answers.with_errors(release, settled(release, question))
    assert isinstance(found, JobBalance)
    head = answer.headline(release, question, found, "").to_plotly_json()["props"]["children"]  # type: ignore[no-untyped-call]  # Dash has no types for it
    texts = [
        json.dumps(part, default=lambda each: each.to_plotly_json(), ensure_ascii=False) for part in head
    ]
    assert f'"{words.ratio(found.jobs_per_resident.value)}"' in texts[1]
    assert f'"{found.workers.value:,}"' in texts[2]
    tiles = json.dumps(answer.tiles(found), default=lambda part: part.to_plotly_json())
    assert "jobs in the area" in tiles
    assert "jobs per resident worker" not in tiles, "it is the number above"


@pytest.mark.parametrize("analysis", ["destinations", "flow-matrix"])
def test_sums_of_other_rows_stay_last_when_a_table_is_sorted(views: Views, analysis: str) -> None:
    release, question = views.releases["now"], _state(views, analysis).question
    rows = answer_tables.table(served_answers.result(release, settled(release, question)), every=False)[
        "rows"
    ]
    are_last = [row["last"] for row in rows]
    assert are_last == sorted(are_last)
    assert all(row["last"] for row in rows if row["name"].startswith("All other"))
    assert any(are_last)
    assert not all(are_last)
