"""What a newcomer does for eight tasks on the page: `python -m benchmarks.first_minutes --release DIR [--year DIR]`.

In a real browser, with a page opened anew for each task. An action is a click, a typed text, or a drag. Seconds are
from the first action to an answer at rest; they depend on the machine and its load, the number of actions does not.
`--year` is a release of another year, for the task that compares two. `--only` runs some tasks alone. Needs Playwright
and a Chromium, as the browser tests do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from benchmarks import chromium
from mapapp.explore.server import create_app, listen
from tests.running_server import running

SMALLEST: Final = ("--release", "{release}", "--only", "in and out of a town", "a ring")
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


class Visitor:
    """A tab of the browser, and the actions in it."""

    def __init__(self, page: Any, address: str, town: str, other: str) -> None:
        self.page, self.address, self.town, self.other = page, address, town, other
        self.n_actions = 0
        self._started = 0.0
        page.set_default_timeout(chromium.PATIENCE_MS)

    def open(self, query: str = "") -> None:
        """Open the page; not an action."""
        self.page.goto(f"{self.address}/{query}")
        self.rest()
        self._started = time.perf_counter()

    def rest(self) -> None:
        """Wait until the answer is there and the map is at rest."""
        self.page.wait_for_selector("#worker-count")
        self.page.wait_for_function(chromium.MAP_AT_REST)

    def click(self, what: str) -> None:
        """Click the first visible element that a selector finds."""
        self.n_actions += 1
        self.page.locator(f"{what} >> visible=true").first.click()

    def type_into(self, box: str, text: str) -> None:
        """Click a box and type a text: one action."""
        self.n_actions += 1
        self.page.locator(box).click()
        self.page.keyboard.type(text)

    def pick(self, text: str) -> None:
        """Click an entry of an open list."""
        self.n_actions += 1
        self.page.locator("[role=option]:visible").filter(has_text=text).first.click()

    def drag(self) -> None:
        """Drag across the middle of the map."""
        self.n_actions += 1
        box = self.page.locator("#map").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x - 80, y - 60)
        self.page.mouse.down()
        self.page.mouse.move(x, y, steps=4)
        self.page.mouse.move(x + 80, y + 60, steps=4)
        self.page.mouse.up()

    def until(self, query: str) -> None:
        """Wait for an answer whose address has a part."""
        self.page.wait_for_function("part => decodeURIComponent(location.search).includes(part)", arg=query)
        self.rest()

    @property
    def seconds(self) -> float:
        """Seconds since the page first came to rest."""
        return time.perf_counter() - self._started


def _homes_of_workers(visitor: Visitor) -> None:
    visitor.open()
    visitor.type_into("#search", visitor.town)
    visitor.pick(visitor.town)
    visitor.until("area=")
    visitor.page.locator("#table-title").filter(has_text="live").wait_for()


def _in_and_out(visitor: Visitor) -> None:
    visitor.open()
    visitor.type_into("#search", f"in and out of {visitor.town}")
    visitor.pick("Inflow and outflow")
    visitor.until("analysis=inflow-outflow")


def _drawn(visitor: Visitor) -> None:
    visitor.open()
    visitor.click("[data-draw=box]")
    visitor.drag()
    visitor.until("area=box:")


def _town_by_town(visitor: Visitor) -> None:
    visitor.open()
    visitor.click("label:has-text('Flow matrix')")
    visitor.until("analysis=flow-matrix")


def _report(visitor: Visitor) -> None:
    visitor.open(f"?area={quote(visitor.other)}")
    visitor.click("#take-home summary")
    with visitor.page.expect_download() as download:
        visitor.click("#take-files a[href*='report.pdf'], #take-files [data-file*='report.pdf']")
    if not download.value.suggested_filename.endswith(".pdf"):
        raise AssertionError(f"{download.value.suggested_filename} is not a PDF")


def _link(visitor: Visitor) -> None:
    visitor.page.set_viewport_size(PHONE)
    visitor.open(f"?area={quote(visitor.other)}&analysis=inflow-outflow")
    visitor.page.locator(".findings >> visible=true").first.wait_for()
    visitor.click("[data-copy=link]")
    visitor.page.locator("#copy-said:not(:empty)").wait_for()


def _two_years(visitor: Visitor) -> None:
    visitor.open()
    visitor.type_into("#search", f"in and out of {visitor.town}")
    visitor.pick("Inflow and outflow")
    visitor.page.locator(".years").wait_for()


def _ring(visitor: Visitor) -> None:
    visitor.open()
    visitor.type_into("#search", f"jobs between 2 and 5 miles of {visitor.town}")
    visitor.pick("between 2 and 5 miles")
    visitor.until("area=near:")


TASKS: Final[dict[str, Callable[[Visitor], None]]] = {
    "where a town's workers live, by town": _homes_of_workers,
    "in and out of a town": _in_and_out,
    "a drawn area": _drawn,
    "town by town": _town_by_town,
    "a PDF of an answer": _report,
    "an answer on a phone, and its link": _link,
    "two years": _two_years,
    "a ring": _ring,
}


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, required=True)
    parser.add_argument("--year", type=Path, help="a release of the same place in another year")
    parser.add_argument("--only", nargs="+", choices=TASKS, help="run these tasks alone")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    releases = [chosen.release, *([chosen.year] if chosen.year else [])]
    tasks = {name: TASKS[name] for name in chosen.only or TASKS if chosen.year or name != "two years"}
    app = create_app(releases)
    town, key = _largest_town(chosen.release)
    print(f"{town}, {key}")
    print("| task | actions | seconds |\n|---|---|---|")
    with running(*listen(app, port=0)) as address, chromium.browsing() as browser:
        for name, task in tasks.items():
            context = browser.new_context(viewport=DESK, permissions=["clipboard-write"])
            visitor = Visitor(context.new_page(), address, town, key)
            task(visitor)
            print(f"| {name} | {visitor.n_actions} | {visitor.seconds:.1f} |", flush=True)
            context.close()


def _largest_town(path: Path) -> tuple[str, str]:
    """The short name and the key of the unit with the most jobs, in the layer that the page counts by."""
    from commutemap import open_release
    from mapapp.answers.areas.unit_names import base_name

    release = open_release(path)
    units = release.comparison(side="work").units
    first = next(row for row in units.itertuples() if row.kind == "unit")
    layer = release.comparison(side="work").layer
    return base_name(str(first.name)), f"{layer}:{first.unit_id}"


if __name__ == "__main__":
    main()
