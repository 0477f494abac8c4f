"""A view kept as a file: saved where the map looks, and opened there again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mapapp.answers.release import Release
from mapapp.question import setup_file
from tests.browser.conftest import PATIENCE_MS, Visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BOUNDS = """() => {
  const map = document.querySelector("#map .js-plotly-plot")._fullLayout.map._subplot.map;
  const { _sw, _ne } = map.getBounds();
  return [_sw.lng, _sw.lat, _ne.lng, _ne.lat];
}"""
LOOKS_AT = f"""wanted => {{
  const bounds = ({BOUNDS})();
  const size = Math.max(wanted[2] - wanted[0], wanted[3] - wanted[1]);
  return bounds.every((deg, at) => Math.abs(deg - wanted[at]) < 0.03 * size);
}}"""
LOOK = """([lon, lat, zoom]) => {
  const plot = document.querySelector("#map .js-plotly-plot");
  return window.Plotly.relayout(plot, { "map.center": { lon, lat }, "map.zoom": zoom });
}"""


def test_a_view_is_saved_and_opened_where_it_looked(visit: Visit, demo_release: Path, tmp_path: Path) -> None:
    release = Release.open(demo_release, "demo")
    county = next(area.key for area in release.areas.search("county") if area.level == "county")
    page = visit.page
    visit.go(f"/?area={county}&show=areas&theme=dark")
    visit.settle()
    west, south, east, north = page.evaluate(BOUNDS)
    page.evaluate(LOOK, [west + 0.7 * (east - west), south + 0.6 * (north - south), 9.0])
    visit.settle()
    looked = page.evaluate(BOUNDS)
    page.click("#keeping summary")
    with page.expect_download(timeout=PATIENCE_MS) as saving:
        page.click("#save-setup")
    path = tmp_path / "setup.json"
    saving.value.save_as(path)
    state, notes = setup_file.load(path, release)
    assert (state.question.areas, state.view.show, state.view.theme, notes) == (
        (county,),
        "areas",
        "dark",
        (),
    )
    assert json.loads(path.read_bytes())["release"]["digest"] == release.version

    visit.go("/?side=home")
    visit.settle()
    assert not page.evaluate(LOOKS_AT, looked)
    page.click("#keeping summary")
    with page.expect_file_chooser() as choosing:
        page.click("text=Open view")
    choosing.value.set_files(path)
    page.wait_for_function(
        "text => decodeURIComponent(location.search).includes(text)", arg=county, timeout=PATIENCE_MS
    )
    visit.wait_until(LOOKS_AT, looked)
    visit.settle()
    assert page.evaluate(LOOKS_AT, looked)
