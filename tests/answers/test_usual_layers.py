"""The layer that is used unless another is chosen: units that people name, and a readable number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

from mapapp.answers.areas.usual_layers import UsualLayers
from mapapp.answers.asking import ask
from mapapp.answers.release import Release
from mapapp.question.analyses import ANALYSES
from mapapp.question.fields import USUAL
from mapapp.question.question import Question, SettledQuestion


class Region:
    """A region as the rule sees it: the unit of each block, by layer; every block has 100 people."""

    def __init__(self, **layers: Iterable[str]) -> None:
        self._codes = {layer: numpy.array(list(units), dtype=object) for layer, units in layers.items()}
        n_blocks = len(self._codes["state"])
        self.columns = dict.fromkeys(layers, "")
        self.population = numpy.full(n_blocks, 100)
        self.places = pandas.DataFrame({"population": self.population})
        self.place_columns = (*numpy.zeros((2, n_blocks)), numpy.zeros(n_blocks, dtype=bool))

    def keep_workplaces(self, blocks: Any) -> Any:
        return blocks

    def units(self, layer: str) -> Any:
        found, names = pandas.factorize(self._codes[layer], sort=True)
        kinds = ["none" if name == "" else "unit" for name in names]

        class Units:
            code = found
            rows = pandas.DataFrame({"unit_id": names, "kind": kinds})
            ids = tuple(names)
            is_unit = numpy.array(kinds) == "unit"

        return Units


def usual_in(**layers: Iterable[str]) -> str:
    region: Any = Region(**layers)
    select: Any = None  # no area is chosen
    return UsualLayers(region, select).of("work")


def units(n: int, *, of: int = 1_000, prefix: str = "") -> list[str]:
    """The unit of each block, if `n` units share the blocks evenly."""
    return [f"{prefix}{block * n // of}" for block in range(of)]


@pytest.mark.parametrize(
    ("state", "n_towns", "n_counties", "expected"),
    [
        ("44", 39, 5, "ctycsub"),  # Rhode Island
        ("09", 88, 8, "ctycsub"),  # two thirds of the people live in 59 towns
        ("25", 351, 14, "county"),
        ("42", 900, 67, "county"),  # too many counties as well, but fewer
        ("53", 60, 39, "stplc"),
        ("48", 900, 254, "county"),
        ("44", 5, 1, "ctycsub"),
    ],
)
def test_a_whole_state_has_towns_places_or_counties(
    state: str, n_towns: int, n_counties: int, expected: str
) -> None:
    found = usual_in(
        state=[state] * 1_000,
        county=units(n_counties, prefix="c"),
        ctycsub=units(n_towns, prefix="t"),
        stplc=units(n_towns, prefix="p"),
        zcta=units(70, prefix="z"),
        tract=units(250, prefix="r"),
    )
    assert found == expected


def test_a_city_that_is_one_place_has_zip_areas() -> None:
    one = {"state": ["53"] * 1_000, "county": ["c"] * 1_000, "stplc": ["p"] * 1_000}
    assert usual_in(**one, zcta=units(13), tract=units(40)) == "zcta"
    assert usual_in(**one, zcta=["z"] * 1_000, tract=units(40)) == "stplc"
    assert usual_in(**one, tract=units(40)) == "stplc"


def test_places_are_not_used_where_most_people_live_outside_any() -> None:
    counties = {"state": ["53"] * 1_000, "county": units(12)}
    assert usual_in(**counties, stplc=[*units(20, of=400), *[""] * 600]) == "stplc"
    assert usual_in(**counties, stplc=[*units(20, of=300), *[""] * 700]) == "county"


def test_a_nation_has_states() -> None:
    assert usual_in(state=units(51), county=units(500), stplc=units(900)) == "state"


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


QUESTIONS = [
    Question(
        analysis=analysis, side=side, areas=areas, others=areas if ANALYSES[analysis].n_areas == 2 else ()
    )
    for analysis in ANALYSES
    if analysis != "characteristics"  # the release has no published counts
    for side in ("work", "home")
    for areas in ((), ("stplc:8101000",), ("county:81011",))
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: f"{each.analysis}-{each.side}-{each.area}")
def test_a_question_that_leaves_layers_open_is_answered_as_the_settled_one(
    release: Release, question: Question
) -> None:
    named = release.areas.usual.settle(question)
    assert USUAL not in [
        getattr(named, name) for name in ("layer", *question.entry.fields) if "layer" in name
    ]
    assert replace(named, layer=USUAL, home_layer=USUAL, work_layer=USUAL) == question
    assert release.areas.usual.settle(named) == named
    tables, same = (ask(release, each).tables() for each in (SettledQuestion(question), named))
    for name, table in tables.items():
        pandas.testing.assert_frame_equal(table, same[name])


def test_a_city_is_compared_by_zip_area_and_its_workers_come_from_places(release: Release) -> None:
    asks: list[Callable[[Release], Any]] = [
        lambda r: r.comparison("stplc:8101000").layer,
        lambda r: r.destinations("stplc:8101000").layer,
        lambda r: r.job_balance("stplc:8101000").layer,
        lambda r: r.flow_matrix(home_area="stplc:8101000", work_area="all").home_layer,
        lambda r: r.comparison().layer,
    ]
    assert [each(release) for each in asks] == ["zcta", "stplc", "zcta", "zcta", "stplc"]


def test_workers_outside_any_place_and_outside_the_area_have_rows_after_the_places(
    release: Release,
) -> None:
    found = release.destinations()
    kinds = found.units["kind"].tolist()
    assert kinds == sorted(kinds, key=["unit", "none", "elsewhere"].index)
    assert set(kinds) == {"unit", "none", "elsewhere"}
    assert found.units.loc[found.units["kind"] == "none", "name"].tolist() == ["Outside any place"]
    far = found.units.loc[found.units["kind"] == "elsewhere", "workers"].sum()
    (note,) = [note.text for note in found.about.notes if note.code == "far-homes"]
    assert note.startswith(f"{far:,} of these people live outside the mapped area, in 2 other states")
    assert "head office" in note
