"""The map behind nginx, configured as docs/serving.md prints it: prefix, limits, forwarded headers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mapapp.explore.listener.proxies import TrustedProxies
from mapapp.explore.server import create_app, listen
from tests.explore.listening import Listening, listening, wait_until
from tests.releases import write_release
from tests.running_server import running

DOCUMENT = Path(__file__).parents[2] / "docs" / "serving.md"
PROXY = TrustedProxies(["127.0.0.1"])


def documented(*, strips_prefix: bool) -> str:
    """The configuration in the documentation; for a proxy that removes the prefix, with the lines it names."""
    blocks = re.findall(r"```nginx\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    config, instead = blocks
    if not strips_prefix:
        return str(config)
    kept, _, locations = config.replace('    proxy_set_header X-Forwarded-Prefix "";\n', "").partition(
        "    location /map/ {"
    )
    assert kept.count("location") == 1
    assert locations.count("location") == 1
    return f"{kept}{instead}}}\n"


@contextmanager
def nginx(folder: Path, port: int, *, strips_prefix: bool = False) -> Iterator[str]:
    """Run nginx on loopback in front of a port; yields its address."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/bin")
    if program is None:
        pytest.skip("no nginx on this machine (on Debian: apt-get install nginx-light)")
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        outer = probe.getsockname()[1]
    config = documented(strips_prefix=strips_prefix)
    for documented_text, here in (("listen 80;", f"listen 127.0.0.1:{outer};"), (":8050;", f":{port};")):
        assert config.count(documented_text) == 1
        config = config.replace(documented_text, here)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n"
        f"events {{ worker_connections 2048; }}\nhttp {{\naccess_log off;\n{places}{config}}}\n",
        encoding="utf-8",
    )
    log = folder / "said"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [program, "-p", str(folder), "-e", str(folder / "errors"), "-c", str(file)],
            stdout=said,
            stderr=said,
        )
    try:
        wait_until(lambda: process.poll() is not None or _answers(outer), "nginx does not listen")
        assert process.poll() is None, log.read_text() + (folder / "errors").read_text()
        yield f"http://127.0.0.1:{outer}"
    finally:
        process.terminate()
        process.wait(timeout=20)


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_given: Any) -> None:
        return None


OPENER = urllib.request.build_opener(_NoRedirect(), urllib.request.ProxyHandler({}))


def ask(address: str, data: bytes | None = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer, whatever the status."""
    named = {"Host": "maps.example.org"} | {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with OPENER.open(urllib.request.Request(address, data, named), timeout=60) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


@pytest.fixture(scope="module")
def release_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("made") / "squareland")


@pytest.fixture(scope="module", params=[False, True], ids=["prefix kept", "prefix removed"])
def address(
    release_path: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The map as visitors of the proxy see it."""
    app = create_app([release_path], prefix="/map/")
    server, inner = listen(app, port=0, host_names=["maps.example.org"], trusted_proxies=["127.0.0.1"])
    port = int(re.findall(r":(\d+)/map/$", inner)[0])
    folder = tmp_path_factory.mktemp("nginx")
    with running(server, inner), nginx(folder, port, strips_prefix=request.param) as outer:
        yield outer


def test_everything_on_the_page_is_below_the_prefix_and_loads(address: str, release_path: Path) -> None:
    status, headers, page = ask(f"{address}/map/")
    assert status == 200
    assert headers["Server"] == "nginx"  # its version is hidden; commutemap says nothing
    named = re.findall(r'(?:src|href)="([^"]+)"', page.decode())
    assert len(named) > 8
    for each in named:
        assert each.startswith("/map/"), each
        assert ask(address + each)[0] == 200, each
    config = json.loads(re.findall(rb'id="_dash-config" type="application/json">(.*?)</script>', page)[0])
    assert config["requests_pathname_prefix"] == "/map/"
    version = hashlib.sha256((release_path / "manifest.json").read_bytes()).hexdigest()[:12]
    base = f"squareland/{version}"
    for path in (
        "_dash-layout",
        "_dash-dependencies",
        "method",
        f"geo/{base}/tracts.geojson",
        f"geo/{base}/areas.geojson?area=county:10001",
        f"density/{base}.png?area=county:10001&show=density",
        f"take/{base}/setup.json?area=county:10001",
    ):
        assert ask(f"{address}/map/{path}")[0] == 200, path


def test_callbacks_pass_and_their_addresses_have_the_prefix(address: str) -> None:
    nav = [{"id": {"page": page, "type": "nav"}, "property": "className"} for page in ("/", "/method")]
    body = {
        "output": '..page.children...release-choice.children...{"page":["ALL"],"type":"nav"}.className..',
        "outputs": [*({"id": part, "property": "children"} for part in ("page", "release-choice")), nav],
        "inputs": [{"id": "url", "property": "pathname", "value": "/map/"}],
        "state": [{"id": "url", "property": "search", "value": "?area=county:10001"}],
        "changedPropIds": ["url.pathname"],
    }
    status, headers, answer = ask(
        f"{address}/map/_dash-update-component", json.dumps(body).encode(), Content_Type="application/json"
    )
    assert status == 200
    assert headers["Cache-Control"] == "no-store"
    text = json.dumps(json.loads(answer))
    assert '"id": "map"' in text
    addresses = re.findall(r'"(/[^"]*\.(?:geojson|png|json)[^"]*)"', text)
    assert addresses
    assert [each for each in addresses if not each.startswith("/map/")] == []


def test_a_prefix_without_its_slash_and_other_paths(address: str) -> None:
    status, headers, _ = ask(f"{address}/map?area=county:10001")
    assert (status, headers["Location"]) == (308, "/map/?area=county:10001")
    assert ask(f"{address}/elsewhere")[0] == 404
    assert ask(f"{address}/map/no/such/page")[0] == 404


def test_another_host_name_is_refused(address: str) -> None:
    status, _, body = ask(f"{address}/map/", Host="evil.example")
    assert (status, body) == (421, b"421 Misdirected Request: this server does not serve that host name\n")


def test_bodies_are_limited(address: str) -> None:
    assert ask(f"{address}/map/nowhere", b"x" * (2 << 20))[0] == 413
    assert ask(f"{address}/map/nowhere", b"x" * 100)[0] == 413
    large = b"x" * (2 << 20)  # accepted there, but not JSON
    assert ask(f"{address}/map/_dash-update-component", large, Content_Type="application/json")[0] == 400
    assert (
        ask(f"{address}/map/_dash-update-component", b"x" * (5 << 20), Content_Type="application/json")[0]
        == 413
    )
    file = {"Content_Type": "application/octet-stream"}
    assert ask(f"{address}/map/upload/area?name=x.geojson", b"x" * (19 << 20), **file)[0] == 202
    assert ask(f"{address}/map/upload/area?name=x.geojson", b"x" * (21 << 20), **file)[0] == 413


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[tuple[str, Listening]]:
    """A server that notes its requests, behind the documented proxy."""
    with listening(prefix="/map/", proxies=PROXY) as server, nginx(tmp_path, server.port) as outer:
        yield outer, server


def test_the_proxy_names_the_client_whatever_the_client_says(echo: tuple[str, Listening]) -> None:
    outer, server = echo
    with closing(socket.socket()) as visitor:
        try:
            visitor.bind(("127.0.0.3", 0))
        except OSError:
            pytest.skip("this system has no address 127.0.0.3")
        visitor.connect(("127.0.0.1", int(outer.rpartition(":")[2])))
        spoofed = "\r\n".join(
            f"{name}: 203.0.113.9"
            for name in ("X-Forwarded-For", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Prefix")
        )
        visitor.sendall(f"GET /map/x HTTP/1.0\r\nHost: maps.example.org\r\n{spoofed}\r\n\r\n".encode())
        assert visitor.recv(15) == b"HTTP/1.1 200 OK"
    (asked,) = server.asked
    assert (asked["REMOTE_ADDR"], asked["HTTP_HOST"], asked["PATH_INFO"]) == (
        "127.0.0.3",
        "maps.example.org",
        "/map/x",
    )
    assert "203.0.113.9" not in json.dumps(asked)


def test_a_long_address_passes(echo: tuple[str, Listening]) -> None:
    outer, server = echo
    query = "area=" + "x" * 60_000
    assert ask(f"{outer}/map/?{query}")[0] == 200
    assert server.asked[0]["QUERY_STRING"] == query


def test_many_visitors_share_the_connections_of_the_proxy(echo: tuple[str, Listening]) -> None:
    outer, server = echo
    assert {ask(f"{outer}/map/{number}")[0] for number in range(50)} == {200}
    assert len(server.asked) == 50
    assert server.gate.counts["connections"] < 50
