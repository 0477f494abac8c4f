"""Dots and a morning on the page: what moves, what stays still, and what is asked for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mapapp.answers.release import Release
from tests.browser.conftest import Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser]

TILES_SHOW = """isShown => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  const { id } = map.getStyle().layers.find(({ type }) => type === "raster");
  return ((map.getPaintProperty(id, "raster-opacity") ?? 1) > 0) === isShown;
}"""
MIDDLE = """() => {
  const canvas = document.querySelector(".morning-canvas");
  const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let [n, sum] = [0, 0];
  for (let at = 3; at < data.length; at += 4) if (data[at]) [n, sum] = [n + 1, sum + (((at - 3) / 4) % width)];
  return n && sum / n;
}"""


def test_a_morning_moves_the_dots_and_closing_it_shows_all_of_them(visit: Visit) -> None:
    visit.go("?morning=all")
    visit.settle()
    page = visit.page
    expect(page.locator(".morning p")).to_contain_text("synthetic workers, in straight lines. Not people")
    visit.wait_until(TILES_SHOW, False)
    at_night = page.evaluate(MIDDLE)
    assert at_night > 0
    slider = page.get_by_label("From night to day")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "day")
    assert page.evaluate(MIDDLE) != at_night
    page.get_by_label("Close the morning").click()
    visit.wait_until("() => !location.search.includes('morning')")
    expect(page.locator(".morning-canvas")).to_have_count(0)
    visit.wait_until(TILES_SHOW, True)
    expect(page.get_by_role("button", name="A morning")).to_be_visible()


def test_a_morning_stays_still_where_motion_is_reduced(visit: Visit) -> None:
    """Finds a morning that moves for a visitor whose system asks for less motion."""
    visit.page.emulate_media(reduced_motion="reduce")
    visit.go("?morning=all")
    visit.settle()
    slider = visit.page.get_by_label("From night to day")
    expect(visit.page.locator(".morning p")).to_contain_text("in straight lines")
    visit.page.evaluate(NOTE_PLACES)
    play = visit.page.get_by_label("Play")
    play.click()
    expect(slider).to_have_attribute("aria-valuetext", "day")
    expect(play).to_be_visible()  # nothing runs that could be paused
    play.click()
    expect(slider).to_have_attribute("aria-valuetext", "night")
    assert set(visit.page.evaluate("window.places")) <= {"0", "1000"}, "it stopped on the way"


NOTE_PLACES = """() => {
  const canvas = document.querySelector(".morning-canvas").getContext("2d");
  const slider = document.querySelector(".morning input");
  const paint = canvas.putImageData.bind(canvas);
  window.places = [];
  canvas.putImageData = (...given) => {
    window.places.push(slider.value);
    paint(...given);
  };
}"""
TILES_ARE_DRAWN = """() => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  const { source } = map.getStyle().layers.find(({ type }) => type === "raster");
  return map.isSourceLoaded(source);
}"""


def test_a_refused_tile_of_dots_is_asked_for_again(visit: Visit) -> None:
    """Finds a map that keeps a hole where the server was too busy to draw a tile."""
    requested: list[str] = []
    refused: list[str] = []

    def refuse_first(route: Any) -> None:
        address = route.request.url
        requested.append(address)
        if not refused:
            refused.append(address)
            route.fulfill(status=503, body="busy", headers={"Retry-After": "1"})
        else:
            route.fallback()

    visit.page.route("**/dots/**", refuse_first)
    with visit.page.expect_response(lambda answer: answer.ok and answer.url in refused):
        visit.go("/")
    visit.settle()
    visit.wait_until(TILES_ARE_DRAWN)
    assert requested.count(refused[0]) == 2
    assert visit.page.query_selector("#away:not([hidden])") is None
    visit.trouble.clear()  # what the browser itself says of a failed request


def test_a_tooltip_goes_when_the_map_moves(visit: Visit, demo_release: Path) -> None:
    """Finds a tooltip that stays on the screen while its place moves away below it."""
    county = largest_units(Release.open(demo_release, "demo"), "county")[0]
    visit.go(f"?analysis=comparison&area=county:{county}&show=areas")
    visit.settle()
    box = visit.page.locator("#map").bounding_box()
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = visit.page.locator("#map .hoverlayer .hovertext")
    expect(tip).to_be_visible()
    tips = visit.page.evaluate(PAN_AND_COUNT_TIPS)
    assert tips
    assert not any(tips)
    visit.settle()


PAN_AND_COUNT_TIPS = """() => new Promise((done) => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  const tips = [];
  map.on("move", () => tips.push(document.querySelectorAll("#map .hovertext").length));
  map.once("moveend", () => done(tips));
  map.panBy([90, 0], { duration: 600 });
})"""
