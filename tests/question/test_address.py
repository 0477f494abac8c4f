"""An address restores its view, and no address can do harm."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapapp.question.address import MAX_QUERY_LENGTH, Address, edges_of, from_query, to_query
from mapapp.question.analyses import ANALYSES, Show
from mapapp.question.area_text import parse_area
from mapapp.question.cost import MAX_DRAWN_PARTS, MAX_PARTS, MAX_VERTICES, Cost, cost_of
from mapapp.question.fields import Side, ThemeChoice
from mapapp.question.question import Question
from tests.addresses import address_of, shown

RELEASES = ("ri-2019", "ri-2020")
AREAS = tuple(
    f"{level}:{code}"
    for level in ("tract", "county", "stplc")
    for code in ("44007", "44:07", "a b&c=d", "naïve")
)
STEPS = (*AREAS, "-tract:44007", "&circle:-71.41279,41.82399,5", "shape:abc.d~e_f-g")
LAYERS = ("tract", "county", "stplc")


def bands() -> Any:
    return st.sets(st.integers(1, 3), max_size=2).map(lambda kept: tuple(sorted(kept)))


def read(query: str | None) -> tuple[Address, tuple[str, ...]]:
    return from_query(
        query,
        releases=RELEASES,
        is_area=lambda release, area: area in STEPS,
        is_layer=lambda release, layer: layer in LAYERS,
    )


STATES = st.builds(
    address_of,
    release=st.sampled_from(("", *RELEASES)),
    side=st.sampled_from(get_args(Side)),
    against=st.sampled_from(("", *RELEASES)),
    analysis=st.sampled_from(tuple(ANALYSES)),
    areas=st.lists(st.sampled_from(STEPS), unique=True).map(tuple),
    others=st.lists(st.sampled_from(STEPS), unique=True).map(tuple),
    show=st.sampled_from(get_args(Show)),
    layer=st.sampled_from(LAYERS),
    home_layer=st.sampled_from(LAYERS),
    work_layer=st.sampled_from(LAYERS),
    edges=st.sets(st.sampled_from((0.25, 1.0, 10.0, 25.0, 500.0))).map(lambda edges: tuple(sorted(edges))),
    every=st.booleans(),
    theme=st.sampled_from(get_args(ThemeChoice)),
    embed=st.booleans(),
    age=bands(),
    earnings=bands(),
    industry=bands(),
)


@given(STATES)
def test_an_address_restores_its_view(state: Address) -> None:
    assert read(to_query(state)) == (state, ())


@given(STATES)
def test_the_same_area_at_both_ends_is_written_once(state: Address) -> None:
    both = state.having(others=state.question.areas)
    text = to_query(both)
    assert read(text) == (both, ())
    assert ("other=same" in text) == bool(state.question.areas)
    assert text.count("area=") == len(state.question.areas)


def test_the_default_view_has_an_empty_query() -> None:
    assert to_query(Address()) == ""
    assert read("") == read(None) == read("?") == (Address(), ())


def test_an_address_is_readable() -> None:
    state = address_of(side="home", areas=("tract:44007000100", "county:44007"), age=(1, 3))
    assert to_query(state) == "?side=home&area=tract:44007000100&area=county:44007&age=1,3"


@given(st.text())
def test_any_text_gives_a_valid_view(text: str) -> None:
    state, notes = read(text)
    assert read(to_query(state)) == (state, ())
    assert all(len(note) < 200 and note.isprintable() for note in notes)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["side", "area", "other", "show", "rows", "layer", "edges", "every", "age", "release", "x"]
            ),
            st.text(),
        )
    )
)
def test_every_value_is_used_or_noted(pairs: list[tuple[str, str]]) -> None:
    from urllib.parse import urlencode

    state, notes = read("?" + urlencode(pairs))
    assert set(state.question.areas) <= set(STEPS)
    if any(name == "area" and value not in STEPS for name, value in pairs):
        assert notes


def test_every_refused_part_is_named() -> None:
    _, notes = read("?side=up&area=tract:0&show=gold&age=4&evil=1&release=../etc")
    text = " ".join(notes)
    assert len(notes) == 6
    assert all(part in text for part in ("up", "tract:0", "gold", "4", "evil", "../etc"))


def test_a_long_address_is_ignored() -> None:
    assert read("?" + "area=x&" * (MAX_QUERY_LENGTH // 7 + 1))[0] == Address()


def test_the_corners_of_a_line_are_counted_however_it_is_written() -> None:
    typed = "line:-71.4,41.8,-71.3,41.5,-71.2,41.4,0.5"
    (step,) = parse_area(typed)
    assert cost_of([typed]) == cost_of([str(step)]) == Cost(n_steps=1, n_drawn=1, n_vertices=3)


@pytest.mark.parametrize(
    ("areas", "others", "said"),
    [
        ([f"tract:{i}" for i in range(MAX_PARTS)], ["tract:x"], "201 parts in its areas"),
        ([f"circle:0,{i},1" for i in range(MAX_DRAWN_PARTS)], ["-box:0,0,1,1"], "21 drawn parts"),
        (["shape:" + "A" * (2 * MAX_VERTICES)], ["shape:AAAAAA"], "5,003 corners"),
        ([f"near:county:{i},1" for i in range(MAX_DRAWN_PARTS)], ["-line:AACC,1"], "21 drawn parts"),
        (["line:" + "A" * (2 * MAX_VERTICES) + ",1"], ["-near:shape:AAAAAA,1"], "5,003 corners"),
    ],
)
def test_a_question_that_costs_too_much_is_refused_before_its_areas_are_parsed(
    areas: list[str], others: list[str], said: str
) -> None:
    looked_at: list[str] = []

    def ask(areas: list[str], others: list[str]) -> tuple[Address, tuple[str, ...]]:
        query = "&".join([*(f"area={one}" for one in areas), *(f"other={one}" for one in others)])
        return from_query(
            "?analysis=paired&" + query,
            releases=(),
            is_area=lambda _, area: bool(looked_at.append(area)) or True,  # type: ignore[func-returns-value]  # append, in a lambda
            is_layer=lambda *_: True,
        )

    state, notes = ask(areas, others)
    assert state == address_of(analysis="paired")
    assert looked_at == []
    assert len(notes) == 1
    assert said in notes[0]
    assert "accepts at most" in notes[0]
    state, notes = ask(areas, [])
    assert state.question.areas == tuple(areas)
    assert notes == ()


def test_all_three_bands_mean_no_filter() -> None:
    assert read("?age=3,1,2")[0] == Address()


@pytest.mark.parametrize(
    "text", ["a", "5,5", "10,5", "0,5", "-1", "nan", "inf", "1e9", ",".join(map(str, range(1, 22)))]
)
def test_invalid_distance_bands_are_refused(text: str) -> None:
    assert edges_of(text) is None
    assert read(f"?edges={text}")[1]


def test_distance_bands_are_read_as_people_type_them() -> None:
    assert edges_of(" 5, 10;25 ") == (5.0, 10.0, 25.0)
    assert edges_of("") == ()


def test_an_analysis_is_drawn_only_in_its_own_ways() -> None:
    for fields, way in (
        ({"analysis": "comparison"}, "areas"),
        ({"analysis": "profile", "show": "lines"}, "points"),
        ({"show": "lines"}, "lines"),
    ):
        question, view = shown(**fields)
        assert view.show_of(question) == way


def test_the_shown_end_is_the_other_one_once_an_area_is_chosen() -> None:
    assert Question().shown_end == "work"
    assert Question(areas=("a",)).shown_end == "home"
    assert Question(areas=("a",), side="home").shown_end == "work"
    assert Question(areas=("a",), analysis="profile").shown_end == "work"
