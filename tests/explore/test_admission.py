"""Expensive work has few places and a short queue; everything else is answered whatever else is asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mapapp.answers import served_answers
from mapapp.answers.areas import areas, selection
from mapapp.answers.release import Release
from mapapp.base import watch
from mapapp.base.watch import Refused, Watch
from mapapp.explore import heavy_requests
from mapapp.explore.admission import Admission
from mapapp.explore.server import create_app, listen
from mapapp.show.content.map_content import MapContent
from tests.releases import write_release

PATIENCE_S = 30.0  # of these tests; nothing here waits for a time to pass


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Visitor:
    """Enters in a thread of its own."""

    def __init__(
        self,
        admission: Admission,
        client: str,
        has_left: Callable[[], bool] = lambda: False,
        until: Callable[[], bool] | None = None,
    ) -> None:
        self.client = client
        self.ticket: Any = None
        self.refused: Refused | None = None
        self.is_done = threading.Event()
        before = admission.counts
        has_come = until or (lambda: admission.counts != before)
        self.thread = threading.Thread(target=self._enter, args=(admission, has_left), daemon=True)
        self.thread.start()
        while not (has_come() or self.is_done.is_set()):
            self.is_done.wait(0.001)

    def _enter(self, admission: Admission, has_left: Callable[[], bool]) -> None:
        try:
            self.ticket = admission.enter(self.client, has_left)
        except Refused as refused:
            self.refused = refused
        finally:
            self.is_done.set()


def admission_of(n_places: int, n_waiting: int, clock: Clock | None = None) -> Admission:
    return Admission(n_places, n_waiting, PATIENCE_S, "busy", clock=clock or Clock())


def test_one_more_than_can_wait_is_refused_at_once() -> None:
    admission = admission_of(2, 3)
    visitors = [Visitor(admission, "a") for _ in range(5)]
    assert admission.counts == (2, 3)
    with pytest.raises(Refused, match="busy") as refused:
        admission.enter("a")
    assert refused.value.status == 503
    for visitor in visitors:
        assert visitor.is_done.wait(PATIENCE_S)
        admission.leave(visitor.ticket)
    assert admission.counts == (0, 0)


def test_one_client_cannot_keep_the_queue_from_another() -> None:
    clock = Clock()
    admission = admission_of(1, 3, clock)
    greedy = [Visitor(admission, "greedy") for _ in range(4)]
    other = Visitor(admission, "other", until=greedy[3].is_done.is_set)
    assert greedy[3].is_done.wait(PATIENCE_S)
    assert greedy[3].refused is not None
    assert admission.counts == (1, 3)
    clock.now = 1.0
    admission.leave(greedy[0].ticket)
    assert other.is_done.wait(PATIENCE_S)
    assert other.ticket is not None
    assert not greedy[1].is_done.is_set()


def test_one_client_has_a_part_of_the_queue_only() -> None:
    admission = Admission(1, 4, PATIENCE_S, "busy", n_waiting_each=2)
    visitors = [Visitor(admission, "a") for _ in range(3)]
    with pytest.raises(Refused, match="busy"):
        admission.enter("a")
    other = Visitor(admission, "b")
    assert admission.counts == (1, 3)
    for visitor in (visitors[0], other, *visitors[1:]):
        assert visitor.is_done.wait(PATIENCE_S)
        admission.leave(visitor.ticket)


def test_one_client_never_takes_the_last_place() -> None:
    admission = Admission(2, 4, PATIENCE_S, "busy", n_places_each=1)
    greedy = [Visitor(admission, "greedy") for _ in range(3)]
    assert admission.counts == (1, 2)
    other = Visitor(admission, "other")
    assert other.is_done.wait(PATIENCE_S)
    assert admission.counts == (2, 2)
    admission.leave(other.ticket)
    assert admission.counts == (1, 2)
    for visitor in greedy:
        assert visitor.is_done.wait(PATIENCE_S)
        admission.leave(visitor.ticket)


def test_the_next_place_goes_to_the_client_whose_work_took_least() -> None:
    clock = Clock()
    admission = admission_of(1, 4, clock)
    first = Visitor(admission, "long")
    waiting = [Visitor(admission, client) for client in ("long", "short", "long", "short")]
    clock.now = 5.0
    order: list[Visitor] = []
    current = first
    for _ in waiting:
        admission.leave(current.ticket)
        current = _next(waiting, order)
        order.append(current)
        clock.now += 0.1
    assert [one.client for one in order] == ["short", "short", "long", "long"]


def _next(waiting: list[Visitor], before: list[Visitor]) -> Visitor:
    left = [one for one in waiting if one not in before]
    while True:
        for one in left:
            if one.is_done.wait(0.001):
                return one


def test_who_has_left_the_queue_is_not_waited_for() -> None:
    admission = admission_of(1, 1)
    at_work = Visitor(admission, "a")
    gone = Visitor(admission, "b", has_left=lambda: True)
    assert gone.is_done.wait(PATIENCE_S)
    assert gone.refused is not None
    assert gone.refused.status == watch.LEFT
    assert admission.counts == (1, 0)
    admission.leave(at_work.ticket)


def test_patience_has_an_end() -> None:
    admission = Admission(1, 1, 0.0, "busy")
    with admission.place(), pytest.raises(Refused, match="busy"):
        admission.enter()
    assert admission.counts == (0, 0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("admitted") / "squareland")


def test_work_ends_at_the_next_step_when_its_visitor_has_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    areas = Release.open(path, "squareland").areas
    steps: list[Any] = []
    members = selection.Selection._members
    monkeypatch.setattr(
        selection.Selection,
        "_members",
        lambda self, part: steps.append(part) or members(self, part),  # type: ignore[func-returns-value]  # append, in a lambda
    )
    text = " ".join(f"circle:-70.9,42.{n},1" for n in range(10, 20))
    with watch.watch_work(Watch(lambda: len(steps) >= 3, 1e9)), pytest.raises(Refused, match="left"):
        areas.select(text)
    assert len(steps) == 3
    with watch.watch_work(Watch(lambda: False, -1.0)), pytest.raises(Refused, match="too long"):
        areas.select(text)
    assert len(steps) == 3
    assert areas.select(text).n_blocks > 0, "an ended search is begun anew by the next who asks"


def test_who_waits_for_another_threads_answer_stops_waiting_when_the_visitor_has_left(path: Path) -> None:
    release = Release.open(path, "squareland")
    making, go = threading.Event(), threading.Event()

    def make() -> int:
        making.set()
        go.wait(PATIENCE_S)
        return 5

    thread = threading.Thread(target=lambda: release.once("key", make), daemon=True)
    thread.start()
    assert making.wait(PATIENCE_S)
    with watch.watch_work(Watch(lambda: True, 1e9)), pytest.raises(Refused, match="left"):
        release.once("key", make)
    go.set()
    thread.join(PATIENCE_S)
    assert release.once("key", make) == 5


class Crowd:
    """A listening server with one place and one in the queue, whose questions last until `go` is set."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.admission = Admission(1, 1, PATIENCE_S, heavy_requests.BUSY)
        self.begun, self.go = threading.Event(), threading.Event()
        self.ended: list[str] = []
        monkeypatch.setattr(heavy_requests, "answers", lambda _: self.admission)
        monkeypatch.setattr(MapContent, "density", property(self._slow))
        app = create_app([path])
        self.version = app.server.extensions["commutemap"].releases["squareland"].version
        self.server, address = listen(app, port=0)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        self.port = int(address.rstrip("/").rpartition(":")[2])
        self.sockets: list[socket.socket] = []

    def _slow(self, *_: Any) -> Any:
        self.begun.set()
        try:
            while not self.go.wait(0.01):
                watch.check()
        except Refused as refused:
            self.ended.append(refused.text)
            raise
        raise Refused(503, "done")

    def ask(self, path: str) -> socket.socket:
        asking = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        asking.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        self.sockets.append(asking)
        return asking

    def answer(self, path: str) -> str:
        asking, text = self.ask(path), b""
        while part := asking.recv(65_536):
            text += part
        return text.decode("latin-1")

    def density(self, number: int) -> str:
        return f"/density/squareland/{self.version}.png?area=circle:-70.9,42.{number},1"

    def until(self, counts: tuple[int, int]) -> None:
        while self.admission.counts != counts:
            self.begun.wait(0.001)

    def close(self) -> None:
        self.go.set()
        for one in self.sockets:
            one.close()
        self.server.close()
        self.server.task_dispatcher.shutdown()
        self.thread.join(timeout=5)


@pytest.fixture
def crowd(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    made = Crowd(path, monkeypatch)
    yield made
    made.close()


def test_static_files_and_the_page_are_answered_while_every_place_is_taken(crowd: Crowd) -> None:
    crowd.ask(crowd.density(10))
    crowd.until((1, 0))
    crowd.ask(crowd.density(11))
    crowd.until((1, 1))
    for path in ("/", "/assets/app.css", "/_dash-layout", "/_dash-dependencies"):
        assert crowd.answer(path).startswith("HTTP/1.1 200"), path
    refused = crowd.answer(crowd.density(12))
    assert refused.startswith("HTTP/1.1 503")
    assert "Retry-After: 2" in refused
    assert heavy_requests.BUSY in refused
    assert crowd.admission.counts == (1, 1)


def test_the_work_of_a_visitor_who_has_left_gives_its_place_to_the_next(crowd: Crowd) -> None:
    leaving = crowd.ask(crowd.density(10))
    assert crowd.begun.wait(PATIENCE_S)
    crowd.ask(crowd.density(11))
    crowd.until((1, 1))
    crowd.begun.clear()
    leaving.close()
    assert crowd.begun.wait(PATIENCE_S), "the next question begins"
    assert crowd.ended == ["The visitor has left."]
    assert crowd.admission.counts == (1, 0)


def test_a_callback_whose_work_is_ended_is_refused_and_gives_its_place_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: Any) -> Any:
        raise Refused(503, "too late")

    admission = Admission(1, 0, PATIENCE_S, heavy_requests.BUSY)
    monkeypatch.setattr(heavy_requests, "answers", lambda _: admission)
    monkeypatch.setattr(served_answers, "result", late)
    client = create_app([path]).server.test_client()
    listed = client.get("/_dash-dependencies").get_json()
    chart = next(one for one in listed if "chart.figure" in one["output"])
    outputs = [name.rpartition(".") for name in chart["output"].strip(".").split("...")]
    body = {
        "output": chart["output"],
        "outputs": [{"id": component, "property": prop} for component, _, prop in outputs],
        "inputs": [one | {"value": "?area=county:10001"} for one in chart["inputs"]],
        "state": [],
        "changedPropIds": ["url.search"],
    }
    with admission.place():
        full = client.post("/_dash-update-component", json=body)
        assert (full.status_code, full.get_data(as_text=True)) == (503, f"{heavy_requests.BUSY}\n")
    for _ in range(2):
        answer = client.post("/_dash-update-component", json=body)
        assert (answer.status_code, answer.get_data(as_text=True)) == (503, "too late\n")
        assert answer.headers["Retry-After"] == "2"
    assert admission.counts == (0, 0)


def test_a_base_layer_needs_a_place_only_until_it_is_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    admission = Admission(1, 0, 0.0, heavy_requests.BUSY)
    monkeypatch.setattr(heavy_requests, "answers", lambda _: admission)
    monkeypatch.setattr(areas, "_OPENED", {})  # no shapes of another test's release of the same country
    app = create_app([path])
    client, release = app.server.test_client(), app.server.extensions["commutemap"].releases["squareland"]
    for name in ("tracts", "unit-county"):
        address = f"/geo/squareland/{release.version}/{name}.geojson"
        with admission.place():
            assert client.get(address).status_code == 503
        assert client.get(address).status_code == 200
        with admission.place():
            assert client.get(address).status_code == 200
