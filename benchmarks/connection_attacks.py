"""A server under attack: `python -m benchmarks.connection_attacks [RELEASE] [--source DIR] [--crowd 1100]`.

Serves the release (Rhode Island, made first, without one) as a process of its own, on loopback. From 127.0.0.2, one
client misbehaves in one way at a time, while another, from 127.0.0.1, asks for a style sheet and for the answer to a
county, each over a new connection. The table has the median and the slowest of both as ratios to the same server at
rest; how many were not answered; the attacker's connections that the server still holds; and the bytes of temporary
files that it holds. Every attack is bounded by `--crowd` connections and ends with its measurement.

`--source` serves with another checkout of this repository, so that two versions can be compared. `--address` attacks a
server of this machine that already serves the release, such as another program with our app.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import resource
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from benchmarks import commands, rhode_island
from commutemap import open_release

SMALLEST: Final = ("{release}", "--samples", "2", "--crowd", "20", "--patience", "30")
ATTACKER: Final = "127.0.0.2"
BODY_BYTES: Final = 32 << 20
UPLOAD_BYTES: Final = 20 << 20
N_BODIES: Final = 30
DRIP_S: Final = 0.5
ANSWER: Final = "answered.data"
"""What the callback with an answer's numbers writes, among others."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server under measurement: its address in parts, and what a county's answer is asked with."""

    pid: int
    host: str
    port: int
    sheet: str
    path: str
    body: bytes
    patience_s: float


class Crowd:
    """Connections of the attacker, closed at the end; `held` counts those that the server has not closed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.sockets: list[socket.socket] = []
        self._over = threading.Event()
        self._dripping: threading.Thread | None = None

    def connect(self, n: int, first: bytes = b"", receive_bytes: int = 0) -> None:
        """Open connections, and send the same bytes on each as far as the server takes them."""
        for _ in range(n):
            sock = socket.socket()
            self.sockets.append(sock)
            sock.settimeout(2)
            if receive_bytes:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            with contextlib.suppress(OSError):
                sock.bind((ATTACKER, 0))
            with contextlib.suppress(OSError):  # refused, reset or full: that is the server's answer
                sock.connect((self.target.host, self.target.port))
                sock.sendall(first)

    def drip(self) -> None:
        """Send a byte on every connection now and then."""
        self._dripping = threading.Thread(target=self._drip, daemon=True)
        self._dripping.start()

    def _drip(self) -> None:
        while not self._over.wait(DRIP_S):
            for sock in self.sockets:
                with contextlib.suppress(OSError):
                    sock.sendall(b"x")

    def held(self) -> int:
        """Connections that the server has neither closed nor refused."""
        return sum(map(_is_open, self.sockets))

    def end(self) -> None:
        """Close everything."""
        self._over.set()
        if self._dripping is not None:
            self._dripping.join()
        for sock in self.sockets:
            sock.close()


def _is_open(sock: socket.socket) -> bool:
    sock.setblocking(False)
    try:
        while received := sock.recv(1 << 16):
            if b" 503 " in received[:20] or b" 413 " in received[:20]:
                return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            sock.settimeout(2)
    return False


Attack = Callable[[Crowd, int], None]


def idle(crowd: Crowd, n: int) -> None:
    """Connections without a request."""
    crowd.connect(n)


def slow_heads(crowd: Crowd, n: int) -> None:
    """Request heads that arrive byte by byte."""
    crowd.connect(n, b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    crowd.drip()


def slow_bodies(crowd: Crowd, n: int) -> None:
    """Bodies of callbacks that arrive byte by byte."""
    head = f"POST {crowd.target.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    crowd.connect(n, f"{head}Content-Length: 100000\r\n\r\n".encode() + b"x" * 1_000)
    crowd.drip()


def lost_bodies(crowd: Crowd, n: int) -> None:
    """Bodies of 32 MB for an address that does not exist, the last MB withheld."""
    head = f"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES - 1}\r\n\r\n".encode()
    crowd.connect(min(n, N_BODIES), head + b"x" * (BODY_BYTES - (1 << 20)))


def unfinished_uploads(crowd: Crowd, n: int) -> None:
    """Bodies of 20 MB for the addresses that take files, now and in earlier versions, the last MB withheld."""
    for path in ("/upload/area", crowd.target.path):
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n".encode()
        crowd.connect(min(n, N_BODIES) // 2, head + b"x" * (UPLOAD_BYTES - (1 << 20)))


def unread(crowd: Crowd, n: int) -> None:
    """Requests for the largest script, whose responses are not read."""
    script = "/_dash-component-suites/dash/dcc/async-graph.js"
    largest = "/_dash-component-suites/plotly/package_data/plotly.min.js"
    for path in (script, largest):
        crowd.connect(
            min(n, 300) // 2, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), receive_bytes=4_096
        )


def pipelined(crowd: Crowd, n: int) -> None:
    """Hundreds of requests at once on each connection."""
    crowd.connect(min(n, 50), f"GET {crowd.target.sheet} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 100)


def office(crowd: Crowd, n: int) -> None:
    """300 visitors behind one address, each with a request answered and the connection kept: no attack."""
    crowd.connect(min(n, 300), f"GET {crowd.target.sheet} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


ATTACKS: Final[dict[str, Attack]] = {
    "idle connections": idle,
    "request heads, byte by byte": slow_heads,
    "bodies, byte by byte": slow_bodies,
    "32 MB to no address, unfinished": lost_bodies,
    "20 MB uploads, unfinished": unfinished_uploads,
    "responses not read": unread,
    "100 requests at once on each connection": pipelined,
    "an office of 300 (no attack)": office,
}


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, nargs="?")
    parser.add_argument("--source", type=Path, help="another checkout to serve with")
    parser.add_argument("--address", help="a server that runs already, such as http://127.0.0.1:8000/")
    parser.add_argument("--samples", type=int, default=30, help="requests of each kind during an attack")
    parser.add_argument("--crowd", type=int, default=1_100, help="connections of an attack, at most")
    parser.add_argument(
        "--patience", type=float, default=10.0, help="seconds until a request counts as not answered"
    )
    rhode_island.add_data_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    _allow_files(2 * chosen.crowd + 500)
    with tempfile.TemporaryDirectory() as folder:
        path = (chosen.release or rhode_island.make_release(Path(folder), chosen.data)).resolve()
        units = open_release(path).comparison(layer="county").units
        county = f"county:{units['unit_id'].iloc[0]}"
        print(
            "| attack | style sheet: median, slowest | county: median, slowest | not answered | held | files MB |"
        )
        print("|---|---|---|---|---|---|")
        running = nullcontext((0, chosen.address)) if chosen.address else _serving(path, chosen.source)
        with running as (pid, address):  # without a process id, no temporary files are counted
            target = target_at(pid, address, county, chosen.patience)
            sample(target, 3)
            quiet = sample(target, chosen.samples)
            print(row("quiet", quiet, None, 0, temporary_mb(pid)))
            for name, attack in ATTACKS.items():
                with ExitStack() as stack:
                    crowd = Crowd(target)
                    stack.callback(crowd.end)
                    attack(crowd, chosen.crowd)
                    print(row(name, sample(target, chosen.samples), quiet, crowd.held(), temporary_mb(pid)))
                wait_until_quiet(target)


def _serving(release: Path, source: Path | None) -> Any:
    return commands.serving(release) if source is None else commands.serving(release, source=source)


def target_at(pid: int, address: str, county: str, patience_s: float) -> Target:
    """What to ask of a server, read from its page and its list of callbacks."""
    place = urlsplit(address)
    host, port = str(place.hostname), int(place.port or 80)
    page = _get(host, port, "/", patience_s).decode()
    (sheet,) = re.findall(r'href="([^"]+app\.css[^"]*)"', page)
    callbacks = json.loads(_get(host, port, "/_dash-dependencies", patience_s))
    callback = next(each for each in callbacks if ANSWER in each["output"])
    query = {"url.search": f"?area={county}", "look.data": {"search": f"?area={county}"}}
    body = {
        "output": callback["output"],
        "outputs": [
            dict(zip(("id", "property"), one.split("@")[0].rsplit(".", 1), strict=True))
            for one in callback["output"].strip(".").split("...")
        ],
        **{
            kind: [each | {"value": query.get(f"{each['id']}.{each['property']}")} for each in callback[kind]]
            for kind in ("inputs", "state")
        },
        "changedPropIds": ["url.search"],
    }
    return Target(pid, host, port, sheet, "/_dash-update-component", json.dumps(body).encode(), patience_s)


def _get(host: str, port: int, path: str, patience_s: float, body: bytes | None = None) -> bytes:
    """Body of an answer over a new connection; raises OSError or http.client.HTTPException without one."""
    connection = http.client.HTTPConnection(host, port, timeout=patience_s)
    try:
        connection.request(
            "POST" if body else "GET", path, body, {"Content-Type": "application/json"} if body else {}
        )
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"{path}: {answer.status}")
        return content
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of the requests that were answered, by kind, and how many were not."""

    sheet_s: list[float]
    county_s: list[float]
    n_lost: int


def sample(target: Target, n: int) -> Sample:
    """Ask for both, in turn; gives up after three requests without an answer."""
    found: dict[str, list[float]] = {"sheet": [], "county": []}
    n_lost = 0
    for _ in range(n):
        for kind, path, body in (("sheet", target.sheet, None), ("county", target.path, target.body)):
            if n_lost >= 3:
                break
            began = time.perf_counter()
            try:
                _get(target.host, target.port, path, target.patience_s, body)
                found[kind].append(time.perf_counter() - began)
            except (OSError, http.client.HTTPException):
                n_lost += 1
    return Sample(found["sheet"], found["county"], n_lost)


def wait_until_quiet(target: Target) -> None:
    """Wait for an answer again, a minute at most."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            _get(target.host, target.port, target.sheet, 5)
            return


def temporary_mb(pid: int) -> float:
    """Megabytes of deleted files that a process holds open."""
    total = 0
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry).endswith("(deleted)"):
                total += entry.stat().st_size
    return total / 1e6


def row(name: str, found: Sample, quiet: Sample | None, n_held: int, files_mb: float) -> str:
    """A row of the table: milliseconds at rest, ratios under attack."""
    cells = []
    for kind in ("sheet_s", "county_s"):
        took = getattr(found, kind)
        if not took:
            cells.append("no answer")
        elif quiet is None:
            cells.append(f"{1000 * np.median(took):.1f}, {1000 * max(took):.1f} ms")
        else:
            middle, slowest = np.median(getattr(quiet, kind)), max(getattr(quiet, kind))
            cells.append(f"{np.median(took) / middle:.1f}, {max(took) / slowest:.1f} ×")
    return f"| {name} | {cells[0]} | {cells[1]} | {found.n_lost} | {n_held:,} | {files_mb:.0f} |"


def _allow_files(n: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < n:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (n if hard == resource.RLIM_INFINITY else min(n, hard), hard)
        )


if __name__ == "__main__":
    main()
