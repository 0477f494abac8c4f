"""Requests that no page makes: each gets one line and a status that says whose fault it is; none costs much."""

from __future__ import annotations

import base64
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pandas
import pytest

from mapapp.answers.areas import areas, selection
from mapapp.answers.release import Release
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.explore.callbacks import events, setup_file
from mapapp.explore.callbacks.views import MOST_LINES, LimitedLog, Views
from mapapp.explore.server import create_app, listen
from mapapp.question.address import Address
from mapapp.question.setup_file import VERSION
from mapapp.show.content import area_outlines
from mapapp.show.content.map_layers import surroundings_of
from tests.addresses import address_of
from tests.releases import ELSEWHERE, write_release

ANY: tuple[object, ...] = (
    None,
    -1,
    1e308,
    float("nan"),
    True,
    "",
    "\x00",
    [],
    [[]],
    ["1", "x"],
    {},
    {"search": 5, "width": "x"},
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("hostile") / "squareland")


@pytest.fixture(scope="module")
def client(path: Path) -> Any:
    return create_app([path]).server.test_client()


def post(client: Any, body: bytes) -> Any:
    return client.post("/_dash-update-component", data=body, content_type="application/json")


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"output": "page.children"}',
        b'{"output": 1, "inputs": 1}',
        b'{"output": "no.such", "outputs": {"id": "no", "property": "such"}, "inputs": [], "changedPropIds": []}',
    ],
)
def test_a_request_that_is_none_of_ours_is_refused_in_one_line(
    client: Any, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = post(client, body)
    text = answer.get_data(as_text=True)
    assert answer.status_code == 400
    assert text.count("\n") == 1
    assert "Traceback" not in text
    assert all("/" not in line and line.count("\n") == 0 for line in caplog.messages)
    assert all(record.exc_info is None for record in caplog.records)
    assert "script-src" in answer.headers["Content-Security-Policy"]


def test_forged_requests_do_not_fill_the_log(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    client = create_app([path]).server.test_client()
    for _ in range(3 * MOST_LINES):
        assert post(client, b'{"output": 1, "inputs": 1}').status_code == 400
    assert len(caplog.records) == MOST_LINES


def test_the_log_says_how_many_lines_were_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    log = LimitedLog(clock=lambda: now[0])
    for second in (0, 59.9, 60, 119.9, 200):
        now[0] = second
        for _ in range(MOST_LINES):
            log.error("failed", details=ValueError("why"))
    assert [line for line in caplog.messages if line != "failed"] == [
        "20 more lines about failed requests were left out"
    ] * 2
    assert caplog.messages.count("failed") == 3 * MOST_LINES
    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize(
    "address",
    [
        "/_dash-component-suites/os/x.js",
        "/_dash-component-suites/dash/..%2f..%2fdash.py",
        "/assets/..%2f..%2fpyproject.toml",
        "/geo/..%2f..%2f/x/y.geojson",
        "/no/such/page",
        "/%00",
    ],
)
def test_what_is_not_there_is_not_found(client: Any, address: str) -> None:
    assert client.get(address).status_code == 404


def test_pages_are_found(client: Any) -> None:
    assert [client.get(path).status_code for path in ("/", "/method", "/method/")] == [200, 200, 200]


def _inputs(names: list[dict[str, str]]) -> list[Any]:
    return [
        [] if name["id"].startswith("{") else {"id": name["id"], "property": name["property"], "value": None}
        for name in names
    ]


@pytest.mark.parametrize("kind", ["release", "table"])
def test_no_value_of_any_input_brings_a_callback_down(
    path: Path, demo_table: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    served = {"release": path, "table": demo_table}[kind]
    client = create_app([served]).server.test_client()
    for callback in client.get("/_dash-dependencies").get_json():
        if callback["clientside_function"] or "page.children" in callback["output"]:
            continue
        inputs, state = _inputs(callback["inputs"]), _inputs(callback["state"])
        for each in [each for each in inputs + state if isinstance(each, dict)]:
            for value in ANY:
                each["value"] = value
                body = {
                    "output": callback["output"],
                    "outputs": _outputs(callback["output"]),
                    "inputs": inputs,
                    "state": state,
                    "changedPropIds": [f"{each['id']}.{each['property']}"],
                }
                assert post(client, json.dumps(body).encode()).status_code in (200, 204)
            each["value"] = None
    assert caplog.messages == []


def _outputs(text: str) -> Any:
    def one(name: str) -> Any:
        component, _, prop = name.split("@")[0].rpartition(".")
        if component.startswith("{"):  # the links to all pages of a server with one publication
            return [{"id": {"page": page, "type": "nav"}, "property": prop} for page in ("/", "/method")]
        return {"id": component, "property": prop}

    return [one(name) for name in text[2:-2].split("...")] if text.startswith("..") else one(text)


def test_slow_visitors_keep_nobody_out_and_a_large_body_is_not_taken(path: Path) -> None:
    server, address = listen(create_app([path]), port=0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    port = int(address.rstrip("/").rpartition(":")[2])
    slow = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(130)]
    try:
        for one in slow:
            one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX")
        with socket.create_connection(("127.0.0.1", port), timeout=30) as visitor:
            visitor.sendall(b"GET /_dash-layout HTTP/1.1\r\nHost: x\r\n\r\n")
            assert visitor.recv(12) == b"HTTP/1.1 200"
        with socket.create_connection(("127.0.0.1", port), timeout=30) as large:
            large.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n")
            assert large.recv(12) == b"HTTP/1.1 413"
    finally:
        for one in slow:
            one.close()
        server.close()
        server.task_dispatcher.shutdown()
        thread.join(timeout=5)


def test_answers_are_kept_by_their_size_and_the_ground_always(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limits, "ANSWERS_BYTES", 50_000)
    release = Release.open(path, "squareland")
    made: list[Any] = []

    def ask(key: Any, value: Any) -> None:
        release.once(key, lambda: made.append(key) or value)  # type: ignore[func-returns-value]  # append, in a lambda

    ask(("layer", "tracts"), b"x" * 100_000)
    for number in range(10):
        ask(("result", number), {"frame": pandas.DataFrame({"n": range(1_250)})})
    made.clear()
    ask(("layer", "tracts"), b"")
    ask(("result", 9), None)
    ask(("result", 8), None)
    ask(("result", 0), None)
    assert made == [("result", 0)]


def test_drawn_steps_of_an_address_are_not_looked_for_before_they_are_asked_about(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = Views({"squareland": Release.open(path, "squareland")})
    monkeypatch.setattr(selection.Selection, "of", None)
    query = "?" + "&".join(f"area=circle:0.{number},0.1,5" for number in range(100, 115))
    state, notes = views.parse(
        f"{query}&area=-box:0,0,1,1&area=line:0,0,1,1,1&area=near:county:10001,1&area=box:1,0,0,x&area=circle:0,0,nan"
    )
    assert len(state.question.areas) == 18
    assert len(notes) == 2
    _, notes = views.parse(
        f"?area=near:county:9,1&area=near:near:county:10001,1&area=near:state:{ELSEWHERE},1"
    )
    assert len(notes) == 3


MANY_CIRCLES = [f"circle:-70.{number},42.1,5" for number in range(100, 121)]


@pytest.mark.parametrize(
    "address",
    [
        "geo/squareland/{version}/areas.geojson",
        "density/squareland/{version}.png",
        "take/squareland/{version}/table.csv",
    ],
)
def test_every_address_refuses_a_question_that_costs_too_much(path: Path, client: Any, address: str) -> None:
    version = Release.open(path, "squareland").version
    query = "&".join(f"area={one}" for one in MANY_CIRCLES)
    answer = client.get(f"/{address.format(version=version)}?{query}")
    assert answer.status_code == 413
    assert answer.get_data(as_text=True).count("\n") == 1
    assert "21 drawn parts" in answer.get_data(as_text=True)


def test_clicks_uploads_and_setups_refuse_a_question_that_costs_too_much(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = Views({"squareland": Release.open(path, "squareland")})
    release = views.releases["squareland"]
    monkeypatch.setattr(selection.Selection, "of", None)
    full = address_of(areas=tuple(MANY_CIRCLES[:12]), others=tuple(MANY_CIRCLES[12:20]))
    forged = " +".join(MANY_CIRCLES)
    for state, step in ((full, MANY_CIRCLES[20]), (Address(), forged)):
        with pytest.raises(UsageError, match="21 drawn parts"):
            events.with_step(state, release, step)
    many = address_of(areas=tuple(f"tract:{number}" for number in range(21)))
    with pytest.raises(UsageError, match="21 drawn parts"):
        events.with_corridors(many, release, "1", "areas")
    with pytest.raises(UsageError, match="24 drawn parts"):
        events.with_same_ends(full, "areas")
    document = {"commutemap": "setup", "version": VERSION, "question": {"areas": MANY_CIRCLES}}
    file = {"content": base64.b64encode(json.dumps(document).encode()).decode()}
    with pytest.raises(UsageError, match="21 drawn parts"):
        setup_file.open_setup(views, file)


@pytest.mark.parametrize(
    "address",
    [
        "geo/squareland/{version}/areas.geojson",
        "density/squareland/{version}.png",
        "take/squareland/{version}/table.csv",
    ],
)
@pytest.mark.parametrize(
    "area",
    [
        "near:" * 2_000 + "county:10001,1",
        "near:county:10001,1e999",
        "near:county:10001,-1",
        "near:county:%00,1",
        "near:shape:,1",
        "line:,1",
        "line:" + "A" * 18_000 + ",1",
        "line:0,0,180,0,1",
        f"near:state:{ELSEWHERE},5",
    ],
)
def test_corridors_that_cannot_be_do_no_harm(path: Path, client: Any, address: str, area: str) -> None:
    version = Release.open(path, "squareland").version
    answer = client.get(f"/{address.format(version=version)}?area={area}")
    assert answer.status_code in (200, 400, 404, 413)


def test_outlines_of_many_units_read_their_table_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(areas, "_OPENED", {})  # no tables that another test has read of the same country
    release = Release.open(path, "squareland")
    read: list[str] = []
    table = type(release.store).table
    monkeypatch.setattr(
        type(release.store),
        "table",
        lambda self, name, *more: read.append(name) or table(self, name, *more),  # type: ignore[func-returns-value]  # append, in a lambda
    )
    tracts = tuple(f"tract:{unit}" for unit in release.areas.tracts["tract_id"])
    surroundings_of(release)  # the shore, once a publication
    read.clear()
    found = area_outlines.shapes(release, (*tracts, "county:10001"))
    assert len(found) > 20
    assert sorted(read) == ["counties", "tracts"]
