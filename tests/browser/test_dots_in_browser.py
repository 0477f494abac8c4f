"""Dots and a morning on the page: a link opens it, the slider moves it, and closing it brings all dots back."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visit

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
