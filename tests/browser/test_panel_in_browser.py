"""The panel beside the map: tables that are sorted and searched, cards that stay folded, and what leaves the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mapapp.answers.release import Release
from mapapp.question.analyses import ANALYSES
from tests.browser.conftest import MAP_AT_REST, PATIENCE_MS, Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

CYCLE = ("destinations", "job-balance", "inflow-outflow", "flow-matrix", "distance-direction", "profile")
"""Analyses whose maps are of different kinds; the last is followed by the first."""
SHOWN = """() => ({
  headline: document.querySelector(".headline")?.innerText,
  table: document.getElementById("table-card").innerText,
  caption: document.querySelector("#map .annotation")?.textContent,
  legend: [...document.querySelectorAll("#map .infolayer :is(.legendtext, .colorbar text)")].map(
    (text) => text.textContent,
  ),
  addresses: [...document.querySelectorAll("[data-drawn]")].map((part) => part.dataset.drawn),
})"""
NAMES = "() => [...document.querySelectorAll('#area-rows tr')].map((row) => row.cells[0].innerText.split('\\n')[0])"


@pytest.fixture(scope="module")
def county(demo_release: Path) -> str:
    return largest_units(Release.open(demo_release, "demo"), "county")[0]


def seen(visit: Visit) -> dict[str, Any]:
    """What the page shows at rest."""
    visit.wait_until(MAP_AT_REST)
    shown: dict[str, Any] = visit.page.evaluate(SHOWN)
    return shown


def test_a_page_that_has_shown_other_questions_is_as_one_opened_there(visit: Visit, county: str) -> None:
    visit.go(f"/?area=county:{county}&other=county:{county}")
    visit.settle()
    after: dict[str, dict[str, Any]] = {}
    for analysis in (*CYCLE[1:], CYCLE[0]):
        visit.page.get_by_role("radio", name=ANALYSES[analysis].title).click()
        visit.wait_until(
            "name => (new URLSearchParams(location.search).get('analysis') ?? 'destinations') === name",
            analysis,
        )
        shown = seen(visit)
        assert len({*shown["addresses"]}) == 1
        after[visit.page.evaluate("location.search")] = shown
    for search, shown in after.items():
        visit.go(f"/{search}")
        visit.settle()
        assert seen(visit) == shown


def test_a_table_is_sorted_and_searched_with_all_its_rows(visit: Visit, county: str) -> None:
    visit.go(f"/?area=county:{county}")
    visit.settle()
    visit.page.locator("#table-head .sort").first.click()
    visit.wait_until("() => new URLSearchParams(location.search).get('every') === 'all'")
    visit.wait_until(MAP_AT_REST)
    names = visit.page.evaluate(NAMES)[:12]
    assert names == sorted(names, key=str.casefold)
    expect(visit.page.locator("#table-head th").first).to_have_attribute("aria-sort", "ascending")
    visit.page.locator("#find-rows").fill(names[3].upper())
    expect(visit.page.locator("#area-rows tr")).to_have_count(1)
    expect(visit.page.locator("#table-said")).to_contain_text("1 of ")
    visit.page.locator("#find-rows").fill("no such town")
    expect(visit.page.locator("#area-rows")).to_contain_text("No row has this text")


def test_a_folded_card_stays_folded(visit: Visit, county: str) -> None:
    visit.go(f"/?area=county:{county}")
    visit.settle()
    heading = visit.page.locator("#table-card > summary")
    heading.click()
    expect(visit.page.locator("#area-rows")).to_be_hidden()
    visit.page.get_by_role("radio", name=ANALYSES["comparison"].title).click()
    visit.wait_until("() => new URLSearchParams(location.search).get('analysis') === 'comparison'")
    visit.wait_until(MAP_AT_REST)
    expect(visit.page.locator("#area-rows")).to_be_hidden()
    visit.page.reload()
    visit.settle()
    expect(visit.page.locator("#area-rows")).to_be_hidden()
    heading.click()
    expect(visit.page.locator("#area-rows")).to_be_visible()


def test_the_camera_gives_the_picture_of_the_menu(visit: Visit, county: str) -> None:
    visit.go(f"/?area=county:{county}")
    visit.settle()
    with visit.page.expect_download(timeout=PATIENCE_MS) as waiting:
        visit.page.locator("#map .modebar-btn[data-title^='Download']").click()
    assert waiting.value.suggested_filename.startswith("destinations-")
    assert "/take/" not in waiting.value.suggested_filename


def test_an_embedded_map_says_title_source_and_promise(visit: Visit, county: str) -> None:
    visit.go(f"/?area=county:{county}&embed=1")
    visit.settle()
    head = visit.page.locator(".shown-head")
    expect(head.locator(".shown-title")).to_have_text(visit.page.title())
    expect(head).to_contain_text("Synthetic workers · ")
    expect(head).to_contain_text("ε = ")


def test_the_first_printed_page_is_that_of_the_report(visit: Visit, county: str) -> None:
    visit.go(f"/?area=county:{county}")
    visit.settle()
    visit.page.emulate_media(media="print")
    tops = visit.page.evaluate(
        "names => names.map((name) => document.querySelector(name).getBoundingClientRect().top)",
        [".shown-title", ".headline", ".stage", "#answer > .card"],
    )
    assert tops == sorted(tops)
    for hidden in (".top", ".ask", ".take-dock", ".table-tools", ".modebar"):
        expect(visit.page.locator(hidden).first).to_be_hidden()
    expect(visit.page.locator("#answer > .card").first).to_have_css("break-before", "page")
