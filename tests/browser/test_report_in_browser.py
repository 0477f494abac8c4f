"""A report as HTML, opened from the file system by a browser without a network, is complete."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from mapapp.answers.release import open_releases
from mapapp.question.question import Question
from tests.show.making import written

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser


def colours(picture: bytes) -> int:
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    return len(image.getcolors(image.width * image.height) or ())


def moves_from_home_to_work(page: Any) -> None:
    """Workers are blue at night and orange by day, and stay still where motion is unwanted."""
    page.locator(".morning summary").first.click()
    picture = page.locator(".morning svg").first
    seen = []
    for at_ms in (0, 10_000):
        page.evaluate(
            "(at) => document.getAnimations().forEach((one) => { one.pause(); one.currentTime = at; })", at_ms
        )
        pixels = numpy.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("RGB")).astype(int)
        warmth = pixels[..., 0] - pixels[..., 2]
        seen.append([bool((warmth < -60).any()), bool((warmth > 60).any())])
    assert seen == [[True, False], [False, True]]
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_function("() => document.getAnimations().length === 0")
    page.emulate_media(reduced_motion="no-preference")


def test_a_file_opens_without_a_network(browser: Any, demo_release: Path, tmp_path: Path) -> None:
    release = next(iter(open_releases([demo_release]).values()))
    county = release.areas.units("county").rows["unit_id"].iloc[0]
    states = [
        Question(areas=(f"county:{county}",), analysis=analysis, layer="county")
        for analysis in ("destinations", "inflow-outflow")
    ]
    file = tmp_path / 'a "report" é.html'
    file.write_bytes(written([release], states, "html", error_rows=None))
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 800})
    try:
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_function("() => document.title")
        assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
        expect(page.locator("img")).to_have_count(2 * 3)
        page.wait_for_function(
            "() => [...document.images].every((one) => one.complete && one.naturalWidth > 300)"
        )
        for shown in page.locator("figure.map img").all():
            assert colours(shown.screenshot()) > 30
        moves_from_home_to_work(page)
        page.emulate_media(media="print")
        expect(page.locator("nav")).to_be_hidden()
        assert colours(page.locator("figure.map img").first.screenshot()) > 30
        page.set_viewport_size({"width": 360, "height": 700})
        page.emulate_media(media="screen")
        page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
        assert said == []
    finally:
        context.close()


def test_axe_finds_nothing_serious(browser: Any, demo_release: Path, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    release = next(iter(open_releases([demo_release]).values()))
    file = tmp_path / "report.html"
    states = [Question(areas=("all",), analysis=analysis) for analysis in ("profile", "distance-direction")]
    file.write_bytes(written([release], states, "html", error_rows=None))
    # A browser refuses to add a script to a page with such a policy, and the checker is a script.
    context = browser.new_context(bypass_csp=True)
    try:
        page = context.new_page()
        page.goto(file.as_uri())
        found = Axe().run(page).response["violations"]
        assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    finally:
        context.close()
