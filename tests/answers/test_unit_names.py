"""Names are data: whatever they hold, tables, maps and charts show them whole."""

from __future__ import annotations

import pytest

from mapapp.answers import served_answers
from mapapp.answers.served_release import ServedRelease
from mapapp.answers.unit_names import name_parts
from mapapp.drawing import map_layers
from mapapp.drawing.labels import short_names
from mapapp.explore.pages import answer_tables
from mapapp.question.question import Question
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
def release(tmp_path_factory: pytest.TempPathFactory) -> ServedRelease:
    path = write_release(tmp_path_factory.mktemp("named") / "named", n_pairs=300)
    names = {"4459": WHOLE[0], "4460": WHOLE[3]}
    rewrite_table(path, "layers", lambda units: units.assign(name=units["unit_id"].map(names)))
    return ServedRelease(path, "named")


def test_a_table_links_whole_names(release: ServedRelease) -> None:
    state = Question(areas=("county:10001",), layer="stplc")
    rows = answer_tables.table(served_answers.result(release, state), every=True)["rows"]
    linked = {row["unit"]: (row["name"], row["sub"]) for row in rows if row["unit"]}
    assert linked == {"stplc:4459": (WHOLE[0], ""), "stplc:4460": (WHOLE[3], "")}


def test_a_table_of_tracts_says_their_county_apart(release: ServedRelease) -> None:
    state = Question(areas=("county:10001",), layer="tract")
    rows = answer_tables.table(served_answers.result(release, state), every=True)["rows"]
    found = next(row for row in rows if row["unit"])
    assert found["name"].startswith("Tract ")
    assert found["sub"].startswith("County ")


def test_charts_and_maps_show_whole_names(release: ServedRelease) -> None:
    assert short_names(["A town (B, RI)", "A town (C, RI)"]) == ["A town (B, RI)", "A town (C, RI)"]
    assert [about["name"] for about in map_layers.base_names(release, "states")]


def test_an_area_is_found_by_its_name(release: ServedRelease) -> None:
    assert release.areas.find(WHOLE[0]) == "stplc:4459"
    assert release.areas.find("(Providence, RI)") == "stplc:4459"
