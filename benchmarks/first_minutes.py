"""What a first-time visitor does for twelve tasks on the page: `python -m benchmarks.first_minutes --release DIR`.

In a real browser, with a page opened anew for each task. An action is a click, a text typed into a box and ended with
Enter, a choice in a menu, or a drag; each corner of a polygon is a click. A task is done when its result is on the
screen, without scrolling, or a file with the right ending has arrived; otherwise the benchmark stops. Seconds are from
the first action to that result; they depend on the machine and its load, the number of actions does not.

`--year DIR` is a release of another year, for the task that compares two. `--only` runs some tasks alone, and
`--pictures` keeps the last screen of each. Needs Playwright and a Chromium, as the browser tests do.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks import chromium
from mapapp.explore.server import create_app, listen
from tests.running_server import running

SMALLEST: Final = ("--release", "{release}", "--only", "in and out of a town", "rings")
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
_HALF: Final = 0.02
"""Degrees from the middle of the box of a file to its sides."""


class Places(NamedTuple):
    """Short names of the two units with the most jobs, and a box within the first: west, south, east, north."""

    town: str
    other: str
    box: tuple[float, float, float, float]


class Visitor:
    """A tab of the browser, and the actions in it."""

    def __init__(self, context: Any, address: str, places: Places) -> None:
        self.context, self.address, self.places = context, address, places
        self.page = context.new_page()
        self.page.set_default_timeout(chromium.PATIENCE_MS)
        self.n_actions = 0
        self._started = 0.0

    def open(self, address: str = "") -> None:
        """Open the page, or another address; not an action. Seconds count from the first page at rest."""
        self.page.goto(address or self.address)
        self.rest()
        self._started = self._started or time.perf_counter()

    def rest(self) -> None:
        """Wait until the answer is there and the map is at rest."""
        self.page.wait_for_selector("#worker-count")
        self.page.wait_for_function(chromium.MAP_AT_REST)

    def click(self, what: str, text: str = "") -> None:
        """Click the first visible element with a selector and a text; the visitor must see it without scrolling."""
        self.see(what, text)
        self.n_actions += 1
        self.page.locator(f"{what} >> visible=true").filter(has_text=text).first.click()

    def enter(self, text: str, box: str = "#search") -> None:
        """Type a text into a box and press Enter."""
        self.n_actions += 1
        self.page.locator(box).fill(text)
        self.page.locator(box).press("Enter")

    def choose_last(self, menu: str) -> None:
        """Open a menu and choose its last entry."""
        self.see(menu)
        self.n_actions += 1
        self.page.locator(menu).click()
        self.page.locator("[role=option]:visible").last.click()

    def at(self, right: float, down: float) -> tuple[float, float]:
        """Return the place on the screen that is so many pixels from the middle of the map."""
        box = self.page.locator("#map").bounding_box()
        return box["x"] + box["width"] / 2 + right, box["y"] + box["height"] / 2 + down

    def drag(self) -> None:
        """Drag from the middle of the map."""
        self.n_actions += 1
        self.page.mouse.move(*self.at(0, 0))
        self.page.mouse.down()
        self.page.mouse.move(*self.at(60, 40), steps=4)
        self.page.mouse.up()

    def click_corners(self, *places: tuple[float, float]) -> None:
        """Click places of the map, the last one twice."""
        for number, place in enumerate(places, 1):
            self.n_actions += 1
            self.page.mouse.click(*self.at(*place), click_count=1 + (number == len(places)))

    def receive(self, what: str, suffix: str) -> None:
        """Click a button that downloads a file."""
        with self.page.expect_download() as download:
            self.click(what)
        name = download.value.suggested_filename
        if not name.endswith(suffix):
            raise AssertionError(f"{name} should end with {suffix}")

    def until(self, *parts: str) -> None:
        """Wait for an answer whose address has some parts."""
        for part in parts:
            self.page.wait_for_function(
                "part => decodeURIComponent(location.search).includes(part)", arg=part
            )
        self.rest()

    def see(self, what: str, text: str = "") -> None:
        """Wait until an element is on the screen, at least a part of it that can be clicked."""
        self.page.wait_for_function(_IS_SEEN, arg=[what, text])

    @property
    def seconds(self) -> float:
        """Seconds since the page first came to rest."""
        return time.perf_counter() - self._started


_IS_SEEN: Final = """([what, text]) => [...document.querySelectorAll(what)].some((element) => {
  if (!element.textContent.includes(text)) return false;
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + Math.min(height / 2, 20)];
  const above = width && height && document.elementFromPoint(x, y);
  return Boolean(above) && (element.contains(above) || above.contains(element));
})"""
"""Whether an element, or one around it, is what the pointer meets in its middle or, if it is high, near its top."""


def _downtown(visitor: Visitor) -> None:
    visitor.open()
    visitor.enter(f"Downtown {visitor.places.town}")
    visitor.until("area=")
    visitor.see("#table-title", "live")


def _in_and_out(visitor: Visitor) -> None:
    visitor.open()
    visitor.enter(visitor.places.town)
    visitor.until("area=")
    visitor.click(".analyses label", "Inflow and outflow")
    visitor.until("analysis=inflow-outflow")
    visitor.see(".inflow-diagram")


def _polygon(visitor: Visitor) -> None:
    visitor.open()
    visitor.click("[data-draw=polygon]")
    visitor.click_corners((-80, 60), (80, 60), (0, -80))
    visitor.until("area=shape:")


def _circle(visitor: Visitor) -> None:
    visitor.open()
    visitor.click("[data-draw=circle]")
    visitor.drag()
    visitor.until("area=circle:")


def _matrix(visitor: Visitor) -> None:
    visitor.open()
    visitor.click(".analyses label", "Flow matrix")
    visitor.until("analysis=flow-matrix")
    visitor.click("#take-home summary")
    visitor.receive("#take-files [href*='table.xlsx'], #take-files [data-file*='table.xlsx']", ".xlsx")


def _report(visitor: Visitor) -> None:
    visitor.open()
    visitor.enter(visitor.places.town)
    visitor.until("area=")
    visitor.click("#take-home summary")
    visitor.receive("#take-files [href*='report.pdf'], #take-files [data-file*='report.pdf']", ".pdf")


def _link(visitor: Visitor) -> None:
    visitor.open()
    visitor.enter(visitor.places.town)
    visitor.until("area=")
    visitor.click("[data-copy=link]")
    visitor.see("#copy-said", "Copied")
    link, count = visitor.page.evaluate(
        "async () => [await navigator.clipboard.readText(), document.getElementById('worker-count').textContent]"
    )
    visitor.page.set_viewport_size(PHONE)
    visitor.open(link)
    visitor.see(".glance, #worker-count", count)


def _two_releases(visitor: Visitor) -> None:
    visitor.open()
    visitor.enter(visitor.places.town)
    visitor.until("area=")
    visitor.choose_last("#against")
    visitor.until("against=")
    visitor.see(".findings")


def _two_areas(visitor: Visitor) -> None:
    visitor.open()
    visitor.enter(visitor.places.town)
    visitor.until("area=")
    visitor.click("[data-add]")
    visitor.enter(visitor.places.other)
    visitor.until("area=")
    visitor.see("#sides th", visitor.places.other)


def _rings(visitor: Visitor) -> None:
    visitor.open()
    visitor.click("#tools summary")
    visitor.see("#radii")
    visitor.enter(visitor.places.town, "#center")
    visitor.page.wait_for_function("() => dash_component_api.getLayout('center').props.value")
    visitor.enter("1, 2, 5", "#radii")
    visitor.until("area=circle:")
    visitor.see("#sides th", "5 miles")


def _sentences(visitor: Visitor) -> None:
    town, other = visitor.places.town, visitor.places.other
    for sentence, part in (
        (f"where do workers of {town} live", "area="),
        (f"who comes into {town} and who leaves", "analysis=inflow-outflow"),
        (f"how far do workers of {other} commute", "analysis=distance-direction"),
        (f"young people who live in {town}", "age="),
        (f"who lives in {other} and works in {town}", "analysis=paired"),
    ):
        visitor.open()
        visitor.enter(sentence)
        visitor.until(part)
        visitor.see("#area-said", "Understood")


def _file(visitor: Visitor) -> None:
    west, south, east, north = visitor.places.box
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    polygon = {"type": "Polygon", "coordinates": [ring]}
    feature = {"type": "Feature", "properties": {"name": "Site"}, "geometry": polygon}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.geojson"
        path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}), encoding="utf-8")
        visitor.open()
        visitor.click("#tools summary")
        with visitor.page.expect_file_chooser() as chooser:
            visitor.click("[data-file=open-area]")
        visitor.n_actions += 1
        chooser.value.set_files(path)
        visitor.until("area=")
        visitor.see("#answer", "Site")


def _line(visitor: Visitor) -> None:
    visitor.open()
    visitor.click("[data-draw=line]")
    visitor.click_corners((-60, 40), (60, -60))
    visitor.until("area=line:")


TASKS: Final[dict[str, Callable[[Visitor], None]]] = {
    "where workers of a downtown live, by town": _downtown,
    "in and out of a town": _in_and_out,
    "a polygon of three corners": _polygon,
    "a circle": _circle,
    "the matrix of towns as XLSX": _matrix,
    "a PDF of a town's answer": _report,
    "a town's answer, as a link on a phone": _link,
    "two releases": _two_releases,
    "two areas side by side": _two_areas,
    "rings": _rings,
    "five sentences": _sentences,
    "an area from a file": _file,
    "a line": _line,
}


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, required=True)
    parser.add_argument("--year", type=Path, help="a release of the same place in another year")
    parser.add_argument("--only", nargs="+", choices=TASKS, help="run these tasks alone")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of the end of each task")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    releases = [chosen.release, *([chosen.year] if chosen.year else [])]
    tasks = {name: TASKS[name] for name in chosen.only or TASKS if chosen.year or name != "two releases"}
    app = create_app(releases)
    places = _places(chosen.release)
    print(f"{places.town}, {places.other}")
    print("| task | actions | seconds |\n|---|---|---|")
    with running(*listen(app, port=0)) as address, chromium.browsing() as browser:
        for name, task in tasks.items():
            context = browser.new_context(viewport=DESK, permissions=["clipboard-read", "clipboard-write"])
            visitor = Visitor(context, address, places)
            task(visitor)
            if chosen.pictures:
                visitor.page.screenshot(path=chosen.pictures / f"{name.replace(' ', '-')}.png")
            print(f"| {name} | {visitor.n_actions} | {visitor.seconds:.1f} |", flush=True)
            context.close()


def _places(path: Path) -> Places:
    """The two units with the most jobs, in the layer that the page counts by."""
    from commutemap import open_release
    from mapapp.answers.areas.unit_names import base_name

    release = open_release(path)
    comparison = release.comparison(side="work")
    units = [row for row in comparison.units.itertuples() if row.kind == "unit"][:2]
    names = [base_name(str(unit.name)) for unit in units]
    shapes = comparison.to_geodataframe().to_crs("EPSG:4326").set_index("unit_id").geometry
    middle = shapes[units[0].unit_id].representative_point()
    return Places(
        names[0], names[1], (middle.x - _HALF, middle.y - _HALF, middle.x + _HALF, middle.y + _HALF)
    )


if __name__ == "__main__":
    main()
