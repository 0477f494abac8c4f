"""Areas as a first-time visitor chooses them: drawn by corners, typed and ended with Enter, or clicked in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers.release import Release
from tests.browser.conftest import Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]
AREA_BEGINS = "kind => new URLSearchParams(location.search).get('area')?.startsWith(kind)"


@pytest.fixture(scope="module")
def county(demo_release: Path) -> str:
    release = Release.open(demo_release, "demo")
    return release.areas[f"county:{largest_units(release, 'county')[0]}"].name


def test_a_polygon_is_drawn_by_clicks_and_taken_back(visit: Visit) -> None:
    visit.go("/?analysis=profile")
    visit.settle()
    visit.page.locator("[data-draw=polygon]").click()
    box = visit.page.locator("#map").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for right, down in ((-80, -60), (70, -70), (60, 60), (200, 200)):
        visit.page.mouse.click(x + right, y + down)
    visit.page.keyboard.press("Backspace")
    expect(visit.page.locator(".drawing-said")).to_contain_text("square mile")
    visit.page.keyboard.press("Enter")
    visit.wait_until(AREA_BEGINS, "shape:")
    expect(visit.page.locator(".drawing-board")).to_have_count(0)
    visit.settle()
    visit.page.locator("#undo").click()
    expect(visit.page.locator("#chips .chip")).to_have_count(0)
    visit.settle()


def test_a_line_is_drawn_with_the_keyboard_alone(visit: Visit) -> None:
    visit.go("/")
    visit.settle()
    keyboard = visit.page.keyboard
    visit.page.locator("[data-draw=line]").focus()
    keyboard.press("Enter")
    expect(visit.page.locator(".drawing-board")).to_be_focused()
    for key in ("Space", "Shift+ArrowRight", "Space", "Enter"):
        keyboard.press(key)
    visit.wait_until(AREA_BEGINS, "line:")
    expect(visit.page.locator("[data-draw=line]")).to_be_focused()
    keyboard.press("Enter")
    keyboard.press("Escape")
    expect(visit.page.locator(".drawing-board")).to_have_count(0)
    visit.settle()


def test_enter_takes_the_first_result_as_soon_as_it_is_here(visit: Visit, county: str) -> None:
    visit.go("/")
    visit.settle()
    search = visit.page.locator("#search")
    search.fill(county)
    search.press("Enter")
    visit.wait_until(AREA_BEGINS, "county:")
    expect(search).to_have_value("")
    search.fill("qqqqq zzzzz")
    search.press("Enter")
    expect(visit.page.locator("#area-said")).to_contain_text("Nothing here is called")
    visit.settle()


def test_typed_coordinates_stay_and_an_error_is_beside_its_button(visit: Visit) -> None:
    visit.go("/")
    visit.settle()
    visit.page.locator("#tools summary").first.click()
    visit.page.locator("#add-circle").click()
    expect(visit.page.locator("#circle-said")).to_contain_text("no center")
    center = visit.page.locator("#center")
    center.fill("41.82, -71.41")
    center.press("Tab")
    expect(center).to_have_value("Latitude, longitude 41.82, -71.41")
    expect(visit.page.locator(".place-mark")).to_have_count(1)
    visit.page.locator("#radii").fill("1, 5")
    visit.page.locator("#radii").press("Enter")
    visit.wait_until(AREA_BEGINS, "circle:")
    expect(visit.page.locator("#circle-said")).to_be_empty()
    expect(visit.page.locator("#sides thead")).to_contain_text("1 to 5 miles")
    visit.settle()


def test_a_pair_is_two_clicks(visit: Visit) -> None:
    visit.go("/?analysis=paired")
    visit.settle()
    prompt = visit.page.locator("#prompt")
    expect(prompt).to_have_text("Click where they work, or search.")
    box = visit.page.locator("#map").bounding_box()
    place = {"x": box["width"] / 2, "y": box["height"] / 2}
    visit.page.locator("#map").click(position=place)
    expect(prompt).to_have_text("Now click where they live, or search.")
    visit.settle()
    visit.page.locator("#map").click(position=place)
    visit.wait_until("() => new URLSearchParams(location.search).has('other')")
    expect(prompt).to_be_empty()
    visit.settle()
