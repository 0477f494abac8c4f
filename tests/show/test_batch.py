"""Batches of reports: every unit of a layer, from where they were stopped, and whole files only."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from geodata.store.atomic_writes import claim_place, partial_name
from mapapp.answers.release import Release
from mapapp.commands.cli import run
from mapapp.show.reports.batch_file import file_stem, read_batch
from tests.commands.running import refused, run_here

TOWNS = """
layer = "county"
formats = ["html", "xlsx"]
errors = -1

[[report]]
each = "county"
area = "state:10"

[[report]]
name = "Name with / and \\"quotes\\""
area = ["county:10001", "county:10003"]
analysis = ["inflow-outflow", "destinations"]
formats = "html"
"""


def batch(release: Path, folder: Path, text: str = TOWNS, *options: object) -> None:
    file = folder.with_suffix(".toml")
    file.write_text(text, encoding="utf-8")
    arguments = ["report", release, "--batch", file, "-o", folder, "-q", *options]
    assert run([str(each) for each in arguments]) == 0


def stamps(folder: Path) -> dict[str, int]:
    return {entry.name: entry.stat().st_mtime_ns for entry in folder.iterdir()}


def contents(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def test_a_folder_of_reports(report_paths: list[Path], tmp_path: Path) -> None:
    batch(report_paths[0], tmp_path / "alone", TOWNS, "--workers", 1)
    found = contents(tmp_path / "alone")
    counties = ["County-10001", "County-10003"]
    assert set(found) == {
        *(f"{each}.{form}" for each in counties for form in ("html", "xlsx")),
        "Name-with-and-quotes.html",
        "index.html",
        "reports.json",
    }
    assert found["Name-with-and-quotes.html"].count(b'class="answer"') == 4
    for name in set(found) - {"index.html", "reports.json"}:
        assert f'href="{name}"'.encode() in found["index.html"]
    batch(report_paths[0], tmp_path / "crew", TOWNS, "--workers", 2)
    assert contents(tmp_path / "crew") == found


def test_what_is_there_is_not_made_again(
    report_paths: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kept"
    batch(report_paths[0], folder, TOWNS, "--workers", 1)
    before, whole = stamps(folder), contents(folder)
    (folder / "County-10001.html").unlink()
    (folder / "County-10003.xlsx").write_bytes(b"broken")
    partial_name(folder / "County-10003.xlsx").write_bytes(b"half")
    capsys.readouterr()
    batch(report_paths[0], folder, TOWNS, "--workers", 1)
    assert "2 files written, 3 already existed" in capsys.readouterr().err
    assert contents(folder) == whole
    assert stamps(folder)["County-10003.html"] == before["County-10003.html"]
    batch(report_paths[1], folder, TOWNS, "--workers", 1)  # another release makes all of them anew
    assert "5 files written;" in capsys.readouterr().err


# Where a shell started the tests in the background, Ctrl-C is ignored by them and by what they start.
HEEDING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mapapp.commands.cli import main
main()
"""


def n_made(folder: Path) -> tuple[int, int]:
    """How many files of a batch are made according to its list, and how many it has."""
    listed = folder / "reports.json"
    files = json.loads(listed.read_text())["files"].values() if listed.exists() else ()
    return sum(each["sha256"] != "" for each in files), len(files)


def stopped(command: list[Any], folder: Path, number: int) -> int:
    """How a batch ends if it gets a signal after its first file."""
    with subprocess.Popen([*command, "--workers", "2"], stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and n_made(folder)[0] == 0:
            time.sleep(0.02)
        process.send_signal(number)
        message = process.communicate()[1]
    assert "Traceback" not in message
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_batch_leaves_whole_files_and_goes_on(
    report_paths: list[Path], tmp_path: Path, number: int, code: int
) -> None:
    folder, file = tmp_path / "stopped", tmp_path / "stopped.toml"
    lines = ('formats = "html"', "errors = -1", 'layer = "tract"', "[[report]]", 'each = "tract"')
    file.write_text("\n".join([*lines, 'area = "county:10001"']))
    command = [sys.executable, "-c", HEEDING, "report", report_paths[0], "--batch", file, "-o", folder]
    assert stopped(command, folder, number) == code
    if number == signal.SIGINT:
        assert not list(folder.glob(".*"))
    made, all_of_them = n_made(folder)
    assert 0 < made < all_of_them
    batch_again = run_here("report", report_paths[0], "--batch", file, "-o", folder, "-q")
    assert batch_again.code == 0
    assert "already existed" in batch_again.err
    assert not list(folder.glob(".*"))
    assert all(page.read_bytes().endswith(b"</html>\n") for page in folder.glob("*.html"))


BAD = [
    ("[[report]\n", "not a TOML file"),
    ("", "contains no reports"),
    ("report = 3\n", "contains no reports"),
    ('area = "all"\n[[report]]\n', "line 1: key 'area' is not allowed here; it belongs under"),
    ('[[report]]\narea = "all"\n\ncolour = "red"\n', "line 4: key 'colour' is not allowed here"),
    ('[[report]]\narea = "all"\n[[report]]\narea = 7\n', "line 4: area = '7'; it must be an area"),
    ('[[report]]\nformats = ["doc"]\n', "line 2: formats = \"['doc']\"; it must be one or several of html"),
    ("[[report]]\nage = [4]\n", "line 2: age = '[4]'; it must be bands"),
    ("[[report]]\nbands = [5, 1]\n", "line 1: distance bands 5,1: give up to 20 increasing distances"),
    ("[[report]]\nbands = [inf]\n", "line 1: distance bands inf: give"),
    ('[[report]]\narea = "Atlantis"\n', "line 1: area 'Atlantis': no area has that name"),
    ('[[report]]\narea = "county:1"\n', "line 1: "),
    (
        '[[report]]\narea = "county:10001"\nwithin = "1"\n',
        "line 3: within = '1'; it must be a distance in miles",
    ),
    (
        '[[report]]\narea = "county:10001"\nwithin = 99\n',
        "line 1: corridor of 99 mi: the distance must be above 0",
    ),
    ('[[report]]\nboth-ends = "county:10001"\n', "line 1: --both-ends does not apply to destinations"),
    ('[[report]]\nlayer = "moon"\n', "line 1: layer 'moon' does not exist; this release has"),
    ('[[report]]\neach = "county"\narea = "county:99999"\n', "line 1: "),
    ('[[report]]\nanalysis = "paired"\narea = "all"\neach = "county"\n', "line 1: paired has two areas"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_wrong_file_is_refused_with_its_line(
    report_paths: list[Path], tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    message = refused("report", report_paths[0], "--batch", file, "-o", tmp_path / "out", "-q")
    assert said in message
    assert not (tmp_path / "out").exists()


def test_corridors_in_a_batch(report_paths: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "corridors.toml"
    file.write_text(
        '[[report]]\narea = "stplc:4459"\nwithin = 1\n'
        '[[report]]\nanalysis = "paired"\nboth-ends = "stplc:4459"\nwithin = 0.5\n'
    )
    near, pair = read_batch(file, Release.open(report_paths[0], "corridors"))
    assert near.parts[0].question.areas == ("near:stplc:4459,1",)
    assert near.name.startswith("the area within 1 mile of ")
    question = pair.parts[0].question
    assert question.areas == question.others == ("near:stplc:4459,0.5",)


def test_a_folder_of_somebody_else_is_refused(report_paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "theirs.txt").write_text("keep")
    file = tmp_path.with_suffix(".toml")
    file.write_text(TOWNS)
    ask = ("report", report_paths[0], "--batch", file, "-q", "-o")
    assert "contains other files" in refused(*ask, tmp_path)
    assert "choose a writable folder" in refused(*ask, tmp_path / "theirs.txt")
    assert "--batch and --area" in refused(*ask, tmp_path / "new", "--area", "all")
    assert "no such file" in refused(*ask[:3], tmp_path / "none.toml", *ask[4:], tmp_path / "new").lower()


@pytest.mark.parametrize(
    "manifest", [None, '{"files": {}}', '{"commutemap": "other", "version": 1, "files": {}}', "[]"]
)
def test_nothing_in_the_folder_of_somebody_else_is_removed(
    report_paths: list[Path], tmp_path: Path, manifest: str | None
) -> None:
    """Also not what looks like a half-written report, nor what an earlier version called so."""
    folder, file = tmp_path / "theirs", tmp_path / "batch.toml"
    file.write_text(TOWNS)
    folder.mkdir()
    for name in (".notes.partial-999999999", partial_name(folder / "County-10001.html").name, "letter.txt"):
        (folder / name).write_text("keep")
    if manifest is not None:
        (folder / "reports.json").write_text(manifest)
    before = contents(folder)
    message = refused("report", report_paths[0], "--batch", file, "-q", "-o", folder)
    assert "contains other files" in message or "not a readable list of reports" in message
    assert contents(folder) == before


def test_in_a_folder_of_ours_only_our_half_files_are_removed(
    report_paths: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "ours"
    batch(report_paths[0], folder, TOWNS, "--workers", 1)
    theirs = [partial_name(folder / "letter.txt"), folder / ".notes.partial-999999999", folder / "letter.txt"]
    for file in [*theirs, partial_name(folder / "County-10001.html"), partial_name(folder / "reports.json")]:
        file.write_text("half")
    batch(report_paths[0], folder, TOWNS, "--workers", 1)
    left = {entry for entry in folder.iterdir() if entry.name.startswith(".")}
    assert left == set(theirs[:2])
    assert theirs[2].read_text() == "half"


def test_a_stranger_in_the_place_of_the_index_is_refused(report_paths: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    batch(report_paths[0], folder, TOWNS, "--workers", 1)
    (folder / "index.html").write_text("my own page")
    file = folder.with_suffix(".toml")
    message = refused("report", report_paths[0], "--batch", file, "-q", "-o", folder)
    assert "index.html: already exists and was not made by a batch" in message
    assert (folder / "index.html").read_text() == "my own page"


def test_two_batches_do_not_write_one_folder(report_paths: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "batch.toml"
    file.write_text(TOWNS)
    with claim_place(tmp_path / "out"):
        assert "already being written" in refused(
            "report", report_paths[0], "--batch", file, "-q", "-o", tmp_path / "out"
        )


def test_a_batch_does_not_go_into_a_release(report_paths: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "batch.toml"
    file.write_text(TOWNS)
    inside = report_paths[0] / "reports"
    assert "lies within a release" in refused("report", report_paths[0], "--batch", file, "-q", "-o", inside)
    assert not inside.exists()


def test_names_of_files() -> None:
    names = [
        'Québec/Ville "A"',
        "Québec/Ville 'A'",
        "quebec ville a",
        "😀",
        "名",
        "..",
        "con",
        "a" * 200,
        "index",
    ]
    found: list[str] = []
    for name in names:
        found.append(file_stem(name, found))
    assert found[:4] == ["Quebec-Ville-A", "Quebec-Ville-A-2", "quebec-ville-a-3", "report"]
    assert found[4:7] == ["report-2", "report-3", "report-con"]
    assert len(found[7]) == 80
    assert found[8] == "report-index"
