"""A name means the same area in the search box, in a sentence, and on the command line."""

from __future__ import annotations

import pytest

from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.sentence_names import SentenceNames
from mapapp.answers.release import Release
from mapapp.question.sentence.asked import ask_in_words
from tests.releases import rewrite_table, write_release


@pytest.fixture(scope="module")
def areas(tmp_path_factory: pytest.TempPathFactory) -> Areas:
    """Areas of which a county, a state outside the release, and two places have one name."""
    path = write_release(tmp_path_factory.mktemp("names") / "names", n_pairs=300)
    counties = {"10001": "Oregon County, DE", "10003": "Old Ferry County, DE", "11001": "Ferry County, MD"}
    rewrite_table(
        path, "counties", lambda units: units.assign(name=units["county_id"].map(counties).fillna(""))
    )
    places = {"4459": "Harbour city, DE", "4460": "Ferry town (Kent, DE)"}
    rewrite_table(path, "layers", lambda units: units.assign(name=units["unit_id"].map(places)))
    return Release.open(path, "names").areas


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Harbour", "stplc:4459"),
        ("harbour city", "stplc:4459"),
        ("Ferry", "stplc:4460"),
        ("Ferry, DE", "stplc:4460"),
        ("Ferry County", "county:11001"),
        ("Oregon", "county:10001"),
        ("Old Ferry", "county:10003"),
    ],
)
def test_every_way_to_a_name_finds_the_same_area(areas: Areas, name: str, key: str) -> None:
    assert areas.search(name)[0].key == key
    assert areas.find(name) == key
    assert ask_in_words(f"workers of {name}", SentenceNames(areas)).question.areas == (key,)


def test_sentences_and_the_search_box_share_one_index(areas: Areas, monkeypatch: pytest.MonkeyPatch) -> None:
    areas.search("Harbour")

    def refuse(*_: object) -> None:
        raise AssertionError("a second index was made")

    monkeypatch.setattr("mapapp.answers.areas.search.AreaSearch.__init__", refuse)
    assert ask_in_words("workers of Harbour", SentenceNames(areas)).question.areas == ("stplc:4459",)
