"""What a visitor does to a view: each step, and nothing but the step."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from typing import Any

import plotly
import pytest
import shapely

from geodata.errors import GeometryError
from mapapp.answers import served_answers
from mapapp.answers.analyses.entries import headline_of
from mapapp.answers.asking import notes_on_names
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.explore.callbacks.choices import MAX_CHOICES, apply_choices, fit_address
from mapapp.explore.callbacks.events import after
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import answer_tables, area_controls
from mapapp.explore.pages.area_controls import step_name
from mapapp.explore.uploads import Uploads
from mapapp.question.address import to_query
from mapapp.question.analyses import ANALYSES
from mapapp.question.area_text import Shape, part_of
from mapapp.question.cost import MAX_PARTS
from mapapp.question.question import Questions
from tests.addresses import address_of, settled
from tests.releases import ELSEWHERE, write_release

TRACT = "tract:10001000000"
AT_REST: dict[str, Any] = {
    "pick": "tract",
    "sign": "+",
    "target": "areas",
    "center": None,
    "radii": "",
    "within": "",
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(
        write_release(tmp_path_factory.mktemp("made") / "squareland", n_pairs=50), "squareland"
    )


def click(release: Release, tract_id: str) -> dict[str, Any]:
    tracts = release.store.table("tracts", ["tract_id", "geometry"]).set_index("tract_id")
    place = tracts.geometry[tract_id].representative_point()
    return {"lon": place.x, "lat": place.y, "at": 1}


def test_a_click_takes_a_tract_in_and_out(release: Release) -> None:
    at = click(release, "10001000000")
    once = after(address_of(), release, "clicked", at, AT_REST)
    assert once == address_of(areas=(TRACT,))
    assert after(once, release, "clicked", at, AT_REST) == address_of()


@pytest.mark.parametrize(
    ("level", "key"),
    [("county", "county:10003"), ("state", "state:10"), ("puma", "puma:1000001"), ("stplc", None)],
)
def test_a_click_can_pick_a_unit_of_any_layer(release: Release, level: str, key: str | None) -> None:
    asked = after(address_of(), release, "clicked", click(release, "10003000002"), AT_REST | {"pick": level})
    assert asked.question.areas == ((key,) if key else ())


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        [],
        {"lon": 1},
        {"lon": "x", "lat": 2},
        {"lon": float("nan"), "lat": 42},
        {"lon": 0.0, "lat": 0.0},
    ],
)
def test_a_click_beside_every_tract_does_nothing(release: Release, value: Any) -> None:
    assert after(address_of(), release, "clicked", value, AT_REST) == address_of()
    assert (
        after(address_of(), release, "clicked", click(release, "10001000000"), AT_REST | {"pick": "x"})
        == address_of()
    )


def test_units_are_cut_out_and_kept_within(release: Release) -> None:
    state = address_of(areas=("county:10001",))
    less = after(state, release, "search", TRACT, AT_REST | {"sign": "-"})
    assert less.question.areas == ("county:10001", f"-{TRACT}")
    assert after(less, release, "clicked", click(release, "10001000000"), AT_REST) == state
    within = after(state, release, "search", "stplc:4459", AT_REST | {"sign": "&"})
    assert within.question.areas == ("county:10001", "&stplc:4459")
    blocks = release.areas.select(" ".join(within.question.areas)).n_blocks
    assert 0 < blocks < release.areas.select("county:10001").n_blocks


def test_boxes_and_lassos_become_steps(release: Release) -> None:
    box = {"points": [[-71.0, 42.1], [-70.95, 42.0]], "at": 1}
    state = after(address_of(), release, "drawn", box, AT_REST)
    assert state.question.areas == ("box:-71,42,-70.95,42.1",)
    ring = {"points": [[-71, 42], [-70.9, 42], [-70.9, 42.1], [-71, 42.1]], "at": 2}
    lasso = after(state, release, "drawn", ring, AT_REST | {"sign": "-"})
    assert len(lasso.question.areas) == 2
    assert lasso.question.areas[1].startswith("-shape:")
    many = [[-71 + math.cos(turn / 400) / 10, 42 + math.sin(turn / 400) / 10] for turn in range(2_500)]
    (step,) = after(address_of(), release, "drawn", {"points": many}, AT_REST).question.areas
    assert len(step) < 6_000


def test_a_circle_drawn_from_its_center_is_a_step(release: Release) -> None:
    drawn = {"center": [-71.123456, 42.1], "miles": 3.14159}
    assert after(address_of(), release, "drawn", drawn, AT_REST).question.areas == (
        "circle:-71.12346,42.1,3.14",
    )
    for wrong in (
        {"center": None},
        {"center": [1, "x"], "miles": 1},
        {"center": [-71, 42], "miles": float("inf")},
    ):
        assert after(address_of(), release, "drawn", wrong, AT_REST) == address_of()


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"points": "x"},
        {"points": [[1]]},
        {"points": [["a", "b"]] * 5},
        {"points": [[0, 0]] * 9_999},
    ],
)
def test_nonsense_is_no_drawing(release: Release, value: Any) -> None:
    assert after(address_of(), release, "drawn", value, AT_REST) == address_of()


@pytest.mark.parametrize(
    "points", [[[0, 0], [1, 1], [2, 2], [0, 0]], [[0, 95], [1, 94]], [[0, 0], [1, 1], [0, 0]]]
)
def test_a_drawing_that_is_no_area_is_refused_in_one_line(release: Release, points: Any) -> None:
    with pytest.raises((UsageError, GeometryError)) as refused:
        after(address_of(), release, "drawn", {"points": points}, AT_REST)
    assert "\n" not in str(refused.value)


def test_circles_and_rings_without_a_mouse(release: Release) -> None:
    here = AT_REST | {"center": "stplc:4459", "radii": "2"}
    (one,) = after(address_of(), release, "add-circle", 1, here).question.areas
    assert one.startswith("circle:")
    typed = AT_REST | {"center": "42.1, -70.9", "radii": "1, 3, 5"}
    rings = after(address_of(), release, "add-circle", 1, typed).question.areas
    assert rings == ("circle:-70.9,42.1,1", "ring:-70.9,42.1,1,3", "ring:-70.9,42.1,3,5")


@pytest.mark.parametrize(
    ("center", "radii"),
    [
        (None, "5"),
        ("nowhere", "5"),
        ("42, -71", ""),
        ("42, -71", "x"),
        ("42, -71", "1,2,3,4"),
        ("42, -71", "-3"),
    ],
)
def test_a_circle_that_is_none_is_refused_in_one_line(release: Release, center: Any, radii: str) -> None:
    with pytest.raises((UsageError, GeometryError)) as refused:
        after(address_of(), release, "add-circle", 1, AT_REST | {"center": center, "radii": radii})
    assert "\n" not in str(refused.value)


def test_the_other_area_of_a_pair(release: Release) -> None:
    pair = AT_REST | {"target": "others"}
    one = address_of(analysis="paired", areas=(TRACT,))
    state = after(one, release, "search", "county:11001", pair)
    assert state == address_of(analysis="paired", areas=(TRACT,), others=("county:11001",))
    gone = after(state, release, {"type": "remove", "area": "county:11001", "of": "others"}, 1, pair)
    assert gone.question.others == ()
    alone = after(address_of(), release, "search", TRACT, AT_REST | {"target": "others"})
    assert alone.question.areas == (TRACT,)


def test_a_row_leads_on(release: Release) -> None:
    state = address_of(areas=("county:10001",))
    pair = after(state, release, "drill", {"unit": "county:11001"}, AT_REST)
    assert (pair.question.analysis, pair.question.areas, pair.question.others) == (
        "paired",
        ("county:10001",),
        ("county:11001",),
    )
    matrix = address_of(analysis="flow-matrix")
    cell = after(matrix, release, "drill", {"unit": "county:11001 county:10001"}, AT_REST)
    assert (cell.question.analysis, cell.question.areas, cell.question.others) == (
        "paired",
        ("county:10001",),
        ("county:11001",),
    )
    compared = state.having(analysis="comparison")
    part = after(compared, release, "drill", {"unit": TRACT}, AT_REST)
    assert (part.question.analysis, part.question.areas) == ("profile", (TRACT,))
    for nonsense in (None, {}, {"unit": 5}, {"unit": "tract:none"}, {"unit": "a b c"}):
        assert after(state, release, "drill", nonsense, AT_REST) == state


LEADS_TO = {"destinations": "paired", "flow-matrix": "paired", "characteristics": "characteristics"}
"""Where a row leads, for the analyses whose rows do not lead to the profile of their unit."""


@pytest.mark.parametrize("side", ["work", "home"])
@pytest.mark.parametrize("analysis", ANALYSES)
def test_every_row_leads_where_its_analysis_declares(release: Release, analysis: str, side: str) -> None:
    """A click asks about the workers whom the row counts, or about its unit."""
    area = "county:10001"
    others = (area,) if ANALYSES[analysis].n_areas == 2 else ()
    before = address_of(
        analysis=analysis,
        side=side,
        layer="county",
        areas=(area,),
        others=others,
        home_layer="county",
        work_layer="county",
    )
    rows = answer_tables.table(served_answers.result(release, settled(release, before.question)), every=True)[
        "rows"
    ]
    units = [row["unit"] for row in rows if row["unit"]]
    assert bool(units) == (
        analysis in ("destinations", "comparison", "job-balance", "characteristics", "flow-matrix")
    )
    for row in rows:
        if not row["unit"]:
            continue
        now = after(before, release, "drill", {"unit": row["unit"]}, AT_REST).question
        assert now.analysis == LEADS_TO.get(analysis, "profile")
        if now.analysis == "paired":
            counted = headline_of(served_answers.result(release, settled(release, now))).value
            assert f"{counted:,}" == row["cells"][0]
        else:
            assert now.areas == (row["unit"],)


@pytest.mark.parametrize(
    ("analysis", "unit"),
    [
        ("destinations", "county:10001 county:11001"),
        ("comparison", "county:10001 county:11001"),
        ("flow-matrix", "county:10001"),
        ("flow-matrix", "county:10001 county:11001 county:10001"),
    ],
)
def test_a_row_that_the_analysis_does_not_have_leads_nowhere(
    release: Release, analysis: str, unit: str
) -> None:
    before = address_of(analysis=analysis, areas=("county:10001",))
    assert after(before, release, "drill", {"unit": unit}, AT_REST) == before


def test_bands_of_distance_are_taken_or_refused(release: Release) -> None:
    assert after(address_of(), release, "edges", "5, 20", AT_REST).question.edges == (5.0, 20.0)
    with pytest.raises(UsageError, match="increasing distances"):
        after(address_of(), release, "edges", "20, 5", AT_REST)


def test_another_analysis_keeps_the_way_to_draw_that_was_chosen(release: Release) -> None:
    state = address_of(analysis="comparison", show="points")  # which is drawn as areas
    assert after(state, release, "analysis", "destinations", AT_REST).view.show == "points"


def test_a_search_adds_and_never_removes(release: Release) -> None:
    once = after(address_of(), release, "search", "stplc:4459", AT_REST)
    assert once.question.areas == ("stplc:4459",)
    assert after(once, release, "search", "stplc:4459", AT_REST) == once
    assert after(once, release, "search", "stplc:none", AT_REST) == once
    assert after(once, release, "search", None, AT_REST) == once


def test_buttons_add_remove_and_clear(release: Release) -> None:
    state = address_of(areas=(TRACT, "county:10001"))
    assert after(state, release, {"type": "remove", "area": TRACT}, 1, AT_REST).question.areas == (
        "county:10001",
    )
    assert after(state, release, {"type": "remove", "area": "*"}, 1, AT_REST).question.areas == ()
    assert after(address_of(), release, {"type": "suggest", "area": TRACT}, 1, AT_REST).question.areas == (
        TRACT,
    )


def choice(trigger: Any, value: Any, **read: Any) -> dict[str, Any]:
    return {"trigger": trigger, "value": value, "read": AT_REST | read}


def test_choices_made_at_once_are_followed_in_their_order(release: Release) -> None:
    views = Views({"squareland": release})
    six = [choice("side", side) for side in ("work", "home") * 3]
    more = [
        choice("search", TRACT),
        choice("age", ["3", "1"]),
        *six,
        choice("clicked", click(release, "10001000000")),
    ]
    assert apply_choices(views, {"n": 6, "search": "", "choices": six}) == {
        "n": 6,
        "search": "?side=home",
        "said": "",
        "setup": None,
    }
    assert apply_choices(views, {"n": 9, "search": "", "choices": more})["search"] == "?side=home&age=1,3"
    same = apply_choices(views, {"n": 1, "search": "?side=home", "choices": [choice("side", "home")]})
    assert same["search"] is None


def test_a_choice_that_cannot_be_followed_undoes_no_other(release: Release) -> None:
    views = Views({"squareland": release})
    choices = [choice("side", "home"), choice("edges", "20, 5"), choice("industry", ["1", "2", "3"])]
    assert apply_choices(views, {"n": 3, "search": "", "choices": choices[:2]})["search"] == "?side=home"
    assert (
        "increasing distances" in apply_choices(views, {"n": 3, "search": "", "choices": choices[:2]})["said"]
    )
    beside = [choice("clicked", {"lon": 0.0, "lat": 0.0})]
    assert (
        apply_choices(views, {"n": 1, "search": "", "choices": beside})["said"] == "There is no tract here."
    )


@pytest.mark.parametrize(
    "choices",
    [
        None,
        "side",
        [None, 5, "x"],
        [{"trigger": ["side"], "value": "home"}],
        [{"trigger": "side", "value": ["home"]}, {"trigger": "side", "value": "<script>"}],
        [{"trigger": "release", "value": "nowhere"}, {"trigger": "release", "value": {}}],
        [{"trigger": "clicked", "value": {"lon": 1, "lat": 2}, "read": {"pick": ["tract"]}}],
        [{"trigger": "clicked", "value": {"lon": 1, "lat": 2}, "read": "pick"}],
        [{"trigger": "open-setup", "value": 5}],
        [{"trigger": "every", "value": 1}] * 2 * MAX_CHOICES,
    ],
)
def test_forged_choices_lead_nowhere(release: Release, choices: Any) -> None:
    found = apply_choices(Views({"squareland": release}), {"n": "x", "search": ["?"], "choices": choices})
    assert found["search"] is None


def test_another_release_keeps_the_areas_that_it_has(release: Release) -> None:
    state = address_of(areas=(TRACT, "circle:0.1,0.1,5"))
    turned = after(state, release, "release", "other", AT_REST)
    assert turned == replace(state, release="other")
    views = Views({"squareland": release, "other": release})
    assert fit_address(views, turned) == (turned, "")
    gone = turned.having(areas=(*turned.question.areas, "tract:99999999999"))
    kept, said = fit_address(views, gone)
    assert kept == turned
    assert said.startswith("1 part of the area left out")
    assert after(state, release, "release", "squareland", AT_REST) == state


def test_there_is_a_most_of_areas(release: Release) -> None:
    full = address_of(areas=tuple(f"x:{number}" for number in range(MAX_PARTS)))
    with pytest.raises(UsageError, match="at most"):
        after(full, release, "search", TRACT, AT_REST)


def uploaded(name: str, content: bytes) -> Any:
    """The content of a file that has been uploaded and read."""
    uploads = Uploads()
    token = uploads.add("somebody", name, content)
    while uploads.progress(token)["state"] in ("waiting", "reading"):
        time.sleep(0.01)
    return uploads.area(token)


def test_an_uploaded_area_keeps_its_blocks_with_few_corners(release: Release) -> None:
    round_one = shapely.Point(-70.9, 42.1).buffer(0.06, quad_segs=2_000)
    area = uploaded("round.geojson", json.dumps(shapely.geometry.mapping(round_one)).encode())
    (step,) = after(address_of(), release, "open-area", area, AT_REST).question.areas
    assert len(step) < 3_000
    exact = str(Shape.of(round_one))
    assert len(exact) > 10_000
    simple, whole = (release.areas.select(area).blocks for area in (step, exact))
    assert simple is not None
    assert whole is not None
    assert list(simple) == list(whole)


def test_a_file_with_latitude_first_is_refused_with_where_it_would_lie(release: Release) -> None:
    """Finds exchanged axes that become an area where no one works, and one elsewhere that is called exchanged."""
    swapped = shapely.box(42, -71, 42.1, -70.9)
    area = uploaded("swapped.geojson", shapely.to_geojson(swapped).encode())
    with pytest.raises(
        UsageError, match="no one works there; with latitude and longitude exchanged it would lie"
    ):
        after(address_of(), release, "open-area", area, AT_REST)
    assert notes_on_names(release, Questions(areas=(str(Shape.of(swapped)),)))[0].startswith(
        "no one works there"
    )
    elsewhere = uploaded("elsewhere.geojson", shapely.to_geojson(shapely.box(10, 50, 11, 51)).encode())
    assert after(address_of(), release, "open-area", elsewhere, AT_REST).question.areas


def test_polygons_of_a_file_keep_their_names(release: Release) -> None:
    def file_with(*names: str | None) -> Any:
        shapes = [shapely.box(-71 + at / 10, 42, -70.9 + at / 10, 42.1) for at in range(len(names))]
        features = [
            {"type": "Feature", "properties": {"name": name}, "geometry": shapely.geometry.mapping(shape)}
            for name, shape in zip(names, shapes, strict=True)
        ]
        return uploaded("x.geojson", json.dumps({"type": "FeatureCollection", "features": features}).encode())

    parts = after(address_of(), release, "open-area", file_with("East End", "West"), AT_REST).question.areas
    assert [step_name(release, part)[0] for part in parts] == ["East End", "West"]
    assert (
        len(after(address_of(), release, "open-area", file_with("East", None), AT_REST).question.areas) == 1
    )
    assert len(after(address_of(), release, "open-area", file_with("A", "A"), AT_REST).question.areas) == 1


def test_a_corridor_replaces_the_chosen_parts(release: Release) -> None:
    state = address_of(areas=("stplc:4459", "-county:10003"))
    near = after(state, release, "add-corridor", 1, AT_REST | {"within": " 1.5 "})
    assert near.question.areas == ("near:stplc:4459,1.5", "-county:10003")
    assert (
        after(near, release, "within", 1, AT_REST | {"within": "2"}).question.areas[0] == "near:stplc:4459,2"
    )
    assert step_name(release, "near:stplc:4459,1") == ("Within 1 mile of Old Harbour city", "Corridor")
    pair = state.having(analysis="paired", others=("county:10001",))
    other = after(pair, release, "within", 1, AT_REST | {"within": "1", "target": "others"})
    assert other.question.others == ("near:county:10001,1",)
    assert other.question.areas == pair.question.areas


@pytest.mark.parametrize(
    ("areas", "within", "said"),
    [
        (("stplc:4459",), "", "no distance"),
        (("stplc:4459",), "wide", "type miles"),
        (("stplc:4459",), "0", "above 0 and at most 50"),
        (("stplc:4459",), "nan", "above 0 and at most 50"),
        ((), "1", "choose an area first"),
        (("circle:-70.9,42.1,2",), "1", "radius of its own"),
        (("-stplc:4459",), "1", "adds nothing"),
        ((f"state:{ELSEWHERE}",), "1", "no outline of"),
    ],
)
def test_a_corridor_that_is_none_is_refused_in_one_line(
    release: Release, areas: tuple[str, ...], within: str, said: str
) -> None:
    with pytest.raises((UsageError, GeometryError), match=said) as refused:
        after(address_of(areas=areas), release, "add-corridor", 1, AT_REST | {"within": within})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("within", "miles"), [("", "0.5"), ("2.5", "2.5")])
def test_a_drawn_line_is_a_corridor_of_the_typed_miles(release: Release, within: str, miles: str) -> None:
    points = {"points": [[-71 + n / 100, 42.05 + n % 2 / 1_000] for n in range(10)]}
    drawn = after(address_of(), release, "drawn", points | {"line": True}, AT_REST | {"within": within})
    (step,) = drawn.question.areas
    assert step.startswith("line:")
    assert step.endswith(f",{miles}")
    assert release.areas.select(step).n_edge_blocks > 0
    assert after(address_of(), release, "drawn", points, AT_REST).question.areas[0].startswith("shape:")


def test_a_line_of_two_corners_is_no_box(release: Release) -> None:
    ends = {"points": [[-71, 42.05], [-70.9, 42.1]]}
    assert after(address_of(), release, "drawn", ends, AT_REST).question.areas[0].startswith("box:")
    line = after(address_of(), release, "drawn", ends | {"line": True}, AT_REST)
    assert line.question.areas[0].startswith("line:")


def test_a_pair_says_what_to_click_next() -> None:
    def said(**question: Any) -> tuple[str, str | None]:
        asked = address_of(analysis="paired", **question).question
        return area_controls.prompt(asked), area_controls.next_end(asked)

    assert said() == ("Click where they work, or search.", "areas")
    assert said(areas=(TRACT,)) == ("Now click where they live, or search.", "others")
    assert said(areas=(TRACT,), side="home") == ("Now click where they work, or search.", "others")
    assert said(areas=(TRACT,), others=(TRACT,)) == ("", None)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_each_question_without_an_area_has_an_answer_or_says_what_to_choose(analysis: str) -> None:
    question = address_of(analysis=analysis).question
    assert question.is_complete == (not area_controls.missing(question))
    assert question.is_complete or analysis in ("destinations", "inflow-outflow", "paired")


def test_lines_of_a_file_are_corridors(release: Release) -> None:
    road = shapely.LineString([(-71 + n / 1e4, 42.05 + n % 2 / 1e6) for n in range(2_000)])
    file = uploaded("road.geojson", shapely.to_geojson(road).encode())
    with pytest.raises(GeometryError, match="holds lines but no polygons; give a distance in miles"):
        after(address_of(), release, "open-area", file, AT_REST)
    (step,) = after(address_of(), release, "open-area", file, AT_REST | {"within": "1"}).question.areas
    assert len(step) < 3_000
    exact = release.areas.select(str(part_of(road, 1))).blocks
    found = release.areas.select(step).blocks
    assert exact is not None
    assert found is not None
    assert list(found) == list(exact)
    box = uploaded("box.geojson", shapely.to_geojson(shapely.box(-71, 42, -70.9, 42.1)).encode())
    (step,) = after(address_of(), release, "open-area", box, AT_REST | {"within": "1"}).question.areas
    assert step.startswith("near:shape:")


def test_the_same_area_at_both_ends(release: Release) -> None:
    state = address_of(analysis="paired", areas=("near:stplc:4459,1",), others=("county:10001",))
    same = after(state, release, "same-ends", 1, AT_REST)
    assert same.question.areas == same.question.others == ("near:stplc:4459,1",)
    assert to_query(same).endswith("&other=same")
    other = after(state, release, "same-ends", 1, AT_REST | {"target": "others"})
    assert other.question.areas == other.question.others == ("county:10001",)
    with pytest.raises(UsageError, match="no area is chosen yet"):
        after(address_of(analysis="paired"), release, "same-ends", 1, AT_REST)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.exe", b"MZ"),
        ("../../etc/passwd", b"root"),
        ("x.kml", b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><kml>&b;</kml>'),
        ("x.zip", b"!!!"),
    ],
)
def test_an_upload_that_is_no_area_is_refused_in_one_line(name: str, content: bytes) -> None:
    with pytest.raises(UsageError) as refused:
        uploaded(name, content)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "value", [None, {}, {"token": None}, {"token": "x"}, {"name": "x.zip", "content": "!!!"}]
)
def test_a_file_that_was_never_uploaded_is_refused_in_one_line(release: Release, value: Any) -> None:
    views = Views({"squareland": release})
    choice = {"trigger": "open-area", "value": value, "read": {}}
    found = apply_choices(views, {"n": 1, "search": "", "choices": [choice]})
    assert (found["search"], found["said"]) == (None, "the server no longer has this file; choose it again")


def test_a_choice_replaces_the_area_unless_it_is_added(release: Release) -> None:
    replaces = AT_REST | {"sign": "="}
    state = address_of(areas=("county:10001", "county:10003"))
    assert after(state, release, "search", "county:11001", replaces).question.areas == ("county:11001",)
    assert after(state, release, "search", "county:11001", AT_REST).question.areas == (
        *state.question.areas,
        "county:11001",
    )
    assert after(state, release, "search", "county:99999", replaces) == state
    at = click(release, "10001000000")
    once = after(state, release, "clicked", at, replaces)
    assert once.question.areas == (TRACT,)
    assert after(once, release, "clicked", at, replaces).question.areas == ()
    rings = replaces | {"center": "county:10001", "radii": "1, 3"}
    assert [
        step.partition(":")[0] for step in after(state, release, "add-circle", None, rings).question.areas
    ] == [
        "circle",
        "ring",
    ]
    others = address_of(analysis="paired", areas=("county:10001",), others=("county:10003",))
    now = after(others, release, "search", "county:11001", replaces | {"target": "others"}).question
    assert (now.areas, now.others) == (("county:10001",), ("county:11001",))


def test_a_click_selects_the_usual_units_until_another_layer_is_chosen(release: Release) -> None:
    at = click(release, "10001000006")
    level = release.areas.usual.of("work")
    (found,) = after(address_of(), release, "clicked", at, AT_REST | {"pick": "usual"}).question.areas
    assert found.partition(":")[0] == level != "tract"


EDITS = [
    ("circle:-70.9,42.1,1", {"miles": "2", "name": " Old  Harbour "}, "circle:-70.9,42.1,2@Old+Harbour"),
    ("circle:-70.9,42.1,1@A", {"miles": "1", "name": ""}, "circle:-70.9,42.1,1"),
    ("circle:-70.9,42.1,1@A", {"miles": "1, 3", "name": "A"}, "ring:-70.9,42.1,1,3@A"),
    ("-ring:-70.9,42.1,1,3", {"miles": "4"}, "-circle:-70.9,42.1,4"),
    ("county:10001", {"miles": "1.5"}, "near:county:10001,1.5"),
    ("near:county:10001,1.5", {"miles": "", "name": ""}, "county:10001"),
    ("near:county:10001,1.5@Edge", {"miles": "", "name": "Edge"}, "county:10001"),
    ("near:county:10001,1.5", {"miles": "2", "name": "Edge"}, "near:county:10001,2@Edge"),
    ("box:-70.9,42,-70.8,42.1", {"miles": "", "name": "A&B @ +1"}, "box:-70.9,42,-70.8,42.1@A%26B+%40+%2B1"),
    ("line:-70.9,42.1,-70.8,42.15,1", {"miles": "2"}, None),
]


@pytest.mark.parametrize(("step", "given", "expected"), EDITS)
def test_a_part_of_an_area_can_be_changed_and_named(
    release: Release, step: str, given: dict[str, str], expected: str | None
) -> None:
    state = address_of(areas=("county:11001", step))
    trigger: dict[str, object] = {"type": "edit", "area": step, "of": "areas", **given}
    first, changed = after(state, release, trigger, 1, AT_REST).question.areas
    assert first == "county:11001"
    assert changed == expected or (expected is None and changed.endswith(",2"))
    views = Views({"squareland": release})
    now = state.having(areas=("county:11001", changed))
    assert views.parse(to_query(now)) == (now, ())
    assert after(now, release, trigger, 1, AT_REST) == now  # of a part that is gone


@pytest.mark.parametrize(
    ("step", "given", "message"),
    [
        ("circle:-70.9,42.1,1", {"miles": ""}, "type miles"),
        ("circle:-70.9,42.1,1", {"miles": "x"}, "type miles"),
        ("circle:-70.9,42.1,1", {"miles": "3, 1"}, "must be smaller"),
        ("circle:-70.9,42.1,1", {"miles": "1", "name": "x" * 61}, "at most 60"),
        ("county:10001", {"miles": "1 2"}, "one number"),
        ("county:10001", {"miles": "99"}, "50"),
        ("county:10001", {"name": "Mine"}, "a name of its own"),
    ],
)
def test_a_change_that_is_not_allowed_says_why(
    release: Release, step: str, given: dict[str, str], message: str
) -> None:
    trigger: dict[str, object] = {"type": "edit", "area": step, "of": "areas", **given}
    with pytest.raises((UsageError, GeometryError), match=message):
        after(address_of(areas=(step,)), release, trigger, 1, AT_REST)


def test_every_chip_but_that_of_everything_can_be_changed(release: Release) -> None:
    steps = ("county:10001", "circle:-70.9,42.1,1@Mine", "near:county:10003,1", "all")
    chips = area_controls.chips(release, steps, "areas")
    texts = [json.dumps(chip, cls=plotly.utils.PlotlyJSONEncoder) for chip in chips]
    assert ["Edit" in text for text in texts] == [True, True, True, False, False, False]
    assert ['"data-edit": "name"' in text for text in texts[:3]] == [False, True, True]
    assert '"value": "Mine"' in texts[1]
    assert "Circle, 1 mi" in texts[1]
