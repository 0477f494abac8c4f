"""The base map: water that ends at the shore, names of places, main roads and rail, all limited in size."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from pathlib import Path
from typing import Any

import geopandas
import numpy
import pandas
import pytest
import shapely
from matplotlib.figure import Figure
from PIL import Image

from geodata.geography.base_map import water_blocks
from geodata.store.store import Store, open_store
from mapapp.answers.areas.areas import Areas
from mapapp.answers.release import Release
from mapapp.question.fields import Theme
from mapapp.show.content import ground, map_layers, palette
from mapapp.show.content import ground as populated_land
from mapapp.show.content import map_layers as place_names
from mapapp.show.paper import base_map, map_names
from mapapp.show.paper.map_picture import map_picture
from mapapp.show.plotly import commute_map
from tests.addresses import shown
from tests.map_contents import content_of
from tests.releases import rewrite_table, write_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release without a table of water, and with three water blocks."""
    path = write_release(tmp_path_factory.mktemp("made") / "waterland")

    def flood(blocks: Any) -> Any:
        water = numpy.flatnonzero(~blocks["elsewhere"])[:3]
        blocks.loc[water, "population"] = 0
        ids = blocks["block_id"].to_numpy(dtype=object)
        ids[water] = [f"{text[:11]}0{text[12:]}" for text in ids[water]]
        return blocks.assign(block_id=ids)

    rewrite_table(path, "blocks", flood)
    return Release.open(path, "waterland")


def features(packed: bytes) -> list[Any]:
    found: list[Any] = json.loads(gzip.decompress(packed))["features"]
    return found


def test_blocks_whose_number_begins_with_0_are_water(wet: Release) -> None:
    assert water_blocks(wet.store.table("blocks")).sum() == 3
    water = shapely.union_all(map_layers.ground_of(wet, "water").shapes)
    cells = wet.store.table("cells").geometry.to_numpy()[:3]
    assert all(shapely.area(cell - water) < 0.02 * shapely.area(cell) for cell in cells)


def test_people_never_live_in_water(release: Release) -> None:
    """A number that begins with 0 is not enough: other countries, and generated blocks, number differently."""
    assert not water_blocks(release.store.table("blocks")).any()
    assert "water" not in map_layers.style_urls("/", release)
    assert features(map_layers.base_layer(release, "water")) == []


def test_water_covers_the_outer_border_and_fills(wet: Release) -> None:
    style: Any = commute_map.base_style("x", map_layers.style_urls("/", wet))
    drawn = commute_map.layers_of(style)
    assert drawn.index("water") > drawn.index("state-lines") > drawn.index(commute_map.ABOVE_FILLS)


def test_the_style_draws_roads_and_rail_where_there_are_some() -> None:
    urls = {name: f"/{name}" for name in map_layers.LAYERS if name != "tracts"}
    style: Any = commute_map.base_style("x", urls)
    assert set(style["sources"]) == set(urls) - {"places"}
    assert style["metadata"] == {"places": "/places"}
    assert set(commute_map.layers_of(style)) == set(commute_map.paint(palette.COLOR_SCHEMES["dark"]))
    without: Any = commute_map.base_style(
        "x", {name: urls[name] for name in ("states", "counties", "surroundings", "places")}
    )
    assert set(without["sources"]) == {"states", "counties", "surroundings"}


def test_populated_land_holds_most_people_and_the_densest_most_of_them() -> None:
    """A town of 800 people beside a countryside of 200."""
    at = numpy.random.default_rng(1).uniform(size=(1000, 2))
    at[:800] = 0.5 + 0.02 * (at[:800] - 0.5)
    columns = {"lon_deg": at[:, 0], "lat_deg": at[:, 1], "population": 1, "elsewhere": False}
    square = numpy.array([shapely.box(0, 0, 1, 1)])
    shapes, rank = populated_land.populated_land(pandas.DataFrame(columns), square)
    town = shapely.box(0.48, 0.48, 0.52, 0.52)
    densest, all_of_it = (shapely.union_all(shapes[rank == each]) for each in (1, 2))
    assert all_of_it.intersects(town)
    assert town.contains(densest)
    assert shapely.area(all_of_it - town) < 0.3
    held = shapely.contains_xy(all_of_it, at).mean()
    assert abs(held - populated_land.PEOPLE_SHARES[1]) < 0.1


def test_populated_land_ends_where_the_land_does() -> None:
    columns = {"lon_deg": [0.5], "lat_deg": [0.5], "population": [100], "elsewhere": [False]}
    land = shapely.box(0, 0, 0.5, 1)
    shapes, _ = populated_land.populated_land(pandas.DataFrame(columns), numpy.array([land]))
    assert len(shapes)
    assert shapely.area(shapely.union_all(shapes) - land) < 1e-12


def test_only_a_release_without_roads_shows_where_people_live(release: Release, demo_release: Path) -> None:
    demo = Release.open(demo_release, "demo")
    assert "populated" in map_layers.style_urls("/", release)
    assert "populated" not in map_layers.style_urls("/", demo)
    assert features(map_layers.base_layer(release, "populated"))
    assert features(map_layers.base_layer(demo, "populated")) == []


def test_populated_land_lies_below_the_answer(release: Release) -> None:
    style: Any = commute_map.base_style("x", map_layers.style_urls("/", release))
    drawn = commute_map.layers_of(style)
    assert drawn.index("land") < drawn.index("crowded") < drawn.index(commute_map.ABOVE_FILLS)


def test_borders_of_the_counted_layer_are_thinner_for_more_units() -> None:
    widths = [commute_map.unit_line_pixels(n) for n in (39, 2_600, 9_000)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_water_has_a_color_of_its_own(theme: str) -> None:
    """Water is neither land, nor outside, nor any class of a count: 12 of 255 is what people can tell apart."""
    scheme = palette.COLOR_SCHEMES[theme]
    water = _rgb(scheme.water)
    for other in (scheme.land, scheme.outside, *scheme.ramp, *scheme.more, *scheme.fewer, scheme.same):
        assert numpy.abs(water - _rgb(other)).max() >= 12


def _rgb(color: str) -> Any:
    return numpy.array([int(color[at : at + 2], 16) for at in (1, 3, 5)])


def test_water_in_a_state_covers_its_border_off_the_coast() -> None:
    """A state whose western half is sea: the sea reaches beyond the state's edge, and no further onto the land."""
    state, sea = shapely.box(0, 0, 2, 1), shapely.box(0, 0, 1, 1)
    blank = numpy.array([""], dtype=object)
    water = ground.Ground(numpy.array([sea]), numpy.ones(1, dtype=numpy.int64), blank, blank)
    found = shapely.union_all(ground.add_rim(water, numpy.array([state])).shapes)
    assert found.contains(shapely.LineString([(0, 0.1), (0, 0.9)]))
    assert not found.intersects(shapely.box(1.01, 0, 2, 1))


def test_states_that_end_at_the_shore_need_no_rim() -> None:
    """Otherwise water would cover their coast, and its outline would be sent twice."""
    blank = numpy.array([""], dtype=object)
    ocean = shapely.box(-5, -5, 5, 5) - shapely.box(0, 0, 2, 1)
    water = ground.Ground(numpy.array([ocean]), numpy.ones(1, dtype=numpy.int64), blank, blank)
    assert ground.add_rim(water, numpy.array([shapely.box(0, 0, 2, 1)])) is water


def test_shapes_have_a_limit(demo_release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest are kept."""
    store = open_store(demo_release, "release")
    whole = drawn(store, "water")
    monkeypatch.setitem(ground.MAX_CORNERS, "water", shapely.get_num_coordinates(whole.shapes[0]))
    some = drawn(store, "water")
    assert len(some.shapes) == 1 < len(whole.shapes)
    assert some.shapes[0] == whole.shapes[0]


def drawn(store: Store, name: str) -> ground.Ground:
    return ground.ground(store, name, numpy.empty(0, dtype=object))


def test_the_demo_has_water_roads_rail_and_names(demo_release: Path) -> None:
    demo = Release.open(demo_release, "demo")
    assert {"water", "roads", "rails"} <= set(map_layers.style_urls("/", demo))
    assert {one["properties"]["rank"] for one in features(map_layers.base_layer(demo, "roads"))} == {1, 2}
    named = [one["properties"] for one in features(map_layers.base_layer(demo, map_layers.PLACES))]
    assert any("people" in about for about in named)
    assert any("water" in about for about in named)


def test_names_come_by_size(release: Release) -> None:
    found = place_names.place_names(release.store, release.areas)
    assert [one.people for one in found] == sorted((one.people for one in found), reverse=True)
    assert all(one.people > 0 and one.name for one in found)


def test_town_states_are_named_by_county_subdivision(tmp_path: Path) -> None:
    """And the others by place."""
    path = write_release(tmp_path / "towns")

    def move(blocks: Any) -> Any:
        here = ~blocks["elsewhere"]
        is_rhode = here & (blocks["state_id"] == blocks.loc[here, "state_id"].iloc[0])
        town = numpy.where(is_rhode, "4400300001", numpy.where(here, "1000300001", ""))
        place = numpy.where(is_rhode, "4400001", numpy.where(here, "1000002", ""))
        return blocks.assign(layer_ctycsub=town, layer_stplc=place)

    rewrite_table(path, "blocks", move)
    store = open_store(path, "release")
    rows = [
        ("ctycsub", "4400300001", "Mill town (Kent, RI)"),
        ("ctycsub", "1000300001", "Division 7 (Kent, DE)"),
        ("stplc", "4400001", "Mill CDP, RI"),
        ("stplc", "1000002", "Harbor city, DE"),
    ]
    store = store.replace_table(
        "layers", pandas.DataFrame(rows, columns=["layer", "unit_id", "name"], dtype=str)
    )
    assert {one.name for one in place_names.place_names(store, Areas(store))} == {"Mill", "Harbor"}


def test_names_of_water_lie_in_the_water() -> None:
    lake = shapely.Point(0, 0).buffer(0.2)
    bay = shapely.union_all([shapely.box(1, 0, 1.02, 1), shapely.Point(1, 0.5).buffer(0.1)])
    river = shapely.box(2, 0, 2.001, 1)
    found = ground.Ground(
        numpy.array([lake, bay, river], dtype=object),
        numpy.ones(3, dtype=numpy.int64),
        numpy.array(["Long Lake", "Deep Bay", "Thin River"], dtype=object),
        numpy.array(["lake", "bay", "river"], dtype=object),
    )
    names = ground.water_names(found)
    assert [one["name"] for one in names] == ["Long Lake", "Deep Bay"], "no name fits across a river"
    assert shapely.distance(shapely.Point(names[1]["at"]), shapely.Point(1, 0.5)) < 0.01


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_show_water_in_its_color(wet: Release, release: Release, theme: Theme) -> None:
    """Over the units that are colored: the water blocks lie in tracts with workers."""
    water = _rgb(palette.COLOR_SCHEMES[theme].water)

    def n_pixels(of: Release) -> int:
        picture = map_picture(content_of(of, *shown(theme=theme, show="areas", layer="tract")))
        with Image.open(io.BytesIO(picture)) as opened:
            return int((numpy.asarray(opened) == water).all(axis=2).sum())

    assert n_pixels(wet) > n_pixels(release) + 500, "beyond the state is sea in both"


def test_names_on_pictures_never_overlap(demo_release: Path) -> None:
    """Whatever the frame."""
    demo = Release.open(demo_release, "demo")
    names, home = map_names.map_names(demo), map_layers.home_bounds(demo)
    assert {"water", "county", "state"} < {name.kind for name in names}
    for size in ((2.0, 2.0), (7.0, 6.0), (14.0, 9.0)):
        frame = base_map.frame_of(home, *size, 0.3)
        chosen = map_names.chosen_names(names, frame)
        boxes = [shapely.box(*map_names.box_of(name, frame)) for name in chosen]
        assert not any(one.intersects(other) for one, other in itertools.combinations(boxes, 2))
        assert chosen


def test_a_wide_map_names_states_first(demo_release: Path) -> None:
    demo = Release.open(demo_release, "demo")
    west, south, east, north = map_layers.home_bounds(demo)
    frame = base_map.frame_of((west - 30, south - 10, east + 30, north + 10), 14.0, 9.0)
    chosen = map_names.chosen_names(map_names.map_names(demo), frame)
    kinds = [name.kind for name in chosen]
    assert kinds == sorted(kinds, key=lambda kind: kind != "state")


def test_layers_of_a_release_can_be_drawn_by_others(wet: Release, tmp_path: Path) -> None:
    """What the map loads is GeoJSON that other programs read."""
    for name in map_layers.LAYERS:
        file = tmp_path / f"{name}.geojson"
        file.write_bytes(gzip.decompress(map_layers.base_layer(wet, name)))
        if features(map_layers.base_layer(wet, name)):
            assert len(geopandas.read_file(file))


def test_what_lies_around_is_below_the_land_and_water_above_the_fills(release: Release) -> None:
    style: Any = commute_map.base_style("x", map_layers.style_urls("/", release))
    drawn = commute_map.layers_of(style)
    assert drawn[0] == "open-sea"
    assert drawn.index("far-land") < drawn.index("land") < drawn.index("tract-lines")
    assert drawn.index("tract-lines") < drawn.index(commute_map.ABOVE_FILLS) < drawn.index("far-sea")


def test_the_window_is_sea_to_its_edges(release: Release) -> None:
    """Whatever is not land: the figure's paper and the style's background have the color of water."""
    for scheme in palette.COLOR_SCHEMES.values():
        colors = commute_map.paint(scheme)
        assert colors["open-sea"]["background-color"] == scheme.water == colors["far-sea"]["fill-color"]


def test_only_a_release_of_few_tracts_sends_their_outlines(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tract-lines" in map_layers.style_urls("/", release)
    assert features(map_layers.base_layer(release, "tract-lines"))
    monkeypatch.setattr(map_layers, "_MOST_TRACTS", 3)
    assert "tract-lines" not in map_layers.style_urls("/", release)


def test_the_first_view_shows_people_and_not_the_sea(release: Release, tmp_path: Path) -> None:
    """A block of water far off the coast, where nobody lives, does not widen it."""
    path = write_release(tmp_path / "far")

    def move(blocks: Any) -> Any:
        row = int(numpy.flatnonzero(~blocks["elsewhere"])[0])
        blocks.loc[row, "population"] = 0
        blocks.loc[row, "lat_deg"] += 5.0
        return blocks

    rewrite_table(path, "blocks", move)
    assert map_layers.home_bounds(Release.open(path, "far"))[3] < map_layers.home_bounds(release)[3] + 0.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_are_sea_where_no_land_is(demo_release: Path, theme: Theme) -> None:
    """The demo is far out at sea: its picture's corner has the color of water."""
    demo = Release.open(demo_release, "demo")
    scheme = palette.COLOR_SCHEMES[theme]
    west, south, east, north = map_layers.home_bounds(demo)
    figure = Figure(figsize=(2, 2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    frame = base_map.frame_of((west - 2, south - 2, east + 2, north + 2), 2, 2)
    base_map.draw_land(axes, demo, frame, scheme)
    base_map.draw_ground(axes, demo, frame, scheme)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=50)
    with Image.open(drawn) as opened:
        assert (numpy.asarray(opened)[0, 0, :3] == _rgb(scheme.water)).all()
