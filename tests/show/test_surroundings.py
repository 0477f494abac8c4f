"""What the packaged base map adds around a release, and that it never contradicts the release's own geography."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy
import pytest
import shapely

from mapapp.show.content import surroundings as made
from mapapp.show.content.surroundings import OwnGeography, Surroundings, surroundings

RHODE_ISLAND = shapely.box(-71.85, 41.2, -71.2, 42.0)
PROVIDENCE, AT_SEA = (-71.41, 41.82), (-71.75, 41.25)


def around(state: shapely.Geometry, people: list[tuple[float, float]], **others: Any) -> Surroundings:
    shapes = numpy.array([state, None], dtype=object)[:-1]
    own: dict[str, Any] = {"water": numpy.empty(0, dtype=object), "has_rails": False} | others
    return surroundings(OwnGeography(states=shapes, people_deg=numpy.array(people), **own))


def covers(found: Surroundings, kind: str, place: tuple[float, float]) -> bool:
    return bool(shapely.intersects(found.of(kind), shapely.Point(place)).any())


@pytest.fixture(scope="module")
def rhode_island() -> Surroundings:
    return around(RHODE_ISLAND, [PROVIDENCE])


def test_neighbors_have_land_and_the_sea_has_none(rhode_island: Surroundings) -> None:
    assert covers(rhode_island, "land", (-71.06, 42.36)), "Boston"
    assert covers(rhode_island, "land", (-1.5, 52.5)), "England, far away"
    assert not covers(rhode_island, "land", (-70.0, 40.0))


def test_a_state_that_reaches_into_the_sea_is_cut_off_there(rhode_island: Surroundings) -> None:
    assert covers(rhode_island, "sea", AT_SEA)
    assert not covers(rhode_island, "sea", PROVIDENCE)


def test_where_people_live_is_never_sea() -> None:
    """Whatever the coarse coast says."""
    found = around(RHODE_ISLAND, [PROVIDENCE, AT_SEA])
    assert not covers(found, "sea", AT_SEA)
    assert covers(found, "sea", (AT_SEA[0] + 0.1, AT_SEA[1]))


def test_a_release_with_water_and_rails_keeps_its_own() -> None:
    """Within the 0.25 degrees to which they reach."""
    found = around(RHODE_ISLAND, [PROVIDENCE], water=None, has_rails=True)
    assert not len(found.of("sea"))
    for kind in ("lake", "river", "rail"):
        assert not shapely.intersects(found.of(kind), shapely.buffer(RHODE_ISLAND, 0.2)).any()
        assert len(found.of(kind))


def test_a_lake_that_the_release_has_is_not_drawn_twice() -> None:
    state, lake = shapely.box(-89, 41, -84, 46), shapely.Point(-87, 43.5)
    people = [(-88.0, 44.0)]
    assert covers(around(state, people), "lake", (-87, 43.5))
    own = numpy.array([shapely.buffer(lake, 1)], dtype=object)
    assert not covers(around(state, people, water=own), "lake", (-87, 43.5))


def test_a_generated_country_far_out_at_sea_is_left_alone() -> None:
    island = shapely.box(-44, 41, -43, 42)
    found = around(island, [(-43.5, 41.5)])
    assert not len(found.of("sea"))
    assert not shapely.intersects(found.shapes, island).any()


def test_strips_by_which_the_packaged_coast_is_off_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged land reaches 1 km beyond the state's coast in the east; the neighbor in the west stays."""
    land = shapely.box(-102, 40, -98.99, 41)
    frame = {"layer": ["land"], "name": [""], "rank": [0], "people": [0], "width_deg": [0.0]}
    monkeypatch.setattr(made, "read_world", lambda: geopandas.GeoDataFrame(frame, geometry=[land], crs=4326))
    found = around(shapely.box(-100, 40, -99, 41), [(-99.5, 40.5)])
    assert not covers(found, "land", (-98.995, 40.5))
    assert covers(found, "land", (-100.001, 40.5))
    assert covers(found, "land", (-99.999, 40.5)), "no sea shows between the two"


def test_names_are_those_outside(rhode_island: Surroundings) -> None:
    names = {(name.kind, name.name) for name in rhode_island.names}
    assert {("city", "Boston"), ("state", "Connecticut")} <= names
    assert not {("city", "Providence"), ("state", "Rhode Island")} & names
    assert any(kind == "sea" for kind, _ in names)


def test_borders_end_at_the_coast() -> None:
    """Of a state and of the counties in it; a gap that simplification leaves between two states is no coast."""
    west, east = shapely.box(-72.5, 41.0, -71.8004, 42.0), shapely.box(-71.8, 41.0, -71.2, 42.0)
    shapes = numpy.array([west, east], dtype=object)
    own = OwnGeography(
        states=shapes,
        people_deg=numpy.array([PROVIDENCE]),
        water=numpy.empty(0, dtype=object),
        has_rails=False,
    )
    around_both = surroundings(own)
    line = shapely.union_all(around_both.of("state-line"))
    inland, at_sea = shapely.box(-71.81, 41.4, -71.79, 41.9), shapely.Point(-71.5, 41.0)
    for border in (line, shapely.union_all(around_both.lines_inland(shapes))):
        assert shapely.length(shapely.intersection(border, inland)) >= 0.5
        assert shapely.distance(border, at_sea) > 0.1
