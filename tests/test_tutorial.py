"""Pages that run: the commands of docs/tutorial.md in an empty folder, and the examples of docs/theory/."""

from __future__ import annotations

import re
import shlex
import urllib.request
from pathlib import Path

import pytest

from mapapp.commands.cli import run
from mapapp.explore.server import create_app, listen
from tests.running_server import running

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENT = DOCS / "tutorial.md"
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
"""A block of code, and what it prints, which follows it."""


def tutorial_commands() -> list[list[str]]:
    """Arguments of every command in the tutorial."""
    blocks = re.findall(r"^```sh\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    words = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert {line[0] for line in words} == {"commutemap"}
    return [line[1:] for line in words]


def first_page(release: str) -> str:
    """The page that `commutemap serve RELEASE` shows, from a server on a free port."""
    server, address = listen(create_app([Path(release)]), "127.0.0.1", 0)
    with running(server, address) as root, urllib.request.urlopen(f"{root}/", timeout=60) as response:
        return str(response.read().decode("utf-8"))


def test_the_tutorial_works_from_beginning_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    printed = ""
    for arguments in tutorial_commands():
        if arguments[0] == "serve":
            (release,) = arguments[1:]
            assert "CommuteMap" in first_page(release)
        else:
            assert run(arguments) == 0, arguments
        printed += capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")} == {
        "demo.dataset",
        "demo.release",
        "homes.csv",
        "homes.csv-metadata.json",
        "tarnwick.html",
    }
    (promise,) = re.findall(r"^    (promise .*)$", text, re.MULTILINE)
    assert promise in printed
    assert "release digest" in printed
    assert "Inflow and outflow: Tarnwick" in printed
    report = (tmp_path / "tarnwick.html").read_text(encoding="utf-8")
    assert "Tarnwick" in report
    assert "commutemap report" in report


@pytest.mark.parametrize("name", ["careless-prior", "plausible-deniability", "six-stars"])
def test_a_page_of_theory_shows_what_its_examples_print(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = EXAMPLE.findall((DOCS / "theory" / f"{name}.md").read_text(encoding="utf-8"))
    assert len(examples) > 3
    session: dict[str, object] = {}
    for code, printed in examples:
        exec(compile(code, name, "exec"), session)
        assert capsys.readouterr().out == printed
