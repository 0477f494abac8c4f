"""Tables with two sides: every cell and total is what counting the workers one by one gives."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import load_workbook

from commutemap import Filters, Release, open_release
from geodata.store.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from mapapp.answers.analyses import counts as counted
from mapapp.answers.analyses import entries, grids
from mapapp.answers.analyses.about import About
from mapapp.answers.analyses.entries import grid_of
from mapapp.answers.analyses.results import AreaProfile, FlowMatrix
from mapapp.base.errors import UsageError
from mapapp.commands.cli import run
from mapapp.explore.pages.answer_matrix import matrix
from mapapp.show.files import answers
from tests.oracles import analyses as twin
from tests.releases import write_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return open_release(write_release(tmp_path_factory.mktemp("grids") / "one.release"))


@pytest.fixture(scope="module")
def workers(release: Release) -> Any:
    return twin.workers_of(release.store)


def test_a_profile_is_a_grid_of_27_with_every_margin(release: Release, workers: Any) -> None:
    answer = release.profile("county:10001")
    here = workers[workers["work_county_id"] == "10001"]
    counts, _ = grids.cube(answer)
    for bands in product(range(4), repeat=3):
        kept = here
        for name, band in zip(("age", "earnings", "industry"), bands, strict=True):
            kept = kept if band == 0 else kept[kept[name] == band]
        assert counts[bands] == len(kept), bands
    grid = grids.of_profile(answer)
    assert list(grid.columns) == ["Age", "Earnings", *INDUSTRY_GROUPS, "All industries"]
    assert len(grid) == 16
    assert grid.iloc[-1].tolist() == ["All ages", "All earnings", *counts[0, 0, 1:].tolist(), len(here)]


def test_the_page_shows_the_profile_under_headings_of_age(release: Release) -> None:
    answer = release.profile("county:10001")
    wide = entries.by_segment(answer)
    headings = wide.rows.loc[wide.rows["counts"].map(len) == 0, "label"].tolist()
    assert headings == [*(f"Age {band}" for band in AGE_BANDS), "All ages"]
    assert wide.rows["label"].tolist()[1:5] == [*EARNINGS_BANDS, "All earnings"]
    assert wide.heads == (*INDUSTRY_GROUPS, "All industries")


def test_a_grid_has_errors_only_where_they_are_known() -> None:
    frame = grids.of_profile(_profile_with_errors())
    assert frame.columns[3] == f"{INDUSTRY_GROUPS[0]}{grids.ERROR}"
    last = frame.iloc[-1]
    assert last[f"All industries{grids.ERROR}"] == 5.0
    assert frame[f"{INDUSTRY_GROUPS[0]}{grids.ERROR}"].isna().sum() == 6  # the margins of two characteristics


def test_margins_of_two_characteristics_have_their_own_errors(demo_release: Path) -> None:
    release = open_release(demo_release)
    area = release.comparison("all", layer="county").units["unit_id"].iloc[0]
    answer = release.with_errors(release.profile(f"county:{area}", side="home"), 27)
    _, errors = grids.cube(answer)
    assert not np.isnan(errors).any()
    first = Filters(age=(1,), earnings=(2,))
    alone = release.with_errors(release.profile(f"county:{area}", first, side="home"), 0)
    assert errors[1, 2, 0] == pytest.approx(alone.workers.expected_error)
    assert 0 < errors[1, 2, 0] < errors[1, 2, 1:].sum()
    assert answer.margins["workers"].sum() == 3 * answer.workers.value


def _profile_with_errors() -> AreaProfile:
    """A profile whose segments have the error 1, bands 2, and the whole 5."""
    by_segment = np.arange(27, dtype=np.int64)
    number = replace(counted.number(int(by_segment.sum())), expected_error=5.0)
    return AreaProfile(
        about=About(analysis="profile", title="Area profile", release="", version="", side="home"),
        workers=number,
        bands=counted.bands(by_segment).assign(expected_error=2.0),
        segments=counted.segments(by_segment).assign(expected_error=1.0),
        margins=counted.margins(by_segment),
    )


def test_a_matrix_has_every_flow_and_total(release: Release, workers: Any) -> None:
    answer = release.flow_matrix("county", "tract")
    grid = grids.of_flow_matrix(answer).set_index("Identifier")
    ids = dict(zip(answer.works["name"], answer.works["unit_id"], strict=True))
    for home in answer.homes["unit_id"]:
        mine = workers[workers["home_county_id"] == home]
        assert grid.loc[home, grids.TOTAL] == len(mine)
        for name, unit_id in ids.items():
            assert grid.loc[home, name] == (mine["work_tract_id"] == unit_id).sum()
    totals = grid.loc[""].drop("Live in")
    assert totals[grids.TOTAL] == len(workers)
    assert totals.drop(grids.TOTAL).sum() == len(workers)


@pytest.mark.parametrize("most", [2, 3, 9])
def test_a_short_matrix_keeps_the_totals_and_counts_the_rest_together(release: Release, most: int) -> None:
    answer = release.flow_matrix("tract", "tract")
    counts, homes, works = grids.matrix(answer, grids.Limit(most, most))
    assert counts.shape == (most + 1, most + 1)
    assert len(homes) == len(works) == most
    assert counts[-1, -1] == answer.workers.value
    assert (counts[:-1].sum(axis=0) == counts[-1]).all()
    assert (counts[:, :-1].sum(axis=1) == counts[:, -1]).all()
    assert homes["kind"].iloc[-1] == works["kind"].iloc[-1] == "other"
    assert homes["unit_id"].tolist() == works["unit_id"].tolist(), "one layer has one order"


def test_the_page_outlines_those_who_stay_and_names_the_rest(release: Release) -> None:
    answer = release.flow_matrix("tract", "tract")
    shown = matrix(answer)
    assert shown is not None
    own = answer.cells[answer.cells["home_id"] == answer.cells["work_id"]]
    stay = sum(shown["counts"][row][place] for row, place in enumerate(shown["same"]) if place >= 0)
    assert stay == own["workers"].sum()
    assert shown["rest"] == [False, False]
    assert "Outlined cells" in shown["text"]
    assert matrix(release.profile("county:10001")) is None


def test_a_matrix_that_no_file_should_hold_names_the_way_out(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "MOST_CELLS", 8)
    answer = release.flow_matrix("tract", "tract")
    with pytest.raises(UsageError, match="one row for each pair, or choose larger units"):
        grid_of(answer)
    grids.of_flow_matrix(answer, grids.Limit(2, 2))
    stream = io.BytesIO()
    (left_out,) = answers.write_xlsx([answer], stream)
    book = load_workbook(stream)
    assert answers.WIDE not in book.sheetnames
    assert re.match(
        r"The sheet wide is left out: a matrix of 25 by 16 units .* The sheet cells has every", left_out
    )
    assert left_out in [row[-1] for row in book["about"].iter_rows(values_only=True)]


def test_a_matrix_with_more_columns_than_a_sheet_is_left_out(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = release.flow_matrix("tract", "tract")
    monkeypatch.setattr(answers, "MAX_SHEET_COLUMNS", 18)
    grid, left_out = answers.sheet_grid(answer)
    assert grid is None
    assert "it has 19 columns (at most 18); write CSV with --wide" in left_out
    assert answers.sheet_grid(release.flow_matrix("county", "county"))[1] == ""
    assert answers.sheet_grid(release.destinations("county:10001")) == (None, "")


def test_the_commands_say_what_a_workbook_leaves_out(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grids, "MOST_CELLS", 8)
    asked = [str(release.store.path), "--analysis", "flow-matrix", "--home-layer", "tract"]
    asked += ["--work-layer", "tract", "-q", "-o"]
    for command in ("analyze", "report"):
        file = tmp_path / f"{command}.xlsx"
        assert run([command, *asked, str(file)]) == 0
        assert "The sheet wide is left out: a matrix of 25 by 16 units" in capsys.readouterr().err
        book = load_workbook(file)
        assert answers.WIDE not in book.sheetnames
        front = book["about" if command == "analyze" else "Report"]
        cells = [cell for row in front.iter_rows(values_only=True) for cell in row if cell]
        assert any("is left out" in str(cell) for cell in cells)


def test_wide_files_have_the_grid(release: Release) -> None:
    answer = release.flow_matrix("county", "county")
    text = io.StringIO()
    answers.write_csv(answers.wide_tables([answer]), text)
    rows = list(csv.reader(io.StringIO(text.getvalue())))
    assert rows[0][:2] == ["Live in", "Identifier"]
    assert rows[-1][-1] == str(answer.workers.value)
    stream = io.BytesIO()
    answers.write_xlsx([answer], stream)
    sheet = load_workbook(stream)[answers.WIDE]
    assert sheet.max_row == len(rows)
    assert sheet.cell(sheet.max_row, sheet.max_column).value == answer.workers.value


def test_the_first_pairs_of_a_csv_file_have_expected_errors(
    demo_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = open_release(demo_release)
    asked = ["--analysis", "flow-matrix", "--home-layer", "county", "--work-layer", "county", "-q"]
    assert run(["analyze", str(demo_release), *asked, "--errors", "3", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    cells = release.with_errors(release.flow_matrix("county", "county"), 3).cells
    assert [float(row["expected_error"]) for row in rows[:3]] == pytest.approx(
        cells["expected_error"].head(3)
    )
    assert {row["expected_error"] for row in rows[3:]} == {""}


def test_only_answers_with_a_grid_are_written_wide(release: Release) -> None:
    with pytest.raises(UsageError, match="Destinations has no wide form; leave out --wide"):
        list(answers.wide_tables([release.destinations("county:10001")]))
    matrices: list[FlowMatrix] = [
        release.flow_matrix("county", "county"),
        release.flow_matrix("county", "tract"),
    ]
    with pytest.raises(UsageError, match="different columns"):
        list(answers.wide_tables(matrices))
