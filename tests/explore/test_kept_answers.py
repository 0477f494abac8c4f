"""A response that was sent once is sent again as it was, to whoever asks for the same, and to nobody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mapapp.answers import served_answers
from mapapp.base import memory_limits
from mapapp.base.watch import Refused
from mapapp.explore import heavy_requests
from mapapp.explore.admission import Admission
from mapapp.explore.server import add_release, create_app
from tests.releases import write_release

QUERY = "?area=county:10001"
NAV = [{"id": {"page": page, "type": "nav"}, "property": "href"} for page in ("/", "/method")]
PARTS = ("answered.data", "answer.children@", "placed.data", "banner.children", "map.figure")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("kept") / "squareland")


@pytest.fixture
def app(path: Path) -> Any:
    return create_app([path])


@pytest.fixture
def client(app: Any) -> Any:
    return app.server.test_client()


def body_of(client: Any, part: str, query: object = QUERY, **more: object) -> dict[str, Any]:
    """What a page sends for the callback with an output."""
    listed = client.get("/_dash-dependencies").get_json()
    asked = next(each for each in listed if part in each["output"] and not each["clientside_function"])
    names = [name.split("@")[0].rpartition(".") for name in asked["output"][2:-2].split("...")]
    value = {
        "search": query,
        "pathname": "/",
        "look": {"search": query, "width": 700, "height": 800, "moved_by": "other"},
        "on-map": {"release": "squareland", "theme": "light", "view": "another"},
    } | more
    return {
        "output": asked["output"],
        "outputs": [
            NAV if component.startswith("{") else {"id": component, "property": prop}
            for component, _, prop in names
        ],
        **{
            kind: [
                each
                | {
                    "value": query
                    if each["id"] == "answered"
                    else value.get(each["property"], value.get(each["id"]))
                }
                for each in asked[kind]
            ]
            for kind in ("inputs", "state")
        },
        "changedPropIds": [],
    }


def post(client: Any, body: dict[str, Any], **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post("/_dash-update-component", json=body, headers={"Accept-Encoding": "gzip"} | given)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets every callback fail that still computes something."""

    def fail() -> None:
        monkeypatch.setattr(
            "dash._callback._invoke_callback", lambda *_, **__: pytest.fail("a callback was called")
        )

    return fail


@pytest.mark.parametrize("part", PARTS)
def test_what_was_asked_before_is_sent_again_without_a_callback(client: Any, broken: Any, part: str) -> None:
    body = body_of(client, part)
    first = post(client, body)
    assert first.status_code == 200
    broken()
    again = post(client, body)
    assert again.get_data() == first.get_data()
    assert dict(again.headers) == dict(first.headers)


def test_a_client_that_takes_no_gzip_gets_the_same(client: Any, broken: Any) -> None:
    body = body_of(client, "answered.data")
    assert post(client, body).headers["Content-Encoding"] == "gzip"
    broken()
    plain = post(client, body, Accept_Encoding="identity")
    assert "Content-Encoding" not in plain.headers
    assert plain.headers["Vary"] == "Accept-Encoding"
    assert plain.get_json()["response"]["answered"]["data"] == QUERY


def test_a_forged_request_changes_nothing_for_others(client: Any) -> None:
    right = body_of(client, "banner.children")
    pages = [[each | {"id": {"page": "/x", "type": "nav"}} for each in NAV]]
    wrong = right | {"outputs": [*right["outputs"][:-1], *pages]}
    assert '"page":"/x"' in post(client, wrong, Accept_Encoding="identity").get_data(as_text=True).replace(
        "\\", ""
    ).replace("u002f", "/")
    found = post(client, right, Accept_Encoding="identity").get_json()["response"]
    assert {json.loads(name)["page"] for name in found if name.startswith("{")} == {"/", "/method"}


@pytest.mark.parametrize(
    "query", [None, 5, {"search": 5}, [], "x" * 1000, json.loads("[" * 500 + "]" * 500), float("nan")]
)
@pytest.mark.parametrize("part", PARTS)
def test_a_forged_address_is_no_fault_of_the_server(client: Any, part: str, query: object) -> None:
    for _ in range(2):
        assert post(client, body_of(client, part, query)).status_code in (200, 204)


def test_colors_that_the_system_prefers_are_told_apart(client: Any) -> None:
    body = body_of(client, "banner.children")
    themes = [
        post(client, body, X_Color_Scheme=scheme, Accept_Encoding="identity").get_json()["response"][
            "theme-provider"
        ]["forceColorScheme"]
        for scheme in ("light", "dark", "light")
    ]
    assert themes == ["light", "dark", "light"]


def test_a_map_is_the_same_for_visitors_who_come_from_other_views(client: Any, broken: Any) -> None:
    first = post(client, body_of(client, "map.figure"))
    broken()
    on_map = {"release": "squareland", "theme": "light", "view": "a third"}
    assert post(client, body_of(client, "map.figure", **{"on-map": on_map})).get_data() == first.get_data()


@pytest.mark.parametrize(
    "more",
    [
        {"look": {"search": QUERY, "width": 390, "height": 800, "moved_by": "other"}},
        {"look": {"search": QUERY, "width": 700, "height": 800, "moved_by": "map"}},
        {"on-map": {"release": "", "theme": "light", "view": "another"}},
        {"on-map": {"release": "squareland", "theme": "dark", "view": "another"}},
        {"opened-view": {"search": QUERY, "bounds": [-75.0, 38.0, -74.0, 39.0]}},
    ],
)
def test_a_map_that_is_drawn_otherwise_is_another(client: Any, more: dict[str, object]) -> None:
    first = post(client, body_of(client, "map.figure"), Accept_Encoding="identity").get_json()
    given = body_of(client, "map.figure", **more)
    for each in given["state"]:
        each["value"] = more.get(each["id"], each["value"])
    assert post(client, given, Accept_Encoding="identity").get_json() != first


def test_a_kept_answer_needs_no_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    admission = Admission(1, 0, 1.0, heavy_requests.BUSY)
    monkeypatch.setattr(heavy_requests, "answers", lambda _: admission)
    client = create_app([path]).server.test_client()
    known, other = body_of(client, "answered.data"), body_of(client, "answered.data", "?area=all")
    assert post(client, known).status_code == 200
    with admission.place():
        assert post(client, known).status_code == 200
        assert post(client, other).status_code == 503
    assert post(client, other).status_code == 200


def test_a_refusal_is_not_kept(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any) -> Any:
        raise Refused(503, "too late")

    body = body_of(client, "answered.data")
    with monkeypatch.context() as patch:
        patch.setattr(served_answers, "result", late)
        assert post(client, body).status_code == 503
    assert post(client, body).status_code == 200


def test_old_responses_make_room(app: Any, client: Any, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(memory_limits, "RESPONSES_BYTES", 10_000)
    client = create_app([path]).server.test_client()
    bodies = [body_of(client, "answered.data", f"?area=circle:-75,39,{miles}") for miles in range(1, 12)]
    called: list[str] = []
    asked = served_answers.result

    def counted(*given: Any) -> Any:
        called.append(given[1].areas[0])
        return asked(*given)

    monkeypatch.setattr(served_answers, "result", counted)
    for body in (*bodies, bodies[-1], bodies[0]):
        assert post(client, body).status_code == 200
    assert called.count("circle:-75,39,11") == called.count("circle:-75,39,2")
    assert called.count("circle:-75,39,1") == 2 * called.count("circle:-75,39,2")


def test_a_release_that_joins_is_offered_in_every_answer(app: Any, client: Any, tmp_path: Path) -> None:
    def offered() -> list[dict[str, str]]:
        found = post(client, body_of(client, "placed.data"), Accept_Encoding="identity").get_json()
        listed: list[dict[str, str]] = found["response"]["placed"]["data"]["menus"]["against"]
        return listed

    before = offered()
    add_release(app, write_release(tmp_path / "another", seed=2))
    assert len(offered()) == len(before) + 1
