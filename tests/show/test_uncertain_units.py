"""Units whose expected error exceeds their count: hatched on the map, and said in tables, files, and reports."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy
import openpyxl
import pandas
import pytest

from mapapp.answers import served_answers
from mapapp.answers.errors.error_marks import EXCEEDS, EXCEEDS_COLUMN, EXCEEDS_NOTE, WITHIN
from mapapp.answers.release import Release
from mapapp.explore.callbacks import draw
from mapapp.explore.pages import answer_tables
from mapapp.question.question import Question
from mapapp.show.content import map_layers, uncertain_units
from mapapp.show.content.colored_units import colored_units
from mapapp.show.content.map_captions import map_caption
from mapapp.show.content.map_legends import map_legend
from mapapp.show.files import answers
from mapapp.show.paper import map_picture, map_words
from mapapp.show.reports import Part, Report, build, write
from mapapp.show.reports.content import shown as shown_text
from tests.addresses import settled, shown
from tests.figures import checked
from tests.map_contents import content_of


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


@pytest.fixture(scope="module")
def asked(release: Release) -> Question:
    """A small workplace, so that its workers come from many places in ones and twos."""
    tracts = served_answers.units(release, settled(release, Question(layer="tract")))
    tracts = tracts[(tracts["kind"] == "unit") & (tracts["workers"] > 20)]
    return Question(areas=(f"tract:{tracts['unit_id'].iloc[-1]}",), layer="tract")


@pytest.fixture(scope="module")
def units(release: Release, asked: Question) -> Any:
    answer = release.with_errors(served_answers.result(release, settled(release, asked)), 10_000, ("units",))
    units = answer.tables()["units"]
    return units[(units["kind"] == "unit") & (units["workers"] > 0)]


def test_units_whose_error_exceeds_their_count_are_uncertain(
    release: Release, asked: Question, units: Any
) -> None:
    assert len(units) <= uncertain_units.MAX_CHECKED
    exceeds = set(units.loc[units["expected_error"] > units["workers"], "unit_id"])
    found = uncertain_units.uncertain_units(release, settled(release, asked))
    assert exceeds
    assert set(found) == exceeds


def test_units_that_are_not_checked_are_judged_by_their_neighbors(
    release: Release, asked: Question, units: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Release.open(release.store.path, "again")
    monkeypatch.setattr(uncertain_units, "MAX_CHECKED", 12)
    found = set(uncertain_units.uncertain_units(fresh, settled(fresh, asked)))
    exceeds = set(units.loc[units["expected_error"] > units["workers"], "unit_id"])
    workers = units.set_index("unit_id")["workers"]
    assert not any(unit in found for unit in workers[workers > workers.quantile(0.95)].index)
    assert len(found ^ exceeds) < 0.25 * len(units)


def test_hatched_shapes_are_those_of_uncertain_units(release: Release, asked: Question) -> None:
    question, view = shown(areas=asked.areas, layer="tract", show="areas")
    hatched = checked(draw.map_figure(content_of(release, question, view), "/")).layout.meta["hatched"]
    assert hatched["url"].startswith("/geo/demo/")
    layer = json.loads(gzip.decompress(content_of(release, question).uncertain_file))
    unsure = uncertain_units.uncertain_units(release, settled(release, question))
    drawn = map_layers.unit_shapes(release, "tract")
    assert [each["id"] for each in layer["features"]] == [unit for unit in unsure if unit in drawn]
    assert "Hatched: ± exceeds the count" in map_legend(content_of(release, question, view)).notes


def test_a_picture_hatches_them_too(
    release: Release, asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, view = shown(areas=asked.areas, layer="tract", show="areas")
    bounds = map_layers.home_bounds(release)
    hatched = map_picture(content_of(release, question, view), bounds=bounds)
    monkeypatch.setattr("mapapp.show.content.map_content.uncertain_units", lambda *_: ())
    assert map_picture(content_of(release, question, view), bounds=bounds) != hatched


def test_changes_within_twice_their_error_are_uncertain(
    release: Release, asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors of 3 and 4 make one of 5; a unit without workers in one release has the other's error."""

    def frame(**rows: tuple[int, float]) -> pandas.DataFrame:
        return pandas.DataFrame(rows.values(), columns=["workers", "error"], index=list(rows))

    before = Release.open(release.store.path, "before")
    of = {
        "before": frame(risen=(10, 3.0), same=(10, 3.0), gone=(8, 3.0), fallen=(19, 3.0)),
        "demo": frame(risen=(21, 4.0), same=(20, 4.0), new=(9, 3.0), fallen=(8, 4.0)),
    }
    monkeypatch.setattr(uncertain_units, "_with_errors", lambda each, _: of[each.slug])
    found = uncertain_units.uncertain_changes(before, release, settled(release, asked))
    assert set(found) == {"same", "gone"}, "the others changed by more than twice 5, or twice 3√2"


def test_maps_of_changes_are_gray_within_the_errors_and_say_so(release: Release, asked: Question) -> None:
    """A release compared with itself: no change is certain."""
    question, view = shown(areas=asked.areas, layer="tract", show="areas")
    before = Release.open(release.store.path, "before")
    content = content_of(release, question, view, before)
    figure = checked(draw.map_figure(content, "/"))
    assert figure.layout.meta["hatched"] is None
    colored = colored_units(content)
    same = content.scheme.same
    counted = numpy.array(content.workers) > 0
    assert {colored.colors[at] for at in colored.of[counted].tolist()} == {same}
    sentence = "No tract differs by more than twice its ±"
    legend = map_legend(content)
    assert (legend.items, legend.notes) == ((), (f"{sentence}.",))
    assert [item.color for item in legend.extras if WITHIN in item.text] == [same]
    assert sentence in map_caption(content)
    assert sentence in map_words(content)
    rows = answer_tables.table(
        served_answers.compare_with_errors(before, release, settled(release, question)), every=False
    )["rows"]
    assert rows
    assert {row["sub"] for row in rows} <= {WITHIN, ""}
    assert rows[0]["sub"] == WITHIN


def test_only_significant_changes_have_a_color(
    release: Release, asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, view = shown(areas=asked.areas, layer="tract", show="areas")
    before = Release.open(release.store.path, "before")
    content = content_of(release, question, view, before)
    workers = numpy.array(content.workers)
    sure, unsure = (content.units.ids[at] for at in numpy.argsort(-workers)[:2])
    monkeypatch.setattr(type(content), "earlier_workers", [0] * len(workers))
    monkeypatch.setattr(type(content), "uncertain", tuple(unit for unit in content.units.ids if unit != sure))
    colored = colored_units(content)
    color_of = dict(zip(colored.units.ids, numpy.array(colored.colors)[colored.of].tolist(), strict=True))
    assert color_of[unsure] == content.scheme.same
    assert color_of[sure] in content.scheme.more
    ticks = map_legend(content).ticks
    assert ticks[-1] == (1.0, f"+{workers.max():,}")
    assert "No tract" not in map_caption(content)


def test_changes_of_exact_counts_have_their_color(release: Release, asked: Question) -> None:
    question, view = shown(areas=asked.areas, show="areas", analysis="comparison", layer="tract")
    before = Release.open(release.store.path, "before")
    content = content_of(release, question, view, before)
    assert not content.has_errors
    assert map_legend(content).notes == ("No tract differs.",)


def test_exact_counts_are_not_hatched(release: Release, asked: Question) -> None:
    question, view = shown(areas=asked.areas, show="areas", analysis="comparison", layer="tract")
    assert uncertain_units.uncertain_units(release, settled(release, question)) == ()
    assert checked(draw.map_figure(content_of(release, question, view), "/")).layout.meta["hatched"] is None
    assert not any("Hatched" in line for line in map_legend(content_of(release, question, view)).notes)


def test_the_table_says_it_in_words(release: Release, asked: Question, units: Any) -> None:
    answer = release.with_errors(served_answers.result(release, settled(release, asked)), 10_000, ("units",))
    rows = answer_tables.table(answer, every=True)["rows"]
    said = {row["unit"] for row in rows if EXCEEDS in row["sub"]}
    exceeds = units.loc[units["expected_error"] > units["workers"], "unit_id"]
    assert said == {f"tract:{unit}" for unit in exceeds}
    assert numpy.isfinite(units["expected_error"]).all()


def test_csv_and_workbooks_say_it_in_a_column(release: Release, asked: Question, units: Any) -> None:
    answer = release.with_errors(
        served_answers.result(release, settled(release, asked)), len(units) - 1, ("units",)
    )
    known = answer.tables()["units"].set_index("name")["expected_error"]
    text, book = io.StringIO(), io.BytesIO()
    answers.write_csv([answers.table_of(answer, "units")], text)
    answers.write_xlsx([answer], book)
    head, *sheet = openpyxl.load_workbook(book)["units"].iter_rows(values_only=True)
    assert head[head.index("expected_error") + 1] == EXCEEDS_COLUMN
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    said = {row["name"]: row[EXCEEDS_COLUMN] for row in rows}
    assert {row[head.index("name")]: row[head.index(EXCEEDS_COLUMN)] for row in sheet} == {
        name: {"True": True, "False": False, "": None}[value] for name, value in said.items()
    }
    for row in rows:
        error = known[row["name"]]
        assert said[row["name"]] == ("" if numpy.isnan(error) else str(error > int(row["workers"])))
    assert set(said.values()) >= {"True", "False", ""}
    assert "workers_error_exceeds_count" in answers.table_of(answer, "numbers").columns


def test_a_report_says_it_in_a_column_and_a_note(release: Release, asked: Question, units: Any) -> None:
    report = build([release], [Part(asked)], rows=None, error_rows=len(units), pictures=False)
    (answer,) = report.answers
    (table,) = answer.printed
    place = [column.name for column in table.columns].index(EXCEEDS_COLUMN)
    assert table.columns[place].head == EXCEEDS
    assert place in table.printed
    exceeds = set(units.loc[units["expected_error"] > units["workers"], "name"])
    assert {row[0] for row in table.rows if row[place]} == exceeds
    assert EXCEEDS_NOTE in answer.notes
    assert shown_text("yes", True) in _texts(report, "html")
    certain = build([release], [Part(asked)], rows=None, error_rows=1, pictures=False)
    assert place not in certain.answers[0].printed[0].printed, "a column of no marks is not printed"
    assert EXCEEDS_NOTE not in certain.answers[0].notes


def _texts(report: Report, form: Any) -> str:
    stream = io.BytesIO()
    write(report, form, stream)
    return stream.getvalue().decode()
