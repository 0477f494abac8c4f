"""Sentences about worker records: attributes and their values are understood by the labels of any schema."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.base.errors import UsageError
from mapapp.question.fields import Side
from mapapp.question.question import Question
from mapapp.question.sentence.asked import Asked, ask_in_words
from mapapp.question.sentence.text import MAX_CHARACTERS
from tests.question.sentence.asked_sentences import CRANSTON, NEWPORT
from tests.question.sentence.known_names import CENSUS, OTHER, attribute, names, names_with

RECORDS, AGENCY, RELEASE = names_with(*CENSUS), names_with(*OTHER), names()
LINCOLN = ("ctycsub:4400741500",)


def asked(sentence: str) -> Asked:
    return ask_in_words(sentence, RECORDS)


def profile(
    *values: str, side: Side = "work", age: tuple[int, ...] = (), earnings: tuple[int, ...] = ()
) -> Question:
    return Question(
        analysis="profile", side=side, areas=NEWPORT, age=age, earnings=earnings, attributes=values
    )


def table(*by: str, side: Side = "work", values: tuple[str, ...] = ()) -> Question:
    return Question(analysis="cross-table", side=side, areas=NEWPORT, by=by, attributes=values)


SENTENCES = {
    "women in Newport": profile("sex:2", side="home"),
    "WOMEN IN NEWPORT": profile("sex:2", side="home"),
    "women who work in Newport": profile("sex:2"),
    "female workers in Newport": profile("sex:2"),
    "workers of Newport except women": profile("sex:1"),
    "workers in Newport who are not women": profile("sex:1"),
    "Newport women": profile("sex:2", side="home"),
    "workers with a bachelor's degree in Newport": profile("education:4"),
    "workers with bachelors degrees in Newport": profile("education:4"),
    "workers in Newport with a college degree": profile("education:4"),
    "college graduates living in Newport": profile("education:4", side="home"),
    "workers with some college in Newport": profile("education:3"),
    "workers in Newport without high school": profile("education:1"),
    "high school graduates working in Newport": profile("education:2"),
    "workers without a bachelor's degree in Newport": profile(
        "education:1", "education:2", "education:3", "education:5"
    ),
    "Hispanic workers living in Newport": profile("ethnicity:2", side="home"),
    "Latinas living in Newport": profile("ethnicity:2", side="home"),
    "non-Hispanic workers in Newport": profile("ethnicity:1"),
    "not Hispanic workers in Newport": profile("ethnicity:1"),
    "Asian or Black women who live in Newport": profile("race:2", "race:3", "sex:2", side="home"),
    "African-American workers in Newport": profile("race:2"),
    "workers of two or more races in Newport": profile("race:4"),
    "women in health care commuting to Newport": profile("naics_sector:6", "sex:2"),
    "healthcare workers in Newport": profile("naics_sector:6"),
    "hospital workers in Newport": profile("naics_sector:6"),
    "retail jobs in Newport": profile("naics_sector:4"),
    "jobs in the manufacturing sector in Newport": profile("naics_sector:2"),
    "restaurant workers in Newport": profile("naics_sector:7"),
    "workers in education in Newport": profile("naics_sector:5"),
    "jobs in schools in Newport": profile("naics_sector:5"),
    "workers in firms with 500 or more employees in Newport": profile("firm_size:3"),
    "women under 30 in Newport": profile("sex:2", side="home", age=(1,)),
    "low-wage women who work in Newport": profile("sex:2", earnings=(1,)),
    "sex: female, works in Newport": profile("sex:2"),
    "wimen in Newport": profile("sex:2", side="home"),
    "bachlor workers in Newport": profile("education:4"),
    "manufact jobs in Newport": profile("naics_sector:2"),
    "sex by education in Newport": table("sex", "education"),
    "workers in Newport by sex and education": table("sex", "education"),
    "by gender, race and education in Newport": table("sex", "race", "education"),
    "education of residents of Newport": table("education", side="home"),
    "sex by age in Newport": table("sex", "age"),
    "residents of Newport by race and earnings": table("race", "earnings", side="home"),
    "educational attainment of women who work in Newport": table("education", values=("sex:2",)),
    "jobs in Newport by industry": table("naics_sector"),
    "jobs in Newport by industry and sex": table("naics_sector", "sex"),
    "men and women in Newport": table("sex", side="home"),
    "which industry in Newport has the youngest workers": table("naics_sector", "age"),
    "cross table of age and earnings in Newport": table("age", "earnings"),
    "do women in Newport commute farther than men?": table("sex", "distance_band", side="home"),
    "do residents of Newport with a college degree commute farther": table(
        "education", "distance_band", side="home"
    ),
    "How many women work in Newport and where do they live?": Question(
        analysis="destinations", areas=NEWPORT, attributes=("sex:2",)
    ),
    "where do Newport women work": Question(
        analysis="destinations", side="home", areas=NEWPORT, attributes=("sex:2",)
    ),
    "how far do women from Newport commute": Question(
        analysis="distance-direction", side="home", areas=NEWPORT, attributes=("sex:2",)
    ),
    "women from Cranston to Newport": Question(
        analysis="paired", side="home", areas=CRANSTON, others=NEWPORT, attributes=("sex:2",)
    ),
    "inflow of women to Newport": Question(analysis="inflow-outflow", areas=NEWPORT, attributes=("sex:2",)),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_about_workers_is_understood_with_every_word(sentence: str) -> None:
    found = asked(sentence)
    assert found.question == SENTENCES[sentence]
    assert not found.unknown


AGENCY_SENTENCES = {
    "women in Newport": ("gender:2",),
    "workers of Newport who are not women": ("gender:1", "gender:3"),
    "workers with a college degree in Newport": ("schooling:3",),
    "workers with a doctorate in Newport": ("schooling:4",),
    "union member no in Newport": ("union:2",),
    "Newport workers, union member: yes": ("union:1",),
    "night shift workers in Newport": ("contract:1",),
    "night guards in Newport": ("contract:3",),
    "plant is work, in Newport": ("plant:3",),
}


@pytest.mark.parametrize("sentence", AGENCY_SENTENCES)
def test_the_labels_of_any_schema_are_understood(sentence: str) -> None:
    found = ask_in_words(sentence, AGENCY)
    assert found.question.attributes == AGENCY_SENTENCES[sentence]
    assert found.question.areas == NEWPORT
    assert not found.unknown


def test_what_was_understood_names_attribute_and_value() -> None:
    found = asked("Asian women who live in Newport by education")
    assert [each.label for each in found.understood] == [
        "Cross table",
        "Homes: Newport city, RI",
        "Race: Asian alone",
        "Sex: Female",
        "Table by Education",
    ]


@pytest.mark.parametrize(
    ("sentence", "note"),
    [
        ("wimen in Newport", "“wimen” is taken as Sex: Female."),
        (
            "bachlor workers in Newport",
            "“bachlor” is taken as Education: Bachelor's degree or advanced degree.",
        ),
        (
            "Pacific Islanders and native americans in Newport",
            "“native americans” is not one of the values of Race, which are: White alone; Black or African American "
            "alone; Asian alone; Two or more races.",
        ),
        (
            "nurses in Newport",
            "Occupations are not in these records; ask by age, earnings, sex, race, ethnicity, education, industry "
            "(NAICS sector), firm size, or distance from home to work.",
        ),
    ],
)
def test_what_is_assumed_or_missing_is_said(sentence: str, note: str) -> None:
    assert note in asked(sentence).notes


@pytest.mark.parametrize(
    "sentence",
    [
        "women in Newport",
        "workers with a college degree in Newport",
        "Asian workers in Newport",
        "by sex in Newport",
    ],
)
def test_a_release_without_the_attribute_names_what_it_has_in_one_sentence(sentence: str) -> None:
    (note,) = ask_in_words(sentence, RELEASE).notes
    assert note.endswith("in this release; ask by age, earnings, or industry.")
    assert ask_in_words(sentence, RELEASE).question.areas == NEWPORT


def test_of_attributes_with_one_name_the_one_that_is_taken_is_named() -> None:
    said = asked("sex by industry in Newport")
    assert said.question.by == ("sex", "naics_sector")
    [note] = said.notes
    assert note.startswith("“industry” is taken as Industry (NAICS sector), which has the most values (")
    assert note.endswith("it could also be Industry (3 values).")
    assert asked("sex by education in Newport").notes == ()


def test_several_values_with_one_name_are_all_included() -> None:
    found = ask_in_words("night workers in Newport", AGENCY)
    assert found.question.attributes == ("contract:1", "contract:3")
    assert found.notes == ("“night” could be Night shift and Night guard; both are included.",)


@pytest.mark.parametrize(
    ("sentence", "areas", "values", "note"),
    [
        ("workers in Lincoln", LINCOLN, (), "“Lincoln” could also be Plant: Lincoln; the area is used."),
        ("jobs in lincoln", LINCOLN, (), "the area is used."),
        ("Lincoln workers in Newport", NEWPORT, ("plant:1",), "write “in Lincoln” for the area."),
        ("plant: Lincoln, Newport", NEWPORT, ("plant:1",), ""),
        ("from Lincoln to Newport", LINCOLN, (), "the area is used."),
        ("Coventry works workers in Newport", NEWPORT, ("plant:2",), ""),
    ],
)
def test_behind_a_preposition_a_name_is_an_area_and_elsewhere_a_value(
    sentence: str, areas: tuple[str, ...], values: tuple[str, ...], note: str
) -> None:
    found = ask_in_words(sentence, AGENCY)
    assert (found.question.areas, found.question.attributes) == (areas, values)
    assert note in " ".join(found.notes)


def test_a_label_does_not_take_the_words_of_the_grammar() -> None:
    hostile = names_with(
        attribute("odd", "In", "Work", "workers", "Where", "by", "live", "Newport", "all", "the")
    )
    for sentence in (
        "where do workers of Newport live",
        "who works in Newport",
        "residents of Newport by county",
    ):
        assert ask_in_words(sentence, hostile).question == ask_in_words(sentence, RELEASE).question


def test_this_town_is_the_chosen_area() -> None:
    found = ask_in_words("which industry in this town has the youngest workers?", RECORDS, NEWPORT)
    assert found.question == table("naics_sector", "age")
    assert ask_in_words("women in this town", RECORDS).question.areas == ()


def test_words_on_workers_without_an_area_are_about_the_chosen_one() -> None:
    found = ask_in_words("women", RECORDS, NEWPORT)
    assert found.question == profile("sex:2", side="home")
    assert found.understood[1].label == "Homes: the chosen area"
    assert ask_in_words("sex by education", RECORDS, NEWPORT).question == table("sex", "education")
    assert ask_in_words("women everywhere", RECORDS, NEWPORT).question.areas == ()
    assert ask_in_words("how far do people commute", RECORDS, NEWPORT).question.areas == ()


@pytest.mark.parametrize("sentence", ["women " * 60, "<b>women</b>" * 40])
def test_a_long_sentence_is_refused(sentence: str) -> None:
    with pytest.raises(UsageError, match=f"at most {MAX_CHARACTERS}"):
        asked(sentence)


def test_markup_is_words() -> None:
    found = ask_in_words("<b>alert</b> workers in Newport", AGENCY)
    assert found.question.attributes == ("plant:4",)
    assert asked("women <script>x</script> in Newport").question.attributes == ("sex:2",)


WORDS = tuple(
    word
    for words in (
        "women men Hispanic non not without a college degree bachelor's some high school Asian two or more races in",
        "Newport workers residents by sex education and , health care retail industry which youngest commute farther",
        "Lincoln plant : yes no union member 500 employees firms with except this town here night cross table of",
    )
    for word in words.split()
)


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join) | st.text(max_size=60))
def test_any_text_is_a_question_of_the_publication_or_refused_in_one_line(text: str) -> None:
    for known, attributes in ((RECORDS, CENSUS), (AGENCY, OTHER)):
        with contextlib.suppress(UsageError):
            found = ask_in_words(text, known, NEWPORT)
            codes = {f"{each.name}:{code}" for each in attributes for code in each.codes}
            assert codes.issuperset(found.question.attributes)
            assert {each.name for each in attributes} | {"age", "earnings", "industry"} >= set(
                found.question.by
            )


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=6, unique=True), st.text(max_size=20))
def test_any_labels_can_be_indexed_and_found(labels: list[str], title: str) -> None:
    known = names_with(attribute("any", title, *labels))
    for label in labels:
        found = ask_in_words(f"any {label} workers in Newport"[:MAX_CHARACTERS], known)
        assert all(code.startswith("any:") for code in found.question.attributes)
