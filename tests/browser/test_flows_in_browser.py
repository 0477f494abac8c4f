"""Flows, inflow and outflow on the page: what is drawn, and what the slider, the pointer, and the keyboard do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mapapp.answers.release import Release
from tests.browser.conftest import Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser]

LARGEST_FLOW = """() => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot._fullLayout.map._subplot.map;
  const { left, top } = map.getContainer().getBoundingClientRect();
  const { x, y } = window.commutemap.middleOfFlow(0);
  return [left + x, top + y];
}"""


def test_a_flow_shows_its_ends_and_the_slider_hides_the_small_ones(visit: Visit) -> None:
    visit.go("?analysis=flow-matrix&home_layer=tract&work_layer=tract")
    visit.settle()
    page = visit.page
    slider = page.locator("#least")
    assert slider.get_attribute("type") == "range"
    assert page.get_by_label("Smallest flow").count() == 1
    page.mouse.move(*page.evaluate(LARGEST_FLOW))
    visit.wait_until(
        "() => / → .*workers?.*(±|exact)/s.test(document.querySelector('.flow-tip')?.textContent)"
    )
    before = page.evaluate("document.querySelector('#map .annotation-text').textContent")
    slider.focus()
    page.keyboard.press("End")
    visit.wait_until("() => location.search.includes('least=')")
    visit.settle()
    visit.wait_until("text => document.querySelector('#map .annotation-text').textContent !== text", before)
    assert "smaller flows" in page.text_content("#map .annotation-text"), "a line may end after it"
    assert slider.get_attribute("aria-valuetext") == page.inner_text("#flow-slider output")


def test_the_caption_is_that_of_the_answer_after_every_change_of_analysis(
    visit: Visit, demo_release: Path
) -> None:
    county = largest_units(Release.open(demo_release, "demo"), "county")[0]
    visit.go(f"?area=county:{county}&show=lines")
    visit.settle()
    steps = (
        ("flow-matrix", "Flows from "),
        ("inflow-outflow", "Homes of those who come into"),
        ("flow-matrix", "Flows from "),
        ("destinations", "Commutes of "),
        ("inflow-outflow", "Homes of those who come into"),
    )
    for analysis, words in steps:
        visit.page.locator(f".analyses input[value={analysis}]").check()
        visit.wait_until(
            "name => (new URLSearchParams(location.search).get('analysis') ?? 'destinations') === name",
            analysis,
        )
        visit.settle()
        visit.page.wait_for_load_state("networkidle")
        caption = visit.page.text_content("#map .annotation-text")
        assert words in caption, (analysis, caption)


LARGEST_PLACE = """() => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  const { left, top } = map.getContainer().getBoundingClientRect();
  const name = document.querySelector("#flow-place").options[1].value;
  const { x, y } = window.commutemap.middleOfPlace(name);
  return [left + x, top + y, name];
}"""


def test_a_place_shows_how_many_come_and_go(visit: Visit) -> None:
    visit.go("?analysis=flow-matrix")
    visit.settle()
    x, y, name = visit.page.evaluate(LARGEST_PLACE)
    visit.page.mouse.move(x, y)
    tip = visit.page.locator(".flow-tip")
    expect(tip).to_contain_text(name)
    expect(tip).to_contain_text(re.compile(r"[\d,]+ come in to work.*[\d,]+ go out to work"))


def test_the_keyboard_lights_the_flows_of_a_place(visit: Visit) -> None:
    visit.go("?analysis=flow-matrix")
    visit.settle()
    places = visit.page.get_by_label("Flows of")
    places.focus()
    visit.page.keyboard.press("ArrowDown")
    name = places.input_value()
    assert name
    tip = visit.page.locator(".flow-tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text(name)
    visit.page.keyboard.press("Home")
    expect(tip).to_be_hidden()


def test_inflow_and_outflow_is_a_diagram_and_points(visit: Visit, demo_release: Path) -> None:
    county = largest_units(Release.open(demo_release, "demo"), "county")[0]
    visit.go(f"?analysis=inflow-outflow&area=county:{county}")
    visit.settle()
    diagram = visit.page.locator(".inflow-diagram img")
    expect(diagram).to_have_attribute(
        "alt", re.compile("come in to work.*live and work here.*go out to work")
    )
    legend = visit.page.locator(".legend-body")
    expect(legend).to_contain_text("Homes of those who come in")
    expect(legend).to_contain_text("Workplaces of those who go out")
