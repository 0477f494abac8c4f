"""A sentence in the search box: the question it asks becomes the address, and the page says what was understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers.release import open_releases
from mapapp.explore.callbacks.choices import PREFIX, apply_choices, question_option
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages.area_controls import filter_chips
from tests.records_store import write_records
from tests.releases import releases_of


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Views:
    folder: Path = tmp_path_factory.mktemp("asked")
    return Views(open_releases(releases_of(folder, {"new": 2019, "old": 2018})))


@pytest.fixture(scope="module")
def records(views: Views, tmp_path_factory: pytest.TempPathFactory) -> Views:
    """Worker records beside a release of the same made-up places."""
    source = views.releases["new"].store.path
    path = write_records(tmp_path_factory.mktemp("asked") / "workers.records", source)
    return Views(open_releases([path, source]))


def choose(views: Views, search: str, trigger: object, value: object = 1) -> tuple[str | None, str]:
    choice = {"trigger": trigger, "value": value, "read": {}}
    found = apply_choices(views, {"n": 1, "search": search, "choices": [choice]})
    return found["search"], found["said"]


def test_a_sentence_becomes_the_address(views: Views) -> None:
    search, said = choose(
        views, "?theme=dark", "search", f"{PREFIX}Where do low-wage workers of County 10001 live, by county?"
    )
    assert search == "?area=county:10001&layer=county&earnings=1&theme=dark"
    assert said.startswith("Understood: Destinations · Workplaces: County 10001")


def test_a_chosen_sentence_is_not_read_again(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "who works in County 10003, under 30"
    assert question_option(views.releases["new"], text, is_name=False) is not None

    def refuse(*_: object) -> None:
        raise AssertionError("the sentence was read twice")

    monkeypatch.setattr("mapapp.answers.asking.ask_in_words", refuse)
    search, _ = choose(views, "", "search", f"{PREFIX}{text}")
    assert search == "?analysis=profile&area=county:10003&age=1"


def test_years_choose_releases(views: Views) -> None:
    search, _ = choose(views, "", "search", f"{PREFIX}inflow of County 10001 in 2019 compared with 2018")
    assert search == "?against=old&analysis=inflow-outflow&area=county:10001"
    search, said = choose(views, "", "search", f"{PREFIX}inflow of County 10001 in 2018")
    assert search == "?release=old&analysis=inflow-outflow&area=county:10001"
    search, said = choose(views, "", "search", f"{PREFIX}inflow of County 10001 in 1999")
    assert search == "?analysis=inflow-outflow&area=county:10001"
    assert "No release of 1999 is served." in said


def test_what_is_not_understood_is_said_and_nothing_is_lost(views: Views) -> None:
    before = "?area=county:10001"
    assert choose(views, before, "search", f"{PREFIX}flobber the wug")[0] is None
    _, said = choose(views, before, "search", f"{PREFIX}frobnicated workers of County 10003")
    assert "“frobnicated” was not understood and was left out." in said
    assert choose(views, before, "search", PREFIX)[0] is None


def test_a_name_is_searched_and_a_sentence_is_offered_as_a_question(views: Views) -> None:
    release = views.releases["new"]
    for name in ("County 10001", "County", "x", "flobber the wug", "", "a" * 400):
        assert question_option(release, name, is_name=True) is None
    assert question_option(release, "flobber the wug", is_name=False) is None
    found = question_option(release, "who works in County 10001, over 55", is_name=False)
    assert found == {
        "group": "Ask",
        "items": [
            {
                "value": f"{PREFIX}who works in County 10001, over 55",
                "label": "Area profile · Workplaces: County 10001 · Age: 55 or older",
            }
        ],
    }


def test_each_part_of_a_question_is_a_chip_that_can_be_dropped(views: Views) -> None:
    search = "?area=county:10001&layer=county&age=1,2&earnings=3"
    address, _ = views.parse(search)
    chips = str(filter_chips(views.release(address), address.question))
    assert all(
        part in chips for part in ("29 or younger or 30 to 54", "More than $3,333 a month", "by county")
    )
    assert (
        choose(views, search, {"type": "drop", "of": "age"})[0]
        == "?area=county:10001&layer=county&earnings=3"
    )
    assert (
        choose(views, search, {"type": "drop", "of": "layer"})[0] == "?area=county:10001&age=1,2&earnings=3"
    )
    several: tuple[object, ...] = (None, [], {"a": 1}, "no such field")
    for forged in several:
        assert choose(views, search, {"type": "drop", "of": forged})[0] is None


def test_a_sentence_about_workers_becomes_filters_and_a_cross_table(records: Views) -> None:
    search, said = choose(records, "", "search", f"{PREFIX}women who work in County 10001")
    assert search == "?analysis=profile&area=county:10001&attribute=sex:1"
    assert said == "Understood: Area profile · Workplaces: County 10001 · Sex: Female."
    search, said = choose(records, "", "search", f"{PREFIX}sex by education in County 10001")
    assert search == "?analysis=cross-table&area=county:10001&by=sex,education"
    assert "Table by Sex and Education" in said


def test_without_the_attribute_the_release_says_what_it_has(records: Views) -> None:
    search, said = choose(records, "?release=new", "search", f"{PREFIX}women in County 10001")
    assert search is not None
    assert "attribute=" not in search
    assert "Sex is not in this release; ask by age, earnings, or industry." in said


def test_the_chosen_area_is_kept_if_a_sentence_names_none(records: Views) -> None:
    search, _ = choose(records, "?area=county:10003", "search", f"{PREFIX}women in this town")
    assert search == "?analysis=profile&side=home&area=county:10003&attribute=sex:1"
    search, said = choose(records, "?area=county:10003", "search", f"{PREFIX}sex by education")
    assert search == "?analysis=cross-table&area=county:10003&by=sex,education"
    assert "Workplaces: the chosen area" in said
    search, said = choose(records, "?area=county:10003", "search", f"{PREFIX}how far do people commute")
    assert search == "?analysis=distance-direction&side=home&area=county:10003"
    assert "The sentence names no area, so the chosen one is kept." in said
    search, said = choose(records, "", "search", f"{PREFIX}sex by education")
    assert search == "?analysis=cross-table&by=sex,education"
    assert "The sentence names no area, so everybody is counted." in said


def test_one_word_for_workers_is_offered_as_a_question(records: Views) -> None:
    release = records.releases["workers-records"]
    found = question_option(release, "women", is_name=False, chosen=("county:10001",))
    assert found is not None
    assert "Sex: Female" in str(found)
    assert question_option(records.releases["new"], "women", is_name=False) is None
