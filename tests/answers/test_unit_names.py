"""Names are data: whatever they hold, tables, maps and charts show them whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers import served_answers
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.levels import LEVEL_LABELS, LEVEL_WORDS, level_named
from mapapp.answers.areas.unit_names import base_name, name_parts, readable_names, unplaced_name
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.explore.pages import answer_tables
from mapapp.question.question import Question
from mapapp.show.content import map_layers
from mapapp.show.content.labels import short_names
from tests.addresses import settled
from tests.releases import rewrite_table, write_release

WHOLE = (
    "Providence city (Providence, RI)",
    "1 (Tract 101.01, Fairfield, CT)",
    "Athol, MA Micropolitan NECTA",
    'Saint "Quote", <b>bold</b> & Son, town',
    "Ends with a comma,",
    "(Brackets, first) of town",
    "名前、町, ri",
    ", CT",
    "",
)


@pytest.mark.parametrize("name", WHOLE)
def test_a_name_is_kept_whole(name: str) -> None:
    assert name_parts(name) == (name, "")


@pytest.mark.parametrize(
    ("name", "own", "where"),
    [
        ("Ansonia city, CT", "Ansonia city", "CT"),
        ("Boston-Cambridge-Newton, MA-NH", "Boston-Cambridge-Newton", "MA-NH"),
        ("Barnstable, Dukes & Nantucket District, MA", "Barnstable, Dukes & Nantucket District", "MA"),
        ("Tract 12.01, Providence, RI", "Tract 12.01", "Providence, RI"),
        ("Census Tract 9, Saint-Jean, Nord County", "Census Tract 9", "Saint-Jean, Nord County"),
    ],
)
def test_where_a_unit_lies_is_told_apart(name: str, own: str, where: str) -> None:
    assert name_parts(name) == (own, where)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    path = write_release(tmp_path_factory.mktemp("named") / "named", n_pairs=300)
    names = {"4459": WHOLE[0], "4460": WHOLE[3]}
    rewrite_table(path, "layers", lambda units: units.assign(name=units["unit_id"].map(names)))
    return Release.open(path, "named")


def test_a_table_links_whole_names(release: Release) -> None:
    state = Question(areas=("county:10001",), layer="stplc")
    rows = answer_tables.table(served_answers.result(release, settled(release, state)), every=True)["rows"]
    linked = {row["unit"]: (row["name"], row["sub"]) for row in rows if row["unit"]}
    assert linked == {"stplc:4459": ("Providence, RI", ""), "stplc:4460": (WHOLE[3], "")}


def test_names_are_as_short_as_they_can_be_while_unique() -> None:
    names = [
        "Providence city (Providence, RI)",
        "Bristol town (Bristol, RI)",
        "Bristol town (Hartford, CT)",
        "Chester city (Delaware, PA)",
        "Chester township (Delaware, PA)",
        "Lincoln town (Kent, DE)",
        "Lincoln town (Sussex, DE)",
        "Barnstable Town city, MA",
        "Kansas City city, MO-KS",
        *WHOLE[1:],
    ]
    assert readable_names(names) == [
        "Providence, RI",
        "Bristol, RI",
        "Bristol, CT",
        "Chester city, PA",
        "Chester township, PA",
        "Lincoln town (Kent, DE)",
        "Lincoln town (Sussex, DE)",
        "Barnstable Town, MA",
        "Kansas City, MO-KS",
        "1, CT",
        *WHOLE[2:],
    ]


def test_a_table_of_tracts_says_their_county_apart(release: Release) -> None:
    state = Question(areas=("county:10001",), layer="tract")
    rows = answer_tables.table(served_answers.result(release, settled(release, state)), every=True)["rows"]
    found = next(row for row in rows if row["unit"])
    assert found["name"].startswith("Tract ")
    assert found["sub"].startswith("County ")


def test_charts_and_maps_show_whole_names(release: Release) -> None:
    assert short_names(["A town (B, RI)", "A town (C, RI)"]) == ["A town (B, RI)", "A town (C, RI)"]
    assert [about["name"] for about in map_layers.base_names(release, "states")]


def test_an_area_is_found_by_its_name(release: Release) -> None:
    assert release.areas.find(WHOLE[0]) == "stplc:4459"
    assert release.areas.find("(Providence, RI)") == "stplc:4459"


@pytest.mark.parametrize(
    ("name", "without_place", "base"),
    [
        ("Providence city, RI", "Providence city", "Providence"),
        ("Lincoln town (Providence, RI)", "Lincoln town", "Lincoln"),
        ("Juneau city and borough, AK", "Juneau city and borough", "Juneau"),
        ("Washington (outside the area)", "Washington (outside the area)", "Washington"),
        ("Kansas City city, MO-KS", "Kansas City city", "Kansas City"),
        ("City", "City", "City"),
        ("Barnstable Town city, MA", "Barnstable Town city", "Barnstable Town"),
        ("The (Upper) Valley", "The (Upper) Valley", "The (Upper) Valley"),
    ],
)
def test_a_base_name_has_neither_place_nor_legal_description(
    name: str, without_place: str, base: str
) -> None:
    assert unplaced_name(name) == without_place
    assert base_name(name) == base


@pytest.fixture(scope="module")
def harbours(tmp_path_factory: pytest.TempPathFactory) -> Areas:
    """Areas with a place and a county of one base name, and two places of another."""
    path = write_release(tmp_path_factory.mktemp("harbours") / "harbours", n_pairs=300)
    names = {"10001": "Harbour County, DE", "10003": "Old Ferry County, DE", "11001": "Ferry County, MD"}
    rewrite_table(path, "counties", lambda units: units.assign(name=units["county_id"].map(names).fillna("")))
    places = {"4459": "Harbour city, DE", "4460": "Old Ferry town (Kent, DE)"}
    rewrite_table(path, "layers", lambda units: units.assign(name=units["unit_id"].map(places)))
    return Release.open(path, "harbours").areas


def test_a_base_name_is_the_place_and_a_note_says_what_else_has_it(harbours: Areas) -> None:
    assert harbours.find("harbour") == "stplc:4459"
    assert harbours.note_on_name("harbour") == (
        "area 'harbour': using stplc:4459 (Harbour city, DE); "
        "other areas with that name: county:10001 (Harbour County, DE)"
    )
    assert harbours.find("Old Ferry town") == "stplc:4460"
    assert harbours.find("Ferry") == "county:11001"


@pytest.mark.parametrize("text", ["Harbour city", "Harbour County, DE", "Ferry", "county:10001", "all"])
def test_a_name_that_no_other_area_has_needs_no_note(harbours: Areas, text: str) -> None:
    assert harbours.note_on_name(text) == ""


def test_two_units_of_one_layer_with_the_same_base_name_are_both_named(
    tmp_path: Path,
) -> None:
    path = write_release(tmp_path / "twins", n_pairs=100)
    places = {"4459": "Lincoln town (Kent, DE)", "4460": "Lincoln town (Sussex, DE)"}
    rewrite_table(path, "layers", lambda units: units.assign(name=units["unit_id"].map(places)))
    areas = Release.open(path, "twins").areas
    for text in ("Lincoln", "lincoln town"):
        with pytest.raises(UsageError, match=r"2 units have that name, such as stplc:4459 .* stplc:4460"):
            areas.find(text)


def test_a_mistyped_name_is_answered_with_the_nearest_ones(harbours: Areas) -> None:
    with pytest.raises(UsageError, match=r"no area has that name; the nearest name is stplc:4459"):
        harbours.find("Habrour city")
    with pytest.raises(UsageError, match="no area has that name; give level:identifier"):
        harbours.find("Xyzzy")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("town", "ctycsub"),
        ("Towns", "ctycsub"),
        ("city", "stplc"),
        ("cities", "stplc"),
        ("County", "county"),
        ("counties", "county"),
        ("ZIP codes", "zcta"),
        ("block-group", "bgrp"),
        ("census tracts", "tract"),
        ("metro", "cbsa"),
        ("PUMA", "puma"),
        ("necta", "necta"),
        ("nonsense", "nonsense"),
        ("Nonsense", "Nonsense"),
        ("", ""),
    ],
)
def test_a_layer_is_given_by_its_key_or_as_people_say(name: str, level: str) -> None:
    assert level_named(name) == level


def test_a_word_for_a_layer_means_one_layer() -> None:
    words = [word for each in LEVEL_WORDS.values() for word in each]
    assert len({*words, *LEVEL_LABELS}) == len(words) + len(LEVEL_LABELS)
    assert set(LEVEL_WORDS) <= set(LEVEL_LABELS)
    assert all(level_named(word) == level for level, each in LEVEL_WORDS.items() for word in each)
