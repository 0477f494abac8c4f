"""Who may talk to the workbench, and that nothing of an answer is kept."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from geodata.errors import StoreError
from mapapp.errors import UsageError
from mapapp.workbench.app import create_app, listen
from mapapp.workbench.guard import is_loopback
from mapapp.workbench.peer import NOBODY, is_stranger, owner_of
from tests.workbench.asking import HOST, OWN_PAGE, ask, get


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path_factory.mktemp("guard") / "demo.dataset"))


@pytest.fixture(scope="module")
def app(dataset: Path) -> Any:
    return create_app(dataset)


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    return app.server.test_client()


def test_it_listens_on_this_machine_only(app: Any) -> None:
    server, address = listen(app, port=0)
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d+/", address)
    assert server.effective_host == "127.0.0.1"
    server.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_another_host_must_be_asked_for_in_so_many_words(dataset: Path, host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UsageError, match="--expose") as refused:
        create_app(dataset, host=host)
    assert "\n" not in str(refused.value)


def test_a_release_is_refused(demo_release: Path) -> None:
    with pytest.raises(StoreError):
        create_app(demo_release)


@pytest.mark.parametrize("host", ["localhost:8051", "127.0.0.1", "127.9.9.9:1", "[::1]:8051", "LOCALHOST"])
def test_the_names_of_this_machine_are_good(client: Any, host: str) -> None:
    assert get(client, "/", Host=host).status_code == 200


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
    client = create_app(dataset, host="0.0.0.0", exposed=True).server.test_client()
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


HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"


def test_the_owner_of_a_connection_is_read_off_the_system(tmp_path: Path) -> None:
    table = tmp_path / "tcp"
    row = "   0: 0100007F:{:04X} 0100007F:1F73 01 00000000:00000000 00:00000000 00000000  {}        0 1 1"
    table.write_text("\n".join([HEADER, row.format(40000, 0), row.format(40001, 4711)]), encoding="ascii")
    six = tmp_path / "tcp6"
    local = "   0: 00000000000000000000000001000000:9C42 0:0 01 0:0 0:0 0  4712        0 1 1"
    mapped = "   1: 0000000000000000FFFF00000100007F:9C43 0:0 01 0:0 0:0 0  4713        0 1 1"
    six.write_text("\n".join([HEADER, local, mapped]), encoding="ascii")
    tables = (table, six)
    assert [owner_of("127.0.0.1", port, tables) for port in (40000, 40001, 40003, 1)] == [
        0,
        4711,
        4713,
        NOBODY,
    ]
    assert owner_of("::1", 40002, tables) == 4712
    for address, port in (
        ("10.0.0.1", 40001),
        (None, 40001),
        ("127.0.0.1", None),
        ("x", 1),
    ):
        assert owner_of(address, port, tables) is None
    assert owner_of("127.0.0.1", 40001, (tmp_path / "nowhere",)) is None


def test_our_own_connection_is_no_stranger_s() -> None:
    with socket.socket() as listening, socket.socket() as ours:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        ours.connect(listening.getsockname())
        address, port = ours.getsockname()
        assert owner_of(address, port) in (os.getuid(), None)
        assert not is_stranger(address, port)


def test_another_user_of_the_machine_is_refused(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mapapp.workbench.peer.owner_of", lambda *_: os.getuid() + 1)
    answer = get(client, "/")
    assert answer.status_code == 403
    assert "another user" in answer.get_data(as_text=True)


def test_whoever_closed_the_connection_at_once_is_a_stranger(tmp_path: Path) -> None:
    """Nobody reads the answer then, but a release would be published all the same."""
    row = "   0: 0100007F:{:04X} 0100007F:1F73 {} 00000000:00000000 00:00000000 00000000  {}        0 {} 1"
    listening = row.format(8051, "0A", os.getuid(), 77)
    table = tmp_path / "tcp"

    def is_refused(*rows: str) -> bool:
        table.write_text("\n".join([HEADER, *rows]), encoding="ascii")
        return is_stranger("127.0.0.1", 40000, (table,))

    assert not is_refused(listening, row.format(40000, "01", os.getuid(), 78))
    assert is_refused(listening, row.format(40000, "01", os.getuid() + 1, 78))
    assert is_refused(
        listening, row.format(40000, "06", 0, 0)
    )  # closed: the system says that it is the superuser's
    assert is_refused(listening)  # reset: not listed at all
    assert not is_refused()  # a system that lists nothing


def test_a_request_that_no_page_makes_is_refused_in_one_line(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for body in (b"null", b"{}", b"[" * 100_000, b'{"output": "page.children"}'):
        answer = client.post(
            "/_dash-update-component", data=body, content_type="application/json", headers=OWN_PAGE
        )
        assert answer.status_code == 400
        assert answer.get_data(as_text=True).count("\n") == 1
        assert answer.headers["Cache-Control"] == "no-store"
    for address in ("/_dash-component-suites/os/x.js", "/assets/..%2f..%2fpyproject.toml"):
        assert get(client, address).status_code == 404
        assert "<" not in get(client, address).get_data(as_text=True)
    assert all(record.exc_info is None for record in caplog.records)
