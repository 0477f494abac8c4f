"""Uploading an area, and a server that is busy, as a visitor sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import shapely

from tests.browser.conftest import PATIENCE_MS, Visit
from tests.browser.test_versions_in_browser import CALLBACKS

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def choose(visit: Visit, file: Path) -> None:
    visit.page.evaluate("document.getElementById('tools').open = true")
    with visit.page.expect_file_chooser() as choosing:
        visit.page.click("text=Open an area file")
    choosing.value.set_files(file)


def test_an_area_from_a_file_becomes_a_chip(visit: Visit, demo_release: Path, tmp_path: Path) -> None:
    from commutemap import open_release

    places = open_release(demo_release).areas.places
    lon, lat = (float(places.loc[~places["elsewhere"], name].mean()) for name in ("lon_deg", "lat_deg"))
    file = tmp_path / "round.geojson"
    file.write_text(
        json.dumps(shapely.geometry.mapping(shapely.Point(lon, lat).buffer(0.5))), encoding="utf-8"
    )
    visit.go("/")
    visit.settle()
    choose(visit, file)
    visit.page.wait_for_selector("#chips .chip", timeout=PATIENCE_MS)
    visit.settle()
    assert "shape:" in visit.page.evaluate("location.search")
    assert visit.page.inner_text("#file-said") == ""
    assert visit.trouble == []


def test_what_is_wrong_with_a_file_is_said(visit: Visit, tmp_path: Path) -> None:
    file = tmp_path / "x.geojson"
    file.write_bytes(b"hello")
    visit.go("/")
    visit.settle()
    choose(visit, file)
    visit.wait_until(
        "() => document.getElementById('file-said').innerText.includes('format is not supported')"
    )
    assert visit.page.query_selector("#chips .chip") is None


def test_the_map_gets_its_shapes_from_a_server_that_was_busy_at_first(visit: Visit) -> None:
    requested: list[str] = []

    def refuse_twice(route: Any) -> None:
        requested.append(route.request.url)
        if len(requested) <= 2:  # one from the map, one from its names
            route.fulfill(status=503, body="busy", headers={"Retry-After": "1"})
        else:
            route.fallback()

    visit.page.route("**/geo/**/counties.geojson*", refuse_twice)
    visit.go("/")
    visit.wait_until("() => document.querySelectorAll('#map .names .name').length > 0")
    visit.wait_until(
        """() => {
          const map = document.querySelector('#map .js-plotly-plot')._fullLayout.map._subplot.map;
          return map.querySourceFeatures('counties').length > 0;
        }"""
    )
    # MapLibre itself may go on waiting for the request that failed, so what the page says of itself is awaited.
    visit.wait_until("() => !document.querySelector('.busy.on, [data-part][aria-busy=true]')")
    assert len(requested) > 2
    assert len(set(requested)) == 1
    assert visit.page.query_selector("#away:not([hidden])") is None
    assert "Map error." not in visit.trouble, "after this error of a new map, Dash draws nothing on it again"
    visit.trouble.clear()  # what the browser itself says of a failed request


def test_a_busy_server_is_asked_again_without_the_visitor(visit: Visit) -> None:
    refused: list[str] = []

    def refuse_once(route: Any) -> None:
        output = json.loads(route.request.post_data)["output"]
        if "answered.data" in output and not refused:
            refused.append(output)
            route.fulfill(status=503, body="busy", headers={"Retry-After": "1"})
        else:
            route.fallback()

    visit.page.route(CALLBACKS, refuse_once)
    visit.go("/")
    visit.settle()
    assert len(refused) == 1
    assert visit.count() > 0
    assert visit.page.query_selector("#away:not([hidden])") is None
    visit.trouble.clear()  # what the browser itself says of a failed request
