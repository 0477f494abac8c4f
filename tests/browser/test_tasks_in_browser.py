"""What a visitor comes for, by the keyboard alone: shapes, rings, two areas, and a matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers.release import Release
from tests.browser.conftest import Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]
AREA_BEGINS = "kind => new URLSearchParams(location.search).get('area')?.startsWith(kind)"


@pytest.fixture(scope="module")
def towns(demo_release: Path) -> list[str]:
    release = Release.open(demo_release, "demo")
    return [release.areas[f"stplc:{unit}"].name for unit in largest_units(release, "stplc", 2)]


@pytest.mark.parametrize(
    ("tool", "keys"),
    [
        ("polygon", ("Space", "Shift+ArrowRight", "Space", "Shift+ArrowDown", "Space", "Enter")),
        ("circle", ("Space", "Shift+ArrowRight", "Enter")),
    ],
)
def test_a_shape_is_drawn_by_keyboard(visit: Visit, tool: str, keys: tuple[str, ...]) -> None:
    """Finds a tool that only a pointer can use, or one that loses the focus when it is done."""
    visit.go("/")
    visit.settle()
    visit.page.locator(f"[data-draw={tool}]").focus()
    for key in ("Enter", *keys):
        visit.page.keyboard.press(key)
    visit.wait_until(AREA_BEGINS, {"polygon": "shape:", "circle": "circle:"}[tool])
    expect(visit.page.locator(f"[data-draw={tool}]")).to_be_focused()
    visit.settle()


def test_rings_around_a_town_are_typed(visit: Visit, towns: list[str]) -> None:
    """Finds controls that open out of view, and an Enter that does not take the first name."""
    visit.go("/")
    visit.settle()
    keyboard = visit.page.keyboard
    visit.page.locator("#tools summary").first.focus()
    keyboard.press("Enter")
    expect(visit.page.locator("[data-file=open-area]")).to_be_in_viewport()
    center = visit.page.locator("#center")
    center.focus()
    keyboard.type("qqqqq zzzzz")
    keyboard.press("Enter")
    expect(visit.page.locator("#circle-said")).to_contain_text("No area has that name")
    center.fill(towns[0])
    keyboard.press("Enter")
    visit.wait_until("() => window.dash_component_api.getLayout('center').props.value?.startsWith('stplc:')")
    expect(center).to_have_value(towns[0])
    visit.page.locator("#radii").focus()
    keyboard.type("1, 5")
    keyboard.press("Enter")
    visit.wait_until(AREA_BEGINS, "circle:")
    expect(visit.page.locator("#sides thead")).to_contain_text("1 to 5 miles")
    expect(visit.page.locator("#answer")).to_contain_text("1 and 1 to 5 mi around")
    visit.settle()


def test_two_areas_and_their_matrix_are_taken_along(visit: Visit, towns: list[str]) -> None:
    """Finds a second area that replaces the first, and a file that the keyboard does not reach."""
    visit.go("/")
    visit.settle()
    keyboard = visit.page.keyboard
    visit.page.locator("#search").focus()
    keyboard.type(towns[0])
    keyboard.press("Enter")
    add = visit.page.locator("[data-add]")
    expect(add).to_have_count(1)
    visit.settle()
    add.focus()
    keyboard.press("Enter")
    expect(visit.page.locator("#search")).to_be_focused()
    keyboard.type(towns[1])
    keyboard.press("Enter")
    expect(visit.page.locator("#sides thead")).to_contain_text(towns[1])
    visit.settle()
    visit.page.locator(".analyses input:checked").focus()
    visit.page.locator(".analyses input[value=flow-matrix]").focus()
    keyboard.press("Space")
    visit.wait_until("() => location.search.includes('analysis=flow-matrix')")
    visit.settle()
    visit.page.locator("#take-home summary").focus()
    keyboard.press("Enter")
    table = visit.page.locator("#take-files [href*='table.xlsx'], #take-files [data-file*='table.xlsx']")
    table.focus()
    with visit.page.expect_download() as download:
        keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".xlsx")
