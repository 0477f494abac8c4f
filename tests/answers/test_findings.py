"""The sentences that an answer begins with: true to the twin's counts, and in order only as far as errors allow."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commutemap import Filters, Release, Result, change, open_release
from mapapp.answers.analyses.results import Destinations, InflowOutflow
from mapapp.answers.findings.findings import findings
from mapapp.answers.findings.words import (
    Ranked,
    amount_of,
    first_spoken,
    is_tied,
    ranking,
    rounded_error,
    share_text,
    spoken_names,
    where_of,
)
from tests.oracles import analyses as twin

COUNTIES = ("county:10001", "county:10003", "all", "county:10001 +county:10003")
WRONG = re.compile(
    r"\b(about|exactly) 1 (people|jobs|workers)\b|\b1 (people|jobs)\b|±0(?![.\d])|\b(no|exactly 0|about 0) people\b|"
    r"\bnan\b|None(?! of the)|\bin in\b|  | [,.;]|\{|\}|[.,;][.,;]"
)


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return open_release(demo_release)


@pytest.fixture(scope="module")
def workers(release: Release) -> Any:
    return twin.workers_of(release.store)


def largest(release: Release, level: str, n: int) -> list[str]:
    """Areas of a layer, the n with the most jobs, as texts."""
    rows = release.comparison("all", layer=level).units
    return [f"{level}:{unit_id}" for unit_id in rows.loc[rows["kind"] == "unit", "unit_id"].head(n)]


def every_answer(release: Release) -> list[Result]:
    """Answers of all analyses on large, small and empty areas and groups."""
    (county, other), blocks = largest(release, "county", 2), largest(release, "block", 60)
    place = largest(release, "stplc", 1)[0]
    areas = (county, place, blocks[0], blocks[-1], f"{county} +{other}", f"{county} -{place}", "all")
    nobody = Filters(age=(1,), earnings=(1,), industry=(1,))
    found: list[Result] = []
    for area in areas:
        for kept in (Filters(), nobody):
            found += [release.inflow_outflow(area, kept), release.paired(area, other, kept)]
            found += [release.job_balance(area, kept, layer="tract")]
            for side in ("work", "home"):
                found += [release.profile(area, kept, side=side)]
                found += [release.destinations(area, kept, side=side, layer="county")]
                found += [release.comparison(area, kept, side=side, layer="tract")]
                found += [release.distance_direction(area, kept, side=side)]
    matrices = [release.flow_matrix("county", "tract"), release.flow_matrix("tract", "county", nobody)]
    return [*found, *matrices, release.flow_matrix("stplc", "county", home_area=county)]


def test_every_answer_begins_with_sentences_that_read_well(release: Release) -> None:
    answers = every_answer(release)
    answers += [release.with_errors(answer, 12) for answer in answers[::3]]
    for answer in answers:
        sentences = findings(answer)
        assert 1 <= len(sentences) <= 3
        for sentence in sentences:
            assert sentence.endswith("."), sentence
            assert sentence[0] == sentence[0].upper(), sentence
            assert not WRONG.search(sentence), sentence


@pytest.mark.parametrize(
    ("job_type", "jobs"), [("JT01", "primary job"), ("JT02", "private job"), ("JT05", "primary federal job")]
)
def test_sentences_on_some_jobs_count_jobs_and_not_people(
    release: Release, tmp_path: Path, job_type: str, jobs: str
) -> None:
    """Private jobs that are called people, of whom one with two jobs counts twice; or a title that says all jobs."""
    path = Path(shutil.copytree(release.store.path, tmp_path / "r"))
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    (path / "manifest.json").write_text(json.dumps(manifest | {"job_type": job_type}))
    some = open_release(path)
    assert some.title == f"{release.title}, {jobs}s"
    answers = every_answer(some)
    answers += [some.with_errors(answer, 12) for answer in answers[::5]]
    for answer in answers:
        sentences = findings(answer)
        assert jobs in sentences[0] or re.match("No one|There are", sentences[0]), sentences
        for sentence in sentences:
            assert not WRONG.search(sentence), sentence
            assert not re.search(r"\d people\b", sentence), sentence
    answer = some.inflow_outflow(largest(some, "county", 1)[0])
    risen = dataclasses.replace(
        answer, outflow=dataclasses.replace(answer.outflow, value=answer.outflow.value + 9)
    )
    assert f"counts 9 more {jobs}s held by people who" in findings(change(answer, risen))[0]


@pytest.mark.parametrize("of", ["destinations", "inflow_outflow", "profile", "paired", "flow_matrix"])
def test_a_comparison_says_how_far_two_releases_differ(release: Release, of: str) -> None:
    area = largest(release, "county", 1)[0]
    arguments = {"paired": (area, area), "flow_matrix": ("county", "county")}.get(of, (area,))
    answer = release.with_errors(getattr(release, of)(*arguments))
    for sentence in findings(change(answer, answer)):
        assert sentence.endswith("."), sentence
        assert not WRONG.search(sentence), sentence


def rounds_to(said: str, count: int, error: float) -> bool:
    """Whether a number in a sentence is a count, within its expected error."""
    return abs(int(said.replace(",", "")) - count) <= max(error, 0)


def test_destinations_say_the_numbers_of_the_twin(release: Release, workers: Any) -> None:
    area = largest(release, "county", 1)[0]
    unit_id = area.partition(":")[2]
    answer = release.with_errors(release.destinations(area, layer="county"), 12)
    assert isinstance(answer, Destinations)
    here = workers[workers["work_county_id"] == unit_id]
    names = dict(zip(answer.units["unit_id"], answer.units["name"], strict=True))
    units = here[~here["home_elsewhere"]]
    counts = Counter(units["home_county_id"])
    own = counts.pop(unit_id)
    first, second, *_ = findings(answer)
    error = float(answer.units.loc[answer.units["unit_id"] == unit_id, "expected_error"].iloc[0])
    all_here, others = re.findall(r"[\d,]*\d", first)[:2]
    assert rounds_to(all_here, len(here), 0)
    assert rounds_to(others, len(here) - own, error)
    listed = [names[each] for each, _ in counts.most_common(3)]
    said = [second.index(spoken) for spoken in spoken_names(listed)]
    assert said == sorted(said)


def test_inflow_and_outflow_say_the_numbers_of_the_twin(release: Release, workers: Any) -> None:
    area = largest(release, "county", 1)[0]
    unit_id = area.partition(":")[2]
    answer = release.inflow_outflow(area)
    assert isinstance(answer, InflowOutflow)
    works, lives = (workers[f"{end}_county_id"] == unit_id for end in ("work", "home"))
    counts = [int(kept.sum()) for kept in (works & ~lives, lives & ~works, lives & works)]
    plain = " ".join(findings(answer)[:2])
    assert [int(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", plain)] == counts
    known = release.with_errors(answer)
    assert isinstance(known, InflowOutflow)
    said = re.findall(r"(?<!±)\b[\d,]*\d", " ".join(findings(known)[:2]))
    errors = [number.expected_error or 0.0 for number in (known.inflow, known.outflow, known.stay)]
    for text, count, error in zip(said, counts, errors, strict=True):
        assert rounds_to(text, count, error)


COUNTS = st.integers(0, 3_000_000)
ERRORS = st.one_of(st.none(), st.just(0.0), st.floats(1e-3, 1e5))


@given(COUNTS, ERRORS)
@example(1, 0.0)
@example(1, 40.0)
@example(2, 900.0)
@example(0, 3.0)
def test_an_amount_is_rounded_by_no_more_than_its_error(count: int, error: float | None) -> None:
    said = amount_of(count, error)
    assert abs(said.shown - count) <= (error or 0)
    assert (said.shown > 0) == (count > 0)
    assert ("about" in said.text) == bool(error and count)
    assert said.error == (f", ±{rounded_error(error)}" if error else "")
    assert (said.s == "s") == (said.shown <= 1)
    assert not WRONG.search(f"{said.people} work{said.s} here{said.error}")
    if error:
        assert 0.5 * error < int(rounded_error(error).replace(",", "")) <= max(1.5 * error, 1)


@example(1000, 4, 0.0)
@example(1000, 4, 900.0)
@example(4, 1000, 900.0)
@given(st.integers(1, 1000), st.integers(0, 100_000), st.floats(0, 1000))
def test_a_share_never_says_nothing_of_something_or_all_of_a_part(part: int, rest: int, error: float) -> None:
    text = share_text(part, part + rest, error)
    if not text.startswith(("less", "more")):
        table = 100 * part / (part + rest)
        assert abs(int(text.removeprefix("about ").removesuffix("%")) - table) <= 0.5, (
            "tables have the same share"
        )
        assert text.startswith("about") == (100 * error / (part + rest) >= 2.5)
    assert text.removeprefix("about ") != "0%"
    assert text.removeprefix("about ") != "100%" or not rest


ROWS = st.lists(st.tuples(st.integers(0, 400), ERRORS), min_size=2, max_size=9)


@given(ROWS)
@settings(deadline=None)
def test_ranks_differ_only_beyond_twice_the_combined_error(counts: list[tuple[int, float | None]]) -> None:
    known = [(count, error) for count, error in sorted(counts, key=lambda one: -one[0])]
    rows = [Ranked(f"Town{place}", count, error) for place, (count, error) in enumerate(known)]
    text = ranking(rows, sum(count for count, _ in known), "the largest origins")
    n_named = min(3, sum(row.workers > 0 for row in rows))
    if n_named < 2:
        assert text == ""
        return
    assert not WRONG.search(text), text
    head, _, ties = text.partition(" are the largest origins")
    assert [int(place) for place in re.findall(r"Town(\d)", head)] == list(range(n_named))
    for one, other in pairwise(rows[: n_named + 1]):
        if one.error is None or other.error is None or other.workers == 0:
            break
        tied = one.workers - other.workers <= 2 * math.hypot(one.error, other.error)
        assert is_tied(one, other) == tied
        said = one.name in ties and (other.name in ties or "the next" in ties)
        assert said or not tied, text
    assert ties == "." or any(is_tied(one, other) for one, other in pairwise(rows))


def test_ties_are_said_as_a_reader_expects() -> None:
    rows = [Ranked("Cranston", 900, 10.0), Ranked("Warwick", 500, 40.0), Ranked("Pawtucket", 450, 40.0)]
    last = Ranked("Lincoln", 60, 5.0)
    assert ranking([*rows, last], 3000, "the largest origins") == (
        "Cranston (30%), Warwick (17%), and Pawtucket (15%) are the largest origins; "
        "Warwick and Pawtucket cannot be told apart in rank."
    )
    many = [Ranked(name, 100, 30.0) for name in "ABCDEF"]
    assert ranking([*many, Ranked("G", 90, None)], 0, "the largest flows") == (
        "A (about 100), B (about 100), and C (about 100) are the largest flows; "
        "A, B, C, and the next 3 or more cannot be told apart in rank."
    )
    exact = [Ranked("A", 12, 0.0), Ranked("B", 12, 0.0), Ranked("C", 5, 0.0)]
    assert ranking(exact, 0, "the largest flows").endswith("A and B have equal counts.")
    chain = [Ranked("A", 130, 20.0), Ranked("B", 90, 20.0), Ranked("C", 50, 20.0)]
    assert ranking(chain, 0, "the largest flows").endswith(
        "A and B cannot be told apart in rank, nor can B and C."
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Providence city (Providence, RI)", "ctycsub:4400759000", "in Providence"),
        ("Kent County, RI", "county:44003", "in Kent County"),
        ("Tract 24, Kent County", "tract:44003000024", "in Tract 24 of Kent County"),
        ("Kansas City city, MO", "stplc:2938000", "in Kansas City"),
        ("2 mi around 41.820, -71.410", "circle:-71.41,41.82,2", "within 2 miles of 41.820, -71.410"),
        ("1 mi around 41.820, -71.410", "circle:-71.41,41.82,1", "within 1 mile of 41.820, -71.410"),
        ("Brown University", "circle:-71.4,41.82,0.5@Brown+University", "at Brown University"),
        ("", "circle:-71.4,41.82,2@the+area+near+Brown", "in the area near Brown"),
        ("my area", "box:-71.5,41.7,-71.3,41.9@my+area", "in my area"),
        ("everything", "all", "in the area that is covered here"),
        ("", "", "in the area that is covered here"),
        ("a drawn box", "box:-71.5,41.7,-71.3,41.9", "in the drawn area"),
        ("A city, RI and B city, RI", "stplc:1 +stplc:2", "in A and B"),
        ("everything without A city, RI", "-stplc:1", "outside A city, RI"),
        ("A city, RI without B city, RI", "stplc:1 -stplc:2", "in A city, RI without B city, RI"),
    ],
)
def test_places_are_named_with_their_preposition(name: str, text: str, said: str) -> None:
    assert where_of(name, text) == said


def test_a_name_keeps_what_distinguishes_it() -> None:
    names = [
        "Coventry town (Kent, RI)",
        "Coventry town (Tolland, CT)",
        "Warwick city (Kent, RI)",
        "Kent County, RI",
    ]
    assert spoken_names(names) == ["Coventry, RI", "Coventry, CT", "Warwick", "Kent County"]
    assert spoken_names(["Chester city (Delaware, PA)", "Chester township (Delaware, PA)"]) == [
        "Chester city",
        "Chester township",
    ]


@given(
    st.lists(
        st.sampled_from(
            [
                "A",
                "A city",
                "A town",
                "A city, RI",
                "A town (B, RI)",
                "A town (C, RI)",
                "A County, RI",
                "B, RI",
            ]
        )
    )
)
def test_names_spoken_at_a_few_positions_are_those_of_all(names: list[str]) -> None:
    every = spoken_names(names)
    assert first_spoken(names, range(len(names))) == every
    assert first_spoken(names, [0] if names else []) == [*every[:1], *names[1:]]
