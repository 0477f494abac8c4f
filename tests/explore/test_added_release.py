"""A release that is made while the map is served joins it, and open pages offer it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mapapp.explore.server import add_release, await_no_more, create_app
from tests.releases import write_release

TO_COME = "OnTheMap V3 preset"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("joining")
    return [
        write_release(folder / name, n_pairs=200, seed=seed) for seed, name in enumerate(("now", "new"), 1)
    ]


def offered(app: Any) -> dict[str, Any]:
    """What a page that looks for releases receives, by component."""
    client = app.server.test_client()
    listed = client.get("/_dash-dependencies").get_json()
    look = next(one for one in listed if "look-for-releases.disabled" in one["output"])
    outputs = [name.rpartition(".") for name in look["output"].strip(".").split("...")]
    body = {
        "output": look["output"],
        "outputs": [{"id": component, "property": prop} for component, _, prop in outputs],
        "inputs": [one | {"value": 1} for one in look["inputs"]],
        "state": [one | {"value": ""} for one in look["state"]],
        "changedPropIds": ["look-for-releases.n_intervals"],
    }
    answer = client.post("/_dash-update-component", json=body)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.get_json()["response"]
    return found


def page_of(app: Any) -> str:
    """The map page's components as text."""
    from plotly.io.json import to_json_plotly

    from mapapp.explore.pages import explore
    from mapapp.question.address import Address

    views = app.server.extensions["commutemap"]
    return str(to_json_plotly(explore.page(views.releases, Address(), {}, {}, views.awaited)))


def test_an_open_page_offers_a_release_as_soon_as_it_is_there(paths: list[Path]) -> None:
    app = create_app(paths[:1], awaited=[TO_COME])
    assert f"A release with the {TO_COME} is being made" in page_of(app)
    views = app.server.extensions["commutemap"]
    assert "no release" in views.parse("?release=new")[1][0]
    before = offered(app)
    assert [one["value"] for one in before["offered"]["data"]["release"]] == ["now"]
    assert (before["releases"]["hidden"], before["look-for-releases"]["disabled"]) == (True, False)
    add_release(app, paths[1], awaited=TO_COME)
    after = offered(app)
    assert [one["value"] for one in after["offered"]["data"]["release"]] == ["now", "new"]
    assert [one["value"] for one in after["offered"]["data"]["against"]] == ["", "new"]
    assert (after["releases"]["hidden"], after["look-for-releases"]["disabled"]) == (False, True)
    assert after["awaited"]["children"] == ""
    assert after["release-title"]["children"].startswith("Squareland, 2019 (")
    address, notes = views.parse("?release=new")
    assert (address.release, notes) == ("new", ()), "an address that was read before is read again"
    assert TO_COME not in page_of(app)


def test_a_page_stops_looking_when_a_release_could_not_be_made(paths: list[Path]) -> None:
    app = create_app(paths[:1], awaited=[TO_COME])
    await_no_more(app, TO_COME)
    found = offered(app)
    assert (found["releases"]["hidden"], found["look-for-releases"]["disabled"]) == (True, True)
    assert found["awaited"]["children"] == ""


def test_a_page_of_an_ordinary_server_never_looks(paths: list[Path]) -> None:
    assert offered(create_app(paths))["look-for-releases"]["disabled"]
    assert '"id":"look-for-releases","disabled":true' in page_of(create_app(paths)).replace(" ", "")
