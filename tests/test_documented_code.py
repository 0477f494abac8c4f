"""Every example in the documents runs in an empty folder: code, notebooks, docstrings, and commands."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import Any, Final

import geopandas
import pandas
import pytest

import commutemap as cm
from mapapp.commands import functions
from mapapp.commands.cli import run
from mapapp.question.analyses import ANALYSES
from mapapp.show.files import notebook
from tests.test_documentation import FENCED, PAGES, ROOT, code_blocks, command_lines, path_of, text_of

DOCS: Final = ROOT / "docs"
API: Final = DOCS / "api.md"
WORLD: Final = (
    ("demo", "demo.dataset", "--size", "small"),
    ("synthesize", "demo.dataset", "demo.release"),
    ("demo", "demo.published", "--size", "small", "--published"),
)
STAND_INS: Final = {
    "Providence County, RI": "Oriel County",
    "Providence city": "Tarnwick city",
    "Providence": "Tarnwick",
    "Cranston": "Petrelstead",
    "Warwick": "Tarnwick",
    "county:44007": "county:81011",
    "41.82, -71.41": "{middle}",
}
"""Areas of the generated country that stand for those of Rhode Island."""
PUBLICATIONS: Final = {
    "ri.release": "demo.release",
    "ri-2018.release": "demo.published",
    "ri-2019.release": "demo.release",
    "ri.published": "demo.published",
}
NOT_RUN: Final = {
    r"commutemap (fetch|lodes) |--from census-files": "needs files that are downloaded, or an agency's own",
    r"commutemap (serve|tune) ": "serves until it is stopped; tests/explore and tests/browser open its pages",
    r"--scheduler": "needs a cluster; tests/kinds/cluster starts one",
    r"\b[A-Z]{4,}\b": "is a pattern, not an example",
    r"--size metro|ri-v3|auto\.toml": "repeats an experiment of benchmarks/, for minutes",
    r"commutemap attack ": "tests/commands/test_attack.py runs these tables",
    r"commutemap declare ": "tests/kinds/test_public_counts.py declares counts of worker records",
    r"ri\.table|ri\.records|--worker-records": "tests/show/tables and tests/kinds/records have tables and records",
    r"characteristic|bachelor": "needs published counts; tests/answers/test_characteristics.py has them",
    r"--batch|ctycsub": "is about county subdivisions, which the generated country lacks; tests/show/test_batch.py",
    r"leeds\.|uk\.(published|dataset)|--zones": "tests/commands/test_import_zones.py runs these commands on real files",
    r"commutemap (sweep|audit) ": "tests/commands/test_sweep.py and test_audit.py take the time for these",
}
"""Commands that this test leaves out, as patterns, and why."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the page on Python begins with, made by its commands."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in WORLD:
            assert run([*command, "-q"]) == 0
    return folder


@pytest.fixture
def folder(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the folder in which everything runs."""
    copy = Path(shutil.copytree(world, tmp_path / "copy"))
    monkeypatch.chdir(copy)
    return copy


def python_blocks(page: Path) -> list[str]:
    """The Python of a page: fenced blocks, and indented ones that import something."""
    text = text_of(page)
    fenced = [block["code"] for block in FENCED.finditer(text) if block["language"] == "python"]
    return fenced + [block for block in code_blocks(text) if re.match(r"\s*(from \S+ )?import ", block)]


@cache
def commands_to_run() -> dict[str, list[str]]:
    """By page, its commands in their order, but for those that are left out."""
    commands = {
        path_of(page): [
            line
            for line in dict.fromkeys(command_lines(text_of(page)))
            if not any(re.search(pattern, line) for pattern in NOT_RUN)
        ]
        for page in PAGES
        if page.name != "tutorial.md"  # tests/test_tutorial.py runs all of it
    }
    return {page: lines for page, lines in commands.items() if lines}


def arguments_of(line: str, release: cm.Release) -> list[str]:
    """Arguments of an example, with what stands for Rhode Island."""
    rows = release.destinations("Tarnwick city", layer="county").units
    middle = f"{rows['lat_deg'].iloc[0]:.2f}, {rows['lon_deg'].iloc[0]:.2f}"
    for name, other in (STAND_INS | PUBLICATIONS | {"ri.dataset": "demo.dataset"}).items():
        line = line.replace(name, other.format(middle=middle))
    return shlex.split(line, comments=True)[1:]


def test_the_commands_of_the_page_on_python_make_what_it_needs() -> None:
    """Blocks that need a release which no page makes."""
    (block,) = (block["code"] for block in FENCED.finditer(text_of(API)) if block["language"] == "sh")
    assert [tuple(line.split()[1:]) for line in block.splitlines()] == list(WORLD)


def test_the_code_of_the_page_on_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A block that no longer runs, or that needs what no block before it has made."""
    names: dict[str, Any] = {}
    blocks = python_blocks(API)
    assert len(blocks) > 10
    for block in blocks:
        exec(compile(block, str(API), "exec"), names)
    assert isinstance(names["frame"], pandas.DataFrame)
    assert isinstance(names["shapes"], geopandas.GeoDataFrame)
    assert (folder / "homes.png").read_bytes().startswith(b"\x89PNG")
    assert len(geopandas.read_file(folder / "homes-by-town.gpkg")) == len(names["homes"].units)
    assert names["difference"].to_frame()["before"].sum() == names["homes"].workers
    assert "the nearest name is stplc:8101000 (Tarnwick city, HO)" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["docs/exports.md", "docs/tables.md"])
def test_the_code_of_other_pages_runs(folder: Path, page: str) -> None:
    """Code in a page that is not a notebook, and that nobody tries."""
    blocks = python_blocks(ROOT / page)
    assert blocks
    shutil.copytree("demo.release", "ri.release")
    for block in blocks:
        exec(compile(block, page, "exec"), {})
    assert (folder / {"docs/exports.md": "ri.gpkg", "docs/tables.md": "prior.csv"}[page]).is_file()


def test_the_numbers_of_the_method_are_those_of_its_code() -> None:
    """Code of the theory page that imports what has moved, or no longer gives the number beside it."""
    (block,) = python_blocks(DOCS / "theory" / "method.md")
    imports, _, rest = block.partition("\n\n")
    names: dict[str, Any] = {}
    exec(compile(imports, "method.md", "exec"), names)
    lines = rest.strip().splitlines()
    assert len(lines) == 6
    for line in lines:
        code, _, stated = line.partition("#")
        value = eval(code, names)
        number = re.match(r" (0\.\d+)", stated)
        assert number is not None, line
        assert f"{getattr(value, 'weight', value):.4f}" == number[1], line


def test_the_pages_list_every_analysis() -> None:
    """A page that lists eight of nine."""
    for analysis in ANALYSES.values():
        assert f"| {analysis.title} |" in text_of(DOCS / "explore.md")
        assert f"| `{analysis.name.replace('-', '_')}(" in text_of(API)


def test_no_other_page_has_code() -> None:
    """A new block that no test runs."""
    tried = {"docs/api.md", "docs/exports.md", "docs/tables.md", "docs/theory/method.md"}
    theory = {
        "docs/theory/careless-prior.md",
        "docs/theory/plausible-deniability.md",
        "docs/theory/six-stars.md",
    }
    assert {path_of(page) for page in PAGES if python_blocks(page)} == tried | theory


def test_the_notebook_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cells that do not run from top to bottom."""
    cells = text_of(DOCS / "commutes_by_town.py").split("# %%\n")[1:]
    assert len(cells) == 5, "code cells"
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile(cell, "commutes_by_town.py", "exec"), names)
    assert "of the jobs there" in capsys.readouterr().out
    assert len(geopandas.read_parquet(folder / "homes.geoparquet")) == len(names["homes"].units)


def test_the_examples_of_docstrings_run(folder: Path) -> None:
    """An example in `help(…)` that shows what is no longer so, and an analysis without one."""
    globs = {"commutemap": cm, "release": cm.open_release("demo.release")}
    finder = doctest.DocTestFinder(recurse=False)
    methods = [getattr(cm.Release, name.replace("-", "_")) for name in ANALYSES]
    shown = [
        *methods,
        cm.Release.ask,
        cm.Release.answers,
        functions.open,
        functions.synthesize,
        functions.validate,
    ]
    runner = doctest.DocTestRunner()
    for method in shown:
        (example,) = finder.find(method, method.__name__, globs=dict(globs))
        assert example.examples, f"{method.__name__} has no example"
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert notebook.__name__ in {method.__module__ for method in shown}


@pytest.mark.parametrize("page", list(commands_to_run()))
def test_the_documented_commands_of_a_page_run(folder: Path, page: str) -> None:
    """A command that parses, and fails on what it is given."""
    release = cm.open_release("demo.release")
    for block in python_blocks(ROOT / page) if page == "docs/tables.md" else ():
        exec(compile(block, page, "exec"), {})
    for line in commands_to_run()[page]:
        arguments = arguments_of(line, release)
        if arguments[0] in _MADE_AT and "--dry-run" not in arguments:
            made = folder / arguments[_MADE_AT[arguments[0]]]
            if made.is_dir():
                shutil.rmtree(made)
            (folder / "demo.dataset" / "ledger.jsonl").unlink(missing_ok=True)
        assert run(arguments) == 0, arguments


_MADE_AT: Final = {"demo": 1, "import": 1, "synthesize": 2, "records": 2, "table": 2}
"""Which argument of a command is what it makes."""


def test_what_is_left_out_is_there() -> None:
    """A reason not to run an example that no example has any more."""
    lines = [line for page in PAGES for line in command_lines(text_of(page))]
    for pattern in NOT_RUN:
        assert any(re.search(pattern, line) for line in lines), pattern
    assert sum(map(len, commands_to_run().values())) > 30
