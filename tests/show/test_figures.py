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

from mapapp.answers import served_answers
from mapapp.answers.commutes import lines as commute_lines
from mapapp.answers.release import Release
from mapapp.explore.callbacks import draw
from mapapp.question.fields import Per, Theme
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content import camera, flow_shapes, ground, map_content, map_layers, palette
from mapapp.show.content import map_content as land_area
from mapapp.show.content.map_captions import map_caption
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
        assert kinds == ["geojson", "geojson", "image", "geojson", "geojson", "geojson", "geojson"]
        assert figure.layout.map.layers[commute_map.DENSITY].visible is (show == "density")
        assert bool(figure.data[commute_map.UNITS].showscale) is (show == "areas")


def test_a_point_for_every_worker_whose_home_has_a_place(release: Release) -> None:
    state = Question(areas=("county:10001",))
    points = checked(draw.map_figure(content_of(release, state, View()), "/")).data[commute_map.POINTS]
    units = served_answers.units(release, settled(release, state))
    elsewhere = units.loc[units["kind"] == "elsewhere", "workers"].sum()
    assert len(points.lon) == len(points.lat) == units["workers"].sum() - elsewhere


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
    assert len(classes) <= len(palette.RAMP) or max(counts) >= 10**6
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

    light = [lightness(color) for color in palette.RAMP]
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


def test_a_narrow_picture_of_points_has_no_color_bar(release: Release) -> None:
    figure = checked(draw.map_figure(content_of(release, *shown(areas=(TRACT,))), "/", 390, 490))
    assert "colorbar" not in plain(figure)["data"][commute_map.POINTS]["marker"]


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


def test_a_flow_bends_to_its_right_and_narrows_toward_the_workplace() -> None:
    home, work = numpy.array([[0.0, 0.0], [10.0, 0.0]]), numpy.array([[10.0, 0.0], [0.0, 0.0]])
    there, back = flow_shapes.flow_outlines(home, work, numpy.array([1.0, 1.0]))
    corners = len(there) // 2
    assert there[corners // 2, 1] < -0.5, "east bends to the south"
    assert back[corners // 2, 1] > 0.5, "west bends to the north, so both can be seen"
    width = numpy.hypot(*(there[:corners] - there[::-1][:corners]).T)
    assert width[0] == pytest.approx(1)
    assert width[-1] == pytest.approx(flow_shapes.TAPER)
    assert (numpy.diff(width) < 0).all()


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


def test_the_slider_offers_the_threshold_of_the_address() -> None:
    assert flow_lines.slider_steps(300, 1) == [1, 2, 5, 10, 20, 50, 100, 200]
    assert 37 in flow_lines.slider_steps(300, 37)
    assert flow_lines.slider_steps(0, 5) == [1, 5]


def test_a_legend_does_not_count_units_whose_workplaces_are_not_covered(release: Release) -> None:
    question, view = shown(analysis="comparison", show="areas", layer="tract", areas=("all",))
    found = content_of(release, question, view).colored
    covered = [unit.startswith("10") for unit in found.units.ids]
    assert 0 < sum(covered) < len(covered)
    assert sum(found.sizes) == sum(covered)
    labels = draw.unit_labels(content_of(release, question))
    assert ["not covered" in text for text in labels.texts] == [not one for one in covered]
    homes, view = shown(analysis="comparison", side="home", show="areas", layer="tract", areas=("all",))
    assert sum(content_of(release, homes, view).colored.sizes) == len(covered)


def test_arrows_are_closed_shapes_and_have_labels(release: Release) -> None:
    figure = checked(
        draw.map_figure(content_of(release, *shown(areas=("county:10001",), analysis="inflow-outflow")), "/")
    )
    answer: Any = served_answers.result(
        release, settled(release, Question(areas=("county:10001",), analysis="inflow-outflow"))
    )
    for position in commute_map.LINES[:3]:
        trace = figure.data[position]
        assert trace.fill == "toself"
        assert (trace.lon[0], trace.lat[0]) == (trace.lon[-1], trace.lat[-1])
    numbers = [label["text"] for label in figure.layout.meta["labels"]]
    assert numbers == [f"{number.value:,}" for number in (answer.inflow, answer.outflow, answer.stay)]


@pytest.mark.parametrize("theme", get_args(Theme))
def test_a_ratio_is_drawn_in_classes_around_one(release: Release, theme: Theme) -> None:
    question, view = shown(areas=("county:10001",), analysis="job-balance", layer="tract", theme=theme)
    assert content_of(release, question, view).kind == "ratio"
    trace = checked(draw.map_figure(content_of(release, question, view), "/")).data[commute_map.UNITS]
    answer: Any = served_answers.result(release, settled(release, question))
    units = answer.units.set_index("unit_id")
    limits = (0, 0.25, 0.5, 0.8, 1.25, 2, 4, math.inf)
    for unit_id, at, label in zip(trace.locations, trace.z, trace.customdata, strict=True):
        if unit_id not in units.index:
            assert (at, "not in the area" in label) == (0, True)
        elif units["workers"][unit_id] < 10:
            assert (at, units["caution"][unit_id] in label) == (0, True)
        else:
            assert limits[at - 1] <= units["jobs_per_resident"][unit_id] < limits[at]
            assert f"{units['jobs'][unit_id]:,} jobs" in label
    texts, colors = trace.colorbar.ticktext, [color for _, color in trace.colorscale[::2]]
    sizes = numpy.bincount(numpy.asarray(trace.z)[numpy.isin(trace.locations, units.index)], minlength=8)
    assert sizes.sum() < len(trace.z), "tracts outside the area are not counted"
    assert texts[0] == f"under 10 residents ({sizes[0]})"
    assert texts[4] == f"0.8–1.25 (even) ({sizes[4]})"
    assert len(set(colors)) == len(texts) == 8
    assert colors[4] == palette.COLOR_SCHEMES[theme].same
    text = map_caption(content_of(release, question, view))
    assert text == "Jobs per resident worker in County 10001, by tract"


def test_half_and_twice_are_equally_far_from_one() -> None:
    limits = numpy.array(palette.RATIO_LIMITS)
    assert numpy.allclose(limits * limits[::-1], 1)
    ratios = numpy.array([numpy.nan, 0.0, 0.5, 1.0, 1.9, 2.0, 4.0, 1e9])
    assert palette.ratio_classes(ratios).tolist() == [0, 1, 3, 4, 5, 6, 7, 7]


@pytest.mark.parametrize("per", get_args(Per))
def test_areas_show_workers_shares_or_densities(release: Release, per: Per) -> None:
    question, view = shown(areas=("county:10001",), show="areas", layer="county", per=per)
    content = content_of(release, question, view)
    found, workers = content.colored, numpy.array(content.workers)
    shapes = map_layers.unit_shapes(release, "county")
    expected = {
        "area": workers,
        "share": 100 * workers / served_answers.units(release, settled(release, question))["workers"].sum(),
        "square-mile": workers
        / [land_area.land_square_miles(release, "county", shapes)[unit] for unit in content.units.ids],
    }[per]
    assert numpy.allclose(found.value, expected)
    trace = checked(draw.map_figure(content_of(release, question, view), "/")).data[commute_map.UNITS]
    assert list(trace.z) == found.of.tolist()
    assert found.title[2] in trace.colorbar.title.text
    *below, top = [f"{text} ({size:,})" for text, size in zip(found.texts, found.sizes, strict=True)]
    word = "area" if found.sizes[-1] == 1 else "areas"
    assert list(trace.colorbar.ticktext) == [*below, f"{top[:-1]} {word})"]


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
    whole, wet = land_area.square_miles([shape, pond])
    assert land[county] == pytest.approx(whole - wet, rel=1e-9)
    assert land[county] < whole


def test_a_degree_of_latitude_is_69_miles() -> None:
    box = shapely.box(-71.0, 41.0, -70.0, 42.0)
    assert land_area.square_miles([box])[0] == pytest.approx(
        69.1 * 69.1 * math.cos(math.radians(41.5)), rel=0.002
    )


def test_a_pair_is_drawn_at_both_ends(release: Release) -> None:
    state = Question(areas=("county:10001",), others=("county:10003",), analysis="paired")
    figure = checked(draw.map_figure(content_of(release, state, View()), "/"))
    answer: Any = served_answers.result(release, settled(release, state))
    for position in (commute_map.POINTS, commute_map.MORE_POINTS):
        assert len(figure.data[position].lon) == answer.workers.value
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
    assert light["data"][commute_map.POINTS]["lon"] == dark["data"][commute_map.POINTS]["lon"]
    places = [
        tuple(step["location"])
        for step in draw.changes(
            draw.map_figure(content_of(release, *shown(theme="dark")), "/"), move=False, restyle=True
        ).to_plotly_json()["operations"]
    ]
    assert ("layout", "meta") in places
    assert ("layout", "map", "style") not in places


def test_points_without_a_place_are_not_drawn(release: Release) -> None:
    places = served_answers.places(release, Question(), "home")
    assert all(numpy.isfinite(values).all() for values in places.values())


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
    county = map_layers.selected_shape(release, ("county:10001",)).buffer(5e-4)
    whole, drawn = map_layers.unit_shapes(release, "stplc"), content_of(release, cut).shapes
    assert list(drawn) == list(whole)
    for place, shape in drawn.items():
        assert (shape is not whole[place]) == (place in partly)
        assert place not in partly or county.covers(shape)
        assert place not in partly or not county.covers(whole[place])
    assert map_content.PARTLY in content_of(release, cut, view).colored.title
    labels = draw.unit_labels(content_of(release, cut))
    for place, text in zip(labels.ids, labels.texts, strict=True):
        assert ("only its part" in text) == (place in partly)
        assert ("not in the chosen area" in text) == (place not in set(here))
    figure = draw.map_figure(content_of(release, cut, view), "/")
    assert "shown.geojson?" in checked(figure).data[commute_map.UNITS].geojson
    assert sum(content_of(release, cut, view).colored.sizes) == len(set(here) & set(whole))


def test_land_of_a_cut_unit_is_that_of_its_part(release: Release) -> None:
    cut, view = shown(areas=("county:10001",), analysis="comparison", show="areas", layer="stplc")
    whole, view = content_of(release, cut, view).colored, replace(view, per="square-mile")
    found = content_of(release, cut, view).colored
    shapes = content_of(release, cut).shapes
    for unit in content_of(release, cut).cut_shapes:
        at = found.units.ids.index(unit)
        most = whole.value[at] / (land_area.LEAST_LAND * land_area.square_miles([shapes[unit]])[0])
        least = whole.value[at] / land_area.square_miles([shapes[unit]])[0]
        assert least - 1e-9 <= found.value[at] <= most + 1e-9


def test_an_area_of_whole_units_is_drawn_as_all_units_are(release: Release) -> None:
    whole, view = shown(areas=("county:10001",), analysis="comparison", show="areas", layer="tract")
    assert content_of(release, whole).shapes is map_layers.unit_shapes(release, "tract")
    assert map_content.PARTLY not in content_of(release, whole, view).colored.title
    figure = checked(draw.map_figure(content_of(release, whole, view), "/"))
    assert figure.data[commute_map.UNITS].geojson.endswith("/unit-tract.geojson")
