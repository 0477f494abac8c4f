"""Run benchmarks at their smallest size in this process."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.geodata import samples
from tests.running_server import running

FOLDER = Path(__file__).parents[1] / "benchmarks"


def benchmark_names(*, in_browser: bool) -> list[str]:
    """Names of the modules that have a `main`: those that open a page in Chromium, or all others."""
    sources = {file.stem: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.py"))}
    return [
        name
        for name, text in sources.items()
        if "\ndef main(" in text and ("chromium.browsing(" in text) == in_browser
    ]


def run_smallest(name: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Run a benchmark with its `SMALLEST` arguments; return what it printed."""
    from benchmarks import commands

    module = importlib.import_module(f"benchmarks.{name}")
    assert hasattr(module, "SMALLEST"), f"benchmarks/{name}.py: say how to run it at its smallest size"
    places = _places(" ".join(module.SMALLEST), request, folder)
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        patch.setattr(commands, "run", _run_in_this_process)
        patch.setattr(commands, "serving", _serving_in_this_process)
        module.main([argument.format(**places) for argument in module.SMALLEST])
    return printed.getvalue()


def check_results(name: str, printed: str, folder: Path) -> None:
    """A benchmark has printed a table with numbers, or else has made a picture of more than one color."""
    pictures = list(folder.rglob("*.png"))
    assert numeric_cells(printed) or pictures, f"benchmarks/{name}.py has no result:\n{printed}"
    for file in pictures:
        with Image.open(file) as picture:
            assert len(picture.convert("RGB").getcolors(2**24) or "many") > 1, f"{file.name} is blank"


def numeric_cells(printed: str) -> list[str]:
    """Cells of the Markdown tables in a text that begin with a number, first columns and heads left out."""
    found: list[str] = []
    in_table = False
    for line in printed.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            in_table = False
        elif set(line) <= set("|-"):
            in_table = True
        elif in_table:
            found += [cell for cell in cells[1:] if re.match(r"[-+−]?\d", cell)]
    return found


def _places(arguments: str, request: pytest.FixtureRequest, folder: Path) -> dict[str, str]:
    places = {"folder": folder / "results"}
    places["folder"].mkdir()
    if "{dataset}" in arguments:
        places["dataset"] = shutil.copytree(
            request.getfixturevalue("demo_dataset"), folder / "of_benchmark.dataset"
        )
    if "{release}" in arguments:
        places["release"] = request.getfixturevalue("demo_release")
    if "{data}" in arguments:
        places["data"] = samples.write_sources(folder / "census")
    return {name: str(path) for name, path in places.items()}


def _run_in_this_process(module: str, *arguments: object, environment: object = None) -> Any:
    """What `benchmarks.commands.run` does, without the seconds that a process takes to start."""
    from benchmarks.commands import Finished
    from mapapp.commands import cli

    start, spent, printed = time.perf_counter(), time.process_time(), io.StringIO()
    given = [str(argument) for argument in arguments]
    with contextlib.redirect_stdout(printed):
        if module == "mapapp.commands.cli":
            assert cli.run(given) == 0
        else:
            importlib.import_module(module).main(given)
    return Finished(
        output=printed.getvalue(),
        wall_s=time.perf_counter() - start,
        processor_s=time.process_time() - spent,
        peak_gib=0.0,
    )


@contextlib.contextmanager
def _serving_in_this_process(
    release: Path, *options: object, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, str]]:
    from mapapp.explore.server import create_app, listen

    with running(*listen(create_app([release]), port=0)) as address:
        yield os.getpid(), address
