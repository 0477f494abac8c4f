"""States of the page that no analysis opens by itself: axe finds nothing serious, and fingers can reach everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from mapapp.answers.release import Release
from tests.browser.audits import assert_accessible, assert_large_enough_to_touch
from tests.browser.conftest import Visit
from tests.releases import releases_of
from tests.running_server import running

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESK, PHONE = (1440, 900), (390, 844)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return releases_of(tmp_path_factory.mktemp("years"), {"new": 2019, "old": 2017})


@pytest.fixture(scope="module")
def address(paths: list[Path]) -> Iterator[str]:
    from mapapp.explore.server import create_app, listen

    with running(*listen(create_app(paths), port=0)) as address:
        yield address


@pytest.fixture(scope="module")
def circle(paths: list[Path]) -> str:
    lon, lat, _ = Release.open(paths[0], "new").areas.place_columns
    return f"circle:{lon[0]:.4f},{lat[0]:.4f},2"


def edit_chip(visit: Visit) -> None:
    visit.page.locator(".chip .edit summary").click()
    expect(visit.page.locator(".edit-fields input").first).to_be_visible()


def enlarge_matrix(visit: Visit) -> None:
    if visit.page.locator("#open-sheet").is_visible():
        visit.page.locator("#open-sheet").click()
    visit.page.get_by_role("button", name="Enlarge").click()
    visit.page.locator("#matrix-card.enlarged").wait_for()


def see(selector: str, visit: Visit) -> None:
    visit.page.locator(selector).first.wait_for()


@pytest.mark.parametrize(
    ("visit", "theme"),
    [(DESK, "dark"), (PHONE, "light")],
    ids=["desk, dark", "phone, light"],
    indirect=["visit"],
)
def test_every_other_state_is_accessible(visit: Visit, circle: str, theme: str) -> None:
    states: dict[str, tuple[str, Callable[[Visit], None]]] = {
        "a chip that is edited": (f"area={circle}", edit_chip),
        "years": (f"area={circle}&analysis=inflow-outflow", partial(see, ".years")),
        "an enlarged matrix": ("analysis=flow-matrix", enlarge_matrix),
        "a map in a frame": (f"area={circle}&embed=1", partial(see, ".full-view")),
    }
    for what, (query, reach) in states.items():
        visit.go(f"/?{query}&theme={theme}")
        visit.settle()
        reach(visit)
        assert_accessible(visit, what)
        if visit.page.viewport_size["width"] == PHONE[0]:
            assert_large_enough_to_touch(visit, what)
    visit.go(f"/method?theme={theme}")
    see(".certificate", visit)
    assert_accessible(visit, "method")
    if visit.page.viewport_size["width"] == PHONE[0]:
        assert_large_enough_to_touch(visit, "method")


def test_a_dark_page_is_printed_with_dark_letters(visit: Visit, circle: str) -> None:
    visit.go(f"/?area={circle}&theme=dark")
    visit.settle()
    visit.page.emulate_media(media="print")
    expect(visit.page.locator("#answer")).to_have_css("color", "rgb(28, 38, 48)")
    expect(visit.page.locator("html")).to_have_css("color-scheme", "light")  # the color of the margins
    expect(visit.page.locator("#search")).to_be_hidden()
