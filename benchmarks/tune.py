"""How long a move of a control takes at the workbench: `python -m benchmarks.tune ri.dataset`.

In Debian's Chromium with software WebGL on the same machine: from the key press on a slider to new numbers on the
screen, of the sample and of all tracts. With `--picture FILE` also the picture of docs/tune.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import chromium
from benchmarks.chromium import MAP_AT_REST, PATIENCE_MS
from benchmarks.readme_picture import slimmed
from mapapp.progress import silent
from mapapp.workbench.app import create_app, listen
from mapapp.workbench.session import Session
from mapapp.workbench.setting import preset_values, read_setting
from tests.running_server import running

CONTROLS = (
    "epsilon",
    "delta",
    "min_retention",
    "retention_scale",
    "tract_radius",
    "puma_radius",
    "strength",
    "q50",
)
PRESET = "onthemap-v3"
EPSILONS = ("3.1", "3.3", "3.5", "3.7", "3.9")
NUMBERS = (
    "() => [document.getElementById('setting-panel').innerText, document.getElementById('scope').innerText]"
)
CHANGED = """before => document.getElementById('scope').innerText
  && document.getElementById('setting-panel').innerText !== before"""
ALL = """before => document.getElementById('scope').innerText.startsWith('All')
  && document.getElementById('setting-panel').innerText !== before"""
SMALLEST = ("{dataset}", "--controls", "strength", "--settings", "1")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--controls", nargs="+", choices=CONTROLS, default=CONTROLS)
    parser.add_argument("--settings", type=int, default=len(EPSILONS), help="to measure without a browser")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    asked = argument_parser().parse_args(arguments)
    app = create_app(asked.dataset)
    session = app.server.extensions["workbench"][0]
    print(f"sample: {session.sample.size} of {session.data.tract.size} workplace tracts")
    measured(session, EPSILONS[: asked.settings])
    with running(*listen(app, port=0)) as address, opened(address) as page:
        rows = [(name, *moved(page, name)) for name in asked.controls]
        print("\n| control | sample, s | all tracts, s |\n|---|---|---|")
        for name, sample_s, whole_s in rows:
            print(f"| {name} | {sample_s:.2f} | {whole_s:.2f} |")
        print(f"| median | {median(row[1] for row in rows):.2f} | {median(row[2] for row in rows):.2f} |")
        if asked.picture:
            taken(page, asked.picture)


@contextmanager
def opened(address: str) -> Iterator[Any]:
    """Yield a page of the workbench, its first setting measured on all tracts and the map at rest."""
    with chromium.browsing() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(address)
        start_published(page)
        page.wait_for_timeout(3_000)
        yield page
        page.close()


def start_published(page: Any) -> None:
    """Wait for the first setting, then start from Algorithms 1 and 2 as published, which use every control."""
    page.wait_for_selector("#kl-all")
    page.wait_for_function(ALL, arg="")
    before, _ = page.evaluate(NUMBERS)
    page.locator(f"#preset-{PRESET}").click()
    page.wait_for_function(ALL, arg=before)
    page.wait_for_function(MAP_AT_REST)


def measured(session: Session, epsilons: tuple[str, ...]) -> None:
    """Seconds that the program itself takes, without a browser, over settings not measured before."""
    values = preset_values(PRESET, has_flows=session.has_flows)
    session.measure(read_setting(values), "sample", silent)
    session.measure(read_setting(values), "whole", silent)
    for extent in ("sample", "whole"):
        seconds = []
        for epsilon in epsilons:
            setting = read_setting({**values, "epsilon": epsilon})
            start = time.perf_counter()
            session.measure(setting, extent, silent)
            seconds.append(time.perf_counter() - start)
        print(f"without a browser, {extent}: median {median(seconds):.2f} s, most {max(seconds):.2f} s")


def moved(page: Any, name: str) -> tuple[float, float]:
    """Seconds from a key press on a slider to numbers of the sample, and of all tracts."""
    page.evaluate("document.querySelectorAll('details.filters').forEach(part => { part.open = true; })")
    thumb = page.locator(f"#{name}-slider [role=slider]")
    thumb.focus()
    before, _ = page.evaluate(NUMBERS)
    start = time.perf_counter()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(CHANGED, arg=before)
    sample = time.perf_counter() - start
    page.wait_for_function(ALL, arg=before)
    whole = time.perf_counter() - start
    page.wait_for_function(MAP_AT_REST)
    page.wait_for_timeout(1_500)
    return sample, whole


def taken(page: Any, picture: Path) -> None:
    """The workbench with a setting beside the one before."""
    page.goto(page.url)
    start_published(page)
    moved(page, "strength")
    page.evaluate(
        "document.querySelectorAll('details.filters').forEach((part, at) => { part.open = at < 3; })"
    )
    page.evaluate("document.querySelectorAll('.panel').forEach(part => part.scrollTo(0, 0))")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_function(MAP_AT_REST)
    page.wait_for_timeout(3_000)
    picture.write_bytes(slimmed(page.screenshot()))


if __name__ == "__main__":
    main()
