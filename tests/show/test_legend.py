"""Legends: each kind of map has one, and its JSON is what the page's script reads."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from mapapp.answers.release import Release
from mapapp.question.analyses import Show
from mapapp.show.content.legend import Item, Kind, Legend
from mapapp.show.content.map_legends import map_legend
from tests.addresses import shown
from tests.map_contents import content_of
from tests.releases import write_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


@pytest.mark.parametrize("show", get_args(Show))
def test_every_map_has_a_legend(release: Release, show: Show) -> None:
    legend = map_legend(content_of(release, *shown(areas=("county:10001",), show=show)))
    assert legend.kind in get_args(Kind)
    assert legend.items or legend.extras
    assert all(0 <= place <= 1 for place, _ in legend.ticks)


def test_a_legend_is_plain_json() -> None:
    legend = Legend("swatches", "Jobs", (Item("Homes", "#112233", more="12"),))
    meta = json.loads(json.dumps(legend.as_meta()))
    assert meta["items"][0]["more"] == "12"
    assert Legend("none").as_meta() is None
