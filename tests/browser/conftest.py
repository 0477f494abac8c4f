"""A served release and a browser that may reach nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.question.question import Question
from tests.addresses import settled
from tests.running_server import running

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
PATIENCE_MS = 120_000  # software WebGL, two browsers and a sweep on a busy machine
MAP_AT_REST = """() => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot && plot._fullLayout && plot._fullLayout.map && plot._fullLayout.map._subplot.map;
  return map && map.loaded() && !map.isMoving() && !document.querySelector(".busy.on, [data-part][aria-busy=true]");
}"""


@dataclass
class Visit:
    """One tab, what went wrong in it, and what it tried to reach."""

    page: Any
    address: str
    trouble: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        self.page.goto(self.address + path)

    def settle(self) -> None:
        self.page.wait_for_selector("#worker-count", timeout=PATIENCE_MS)
        self.wait_until(MAP_AT_REST)

    def count(self) -> int:
        return int(self.page.inner_text("#worker-count").replace(",", ""))

    def wait_until(self, is_so: str, argument: Any = None) -> None:
        """Wait until a JavaScript function, given the argument, finds the page so."""
        self.page.wait_for_function(is_so, arg=argument, timeout=PATIENCE_MS)

    def wait_for_count(self, workers: int) -> None:
        self.wait_until("text => document.getElementById('worker-count')?.innerText === text", f"{workers:,}")

    @contextmanager
    def intercepting(self, url: str, handler: Callable[[Any], None]) -> Iterator[None]:
        """Hand the requests for an address to a function; afterwards they pass.

        The route itself stays: taking one away can fail a request that has just begun.
        """
        handling = True

        def handle(route: Any) -> None:
            if handling:
                handler(route)
            else:
                route.fallback()

        self.page.route(url, handle)
        try:
            yield
        finally:
            handling = False


@pytest.fixture(scope="session")
def address(demo_release: Path) -> Iterator[str]:
    from mapapp.explore.server import create_app, listen

    with running(*listen(create_app([demo_release]), port=0)) as address:
        yield address


def largest_units(release: Release, layer: str, n: int = 1) -> list[str]:
    """Identifiers of the units of a layer that have most jobs."""
    units = served_answers.units(release, settled(release, Question(layer=layer)))
    return [str(unit) for unit in units.loc[units["kind"] == "unit", "unit_id"].head(n)]


def find_chromium() -> str | None:
    """The path of the Chromium or Chrome of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE_MS)
    found = find_chromium()
    if found is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(params=[(1440, 900)], ids=["desktop"])
def visit(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A fresh tab; at its end nothing may have gone wrong, and nothing outside been asked for."""
    width, height = request.param
    # A quarter of the pixels either way: software WebGL takes its time by the pixel, and layout is the same.
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=width < 600, device_scale_factor=0.25
    )
    context.set_default_timeout(PATIENCE_MS)
    visit = Visit(context.new_page(), address)
    visit.page.on(
        "console", lambda message: visit.trouble.append(message.text) if message.type == "error" else None
    )
    visit.page.on("pageerror", lambda error: visit.trouble.append(str(error)))

    def note_outside(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            visit.outside.append(request.url)

    context.on("request", note_outside)
    yield visit
    context.close()
    assert visit.outside == []
    assert visit.trouble == []
