"""Fifty visitors at once.

`python -m benchmarks.visitors [RELEASE] [--visitors 50] [--minutes 2] [--every 10] [--processes 1]`

Serves the release (Rhode Island, made first, without one) as a program of its own, on loopback. What a page asks for
when another area or analysis is chosen is recorded from a real one, in a Chromium, once for each analysis. When the
server has prepared what it prepares after its start, visitors ask the same for areas drawn with a fixed seed, as
browsers do: up to six connections each, kept, requests side by side, and a random time (exponential, `--every` seconds
on average) from the beginning of a question to that of the next. A visitor whose answer takes longer asks again as soon
as it is there. Each visitor has a loopback address of its own, because the server limits what one client may ask. A
request that a busy server refuses is sent again when the page would send it again (`assets/versions.js`,
`assets/furniture.js`).

The table has what each kind of request took, from the first byte sent to the last received, with the waits between
tries, and with the visitors on the same cores as the server. Below it are the number of tries after the first; what
was not answered in the end, or with another status than 200; and the processor time and memory of all of the server's
processes. Pages of memory that processes share count once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import numpy as np

from benchmarks import chromium, commands, rhode_island
from benchmarks.analyses import draw_areas
from commutemap import open_release
from mapapp.question.analyses import ANALYSES

N_CONNECTIONS = 6  # of a browser to one server
PATIENCE_S = 60.0
IDLE = 0.1
"""Part of a processor that a server without visitors uses at most."""
AREA = "{area}"
GO = "query => { history.pushState({}, '', query); dispatchEvent(new PopStateEvent('popstate')); }"
KINDS = {
    "answered.data": "answer",
    "answer.children@": "expected errors",
    "map.figure": "map",
    "placed.data": "controls, areas, and files",
    "banner.children": "frame",
}
"""Callbacks by a part of their outputs."""
N_AREAS = 400
SMALLEST = (
    "{release}",
    "--visitors",
    "1",
    "--minutes",
    "0.01",
    "--every",
    "0.1",
    "--analyses",
    "profile",
)


TURNS: Final = 4
"""How often a page sends a request in all while the server is busy: `MOST_TURNS` of its scripts."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of a page; one that is `late` waits for the others' answers."""

    kind: str
    path: str
    body: str
    late: bool

    @property
    def waits(self) -> tuple[bool, ...]:
        """For each further try that the page makes if the server is busy, whether it waits before it.

        The map loads its shapes and pictures itself. It asks for shapes once; then the page does, at once and with its
        own patience. Nobody asks for a density picture again.
        """
        name = self.path.partition("?")[0].rpartition("/")[2]
        if "/density/" in self.path:
            return ()
        patient = (True,) * (TURNS - 1)
        is_of_the_map = "/geo/" in self.path and name != "uncertain.geojson"
        return (False, *patient) if is_of_the_map else patient


@dataclass(slots=True)
class Record:
    """What came of the requests."""

    took_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    pages_s: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    memory_mib: list[float] = field(default_factory=list)
    processor_s: float = 0.0


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, nargs="?")
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument(
        "--every", type=float, default=10.0, help="seconds from question to question of a visitor"
    )
    parser.add_argument("--analyses", nargs="+", choices=list(ANALYSES), default=list(ANALYSES))
    parser.add_argument("--processes", type=int, default=1, help="of `serve`")
    rhode_island.add_data_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.release or rhode_island.make_release(Path(folder), chosen.data)
        release = open_release(path)
        areas = draw_areas(release, N_AREAS)
        title = release.title
        del release
        with (
            commands.serving(path, "--processes", chosen.processes) as (pid, address),
            ThreadPoolExecutor(1) as loop,
        ):
            with chromium.browsing() as browser:
                pages = [recorded(browser, address, name, areas[1]) for name in chosen.analyses]
            settle(pid)
            # In a thread of its own: Playwright keeps an event loop in this one.
            found = loop.submit(asyncio.run, visited(pid, address, pages, areas, chosen)).result()
    print_record(found, title, chosen)


def settle(pid: int) -> None:
    """Wait until a server has prepared what it prepares after its start, so that visitors meet it as on most days."""
    before, end = commands.processor_s_of_all(pid), time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        time.sleep(1)
        now = commands.processor_s_of_all(pid)
        if now - before < IDLE:
            return
        before = now


def recorded(browser: Any, address: str, analysis: str, area: str) -> list[Ask]:
    """What a page asks of the server when its address changes, as templates with `{area}` for the area."""
    written = quote(area, safe=":,")
    other = f"&other={written}" if analysis == "paired" else ""
    asks: list[Ask] = []

    def keep(request: Any) -> None:
        parts = urlsplit(request.url)
        body = request.post_data or ""
        if written not in body and written not in parts.query:
            return
        if body:
            asked = json.loads(body)
            kind = next((name for part, name in KINDS.items() if part in asked["output"]), "the rest")
            late = "url.search" not in asked["changedPropIds"]
            asks.append(Ask(kind, parts.path, body.replace(written, AREA), late))
        else:
            kind = "shapes" if "/geo/" in parts.path else "pictures"
            asks.append(Ask(kind, f"{parts.path}?{parts.query}".replace(written, AREA), "", True))

    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.wait_for_function(chromium.MAP_AT_REST, timeout=PATIENCE_S * 1000)
    page.wait_for_timeout(2_000)
    page.on("request", keep)
    page.evaluate(GO, f"?area={written}&analysis={analysis}{other}")
    page.wait_for_timeout(1_000)
    page.wait_for_function(chromium.MAP_AT_REST, timeout=PATIENCE_S * 1000)
    page.wait_for_timeout(2_000)
    page.close()
    return asks


async def visited(
    pid: int, address: str, pages: list[list[Ask]], areas: list[str], chosen: argparse.Namespace
) -> Record:
    """All visitors until the time is over; requests begun by then are waited for."""
    record = Record()
    end = time.monotonic() + 60 * chosen.minutes
    visits = [
        visitor(place, address, pages, areas, record, end, chosen.every) for place in range(chosen.visitors)
    ]
    await asyncio.gather(watched(pid, record, end), *visits)
    return record


async def watched(pid: int, record: Record, end: float) -> None:
    began = commands.processor_s_of_all(pid)
    while time.monotonic() < end:
        record.memory_mib.append(commands.memory_mib_of_all(pid))
        await asyncio.sleep(1)
    record.processor_s = commands.processor_s_of_all(pid) - began


async def visitor(
    number: int,
    address: str,
    pages: list[list[Ask]],
    areas: list[str],
    record: Record,
    end: float,
    every_s: float,
) -> None:
    """One visitor: opens a page, reads, opens the next."""
    chance = random.Random(number)
    tab = Tab(address, record, own_address(number), chance)
    await asyncio.sleep(chance.uniform(0, every_s))  # visitors do not all come at the same moment
    while time.monotonic() < end:
        area = quote(chance.choice(areas), safe=":,")
        page = chance.choice(pages)
        began = time.monotonic()
        for late in (False, True):
            await asyncio.gather(*[tab.ask(one, area) for one in page if one.late == late])
        record.pages_s.append(time.monotonic() - began)
        due = began + chance.expovariate(1 / every_s)
        await asyncio.sleep(max(0.0, min(due, end) - time.monotonic()))
    tab.close()


def own_address(number: int) -> str:
    """A loopback address of a visitor, which no other visitor has; Linux has all of 127.0.0.0/8."""
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


class Tab:
    """A browser's connections to the server; each carries one request at a time and is kept.

    Parameters
    ----------
    address : str
        Of the server.
    record : Record
    source : str
        The visitor's own address.
    chance : random.Random
        Spreads the waits before further tries, as the page does.
    pause : callable
        Waits for some seconds.
    """

    def __init__(
        self,
        address: str,
        record: Record,
        source: str,
        chance: random.Random,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.host, self.port = str(urlsplit(address).hostname), int(urlsplit(address).port or 80)
        self.record, self.source, self.chance, self.pause = record, source, chance, pause
        self.free: asyncio.LifoQueue[Any] = asyncio.LifoQueue()
        for _ in range(N_CONNECTIONS):
            self.free.put_nowait(None)

    async def ask(self, one: Ask, area: str) -> None:
        """Send a request and read its answer to the end; if the server is busy, as often as the page would."""
        line = self._line(one, area)
        began, status, retry_s = await self._once(line)
        for waits in one.waits:
            if status != "503" or (waits and not retry_s):
                break
            if waits:
                await self.pause(retry_s * (1 + self.chance.random()))
            self.record.again[one.kind] += 1
            _, status, retry_s = await self._once(line)
        self.record.took_s[one.kind].append(time.monotonic() - began)
        if status not in ("200", "204"):
            self.record.wrong[f"{one.kind}: {status}"] += 1

    async def _once(self, line: bytes) -> tuple[float, str, float]:
        """Send a request once; returns when it began, the status, and after how many seconds to try again."""
        pair = await self.free.get()
        began, status, retry_s = time.monotonic(), "closed", 0.0
        for kept in (
            pair is not None,
            False,
        ):  # what the server has closed meanwhile is opened anew, as browsers do
            try:
                async with asyncio.timeout(PATIENCE_S):
                    pair = pair or await asyncio.open_connection(
                        self.host, self.port, local_addr=(self.source, 0)
                    )
                    reader, writer = pair
                    status, retry_s = await self._exchange(reader, writer, line)
                break
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                if pair is not None:
                    pair[1].close()
                pair, status = None, type(error).__name__
                if not kept:
                    break
        self.free.put_nowait(pair)
        return began, status, retry_s

    def _line(self, one: Ask, area: str) -> bytes:
        body = one.body.replace(AREA, area).encode()
        head = [
            f"{'POST' if body else 'GET'} {one.path.replace(AREA, area)} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            "Accept-Encoding: gzip",
        ]
        if body:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*head, "", ""]).encode() + body

    @staticmethod
    async def _exchange(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: bytes
    ) -> tuple[str, float]:
        writer.write(line)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = head.split(" ", 2)[1]
        fields = {
            name.lower(): value.strip()
            for name, _, value in (one.partition(":") for one in head.split("\r\n"))
        }
        if fields.get("transfer-encoding", "") == "chunked":
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + 2)
            await reader.readline()
        else:
            await reader.readexactly(int(fields.get("content-length", 0)))
        return status, float(fields.get("retry-after", 0))

    def close(self) -> None:
        """Give the connections back."""
        while not self.free.empty():
            pair = self.free.get_nowait()
            if pair is not None:
                pair[1].close()


def print_record(record: Record, title: str, chosen: argparse.Namespace) -> None:
    took = [one for times in record.took_s.values() for one in times]
    print(
        f"\n{title}: {chosen.visitors} visitors for {chosen.minutes:g} minutes, a question each {chosen.every:g} s; "
        f"{chosen.processes} {'process' if chosen.processes == 1 else 'processes'}; "
        f"{len(took):,} requests of {len(record.pages_s):,} questions; {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.0f}\n"
    )
    print("| request | number | median ms | p95 ms | slowest ms |\n|---|---|---|---|---|")
    for kind in sorted(record.took_s, key=lambda name: -len(record.took_s[name])):
        print(row(kind, record.took_s[kind]))
    print(row("**all of them**", took))
    print(row("a question, to its last answer", record.pages_s))
    wrong = ", ".join(f"{what} × {n}" for what, n in record.wrong.items()) or "none"
    each = 1000 * record.processor_s / max(1, len(record.pages_s))
    again = ", ".join(f"{what} × {n}" for what, n in record.again.items()) or "none"
    print(f"\nSent again because the server was busy: {again}.")
    print(f"Errors: {wrong}. Processor time of the server: {each:.0f} ms a question.")
    fifth = max(1, len(record.memory_mib) // 5)
    fifths = [np.mean(record.memory_mib[at : at + fifth]) for at in range(0, len(record.memory_mib), fifth)][
        :5
    ]
    print(
        "Memory of the server, MiB, in each fifth of the time: "
        + ", ".join(f"{one:.0f}" for one in fifths)
        + "."
    )


def row(name: str, took_s: list[float]) -> str:
    if not took_s:
        return f"| {name} | 0 | | | |"
    middle, late = 1000 * np.percentile(took_s, [50, 95])
    return f"| {name} | {len(took_s):,} | {middle:.0f} | {late:.0f} | {1000 * max(took_s):.0f} |"


if __name__ == "__main__":
    main()
