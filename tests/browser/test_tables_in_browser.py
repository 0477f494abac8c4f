"""The page of a published table: stars say why, the map and the rows belong together, and everyone can use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.sheet import make_sheet
from mapapp.kinds.tables.read.view import TableView
from tests.browser.audits import assert_accessible, assert_large_enough_to_touch
from tests.browser.conftest import MAP_AT_REST, Visit
from tests.running_server import running

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = (390, 844)


@pytest.fixture(scope="module")
def address(demo_release: Path, demo_table: Path) -> Iterator[str]:
    from mapapp.explore.server import create_app, listen

    with running(*listen(create_app([demo_release, demo_table]), port=0)) as address:
        yield address


@pytest.fixture(scope="module")
def served(demo_table: Path) -> ServedTable:
    return ServedTable(demo_table, "demo")


def settle(visit: Visit) -> None:
    visit.page.locator(".counts-table").wait_for()
    visit.wait_until(MAP_AT_REST)


def test_a_cell_says_what_is_known_and_a_sort_a_row_and_a_column_are_in_the_address(
    visit: Visit, served: ServedTable
) -> None:
    visit.go("/tables")
    settle(visit)
    star = visit.page.locator("button.cell.star").first
    star.focus()
    expect(visit.page.get_by_role("tooltip")).to_contain_text("workers in this cell")
    visit.page.keyboard.press("Escape")
    expect(visit.page.locator("#cell-tip")).to_be_hidden()

    visit.page.get_by_role("link", name="Workers").click()
    rows = make_sheet(served, TableView(sort="-people")).rows
    expect(visit.page.locator(".counts-table tbody .row-name").first).to_have_text(rows[0].name)
    visit.page.locator(".counts-table tbody .row-name").first.click()
    expect(visit.page.locator("tr.chosen-row .row-name")).to_have_text(rows[0].name)
    visit.page.get_by_text("Stars", exact=True).click()
    visit.wait_until("row => location.search === `?sort=-people&row=${row}&shade=stars`", rows[0].row_id)
    settle(visit)

    visit.page.reload()
    settle(visit)
    expect(visit.page.locator("tr.chosen-row .row-name")).to_have_text(rows[0].name)
    visit.page.go_back()
    visit.wait_until("() => !location.search.includes('shade')")
    expect(visit.page.locator("#counts-shade input[value=share]")).to_be_checked()


@pytest.mark.parametrize("visit", [(1440, 900), PHONE], ids=["desktop", "phone"], indirect=True)
def test_axe_finds_nothing_serious_in_tables_and_flows_light_or_dark(visit: Visit) -> None:
    for query in (
        "?theme=light",
        "?theme=dark&shade=stars&sort=name&bad=1",
        "?part=2&theme=light",
        "?part=2&theme=dark",
    ):
        visit.go(f"/tables{query}")
        settle(visit)
        assert_accessible(visit, query)
        if visit.page.viewport_size["width"] == PHONE[0]:
            assert_large_enough_to_touch(visit, query)
