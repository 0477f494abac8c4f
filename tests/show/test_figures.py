"""The map figure: its parts and their order, nothing from the network, and classes that hold every count."""

from __future__ import annotations

import functools
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import geopandas
import numpy
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from geodata.geography.area_shapes import square_miles
from mapapp.answers import served_answers, words
from mapapp.answers.commutes import lines as commute_lines
from mapapp.answers.release import Release
from mapapp.explore.callbacks import draw
from mapapp.explore.pages import controls
from mapapp.question.analyses import Show
from mapapp.question.fields import Per, Theme
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content import (
    area_outlines,
    camera,
    flow_shapes,
    ground,
    inflow_diagram,
    map_layers,
    palette,
)
from mapapp.show.content import map_content as land_area
from mapapp.show.content.colored_units import NOT_COVERED, PARTLY, colored_units
from mapapp.show.content.dots import degrees_of
from mapapp.show.content.map_captions import map_caption
from mapapp.show.content.map_legends import map_legend
from mapapp.show.content.surroundings import Surroundings
from mapapp.show.content.unit_circles import diameters, legend_values, unit_circles
from mapapp.show.plotly import charts, commute_map, flow_lines
from tests.addresses import settled, shown
from tests.figures import checked
from tests.map_contents import content_of
from tests.releases import ELSEWHERE, UNDRAWN_TRACT, write_release

TRACT = "tract:10001000000"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


def plain(figure: Any) -> Any:
    return json.loads(figure.to_json())


@pytest.mark.parametrize("show", ["points", "areas", "density"])
@pytest.mark.parametrize("areas", [(), (TRACT,)])
def test_no_figure_names_another_machine(release: Release, show: Any, areas: tuple[str, ...]) -> None:
    figure = checked(draw.map_figure(content_of(release, *shown(show=show, areas=areas)), "/"))
    text = json.dumps({"data": plain(figure)["data"], "map": plain(figure)["layout"]["map"]})
    assert "http" not in text
    assert "//" not in text
    assert "glyphs" not in text
    style = figure.layout.map.style
    assert style["sources"], "an empty `sources` breaks the map at its first move"
    assert all(source["data"].startswith("/geo/squareland/") for source in style["sources"].values())


def test_polygons_come_by_address_and_not_in_the_figure(release: Release) -> None:
    figure = checked(draw.map_figure(content_of(release, *shown(areas=(TRACT,))), "/base/"))
    assert figure.data[commute_map.UNITS].geojson.startswith("/base/geo/")
    assert figure.layout.map.layers[commute_map.OUTLINE].source.endswith(f"areas.geojson?area={TRACT}")
    assert len(figure.to_json()) < 200_000


def test_traces_and_layers_keep_their_places(release: Release) -> None:
    for show in ("points", "areas", "density"):
        figure = checked(draw.map_figure(content_of(release, *shown(show=show, areas=(TRACT,))), "/"))
        assert [trace.type for trace in figure.data] == [
            "choroplethmap",
            *["scattermap"] * commute_map.LINES[-1],
        ]
        kinds = [layer.sourcetype for layer in figure.layout.map.layers]
        assert kinds == ["raster" if show == "points" else "image", *["geojson"] * 6]
        assert figure.layout.map.layers[commute_map.PICTURE].visible is (show != "areas")


def test_dots_are_tiles_of_the_server_that_only_their_view_decides(release: Release) -> None:
    def tiles(**fields: Any) -> tuple[str, Any]:
        content = content_of(release, *shown(theme="light", areas=(TRACT,), **fields))
        figure = checked(draw.map_figure(content, "/base/"))
        return figure.layout.map.layers[commute_map.PICTURE].source[0], figure.layout.meta["morning"]

    address, moving = tiles()
    assert address == (
        f"/base/dots/squareland/{release.version}/{{z}}/{{x}}/{{y}}{{ratio}}.png?area={TRACT}&theme=light"
    )
    assert tiles(every=True, morning=True)[0] == address
    assert tiles(color="age")[0] == address + "&color=age"
    assert moving == {
        "url": f"/base/morning/squareland/{release.version}.json?area={TRACT}&theme=light",
        "is_open": False,
    }
    assert tiles(morning=True)[1]["is_open"]


def test_the_colored_tracts_say_the_numbers_of_the_table(release: Release) -> None:
    state = Question(areas=("county:10001",))
    content = content_of(release, state)
    table = served_answers.units(release, settled(release, state)).set_index("unit_id")["workers"]
    shown = dict(zip(content.units.ids, content.workers, strict=True))
    drawn = table.drop([ELSEWHERE, UNDRAWN_TRACT], errors="ignore").to_dict()
    assert {unit: workers for unit, workers in shown.items() if workers} == drawn
    assert UNDRAWN_TRACT not in shown


def test_legend_source_year_and_promise_are_on_the_picture(release: Release) -> None:
    for show in ("points", "areas", "density"):
        figure = checked(draw.map_figure(content_of(release, *shown(show=show, areas=(TRACT,))), "/"))
        text = figure.layout.annotations[0].text
        assert all(part in text for part in ("Made by hand, 2019", "ε = 8.98", "δ = 10⁻⁶", "Tract 0.01"))
        assert "NOT FOR RELEASE" not in text


def test_a_release_that_must_not_be_used_says_so_on_the_picture(tmp_path: Path) -> None:
    release = Release.open(write_release(tmp_path / "x", n_pairs=50, status="not for release"), "x")
    assert (
        "NOT FOR RELEASE"
        in checked(draw.map_figure(content_of(release, *shown()), "/")).layout.annotations[0].text
    )


def test_names_are_text_and_never_markup(release: Release) -> None:
    figure = checked(draw.map_figure(content_of(release, *shown(areas=("stplc:4460",))), "/"))
    assert "&lt;b&gt;Bold" in figure.layout.annotations[0].text


def test_a_patch_leaves_the_camera_alone_unless_it_should_move(release: Release) -> None:
    figure = draw.map_figure(content_of(release, *shown(areas=(TRACT,))), "/")
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
def test_classes_hold_every_count_and_fit_the_colors(counts: list[int]) -> None:
    classes = palette.count_classes(min(counts), max(counts))
    assert len(classes) <= palette.MOST_CLASSES
    assert classes[0][0] <= min(counts)
    assert classes[-1][0] <= max(counts)
    for (_, high), (low, _) in itertools.pairwise(classes):
        assert high is not None
        assert high + 1 == low
    if min(counts) < 3 <= 10 <= max(counts):
        assert classes[:2] == [(1, 2), (3, 9)]


@given(st.lists(st.integers(1, 10**8), max_size=40))
def test_the_legend_of_widths_has_round_numbers_of_flows_that_are_drawn(counts: list[int]) -> None:
    found = flow_shapes.legend_flows(numpy.array(counts, dtype=numpy.int64))
    assert len(found) <= len(commute_map.LINES)
    assert found == sorted(set(found))
    assert bool(found) == bool(counts)
    assert all(min(counts) <= each <= max(counts) or each == found[-1] for each in found)
    assert all(str(each).rstrip("0") in "123456789" for each in found)


def test_the_ramp_darkens_all_the_way() -> None:
    def lightness(color: str) -> float:
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for theme, toward in (("light", -1), ("dark", 1)):
        light = [lightness(color) for color in palette.COLOR_SCHEMES[theme].ramp]
        assert all(toward * (second - first) > 12 for first, second in itertools.pairwise(light))


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

    look = camera.fit_bounds((west, south, west + width, south + height), size, below)
    pixels = 512 * 2 ** look["zoom"] / (2 * math.pi)
    assert math.radians(width) * pixels <= size[0]
    assert look["center"]["lon"] == pytest.approx(west + width / 2)
    middle = northing(look["center"]["lat"])
    assert (northing(south + height) - middle) * pixels <= size[1] / 2
    assert (middle - northing(south)) * pixels <= size[1] / 2 - below


@pytest.mark.parametrize("show", get_args(Show))
def test_a_figure_carries_its_legend_and_plotly_draws_none(release: Release, show: Show) -> None:
    content = content_of(release, *shown(areas=(TRACT,), show=show))
    figure = checked(draw.map_figure(content, "/"))
    assert figure.layout.meta["legend"] == map_legend(content, figure.layout.map.zoom).as_meta()
    assert not figure.layout.showlegend
    assert not any(trace.showlegend for trace in figure.data)
    assert "colorbar" not in str(plain(figure)["data"])


def test_homes_beyond_the_map_do_not_move_the_camera(release: Release) -> None:
    state = Question(areas=(f"state:{ELSEWHERE}",), side="home")
    west, south, east, north = content_of(release, state).bounds
    home = map_layers.home_bounds(release)
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


def test_lines_show_what_the_caption_says(release: Release) -> None:
    state, view = shown(areas=("county:10001",), show="lines", layer="county")
    lines = commute_lines.lines(release, settled(release, state))
    units = served_answers.units(release, settled(release, state)).set_index("unit_id")["workers"]
    outer = units.drop(["10001", ELSEWHERE], errors="ignore")
    assert sorted(lines.frame["workers"]) == sorted(outer)
    assert lines.within == units["10001"]
    assert lines.total == units.sum()
    text = map_caption(content_of(release, state, view))
    assert f"shows {100 * outer.sum() / units.sum():.1f}% of {units.sum():,} jobs" in text
    figure = checked(draw.map_figure(content_of(release, state, view), "/"))
    assert figure.layout.meta["flows"]["url"].startswith("/flows/squareland/")
    assert all(trace.lon in (None, (None,)) for trace in figure.data[1:]), "the page's script draws the flows"
    assert figure.data[commute_map.UNITS].hoverinfo == "skip"


def test_a_flow_matrix_is_drawn_as_lines_without_those_that_stay(release: Release) -> None:
    state = Question(analysis="flow-matrix")
    drawn = commute_lines.lines(release, settled(release, state))
    cells = served_answers.result(release, settled(release, state)).tables()["cells"]
    both = cells[(cells["home_kind"] == "unit") & (cells["work_kind"] == "unit")]
    assert drawn.within is not None
    assert drawn.workers + drawn.within == both["workers"].sum()
    assert drawn.total == cells["workers"].sum()


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=40, unique=True))
def test_larger_flows_are_wider_and_stronger(counts: list[int]) -> None:
    counts = sorted(counts)
    strengths = functools.partial(flow_shapes.flow_strengths, n_flows=len(counts))
    for of in (flow_shapes.flow_widths, strengths):
        assert (numpy.diff(of(counts, counts[-1])) >= 0).all()
        assert of(counts[0], counts[-1]) <= of(counts[-1], counts[-1])
    assert flow_shapes.flow_opacity(0.0) < flow_shapes.flow_opacity(1.0) <= 1


def test_a_flow_lies_on_its_right_and_points_at_the_workplace() -> None:
    home, work = numpy.array([[0.0, 0.0], [100.0, 0.0]]), numpy.array([[100.0, 0.0], [0.0, 0.0]])
    rims = numpy.array([[10.0, 5.0], [5.0, 10.0]])
    there, back = flow_shapes.flow_outlines(home, work, numpy.array([6.0, 6.0]), rims, 1.0)
    assert (there[:, 1] <= -flow_shapes.GAP_PX).all(), "on the way east, the right is south"
    assert (back[:, 1] >= flow_shapes.GAP_PX).all(), "so both directions can be seen"
    assert (there[:, 0].min(), there[:, 0].max()) == pytest.approx((10, 95)), "between the circles"
    start, tip, head, neck, tail, _ = there
    assert tip[0] == there[:, 0].max()
    assert head[1] < neck[1] < tail[1] < start[1] == tip[1], "wider toward the head, which is the widest"
    assert start[1] - tail[1] == pytest.approx(flow_shapes.TAPER * 6)


def test_a_flow_between_circles_that_touch_can_still_be_seen() -> None:
    ends = numpy.array([[0.0, 0.0]]), numpy.array([[12.0, 0.0]])
    outline = flow_shapes.flow_outlines(*ends, numpy.array([4.0]), numpy.array([[10.0, 10.0]]), 1.0)[0]
    assert numpy.ptp(outline[:, 0]) == pytest.approx(flow_shapes.LEAST_LENGTH_PX)


def test_the_area_of_a_circle_is_to_scale() -> None:
    small, large, none = flow_shapes.circle_radii([2_500, 10_000, 0], 10_000)
    assert (large / small) ** 2 == pytest.approx(4)
    assert none == 0


def test_the_script_gets_every_line_with_both_ends(release: Release) -> None:
    question = Question(analysis="flow-matrix")
    drawn = commute_lines.lines(release, settled(release, question))
    found = json.loads(flow_lines.flow_file(drawn, "said"))
    ends = [[(found["lon"][at], found["lat"][at]) for at in found[end]] for end in ("home", "work")]
    for end, name in zip(ends, ("from", "to"), strict=True):
        of_frame = drawn.frame[[f"{name}_lon_deg", f"{name}_lat_deg"]].to_numpy()
        assert numpy.allclose(end, of_frame, atol=1e-5)
    assert found["workers"] == drawn.frame["workers"].tolist() == sorted(found["workers"], reverse=True)
    assert found["caption"] == "said"
    cells = served_answers.result(release, settled(release, question)).tables()["cells"]
    cells = cells[(cells["home_kind"] == "unit") & (cells["work_kind"] == "unit")]
    between = cells[cells["home_id"] != cells["work_id"]]
    for way, column in (("come", "work_name"), ("go", "home_name")):
        of_name = between.groupby(column)["workers"].sum()
        assert dict(zip(found["names"], found[way], strict=True)) == {
            name: int(of_name.get(name, 0)) for name in found["names"]
        }
    for error, known in zip(found["errors"], drawn.frame["expected_error"], strict=True):
        assert error == words.error_text(known)


def test_the_slider_offers_the_threshold_of_the_address() -> None:
    assert flow_lines.slider_steps(300, 1) == [1, 2, 5, 10, 20, 50, 100, 200]
    assert 37 in flow_lines.slider_steps(300, 37)
    assert flow_lines.slider_steps(0, 5) == [1, 5]


def test_a_legend_does_not_count_units_whose_workplaces_are_not_covered(release: Release) -> None:
    question, view = shown(analysis="comparison", show="areas", layer="tract", areas=("all",))
    content = content_of(release, question, view)
    found = colored_units(content)
    covered = [unit.startswith("10") for unit in found.units.ids]
    assert 0 < sum(covered) < len(covered)
    *known, missing = found.classes
    assert sum(each.size for each in known) == sum(covered)
    assert (missing.text, missing.size) == (NOT_COVERED, len(covered) - sum(covered))
    assert missing.is_hatched
    assert set(found.not_covered) == {
        unit for unit, one in zip(found.units.ids, covered, strict=True) if not one
    }
    figure = checked(draw.map_figure(content, "/"))
    assert set(figure.layout.meta["missing"]["units"]) == set(found.not_covered)
    assert figure.layout.meta["missing"]["url"].endswith("/unit-tract.geojson")
    extras = figure.layout.meta["legend"]["extras"]
    assert [each["is_hatched"] for each in extras if each["text"] == NOT_COVERED] == [True]
    labels = draw.unit_labels(content_of(release, question))
    assert ["not covered" in text for text in labels.texts] == [not one for one in covered]
    homes, view = shown(analysis="comparison", side="home", show="areas", layer="tract", areas=("all",))
    assert sum(each.size for each in colored_units(content_of(release, homes, view)).classes) == len(covered)
    assert checked(draw.map_figure(content_of(release, homes, view), "/")).layout.meta["missing"] is None


def test_inflow_and_outflow_are_points_outside_the_area(release: Release) -> None:
    content = content_of(release, *shown(areas=("county:10001",), analysis="inflow-outflow"))
    answer: Any = served_answers.result(release, content.question)
    assert content.kind == "points"
    for group, number in zip(content.dots.groups, (answer.inflow, answer.outflow), strict=True):
        assert 0 < group.n_dots <= number.value, "far homes have no place"
    legend = checked(draw.map_figure(content, "/")).layout.meta["legend"]
    names = [item["text"] for item in legend["items"]]
    assert names == ["Homes of those who come in", "Workplaces of those who go out"]
    west, south, east, north = content.bounds
    lon, lat = (
        numpy.concatenate(degrees)
        for degrees in zip(*(degrees_of(layer.dots) for layer in content.dots.layers), strict=True)
    )
    assert checked(draw.map_figure(content, "/")).layout.meta["morning"] is None
    assert ((lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)).mean() >= 0.8


def test_the_bands_of_inflow_and_outflow_are_to_scale(release: Release) -> None:
    question = settled(release, Question(areas=("county:10001",), analysis="inflow-outflow"))
    found: Any = served_answers.result(release, question)
    answer = replace(
        found,
        **{name: replace(getattr(found, name), expected_error=7.0) for name in ("inflow", "stay", "outflow")},
    )
    scheme = palette.COLOR_SCHEMES["light"]
    bands = inflow_diagram.inflow_bands(answer, scheme)
    numbers = (answer.inflow, answer.stay, answer.outflow)
    tall = [max(y for _, y in band.corners) - min(y for _, y in band.corners) for band in bands]
    counts = numpy.array([number.value for number in numbers])
    assert numpy.allclose(tall, inflow_diagram.TALL * counts / counts.sum())
    svg = inflow_diagram.inflow_diagram(answer, scheme)
    for band, number in zip(bands, numbers, strict=True):
        assert band.number == f"{number.value:,}"
        assert band.error == words.error_text(7.0) != ""
        assert band.words in inflow_diagram.inflow_words(answer, scheme)
        assert f">{band.number}<" in svg
    come, stay, _ = bands
    assert stay.label[1] - come.label[1] >= 30, "texts on one side do not overlap"


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 100_000, 0), (100_000, 0, 1), (0, 1, 100_000)])
def test_the_texts_of_a_diagram_stay_inside_it_and_apart(
    release: Release, counts: tuple[int, int, int]
) -> None:
    question = settled(release, Question(areas=("county:10001",), analysis="inflow-outflow"))
    answer: Any = served_answers.result(release, question)
    come, stay, go = (replace(answer.inflow, value=count) for count in counts)
    changed = replace(answer, inflow=come, stay=stay, outflow=go)
    bands = inflow_diagram.inflow_bands(changed, palette.COLOR_SCHEMES["dark"])
    for band in bands:
        assert 15 <= band.label[1] <= inflow_diagram.HEIGHT_PX - 15
    assert bands[1].label[1] - bands[0].label[1] >= 30


@pytest.mark.parametrize("theme", get_args(Theme))
def test_a_ratio_is_drawn_in_classes_around_one(release: Release, theme: Theme) -> None:
    question, view = shown(areas=("county:10001",), analysis="job-balance", layer="tract", theme=theme)
    assert content_of(release, question, view).kind == "ratio"
    trace = checked(draw.map_figure(content_of(release, question, view), "/")).data[commute_map.UNITS]
    answer: Any = served_answers.result(release, settled(release, question))
    units = answer.units.set_index("unit_id")
    limits = (0, 0.5, 0.8, 1.25, 2, math.inf)
    for unit_id, at, label in zip(trace.locations, trace.z, trace.customdata, strict=True):
        if unit_id not in units.index:
            assert at in (0, 6), "not in the area, or not covered"
            assert "not in the area" in label
        elif units["workers"][unit_id] < 10:
            assert (at, units["caution"][unit_id] in label) == (0, True)
        else:
            assert limits[at - 1] <= units["jobs_per_resident"][unit_id] < limits[at]
            assert f"{units['jobs'][unit_id]:,} jobs" in label
    legend = map_legend(content_of(release, question, view))
    texts = [f"{item.text} ({item.more})" for item in legend.items]
    colors = [color for _, color in trace.colorscale[::2]]
    sizes = numpy.bincount(numpy.asarray(trace.z)[numpy.isin(trace.locations, units.index)], minlength=7)
    assert sizes.sum() < len(trace.z), "tracts outside the area are not counted"
    blank = [int(item.more) for item in legend.extras if item.text == "under 10 residents"]
    assert sum(blank) == sizes[0]
    assert texts[2] == f"0.8–1.25 (even) ({sizes[3]})"
    assert len(texts) == 5
    assert colors[3] == palette.COLOR_SCHEMES[theme].same
    text = map_caption(content_of(release, question, view))
    assert text == "Jobs per resident worker in County 10001, by tract"


def test_half_and_twice_are_equally_far_from_one() -> None:
    limits = numpy.array(palette.RATIO_LIMITS)
    assert numpy.allclose(limits * limits[::-1], 1)
    ratios = numpy.array([numpy.nan, 0.0, 0.5, 1.0, 1.9, 2.0, 4.0, 1e9])
    assert palette.ratio_classes(ratios).tolist() == [0, 1, 2, 3, 4, 5, 5, 5]


def test_areas_are_colored_by_density(release: Release) -> None:
    question, view = shown(areas=("county:10001",), show="areas", layer="county")
    content = content_of(release, question, view)
    assert content.kind == "areas"
    found, workers = colored_units(content), numpy.array(content.workers)
    land = land_area.land_square_miles(release, "county", map_layers.unit_shapes(release, "county"))
    assert numpy.allclose(found.value, workers / [land[unit] for unit in content.units.ids])
    trace = checked(draw.map_figure(content, "/")).data[commute_map.UNITS]
    assert list(trace.z) == found.of.tolist()
    legend = map_legend(content)
    assert legend.title == "Workers per square mile"
    assert 1 <= len(legend.items) <= palette.MOST_CLASSES
    assert len(legend.ticks) == len(legend.items) + 1


@pytest.mark.parametrize("per", ["area", "share"])
def test_workers_and_shares_are_circles_and_fill_no_area(release: Release, per: Per) -> None:
    question, view = shown(areas=("county:10001",), show="areas", layer="tract", per=per)
    content = content_of(release, question, view)
    assert content.kind == "circles"
    figure = checked(draw.map_figure(content, "/"))
    assert set(figure.data[commute_map.UNITS].z) == {0}
    workers = dict(zip(content.units.ids, content.workers, strict=True))
    total = served_answers.units(release, settled(release, question))["workers"].sum()
    circles = unit_circles(content)
    expected = [workers[unit] * (100 / total if per == "share" else 1) for unit in circles.ids]
    assert numpy.allclose(circles.value, expected)
    assert (numpy.diff(circles.value) <= 0).all(), "the largest is the lowest"
    assert set(circles.ids) == {unit for unit, n in workers.items() if n}
    shapes = map_layers.unit_shapes(release, "tract")
    for unit, lon, lat in zip(circles.ids, circles.lon_deg, circles.lat_deg, strict=True):
        assert shapely.intersects(shapes[unit], shapely.Point(lon, lat))
    trace = figure.data[commute_map.CIRCLES]
    assert numpy.allclose(trace.marker.size[1::2], circles.pixels)
    assert all(
        ring > circle for ring, circle in zip(trace.marker.size[::2], trace.marker.size[1::2], strict=True)
    )
    assert controls.show_value(question, view, content.kind) == "areas"


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=300))
def test_areas_of_circles_are_in_proportion(values: list[float]) -> None:
    found = diameters(values, numpy.array(values))
    assert found.max() <= 60
    large = (
        found > found.min() + 1e-9
    )  # the smallest circles are drawn a little larger, so that they can be seen
    ratio = found[large] ** 2 / numpy.array(values)[large]
    assert numpy.allclose(ratio, ratio[:1])


@given(st.floats(0, 1e9), st.booleans())
def test_legends_of_circles_have_round_values_that_occur(largest: float, whole: bool) -> None:
    found = legend_values(largest, whole=whole)
    assert len(found) <= 3
    assert found == sorted(set(found), reverse=True)
    assert all(value <= largest * (1 + 1e-6) for value in found)
    assert not whole or all(value == round(value) >= 1 for value in found)


def test_a_narrow_map_has_a_caption_of_its_subject_alone(release: Release) -> None:
    question, view = shown(areas=("county:10001",))
    narrow, wide = (
        checked(draw.map_figure(content_of(release, question, view), "/", width))
        .layout.annotations[0]
        .text.replace("<br>", " ")
        for width in (390, 1440)
    )
    assert "Synthetic workers" in wide
    assert "Synthetic workers" not in narrow
    assert narrow in wide


def test_land_leaves_out_water_too_small_to_draw(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Release.open(release.store.path, "fresh")
    shapes = map_layers.unit_shapes(fresh, "county")
    county, shape = next(iter(shapes.items()))
    pond = shapely.buffer(shapely.point_on_surface(shape), 5e-4)
    water = geopandas.GeoDataFrame({"name": [""], "kind": ["lake"]}, geometry=[pond], crs="EPSG:4326")
    monkeypatch.setattr(ground, "has_ground", lambda *_: True)
    monkeypatch.setattr(ground, "water_of", lambda _: water)
    land = land_area.land_square_miles(fresh, "county", shapes)
    whole, wet = square_miles([shape, pond])
    assert land[county] == pytest.approx(whole - wet, rel=1e-9)
    assert land[county] < whole


def test_a_degree_of_latitude_is_69_miles() -> None:
    box = shapely.box(-71.0, 41.0, -70.0, 42.0)
    assert square_miles([box])[0] == pytest.approx(69.1 * 69.1 * math.cos(math.radians(41.5)), rel=0.002)


def test_a_pair_is_drawn_at_both_ends(release: Release) -> None:
    state = Question(areas=("county:10001",), others=("county:10003",), analysis="paired")
    figure = checked(draw.map_figure(content_of(release, state, View()), "/"))
    answer: Any = served_answers.result(release, settled(release, state))
    dots = content_of(release, state, View()).dots
    assert [(group.name, group.n_dots) for group in dots.groups] == [
        ("Homes", answer.workers.value),
        ("Workplaces", answer.workers.value),
    ]
    assert figure.layout.map.layers[commute_map.OTHER_OUTLINE].source.endswith("county:10003")


def test_the_rose_has_every_worker(release: Release) -> None:
    answer: Any = served_answers.result(
        release, settled(release, Question(areas=("county:10001",), analysis="distance-direction"))
    )
    rose = checked(charts.rose(answer.cells, palette.COLOR_SCHEMES["dark"]))
    placed = answer.cells.loc[answer.cells["direction"] != "", "workers"].sum()
    assert sum(sum(trace.r) for trace in rose.data) == placed


def test_dark_and_light_differ_in_color_alone(release: Release) -> None:
    light, dark = (
        plain(checked(draw.map_figure(content_of(release, *shown(areas=(TRACT,), theme=theme)), "/")))
        for theme in ("light", "dark")
    )
    assert light["layout"]["map"]["center"] == dark["layout"]["map"]["center"]
    assert light["layout"]["map"]["style"] == dark["layout"]["map"]["style"], "another one would be read anew"
    assert light["layout"]["meta"]["paint"].keys() == {
        each["id"] for each in light["layout"]["map"]["style"]["layers"]
    }
    assert light["layout"]["meta"]["paint"] != dark["layout"]["meta"]["paint"]
    tiles = [each["layout"]["map"]["layers"][commute_map.PICTURE]["source"][0] for each in (light, dark)]
    assert tiles[0].replace("theme=light", "theme=dark") == tiles[1]
    places = [
        tuple(step["location"])
        for step in draw.changes(
            draw.map_figure(content_of(release, *shown(theme="dark")), "/"), move=False, restyle=True
        ).to_plotly_json()["operations"]
    ]
    assert ("layout", "meta") in places
    assert ("layout", "map", "style") not in places


def test_the_outline_of_an_area_ends_at_the_packaged_shore(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And stays whole where nothing but sea would be left."""
    county = area_outlines.selected_shape(release, ("county:10001",))
    west, south, east, north = shapely.bounds(county)
    half = shapely.box(west, south, (west + east) / 2, north)
    rest = shapely.difference(county, shapely.buffer(half, 0.005, quad_segs=2))
    for sea, left in ((half, rest), (shapely.box(-180, -90, 180, 90), county)):
        around = Surroundings(numpy.array([sea]), numpy.array(["sea"]), [], sea)
        monkeypatch.setattr(area_outlines, "surroundings_of", lambda _release, around=around: around)
        assert shapely.equals(area_outlines.cut_at_shore(release, county), left)


def test_points_without_a_place_are_not_drawn(release: Release) -> None:
    places = served_answers.places(release, Question(), "home")
    assert numpy.isfinite(places["lon_deg"]).all()
    assert numpy.isfinite(places["lat_deg"]).all()


def test_a_density_is_drawn_once_whatever_the_table_shows(release: Release) -> None:
    question = Question(areas=(f"tract:{release.areas.units('tract').rows['unit_id'].iloc[0]}",))
    image = content_of(release, question).density
    assert content_of(release, replace(question, layer="county", edges=(5.0,))).density is image
    assert content_of(release, replace(question, analysis="distance-direction")).density is (
        content_of(release, replace(question, analysis="destinations")).density
    )
    assert content_of(release, replace(question, side="home")).density is not image
    assert content_of(release, question, View(theme="dark")).density is not image


def test_a_comparison_cuts_units_off_at_the_border_of_its_area(release: Release) -> None:
    cut, view = shown(areas=("county:10001",), analysis="comparison", show="areas", layer="stplc")
    blocks = release.store.table("blocks")
    mine = blocks[blocks["county_id"] == "10001"]
    of_place = blocks["layer_stplc"].value_counts().to_dict()
    here = mine["layer_stplc"].value_counts().drop("", errors="ignore").to_dict()
    partly = {place for place, n in here.items() if n < of_place[place]}
    assert partly
    county = area_outlines.selected_shape(release, ("county:10001",)).buffer(5e-4)
    whole, drawn = map_layers.unit_shapes(release, "stplc"), content_of(release, cut).shapes
    assert list(drawn) == list(whole)
    for place, shape in drawn.items():
        assert (shape is not whole[place]) == (place in partly)
        assert place not in partly or county.covers(shape)
        assert place not in partly or not county.covers(whole[place])
    assert PARTLY in colored_units(content_of(release, cut, view)).notes
    labels = draw.unit_labels(content_of(release, cut))
    for place, text in zip(labels.ids, labels.texts, strict=True):
        assert ("only its part" in text) == (place in partly)
        assert ("not in the chosen area" in text) == (place not in set(here))
    figure = draw.map_figure(content_of(release, cut, view), "/")
    assert "shown.geojson?" in checked(figure).data[commute_map.UNITS].geojson
    assert sum(each.size for each in colored_units(content_of(release, cut, view)).classes) == len(
        set(here) & set(whole)
    )


def test_land_of_a_cut_unit_is_that_of_its_part(release: Release) -> None:
    cut, view = shown(areas=("county:10001",), analysis="comparison", show="areas", layer="stplc")
    content = content_of(release, cut, view)
    found = colored_units(content)
    for unit in content.cut_shapes:
        at = found.units.ids.index(unit)
        area = square_miles([content.shapes[unit]])[0]
        least, most = (content.workers[at] / (share * area) for share in (1, land_area.LEAST_LAND))
        assert least - 1e-9 <= found.value[at] <= most + 1e-9


def test_an_area_of_whole_units_is_drawn_as_all_units_are(release: Release) -> None:
    whole, view = shown(areas=("county:10001",), analysis="comparison", show="areas", layer="tract")
    assert content_of(release, whole).shapes is map_layers.unit_shapes(release, "tract")
    assert PARTLY not in colored_units(content_of(release, whole, view)).notes
    figure = checked(draw.map_figure(content_of(release, whole, view), "/"))
    assert figure.data[commute_map.UNITS].geojson.endswith("/unit-tract.geojson")
