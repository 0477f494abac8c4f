"""Menus of worker records: each can be read and used by keyboard and by finger, and axe finds nothing serious."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.audits import assert_accessible, assert_large_enough_to_touch
from tests.browser.conftest import Visit
from tests.running_server import running

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESK, PHONE = (1440, 900), (390, 844)
MENUS = ("by", "attributes", "pick", "sign", "layer")
OPEN_LIST = "[role=listbox]:visible"
QUERY = "analysis=cross-table&area=all&by=sex&attribute=education:1"


@pytest.fixture(scope="module")
def address(demo_records: Path, demo_release: Path) -> Iterator[str]:
    from mapapp.explore.server import create_app, listen

    with running(*listen(create_app([demo_records, demo_release]), port=0)) as address:
        yield address


ENTRIES_WITH_A_KEY = """store => {
  const props = (id) => window.dash_component_api.getLayout(id).props;
  const entries = [...props("attributes").data].reverse();
  const placed = { drawn: location.search, values: {}, menus: { attributes: entries } };
  const key = { key: "Backspace", code: "Backspace", bubbles: true };
  document.getElementById("attributes").dispatchEvent(new KeyboardEvent("keydown", key));
  window.dash_clientside.set_props(store, { data: store === "placed" ? placed : placed.menus });
}"""


def show_question(visit: Visit) -> None:
    if visit.page.locator("#change-question").is_visible():
        visit.page.locator("#change-question").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("visit", [DESK, PHONE], ids=["desk", "phone"], indirect=True)
def test_every_open_menu_is_accessible(visit: Visit, theme: str) -> None:
    visit.go(f"/?{QUERY}&theme={theme}")
    visit.settle()
    show_question(visit)
    for name in MENUS:
        menu = visit.page.locator(f"#{name}")
        menu.click()
        visit.page.locator(f"{OPEN_LIST} [role=option]").first.wait_for()
        expect(menu).to_have_attribute("role", "combobox")
        assert_accessible(visit, name)
        if visit.page.viewport_size["width"] == PHONE[0]:
            assert_large_enough_to_touch(visit, name)
        visit.page.keyboard.press("Escape")
        visit.page.locator(OPEN_LIST).wait_for(state="hidden")


def test_a_menu_of_values_is_used_by_keyboard(visit: Visit) -> None:
    visit.go(f"/?{QUERY}")
    visit.settle()
    field = visit.page.locator("#attributes")
    field.focus()
    visit.page.keyboard.type("female")
    expect(visit.page.locator(f"{OPEN_LIST} [role=option]")).to_have_count(1)
    visit.page.keyboard.press("ArrowDown")
    visit.page.keyboard.press("Enter")
    visit.wait_until("() => new URLSearchParams(location.search).getAll('attribute').includes('sex:1')")
    visit.page.keyboard.press("Escape")
    visit.page.locator(OPEN_LIST).wait_for(state="hidden")
    expect(field).to_be_focused()
    visit.page.keyboard.press("Backspace")
    visit.wait_until("() => !new URLSearchParams(location.search).getAll('attribute').includes('sex:1')")


@pytest.mark.parametrize("store", ["placed", "offered"])
def test_an_answer_that_comes_with_a_choice_does_not_take_it_back(visit: Visit, store: str) -> None:
    """A menu tells the page of a choice a moment later; entries that arrive in that moment wait for it."""
    visit.go(f"/?{QUERY}&attribute=sex:1")
    visit.settle()
    visit.page.locator("#attributes").focus()
    visit.page.evaluate(ENTRIES_WITH_A_KEY, store)
    visit.wait_until("() => !new URLSearchParams(location.search).getAll('attribute').includes('sex:1')")
    visit.settle()
    expect(visit.page.locator("#field-attributes .mantine-Pill-label")).to_have_count(1)
    expect(visit.page.locator("#attributes")).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("visit", [DESK, PHONE], ids=["desk", "phone"], indirect=True)
def test_the_search_box_and_the_menu_of_publications_are_accessible_while_open(
    visit: Visit, theme: str
) -> None:
    visit.go(f"/?{QUERY}&theme={theme}")
    visit.settle()
    is_phone = visit.page.viewport_size["width"] == PHONE[0]
    visit.page.locator("#search").fill("county")
    visit.page.locator(f"{OPEN_LIST} [role=option]").first.wait_for()
    assert_accessible(visit, "search")
    if is_phone:
        assert_large_enough_to_touch(visit, "search")
    visit.page.keyboard.press("Escape")
    visit.page.locator(OPEN_LIST).wait_for(state="hidden")
    menu = visit.page.locator("#release")
    menu.click()
    expect(visit.page.locator(f"{OPEN_LIST} [role=option]")).to_have_count(2)
    expect(menu).to_have_attribute("role", "combobox")
    assert_accessible(visit, "release")
    if is_phone:
        assert_large_enough_to_touch(visit, "release")
    visit.page.keyboard.press("Escape")
    visit.page.locator(OPEN_LIST).wait_for(state="hidden")
    expect(menu).to_be_focused()


IN_SIGHT = """() => {
  const { left, top, height } = document.getElementById("no-error-a").getBoundingClientRect();
  const hit = document.elementFromPoint(left + 4, top + Math.min(height, 8));
  return hit?.closest("#no-error-a") !== null && hit !== null;
}"""


@pytest.mark.parametrize("visit", [DESK, PHONE], ids=["desk", "phone"], indirect=True)
def test_the_mark_of_a_missing_error_leads_to_the_note_that_says_why(visit: Visit) -> None:
    visit.go("/?analysis=profile&area=all")
    visit.settle()
    mark = visit.page.locator(".count a.no-error")
    expect(mark).to_have_attribute(
        "aria-label", re.compile("^No ±, note a: The certificate states no expected")
    )
    assert_accessible(visit, "marks")
    mark.focus()
    visit.page.keyboard.press("Enter")
    visit.wait_until(IN_SIGHT)


@pytest.mark.parametrize("visit", [PHONE], ids=["phone"], indirect=True)
def test_the_rows_of_records_can_be_turned_by_finger(visit: Visit) -> None:
    visit.go("/records?area=all")
    visit.page.locator(".pager a", has_text="Later rows").wait_for()
    assert_accessible(visit, "rows")
    assert_large_enough_to_touch(visit, "rows", within=".records-page")
