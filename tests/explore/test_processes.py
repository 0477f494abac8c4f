"""Several processes that compute answers: the same answers, limits for the server as a whole, and no process left."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest

from mapapp.base.errors import UsageError
from mapapp.explore import heavy_requests
from mapapp.explore.processes import MOST_PROCESSES
from mapapp.explore.processes.messages import Setup
from mapapp.explore.processes.pool import LOST, Pool
from mapapp.explore.server import create_app, listen
from tests.explore.listening import wait_until
from tests.explore.test_kept_answers import PARTS, body_of, post
from tests.releases import write_release

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
AREAS = [f"?area=circle:-75,39,{miles}" for miles in range(1, 40)]
SQUARE = {"type": "Polygon", "coordinates": [[[-75, 39], [-74.9, 39], [-74.9, 39.1], [-75, 39.1], [-75, 39]]]}
BYTES = "application/octet-stream"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("processes") / "squareland")


@contextmanager
def started(path: Path, n_processes: int = 2) -> Iterator[Any]:
    """An app whose answers some processes compute."""
    app = create_app([path], processes=n_processes)
    pool = pool_of(app)
    pool.start()
    try:
        yield app
    finally:
        pool.stop()


def pool_of(app: Any) -> Pool:
    pool = app.server.extensions["commutemap processes"]
    assert isinstance(pool, Pool)
    return pool


@pytest.fixture(scope="module")
def shared(path: Path) -> Iterator[Any]:
    with started(path) as app:
        yield app


@pytest.fixture
def client(shared: Any) -> Any:
    return shared.server.test_client()


@contextmanager
def stopped(pool: Pool) -> Iterator[list[int]]:
    """The processes, which do nothing until the end of the block."""
    wait_until(lambda: pool.n_busy == 0, "no request is in progress")
    found = pool.process_ids
    for process in found:
        os.kill(process, signal.SIGSTOP)
    try:
        yield found
    finally:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


class Requests:
    """Requests side by side, each on a thread."""

    def __init__(
        self, app: Any, queries: list[str], address: Callable[[int], str] = lambda _: "192.0.2.1"
    ) -> None:
        self.statuses: list[int] = []
        body = body_of(app.server.test_client(), "answered.data")

        def ask(number: int, query: str) -> None:
            text = json.dumps(body).replace(json.dumps(body["inputs"][0]["value"]), json.dumps(query))
            environ = {"REMOTE_ADDR": address(number)}
            answer = app.server.test_client().post(
                "/_dash-update-component",
                data=text,
                content_type="application/json",
                environ_overrides=environ,
            )
            self.statuses.append(answer.status_code)

        self.threads = [
            threading.Thread(target=ask, args=(number, query)) for number, query in enumerate(queries)
        ]
        for thread in self.threads:
            thread.start()

    def end(self) -> list[int]:
        for thread in self.threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        return sorted(self.statuses)


@pytest.mark.parametrize("part", PARTS)
def test_the_answers_are_those_of_one_process(path: Path, client: Any, part: str) -> None:
    alone = create_app([path]).server.test_client()
    for query in ("?area=county:10001", *AREAS[:3]):
        body = body_of(alone, part, query)
        ours, theirs = (post(each, body, Accept_Encoding="identity") for each in (alone, client))
        assert (theirs.status_code, theirs.get_json()) == (200, ours.get_json())
        assert theirs.headers["Content-Security-Policy"] == ours.headers["Content-Security-Policy"]


def test_shapes_pictures_and_files_are_those_of_one_process(path: Path, client: Any) -> None:
    app = create_app([path])
    alone = app.server.test_client()
    version = app.server.extensions["commutemap"].releases["squareland"].version
    addresses = (
        f"geo/squareland/{version}/counties.geojson",
        f"geo/squareland/{version}/areas.geojson?area=county:10001",
        f"density/squareland/{version}.png?area=county:10001",
        f"take/squareland/{version}/table.csv?area=county:10001",
        f"take/squareland/{version}/nothing.csv",
        "geo/squareland/other/counties.geojson",
        f"flows/squareland/{version}.json?area=county:10001&analysis=destinations&show=lines&zoom=9&width=700",
    )
    statuses = []
    for address in addresses:
        for headers in ({}, {"Accept-Encoding": "gzip"}):
            with (
                alone.get(f"/{address}", headers=headers) as ours,
                client.get(f"/{address}", headers=headers) as theirs,
            ):
                assert (theirs.status_code, theirs.get_data()) == (ours.status_code, ours.get_data()), address
                sent = [
                    {**answer.headers, "Date": "", "Expires": ""} for answer in (theirs, ours)
                ]  # a second may have passed
                assert sent[0] == sent[1], address
                statuses.append(theirs.status_code)
    assert statuses[::2] == statuses[1::2] == [200, 200, 200, 200, 404, 404, 200]


def test_a_browser_that_has_a_shape_is_not_sent_it_again(path: Path, client: Any) -> None:
    version = create_app([path]).server.extensions["commutemap"].releases["squareland"].version
    address = f"/geo/squareland/{version}/states.geojson"
    mark = client.get(address).headers["ETag"]
    again = client.get(address, headers={"If-None-Match": mark})
    assert (again.status_code, again.get_data()) == (304, b"")
    assert client.head(address).get_data() == b""


def test_an_answer_of_one_process_is_sent_again_while_no_process_computes(
    shared: Any, path: Path, client: Any
) -> None:
    version = create_app([path]).server.extensions["commutemap"].releases["squareland"].version
    picture = f"/density/squareland/{version}.png?area=county:10003"
    body = body_of(client, "map.figure", "?area=county:10003")
    first = post(client, body).get_data(), client.get(picture).get_data()
    with stopped(pool_of(shared)):
        again = post(client, body).get_data(), client.get(picture).get_data()
    assert again == first


def test_both_processes_compute(shared: Any) -> None:
    def used() -> list[float]:
        return [sum(os_times(process)) for process in pool_of(shared).process_ids]

    before = used()
    for query in AREAS[10:30]:
        assert Requests(shared, [query]).end() == [200]
    assert all(now > then for then, now in zip(before, used(), strict=True))


def os_times(process: int) -> list[int]:
    file = Path(f"/proc/{process}/stat")
    if not file.exists():
        pytest.skip("this system does not list processes")
    return [int(part) for part in file.read_text().rpartition(")")[2].split()[11:13]]


def test_the_requests_of_a_question_stay_in_the_process_that_had_least_to_do(path: Path) -> None:
    pool = Pool(Setup(publications=(path,), prefix="/", embed_from=(), number=0, n_processes=2), 3)
    members: Any = [SimpleNamespace(n_busy=0, is_ready=True, idle=[None]) for _ in range(2)]
    pool._members = members
    chosen: Any = pool._choose_member
    here = chosen("here")
    other = members[1] if here is members[0] else members[0]
    here.n_busy = 2
    assert chosen("there") is other
    assert chosen("here") is here
    here.n_busy, other.n_busy = 0, 2
    assert chosen("there") is other
    other.n_busy = 3
    assert chosen("there") is here
    other.n_busy = 0
    assert chosen("there") is other


def test_an_uploaded_area_is_usable_in_every_process(shared: Any, client: Any) -> None:
    """The listening process reads it; two choices about different areas go to different processes."""
    answer = client.post("/upload/area?name=a.geojson", data=json.dumps(SQUARE).encode(), content_type=BYTES)
    token = answer.get_json()["token"]
    wait_until(lambda: client.get(f"/upload/area/{token}").get_json()["state"] == "done", "the file is read")

    def chosen(search: str, token: str) -> dict[str, Any]:
        listed = client.get("/_dash-dependencies").get_json()
        asked = next(each for each in listed if "followed.data" in each["output"])
        choice = {"n": 1, "trigger": "open-area", "value": {"token": token}, "read": {}}
        given = {"n": 1, "search": search, "choices": [choice]}
        body = {
            "output": asked["output"],
            "outputs": {"id": "followed", "property": "data"},
            "inputs": [each | {"value": given} for each in asked["inputs"]],
            "state": [],
            "changedPropIds": ["choices.data"],
        }
        found = client.post("/_dash-update-component", json=body)
        assert found.status_code == 200, found.get_data()
        return dict(found.get_json()["response"]["followed"]["data"])

    for search in ("", *AREAS[:6]):
        assert "shape" in chosen(search, token)["search"]
    gone = chosen("", "no-such-token")
    assert (gone["search"], gone["said"]) == (None, "the server no longer has this file; choose it again")


def test_limits_hold_for_all_processes_together(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more requests are passed on than there are places, and one client never takes the last one."""
    pool, places = pool_of(shared), heavy_requests.n_places(2)
    with stopped(pool):
        one = Requests(shared, AREAS[:5])
        wait_until(lambda: pool.n_busy == places - 1, "the places of one client")
        others = Requests(shared, AREAS[5:10], lambda number: f"192.0.2.{10 + number}")
        wait_until(lambda: pool.n_busy == places, "all places")
        time.sleep(0.5)  # long enough for one more, if it could
        assert pool.n_busy == places
        many = Requests(shared, ["?area=all"] * (2 * heavy_requests.N_WAITING), lambda n: f"198.51.100.{n}")
        wait_until(lambda: 503 in many.statuses, "a refusal")
    assert one.end() == [200] * 5
    assert others.end() == [200] * 5
    assert set(many.end()) == {200, 503}


def test_a_visitor_who_leaves_takes_no_place(shared: Any) -> None:
    pool, left = pool_of(shared), threading.Event()
    body = body_of(shared.server.test_client(), "answered.data", "?area=circle:-75,39,77")
    with stopped(pool):
        ask = threading.Thread(
            target=lambda: shared.server.test_client().post(
                "/_dash-update-component", json=body, environ_overrides={heavy_requests.HAS_LEFT: left.is_set}
            )
        )
        ask.start()
        wait_until(lambda: pool.n_busy == 1, "the request is passed on")
        left.set()
    ask.join(PATIENCE_S)
    wait_until(lambda: pool.n_busy == 0, "its place is free")
    assert Requests(shared, AREAS[:2]).end() == [200, 200]


def test_a_process_that_is_killed_is_started_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with started(path) as app, caplog.at_level(logging.ERROR, "commutemap"):
        pool, client = pool_of(app), app.server.test_client()
        body = body_of(client, "answered.data")
        found: list[Any] = []
        with stopped(pool) as processes:
            ask = threading.Thread(target=lambda: found.append(post(client, body)))
            ask.start()
            wait_until(lambda: pool.n_busy == 1, "the request is passed on")
            for process in processes:
                os.kill(process, signal.SIGKILL)
            ask.join(PATIENCE_S)
        assert (found[0].status_code, found[0].get_data(as_text=True).strip()) == (503, LOST)
        assert found[0].headers["Retry-After"]
        wait_until(lambda: len({*pool.process_ids} - {*processes}) == 2, "both are started again")
        assert post(client, body).status_code == 200
        assert [record.getMessage() for record in caplog.records] == [
            "a process that computes answers was killed (SIGKILL); another one is started"
        ] * 2


def test_a_process_that_cannot_start_is_one_line(path: Path, tmp_path: Path) -> None:
    app = create_app([write_release(tmp_path / "gone")], processes=2)
    (tmp_path / "gone" / "manifest.json").unlink()
    with pytest.raises(UsageError) as refused:
        pool_of(app).start()
    assert "manifest.json" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert pool_of(app).process_ids == []


def children_of(process: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def is_running(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return not Path("/proc").exists() or "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_and_no_file_is_left(path: Path, tmp_path: Path, number: signal.Signals) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "mapapp.commands.cli", "serve", str(path), "--port", "0", "--processes", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(scratch)},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "CommuteMap is at http://127.0.0.1:" in line
    with urlopen(line.split()[3]) as page:
        assert page.status == 200
    children = children_of(process.pid)
    assert len(children) >= 2
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0 if number != signal.SIGKILL else -signal.SIGKILL, "")
    wait_until(lambda: not any(map(is_running, children)), "every process has ended")
    assert list(scratch.iterdir()) == []


def test_the_port_serves_what_the_processes_compute(path: Path) -> None:
    app = create_app([path], processes=2)
    server, address = listen(app, "127.0.0.1", 0)
    try:
        assert len(pool_of(app).process_ids) == 2
        assert address.startswith("http://127.0.0.1:")
    finally:
        pool_of(app).stop()
        server.task_dispatcher.shutdown()
        server.close()


@pytest.mark.parametrize("number", ["0", "-1", "two", str(MOST_PROCESSES + 1), "1.5"])
def test_a_number_of_processes_that_is_not_allowed_is_one_line(path: Path, number: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mapapp.commands.cli",
            "serve",
            str(path),
            "--port",
            "0",
            "--processes",
            number,
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "--processes" in done.stderr
