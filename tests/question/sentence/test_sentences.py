"""Sentences ask what a reader would expect, and every word that was not understood is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES
from mapapp.question.area_text import parse_area
from mapapp.question.fields import Values
from mapapp.question.question import Question
from mapapp.question.sentence.asked import Asked, ask_in_words
from mapapp.question.sentence.text import MAX_CHARACTERS, sentence_of
from tests.question.sentence.asked_sentences import (
    BY_ITS_AUTHOR,
    CRANSTON,
    KENT,
    NEWPORT,
    PROVIDENCE,
    TOWNS,
    WARWICK,
    classes,
    pair,
)
from tests.question.sentence.known_names import names, names_with_counts, names_with_landmarks

NAMES, LANDMARKS, COUNTED = names(), names_with_landmarks(), names_with_counts()
PLANNERS = Path(__file__).with_name("planners_sentences.json")
"""Sentences by a planner who had not seen the grammar, and the questions that they ask."""
LATER = Path(__file__).with_name("second_planners_sentences.json")
"""Sentences written for a second measurement, before their author read the grammar; some name landmarks."""


def of_a_planner(asked: Values) -> Question:
    values: Values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()
    }
    if ANALYSES[asked["analysis"]].n_areas == 2:
        values["side"] = "home"
    return Question(**values)


def sentences_in(path: Path) -> dict[str, Question]:
    return {each.pop("sentence"): of_a_planner(each) for each in json.loads(path.read_text(encoding="utf-8"))}


SENTENCES = BY_ITS_AUTHOR | sentences_in(PLANNERS)
LATER_SENTENCES = sentences_in(LATER)


def asked(sentence: str) -> Asked:
    return ask_in_words(sentence, NAMES)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_asks_its_question_and_every_word_is_understood(sentence: str) -> None:
    found = asked(sentence)
    assert found.question == SENTENCES[sentence]
    assert not found.unknown


OF_CLASSES = {
    "share of jobs in health care in Providence by tract": classes("CNS16", PROVIDENCE, layer="tract"),
    "percent of workers who are women in Kent County by town": classes("CS02", KENT, **TOWNS),
    "What percentage of residents who are Hispanic live in Newport?": classes("CT02", NEWPORT, "home"),
    "share of manufacturing jobs by county": classes("CNS05", layer="county"),
    "Share of residents with a bachelor's degree, by tract": classes("CD04", (), "home", layer="tract"),
    "share of jobs in retail held by people living in Cranston": classes("CNS07", CRANSTON, "home"),
    "jobs in Warwick by NAICS sector": classes("CNS16", WARWICK),
    "Who lives in Cranston and works in Warwick?": pair(CRANSTON, WARWICK),
}
"""Sentences about a publication with published counts."""


@pytest.mark.parametrize("sentence", OF_CLASSES)
def test_a_share_of_jobs_asks_for_published_counts_where_they_are(sentence: str) -> None:
    found = ask_in_words(sentence, COUNTED)
    assert found.question == OF_CLASSES[sentence]
    assert not found.unknown
    assert asked(sentence).question.analysis != "characteristics"


@pytest.mark.parametrize("sentence", SENTENCES)
def test_other_sentences_mean_the_same_where_published_counts_are(sentence: str) -> None:
    assert ask_in_words(sentence, COUNTED).question == SENTENCES[sentence]


@pytest.mark.parametrize("sentence", LATER_SENTENCES)
def test_a_sentence_may_name_landmarks(sentence: str) -> None:
    found = ask_in_words(sentence, LANDMARKS)
    assert found.question == LATER_SENTENCES[sentence]
    assert not found.unknown


def labels(sentence: str) -> list[str]:
    return [each.label for each in asked(sentence).understood]


def test_what_was_understood_is_said_in_words() -> None:
    assert labels("Where do low-wage workers of Newport live, by town?") == [
        "Destinations",
        "Workplaces: Newport city, RI",
        "Earnings: $1,250 a month or less",
        "Counted by town (county subdivision)",
    ]
    assert labels("Cranston to Warwick in 2019 compared with 2018 at 5 and 10 miles")[-2:] == [
        "Year: 2019",
        "Compared with 2018",
    ]


def test_years_are_understood() -> None:
    found = asked("inflow of Newport in 2019 compared with 2018")
    assert (found.year, found.against_year) == (2019, 2018)
    assert asked("change of jobs in Newport from 2015 to 2019").against_year == 2015


def test_a_way_to_draw_is_understood_or_refused() -> None:
    assert asked("Where do workers of Newport live as flow lines").show == "lines"
    found = asked("inflow and outflow of Newport as a heat map")
    assert found.show is None
    assert found.notes == ("Inflow and outflow cannot be drawn as density; the usual map is shown.",)


@pytest.mark.parametrize(
    ("sentence", "note"),
    [
        ("Who works in Newport by race?", "Race and ethnicity are not in this release"),
        ("women working in Newport", "Sex is not in this release"),
        ("workers of Newport who bike to work", "How people travel is not in this release"),
        ("how many minutes do workers of Newport commute", "Travel times are not in this release"),
        ("nurses in Newport", "Occupations are not in this release"),
        ("workers of Newport who work from home", "Work from home is not in this release"),
        ("manufacturing jobs in Newport", "Manufacturing is not counted by itself"),
        ("workers of Newport over 60", "“over 60” is shown as 55 or older"),
        ("jobs near Newport", "“near” is taken as within 1 mile"),
        ("where do students of Newport live", "Students are not counted apart"),
        ("student workers in Newport", "Ask about workers 29 or younger"),
        ("jobs near student housing in Newport", "The distance has no place to start from"),
        ("top employers in Newport", "Employers are not in this release"),
        ("wokers of Newport", "“wokers” is taken as workers."),
        (
            "where do people of Block Island work",
            "No area here is called “Block Island”, so the whole release",
        ),
        (
            "where do people of East work",
            "names with these words are East Providence city, RI; East Greenwich",
        ),
        ("jobs near student housing", "Kinds of housing are not in this release"),
        ("jobs near student housing", "The distance has no place to start from"),
        ("downtown Newport", "“Downtown” is not an area of this release; all of Newport city, RI is used"),
        ("Bristol", "“Bristol” could also be"),
        ("Newprt workers", "“Newprt” is taken as Newport city, RI"),
        ("jobs within 5 miles of", "The distance has no place to start from"),
        ("jobs within 500 miles of Newport", "500"),
        ("jobs within 1, 2, and 5 miles of Newport", "Name one distance"),  # 1 and 2 were block groups
        ("jobs within 1 mile or 2 miles of Newport", "Name one distance"),
    ],
)
def test_what_is_assumed_or_missing_is_said(sentence: str, note: str) -> None:
    assert note in " ".join(asked(sentence).notes)


def test_unknown_words_are_named_and_the_rest_is_answered() -> None:
    found = asked("frobnicated workers of Newport")
    assert found.unknown == ("frobnicated",)
    assert found.question.areas == NEWPORT


def test_an_unknown_name_is_not_taken_for_an_industry_or_for_part_of_another_name() -> None:
    assert asked("people who live near Brown University").unknown == ("Brown University",)
    assert "stplc:4474300" not in asked("jobs at T.F. Warick Airport").question.areas
    assert asked("jobs in Warick").question.areas == WARWICK


BROWN = "circle:-71.402,41.826,0.5"


@pytest.mark.parametrize(
    ("sentence", "area"),
    [
        ("who works at Brown University, by industry", BROWN),
        ("who works within a mile of Brown University, by industry", "circle:-71.402,41.826,1"),
        ("jobs within half a mile of brown univ", "circle:-71.402,41.826,0.5"),
        ("jobs near Brown Univercity", "circle:-71.402,41.826,1"),
        ("workers of Johnson and Wales University", "circle:-71.415,41.82,0.5"),
        ("workers of Johnson & Wales University, RI", "circle:-71.415,41.82,0.5"),
        ("where do workers of downtown Providence live", "circle:-71.412,41.824,0.5"),
        ("where do workers of downtown Newport live", "stplc:4449960"),
        ("jobs in N. Kingstown", "ctycsub:4400951580"),
    ],
)
def test_a_landmark_is_a_place_of_a_sentence(sentence: str, area: str) -> None:
    found = ask_in_words(sentence, LANDMARKS)
    assert not found.unknown
    assert [step.partition("@")[0] for step in found.question.areas] == [area]


def test_a_landmark_with_a_distance_keeps_its_name() -> None:
    (area,) = ask_in_words("jobs within 2 miles of Brown University", LANDMARKS).question.areas
    assert [step.label for step in parse_area(area)] == ["the area within 2 miles of Brown University"]


@pytest.mark.parametrize(
    ("sentence", "areas"),
    [
        ("workers of Bristol, CT", ("stplc:0908420",)),
        ("workers of Salem, OR", ("stplc:4164900",)),
        ("workers of Salem OR, by town", ("stplc:4164900",)),
        ("workers of Salem, or", ("stplc:4164900",)),
        ("workers of Salem or Newport", ("stplc:2559105", "stplc:4449960")),
        ("who lives in Salem in 2019", ("stplc:2559105",)),
        ("WORKERS OF SALEM OR NEWPORT", ("stplc:2559105", "stplc:4449960")),
        ("jobs in OR", ()),
    ],
)
def test_a_state_code_that_is_also_a_word_counts_only_behind_a_place(
    sentence: str, areas: tuple[str, ...]
) -> None:
    assert asked(sentence).question.areas == areas


def test_people_who_ask_are_not_the_people_asked_about() -> None:
    assert not asked("My students ask where workers of Newport live").notes
    assert asked("jobs in Newport for students").question.areas == NEWPORT


@pytest.mark.parametrize(
    ("sentence", "areas", "side"),
    [
        ("workers in Newport in ZIP 02840", ("stplc:4449960", "&zcta:02840"), "work"),
        ("jobs in Newport in Rhode Island", ("stplc:4449960",), "work"),
        ("jobs within a mile of Brown University in Providence", ("circle:-71.402,41.826,1",), "work"),
        ("jobs in Newport in retail in Warwick", ("stplc:4449960", "stplc:4474300"), "work"),
        ("residents of Newport and in Warwick", ("stplc:4449960", "stplc:4474300"), "home"),
        ("jobs held by Newport residents", ("stplc:4449960",), "home"),
        ("which industries do people in Newport work in", ("stplc:4449960",), "home"),
        ("Warwick commute shed", ("stplc:4474300",), "home"),
        ("Warwick labor shed", ("stplc:4474300",), "work"),
        ("jobs near student housing in Newport", ("stplc:4449960",), "work"),
        ("student employees at Brown University", ("circle:-71.402,41.826,0.5",), "work"),
        ("average distance to work for Newport residents", ("stplc:4449960",), "home"),
        ("towns that lose many workers to Warwick", ("stplc:4474300",), "work"),
    ],
)
def test_words_around_a_place_say_its_side_and_what_it_is_in(
    sentence: str, areas: tuple[str, ...], side: str
) -> None:
    found = ask_in_words(sentence, LANDMARKS)
    assert tuple(step.partition("@")[0] for step in found.question.areas) == areas
    assert found.question.side == side
    assert not found.unknown


@pytest.mark.parametrize("sentence", ["flobber the wug", "of the, and", "42", "please show me the table"])
def test_a_sentence_without_content_asks_nothing(sentence: str) -> None:
    assert asked(sentence).is_empty


@pytest.mark.parametrize("sentence", ["", "  ", "?!", "x" * (MAX_CHARACTERS + 1)])
def test_an_empty_or_long_sentence_is_refused(sentence: str) -> None:
    with pytest.raises(UsageError):
        asked(sentence)


def test_words_keep_their_place_in_the_text() -> None:
    sentence = sentence_of("Newport’s workers earn $1,250 — or  less")
    assert [sentence.said(each, each + 1) for each in range(len(sentence.words))] == [
        "Newport",
        "workers",
        "earn",
        "$",
        "1,250",
        "or",
        "less",
    ]


WORDS = tuple(
    word
    for words in (
        "where do does workers residents of live work Newport Warwick Kent County Rhode Island from to between and",
        "except by town county within 2 miles near over 55 under $ 1,250 a month 41.8 , -71.4 2019 compared with",
        "industry how far inflow matrix tract 8 downtown Bristl q ( ) - % ' ring there",
    )
    for word in words.split()
)


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=60))
def test_any_text_is_a_question_or_refused_in_one_line(text: str) -> None:
    try:
        found = asked(text)
    except UsageError as error:
        found = Asked(notes=(str(error),))
    assert isinstance(found.question, Question)
    assert all("\n" not in each for each in (*found.notes, *found.unknown))
