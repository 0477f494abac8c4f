"""Names are found as people type them: any order of words, states, short forms, and small typing errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers.areas.search import AreaSearch, Entry
from mapapp.answers.areas.sentence_names import SentenceNames
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.explore.pages import area_controls
from mapapp.question.area_text import MAX_LABEL, Circle, Step, Unit, area_text, parse_area
from mapapp.question.sentence.asked import ask_in_words
from mapapp.question.sentence.text import folded_words

NAMES = (
    Entry("Providence city (Providence, RI)", "4400759000", "44", is_guessed=True),
    Entry("North Providence town (Providence, RI)", "4400751760", "44", is_guessed=True),
    Entry("Newport city (Newport, RI)", "4400549960", "44", is_guessed=True),
    Entry("St. Albans town (Franklin, VT)", "5001161750", "50", is_guessed=True),
    Entry("Mount Holly town (Rutland, VT)", "5002147200", "50", is_guessed=True),
    Entry("Cañon City city, CO", "0811810", "08", is_guessed=True),
    Entry("Providence County, RI", "44007", "44", is_guessed=True),
    Entry("Newport city, NH", "3351300", "33", is_guessed=True),
    Entry("02903", "02903"),
    Entry("02908", "02908"),
    Entry("Brown University (Providence County, RI)", "", "44", is_guessed=True),
    Entry("Tract 24, Providence County, RI", "44007002400", "44"),
)


@pytest.mark.parametrize(
    ("typed", "best"),
    [
        ("Providence", "4400759000"),
        ("providence, rhode island", "4400759000"),
        ("RI Providence", "4400759000"),
        ("Rhode Island: Providence", "4400759000"),
        ("providence county", "44007"),
        ("Newport", "4400549960"),
        ("Newport RI", "4400549960"),
        ("newport new hampshire", "3351300"),
        ("N. Providence", "4400751760"),
        ("nort", "4400751760"),
        ("Saint Albans", "5001161750"),
        ("st albans vermont", "5001161750"),
        ("Mt. Holly", "5002147200"),
        ("Canon City", "0811810"),
        ("CAÑON", "0811810"),
        ("02903", "02903"),
        ("brown univ", ""),
        ("tract 24", "44007002400"),
    ],
)
def test_the_best_match_comes_first(typed: str, best: str) -> None:
    found = AreaSearch(NAMES).find(typed, 5, near=True)
    assert NAMES[found.rows[0]].code == best
    assert not found.is_guess


@pytest.mark.parametrize(
    ("typed", "best"),
    [
        ("Provdence", "4400759000"),
        ("Porvidence", "4400759000"),
        ("Newprot RI", "4400549960"),
        ("Brown Univercity", ""),
        ("downtown providence", "4400759000"),
        ("town of Newport", "4400549960"),
        ("02999", "02903"),
        ("Providence xyzzy", "4400759000"),
        ("Newport Holly", "4400549960"),
    ],
)
def test_what_is_not_there_is_answered_with_a_guess(typed: str, best: str) -> None:
    index = AreaSearch(NAMES)
    assert index.find(typed, 5).rows == ()
    found = index.find(typed, 5, near=True)
    assert NAMES[found.rows[0]].code == best
    assert found.is_guess


@pytest.mark.parametrize("typed", ["xyzzy", "99999", "qq", "***" * 400, "x " * 400, "Prvdnc"])
def test_nothing_is_found_where_nothing_is_near(typed: str) -> None:
    assert AreaSearch(NAMES).find(typed, 5, near=True).rows == ()


def test_typing_reads_only_the_words_that_begin_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of 5 million has about 20,000 names; a letter may not look at each of them."""
    entries = [Entry(f"Town{number:05d} Tract {number}", str(number), "44") for number in range(20_000)]
    index = AreaSearch(entries)
    seen: list[str] = []

    def counted(text: str) -> tuple[str, ...]:
        seen.append(text)
        return folded_words(text)

    monkeypatch.setattr("mapapp.answers.areas.search.folded_words", counted)
    for typed in ("t", "town0", "town00017", "tonw00017", "zz"):
        index.find(typed, 12, near=True)
    assert len(seen) == 5  # only what was typed is taken apart


def test_drawn_parts_have_names_that_survive_an_address() -> None:
    step = Step("-", Circle(-71.4, 41.8, 0, 0.5), "Brown  Univ. “+&@ -é”\n")
    assert step.label == "Brown Univ. “+&@ -é”"
    assert parse_area(str(step)) == (step,)
    assert " " not in str(step)
    assert area_text(parse_area("circle:-71.4,41.8,0.5@")) == "circle:-71.4,41.8,0.5"
    with pytest.raises(UsageError, match=f"give at most {MAX_LABEL}"):
        parse_area("circle:-71.4,41.8,0.5@" + "x" * (MAX_LABEL + 1))
    with pytest.raises(UsageError, match="a unit has a name of its own"):
        Step("+", Unit("county", "44007"), "Mine")


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


def test_a_landmark_is_a_named_circle(release: Release) -> None:
    landmark = next(area for area in release.areas.search("university", 50) if area.level == "landmark")
    name = landmark.name.partition(" (")[0]
    chosen = release.areas.select(landmark.key)
    assert chosen.name == name
    assert isinstance(chosen.steps[0].part, Circle)
    assert release.areas.find(name) == landmark.key
    assert release.profile(name).about.area == name
    assert release.profile(landmark).about.area_text == landmark.key
    assert area_controls.step_name(release, landmark.key) == (name, "Circle, 0.5 mi")
    asked = ask_in_words(f"who works at {name}, by industry", SentenceNames(release.areas))
    assert (asked.question.areas, asked.unknown) == ((landmark.key,), ())
    assert asked.understood[1].label == f"Workplaces: {name}"


def test_guesses_are_offered_as_such(release: Release) -> None:
    found, is_guess = release.areas.search_or_guess("Tarnwck")
    assert is_guess
    (group,) = area_controls.search_options(found, is_guess=is_guess)
    assert group["group"] == "Did you mean …"
    plain = area_controls.search_options(release.areas.search("Tarnwick"))
    assert plain[0]["group"] == "Place (city or town)"
    assert "Nothing here is called “xyzzy”" in area_controls.nothing_found(release, "xyzzy")


def test_every_way_to_the_city_finds_it_in_commands_and_python(release: Release) -> None:
    for text in (
        "Tarnwick",
        "Tarnwick city",
        "Tarnwick, HO",
        "tarnwick HO",
        "Tarnwick city, HO",
        "TARNWICK",
        "Tarnwick, HO.",
    ):
        assert release.areas.find(text) == "stplc:8101000", text
    with pytest.raises(UsageError, match=r"no area has that name; the nearest names? (is|are) stplc:8101000"):
        release.areas.find("Tarnwck")
