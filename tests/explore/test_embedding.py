"""The map within another page: which sites may show it, and the HTML that a visitor copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plotly.io.json import to_json_plotly

from mapapp.commands.cli import run
from mapapp.explore.pages import explore, frame
from mapapp.explore.server import create_app
from mapapp.question.address import Address
from tests.releases import write_release

SITES = ("https://news.example", "http://127.0.0.1:8000")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("embedded") / "squareland", n_pairs=200)


def ancestors(app: Any, address: str) -> str:
    policy = app.server.test_client().get(address).headers["Content-Security-Policy"]
    return str(policy.rpartition("frame-ancestors ")[2])


def test_only_named_sites_may_embed_and_only_the_embedded_view(path: Path) -> None:
    closed, open_to_sites = create_app([path]), create_app([path], embed_from=SITES)
    for address in ("/", "/?embed=1", "/method?embed=1"):
        assert ancestors(closed, address) == "'self'"
    assert ancestors(open_to_sites, "/?area=county:10001&embed=1") == f"'self' {SITES[0]} {SITES[1]}"
    for address in ("/", "/?embed=0", "/?embed=<script>"):
        assert ancestors(open_to_sites, address) == "'self'"


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "news.example",
        "https://",
        "https://news.example/maps",
        "https://a b",
        "javascript:x",
        "https://a;x",
        "'none'",
    ],
)
def test_an_invalid_origin_is_refused_in_one_line(
    path: Path, origin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(path), "--embed-from", origin]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"--embed-from {origin!r} is not" in said
    assert "https://www.example.org" in said


def test_the_page_offers_html_only_if_a_site_may_embed_it(path: Path) -> None:
    def page(*sites: str) -> str:
        return str(to_json_plotly(frame.share(sites))).replace("\\u002f", "/")

    assert "embed-snippet" not in page()
    assert "--embed-from" in page()
    assert "embed-snippet" in page(*SITES)
    assert f"on {SITES[0]} and {SITES[1]}" in page(*SITES)


def test_an_embedded_view_stays_embedded_after_a_choice(path: Path) -> None:
    from mapapp.explore.callbacks.choices import apply_choices

    views = create_app([path]).server.extensions["commutemap"]
    choice = {"trigger": {"type": "suggest", "area": "county:10001"}, "value": 1, "read": {}}
    after = apply_choices(views, {"n": 1, "search": "?embed=1", "choices": [choice]})
    assert after["search"] == "?area=county:10001&embed=1"


def test_the_release_is_chosen_in_the_header(path: Path) -> None:
    app = create_app([path])
    views = app.server.extensions["commutemap"]
    page = str(to_json_plotly(explore.page(views.releases, Address(), {}, {}))).replace(" ", "")
    assert '"id":"release"' not in page
    assert '"id":"search"' in page.partition('"id":"asked"')[0]
