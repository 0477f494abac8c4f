"""A phone: a choice brings its answer into view, an area is drawn with a finger, and a view is shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.question.question import Question
from tests.addresses import settled
from tests.browser.conftest import Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = (390, 844)
on_a_phone = pytest.mark.parametrize("visit", [PHONE], ids=["phone"], indirect=True)
MAP_AND_NUMBER_ARE_IN_VIEW = """() => {
  const [map, number] = ["map", "worker-count"].map((id) => document.getElementById(id)?.getBoundingClientRect());
  return map && number && map.height > 200 && number.top > map.bottom && number.bottom < innerHeight
    && document.documentElement.scrollHeight <= innerHeight;
}"""


@pytest.fixture(scope="module")
def county(demo_release: Path) -> str:
    return f"county:{largest_units(Release.open(demo_release, 'demo'), 'county')[0]}"


@on_a_phone
def test_a_choice_brings_its_answer_into_view(visit: Visit, demo_release: Path, county: str) -> None:
    release = Release.open(demo_release, "demo")
    visit.go("/")
    visit.settle()
    visit.page.locator("#search").fill(release.areas[county].name)
    visit.page.get_by_role("option", name=release.areas[county].name).first.click()
    visit.wait_for_count(served_answers.n_places(release, settled(release, Question(areas=(county,)))))
    visit.settle()
    visit.wait_until(MAP_AND_NUMBER_ARE_IN_VIEW)
    visit.page.locator("#change-question").click()
    dialog = visit.page.get_by_role("dialog", name="Change question")
    expect(dialog).to_be_focused()
    dialog.get_by_text("Inflow and outflow").click()
    visit.page.locator("#close-question").click()
    expect(visit.page.locator("#change-question")).to_be_focused()
    expect(visit.page).to_have_title(f"Inflow and outflow: {release.areas[county].name}, {release.year}")
    visit.settle()
    visit.wait_until(MAP_AND_NUMBER_ARE_IN_VIEW)
    visit.page.locator("#open-sheet").click()
    expect(visit.page.locator("#open-sheet")).to_have_attribute("aria-expanded", "true")
    expect(visit.page.locator("#take-home summary")).to_be_in_viewport()


@on_a_phone
def test_a_circle_is_drawn_from_its_center(visit: Visit) -> None:
    visit.go("/")
    visit.settle()
    visit.page.locator("[data-draw=circle]").click()
    box = visit.page.locator("#map").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    visit.page.mouse.move(x, y)
    visit.page.mouse.down()
    visit.page.mouse.move(x + 60, y, steps=4)
    expect(visit.page.locator(".drawing-hint")).to_contain_text("miles")
    visit.page.mouse.up()
    visit.wait_until("() => new URLSearchParams(location.search).get('area')?.startsWith('circle:')")
    expect(visit.page.locator(".drawing-board")).to_have_count(0)
    visit.settle()


def test_a_link_is_copied_and_a_frame_has_no_controls(visit: Visit, county: str) -> None:
    visit.go(f"/?area={county}&embed=1")
    visit.settle()
    for hidden in (".top", "#search", "#asked", "#take-home"):
        expect(visit.page.locator(hidden)).to_be_hidden()
    with visit.page.context.expect_page() as opened:
        visit.page.locator(".full-view").click()
    whole = opened.value
    expect(whole).to_have_url(f"{visit.address}/?area={county}")
    whole.locator("#worker-count").wait_for()
    whole.get_by_role("button", name="Copy link").first.click()
    expect(whole.locator("#copy-said")).to_have_text("Copied.")
    whole.locator("#search").press("Control+V")
    expect(whole.locator("#search")).to_have_value(f"{visit.address}/?area={county}")
