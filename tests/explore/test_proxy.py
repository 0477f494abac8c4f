"""Behind a reverse proxy: whose forwarded headers are believed, prefixes, host names; and nginx as documented."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import pytest

from mapapp.base.errors import UsageError
from mapapp.explore.listener.proxies import Origin, TrustedProxies, client_key
from tests.explore.listening import GET, listening, read_answer, status

PROXY: dict[str, Any] = {"proxies": TrustedProxies(["127.0.0.1"])}
FORWARDED = (
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Prefix",
    "X-Forwarded-Port",
    "X-Real-IP",
    "Forwarded",
)


def request(path: str = "/", **headers: str) -> bytes:
    named = {"Host": "inner:8050", "Connection": "close"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode()


# Addresses


@pytest.mark.parametrize(
    ("forwarded_for", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, 203.0.113.9", "203.0.113.9"),  # the client may have written what comes before
        ("1.1.1.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"),  # through two trusted proxies
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("10.1.2.3", "10.1.2.3"),
        ("unknown, 10.1.2.3", "10.1.2.3"),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(forwarded_for: str, client: str) -> None:
    proxies = TrustedProxies(["127.0.0.1", "10.0.0.0/8"])
    origin = proxies.origin("127.0.0.1", {"X_FORWARDED_FOR": forwarded_for})
    assert origin == Origin(client, is_forwarded=True)


@pytest.mark.parametrize(
    "forwarded_for", ["", "unknown", "203.0.113.9, unknown", "' OR 1=1", "1.2.3", "," * 1000]
)
def test_a_header_without_a_client_leaves_the_proxy_as_the_client(forwarded_for: str) -> None:
    origin = TrustedProxies(["127.0.0.1"]).origin("127.0.0.1", {"X_FORWARDED_FOR": forwarded_for})
    assert origin == Origin("127.0.0.1")


@pytest.mark.parametrize("peer", ["192.0.2.1", "::1", "127.0.0.2", "localhost", ""])
def test_strangers_are_not_believed(peer: str) -> None:
    headers = {name.upper().replace("-", "_"): "203.0.113.9" for name in FORWARDED}
    assert TrustedProxies(["127.0.0.1"]).origin(peer, headers) == Origin(peer)
    assert headers == {}


def test_an_address_mapped_to_ipv6_is_the_same_address() -> None:
    assert "::ffff:127.0.0.1" in TrustedProxies(["127.0.0.1"])
    assert client_key("::ffff:203.0.113.9") == client_key("203.0.113.9") == "203.0.113.9"


def test_an_ipv6_client_counts_by_its_network() -> None:
    assert client_key("2001:db8:1:2::7") == client_key("2001:db8:1:2:ffff::1") == "2001:db8:1:2::/64"
    assert client_key("2001:db8:1:3::7") != client_key("2001:db8:1:2::7")
    assert client_key("fe80::1%eth0") == "fe80::/64"


@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.0/99", ""])
def test_a_trusted_proxy_is_an_address_or_a_network(text: str) -> None:
    with pytest.raises(UsageError, match="is neither an IP address nor a network") as refused:
        TrustedProxies([text])
    assert "\n" not in str(refused.value)


# Requests


def test_forwarded_headers_of_a_trusted_proxy_are_used_and_passed_to_no_one() -> None:
    with listening(**PROXY) as server:
        server.send(
            request(
                X_Forwarded_For="203.0.113.9",
                X_Forwarded_Proto="https",
                X_Forwarded_Host="maps.example",
                X_Real_IP="x",
            )
        )
    (asked,) = server.asked
    assert (asked["REMOTE_ADDR"], asked["wsgi.url_scheme"], asked["HTTP_HOST"]) == (
        "203.0.113.9",
        "https",
        "maps.example",
    )
    assert [name for name in asked if "FORWARDED" in name or "REAL_IP" in name] == []


def test_forwarded_headers_of_strangers_are_dropped() -> None:
    with listening() as server:
        server.send(request(**{name.replace("-", "_"): "https" for name in FORWARDED}))
    (asked,) = server.asked
    assert (asked["REMOTE_ADDR"], asked["wsgi.url_scheme"], asked["HTTP_HOST"]) == (
        "127.0.0.1",
        "http",
        "inner:8050",
    )
    assert [name for name in asked if "FORWARDED" in name or "REAL_IP" in name] == []


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("X_Forwarded_Host", "evil/path"),
        ("X_Forwarded_Host", "a, b"),
        ("X_Forwarded_Proto", "javascript"),
        ("X_Forwarded_Proto", "https, http"),
    ],
)
def test_forwarded_nonsense_changes_nothing(header: str, value: str) -> None:
    with listening(**PROXY) as server:
        server.send(request(**{header: value}))
    assert server.asked[0]["HTTP_HOST"] == "inner:8050"
    assert server.asked[0]["wsgi.url_scheme"] == "http"


def test_a_forwarded_client_has_a_limit_and_the_others_are_served() -> None:
    go_on = threading.Event()

    def slow(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/slow":
            go_on.wait(timeout=60)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    limits = {"connections_per_address": 3}
    with listening(application=slow, limits=limits, threads=6, **PROXY) as server, ExitStack() as stack:
        held = [stack.enter_context(server.connect()) for _ in range(3)]
        for each in held:
            each.sendall(request("/slow", X_Forwarded_For="203.0.113.9", Connection="keep-alive"))
        server.wait_for("requests", 3)
        assert status(server.send(request(X_Forwarded_For="203.0.113.9"))) == 429
        assert status(server.send(request(X_Forwarded_For="9.9.9.9, 203.0.113.9"))) == 429
        assert status(server.send(request(X_Forwarded_For="203.0.113.10"))) == 200
        go_on.set()
        assert [read_answer(each)[0] for each in held] == [200] * 3
        server.wait_for("requests", 0)
        assert status(server.send(request(X_Forwarded_For="203.0.113.9"))) == 200


@pytest.mark.parametrize(
    ("path", "prefix", "seen"),
    [
        ("/map/assets/app.css", None, "/map/assets/app.css"),
        ("/assets/app.css", "/map", "/map/assets/app.css"),
        ("/assets/app.css", "/map/", "/map/assets/app.css"),
        ("/", "/map", "/map/"),
        ("/map/", "/map", "/map/"),
        ("//assets/app.css", "/map", "/map/assets/app.css"),
        ("/assets/app.css", "/other", "/assets/app.css"),
        ("/assets/app.css", None, "/assets/app.css"),
    ],
)
def test_a_prefix_that_the_proxy_strips_is_put_back(path: str, prefix: str | None, seen: str) -> None:
    headers = {"X_Forwarded_Prefix": prefix} if prefix else {}
    with listening(prefix="/map/", **PROXY) as server:
        server.send(request(path, **headers))
    assert server.asked[0]["PATH_INFO"] == seen


def test_a_stranger_cannot_add_a_prefix() -> None:
    with listening(prefix="/map/") as server:
        server.send(request("/x", X_Forwarded_Prefix="/map"))
    assert server.asked[0]["PATH_INFO"] == "/x"


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("maps.example", 200),
        ("MAPS.example:8050", 200),
        ("maps.example.", 200),
        ("[::1]:8050", 200),
        ("127.0.0.1", 421),
        ("maps.example.evil", 421),
        ("maps.example, evil", 421),
        ("", 421),
    ],
)
def test_only_named_hosts_are_served(host: str, code: int) -> None:
    with listening(host_names=["maps.example", "[::1]"]) as server:
        answer = server.send(request(Host=host))
    assert status(answer) == code
    assert code == 200 or answer.endswith(
        b"421 Misdirected Request: this server does not serve that host name\n"
    )


def test_the_host_is_checked_after_the_trusted_proxy_has_named_it() -> None:
    with listening(host_names=["maps.example"], **PROXY) as server:
        assert status(server.send(request(X_Forwarded_Host="maps.example"))) == 200
        assert status(server.send(request(Host="maps.example", X_Forwarded_Host="evil"))) == 421
    with listening(host_names=["maps.example"]) as server:
        assert status(server.send(request(X_Forwarded_Host="maps.example"))) == 421


def test_without_host_names_every_name_is_served() -> None:
    with listening() as server:
        assert status(server.send(GET.replace(b"here", b"anything") + request())) == 200
