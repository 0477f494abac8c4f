"""The parts of an area side by side have the numbers of the parts asked alone, and drawn borders stay as drawn."""

from __future__ import annotations

import gzip
import json
from functools import partial

import pytest
import shapely

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.explore.pages.side_by_side import side_card
from mapapp.question.area_text import parse_area, polygon_of
from mapapp.question.question import Question
from mapapp.show.content import chosen_areas
from mapapp.show.content.side_by_side import SideBySide, has_sides, part_names, side_by_side
from tests.addresses import settled
from tests.releases import write_release

TRACTS = ("tract:10001000000", "tract:10001000001")
RINGS = ("circle:-70.9,42.1,2", "ring:-70.9,42.1,2,5", "ring:-70.9,42.1,5,9")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


def sides_of(release: Release, **asked: object) -> SideBySide:
    question = settled(release, Question(**asked))  # type: ignore[arg-type]  # a test's fields
    found = side_by_side(release.areas, question, partial(served_answers.with_errors, release))
    assert found is not None
    return found


def test_rings_are_three_answers_side_by_side(release: Release) -> None:
    found = sides_of(release, analysis="profile", areas=RINGS)
    assert found.names == ("Within 2 miles", "2 to 5 miles", "5 to 9 miles")
    counts = [release.profile(ring).workers.value for ring in RINGS]
    assert [cell.text for cell in found.rows[0].cells] == [f"{n:,}" for n in counts]
    assert [row.label for row in found.rows if not row.cells] == ["Age", "Earnings", "Industry"]
    assert side_card(found) is not None


def test_two_areas_list_the_same_places(release: Release) -> None:
    found = sides_of(release, analysis="destinations", areas=TRACTS, layer="county")
    for at, tract in enumerate(TRACTS):
        units = release.destinations(tract, layer="county").units.set_index("name")["workers"]
        for row in found.rows[2:]:
            assert row.cells[at].text == f"{units.get(row.label, 0):,}"


@pytest.mark.parametrize("analysis", ["inflow-outflow", "distance-direction", "comparison", "job-balance"])
def test_each_row_has_a_number_of_each_part(release: Release, analysis: str) -> None:
    found = sides_of(release, analysis=analysis, areas=TRACTS)
    assert len(found.rows) > 1
    assert {len(row.cells) for row in found.rows} <= {0, 2}


@pytest.mark.parametrize(
    "areas", [(), TRACTS[:1], (TRACTS[0], f"-{TRACTS[1]}"), (*TRACTS, *RINGS), ("all", f"&{TRACTS[0]}")]
)
def test_other_areas_have_no_sides(areas: tuple[str, ...]) -> None:
    assert not has_sides(Question(analysis="profile", areas=areas))
    assert side_card(None) is None


def test_names_of_parts_of_two_kinds_are_whole(release: Release) -> None:
    assert part_names(release.areas, (RINGS[0], TRACTS[0]))[0].startswith("2 mi around")


def test_what_was_drawn_stays_as_it_was_drawn(release: Release) -> None:
    circle, box = "circle:-70.9,42.1,2", "box:-71,42,-70.9,42.1"
    drawn = chosen_areas.borders(release, (circle, box))
    for text, shape in drawn.items():
        assert shape.equals(polygon_of(parse_area(text)[0].part))  # type: ignore[arg-type]  # drawn parts
    cut = chosen_areas.borders(release, (box, f"-{circle}"))["area"]
    assert cut.equals(shapely.difference(drawn[box], drawn[circle]))
    assert set(chosen_areas.borders(release, TRACTS)) == set(TRACTS)


def test_a_line_is_drawn_as_a_line_within_its_corridor(release: Release) -> None:
    line = "line:-71,42.05,-70.9,42.1,0.5"
    features = json.loads(gzip.decompress(chosen_areas.borders_file(release, (line,))))["features"]
    corridor, drawn = (shapely.geometry.shape(feature["geometry"]) for feature in features)
    assert drawn.geom_type == "MultiLineString"
    assert corridor.contains(drawn)


def test_a_corridor_on_the_map_is_as_wide_as_its_miles() -> None:
    wide = chosen_areas.around(shapely.Point(-71, 42), 10)
    west, south, east, north = wide.bounds
    assert (north - south) * 69.05 == pytest.approx(20, rel=0.01)
    assert (east - west) * 51.4 == pytest.approx(20, rel=0.01)
