"""`commutemap report` as a user runs it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import openpyxl
import pytest

from mapapp.answers.release import Release
from mapapp.commands.cli import run
from mapapp.question.options import options_of, questions_from
from mapapp.question.question import Question
from mapapp.show.reports import Form
from mapapp.show.reports.part import Part, parts_of
from mapapp.show.reports.remake import remake
from tests.commands.running import refused
from tests.show.making import QUESTIONS, written


def make(output: Path, *arguments: object) -> bytes:
    assert run(["report", *map(str, arguments), "-q", "-o", str(output)]) == 0
    return output.read_bytes()


@pytest.mark.parametrize("suffix", ["html", "pdf", "xlsx"])
def test_the_same_file_as_from_python(
    report_paths: list[Path], releases: list[Release], tmp_path: Path, suffix: Form
) -> None:
    found = make(
        tmp_path / f"one.{suffix}",
        report_paths[0],
        "--area",
        "county:10001",
        "--layer",
        "tract",
        "--side",
        "home",
    )
    state = Question(areas=("county:10001",), side="home", layer="tract")
    assert found == written(releases[:1], [state], suffix)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_report_says_how_to_make_it_again(
    report_paths: list[Path], releases: list[Release], tmp_path: Path, name: str
) -> None:
    state = QUESTIONS[name]
    remade = remake(releases[:1], [Part(state).settle(releases[0])], date=None, error_rows=27)
    first = written(releases[:1], [state], "xlsx")
    _, _, path, *options = shlex.split(remade.command_for("xlsx"))
    assert path == report_paths[0].name
    assert make(tmp_path / "a.xlsx", report_paths[0], *options[:-2]) == first
    (tmp_path / "setup.json").write_text(remade.setups[0][1])
    assert make(tmp_path / "b.xlsx", report_paths[0], "--setup", tmp_path / "setup.json") == first


def test_several_areas_analyses_and_releases(report_paths: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "many.xlsx"
    make(
        output,
        *report_paths,
        *("--analysis", "inflow-outflow", "--analysis", "profile", "--each", "county", "--errors", -1),
    )
    names = openpyxl.load_workbook(output, read_only=True).sheetnames
    assert sum(name.endswith(" numbers") for name in names) == 2 * 2 * 3
    assert {"compare1", "compare2", "compare1_change1", "compare2_change3"} <= set(names)


def test_a_setup_for_each_part(report_paths: list[Path], releases: list[Release], tmp_path: Path) -> None:
    states = [QUESTIONS["inflow-outflow"], QUESTIONS["flow-matrix"]]
    parts = [Part(state).settle(releases[0]) for state in states]
    remade = remake(releases[:1], parts, date=None, error_rows=5)
    assert remade.command.count("--setup") == 2
    for name, text in remade.setups:
        (tmp_path / name).write_text(text)
        assert json.loads(text)["commutemap"] == "setup"
    names = [part for name, _ in remade.setups for part in ("--setup", tmp_path / name)]
    found = make(tmp_path / "two.xlsx", report_paths[0], *names, "--errors", 5)
    assert found == written(releases[:1], states, "xlsx", error_rows=5)


def test_mistakes_are_told_in_one_line(report_paths: list[Path], tmp_path: Path) -> None:
    release, output = report_paths[0], tmp_path / "a.html"
    (tmp_path / "bad.json").write_text("{}")
    for arguments, said in (
        ((release, "-o", tmp_path / "a.doc"), "must end in .html, .pdf, or .xlsx"),
        ((release, "--area", "Atlantis", "-o", output), "no area has that name"),
        ((release, "--layer", "moon", "-o", output), "this release has"),
        ((release, "--date", "yesterday", "-o", output), "does not match the format"),
        ((release, "--setup", tmp_path / "bad.json", "-o", output), "not a CommuteMap setup"),
        ((release, "--setup", tmp_path / "bad.json", "--area", "all", "-o", output), "leave one of them out"),
        ((release, "--workers", 2, "-o", output), "--workers applies only to a batch"),
        ((release, "-o", tmp_path / "none" / "a.html"), "no such folder"),
        ((tmp_path / "no.release", "-o", output), "no.release"),
    ):
        assert said in refused("report", *arguments, "-q")
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name != "bad.json"]
    make(output, release, "--area", "all")
    assert "already exists" in refused("report", release, "-o", output, "-q")


def test_options_and_questions_say_the_same(releases: list[Release]) -> None:
    given = {"home-area": "county:10001 -stplc:4459", "work-area": "all", "bands": (1, 5)}
    (part,) = parts_of(releases[0], questions_from(given, "paired"))
    question = part.question
    assert (question.areas, question.others, question.edges) == (
        ("county:10001", "-stplc:4459"),
        ("all",),
        (1, 5),
    )
    options = options_of([question])
    assert options is not None
    assert options[:4] == ["--analysis", "paired", "--home-area", given["home-area"]]
    assert "--work-area" not in options
