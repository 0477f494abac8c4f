"""Areas: their text, their blocks, and hostile input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from commutemap import open_release
from geodata.errors import GeometryError
from geodata.geography import area_shapes, corridors
from geodata.geography.distance import distance_mi
from mapapp.answers.areas import selection
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.box_index import BoxIndex
from mapapp.answers.areas.cells import border_boxes, near_border
from mapapp.answers.areas.selection import Selected
from mapapp.base.errors import UsageError
from mapapp.question.area_text import (
    Box,
    Circle,
    Corridor,
    Everything,
    Line,
    Shape,
    Step,
    Unit,
    area_text,
    parse_area,
    polygon_of,
    ring_areas,
    widen_area,
)
from tests.releases import ELSEWHERE, write_release

DEGREES = st.floats(-60, 60)
UNITS = st.builds(
    Unit, st.sampled_from(("county", "stplc")), st.from_regex(r"[0-9A-Z]{2,12}", fullmatch=True)
)
CORNERS = st.lists(st.tuples(st.floats(-71, -60), st.floats(40, 50)), min_size=1, max_size=6)
LINES = CORNERS.map(lambda places: Line.of(shapely.linestrings([(0.0, 0.1), *places])))
PARTS = st.one_of(
    UNITS,
    st.builds(Corridor, st.one_of(UNITS, LINES, st.just(Box(1, 2, 3, 4))), st.floats(0.001, 50)),
    st.builds(Circle, DEGREES, DEGREES, st.just(0.0), st.floats(0.1, 500)),
    st.builds(Circle, DEGREES, DEGREES, st.floats(0.1, 10), st.floats(10.1, 500)),
    st.builds(Box, st.floats(-60, -1), st.floats(-60, -1), st.floats(1, 60), st.floats(1, 60)),
    st.just(Everything()),
    st.just(Shape.of(shapely.box(1, 2, 3, 4).difference(shapely.box(1.5, 2.5, 2, 3)))),
)
STEPS = st.lists(st.builds(Step, st.sampled_from(("+", "-", "&")), PARTS), min_size=1, max_size=5).map(tuple)


@pytest.fixture(scope="module")
def areas(tmp_path_factory: pytest.TempPathFactory) -> Areas:
    return open_release(write_release(tmp_path_factory.mktemp("made") / "squareland")).areas


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_text_and_steps_are_the_same(steps: Any) -> None:
    assert parse_area(area_text(steps)) == steps


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-179, 179), st.floats(-89, 89)), min_size=3, max_size=30))
def test_polygons_survive_as_text(places: Any) -> None:
    try:
        shape = area_shapes.mend_polygon(shapely.Polygon(numpy.round(places, 5)))
    except GeometryError:
        return
    back = area_shapes.polygon_of(area_shapes.polygon_text(shape))
    assert shapely.area(shapely.symmetric_difference(shape, back)) <= 1e-5 * shapely.length(shape) + 1e-9


def blocks_of(selected: Selected) -> list[int]:
    assert selected.blocks is not None
    return list(selected.blocks.tolist())


def within(areas: Areas, steps: list[str]) -> list[int]:
    blocks = areas.blocks(steps)
    assert blocks is not None
    return list(blocks.tolist())


def test_steps_apply_from_left_to_right(areas: Areas) -> None:
    county, place = within(areas, ["county:10001"]), within(areas, ["stplc:4459"])
    assert set(within(areas, ["county:10001", "stplc:4459"])) == {*county, *place}
    assert set(within(areas, ["county:10001", "-stplc:4459"])) == {*county} - {*place}
    assert set(within(areas, ["county:10001", "&stplc:4459"])) == {*county} & {*place}
    assert set(within(areas, ["county:10001", "-stplc:4459", "+stplc:4459"])) == {*county, *place}
    n_blocks = len(areas.places)
    assert len(within(areas, ["-county:10001"])) == n_blocks - len(county)
    assert areas.blocks(["all"]) is None
    assert areas.blocks([]) is None
    assert areas.select("county:10001 -county:10001").n_blocks == 0
    name = areas.select("county:10001 -stplc:4459 &circle:-70.9,42.1,4").name
    assert name == "County 10001 without Old Harbour city within 4 mi around 42.100, -70.900"


def test_rings_name_their_middle_once(areas: Areas) -> None:
    """Finds a headline that repeats the coordinates of rings, or that calls circles elsewhere rings."""
    rings = "circle:-70.9,42.1,1 ring:-70.9,42.1,1,2 ring:-70.9,42.1,2,5"
    assert areas.select(rings).name == "1, 1 to 2, and 2 to 5 mi around 42.100, -70.900"
    two = areas.select("circle:-70.9,42.1,1 circle:-71,42.1,1").name
    assert two == "1 mi around 42.100, -70.900 and 1 mi around 42.100, -71.000"


def test_a_block_is_in_an_area_if_its_internal_point_is(areas: Areas) -> None:
    places = areas.places
    chosen = areas.select("box:-71,42,-70.98,42.03")
    inside = (places["lon_deg"] < -70.98) & (places["lat_deg"] < 42.03) & ~places["elsewhere"]
    assert blocks_of(chosen) == numpy.flatnonzero(inside).tolist()
    # It takes most of one cell and some of the next one to the north.
    assert chosen.n_edge_blocks == 2
    assert areas.select("box:-71,42,-70.975,42.025").n_edge_blocks == 0  # along the borders of cells
    # An edge matters only where the rest of the area leaves it open.
    assert areas.select("box:-71,42,-70.98,42.03 -county:10001").n_edge_blocks == 0
    assert areas.select("box:-71,42,-70.98,42.03 +county:10001").n_edge_blocks == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_no_box_at_the_border_is_missed(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    corners = random.uniform(-1, 1, (random.integers(3, 9), 2)) * [1.0, random.choice([0.01, 1.0])]
    shape = shapely.concave_hull(shapely.MultiPoint(corners), ratio=0.3)
    if shape.geom_type != "Polygon":
        return
    middle, size = random.uniform(-1.3, 1.3, (2, 400)), random.choice([1e-4, 0.01, 0.3], (2, 400))
    bounds = numpy.concatenate([middle - size, middle + size])
    meets = shapely.intersects(shapely.boundary(shape), shapely.box(*bounds))
    near = near_border(shape, bounds)
    assert near[meets].all()
    assert near.sum() <= meets.sum() + 0.2 * near.size


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_the_index_finds_the_boxes_that_meet_a_rectangle_and_no_others(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    n = int(random.integers(1, 300))
    middle = random.uniform(-1, 1, (2, n))
    size = random.choice([0.0, 1e-4, 0.01, 0.3, 2.0], (2, n))
    bounds = numpy.concatenate([middle - size, middle + size])
    index = BoxIndex(bounds)
    for _ in range(5):
        west, south = random.uniform(-1.5, 1.5, 2)
        east, north = numpy.array([west, south]) + random.choice([0.0, 0.01, 0.5, 4.0], 2)
        meets = (bounds[0] <= east) & (bounds[2] >= west) & (bounds[1] <= north) & (bounds[3] >= south)
        assert index.find_meeting((west, south, east, north)).tolist() == numpy.flatnonzero(meets).tolist()


def test_a_drawn_step_tests_only_nearby_blocks(areas: Areas, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    within = selection.Selection._within_circle

    def counted(self: Any, part: Any, near: Any) -> Any:
        looked_at.append(near.size)
        return within(self, part, near)

    monkeypatch.setattr(selection.Selection, "_within_circle", counted)
    n_blocks = len(areas.places)
    areas.select("circle:-70.99,42.01,0.5 +circle:-70.985,42.01,0.5")
    assert sum(looked_at) < 0.1 * n_blocks
    whole = areas.select("circle:-70.9,42.1,500")
    assert looked_at[-1] > 0.9 * n_blocks >= 0.9 * whole.n_blocks


def test_a_block_on_the_rim_is_within_as_its_distance_says(areas: Areas) -> None:
    lon, lat, elsewhere = areas.place_columns
    for middle in range(0, len(lon), 17):
        miles = distance_mi(lon[middle], lat[middle], lon, lat)
        for rim in numpy.flatnonzero(miles > 0)[::11]:
            outer = float(miles[rim])
            found = areas.select(
                f"ring:{float(lon[middle])!r},{float(lat[middle])!r},{outer / 2!r},{outer!r}"
            )
            step = found.steps[0].part
            assert isinstance(step, Circle)
            miles = distance_mi(step.lon_deg, step.lat_deg, lon, lat)
            is_inside = (miles <= step.outer_mi) & (miles > step.inner_mi) & ~elsewhere
            blocks = numpy.arange(len(lon)) if found.blocks is None else found.blocks
            assert blocks.tolist() == numpy.flatnonzero(is_inside).tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_what_meets_a_border_meets_the_rectangle_of_one_of_its_pieces(seed: int) -> None:
    random = numpy.random.default_rng(seed)
    outer = shapely.buffer(shapely.Point(*random.uniform(-1, 1, 2)), random.uniform(0.1, 1))
    shape = shapely.difference(outer, shapely.buffer(shapely.Point(*random.uniform(-1, 1, 2)), 0.3))
    if shape.is_empty:
        return
    middle = random.uniform(-1.3, 1.3, (2, 300))
    bounds = numpy.concatenate([middle - 0.01, middle + 0.01])
    meets = shapely.intersects(shapely.boundary(shape), shapely.box(*bounds))
    found = BoxIndex(bounds).find_meeting_any(border_boxes(shape))
    assert set(numpy.flatnonzero(meets)) <= set(found.tolist())


def test_a_shape_is_decoded_only_once(areas: Areas, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    decode = area_shapes.polygon_of
    monkeypatch.setattr(area_shapes, "polygon_of", lambda text: decoded.append(text) or decode(text))  # type: ignore[func-returns-value]  # append, in a lambda
    text = f"county:10003 shape:{area_shapes.polygon_text(shapely.box(-70.97, 42.01, -70.93, 42.07))}"
    for _ in range(3):
        areas.select(text)
    assert len(decoded) == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-179, 179), st.floats(-80, 80)), min_size=3, max_size=40, unique=True))
def test_vertices_are_counted_without_decoding(places: Any) -> None:
    shape = shapely.convex_hull(shapely.MultiPoint(numpy.round(places, 5)))
    if shape.geom_type != "Polygon":
        return
    n_corners = shapely.get_num_coordinates(shape) - 1
    assert area_shapes.n_vertices(area_shapes.polygon_text(shape)) == n_corners


def test_a_shape_whose_edges_cross_everywhere_is_refused_before_it_is_repaired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = numpy.random.default_rng(1)
    scribble = shapely.Polygon(random.uniform(-1, 1, (1_500, 2)))
    monkeypatch.setattr(shapely, "make_valid", None)
    with pytest.raises(GeometryError, match="overlap or cross in too many places"):
        area_shapes.mend_polygon(scribble)


def test_shapes_that_cross_themselves_a_few_times_are_accepted() -> None:
    x = numpy.arange(400) / 400
    hatched = shapely.Polygon([*zip(x, x % 0.005 * 200, strict=True), (1, -1), (0, -1)])
    assert area_shapes.mend_polygon(hatched).area > 0
    turn = numpy.linspace(0, 8 * numpy.pi, 500)[:-1]  # four loops around the same middle
    loops = shapely.Polygon(numpy.column_stack([numpy.cos(turn) * (1 + turn / 50), numpy.sin(turn)]))
    assert shapely.is_valid(area_shapes.mend_polygon(loops))


def test_rings_partition_their_circle(areas: Areas) -> None:
    rings = [areas.select(steps) for steps in ring_areas(-70.85, 42.1, [3, 9, 6])]
    whole = areas.select("circle:-70.85,42.1,9")
    assert sorted(block for ring in rings for block in blocks_of(ring)) == blocks_of(whole)
    lon, lat = areas.places["lon_deg"], areas.places["lat_deg"]
    away = distance_mi(-70.85, 42.1, lon, lat)
    assert set(blocks_of(rings[1])) == set(numpy.flatnonzero((away > 3) & (away <= 6)))
    with pytest.raises(UsageError, match="give 1 to 3"):
        ring_areas(0, 0, [1, 2, 3, 4])


def test_shapes_never_select_a_state_outside_the_area(areas: Areas) -> None:
    far = areas.select("circle:-80,30,50")
    assert far.n_blocks == 0
    assert areas.select(f"state:{ELSEWHERE}").n_blocks == 1


def test_shapes_with_holes_and_parts(areas: Areas) -> None:
    shape = shapely.union(
        shapely.box(-71, 42, -70.9, 42.1).difference(shapely.box(-70.98, 42.02, -70.92, 42.08)),
        shapely.box(-70.8, 42.1, -70.75, 42.15),
    )
    chosen = areas.select((Step("+", Shape.of(shape)),))
    lon, lat = areas.places["lon_deg"], areas.places["lat_deg"]
    assert blocks_of(chosen) == numpy.flatnonzero(shapely.intersects_xy(shape, lon, lat)).tolist()
    assert 0 < chosen.n_blocks < 20


def test_the_outline_of_a_circle_matches_its_blocks() -> None:
    outline = shapely.get_coordinates(polygon_of(Circle(-71.4, 41.8, 0.0, 10.0)))
    away = distance_mi(-71.4, 41.8, outline[:, 0], outline[:, 1])
    assert away == pytest.approx(10.0, rel=1e-9)


def test_the_180th_meridian_is_not_a_border() -> None:
    for shape in (
        area_shapes.circle(179.9, 52, 30),
        area_shapes.circle(-179.9, 52, 30),
        area_shapes.box(179, 51, -179, 53),
    ):
        west, _, east, _ = shapely.bounds(shape)
        assert (west, east) == (-180, 180)
        assert shapely.area(shape) < 5
        assert shapely.intersects_xy(shape, 179.95, 52)
        assert shapely.intersects_xy(shape, -179.95, 52)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the area is empty"),
        ("county", "give level:identifier"),
        ("county:", "only letters and digits"),
        ("county:../../etc/passwd", "only letters and digits"),
        ("county:1' OR '1'='1", "only letters and digits"),
        ("circle:1,2", "3 numbers"),
        ("circle:1,2,nan", "3 numbers"),
        ("circle:1,2,inf", "3 numbers"),
        ("circle:1,2,-3", "radius"),
        ("circle:1,2,0", "radius"),
        ("circle:1,2,5000", "at most 1000"),
        ("circle:1,95,5", "latitude"),
        ("circle:1,89.9,50", "pole"),
        ("ring:1,2,5,5", "first radius must be smaller"),
        ("box:1,2,1,3", "no area"),
        ("box:1,3,2,2", "no area"),
        ("shape:", "cut short"),
        ("shape:AAAA", "cut short"),
        ("shape:AAAAAA", "no area"),
        ("shape:<script>", "character"),
        ("shape:" + "_" * 700_000, "characters"),
        ("county:1 " * 100_000, "characters"),
        ("a:1 " * 600, "steps"),
        ("shape:" + "AC" * 200_000, "vertices"),
        ("line:", "distance in miles"),
        ("line:,0.5", "text of a line is cut short"),
        ("line:AA,0.5", "text of a line is cut short"),
        ("line:AAAA,0.5", "no length"),
        ("line:AACC,0", "above 0 and at most 50"),
        ("line:AACC,0.000001", "above 0 and at most 50"),
        ("line:AACC,-1", "above 0 and at most 50"),
        ("line:AACC,101", "above 0 and at most 50"),
        ("line:AACC,nan", "distance in miles"),
        ("line:AACC,inf", "distance in miles"),
        ("line:AACC,one", "distance in miles"),
        ("line:AACC", "distance in miles"),
        ("line:<script>,1", "character"),
        ("line:" + "AC" * 60_000 + ",1", "vertices"),
        ("line:1,2,0.5", "at least two corners"),
        ("line:1,2,3,0.5", "4 numbers"),
        ("line:1,2,1,2,0.5", "no length"),
        ("line:1,2,3,95,0.5", "latitude"),
        ("line:1,2,x,4,0.5", "4 numbers"),
        ("line:0,0,170,0,1", "at most 10,000"),
        ("line:1,88,2,89.9,40", "pole"),
        ("near:county:10001", "distance in miles"),
        ("near:county:10001,", "distance in miles"),
        ("near:county:10001,0", "above 0 and at most 50"),
        ("near:county:nowhere,1", "no County nowhere"),
        ("near:planet:10001,1", "layer 'planet' does not exist"),
        ("near:county:../../etc,1", "only letters and digits"),
        ("near:circle:1,2,3,1", "near: takes"),
        ("near:line:AACC,1,1", "near: takes"),
        ("near:all,1", "near: takes"),
        ("near:" * 50_000 + "county:10001,1", "near: takes"),
        (f"near:state:{ELSEWHERE},5", "no outline of"),
    ],
)
def test_invalid_areas_are_refused_in_one_line(areas: Areas, text: str, said: str) -> None:
    with pytest.raises((UsageError, GeometryError), match=said) as caught:
        areas.select(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_a_corridor_around_a_unit_is_the_unit_and_what_is_near_its_outline(areas: Areas) -> None:
    own = within(areas, ["stplc:4459"])
    chosen = areas.select("near:stplc:4459,1.5")
    lon, lat, elsewhere = areas.place_columns
    outline = areas.outlines.of_blocks(areas.members(Unit("stplc", "4459")))
    edge = shapely.get_coordinates(shapely.segmentize(shapely.boundary(outline), 2e-5))
    geodesic = pyproj.Geod(ellps="WGS84")
    expected = set(own)
    for block in numpy.flatnonzero(~elsewhere):
        every = numpy.ones(len(edge))
        away_m = geodesic.inv(lon[block] * every, lat[block] * every, *edge.T)[2].min()
        if away_m <= 1.5 * 1609.344 or shapely.intersects_xy(outline, lon[block], lat[block]):
            expected.add(int(block))
    assert set(blocks_of(chosen)) == expected
    assert len(own) < len(expected) < (~elsewhere).sum()
    assert chosen.n_edge_blocks > 0
    assert chosen.name == "the area within 1.5 miles of Old Harbour city"


def test_corridors_around_shapes_boxes_and_lines(areas: Areas) -> None:
    box = "box:-71,42,-70.98,42.03"
    narrow, wide = (set(blocks_of(areas.select(f"near:{box},{miles}"))) for miles in (0.5, 3))
    assert set(within(areas, [box])) <= narrow < wide
    shape = Shape.of(shapely.box(-71, 42, -70.98, 42.03))
    assert set(blocks_of(areas.select(f"near:{shape},3"))) == wide
    typed = areas.select("line:-71,42.05,-70.9,42.05,1")
    assert parse_area(typed.text) == typed.steps
    assert areas.select(typed.text).blocks is not None
    line = parse_area("line:-71,42.05,-70.9,42.05,1")[0].part
    assert isinstance(line, Corridor)
    lon, lat, elsewhere = areas.place_columns
    near = corridors.Reach(shapely.linestrings([(-71, 42.05), (-70.9, 42.05)]), 1).holds(lon, lat)
    assert blocks_of(typed) == numpy.flatnonzero(near & ~elsewhere).tolist()


def test_corridors_have_names(areas: Areas) -> None:
    for text, name in (
        ("line:-71,42.05,-70.9,42.05,0.5", "the area within 0.5 miles of a drawn line"),
        ("near:county:10001,1 +stplc:4459", "the area within 1 mile of County 10001 and Old Harbour city"),
        ("county:10001 &near:stplc:4459,1", "County 10001 within 1 mile of Old Harbour city"),
        (
            "county:10001 -near:stplc:4459,2",
            "County 10001 without the area within 2 miles of Old Harbour city",
        ),
        ("near:box:-71,42,-70.9,42.1,2", "the area within 2 miles of a drawn box"),
    ):
        assert areas.select(text).name == name


def test_an_area_is_widened_where_it_adds() -> None:
    steps = parse_area("county:1 +box:1,2,3,4 -stplc:5 &circle:1,2,3 +near:county:6,9")
    text = "near:county:1,2.5 +near:box:1,2,3,4,2.5 -stplc:5 &circle:1,2,3 +near:county:6,2.5"
    assert area_text(widen_area(steps, 2.5)) == text
    for area, said in (
        ("circle:1,2,3", "radius of its own"),
        ("all", "nothing around it"),
        ("-county:1", "adds nothing"),
    ):
        with pytest.raises(UsageError, match=said):
            widen_area(parse_area(area), 1)


def test_a_drawn_part_of_two_areas_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    areas = open_release(write_release(tmp_path / "squareland")).areas
    found: list[object] = []
    members = selection.Selection._drawn_members

    def counted(self: selection.Selection, part: Any) -> Any:
        found.append(part)
        return members(self, part)

    monkeypatch.setattr(selection.Selection, "_drawn_members", counted)
    lon, lat, _ = (column[0] for column in areas.place_columns)
    circle = f"circle:{lon:.3f},{lat:.3f},2"
    first, second = areas.select(circle), areas.select(f"-{circle}")
    assert 0 < first.n_blocks < len(areas.places)
    assert first.n_blocks + second.n_blocks == len(areas.places)
    assert len(found) == 1
    areas.forget()
    assert areas.select(circle).n_blocks == first.n_blocks
    assert len(found) == 2
