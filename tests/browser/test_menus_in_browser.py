"""Menus: every option of every one can be seen and clicked."""

from __future__ import annotations

import pytest

from mapapp.answers.areas.levels import LEVEL_LABELS
from mapapp.explore import response_cache
from mapapp.explore.callbacks.views import Views
from tests.browser.conftest import Visit
from tests.browser.test_explore_in_browser import PHONE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL_IN_REACH = """(menu) => [...menu.querySelectorAll("[role=option]")].every((option) => {
  option.scrollIntoView({ block: "nearest" });
  const { left, top, right, bottom } = option.getBoundingClientRect();
  // Scrolling stops at whole pixels of the screen, so an edge may be off by a fraction.
  const inside = left > -1 && top > -1 && right < innerWidth + 1 && bottom < innerHeight + 1;
  const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return inside && option.contains(hit);
})"""


@pytest.mark.parametrize("visit", [(1440, 900), PHONE], ids=["desktop", "phone"], indirect=True)
def test_every_option_of_every_menu_lies_within_the_window(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Views, "layers", lambda *_: LEVEL_LABELS)  # as many as a release can have
    monkeypatch.setattr(response_cache, "_digest", lambda *_: None)  # responses with fewer layers are kept
    seen: dict[str, int] = {}
    for path in ("/", "/?analysis=flow-matrix"):
        visit.go(path)
        visit.settle()
        question = visit.page.locator("#change-question")
        if question.is_visible():
            question.click()
        for menu in visit.page.locator("#asked .mantine-Select-input:visible").all():
            name = menu.get_attribute("id") or ""
            if name in seen or name in ("search", "center"):
                continue
            menu.click()
            options = visit.page.locator(".mantine-Select-options:visible")
            options.locator("[role=option]").first.wait_for()
            seen[name] = options.locator("[role=option]").count()
            visit.wait_until(ALL_IN_REACH, options.element_handle())
            visit.page.keyboard.press("Escape")
            options.wait_for(state="hidden")
    assert set(seen) == {"pick", "sign", "layer", "home_layer", "work_layer"}
    assert seen["layer"] == len(LEVEL_LABELS)
    if visit.page.locator("#close-question").is_visible():
        visit.page.locator("#close-question").click()
    visit.page.locator("#search").fill("county")
    found = visit.page.locator(".mantine-Select-options:visible")
    found.locator("[role=option]").first.wait_for()
    visit.wait_until(ALL_IN_REACH, found.element_handle())
