"""Every benchmark runs, at its smallest size, and the commands that the documentation names exist."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest

from tests.benchmark_runs import benchmark_names, check_results, numeric_cells, run_smallest

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"`python -m benchmarks\.(\w+)([^`]*)`")
INDENTED_COMMAND = re.compile(r"^    (?:\.venv/bin/)?python -m benchmarks\.(\w+)(.*)$", re.MULTILINE)
DOCUMENTED = [
    (f"{file.relative_to(ROOT)}, {name}", name, " ".join(options.split()))
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for command in (COMMAND, INDENTED_COMMAND)
    for name, options in command.findall(file.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("name", benchmark_names(in_browser=False))
def test_a_benchmark_runs_at_its_smallest_size(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    check_results(name, run_smallest(name, request, tmp_path), tmp_path)


def test_every_module_is_a_benchmark_or_imported_by_one() -> None:
    names = {file.stem for file in (ROOT / "benchmarks").glob("*.py")} - {"__init__"}
    runnable = {*benchmark_names(in_browser=False), *benchmark_names(in_browser=True)}
    assert len(runnable) > 20
    imported = set()
    for name in names:
        for node in ast.walk(ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("benchmarks"):
                imported |= {str(node.module).rpartition(".")[2], *(alias.name for alias in node.names)}
    assert names <= runnable | imported


@pytest.mark.parametrize(
    ("name", "options"), [row[1:] for row in DOCUMENTED], ids=[row[0] for row in DOCUMENTED]
)
def test_a_documented_benchmark_command_is_accepted(name: str, options: str) -> None:
    importlib.import_module(f"benchmarks.{name}").argument_parser().parse_args(shlex.split(options))


@pytest.mark.parametrize("name", benchmark_names(in_browser=False) + benchmark_names(in_browser=True))
def test_a_benchmark_describes_its_own_options(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    (command,) = [options for named, options in COMMAND.findall(str(module.__doc__)) if named == name][:1]
    understood = module.argument_parser().format_help()
    assert [option for option in re.findall(r"--[\w-]+", command) if option not in understood] == []


def test_only_numbers_below_the_head_of_a_table_count_as_results() -> None:
    assert numeric_cells("| 1 | 2 |\n|---|---|\n| 3 | name |") == []
    assert numeric_cells("12 s\n\n| way | 5 km |\n|---|---|\n| slow | −0.5 (3) |\n\n| 7 | 8 |") == [
        "−0.5 (3)"
    ]
