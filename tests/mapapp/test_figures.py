"""The map figure: its parts and their order, nothing from the network, and classes that hold every count."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp import layers
from mapapp.callbacks import draw
from mapapp.figures import camera, commute_map, palette
from mapapp.queries.release import ServedRelease
from mapapp.url_state import ViewState
from tests.releases import ELSEWHERE, UNDRAWN_TRACT, write_release

TRACT = "tract:10001000000"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ServedRelease:
    return ServedRelease(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


def plain(figure: Any) -> Any:
    return json.loads(figure.to_json())


@pytest.mark.parametrize("show", ["points", "tracts", "density"])
@pytest.mark.parametrize("areas", [(), (TRACT,)])
def test_no_figure_names_another_machine(release: ServedRelease, show: Any, areas: tuple[str, ...]) -> None:
    figure = draw.whole(release, ViewState(show=show, areas=areas), "/")
    text = json.dumps({"data": plain(figure)["data"], "map": plain(figure)["layout"]["map"]})
    assert "http" not in text
    assert "//" not in text
    assert "glyphs" not in text
    style = figure.layout.map.style
    assert style["sources"], "an empty `sources` breaks the map at its first move"
    assert all(source["data"].startswith("/geo/squareland/") for source in style["sources"].values())


def test_polygons_come_by_address_and_not_in_the_figure(release: ServedRelease) -> None:
    figure = draw.whole(release, ViewState(areas=(TRACT,)), "/base/")
    assert figure.data[commute_map.TRACTS].geojson.startswith("/base/geo/")
    assert figure.layout.map.layers[commute_map.OUTLINE].source.endswith(f"areas.geojson?area={TRACT}")
    assert len(figure.to_json()) < 200_000


def test_traces_and_layers_keep_their_places(release: ServedRelease) -> None:
    for show in ("points", "tracts", "density"):
        figure = draw.whole(release, ViewState(show=show, areas=(TRACT,)), "/")  # type: ignore[arg-type]  # a literal by parametrize
        assert [trace.type for trace in figure.data] == ["choroplethmap", "scattermap"]
        assert [layer.sourcetype for layer in figure.layout.map.layers] == ["geojson", "geojson", "image"]
        assert figure.layout.map.layers[commute_map.DENSITY].visible is (show == "density")
        assert bool(figure.data[commute_map.TRACTS].showscale) is (show == "tracts")


def test_a_point_for_every_worker_whose_home_has_a_place(release: ServedRelease) -> None:
    state = ViewState(areas=("county:10001",))
    points = draw.whole(release, state, "/").data[commute_map.POINTS]
    summary = release.summary(state)
    assert len(points.lon) == len(points.lat) == summary.workers - summary.elsewhere


def test_the_coloured_tracts_say_the_numbers_of_the_table(release: ServedRelease) -> None:
    state = ViewState(areas=("county:10001",), show="tracts")
    frame = draw.tract_frame(release, state)
    table = release.table(state, "tract").set_index("unit_id")["workers"]
    shown = frame.set_index("tract_id")["workers"]
    assert shown[shown > 0].to_dict() == table.drop([ELSEWHERE, UNDRAWN_TRACT], errors="ignore").to_dict()
    assert UNDRAWN_TRACT not in shown.index


def test_legend_source_year_and_promise_are_on_the_picture(release: ServedRelease) -> None:
    for show in ("points", "tracts", "density"):
        figure = draw.whole(release, ViewState(show=show, areas=(TRACT,)), "/")  # type: ignore[arg-type]  # a literal by parametrize
        text = figure.layout.annotations[0].text
        assert all(part in text for part in ("Made by hand, 2019", "ε = 8.98", "δ = 10⁻⁶", "Tract 0.01"))
        assert "NOT FOR RELEASE" not in text


def test_a_release_that_must_not_be_used_says_so_on_the_picture(tmp_path: Path) -> None:
    release = ServedRelease(write_release(tmp_path / "x", n_pairs=50, status="not for release"), "x")
    assert "NOT FOR RELEASE" in draw.whole(release, ViewState(), "/").layout.annotations[0].text


def test_names_are_text_and_never_markup(release: ServedRelease) -> None:
    figure = draw.whole(release, ViewState(areas=("stplc:4460",)), "/")
    assert "&lt;b&gt;Bold" in figure.layout.annotations[0].text


def test_a_patch_leaves_the_camera_alone_unless_it_should_move(release: ServedRelease) -> None:
    figure = draw.whole(release, ViewState(areas=(TRACT,)), "/")
    for move in (False, True):
        places = [
            tuple(step["location"]) for step in draw.changes(figure, move=move).to_plotly_json()["operations"]
        ]
        assert (("layout", "map", "center") in places) is move
        assert ("layout", "map", "style") not in places


def test_the_map_offers_no_upload() -> None:
    assert commute_map.CONFIG["showSendToCloud"] is False
    assert commute_map.CONFIG["plotlyServerURL"] == ""
    assert commute_map.CONFIG["displaylogo"] is False


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=30))
def test_classes_hold_every_count_and_fit_the_colours(counts: list[int]) -> None:
    classes = palette.count_classes(min(counts), max(counts))
    assert len(classes) <= len(palette.RAMP) or max(counts) >= 10**6
    assert classes[0][0] <= min(counts)
    assert classes[-1][0] <= max(counts)
    for (_, high), (low, _) in itertools.pairwise(classes):
        assert high is not None
        assert high + 1 == low
    if min(counts) < 3 <= 10 <= max(counts):
        assert classes[:2] == [(1, 2), (3, 9)]


def test_the_ramp_darkens_all_the_way() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light = [lightness(colour) for colour in palette.RAMP]
    assert all(first - second > 12 for first, second in itertools.pairwise(light))


@given(
    st.floats(-170, 160),
    st.floats(-70, 60),
    st.floats(0.02, 9),
    st.floats(0.02, 9),
    st.tuples(st.integers(320, 1500), st.integers(320, 1500)),
    st.integers(0, 80),
)
def test_the_camera_holds_its_bounds_above_the_caption(
    west: float, south: float, width: float, height: float, size: tuple[int, int], below: int
) -> None:
    def northing(lat: float) -> float:
        return math.asinh(math.tan(math.radians(lat)))

    look = camera.fitted((west, south, west + width, south + height), size, below)
    pixels = 512 * 2 ** look["zoom"] / (2 * math.pi)
    assert math.radians(width) * pixels <= size[0]
    assert look["center"]["lon"] == pytest.approx(west + width / 2)
    middle = northing(look["center"]["lat"])
    assert (northing(south + height) - middle) * pixels <= size[1] / 2
    assert (middle - northing(south)) * pixels <= size[1] / 2 - below


def test_a_narrow_picture_of_points_has_no_colour_bar(release: ServedRelease) -> None:
    figure = draw.whole(release, ViewState(areas=(TRACT,)), "/", 390, 490)
    assert "colorbar" not in plain(figure)["data"][commute_map.POINTS]["marker"]


def test_homes_beyond_the_map_do_not_move_the_camera(release: ServedRelease) -> None:
    state = ViewState(areas=(f"state:{ELSEWHERE}",), side="home")
    west, south, east, north = draw.view_bounds(release, state)
    home = layers.home_bounds(release)
    assert west >= home[0] - 0.1
    assert east <= home[2] + 0.1
    assert south >= home[1] - 0.1
    assert north <= home[3] + 0.1


def test_the_camera_leaves_out_the_far_few() -> None:
    lon, lat = (
        numpy.append(numpy.linspace(-72, -71, 99), -120.0),
        numpy.append(numpy.linspace(41, 42, 99), 10.0),
    )
    west, south, east, north = camera.around(lon, lat, numpy.ones(100), within=(-71.5, 41.5, -70.5, 41.6))
    assert -72 <= west < -71.9
    assert east == -70.5
    assert 41 <= south < north <= 42
