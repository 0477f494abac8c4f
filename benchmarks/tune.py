"""How long a move of a control takes at the workbench: `python -m benchmarks.tune ri.dataset`.

In Debian's Chromium with software WebGL on the same machine: from the key press on a slider to new numbers on the
screen, of the sample and of all tracts. With `--picture FILE` also the picture of docs/tune.md.
"""

from __future__ import annotations

import argparse
import io
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

from benchmarks.readme_picture import N_COLOURS
from mapapp.progress import silent
from mapapp.tune.app import create_app, listen
from mapapp.tune.bench import Bench
from mapapp.tune.setting import read_setting, start_values
from tests.browser.conftest import FLAGS, MAP_AT_REST, PATIENCE_MS

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
NUMBERS = (
    "() => [document.getElementById('setting-panel').innerText, document.getElementById('scope').innerText]"
)
CHANGED = """before => document.getElementById('scope').innerText
  && document.getElementById('setting-panel').innerText !== before"""
ALL = """before => document.getElementById('scope').innerText.startsWith('All')
  && document.getElementById('setting-panel').innerText !== before"""


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--picture", type=Path)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    asked = argument_parser().parse_args(arguments)
    app = create_app(asked.dataset)
    server, address = listen(app, port=0)
    threading.Thread(target=server.run, daemon=True).start()
    bench = app.server.extensions["workbench"][0]
    print(f"sample: {bench.sample.size} of {bench.data.tract.size} workplace tracts")
    measured(bench)
    with opened(address) as page:
        rows = [(name, *moved(page, name)) for name in CONTROLS]
        for name, sample_s, whole_s in rows:
            print(f"| {name} | {sample_s:.2f} | {whole_s:.2f} |")
        print(f"| median | {median(row[1] for row in rows):.2f} | {median(row[2] for row in rows):.2f} |")
        if asked.picture:
            taken(page, asked.picture)


class opened:
    """A page of the workbench, its first setting measured on all tracts and the map at rest."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> Any:
        from playwright.sync_api import sync_playwright

        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        page = self.browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(self.address)
        page.wait_for_selector("#kl-all")
        page.wait_for_function(ALL, arg="")
        page.wait_for_function(MAP_AT_REST)
        page.wait_for_timeout(3_000)
        return page

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self.playwright.stop()


def measured(bench: Bench) -> None:
    """Seconds that the program itself takes, without a browser, over settings not measured before."""
    values = start_values(has_flows=bench.has_flows)
    bench.measure(read_setting(values), "sample", silent)
    bench.measure(read_setting(values), "whole", silent)
    for extent in ("sample", "whole"):
        seconds = []
        for epsilon in ("3.1", "3.3", "3.5", "3.7", "3.9"):
            setting = read_setting(values | {"epsilon": epsilon})
            start = time.perf_counter()
            bench.measure(setting, extent, silent)
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
    page.wait_for_selector("#kl-all")
    page.wait_for_function(ALL, arg="")
    page.wait_for_function(MAP_AT_REST)
    moved(page, "strength")
    page.evaluate(
        "document.querySelectorAll('details.filters').forEach((part, at) => { part.open = at < 3; })"
    )
    page.evaluate("document.querySelectorAll('.panel').forEach(part => part.scrollTo(0, 0))")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_function(MAP_AT_REST)
    page.wait_for_timeout(3_000)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.quantize(N_COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main()
