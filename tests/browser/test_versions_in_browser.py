"""One version of an answer: late answers, answers that do not come, and clicks while the map is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.explore.pages.menus import click_level
from mapapp.question.question import Question
from mapapp.show.content import map_layers
from tests.addresses import settled
from tests.browser.conftest import PATIENCE_MS, Visit, largest_units
from tests.browser.test_explore_in_browser import click_on

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

CALLBACKS = "**/_dash-update-component*"
UNDIMMED = """() => [...document.querySelectorAll("[data-part]")]
  .filter((part) => part.getAttribute("aria-busy") !== "true").map((part) => part.dataset.drawn)"""
WHOLE = "() => !document.querySelector('[data-part][aria-busy=true]')"


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


class Held:
    """Keeps back the first request for an output until it is let go."""

    def __init__(self, visit: Visit, output: str) -> None:
        self.output = output
        self.route: Any = None
        self.visit = visit
        visit.page.route(CALLBACKS, self._hold)  # for good: see Visit.intercepting

    def _hold(self, route: Any) -> None:
        if self.route is None and self.output in json.loads(route.request.post_data)["output"]:
            self.route = route
        else:
            route.fallback()

    def let_go(self) -> None:
        """Let the answer come, and wait until it has."""
        with self.visit.page.expect_response(lambda response: response.request == self.route.request):
            self.route.continue_()


def open_county(visit: Visit, release: Release) -> str:
    """Show the county with most jobs; returns its key."""
    key = f"county:{largest_units(release, 'county')[0]}"
    visit.go(f"/?area={key}")
    visit.settle()
    return key


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        (
            "answer.children",
            ["answer", "glance", "table-card", "certificate", "matrix-card", "matrix-csv", "chart-card"],
        ),
        ("map.figure", ["map-part"]),
        ("chips.children", ["chosen", "asked", "take-files", "csv"]),
    ],
)
def test_a_part_is_dimmed_until_its_answer_has_come(
    visit: Visit, release: Release, output: str, parts: list[str]
) -> None:
    key = open_county(visit, release)
    held = Held(visit, output)
    visit.page.locator("#side").get_by_text("Homes").click()
    visit.wait_until(
        "parts => [...document.querySelectorAll('[data-part]')]"
        ".every((part) => (part.getAttribute('aria-busy') === 'true') === parts.includes(part.id))",
        parts,
    )
    now = f"?side=home&area={key}"
    assert set(visit.page.evaluate(UNDIMMED)) == {now}
    for part in parts:
        expect(visit.page.locator(f"#{part}")).to_have_attribute("data-drawn", f"?area={key}")
        # Within a dimmed part; dimmed less, because it is in use; in a closed menu, where no transition runs.
        if part not in ("matrix-csv", "asked", "take-files"):
            visit.wait_until("id => getComputedStyle(document.getElementById(id)).opacity < 0.5", part)
    held.let_go()
    visit.wait_until(WHOLE)
    assert set(visit.page.evaluate(UNDIMMED)) == {now}
    visit.wait_for_count(
        served_answers.n_places(release, settled(release, Question(areas=(key,), side="home")))
    )


def test_answers_in_the_wrong_order_change_nothing(visit: Visit, release: Release) -> None:
    key = open_county(visit, release)
    address = Held(visit, "followed.data")
    visit.page.locator("#side").get_by_text("Homes").click()
    visit.page.get_by_text("Areas", exact=True).click()
    newest = f"?side=home&area={key}&show=areas"
    visit.wait_until("newest => location.search === newest", newest)
    visit.settle()
    address.let_go()  # it knows of the first choice alone

    answer = Held(visit, "answer.children")
    visit.page.locator("#side").get_by_text("Workplaces").click()
    visit.wait_until("() => !location.search.includes('side')")
    visit.page.locator("#side").get_by_text("Homes").click()
    visit.wait_until("newest => location.search === newest", newest)
    visit.settle()
    answer.let_go()
    visit.settle()
    visit.wait_for_count(
        served_answers.n_places(release, settled(release, Question(areas=(key,), side="home")))
    )
    assert set(visit.page.evaluate(UNDIMMED)) == {newest}
    expect(visit.page.locator("#side input:checked")).to_have_value("home")
    expect(visit.page.locator("#show input:checked")).to_have_value("areas")


def test_a_change_that_the_page_has_not_heard_of_outlasts_settings_from_the_server(
    visit: Visit, release: Release
) -> None:
    key = open_county(visit, release)
    # A visitor changes a control, and the answer to an earlier choice comes before Dash has called the page's script.
    visit.page.evaluate(
        """() => {
          window.dash_clientside.set_props("side", { value: "home" });
          window.dash_clientside.commutemap.place({ drawn: window.commutemap.address(), values: { side: "work" } });
        }"""
    )
    visit.wait_until("now => location.search === now", f"?side=home&area={key}")
    visit.settle()
    expect(visit.page.locator("#side input:checked")).to_have_value("home")


def test_a_button_drawn_anew_right_after_a_click_loses_nothing(visit: Visit, release: Release) -> None:
    open_county(visit, release)
    visit.page.evaluate(
        """() => {
          document.querySelector(".chip > button").click();
          window.dash_clientside.set_props("chips", { children: [] });
        }"""
    )
    visit.wait_until("() => location.search === ''")


def test_a_part_that_cannot_be_answered_stays_dimmed_and_says_so(visit: Visit, release: Release) -> None:
    open_county(visit, release)

    def busy(route: Any) -> None:
        if "answer.children" in json.loads(route.request.post_data)["output"]:
            route.fulfill(status=503, body="503 Service Unavailable")
        else:
            route.fallback()

    with visit.intercepting(CALLBACKS, busy):
        visit.page.locator("#side").get_by_text("Homes").click()
        visit.page.get_by_role("alert").filter(has_text="The server is busy").wait_for()
        visit.page.locator("#map-part[aria-busy=false]").wait_for(timeout=PATIENCE_MS)
        expect(visit.page.locator("#answer")).to_have_attribute("aria-busy", "true")
        expect(visit.page.locator("#away")).to_be_visible()
    visit.page.locator("#away button").click()
    visit.settle()
    expect(visit.page.locator("#away")).to_be_hidden()
    visit.trouble.clear()  # what the browser itself says of a failed request


def test_a_click_on_a_map_that_is_being_drawn_counts(visit: Visit, release: Release) -> None:
    (first,) = largest_units(release, "tract")
    level = click_level(release, Question(areas=(f"tract:{first}",)))
    (largest,) = largest_units(release, level)
    visit.go(f"/?area=tract:{first}")
    visit.settle()
    inside = map_layers.unit_shapes(release, level)[largest].representative_point()
    visit.page.get_by_text("Areas", exact=True).click()  # which leaves the camera where it is
    click_on(visit, [inside.x, inside.y])
    wanted = f"?area={level}:{largest}&show=areas"
    visit.wait_until("wanted => location.search === wanted", wanted)
