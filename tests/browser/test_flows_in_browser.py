"""Flows and arrows on the page: what is drawn, what the slider and the pointer do, and labels that do not collide."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers.release import Release
from tests.browser.conftest import Visit, largest_units

pytestmark = [pytest.mark.browser]

BOXES = """() => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot._fullLayout.map._subplot.map;
  const frame = map.getContainer().getBoundingClientRect();
  const labels = [...document.querySelectorAll("#map .furniture .label")];
  return {
    labels: labels.map((one) => {
      const { left, top, right, bottom } = one.getBoundingClientRect();
      return [left - frame.left, top - frame.top, right - frame.left, bottom - frame.top];
    }),
    arrows: labels.map((one) => {
      const [west, south, east, north] = JSON.parse(one.dataset.box);
      const [low, high] = [map.project([west, south]), map.project([east, north])];
      return [low.x, high.y, high.x, low.y];
    }),
    size: [frame.width, frame.height],
  };
}"""
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
    assert "smaller flows not shown" in page.text_content("#map .annotation-text")
    assert slider.get_attribute("aria-valuetext") == page.inner_text("#flow-slider output")


def test_the_caption_is_that_of_the_answer_after_every_change_of_analysis(
    visit: Visit, demo_release: Path
) -> None:
    county = largest_units(Release.open(demo_release, "demo"), "county")[0]
    visit.go(f"?area=county:{county}&show=lines")
    visit.settle()
    steps = (
        ("flow-matrix", "Flows from "),
        ("inflow-outflow", "Workers who come into"),
        ("flow-matrix", "Flows from "),
        ("destinations", "Commutes of "),
        ("inflow-outflow", "Workers who come into"),
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


def overlap(one: list[float], other: list[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("visit", [(390, 844), (720, 450)], ids=["phone", "twice the size"], indirect=True)
def test_labels_of_arrows_collide_with_nothing(visit: Visit, demo_release: Path) -> None:
    county = largest_units(Release.open(demo_release, "demo"), "county")[0]
    visit.go(f"?analysis=inflow-outflow&area=county:{county}")
    visit.settle()
    visit.wait_until("() => document.querySelectorAll('#map .furniture .label').length === 3")
    found = visit.page.evaluate(BOXES)
    labels, arrows = found["labels"], found["arrows"]
    for at, label in enumerate(labels):
        assert label[0] >= -1
        assert label[1] >= -1
        assert label[2] <= found["size"][0] + 1
        assert label[3] <= found["size"][1] + 1
        assert not any(overlap(label, other) for other in labels[at + 1 :]), found
        assert not any(overlap(label, arrow) for arrow in arrows[:2]), found
