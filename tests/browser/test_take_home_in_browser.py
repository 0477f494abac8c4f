"""Files that a visitor takes home, in Debian's Chromium."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import PATIENCE_MS, Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = (390, 844)
DOCK_IS_IN_THE_WINDOW = """() => {
  const box = document.querySelector(".take-dock").getBoundingClientRect();
  return box.height > 0 && box.bottom <= innerHeight + 1 && box.left >= 0 && box.right <= innerWidth + 1;
}"""
FIRST = "() => document.querySelector('#take-files a.take').href.includes('/take/')"


def opened(visit: Visit, query: str) -> None:
    visit.go(f"/?{query}")
    visit.settle()
    if visit.page.locator("#open-sheet").is_visible():
        visit.page.locator("#open-sheet").click()
    visit.page.locator("#take-home summary").focus()
    visit.page.keyboard.press("Enter")
    visit.wait_until(FIRST)


def taken(visit: Visit, label: str, folder: Path) -> Path:
    """The file behind a link, taken with the keyboard."""
    with visit.page.expect_download(timeout=PATIENCE_MS) as waiting:
        visit.page.locator("#take-files").get_by_label(f"Download {label}", exact=True).press("Enter")
    file = Path(folder / waiting.value.suggested_filename)
    waiting.value.save_as(file)
    said = visit.page.locator("#take-said")
    said.get_by_text("Downloaded:").wait_for(timeout=PATIENCE_MS)
    return file


@pytest.fixture
def county(demo_release: Path) -> str:
    from mapapp.answers.release import Release

    return largest_units(Release.open(demo_release, "demo"), "county")[0]


def test_files_are_of_what_is_seen(visit: Visit, county: str, tmp_path: Path) -> None:
    opened(visit, f"area=county:{county}")
    text = taken(visit, "table as CSV", tmp_path).read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    visit.wait_for_count(sum(int(row["workers"]) for row in rows))
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    visit.page.get_by_label("Size of the PNG").first.select_option("1")
    assert taken(visit, "map as PNG", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert any("bounds=" in url and "scale=1" in url for url in asked)
    setup = json.loads(taken(visit, "setup file", tmp_path).read_text(encoding="utf-8"))
    assert setup["question"]["areas"] == [f"county:{county}"]
    assert len(setup["look"]["bounds_deg"]) == 4
    visit.page.get_by_label("Paper of the PDF").select_option("a4")
    assert taken(visit, "report as PDF", tmp_path).read_bytes().startswith(b"%PDF")
    assert any("paper=a4" in url for url in asked)


def test_a_file_that_cannot_be_made_leaves_the_page(visit: Visit, county: str) -> None:
    opened(visit, f"area=county:{county}")

    def busy(route: Any) -> None:
        route.fulfill(status=503, body="Other files are being made right now.\n", content_type="text/plain")

    with visit.intercepting("**/take/**", busy):
        visit.page.get_by_label("Download shapes as KML", exact=True).click()
        visit.page.get_by_text("Other files are being made").wait_for(timeout=PATIENCE_MS)
        expect(visit.page.locator("#take-stop")).to_be_hidden()
    visit.page.route("**/take/**", lambda route: None)  # an answer that never comes
    visit.page.get_by_label("Download shapes as KML", exact=True).click()
    visit.page.locator("#take-stop").click()
    visit.page.get_by_text("Stopped. No file was made.").wait_for(timeout=PATIENCE_MS)
    visit.wait_until("key => location.search.includes(key)", f"county:{county}")
    visit.trouble = [line for line in visit.trouble if "503" not in line]


@pytest.mark.parametrize("visit", [(1440, 900), PHONE], indirect=True, ids=["desktop", "phone"])
def test_the_menu_is_seen_and_has_no_axe_findings(visit: Visit, county: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened(visit, f"area=county:{county}")
    visit.wait_until(DOCK_IS_IN_THE_WINDOW)
    expect(visit.page.locator("#take-files a.take")).not_to_have_count(0)
    expect(visit.page.locator("#take-files a.take:is(:not([aria-label]), [aria-label=''])")).to_have_count(0)
    found = Axe().run(visit.page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
