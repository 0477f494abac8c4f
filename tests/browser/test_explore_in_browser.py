"""What a visitor does, in Debian's Chromium: few tests, each a whole story."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

import pytest

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.explore.pages.menus import click_level
from mapapp.question.analyses import ANALYSES
from mapapp.question.fields import Theme
from mapapp.question.question import Question
from mapapp.show.content import map_layers
from mapapp.show.content.palette import COLOR_SCHEMES
from tests.addresses import settled
from tests.browser.audits import assert_accessible, assert_large_enough_to_touch
from tests.browser.conftest import PATIENCE_MS, Visit, largest_units

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = (390, 844)
PLACE_ON_SCREEN = """([lon, lat]) => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot._fullLayout.map._subplot.map;
  const at = map.project([lon, lat]);
  const box = map.getCanvas().getBoundingClientRect();
  return [box.left + at.x, box.top + at.y];
}"""

CAMERA = """() => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  return [map.getZoom(), map.getCenter().lng];
}"""
GROUND_COLOR_IS = """color => {
  const plot = document.querySelector("#map .js-plotly-plot");
  return plot._fullLayout.paper_bgcolor === color;
}"""


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


def a_large_tract(release: Release) -> tuple[str, Any]:
    """Identifier of the tract with most jobs, and a place inside it."""
    (tract_id,) = largest_units(release, "tract")
    tracts = release.store.table("tracts", ["tract_id", "geometry"]).set_index("tract_id")
    inside = tracts.geometry[tract_id].representative_point()
    return tract_id, [inside.x, inside.y]


def workers(release: Release, **asked: Any) -> int:
    return served_answers.n_places(release, settled(release, Question(**asked)))


def click_on(visit: Visit, place: Any) -> None:
    """Click the map once, as a visitor does."""
    visit.page.mouse.click(*visit.page.evaluate(PLACE_ON_SCREEN, place))


def test_click_switch_back_and_link(visit: Visit, release: Release) -> None:
    level = click_level(release, Question())
    (unit_id,) = largest_units(release, level)
    key, inside = f"{level}:{unit_id}", map_layers.unit_shapes(release, level)[unit_id].representative_point()
    place = [inside.x, inside.y]
    visit.go("/")
    visit.settle()
    assert visit.count() == workers(release)
    click_on(visit, place)
    visit.wait_for_count(workers(release, areas=(key,)))
    assert f"area={key}" in visit.page.url
    visit.page.locator(".chip").first.wait_for()
    assert visit.page.locator(".chip").count() == 1
    visit.settle()
    visit.page.locator("#every").click()
    visit.wait_until("() => location.search.includes('every=all')")

    visit.page.locator("#side").get_by_text("Homes").click()
    visit.wait_for_count(workers(release, areas=(key,), side="home"))
    rows = visit.page.locator("#area-rows tr")
    visit.wait_until(
        "n => document.querySelectorAll('#area-rows tr').length === n",
        len(served_answers.units(release, settled(release, Question(areas=(key,), side="home")))),
    )
    shown = [
        int(text.replace(",", "").replace("●", ""))
        for text in rows.locator("td:nth-child(2)").all_inner_texts()
    ]
    assert sum(shown) == visit.count()
    link = visit.page.url
    visit.settle()

    visit.page.go_back()
    visit.wait_for_count(workers(release, areas=(key,)))
    visit.page.goto(link)
    visit.wait_for_count(workers(release, areas=(key,), side="home"))
    visit.settle()

    visit.page.get_by_role("link", name="Method").click()
    visit.page.wait_for_selector(".certificate")
    visit.page.get_by_role("link", name="Explore").click()
    visit.wait_for_count(workers(release, areas=(key,), side="home"))
    visit.settle()

    visit.page.get_by_label("Remove").click()
    visit.wait_for_count(workers(release, side="home"))
    visit.settle()
    for _ in range(3):  # faster than the answers come
        for name in ("Workplaces", "Homes"):
            visit.page.locator("#side").get_by_text(name).click()
    visit.wait_until("() => location.search.includes('side=home')")
    visit.settle()
    visit.wait_for_count(workers(release, side="home"))
    assert visit.page.locator("#side input:checked").get_attribute("value") == "home"
    assert "Homes and workplaces of all workers" in visit.page.text_content("#map .annotation-text")
    assert visit.page.inner_text("#table-title") == "Where they live"
    assert urlsplit(visit.page.url).query == "side=home&every=all"


def test_search_by_keyboard_and_first_steps(visit: Visit, release: Release) -> None:
    visit.go("/")
    visit.settle()
    county = next(area for area in release.areas.search("county") if area.level == "county")
    visit.page.locator("#search").click()
    visit.page.keyboard.type(county.name)
    # Answers to the first letters arrive earlier; each makes a new list without a marked entry.
    found = [area.name for area in release.areas.search(county.name)]
    visit.wait_until(
        "names => [...document.querySelectorAll('[role=option]')].filter(o => o.offsetParent).map(o => o.innerText)"
        ".sort().join() === names",
        ",".join(sorted(found)),
    )
    visit.page.keyboard.press("ArrowDown")
    visit.page.locator("[role=option][data-combobox-selected]:visible").wait_for()
    visit.page.keyboard.press("Enter")
    visit.page.locator(".chip").first.wait_for()
    # The number for everywhere is still there when the chip appears: the county's answer comes first.
    visit.wait_until(
        "text => ![text, ''].includes(document.getElementById('worker-count')?.innerText)",
        f"{workers(release):,}",
    )
    visit.page.locator(".chip > button").first.click()
    visit.wait_for_count(workers(release))
    visit.page.locator(".suggestion").first.click()
    visit.page.locator(".chip").first.wait_for()
    for shown in ("Areas", "Density", "Dots"):
        visit.page.get_by_text(shown, exact=True).click()
        visit.wait_until(
            "text => new URLSearchParams(location.search).get('show') === text",
            {"Areas": "areas", "Density": "density", "Dots": None}[shown],
        )
        visit.settle()


NAMES_KEEP_APART = """() => {
  const names = [...document.querySelectorAll("#map .names .name")];
  const shown = names.filter((one) => one.style.visibility === "visible").map((one) => one.getBoundingClientRect());
  const apart = (one, other) =>
    one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
  return shown.length > 3 && shown.every((one, at) => shown.slice(at + 1).every((other) => apart(one, other)));
}"""
WATER_IS = """color => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  const layers = map.getStyle().layers.map(({ id }) => id);
  const fill = layers.findIndex((id) => id.startsWith("plotly-trace-layer") && id.endsWith("fill"));
  return (
    map.getPaintProperty("water", "fill-color") === color &&
    map.querySourceFeatures("water").length > 0 &&
    fill < layers.indexOf("water")
  );
}"""


def test_water_lies_over_the_colors_of_counts_in_light_and_dark(visit: Visit) -> None:
    for theme in get_args(Theme):
        visit.go(f"/?theme={theme}&show=areas")
        visit.settle()
        visit.wait_until(WATER_IS, COLOR_SCHEMES[theme].water)


@pytest.mark.parametrize("visit", [(1440, 900), PHONE], ids=["desktop", "phone"], indirect=True)
def test_names_and_a_scale_bar_stand_on_the_map(visit: Visit, release: Release) -> None:
    tract_id, _ = a_large_tract(release)
    for path in ("/", f"/?area=tract:{tract_id}"):
        visit.go(path)
        visit.settle()
        visit.page.wait_for_selector(".scale:has-text('mi')", timeout=PATIENCE_MS)
        visit.page.locator(".furniture .name").locator("visible=true").first.wait_for()
        visit.wait_until(NAMES_KEEP_APART)
    visit.page.set_viewport_size({"width": 360, "height": 700})
    visit.wait_until(
        "() => document.querySelector('#map .annotation-text').getBoundingClientRect().left >= 0"
    )


def test_a_place_without_covered_workplaces_says_so(visit: Visit, release: Release) -> None:
    outside = next(
        f"state:{state}"
        for state in release.store.table("states", ["state_id"])["state_id"]
        if not release.covers((f"state:{state}",))
    )
    visit.go(f"/?area={outside}")
    visit.settle()
    visit.wait_for_count(0)
    visit.page.get_by_text("Workplaces in this area are not covered").wait_for()
    expect(visit.page.locator("#table-card")).to_be_hidden()
    visit.page.get_by_role("link", name="Show who lives here instead").click()
    visit.wait_for_count(workers(release, areas=(outside,), side="home"))


def test_a_hostile_address_is_answered_with_notes(visit: Visit, release: Release) -> None:
    visit.go(
        "/?side=up&area=tract:%27%3B+DROP+TABLE&show=%3Cscript%3Ealert(1)%3C/script%3E&age=9&evil=1&release=..%2Fetc"
    )
    visit.settle()
    expect(visit.page.locator(".notes li")).to_have_count(6)
    visit.wait_for_count(workers(release))


def test_an_area_without_a_mouse_and_every_analysis_of_it(visit: Visit, release: Release) -> None:
    """A radius around a typed place; each analysis by the arrow keys; a row leads to a pair; back comes back."""
    place = release.store.table("tracts", ["tract_id", "lon_deg", "lat_deg"]).set_index("tract_id")
    tract_id, _ = a_large_tract(release)
    lon, lat = (round(float(place[axis][tract_id]), 3) for axis in ("lon_deg", "lat_deg"))
    visit.go("/")
    visit.settle()
    keyboard = visit.page.keyboard
    visit.page.locator("#tools summary").focus()
    keyboard.press("Enter")
    visit.page.locator("#center").focus()
    keyboard.type(f"{lat}, {lon}")
    place_name = f"Latitude, longitude {lat}, {lon}"
    # Half a place is one too: only the last answer has all of what was typed.
    visit.page.locator("[role=option]:visible").get_by_text(place_name, exact=True).wait_for()
    keyboard.press("ArrowDown")
    visit.page.locator("[role=option][data-combobox-selected]:visible").wait_for()
    keyboard.press("Enter")
    visit.wait_until("text => document.getElementById('center').value === text", place_name)
    visit.page.locator("#radii").focus()
    keyboard.type("4")
    visit.page.locator("#add-circle").focus()
    keyboard.press("Enter")
    step = f"circle:{lon:g},{lat:g},4"
    visit.wait_for_count(release.profile(step).workers.value)
    expect(visit.page.locator("#area-size")).to_contain_text("internal point")
    visit.settle()

    visit.page.locator(".analyses input:checked").focus()
    for analysis in ("profile", "cross-table", "comparison", "distance-direction", "inflow-outflow"):
        keyboard.press("ArrowDown")
        visit.wait_until("name => new URLSearchParams(location.search).get('analysis') === name", analysis)
        visit.settle()
        visit.page.locator("#area-rows tr").first.wait_for()
    flows = release.inflow_outflow(step)
    visit.wait_for_count(flows.inflow.value + flows.outflow.value + flows.stay.value)
    diagram = visit.page.locator(".inflow-diagram img")
    expect(diagram).to_have_attribute("alt", re.compile(f"^{flows.inflow.value:,} .*come in to work"))
    keyboard.press("ArrowDown")
    visit.wait_for_count(release.job_balance(step).workers.value)
    visit.settle()
    keyboard.press("ArrowDown")  # this release has no published characteristics
    visit.wait_until(
        "name => new URLSearchParams(location.search).get('analysis') === name", "characteristics"
    )
    visit.settle()
    keyboard.press("ArrowDown")
    visit.page.get_by_text("One more choice").wait_for()

    visit.page.goto(f"{visit.address}/?analysis=flow-matrix")
    visit.wait_for_count(workers(release))
    visit.settle()
    matrix = visit.page.locator("#matrix")
    expect(matrix.locator("tfoot td").first).to_have_text(f"{workers(release):,}")
    heading = matrix.locator("thead button").last
    heading.click()
    expect(matrix.locator("thead th").last).to_have_attribute("aria-sort", "descending")
    expect(heading).to_be_focused()
    said = visit.page.locator("#matrix-cell")
    cell = matrix.locator("tbody td").nth(1)
    cell.hover()
    expect(said).to_contain_text(f": {cell.text_content()}")
    matrix.locator("tbody td").first.focus()
    keyboard.press("ArrowRight")
    expect(cell).to_be_focused()
    keyboard.press("ArrowDown")
    expect(said).to_contain_text(re.compile("^Live in .+, work in .+: [0-9]"))
    row = visit.page.locator("#area-rows tr[data-unit]").first
    row.hover()
    home, work = row.get_attribute("data-unit").split(" ")
    row.locator("button").click()
    visit.wait_for_count(release.paired(home, work).workers.value)
    visit.settle()
    visit.page.go_back()
    visit.wait_for_count(workers(release))
    visit.settle()


def test_a_box_is_drawn_and_dark_keeps_it(visit: Visit, release: Release) -> None:
    _, place = a_large_tract(release)
    visit.go("/?analysis=profile")
    visit.settle()
    x, y = visit.page.evaluate(PLACE_ON_SCREEN, place)
    visit.page.locator("[data-draw=box]").click()
    visit.page.mouse.move(x - 60, y - 60)
    visit.page.mouse.down()
    visit.page.mouse.move(x, y, steps=4)
    visit.page.mouse.move(x + 60, y + 60, steps=4)
    visit.page.mouse.up()
    visit.page.locator(".chip").get_by_text("drawn box").wait_for()
    visit.wait_until("() => new URLSearchParams(location.search).get('area')?.startsWith('box:')")
    (step,) = parse_qs(urlsplit(visit.page.url).query)["area"]
    visit.wait_for_count(release.profile(step).workers.value)
    visit.settle()
    before = visit.page.evaluate(CAMERA)
    visit.page.locator("#keeping summary").click()
    visit.page.get_by_text("Dark", exact=True).click()
    visit.page.locator("#app.dark").wait_for()
    visit.wait_until(GROUND_COLOR_IS, COLOR_SCHEMES["dark"].water)
    visit.settle()
    assert visit.page.evaluate(CAMERA) == pytest.approx(before)


def turn_question(visit: Visit, *, opened: bool) -> None:
    """On a phone, open or close the dialog of the question; a desk always shows it."""
    button = visit.page.locator("#close-question")
    if visit.page.locator("#change-question").is_visible() and button.is_visible() != opened:
        (visit.page.locator("#change-question") if opened else button).click()


def open_everything(visit: Visit) -> None:
    visit.settle()
    turn_question(visit, opened=True)
    for more in ("filters", "tools", "keeping"):
        if visit.page.locator(f"#{more}").get_attribute("open") is None:
            visit.page.locator(f"#{more} summary").click()


def turn_to(visit: Visit, theme: str) -> None:
    visit.page.locator("#theme").get_by_text(theme.capitalize(), exact=True).click()
    visit.page.locator(f"#app.{theme}").wait_for()
    visit.settle()


@pytest.mark.parametrize("visit", [(1440, 900), PHONE], ids=["desktop", "phone"], indirect=True)
def test_axe_finds_nothing_serious_in_any_analysis_light_or_dark(visit: Visit, release: Release) -> None:
    tract_id, _ = a_large_tract(release)
    county = release.areas.search("county")[0].key
    visit.go(f"/?area={county}&other=tract:{tract_id}")
    open_everything(visit)
    for name in ANALYSES:
        visit.page.locator(f".analyses input[value={name}]").check()
        visit.wait_until(
            "name => (new URLSearchParams(location.search).get('analysis') ?? 'destinations') === name", name
        )
        visit.settle()
        dark = "dark" in (visit.page.locator("#app").get_attribute("class") or "")
        assert_accessible(visit, f"{name}, dark: {dark}")
        turn_to(visit, "light" if dark else "dark")
        assert_accessible(visit, f"{name}, dark: {not dark}")
        if visit.page.viewport_size["width"] == PHONE[0]:
            assert_large_enough_to_touch(visit, f"the controls, with {name}")
            turn_question(visit, opened=False)
            assert_large_enough_to_touch(visit, name)
            turn_question(visit, opened=True)


@pytest.mark.parametrize("theme", get_args(Theme))
@pytest.mark.parametrize("visit", [(1440, 900), PHONE], ids=["desktop", "phone"], indirect=True)
def test_axe_finds_nothing_serious_in_messages(visit: Visit, release: Release, theme: str) -> None:
    tract_id, _ = a_large_tract(release)
    visit.go(f"/?area=tract:{tract_id}&show=areas&age=1&bad=1&analysis=distance-direction&theme={theme}")
    open_everything(visit)
    expect(visit.page.locator(".notes")).to_be_visible()
    expect(visit.page.locator(".banner")).to_be_visible()
    assert_accessible(visit, "notes")
    visit.page.locator("#edges").fill("9, 1")
    visit.page.keyboard.press("Enter")
    visit.page.locator("#edges-said").get_by_text("increasing distances").wait_for()
    visit.settle()
    assert_accessible(visit, "an error")
    visit.go(f"/?theme={theme}")
    open_everything(visit)
    for menu in ("search", "layer"):
        turn_question(visit, opened=menu != "search")
        visit.page.locator(f"#{menu}").click()
        visit.page.locator("[role=option]:visible").first.wait_for()
        assert_accessible(visit, f"the first page, with the menu {menu} open")
    visit.go(f"/method?theme={theme}")
    visit.page.locator(".certificate").wait_for()
    visit.page.locator(f"#app.{theme}").wait_for()
    assert_accessible(visit, "method")


def test_the_page_says_when_its_server_is_gone_and_undo_never_leaves_it(
    visit: Visit, release: Release
) -> None:
    tract_id, _ = a_large_tract(release)
    visit.go(f"/?area=tract:{tract_id}")
    visit.settle()
    expect(visit.page.locator("#undo")).to_be_hidden()  # nothing was done yet
    visit.page.locator("#side").get_by_text("Homes").click()
    visit.wait_for_count(workers(release, areas=(f"tract:{tract_id}",), side="home"))
    visit.page.locator("#undo").click()
    visit.wait_for_count(workers(release, areas=(f"tract:{tract_id}",)))
    visit.settle()
    with visit.intercepting("**/_dash-update-component*", lambda route: route.abort()):
        visit.page.locator("#side").get_by_text("Homes").click()
        visit.page.get_by_role("alert").filter(has_text="The server does not respond").wait_for()
    visit.page.locator("#side").get_by_text("Workplaces").click()
    visit.page.locator("#away").wait_for(state="hidden")
    visit.trouble.clear()  # what the browser itself says of a lost connection
    search = visit.page.locator("#search")
    search.fill("tract")
    visit.page.locator("[role=option]:visible").first.wait_for()
    visit.wait_until(
        "() => [...document.querySelectorAll('[role=listbox]')]"
        ".some((list) => list.checkVisibility() && list.getBoundingClientRect().top > 0)"
    )


@pytest.mark.parametrize("visit", [PHONE], ids=["phone"], indirect=True)
def test_on_a_phone_the_legend_is_a_button_that_opens_and_closes(visit: Visit, release: Release) -> None:
    tract_id, _ = a_large_tract(release)
    visit.go(f"/?area=tract:{tract_id}&show=areas")
    visit.settle()
    legend = visit.page.get_by_role("button", name="Legend")
    expect(legend).to_have_attribute("aria-expanded", "false")
    expect(visit.page.locator(".legend-body")).to_be_hidden()
    legend.click()
    expect(visit.page.locator(".legend-body")).to_contain_text("Workers per square mile")
    visit.page.keyboard.press("Escape")
    expect(visit.page.locator(".legend-body")).to_be_hidden()
    expect(legend).to_be_focused()


def test_the_legend_follows_the_map(visit: Visit, release: Release) -> None:
    tract_id, _ = a_large_tract(release)
    visit.go(f"/?area=tract:{tract_id}&show=areas")
    visit.settle()
    legend = visit.page.locator(".legend-body")
    expect(legend.locator(".legend-ramp i").first).to_be_visible()
    visit.page.locator("#per").get_by_text("Workers", exact=True).click()
    expect(legend.locator(".legend-circles span").first).to_be_visible()
    expect(legend.locator(".legend-ramp")).to_have_count(0)
