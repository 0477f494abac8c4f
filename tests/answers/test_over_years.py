"""Answers over the years: the numbers of each year, side by side, and which differences exceed their errors."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import openpyxl
import pandas
import pytest

from commutemap import OverYears, Release, UsageError, open_release, over_years
from mapapp.answers.analyses.over_years import YearValue
from mapapp.answers.release import open_releases
from mapapp.answers.served_answers import releases_of_years, years_of
from mapapp.commands.cli import run
from mapapp.explore.pages.answer import year_card
from mapapp.question.question import Question
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.content.year_lines import year_lines
from mapapp.show.reports import Part, build, write
from tests.commands.running import refused
from tests.releases import releases_of, rewrite_document, rewrite_table

AREA = "county:10001"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return releases_of(tmp_path_factory.mktemp("years"), {"c": 2019, "a": 2015, "b": 2017})


@pytest.fixture(scope="module")
def releases(paths: list[Path]) -> list[Release]:
    return [open_release(path) for path in paths]


@pytest.fixture(scope="module")
def over(releases: list[Release]) -> OverYears:
    return over_years([release.inflow_outflow(AREA) for release in releases])


def test_each_year_has_its_own_numbers_in_order(over: OverYears, releases: list[Release]) -> None:
    assert over.years == (2015, 2017, 2019)
    inflow = over.by_year[over.by_year["name"] == "inflow"].set_index("year")
    for year, release in zip(
        over.years, sorted(releases, key=lambda release: release.year or 0), strict=True
    ):
        assert release.year == year
        assert inflow.loc[year, "value"] == release.inflow_outflow(AREA).inflow.value


def test_rows_of_the_last_year_are_followed_back(releases: list[Release]) -> None:
    found = over_years([release.destinations(AREA, layer="county") for release in releases])
    rows = found.rows.pivot_table(index="unit_id", columns="year", values="value")
    for release in releases:
        units = release.destinations(AREA, layer="county").units.set_index("unit_id")["workers"]
        assert rows[release.year].to_dict() == units.reindex(rows.index).fillna(0).to_dict()


@pytest.mark.parametrize(
    ("last", "error", "part"),
    [
        (1_100, 10.0, "Workers: 1,000 in 2015 and 1,100 in 2019, up by 100 (± 14)."),
        (800, 10.0, "Workers: 1,000 in 2015 and 800 in 2019, down by 200 (± 14)."),
        (1_020, 10.0, "The difference is within twice its expected error (± 14)."),
        (1_000, 10.0, "1,000 in 2019, the same."),
        (1_100, math.nan, "Workers: 1,000 in 2015 and 1,100 in 2019."),
    ],
)
def test_a_difference_within_twice_its_error_is_not_called_a_change(
    over: OverYears, last: int, error: float, part: str
) -> None:
    numbers = pandas.DataFrame(
        {
            "name": "workers",
            "label": "Workers",
            "kind": "count",
            "year": [2015, 2019],
            "value": [1_000.0, last],
            "expected_error": error,
        }
    )
    (sentence,) = replace(over, by_year=numbers).findings()
    assert part in sentence


@pytest.mark.parametrize("which", [[0], [0, 0]])
def test_releases_without_different_years_are_refused(releases: list[Release], which: list[int]) -> None:
    with pytest.raises(UsageError, match="different years"):
        over_years([releases[each].profile(AREA) for each in which])


def test_answers_to_different_questions_are_refused(releases: list[Release]) -> None:
    with pytest.raises(UsageError, match="same question"):
        over_years([releases[0].profile(AREA), releases[1].profile("county:10003")])


def test_a_server_finds_the_years_of_a_place(paths: list[Path]) -> None:
    served = open_releases(paths)
    shown = served["b"]
    assert [each.slug for each in releases_of_years(shown, served.values())] == ["a", "b", "c"]
    question = Question(analysis="inflow-outflow", areas=(AREA,))
    found = years_of(shown, served.values(), question)
    assert found is not None
    assert found.years == (2015, 2017, 2019)
    assert years_of(shown, [shown], question) is None
    assert years_of(shown, served.values(), Question(areas=("county:99999",))) is None
    assert year_card(None, "light") is None
    card = str(year_card(found, "dark"))
    assert all(each.text in card for _, values in found.lines() for each in values)


def test_of_several_releases_of_a_year_the_one_with_the_same_setting_is_taken(tmp_path: Path) -> None:
    paths = releases_of(tmp_path, {"first": 2018, "second": 2018, "shown": 2019})
    for path, preset in zip(paths, ("onthemap-v3", "recommended", "recommended"), strict=True):
        certificate = json.loads((path / "certificate.json").read_text())
        rewrite_document(path, "certificate.json", certificate | {"construction": {"preset": preset}})
    served = open_releases(paths)
    assert [each.slug for each in releases_of_years(served["shown"], served.values())] == ["second", "shown"]


def test_lines_show_every_year_and_start_at_zero_unless_all_values_are_close() -> None:
    def drawn(*values: float) -> ElementTree.Element:
        years = [YearValue(2015 + at, value, 5.0, f"{value:g}") for at, value in enumerate(values)]
        return ElementTree.fromstring(year_lines(years, 'A & "B"', COLOR_SCHEMES["light"]))

    def texts(svg: ElementTree.Element) -> list[str]:
        return [each.text or "" for each in svg.iter("{http://www.w3.org/2000/svg}text")]

    assert texts(drawn(100, 900))[0] == "0"
    assert texts(drawn(900, 1_000))[0] != "0"
    assert texts(drawn(100, 200, 300))[-3:] == ["2015", "2016", "2017"]
    assert len(list(drawn(100, math.nan, 300).iter("{http://www.w3.org/2000/svg}circle"))) == 2
    assert len(texts(drawn(*range(1, 31)))) <= 3 + 8


def test_the_command_writes_years_as_text_json_and_csv(
    paths: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "analyze",
        *map(str, paths),
        "--analysis",
        "inflow-outflow",
        "--area",
        AREA,
        "--over-years",
        "-q",
    ]
    head = "release,area,area_text,side,name,label,kind,year,value,expected_error"
    for form, part in (("text", "2015  "), ("json", '"years"'), ("csv", head)):
        assert run([*asked, "--format", form]) == 0
        assert part in capsys.readouterr().out
    assert run([*asked, "--format", "csv", "--table", "rows"]) == 0
    assert "release,area,area_text,side,group,label,year,value,expected_error" in capsys.readouterr().out
    assert "has numbers, rows" in refused(*asked, "--format", "csv", "--table", "units")
    assert "--over-years cannot be written as geojson" in refused(*asked, "--format", "geojson")
    assert "--wide and --over-years conflict" in refused(*asked, "--format", "csv", "--wide")
    assert "at least two years" in refused("analyze", paths[0], "--over-years")


def test_a_workbook_has_the_numbers_and_the_rows_of_all_years(paths: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "years.xlsx"
    asked = ["--analysis", "destinations", "--area", AREA, "--layer", "county", "--over-years", "-q"]
    assert run(["analyze", *map(str, paths), *asked, "-o", str(file)]) == 0
    book = openpyxl.load_workbook(file)
    found = over_years([open_release(path).destinations(AREA, layer="county") for path in paths])
    for name, table in found.tables().items():
        head, *rows = book[name].iter_rows(values_only=True)
        assert [row[head.index("year")] for row in rows] == table["year"].tolist()
        assert [row[head.index("value")] for row in rows] == table["value"].tolist()
    assert len(list(book["provenance"].columns)) == 1 + len(paths)
    about = dict(row[-2:] for row in book["about"].iter_rows(min_row=2, values_only=True))
    assert about["title"] == "Destinations over the years"


def test_answers_over_years_are_answers(over: OverYears) -> None:
    assert over.numbers()["inflow"].keys() == {2015, 2017, 2019}
    assert over.to_frame().equals(over.by_year)
    assert over.to_frame("rows", about=True).columns.tolist()[:4] == ["release", "area", "area_text", "side"]
    assert over.about.year == "2015, 2017, 2019"
    assert json.loads(json.dumps(over.to_dict()))["years"] == [2015, 2017, 2019]
    assert "<table" in (over._repr_html_() or "")
    for shown in (over.to_geodataframe, over.plot):
        with pytest.raises(UsageError, match="take one of its answers"):
            shown()


def test_the_years_of_a_question_are_put_together_once(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    served = open_releases(paths)
    question = Question(analysis="inflow-outflow", areas=(AREA,))
    first = years_of(served["b"], served.values(), question)
    monkeypatch.setattr("mapapp.answers.served_answers.over_years", lambda _: pytest.fail("made again"))
    assert years_of(served["b"], served.values(), question) is first
    with pytest.raises(pytest.fail.Exception):
        years_of(served["b"], list(served.values())[:1], question)


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two years with different usual layers: most people live in no place in the first."""
    paths = releases_of(tmp_path_factory.mktemp("redrawn"), {"a": 2018, "b": 2019})

    def fewer_places(blocks: pandas.DataFrame) -> pandas.DataFrame:
        return blocks.assign(layer_stplc=blocks["layer_stplc"].replace("4460", ""))

    rewrite_table(paths[0], "blocks", fewer_places)
    assert [open_release(path).comparison("all").layer for path in paths] == ["county", "stplc"]
    return paths


def test_years_are_compared_by_the_usual_layer_of_the_last(redrawn: list[Path]) -> None:
    served = open_releases(redrawn)
    question = Question(analysis="comparison", areas=("all",))
    a, b = (years_of(shown, served.values(), question) for shown in served.values())
    assert a is not None
    assert b is not None
    assert {getattr(answer, "layer", None) for answer in (*a.answers, *b.answers)} == {"stplc"}
    rows = a.rows[a.rows["year"] == 2018].set_index("unit_id")["value"]
    places = open_release(redrawn[0]).comparison("all", layer="stplc").units.set_index("unit_id")["workers"]
    assert rows.to_dict() == places.reindex(rows.index).fillna(0).to_dict()


@pytest.mark.parametrize("option", ["--over-years", "--change"])
def test_commands_compare_years_by_the_usual_layer_of_the_last(
    redrawn: list[Path], capsys: pytest.CaptureFixture[str], option: str
) -> None:
    asked = ["--analysis", "comparison", "--area", "all", option, "--format", "csv", "--table", "rows", "-q"]
    assert run(["analyze", *map(str, redrawn), *asked]) == 0
    assert "Old Harbour city" in capsys.readouterr().out


def test_a_report_on_years_has_the_usual_layer_of_the_last(redrawn: list[Path]) -> None:
    releases = list(open_releases(redrawn).values())
    report = build(releases, [Part(Question(analysis="comparison", areas=("all",)))], pictures=False)
    assert "--layer stplc" in report.remake.command
    (years,) = (answer for answer in report.answers if answer.name == "years-1")
    (table,) = years.tables
    assert years.printed == (), "the comparison has the same numbers"
    assert [row[0] for row in table.rows] == ["2018", "2019"]
    stream = io.BytesIO()
    write(report, "xlsx", stream)
    book = openpyxl.load_workbook(stream)
    head, *rows = book["3 years"].iter_rows(values_only=True)
    assert head[:2] == ("Year", "Workers who work in the area")
    assert [row[1] for row in rows] == [row[1] for row in table.rows]
    assert "3 numbers" not in book.sheetnames, "there is no sheet without rows"
