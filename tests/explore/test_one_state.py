"""The page is always in one state: that of its address, whichever question it showed before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mapapp.explore.server import create_app
from mapapp.question.analyses import ANALYSES
from tests.explore.page_in_process import PageInProcess
from tests.releases import write_release

START = "?analysis={}&area=county:10001&other=county:10003"
SHOWN = (
    *("answer.children", "area-data.data", "glance.children", "notes.children", "certificate.children"),
    *("matrix-data.data", "matrix-csv.href", "chart-card.hidden", "chart-title.children", "chart.figure"),
    *("show.data", "show-said.children", "shown.data", "placed.data", "chips.children", "area-size.children"),
    *("take-files.children", "csv.href", "page-title.data", "answered.data"),
)
"""What a visitor sees besides the map."""
LOOK = ("layers", "center", "zoom", "uirevision")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = write_release(tmp_path_factory.mktemp("state") / "squareland")
    return create_app([path]).server.test_client()


@pytest.fixture(scope="module")
def afresh(client: Any) -> dict[str, PageInProcess]:
    """Pages by their query, each opened at it."""
    return {}


def assert_as_if_opened_here(page: PageInProcess, client: Any, afresh: dict[str, PageInProcess]) -> None:
    """The page is as one that is opened at its address: map, caption, legend, headline, table, menus, and files."""
    if page.search not in afresh:
        afresh[page.search] = PageInProcess(client, page.search)
    new = afresh[page.search]
    for part in SHOWN:
        assert page.state.get(part) == new.state.get(part), part
    assert page.figure["data"] == new.figure["data"]
    for part in ("annotations", "showlegend", "legend", "meta", "paper_bgcolor", "font"):
        assert page.figure["layout"].get(part) == new.figure["layout"].get(part), part
    assert {name: page.figure["layout"]["map"][name] for name in LOOK} == {
        name: new.figure["layout"]["map"][name] for name in LOOK
    }
    drawn = {name: value for name, value in page.state.items() if name.endswith("data-drawn")}
    assert drawn
    assert {*drawn.values()} == {page.search}
    assert page.figure["layout"]["meta"]["address"] == page.search


@pytest.mark.parametrize("first", [*ANALYSES][:-1])
def test_a_page_after_any_other_analysis_is_as_if_opened_there(
    first: str, client: Any, afresh: dict[str, PageInProcess]
) -> None:
    """One page goes from an analysis to each later one and back: together, all ordered pairs."""
    names = [*ANALYSES]
    page = PageInProcess(client, START.format(first))
    for other in names[names.index(first) + 1 :]:
        for after in (other, first):
            page.choose("analysis", after)
            assert page.state["placed.data"]["values"]["analysis"] == after
            assert_as_if_opened_here(page, client, afresh)
