"""Who may talk to the workbench, and that nothing of an answer is kept."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from geodata.errors import StoreError
from mapapp.analyst.workbench.app import create_app, listen
from mapapp.analyst.workbench.guard import COOKIE, is_loopback
from mapapp.base.errors import UsageError
from tests.analyst.workbench.browser_requests import HOST, OWN_PAGE, access_of, ask, entered, get, post


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path_factory.mktemp("guard") / "demo.dataset"))


@pytest.fixture(scope="module")
def app(dataset: Path) -> Any:
    return create_app(dataset)


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    return entered(app)


def test_it_listens_on_this_machine_only(app: Any) -> None:
    server, address = listen(app, port=0)
    access = access_of(app.server.test_client())
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d+/[\w-]{12}/\?token=[\w-]{43}", address)
    assert address.endswith(access.address(access.path))
    assert server.effective_host == "127.0.0.1"
    server.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_another_host_needs_an_option(dataset: Path, host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UsageError, match="--expose") as refused:
        create_app(dataset, host=host)
    assert "\n" not in str(refused.value)


def test_a_release_is_refused(demo_release: Path) -> None:
    with pytest.raises(StoreError):
        create_app(demo_release)


@pytest.mark.parametrize("host", ["localhost:8051", "127.0.0.1", "127.9.9.9:1", "[::1]:8051", "LOCALHOST"])
def test_the_names_of_this_machine_are_good(app: Any, host: str) -> None:
    assert get(entered(app, host), "/", Host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:8051", "192.168.1.7:8051", "[::", ""]
)
def test_any_other_name_is_refused(client: Any, host: str) -> None:
    for address in ("/", "/lab", "/_dash-layout", "/_dash-dependencies", "/assets/app.css"):
        answer = get(client, address, Host=host)
        assert answer.status_code in (400, 403), address
        assert "commutemap" not in answer.get_data(as_text=True).lower()


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"http://{HOST}.evil.example", "http://127.0.0.1:3000"]
)
def test_a_callback_answers_pages_of_its_own_only(app: Any, client: Any, origin: str | None) -> None:
    values = {"url.pathname": "/lab"}
    headers = {"Host": HOST} | ({} if origin is None else {"Origin": origin})
    assert ask(client, app, "page.children", values, headers).status_code == 403
    assert ask(client, app, "page.children", values, OWN_PAGE).status_code == 200


def test_another_page_may_link_here_and_read_nothing(client: Any) -> None:
    for address, mode, status in (
        ("/", "navigate", 200),
        ("/_dash-layout", "cors", 403),
        ("/assets/app.css", "no-cors", 403),
    ):
        answer = get(client, address, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode=mode)
        assert answer.status_code == status
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_exposed_it_knows_its_own_name_and_addresses(dataset: Path) -> None:
    client = entered(create_app(dataset, host="0.0.0.0", exposed=True), "192.168.1.7:8051")
    assert get(client, "/", Host="192.168.1.7:8051").status_code == 200
    assert get(client, "/", Host="evil.example").status_code == 403


def test_nothing_that_is_answered_is_kept(app: Any, client: Any) -> None:
    assert get(client, "/").headers["Cache-Control"] == "no-store"
    assert get(client, "/_dash-layout").headers["Cache-Control"] == "no-store"
    answer = ask(client, app, "page.children", {"url.pathname": "/lab"})
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_every_page_says_that_it_is_not_for_publication(client: Any) -> None:
    layout = get(client, "/_dash-layout").get_data(as_text=True)
    assert "Not for publication" in layout  # in the frame, which stays while pages change


def test_the_printed_token_is_exchanged_for_a_cookie_and_leaves_the_address(app: Any) -> None:
    client = app.server.test_client()
    access = access_of(client)
    assert get(client, "/").status_code == 403
    answer = get(client, f"/lab?token={access.token}")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{access.path}lab")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", f"Path={access.path}"} < set(cookie.split("; "))
    assert access.token not in cookie + answer.headers["Location"] + answer.get_data(as_text=True)
    assert get(client, "/lab").status_code == 200


@pytest.mark.parametrize("token", ["", "x", "\u00e9\u4e2d", "%ff", "%ed%a0%80"])
def test_another_token_is_refused(app: Any, token: str) -> None:
    client = app.server.test_client()
    answer = get(client, f"/?token={token}")
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
    assert answer.get_data(as_text=True).count("\n") == 1
    assert get(client, "/").status_code == 403


def test_another_user_of_the_machine_is_refused(app: Any) -> None:
    """Who can connect, and knows the path, still has neither the token nor the cookie."""
    client = app.server.test_client()
    path = access_of(client).path
    for address in ("/", "/lab", "/_dash-layout", "/_dash-dependencies", "/assets/app.css", "/no-such-page"):
        answer = get(client, address)
        assert answer.status_code == 403, address
        assert "commutemap tune" in answer.get_data(as_text=True)
        assert path.strip("/") not in answer.get_data(as_text=True)
    for cookie in ("", "x", access_of(client).token):
        client.set_cookie(COOKIE, cookie, domain="127.0.0.1", path=path)
        assert get(client, "/_dash-layout").status_code == 403
        assert ask(client, app, "page.children", {"url.pathname": "/lab"}).status_code == 403


def test_the_token_does_not_do_for_a_callback(app: Any) -> None:
    """Only a visit exchanges it; a request that changes something needs the cookie."""
    client = app.server.test_client()
    access = access_of(client)
    answer = client.post(access.address(f"{access.path}_dash-update-component"), json={}, headers=OWN_PAGE)
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_the_cookie_is_not_sent_to_other_servers_of_this_machine(app: Any) -> None:
    """A browser sends a cookie to every port of a host, but only under its path, which others cannot know."""
    client = entered(app)
    path = access_of(client).path
    assert len(path.strip("/")) >= 12
    assert client.get_cookie(COOKIE, domain="127.0.0.1", path="/") is None
    cookie = client.get_cookie(COOKIE, domain="127.0.0.1", path=path)
    assert cookie is not None
    assert (cookie.path, cookie.http_only, cookie.same_site) == (path, True, "Strict")


def test_every_run_has_its_own_secrets(dataset: Path) -> None:
    first, second = (access_of(create_app(dataset).server.test_client()) for _ in range(2))
    assert len({first.token, first.cookie, second.token, second.cookie}) == 4
    assert first.path != second.path
    assert first.token not in repr(first)
    assert first.cookie not in repr(first)


def test_other_machines_need_the_token_too(dataset: Path) -> None:
    client = create_app(dataset, host="0.0.0.0", exposed=True).server.test_client()
    assert get(client, "/", Host="192.168.1.7:8051").status_code == 403


def test_a_request_that_no_page_makes_is_refused_in_one_line(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for body in (b"null", b"{}", b"[" * 100_000, b'{"output": "page.children"}'):
        answer = post(client, data=body, content_type="application/json", headers=OWN_PAGE)
        assert answer.status_code == 400
        assert answer.get_data(as_text=True).count("\n") == 1
        assert answer.headers["Cache-Control"] == "no-store"
    for address in ("/_dash-component-suites/os/x.js", "/assets/..%2f..%2fpyproject.toml"):
        assert get(client, address).status_code == 404
        assert "<" not in get(client, address).get_data(as_text=True)
    assert all(record.exc_info is None for record in caplog.records)
