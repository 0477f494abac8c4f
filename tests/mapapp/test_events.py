"""What a visitor does to a view: each step, and nothing but the step."""

from __future__ import annotations

from typing import Any

import pytest

from mapapp.callbacks.events import after
from mapapp.queries.release import ServedRelease
from mapapp.url_state import MAX_AREAS, ViewState
from tests.releases import write_release

TRACT = "tract:10001000000"
AT_REST: dict[str, Any] = {
    "side": "work",
    "show": "points",
    "rows": "tract",
    "age": [],
    "earnings": [],
    "industry": [],
    "pick": "tract",
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ServedRelease:
    return ServedRelease(
        write_release(tmp_path_factory.mktemp("made") / "squareland", n_pairs=50), "squareland"
    )


def click(tract_id: str) -> dict[str, Any]:
    return {"points": [{"location": tract_id, "customdata": "x"}]}


def test_a_click_takes_a_tract_in_and_out(release: ServedRelease) -> None:
    once = after(ViewState(), release, "map", click("10001000000"), AT_REST)
    assert once == ViewState(areas=(TRACT,))
    assert after(once, release, "map", click("10001000000"), AT_REST) == ViewState()


def test_a_click_can_pick_the_county(release: ServedRelease) -> None:
    assert after(ViewState(), release, "map", click("10003000002"), AT_REST | {"pick": "county"}).areas == (
        "county:10003",
    )


@pytest.mark.parametrize(
    "value", [None, {}, {"points": []}, {"points": [{"lon": 1}]}, {"points": [{"location": "nowhere"}]}]
)
def test_a_click_beside_every_tract_does_nothing(release: ServedRelease, value: Any) -> None:
    assert after(ViewState(), release, "map", value, AT_REST) == ViewState()


def test_a_search_adds_and_never_removes(release: ServedRelease) -> None:
    once = after(ViewState(), release, "search", "stplc:4459", AT_REST)
    assert once.areas == ("stplc:4459",)
    assert after(once, release, "search", "stplc:4459", AT_REST) == once
    assert after(once, release, "search", "stplc:none", AT_REST) == once
    assert after(once, release, "search", None, AT_REST) == once


def test_buttons_add_remove_and_clear(release: ServedRelease) -> None:
    state = ViewState(areas=(TRACT, "county:10001"))
    assert after(state, release, {"type": "remove", "area": TRACT}, 1, AT_REST).areas == ("county:10001",)
    assert after(state, release, {"type": "remove", "area": "*"}, 1, AT_REST).areas == ()
    assert after(ViewState(), release, {"type": "suggest", "area": TRACT}, 1, AT_REST).areas == (TRACT,)
    assert after(state, release, {"type": "remove", "area": TRACT}, 0, AT_REST) == state  # it only appeared


def test_no_change_of_a_control_is_lost_when_two_come_at_once(release: ServedRelease) -> None:
    stand = AT_REST | {"side": "home", "age": ["3", "1"], "industry": ["1", "2", "3"]}
    assert after(ViewState(), release, "age", ["3", "1"], stand) == ViewState(side="home", age=(1, 3))


def test_another_release_begins_without_areas(release: ServedRelease) -> None:
    state = ViewState(areas=(TRACT,))
    assert after(state, release, "release", "other", AT_REST) == ViewState(release="other")
    assert after(state, release, "release", "squareland", AT_REST) == state


def test_there_is_a_most_of_areas(release: ServedRelease) -> None:
    full = ViewState(areas=tuple(f"x:{number}" for number in range(MAX_AREAS)))
    assert after(full, release, "search", TRACT, AT_REST) == full
