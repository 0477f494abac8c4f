"""Pictures stand alone: the same bytes every time, the size that was asked for, nothing outside, any name, any area."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
from PIL import Image

import tests.releases
from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.show.content import map_layers, palette
from mapapp.show.content.labels import short_names
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.paper import chart_pictures, locator_picture, map_picture, map_title, map_words
from mapapp.show.paper.base_map import frame_of
from mapapp.show.paper.legend import draw_scale
from mapapp.show.paper.sheet import PIXELS_PER_INCH, Sheet, fit_text, printable, width_in, wrap_text
from tests.addresses import settled, shown
from tests.map_contents import content_of
from tests.releases import write_release

COUNTY = ("county:10001",)
STATES = {
    "points": shown(areas=COUNTY),
    "areas": shown(areas=COUNTY, show="areas", layer="tract", side="home"),
    "areas of a layer": shown(areas=COUNTY, show="areas", layer="stplc"),
    "density": shown(areas=COUNTY, show="density"),
    "lines": shown(areas=COUNTY, show="lines"),
    "profile": shown(areas=COUNTY, analysis="profile"),
    "cross-table": shown(areas=COUNTY, analysis="cross-table"),
    "comparison": shown(areas=COUNTY, analysis="comparison"),
    "distance-direction": shown(areas=COUNTY, analysis="distance-direction", edges=(1.0, 2.0)),
    "inflow-outflow": shown(areas=COUNTY, analysis="inflow-outflow"),
    "job-balance": shown(areas=COUNTY, analysis="job-balance"),
    "characteristics": shown(areas=COUNTY, analysis="characteristics", characteristic="CD04"),
    "paired": shown(areas=COUNTY, others=("county:10003",), analysis="paired"),
    "flow-matrix": shown(analysis="flow-matrix"),
    "nothing chosen": shown(),
    "half chosen": shown(areas=COUNTY, analysis="paired"),
    "drawn, with bands": shown(
        areas=("circle:-70.9,42.1,3", "-circle:-70.9,42.1,1"), age=(1,), earnings=(2,)
    ),
    "one block": shown(areas=("box:-70.999,42.001,-70.976,42.024",), show="areas"),
    "the whole": shown(areas=("all",), show="areas"),
    "nobody": shown(areas=("county:11001",), show="points"),
    "nobody, areas": shown(areas=("county:11001",), show="areas"),
    "nobody, density": shown(areas=("county:11001",), show="density"),
    "nobody, lines": shown(areas=("county:11001",), show="lines"),
}
HOSTILE = (
    r"$\frac{1}{0}$ _{x}^{2}",
    "São Tomé “d'Île” <script>alert(1)</script> & Co",
    "🏙️ 東京 \u202eabc\x07 \\n {} %s",
    "x" * 300,
    "",
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """The release with names that could be taken for something else."""
    units = tests.releases._units

    def renamed(tracts: Any, level: str) -> Any:
        frame = units(tracts, level)
        frame["name"] = [HOSTILE[at % len(HOSTILE)] for at in range(len(frame))]
        return frame

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tests.releases, "_units", renamed)
        yield Release.open(write_release(tmp_path_factory.mktemp("made") / "hostile"), "hostile")


@pytest.fixture(autouse=True)
def _no_missing_letters() -> Iterator[None]:
    """Matplotlib only warns of a letter that its font does not have."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_every_analysis_is_drawn() -> None:
    assert {question.analysis for question, _ in STATES.values()} == set(ANALYSES)


def pixels(content: bytes) -> Any:
    with Image.open(io.BytesIO(content)) as image:
        return numpy.asarray(image.convert("RGB")).astype(int)


def check_svg(content: bytes) -> ElementTree.Element:
    """An SVG that loads nothing, runs nothing, and does not interfere with the page around it."""
    text = content.decode("utf-8")
    assert "<script" not in text
    assert "<!DOCTYPE" not in text
    for reference in re.findall(r'(?:href|src)="([^"]*)"', text) + re.findall(r"url\(([^)]*)\)", text):
        assert reference.startswith(("#", "data:image/png;base64,")), reference[:60]
    root = ElementTree.fromstring(text)
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert len(set(ids)) == len(ids)
    assert {one for one in re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text) for one in one if one} <= set(
        ids
    )
    return root


DARK = ("points", "areas", "density", "lines", "inflow-outflow")


@pytest.mark.parametrize(
    ("name", "theme"), [*((one, "light") for one in STATES), *((one, "dark") for one in DARK)]
)
def test_every_view_is_drawn(release: Release, name: str, theme: Any) -> None:
    question, view = STATES[name]
    view = replace(view, theme=theme)
    found = pixels(map_picture(content_of(release, question, view), size_in=(6.0, 6.0)))
    assert found.shape == (6 * PIXELS_PER_INCH, 6 * PIXELS_PER_INCH, 3)
    land = [int(COLOR_SCHEMES[theme].land[at : at + 2], 16) for at in (1, 3, 5)]
    middle = found[130:380, 30:-30].reshape(-1, 3)
    assert len(numpy.unique(middle, axis=0)) > 5
    assert (middle == land).all(axis=1).mean() < 0.999


@pytest.mark.parametrize("name", ["points", "areas", "density", "lines", "inflow-outflow", "paired"])
def test_the_same_bytes_twice(release: Release, name: str) -> None:
    for form in ("png", "svg"):
        again = Release.open(release.store.path, "squareland")
        first, second = (map_picture(content_of(one, *STATES[name]), form=form) for one in (release, again))
        assert first == second


def test_colors_of_the_answer_are_on_the_map(release: Release) -> None:
    """A unit's middle has the color of its class: as many pixels as its share of the map, and no others."""
    state = STATES["areas"]
    content = content_of(release, *state)
    bounds = map_layers.home_bounds(release)
    found = pixels(map_picture(content, bounds=bounds, size_in=(8.0, 8.0)))
    ramp = [[int(one[at : at + 2], 16) for at in (1, 3, 5)] for one in COLOR_SCHEMES["light"].ramp]
    seen = [bool((found == color).all(axis=2).sum() > 50) for color in ramp]
    assert max(content.workers) > 0
    assert sum(seen) >= 2


@pytest.mark.parametrize("scale", [1, 2, 3, 4])
def test_a_scale_multiplies_the_pixels(release: Release, scale: int) -> None:
    state = STATES["areas"]
    made = map_picture(content_of(release, *state), scale=scale, size_in=(5.0, 4.5))
    assert pixels(made).shape[:2] == (432 * scale, 480 * scale)
    answer = served_answers.result(release, settled(release, STATES["profile"][0]))
    [(_, _, chart)] = chart_pictures(release, answer, scale=scale, width_in=5.0)
    assert pixels(chart).shape[1] == 480 * scale
    assert pixels(locator_picture(release, state[0], scale=scale)).shape[:2] == (230 * scale,) * 2


def test_the_current_view_is_kept(release: Release) -> None:
    state = STATES["points"]
    bounds = (-70.98, 42.01, -70.96, 42.03)
    near, far = (map_picture(content_of(release, *state), bounds=each) for each in (bounds, None))
    assert near != far
    frame = frame_of(bounds, 7.0, 5.0, 0.0)
    assert numpy.degrees(frame.west) <= bounds[0] + 1e-9
    assert numpy.degrees(frame.east) >= bounds[2] - 1e-9
    assert frame.width_in / frame.height_in == pytest.approx(
        (frame.east - frame.west) / (frame.north - frame.south)
    )


@pytest.mark.parametrize("name", ["points", "density", "drawn, with bands", "paired", "nothing chosen"])
def test_an_svg_is_safe_and_says_what_it_shows(release: Release, name: str) -> None:
    root = check_svg(map_picture(content_of(release, *STATES[name]), form="svg"))
    names = {child.tag.rpartition("}")[2]: child.text for child in root}
    assert names["title"] == printable(map_title(content_of(release, STATES[name][0])))
    assert names["desc"] == printable(map_words(content_of(release, *STATES[name])))
    assert "ε = 8.98" in str(names["desc"])
    assert "sound accountant" in str(names["desc"])


def test_svgs_can_stand_in_one_page(release: Release) -> None:
    ids = [
        set(
            re.findall(
                r'\sid="([^"]*)"', map_picture(content_of(release, *STATES[name]), form="svg").decode()
            )
        )
        for name in ("points", "areas")
    ]
    assert not ids[0] & ids[1]


@pytest.mark.parametrize("name", ["points", "areas", "lines", "inflow-outflow", "paired", "flow-matrix"])
def test_names_are_only_names(hostile: Release, name: str) -> None:
    question, view = STATES[name]
    state = (replace(question, layer="county") if name != "points" else question), view
    check_svg(map_picture(content_of(hostile, *state), form="svg"))
    check_svg(locator_picture(hostile, state[0], form="svg"))
    for _, _, content in chart_pictures(
        hostile, served_answers.result(hostile, settled(hostile, state[0])), form="svg"
    ):
        check_svg(content)


def test_a_title_of_ones_own_is_only_text(release: Release) -> None:
    for title in HOSTILE:
        check_svg(map_picture(content_of(release, *STATES["areas"]), form="svg", title=title))


@pytest.mark.parametrize("name", [one for one in STATES if one not in ("areas", "density", "lines")])
def test_charts_say_their_numbers(release: Release, name: str) -> None:
    state = STATES[name]
    result = served_answers.with_errors(release, settled(release, state[0]))
    found = chart_pictures(release, result)
    assert found == chart_pictures(release, result)
    workers = getattr(result, "workers", None)
    if workers is not None and workers.value == 0:
        assert not found
    for title, text, content in found:
        assert text.startswith(title)
        assert len(numpy.unique(pixels(content).reshape(-1, 3), axis=0)) > 5
    for title, _, content in chart_pictures(release, result, form="svg"):
        names = {child.tag.rpartition("}")[2]: child.text for child in check_svg(content)}
        assert str(names["title"]).startswith(title)


def test_bars_are_as_long_as_they_say(release: Release) -> None:
    state = STATES["distance-direction"]
    result: Any = served_answers.result(release, settled(release, state[0]))
    (_, text, content), _ = chart_pictures(release, result)
    workers = result.bands["workers"].to_numpy()
    for count in workers.tolist():
        assert f"{count:,}" in text
    blue = (pixels(content) == [42, 109, 181]).all(axis=2).sum(axis=1)
    rows = [
        int(run.max()) for run in numpy.split(blue, numpy.flatnonzero(numpy.diff(blue > 0)) + 1) if run.max()
    ]
    assert numpy.allclose(rows, workers[workers > 0] / workers.max() * max(rows), atol=1.5)


def test_the_bands_of_inflow_and_outflow_are_as_tall_as_they_say(release: Release) -> None:
    state = STATES["inflow-outflow"]
    result: Any = served_answers.result(release, settled(release, state[0]))
    [(_, text, content)] = chart_pictures(release, result, scale=2)
    scheme, image = palette.COLOR_SCHEMES["light"], pixels(content).astype(int)
    tall = []
    for number, color in (
        (result.inflow, scheme.come),
        (result.stay, scheme.stay),
        (result.outflow, scheme.go),
    ):
        assert f"{number.value:,}" in text
        rgb = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
        tall.append((numpy.abs(image - rgb).max(axis=2) < 8).sum(axis=0).max())
    counts = numpy.array([number.value for number in (result.inflow, result.stay, result.outflow)])
    assert numpy.allclose(tall, counts / counts.sum() * sum(tall), atol=3)


def test_a_change_shows_the_later_answer(release: Release) -> None:
    state = STATES["profile"]
    changed = served_answers.compare_releases(release, release, settled(release, state[0]))
    assert chart_pictures(release, changed) == chart_pictures(release, changed.after)


def test_a_release_that_is_not_for_release_says_so(tmp_path: Path) -> None:
    path = write_release(tmp_path / "test", n_pairs=200, status="test key: not for release")
    warned = Release.open(path, "test")
    plain = Release.open(write_release(tmp_path / "plain", n_pairs=200), "plain")
    color = [int(COLOR_SCHEMES["light"].work[at : at + 2], 16) for at in (1, 3, 5)]
    below = [pixels(map_picture(content_of(each, *shown()), scale=2))[-100:] for each in (warned, plain)]
    seen = [int((each == color).all(axis=2).sum()) for each in below]
    assert seen[0] > 50
    assert seen[1] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"form": "pdf"},
        {"scale": 0},
        {"scale": 5},
        {"scale": True},
        {"scale": 1.5},
        {"size_in": (0.0, 5.0)},
        {"size_in": (5.0, float("nan"))},
        {"size_in": (5.0, 1e6)},
    ],
)
def test_impossible_pictures_are_refused_in_one_line(release: Release, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as said:
        map_picture(content_of(release, *shown()), **wrong)
    assert "\n" not in str(said.value)


def test_texts_fit_where_they_are_put() -> None:
    text = "Homes of those who work in a place with a long name " * 4
    for line in wrap_text(text, 2.0, 8.0, lines=3):
        assert width_in(line, 8.0) <= 2.0
    assert len(wrap_text(text, 2.0, 8.0, lines=3)) == 3
    assert wrap_text("short", 2.0, 8.0) == ["short"]
    assert wrap_text("", 2.0, 8.0) == []
    assert fit_text("x" * 300, 1.0, 8.0).endswith("…")
    assert fit_text("", 1.0, 8.0) == ""
    assert printable("a\n\tb 🏙️ é e\u0301") == "a b □ é é"


def test_a_text_is_measured_once(release: Release) -> None:
    map_picture(content_of(release, *STATES["points"]))
    before = width_in.cache_info().misses
    map_picture(content_of(release, *STATES["points"]), form="svg")
    assert width_in.cache_info().misses == before


@pytest.mark.parametrize("miles", [0.004, 0.05, 0.3, 7.0])
def test_the_scale_bar_does_not_reach_north(miles: float, monkeypatch: pytest.MonkeyPatch) -> None:
    half = miles / 2 / 69.0
    frame = frame_of((-half, -half, half, half), 7.0, 7.0)
    sheet = Sheet((7.0, 1.0), COLOR_SCHEMES["light"])
    ends: list[float] = []

    def write(x: float, _y: float, text: str, *, size: float, **_: Any) -> None:
        if text != "N":
            ends.append(x + width_in(text, size))

    monkeypatch.setattr(sheet, "write", write)
    draw_scale(sheet, frame, 5.0, 0.0)
    assert len(ends) == 2
    assert max(ends) < 5.0 - 0.12 - 0.09, "of the arrow, its left end"


def test_units_of_a_heat_map_can_be_told_apart() -> None:
    names = ["Tract 2, Fenbury County", "Tract 7, Fenbury County", "Tract 2, Mossfield County", "x" * 99]
    assert short_names(names) == [names[0], "Tract 7", names[2], "x" * 15 + "…"]
