"""Costly questions: `python -m benchmarks.attacks [RELEASE] [--source DIR] [--crowd 40] [--only TEXT]`.

Serves the release (Rhode Island, made first, without one) as a process of its own, on loopback. From 127.0.0.2, one
client asks for as much as it can in one way at a time, while another, from 127.0.0.1, asks for a style sheet and for
the answer to a county, each over a new connection. The table is that of `benchmarks.connection_attacks`: the median and
the slowest of both as ratios to the same server at rest, and how many were not answered. Every attack is bounded by
`--crowd` connections and ends with its measurement; `--only` runs the attacks whose name has that text.

`--source` serves with another checkout of this repository, so that two versions can be compared. A version that takes
long to recover is best measured one attack a run.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import itertools
import json
import math
import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import shapely

from benchmarks import rhode_island
from benchmarks.connection_attacks import (
    ATTACKER,
    Crowd,
    Target,
    _serving,
    row,
    sample,
    target_at,
    temporary_mb,
    wait_until_quiet,
)
from commutemap import Release, open_release
from geodata.geography.area_shapes import polygon_text

SMALLEST: Final = ("{release}", "--samples", "2", "--crowd", "3", "--patience", "30")
N_QUESTIONS: Final = 10
SHAPE_LETTERS: Final = 17_000
FLOOD_PARTS: Final = 20  # as many drawn parts as a question may have
UPLOAD_BYTES: Final = 275_000
N_BARS: Final = 2_000
SENT_S: Final = 0.5


class Attacker:
    """Asks costly questions of a server; no two are alike, so that none is answered from memory."""

    def __init__(self, target: Target, release: Release, n: int) -> None:
        self.target, self.n = target, n
        self.crowd = Crowd(target)
        self.version, self.slug = release.version, release.store.path.name.removesuffix(".release")
        places = release.areas.places
        self.places = places[~places["elsewhere"]][["lon_deg", "lat_deg"]].to_numpy()
        self.number = itertools.count()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def circles(self, n: int, radius_mi: float) -> list[str]:
        """Circles around places where people live."""
        chance = random.Random(next(self.number))
        chosen = [self.places[chance.randrange(len(self.places))] for _ in range(n)]
        return [f"circle:{lon:.5f},{lat:.5f},{radius_mi * (1 + chance.random()):.2f}" for lon, lat in chosen]

    def shape(self) -> str:
        """A star of thousands of corners around a place."""
        chance = random.Random(next(self.number))
        lon, lat = self.places[chance.randrange(len(self.places))]
        n, text = 500, ""
        while len(text) < SHAPE_LETTERS:
            n = int(n * 1.2)
            turns = [2 * math.pi * place / n for place in range(n)]
            reach = [0.05 + 0.2 * chance.random() for _ in turns]
            ring = [
                (lon + far * math.cos(turn), lat + far * math.sin(turn))
                for turn, far in zip(turns, reach, strict=True)
            ]
            text = polygon_text(shapely.Polygon(ring))
        return f"shape:{text}"

    def question(self, areas: list[str]) -> bytes:
        """A request for the answer to some areas."""
        before = json.loads(self.target.body)
        for each in itertools.chain(before["inputs"], before["state"]):
            if (each["id"], each["property"]) == ("url", "search"):
                each["value"] = "?" + urlencode(
                    [("area", area) for area in areas], quote_via=quote, safe=":,"
                )
        return self.post(self.target.path, json.dumps(before).encode(), "application/json")

    def post(self, path: str, body: bytes, kind: str) -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def get(self, path: str, areas: list[str]) -> bytes:
        query = urlencode([("area", area) for area in areas], quote_via=quote, safe=":,")
        return f"GET {path}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()

    def flood(self, request: Callable[[], bytes]) -> None:
        """Send requests on many connections, a new one as soon as one is answered."""

        def ask() -> None:
            while not self._over.is_set():
                one = Crowd(self.target)
                one.connect(1, request())
                with contextlib.suppress(OSError):
                    while not self._over.is_set() and one.sockets[0].recv(1 << 16):
                        pass
                one.end()
                self._over.wait(0.01)

        self._threads = [threading.Thread(target=ask, daemon=True) for _ in range(self.n)]
        for thread in self._threads:
            thread.start()

    def uploads(self, content: bytes, n: int) -> None:
        """Send files at once as the page does, in whichever way this version takes them."""
        status = self._status("/upload/area?name=x.geojson", b"{}", "application/octet-stream")
        request = self.post("/upload/area?name=x.geojson", content, "application/octet-stream")
        if status not in (202, 503):
            request = self.post(self.target.path, self._callback(content), "application/json")
        self.crowd.connect(n, request)

    def _status(self, path: str, body: bytes, kind: str) -> int:
        connection = http.client.HTTPConnection(
            self.target.host, self.target.port, timeout=self.target.patience_s, source_address=(ATTACKER, 0)
        )
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("POST", path, body, {"Content-Type": kind})
            return connection.getresponse().status
        return 0

    def _callback(self, content: bytes) -> bytes:
        """The callback by which older versions took a file."""
        connection = http.client.HTTPConnection(self.target.host, self.target.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", "/_dash-dependencies")
            listed = json.loads(connection.getresponse().read())
        asked = next(one for one in listed if any(each["id"] == "open-area" for each in one["inputs"]))
        file = {
            "name": "x.geojson",
            "size": len(content),
            "content": base64.b64encode(content).decode(),
            "at": 1,
        }

        def filled(listed: list[dict[str, Any]]) -> list[Any]:
            return [
                []
                if each["id"].startswith("{")
                else each | {"value": file if each["id"] == "open-area" else None}
                for each in listed
            ]

        outputs = [name.rpartition(".") for name in asked["output"].strip(".").split("...")]
        body = {
            "output": asked["output"],
            "outputs": [{"id": component, "property": prop} for component, _, prop in outputs],
            "inputs": filled(asked["inputs"]),
            "state": filled(asked["state"]),
            "changedPropIds": ["open-area.data"],
        }
        return json.dumps(body).encode()

    def end(self) -> None:
        """Close everything."""
        self._over.set()
        self.crowd.end()
        for thread in self._threads:
            thread.join(timeout=10)


def many_circles(attacker: Attacker) -> None:
    """Ten questions of 200 circles, whose sockets are closed as soon as the server has them."""
    for _ in range(N_QUESTIONS):
        attacker.crowd.connect(1, attacker.question(attacker.circles(200, 1.0)))
    time.sleep(SENT_S)
    while attacker.crowd.sockets:
        attacker.crowd.sockets.pop().close()


def large_shapes(attacker: Attacker) -> None:
    """Ten questions of three shapes of 17 KB."""
    for question in [attacker.question([attacker.shape() for _ in range(3)]) for _ in range(N_QUESTIONS)]:
        attacker.crowd.connect(1, question)


def outlines(attacker: Attacker) -> None:
    """Outlines of ever other areas."""
    path = f"/geo/{attacker.slug}/{attacker.version}/areas.geojson"
    attacker.flood(lambda: attacker.get(path, attacker.circles(FLOOD_PARTS, 3.0)))


def densities(attacker: Attacker) -> None:
    """Density pictures of ever other areas."""
    path = f"/density/{attacker.slug}/{attacker.version}.png"
    attacker.flood(lambda: attacker.get(path, attacker.circles(FLOOD_PARTS, 10.0)))


def answers(attacker: Attacker) -> None:
    """Answers to ever other areas."""
    attacker.flood(lambda: attacker.question(attacker.circles(FLOOD_PARTS, 10.0)))


def uploads(attacker: Attacker) -> None:
    """Ten files of 275 KB."""
    ring = shapely.Point(-71.5, 41.7).buffer(0.3, quad_segs=2_500)
    content = json.dumps(shapely.geometry.mapping(ring)).encode()
    attacker.uploads(content[:-1] + b" " * (UPLOAD_BYTES - len(content)) + content[-1:], N_QUESTIONS)


def crossing_bars(attacker: Attacker) -> None:
    """Three files of few corners that cross in millions of places."""
    at = [place / N_BARS for place in range(N_BARS)]
    bars = [shapely.box(-72 + place, 41, -72 + place + 0.4 / N_BARS, 42) for place in at]
    bars += [shapely.box(-72, 41 + place, -71, 41 + place + 0.4 / N_BARS) for place in at]
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(bar)} for bar in bars
    ]
    content = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    attacker.uploads(content, 3)


ATTACKS: Final[dict[str, Callable[[Attacker], None]]] = {
    "10 questions of 200 circles, left at once": many_circles,
    "10 questions of three 17 KB shapes": large_shapes,
    "outlines, all different": outlines,
    "density pictures, all different": densities,
    "answers, all different": answers,
    "10 uploads of 275 KB": uploads,
    "3 uploads with 4 million crossings": crossing_bars,
}


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path, nargs="?")
    parser.add_argument("--source", type=Path, help="another checkout to serve with")
    parser.add_argument("--samples", type=int, default=20, help="requests of each kind during an attack")
    parser.add_argument("--crowd", type=int, default=40, help="connections of a flood")
    parser.add_argument("--only", default="", help="run the attacks whose name has this text")
    parser.add_argument(
        "--patience", type=float, default=20.0, help="seconds until a request counts as not answered"
    )
    rhode_island.add_data_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = (chosen.release or rhode_island.make_release(Path(folder), chosen.data)).resolve()
        release = open_release(path)
        county = f"county:{release.comparison(layer='county').units['unit_id'].iloc[0]}"
        print(
            "| attack | style sheet: median, slowest | county: median, slowest | not answered | held | files MB |"
        )
        print("|---|---|---|---|---|---|")
        with _serving(path, chosen.source) as (pid, address):
            target = target_at(pid, address, county, chosen.patience)
            sample(target, 3)
            quiet = sample(target, chosen.samples)
            print(row("quiet", quiet, None, 0, temporary_mb(pid)), flush=True)
            for name, attack in ATTACKS.items():
                if chosen.only not in name:
                    continue
                attacker = Attacker(target, release, chosen.crowd)
                try:
                    attack(attacker)
                    found = sample(target, chosen.samples)
                    print(row(name, found, quiet, attacker.crowd.held(), temporary_mb(pid)), flush=True)
                finally:
                    attacker.end()
                wait_until_quiet(target)


if __name__ == "__main__":
    main()
