"""Uploaded files are read one at a time for the whole server, and no request waits for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import shapely

from geodata.errors import GeometryError
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.watch import Refused
from mapapp.explore import heavy_requests
from mapapp.explore import uploads as module
from mapapp.explore.server import create_app
from mapapp.explore.uploads import GONE_S, MAX_KEPT, MAX_PER_CLIENT, MAX_WAITING, Uploads
from tests.releases import write_release

PATIENCE_S = 30.0


class Reading:
    """A reader that waits for the test to let it read, and counts how many files it reads at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self.go, self.stopped = threading.Semaphore(0), threading.Event()
        self.names: list[str] = []
        self.at_once = self.most_at_once = 0
        self.uploads = Uploads(self._read, clock=lambda: self.now)

    def _read(self, name: str, content: bytes, should_stop: Callable[[], bool]) -> Any:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.names.append(name)
        try:
            while not self.go.acquire(timeout=0.01):
                if should_stop():
                    self.stopped.set()
                    raise GeometryError("given up")
            if content == b"bad":
                raise GeometryError("bad: no area in it")
            return shapely.box(0, 0, 1, 1)
        finally:
            self.at_once -= 1

    def until(self, token: str, *states: str) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = self.uploads.progress(token)
            if found["state"] in states:
                return found
            time.sleep(0.001)
        raise AssertionError(f"{token} never was {states}")


@pytest.fixture
def reading() -> Iterator[Reading]:
    made = Reading()
    yield made
    made.go.release(1_000)


def test_files_are_read_one_at_a_time_and_in_order(reading: Reading) -> None:
    tokens = [reading.uploads.add(f"client {n}", f"file {n}", b"") for n in range(4)]
    reading.until(tokens[0], "reading")
    assert [reading.uploads.progress(token).get("before") for token in tokens] == [None, 1, 2, 3]
    with pytest.raises(UsageError, match="no longer has this file"):
        reading.uploads.area(tokens[0])
    reading.go.release(4)
    for token in tokens:
        assert reading.until(token, "done") == {"state": "done"}
        assert reading.uploads.area(token).area == 1
    assert reading.names == [f"file {n}" for n in range(4)]
    assert reading.most_at_once == 1


def test_no_visitor_can_guess_the_token_of_another(reading: Reading) -> None:
    tokens = [uploads.add("a", "x", b"") for uploads in (reading.uploads, Reading().uploads, reading.uploads)]
    assert len(set(tokens)) == 3
    assert min(map(len, tokens)) >= 20


def test_what_is_wrong_with_a_file_is_said_and_the_next_one_is_read(reading: Reading) -> None:
    bad, good = reading.uploads.add("a", "bad", b"bad"), reading.uploads.add("a", "good", b"")
    reading.go.release(2)
    assert reading.until(bad, "failed")["said"] == "bad: no area in it"
    with pytest.raises(UsageError, match="no area in it"):
        reading.uploads.area(bad)
    reading.until(good, "done")


def test_the_queue_is_short_and_no_client_fills_it(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reading.uploads.add("greedy", "0", b"")
    reading.until(first, "reading")
    for n in range(1, MAX_PER_CLIENT):
        reading.uploads.add("greedy", str(n), b"")
    with pytest.raises(Refused) as refused:
        reading.uploads.add("greedy", "more", b"")
    assert refused.value.status == 503
    n_waiting = reading.uploads.counts[0]
    for n in range(MAX_WAITING - n_waiting):
        reading.uploads.add(f"client {n}", "x", b"")
    with pytest.raises(Refused):
        reading.uploads.add("another", "x", b"")
    monkeypatch.setattr(module, "MAX_WAITING", 100)
    monkeypatch.setattr(memory_limits, "UPLOADS_BYTES", 10)
    reading.uploads.check_room("another", 10)
    with pytest.raises(Refused):
        reading.uploads.check_room("another", 11)


def test_a_file_that_nobody_asks_after_is_given_up(reading: Reading) -> None:
    read, waiting = reading.uploads.add("a", "read", b""), reading.uploads.add("b", "waiting", b"")
    reading.until(read, "reading")
    reading.now = GONE_S - 1
    assert reading.uploads.progress(waiting)["state"] == "waiting"
    reading.now = GONE_S + 1
    assert reading.stopped.wait(PATIENCE_S), "its reader is stopped"
    reading.until(waiting, "reading")
    assert reading.uploads.progress(read)["state"] == "gone"
    reading.go.release()
    reading.until(waiting, "done")
    reading.now += GONE_S + 1
    assert reading.uploads.progress(waiting)["state"] == "gone"
    assert reading.uploads.counts == (0, 0, 0)


def test_an_area_outlasts_the_wait_of_the_request_that_chooses_it(reading: Reading) -> None:
    token = reading.uploads.add("a", "x", b"")
    reading.go.release()
    reading.until(token, "done")
    reading.now += 2 * heavy_requests.PATIENCE_S
    reading.uploads.check_room("another", 0)
    assert reading.uploads.area(token).area == 1


def test_few_areas_are_kept(reading: Reading) -> None:
    reading.go.release(MAX_KEPT + 5)
    for n in range(MAX_KEPT + 5):
        reading.until(reading.uploads.add(f"client {n}", "x", b""), "done")
    reading.uploads.check_room("another", 0)
    assert reading.uploads.counts == (0, 0, MAX_KEPT)


def test_ten_uploads_hold_no_serving_thread(tmp_path: Path, reading: Reading) -> None:
    """The test client calls the app in this one thread: a request that waited would never come back."""
    app = create_app([write_release(tmp_path / "squareland", n_pairs=20)])
    views = app.server.extensions["commutemap"]
    object.__setattr__(views, "uploads", reading.uploads)
    client = app.server.test_client()
    kind = {"content_type": "application/octet-stream"}

    def post(n: int) -> Any:
        address = {"REMOTE_ADDR": f"192.0.2.{n}"}
        return client.post("/upload/area?name=x.geojson", data=b"{}", environ_overrides=address, **kind)

    answers = [post(n) for n in range(10)]
    taken = [answer for answer in answers if answer.status_code == 202]
    assert len(taken) >= MAX_WAITING
    assert all(answer.headers["Retry-After"] for answer in answers if answer.status_code == 503)
    progress = [client.get(f"/upload/area/{answer.get_json()['token']}").get_json() for answer in taken]
    assert {one["state"] for one in progress} <= {"waiting", "reading"}
    with client.get("/assets/app.css") as style:
        assert style.status_code == 200
    assert client.get("/upload/area/none").status_code == 404
    assert client.post("/upload/area", data=b"{}", content_type="text/plain").status_code == 415
    assert client.post("/upload/area", data=bytes((20 << 20) + 1), **kind).status_code == 413
