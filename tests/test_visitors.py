"""The visitors of `benchmarks.visitors` come from addresses of their own, and try again as the page does."""

from __future__ import annotations

import asyncio
import random
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.visitors import TURNS, Ask, Record, Tab, own_address

ASSETS = Path(__file__).parents[1] / "assets"
CALLBACK = Ask("answer", "/_dash-update-component", "{}", late=False)
SHAPES = Ask("shapes", "/geo/ri/1/areas.geojson?area=x", "", late=True)
HATCHING = Ask("shapes", "/geo/ri/1/uncertain.geojson?area=x", "", late=True)
PICTURE = Ask("pictures", "/density/ri/1.png?area=x", "", late=True)


class BusyServer:
    """Refuses the first requests with 503, and keeps the addresses of all who ask."""

    def __init__(self, n_refused: int, retry_after: str = "Retry-After: 2\r\n") -> None:
        self.n_refused, self.retry_after = n_refused, retry_after
        self.peers: list[str] = []
        self.ended = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # the visitor leaves
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"Content-Length: (\d+)", head)
                await reader.readexactly(int(size[1]) if size else 0)
                self.peers.append(writer.get_extra_info("peername")[0])
                busy = len(self.peers) <= self.n_refused
                status = f"503 Busy\r\n{self.retry_after}" if busy else "200 OK\r\n"
                writer.write(f"HTTP/1.1 {status}Content-Length: 2\r\n\r\nab".encode())
        writer.close()
        await writer.wait_closed()
        self.ended.set()


def asked(one: Ask, busy: BusyServer, number: int = 0) -> tuple[Record, list[float]]:
    """What a visitor records of one request, and how long it waited before further tries."""
    record, waited = Record(), list[float]()

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    async def run() -> None:
        server = await asyncio.start_server(busy.answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        tab = Tab(f"http://127.0.0.1:{port}", record, own_address(number), random.Random(1), pause)
        await tab.ask(one, "x")
        tab.close()
        await busy.ended.wait()
        server.close()
        await server.wait_closed()

    with ThreadPoolExecutor(
        1
    ) as own_loop:  # Playwright's loop runs in this thread if browser tests came before
        own_loop.submit(asyncio.run, run()).result()
    return record, waited


@pytest.mark.parametrize(
    ("one", "n_waits", "n_tries"),
    [(CALLBACK, 3, 4), (HATCHING, 3, 4), (SHAPES, 3, 5), (PICTURE, 0, 1)],
)
def test_a_visitor_tries_again_as_often_as_the_page(one: Ask, n_waits: int, n_tries: int) -> None:
    busy = BusyServer(n_refused=100)
    record, waited = asked(one, busy)
    assert len(busy.peers) == n_tries
    assert len(waited) == n_waits
    assert all(2 <= seconds <= 4 for seconds in waited)
    assert record.again[one.kind] == n_tries - 1
    assert record.wrong == {f"{one.kind}: 503": 1}
    assert len(record.took_s[one.kind]) == 1


def test_a_refusal_that_ends_is_no_error() -> None:
    busy = BusyServer(n_refused=2)
    record, waited = asked(CALLBACK, busy)
    assert (len(busy.peers), len(waited), record.wrong) == (3, 2, {})


def test_a_refusal_without_a_time_is_final() -> None:
    record, waited = asked(CALLBACK, BusyServer(n_refused=1, retry_after=""))
    assert (waited, record.wrong) == ([], {"answer: 503": 1})


def test_each_visitor_has_an_address() -> None:
    busy = BusyServer(n_refused=0)
    asked(CALLBACK, busy, 7)
    assert busy.peers == [own_address(7)]
    assert len({own_address(number) for number in range(1_000)}) == 1_000


def test_the_page_tries_as_often() -> None:
    script = (ASSETS / "versions.js").read_text(encoding="utf-8")
    assert f"const MOST_TURNS = {TURNS};" in script
    assert "1000 * seconds * (1 + Math.random())" in script
