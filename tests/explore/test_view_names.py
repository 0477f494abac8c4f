"""Titles, descriptions and file names say what a view shows; the server writes them into the page, escaped."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from mapapp.explore.server import create_app
from tests.releases import write_release

TOWN = "stplc:4460"  # Naïve & <b>Bold</b> town


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("named")
    return create_app([write_release(folder / name, n_pairs=200) for name in ("now", "then")])


def head_of(app: Any, address: str) -> str:
    page = app.server.test_client().get(address).get_data(as_text=True)
    return str(page[: page.index("</head>")])


def title_of(app: Any, address: str) -> str:
    return html.unescape(re.findall(r"<title>(.*)</title>", head_of(app, address))[0])


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("/", "Where people live and work: Squareland, 2019"),
        ("/?analysis=inflow-outflow&area=stplc:4459", "Inflow and outflow: Old Harbour, 2019"),
        ("/?area=stplc:4459&area=%2Bcounty:10001", "Destinations: Old Harbour and 1 more, 2019"),
        ("/?area=circle:-71.4,41.8,3", "Destinations: a circle, 2019"),
        ("/?area=county:nowhere", "Where people live and work: Squareland, 2019"),
        ("/?analysis=job-balance", "Jobs per resident worker: Squareland, 2019"),
        ("/method", "How the numbers are made: Squareland, 2019"),
        ("/nowhere", "Page not found: Squareland, 2019"),
    ],
)
def test_the_title_says_what_the_page_shows(app: Any, address: str, title: str) -> None:
    assert title_of(app, address) == title


def test_names_in_the_head_are_escaped(app: Any) -> None:
    head = head_of(app, f"/?area={TOWN}&theme=<script>")
    assert "<b>" not in head
    assert "<script>" not in head
    assert title_of(app, f"/?area={TOWN}") == "Destinations: Naïve & <b>Bold</b>, 2019"
    described = re.findall(r'<meta (?:name|property)="(?:og:)?description" content="([^"]*)">', head)
    assert len(described) == 2
    assert described[0].startswith(
        "Where do they live, or work? Naïve &amp; &lt;b&gt;Bold&lt;/b&gt;, 2019: a map"
    )


@pytest.mark.parametrize(
    ("theme", "schemes"), [("", "light dark"), ("&theme=dark", "dark"), ("&theme=light", "light")]
)
def test_the_first_paint_has_the_colors_of_the_view(app: Any, theme: str, schemes: str) -> None:
    assert f'<meta name="color-scheme" content="{schemes}">' in head_of(app, f"/?side=home{theme}")


@pytest.mark.parametrize(
    ("preferred", "theme"), [("dark", "dark"), ("light", "light"), ("<x>", "light"), ("", "light")]
)
def test_a_page_without_a_chosen_theme_follows_the_system(app: Any, preferred: str, theme: str) -> None:
    layout = app.server.test_client().get("/_dash-layout", headers={"X-Color-Scheme": preferred}).get_json()
    assert layout["props"]["forceColorScheme"] == theme
