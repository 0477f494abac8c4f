"""What an analyst does at the workbench, in Debian's Chromium: few tests, each a whole story."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from geodata.store.store import open_store
from mapapp.analyst.workbench.fields import find_nearest_stop
from mapapp.analyst.workbench.guard import Access
from mapapp.analyst.workbench.panels import digits
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, NUMBERS, preset_values, read_setting
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.records.tune.setting import TEXTS, control_of
from tests.browser.audits import assert_accessible, assert_large_enough_to_touch
from tests.browser.conftest import MAP_AT_REST, PATIENCE_MS, Visit
from tests.running_server import running

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = (390, 844)
START = preset_values("onthemap-v3", has_flows=True)
ACCESS = Access()
CAMERA = """() => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  return [map.getZoom(), map.getCenter().lng, map.getCenter().lat];
}"""
LOOKED_ELSEWHERE = """([zoom]) => {
  const plot = document.querySelector("#map .js-plotly-plot");
  const map = plot._fullLayout.map._subplot.map;
  return !map.isMoving() && map.getZoom() > zoom + 0.2 && plot._fullLayout.map.zoom === map.getZoom();
}"""
SHOWS = """wanted => Object.entries(wanted).every(
  ([id, text]) => [document.getElementById(id)].some((part) => part && (part.value ?? part.innerText) === text))
  && document.getElementById("scope").innerText.startsWith("All")"""


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path_factory.mktemp("tuned") / "demo.dataset"))


@pytest.fixture(scope="module")
def session(dataset: Path) -> Session:
    """Another session over the same data, to know what the page should say."""
    return Session(open_store(dataset, "dataset", verify=False))


@pytest.fixture(scope="module")
def address(dataset: Path) -> Iterator[str]:
    from mapapp.analyst.workbench.app import create_app, listen

    app = create_app(dataset, access=ACCESS)
    of_app = app.server.extensions["workbench"][0]
    of_app.sample = of_app.data.sample(4)  # so small that the whole always comes after it
    with running(*listen(app, port=0)) as place:
        yield place.removesuffix(ACCESS.address("/"))


def enter(visit: Visit, page: str = "/") -> None:
    """Open a page by the address that `tune` prints."""
    visit.go(ACCESS.address(page))


def open_page(visit: Visit, asked: list[str] | None = None) -> None:
    if asked is not None:
        visit.page.on("request", lambda request: asked.append(request.url))
    enter(visit)
    visit.page.wait_for_selector("#kl-all", state="attached", timeout=PATIENCE_MS)
    visit.page.evaluate("document.querySelectorAll('details.filters').forEach(part => { part.open = true; })")
    wait_for(visit, {"epsilon": "6.5"})
    visit.page.get_by_role("button", name="OnTheMap V3").click()  # whose controls are all in use
    wait_for(visit, {"epsilon": str(START["epsilon"]), "epsilon-final": "8.982"})
    visit.wait_until(MAP_AT_REST)


def look_elsewhere(visit: Visit) -> list[float]:
    """Zoom in as a visitor does; the camera afterwards."""
    before = visit.page.evaluate(CAMERA)
    visit.page.locator("#map [data-title='Zoom in']").click()
    visit.wait_until(LOOKED_ELSEWHERE, before)
    camera: list[float] = visit.page.evaluate(CAMERA)
    return camera


def check_camera(visit: Visit, camera: list[float], after: str) -> None:
    """Check that the map, once drawn, looks where it did before."""
    visit.wait_until(MAP_AT_REST)
    assert visit.page.evaluate(CAMERA) == camera, after


def expected(session: Session, change: dict[str, Any]) -> dict[str, str]:
    """What the page says of a setting, by element."""
    found = session.measure(read_setting(START | change), "whole", lambda *_: None)
    names = ("kl_all", "kl_small", "imse_all", "imse_small")
    texts = {name.replace("_", "-"): digits(found.summary[name]) for name in names}
    return texts | {"epsilon-final": f"{found.facts['certificate']['epsilon_final']:.3f}"}


def wait_for(visit: Visit, wanted: dict[str, str]) -> None:
    visit.wait_until(SHOWS, wanted)


UNUSED_NOW = """wanted => ["unit", "accountant", "strength"]
  .filter((id) => document.querySelector(`#${id}:disabled, #${id} input:disabled`)).join() === wanted"""


DISABLED_CAN_BE_READ = """() => {
  const light = (color) =>
    color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const style = (part) => getComputedStyle(document.querySelector(`#unit .mantine-SegmentedControl-${part}`));
  const [one, other] = [light(style("label").color), light(style("indicator").backgroundColor)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) >= 4.5;
}"""


def test_controls_that_the_mechanism_does_not_use_are_disabled(visit: Visit) -> None:
    open_page(visit)
    visit.wait_until(UNUSED_NOW, "unit")
    visit.wait_until(DISABLED_CAN_BE_READ)
    for name, unused in (
        ("Exponential", "accountant,strength"),
        ("Dirichlet-multinomial", "unit"),
    ):
        visit.page.locator("#mechanism").click()
        visit.page.get_by_role("option", name=name).click()
        visit.wait_until(UNUSED_NOW, unused)


@pytest.mark.timeout(600)  # many moves, each drawn by software
def test_every_control_moves_the_numbers_and_not_the_camera(visit: Visit, session: Session) -> None:
    asked: list[str] = []
    open_page(visit, asked)
    moved: dict[str, Any] = {}
    shown = expected(session, moved)
    wait_for(visit, shown)
    camera = look_elsewhere(visit)
    n_changed = 0
    for name in NUMBERS:
        stops = CONTROLS[name].stops.split()
        at = find_nearest_stop(str(START[name]), stops)
        step = 1 if at + 1 < len(stops) else -1
        moved[name] = stops[at + step]
        visit.page.locator(f"#{name}-slider [role=slider]").press("ArrowRight" if step > 0 else "ArrowLeft")
        before, shown = shown, expected(session, moved)
        wait_for(visit, shown | {name: moved[name]})
        n_changed += shown != before
        check_camera(visit, camera, name)
    assert n_changed >= 8  # some say nothing to so small a country
    for name, text, value in (
        ("accountant", "Paper", "paper"),
        ("accountant", "Sound", "sound"),
        ("editing", "Kept", "none"),
        ("means", "The whole, ε′", "whole"),
        ("prior", "Uniform", "uniform"),
    ):
        moved[name] = value
        visit.page.locator(f"#{name}").get_by_text(text, exact=True).click()
        before, shown = shown, expected(session, moved)
        wait_for(visit, shown)
        assert shown != before, name
        check_camera(visit, camera, name)
    visit.page.locator("#mechanism").click()
    visit.page.get_by_role("option", name="Exponential").click()
    wait_for(visit, expected(session, moved | {"mechanism": "exponential"}))
    check_camera(visit, camera, "mechanism")
    # Nothing of it is in an address: callbacks have one, files have theirs.
    assert visit.page.evaluate("location.search + location.hash") == ""
    assert asked[0] == visit.address + ACCESS.address("/")
    for url in asked[1:]:
        path = url.removeprefix(visit.address)
        assert re.fullmatch(
            r"/|blob:.*|data:.*|/_dash-(layout|dependencies|update-component(\?endId=[\w~.-]+)?)|/_favicon\.ico.*|/geo/dataset/[0-9a-f]+/[\w-]+\.geojson"
            r"|/assets/[\w.]+(\?m=[\d.]+)?|/_dash-component-suites/[\w./@-]+(\?[mv]=[\w.]+)?",
            path,
        ), path


def test_wrong_and_infeasible_values_are_one_line_and_the_page_stays_usable(
    visit: Visit, session: Session
) -> None:
    open_page(visit)
    for name, typed, says in (
        ("epsilon", "nonsense", "nonsense"),
        ("delta", "2", "delta is 2"),
        ("tract_radius_mi", "30", "puma_radius_mi"),
        ("strength", "1e15", "2^40"),
    ):
        visit.page.fill(f"#{name}", typed)
        visit.page.press(f"#{name}", "Enter")
        line = visit.page.locator(".notes li")
        line.filter(has_text=says).wait_for()
        expect(line).to_have_count(1)
        visit.page.fill(f"#{name}", START[name])
        visit.page.press(f"#{name}", "Enter")
        visit.page.wait_for_selector(".notes", state="detached", timeout=PATIENCE_MS)
    visit.page.fill("#epsilon", "3")
    visit.page.press("#epsilon", "Enter")
    wait_for(visit, expected(session, {"epsilon": "3"}))


def test_a_tract_shows_its_support_points(visit: Visit) -> None:
    open_page(visit)
    camera = look_elsewhere(visit)
    visit.page.get_by_role("tab", name="Commutes").click()
    name = visit.page.locator("#tract-rows button").first.inner_text()
    visit.page.locator("#tract-rows").get_by_role("button", name=name, exact=True).first.click()
    visit.page.locator("#tract-name", has_text=name).wait_for()
    caption = visit.page.locator("#map .annotation-text")
    for shown, says in (
        ("Levels", "level"),
        ("Real", "real"),
        ("Posterior", "posterior"),
        ("KL", "KL between"),
    ):
        visit.page.locator("#map-shows").get_by_text(shown, exact=True).click()
        caption.filter(has_text=says).wait_for()
        visit.wait_until(MAP_AT_REST)
    expect(caption.filter(has_text="NOT FOR PUBLICATION")).to_have_count(1)
    check_camera(visit, camera, "the support points")


def test_work_is_cancelled_from_the_keyboard_while_its_progress_is_drawn(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: Any, report: Any) -> None:
        for done in itertools.count():
            time.sleep(0.01)
            report("searching", done % 100, 100)

    def cancel(kind: str, says: str) -> None:
        visit.page.locator(f"#{kind}-stage", has_text="searching").wait_for()
        visit.page.focus(f"#{kind}-cancel")
        for _ in range(3):
            shown = visit.page.get_attribute(f"#{kind}-bar", "value")
            visit.wait_until(
                "([id, shown]) => document.getElementById(id).getAttribute('value') !== shown",
                [f"{kind}-bar", shown],
            )
        visit.page.keyboard.press("Enter")
        visit.page.locator(f"#{kind}-progress", has_text=says).wait_for()
        expect(visit.page.locator(f"#{kind}-row")).to_be_hidden()

    monkeypatch.setattr(
        "mapapp.analyst.workbench.design_callbacks.design", lambda *given: endless(report=given[-1])
    )
    monkeypatch.setattr(
        "mapapp.kinds.tables.tune.callbacks._count_table", lambda *given: endless(report=given[-1])
    )
    monkeypatch.setattr(
        "mapapp.kinds.records.tune.callbacks.draw_variants",
        lambda *_, threads, report: endless(report=report),
    )
    open_page(visit)
    visit.page.click("#design")
    cancel("design", "The search was cancelled.")
    visit.page.get_by_role("tab", name="Tables").click()
    visit.page.click("#tables-count")
    cancel("tables", "The count was cancelled.")
    visit.page.get_by_role("tab", name="Records").click()
    visit.page.click("#worker-records-draw")
    cancel("worker-records", "The comparison was cancelled.")


def test_records_follow_the_keyboard_and_are_compared_on_request(visit: Visit) -> None:
    open_page(visit)
    visit.page.get_by_role("tab", name="Records").click()
    visit.page.locator("#worker-records-epsilon-found").wait_for()
    visit.page.locator("#worker-records-pass-chart .scatterlayer .trace").first.wait_for(state="attached")
    said = visit.page.locator("#worker-records-said")
    changed = "([id, before]) => document.getElementById(id)?.innerText !== before"
    for name, key, shown in (
        ("forced_fail-slider", "ArrowRight", "epsilon-found"),
        ("min_seeds-slider", "ArrowLeft", "k-found"),
        ("kept", "ArrowRight", "pass-rate"),
    ):
        before = visit.page.inner_text(f"#worker-records-{shown}")
        visit.page.locator(f"#worker-records-{name} [role=slider]").press(key)
        visit.wait_until(changed, [f"worker-records-{shown}", before])
    before = visit.page.inner_text("#worker-records-promise")
    visit.page.fill("#worker-records-forced_fail", "0")
    visit.page.press("#worker-records-forced_fail", "Enter")
    said.filter(has_text="--forced-fail 0: the number of tries is published").wait_for()
    expect(said.locator("p")).to_have_count(1)
    assert visit.page.inner_text("#worker-records-promise") == before
    visit.page.fill("#worker-records-forced_fail", "0.02")
    visit.page.press("#worker-records-forced_fail", "Enter")
    visit.page.locator("#worker-records-said p").wait_for(state="detached")
    assert "--kept work_puma,home_puma" in visit.page.inner_text("#worker-records-command")
    visit.page.get_by_role("button", name="Copy the command").click()
    expect(visit.page.locator("#worker-records-copied")).to_have_text(
        re.compile("Copied.|Select the command above")
    )
    visit.page.click("#worker-records-draw")
    results = visit.page.locator("#worker-records-results")
    results.get_by_role("heading", name="Lost commutes").wait_for()
    results.locator(".boxlayer .trace").first.wait_for(state="attached")
    expect(results.get_by_role("heading")).to_have_text(
        [
            "Distance from the real workers",
            "Lost commutes",
            "Pairs of attributes, seeded",
            "Pairs of attributes, seedless",
            "Tables of one, two, and three attributes",
        ]
    )
    visit.page.locator("#worker-records-kept [role=slider]").press("Home")
    expect(visit.page.locator("#worker-records-tries-card")).to_be_hidden()
    results.get_by_text("The controls have changed since.").wait_for()


@pytest.mark.parametrize("visit", [PHONE], ids=["phone"], indirect=True)
def test_rare_settings_of_records_are_collapsed_named_and_large_enough_to_touch(visit: Visit) -> None:
    enter(visit)
    visit.page.wait_for_selector("#kl-all", state="attached", timeout=PATIENCE_MS)
    visit.page.get_by_role("tab", name="Records").click()
    visit.page.locator("#worker-records-epsilon-found").wait_for()
    group = visit.page.get_by_role("group", name="More settings")
    expect(group.get_by_role("textbox")).to_have_count(0)
    group.locator("summary").click()
    for name in TEXTS:
        field = group.get_by_role("textbox", name=control_of(name).label)
        expect(field).to_have_accessible_description(re.compile("If empty: "))
        assert field.get_attribute("id") == f"worker-records-{name}"
    for label in (
        "Which attributes depend on which",
        "A structure from fewer than 100,000 workers",
        "Accountant",
    ):
        expect(group.get_by_role("radiogroup", name=label)).to_be_visible()
    assert_large_enough_to_touch(visit, "more settings", ".more-settings")
    expect(group.get_by_role("radio", name="Learn anyway")).to_be_disabled()
    group.get_by_text("Learned", exact=True).click()
    said = visit.page.locator("#worker-records-said")
    said.filter(has_text="or add --anyway").wait_for()
    expect(group.get_by_role("radio", name="Learn anyway")).to_be_enabled()
    field = group.get_by_role("textbox", name=control_of("seed_floor").label)
    group.get_by_text("Public", exact=True).click()
    field.fill("20")
    field.press("Enter")
    visit.page.locator("#worker-records-command", has_text="--seed-floor 20").wait_for()
    assert_accessible(visit, "more settings")


def test_the_slider_follows_a_number_however_it_is_written(visit: Visit) -> None:
    open_page(visit)
    for typed, number in (("25", "25"), ("14/2", "7")):
        visit.page.fill("#epsilon", typed)
        visit.page.press("#epsilon", "Enter")
        place = CONTROLS["epsilon"].stops.split().index(number)
        visit.page.wait_for_selector(f"#epsilon-slider [role=slider][aria-valuenow='{place}']")
    visit.page.fill("#epsilon", "1e999")
    visit.page.press("#epsilon", "Enter")
    visit.page.locator(".notes li", has_text="1e999").wait_for()
    expect(visit.page.locator(f"#epsilon-slider [role=slider][aria-valuenow='{place}']")).to_be_visible()


def test_sweep_design_and_publish(visit: Visit, dataset: Path, tmp_path: Path) -> None:
    open_page(visit)
    visit.page.get_by_role("tab", name="Sweeps").click()
    visit.page.click("#sweep")
    for name in ("epsilon", "min_retention", "delta"):
        visit.page.locator(f"#sweep-{name} .js-plotly-plot").wait_for()
    visit.page.get_by_role("tab", name="Setting").click()
    before = visit.page.inner_text("#kl-all")
    visit.page.click("#design")
    visit.page.get_by_text("Chosen from public data").wait_for()
    visit.wait_until("before => document.getElementById('kl-all').innerText !== before", before)
    wait_for(visit, {"epsilon-final": "8.982"})  # the promise stays
    release = tmp_path / "made.release"
    visit.page.click("#publish")
    visit.page.locator("#publish-summary", has_text="8.98203").wait_for()
    visit.page.click("#publish-go")
    visit.page.locator("#publish-outcome", has_text="type where to write the release").wait_for()
    visit.page.fill("#publish-path", str(release))
    visit.page.locator("#publish-test-key").press("Space")
    visit.page.click("#publish-go")
    visit.page.locator("#publish-outcome", has_text="commutemap serve").wait_for()
    assert (release / "certificate.json").exists()
    assert Ledger(dataset).spent() == (Fraction(0), Fraction(0))


def test_the_lab_by_its_presets_and_sliders(visit: Visit) -> None:
    enter(visit, "/lab")
    visit.page.locator("#lab-delta", has_text="0.000623").wait_for()
    visit.page.get_by_role("button", name="The synthesizer in its heading").click()
    visit.page.locator("#lab-delta", has_text="0.010742").wait_for()
    visit.page.locator("#lab-needed", has_text="2.397895").wait_for()
    for name, key in (
        ("n", "ArrowLeft"),
        ("m", "ArrowLeft"),
        ("alpha", "ArrowRight"),
        ("epsilon", "ArrowRight"),
    ):
        before = visit.page.inner_text("#lab-answer")
        visit.page.locator(f"#lab-{name} [role=slider]").press(key)
        visit.wait_until("before => document.getElementById('lab-answer').innerText !== before", before)
    visit.page.get_by_role("link", name="Tune", exact=True).click()
    visit.page.wait_for_selector("#kl-all", state="attached")
    wait_for(visit, {})


@pytest.mark.parametrize("visit", [(1440, 900), PHONE], ids=["desktop", "phone"], indirect=True)
def test_axe_finds_nothing_serious(visit: Visit) -> None:
    from axe_playwright_python.sync_playwright import Axe

    def check(where: str) -> None:
        found = Axe().run(visit.page).response["violations"]
        bad = [
            (one["id"], one["nodes"][0]["html"][:200])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert bad == [], where
        visit.wait_until("() => document.documentElement.scrollWidth <= innerWidth")

    open_page(visit)
    visit.page.fill("#epsilon", "3")
    visit.page.press("#epsilon", "Enter")
    visit.page.locator(".measures .before", has_text=re.compile(r"\d")).first.wait_for(state="attached")
    check("setting")
    visit.page.click("#keep")
    visit.page.locator("#kept-said", has_text="Kept as").wait_for()
    visit.page.click("#compare")
    visit.page.locator(".kept-tables").wait_for()
    check("side by side")
    visit.page.click("#compare-close")
    visit.page.locator(".kept-tables").wait_for(state="hidden")
    visit.page.get_by_role("tab", name="Commutes").click()
    visit.page.locator("#tract-rows button").first.wait_for()
    check("commutes")
    visit.page.locator("#tract-rows button").first.click()
    visit.page.locator("#tract-name").wait_for()
    check("tract")
    visit.page.get_by_role("tab", name="Tables").click()
    visit.page.locator("#tables-prior").wait_for()
    check("tables")
    visit.page.get_by_role("tab", name="Records").click()
    visit.page.locator("#worker-records-epsilon-found").wait_for()
    check("records")
    visit.page.click("#worker-records-draw")
    visit.page.locator("#worker-records-results .boxlayer .trace").first.wait_for(state="attached")
    # axe misses the colored background of a chosen option that is scrolled far out of sight.
    visit.page.locator("#worker-records-structure").scroll_into_view_if_needed()
    check("records compared")
    visit.page.get_by_role("tab", name="Sweeps").click()
    visit.page.click("#sweep")
    visit.page.locator("#sweep-delta .js-plotly-plot").wait_for()
    check("sweeps")
    visit.page.get_by_role("tab", name="Audit").click()
    visit.page.locator("label", has_text="Beside the kept ones").click()
    visit.page.click("#audit")
    visit.page.get_by_text("Side by side", exact=True).wait_for()
    visit.page.locator("#audit-results .js-plotly-plot").first.wait_for()
    check("audit")
    visit.page.fill("#tradeoff-schemes", "k=2,50 kd=1:height=4")
    visit.page.click("#tradeoff")
    visit.page.locator("#tradeoff-results .js-plotly-plot").last.wait_for()
    visit.page.locator("#audit-settings").scroll_into_view_if_needed()
    check("trade-off")
    visit.page.fill("#epsilon", "none")
    visit.page.press("#epsilon", "Enter")
    visit.page.locator(".notes li").wait_for()
    check("a wrong value")
    visit.page.fill("#epsilon", "3")
    visit.page.press("#epsilon", "Enter")
    visit.page.locator("#mechanism").click()
    visit.page.locator("[role=option]:visible").first.wait_for()
    check("mechanisms")
    visit.page.keyboard.press("Escape")
    visit.page.click("#publish")
    visit.page.locator("#publish-path").wait_for()
    visit.wait_until(
        "() => getComputedStyle(document.querySelector('.mantine-Modal-content')).opacity === '1'"
    )
    check("publish")
    enter(visit, "/lab")
    visit.page.locator("#lab-delta").wait_for()
    check("lab")
