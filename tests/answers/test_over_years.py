"""Answers over the years: the numbers of each year, side by side, and what may be said of their differences."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas
import pytest

from commutemap import OverYears, Release, UsageError, open_release, over_years
from mapapp.answers.over_years import YearValue
from mapapp.answers.served_release import open_releases
from mapapp.answers.served_years import releases_of_years, years_of
from mapapp.cli import run
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.year_lines import year_lines
from mapapp.explore.pages.year_card import year_card
from mapapp.question.question import Question
from tests.commands.running import refused
from tests.releases import releases_of, rewrite_document

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
    assert over.years == ("2015", "2017", "2019")
    inflow = over.numbers[over.numbers["name"] == "inflow"].set_index("year")
    for release in releases:
        assert inflow.loc[release.year, "value"] == release.inflow_outflow(AREA).inflow.value


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
        (1_020, 10.0, "The difference is within its expected error (± 14)."),
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
            "year": ["2015", "2019"],
            "value": [1_000.0, last],
            "expected_error": error,
        }
    )
    (sentence,) = replace(over, numbers=numbers).findings()
    assert part in sentence


@pytest.mark.parametrize("which", [[0], [0, 0]])
def test_other_than_different_years_is_refused(releases: list[Release], which: list[int]) -> None:
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
    assert found.years == ("2015", "2017", "2019")
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
    for form, part in (("text", "2015  "), ("json", '"years"'), ("csv", "area,name,label,kind,year,value")):
        assert run([*asked, "--format", form]) == 0
        assert part in capsys.readouterr().out
    assert "cannot be written as xlsx" in refused(*asked, "-o", "years.xlsx")
    assert "at least two years" in refused("analyze", paths[0], "--over-years")
