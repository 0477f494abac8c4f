"""`commutemap ask`: a sentence gets the answer that `analyze` gives, and says what it was taken to mean."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mapapp.commands.cli import run
from tests.commands.running import refused
from tests.records_store import write_records
from tests.releases import write_release


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("asked") / "a.release", n_pairs=400, seed=1)


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    """Return what a command printed to standard output and to standard error."""
    capsys.readouterr()
    assert run([*map(str, arguments)]) == 0
    found = capsys.readouterr()
    return found.out, found.err


@pytest.mark.parametrize(
    "sentence",
    [
        "Where do workers of County 10001 live, by county?",
        "Who lives in County 10001 and works in County 10001, over 55",
        "inflow and outflow of County 10001",
        "flows between counties",
        "jobs within 6 miles of 42.1, -70.9 by industry",
    ],
)
def test_the_answer_is_that_of_the_command_it_names(
    path: Path, capsys: pytest.CaptureFixture[str], sentence: str
) -> None:
    answer, explained = said(capsys, "ask", path, sentence, "--json", "-q")
    same = next(line for line in explained.splitlines() if line.startswith("same: ")).removeprefix("same: ")
    assert said(capsys, *shlex.split(same)[1:], "--json", "-q")[0] == answer
    assert "understood: " in explained


def test_the_sentence_needs_no_quotes(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quoted = said(capsys, "ask", path, "inflow of County 10001", "-q")
    assert said(capsys, "ask", path, "inflow", "of", "County", "10001", "-q") == quoted


def test_explain_computes_nothing_and_says_what_was_left_out(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, explained = said(
        capsys, "ask", path, "frobnicated jobs in County 10001 by race", "--explain", "-q"
    )
    assert answer == ""
    assert "“frobnicated” was not understood and was left out" in explained
    assert "Race and ethnicity are not in this release" in explained


def test_a_year_that_is_not_there_is_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, explained = said(capsys, "ask", path, "inflow of County 10001 in 1998", "-q")
    assert "No release of 1998 was given" in explained


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["flobber the wug"], "nothing in this sentence names a place or asks for something"),
        ([], "the sentence is missing"),
        (["x" * 400], "at most 300 are allowed"),
    ],
)
def test_a_sentence_that_asks_nothing_is_refused_with_an_example(
    path: Path, arguments: list[str], part: str
) -> None:
    assert part in refused("ask", path, *arguments)


def test_a_release_comes_first() -> None:
    assert "name one before the sentence" in refused("ask", "no.release", "inflow of Newport")


def test_the_answer_can_go_to_a_file(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answer.json"
    said(capsys, "ask", path, "inflow of County 10001", "-o", file, "-q")
    assert json.loads(file.read_text())


def test_values_of_records_are_asked_for_by_their_labels(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = write_records(tmp_path / "workers.records", path)
    sentence = "women with some college in County 10001 by education"
    answer, explained = said(capsys, "ask", records, sentence, "--json", "-q")
    assert "Sex: Female · Education: Some college · Table by Education" in explained
    same = next(line for line in explained.splitlines() if line.startswith("same: ")).removeprefix("same: ")
    assert said(capsys, *shlex.split(same)[1:], "--json", "-q")[0] == answer
    refusal = said(capsys, "ask", path, sentence, "--explain", "-q")[1]
    assert "Sex is not in this release; ask by age, earnings, or industry." in refusal
