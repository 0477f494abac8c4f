"""Medians and means of distances: shown with expected errors, which hold against the confidential jobs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import numpy
import pytest

from commutemap import Filters
from geodata.geography.distance import distance_mi
from geodata.store.store import open_store
from mapapp.answers import served_answers, words
from mapapp.answers.commutes.pick import MEAN_LIMIT_MI, Pick
from mapapp.answers.errors.distance_errors import miles_within
from mapapp.answers.errors.expected_error import ExpectedErrors
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts
from mapapp.answers.release import Release
from mapapp.explore.pages import answer
from mapapp.question.question import Question
from mapapp.show.files import answers
from mapapp.show.reports.numbers import key_numbers
from tests.addresses import settled
from tests.oracles import analyses as twin


@pytest.fixture(scope="module")
def served(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


@pytest.fixture(scope="module")
def release(served: Release) -> Release:
    return served


@pytest.fixture(scope="module")
def counties(release: Release) -> list[str]:
    units = release.comparison(layer="county").units
    return [f"county:{unit}" for unit in units["unit_id"][(units["kind"] == "unit") & (units["workers"] > 0)]]


@pytest.fixture(scope="module")
def real(demo_dataset: Path) -> Any:
    return twin.workers_of(open_store(demo_dataset, "dataset"))


def test_real_medians_and_means_lie_within_four_expected_errors(
    release: Release, counties: list[str], real: Any
) -> None:
    blocks = release.store.table("blocks", ["county_id"])["county_id"]
    off: list[float] = []
    for area in [*counties, "all"]:
        for side in ("work", "home"):
            found: Any = release.with_errors(release.distance_direction(area, side=cast(Any, side)))
            here = (blocks == area.partition(":")[2]) | (area == "all")
            miles = real["distance_mi"][here.to_numpy()[real[f"{side}_block"]]]
            truth = miles.median(), miles[miles < MEAN_LIMIT_MI].mean()
            for shown, value in zip((found.median_mi, found.mean_under_100_mi), truth, strict=True):
                assert shown.expected_error > 0
                off.append((shown.value - value) / shown.expected_error)
    assert len(off) > 20
    assert max(map(abs, off)) < 4
    assert 0.3 < float(numpy.sqrt(numpy.mean(numpy.square(off)))) < 1.5, (
        "neither far too sure nor far too shy"
    )


def test_every_way_to_read_an_answer_has_the_errors(served: Release, counties: list[str]) -> None:
    state = Question(areas=(counties[0],), analysis="distance-direction")
    found: Any = served_answers.with_errors(served, settled(served, state))
    shown = {name: getattr(found, name) for name in ("median_mi", "mean_under_100_mi")}
    page = json.dumps(answer.tiles(found), default=lambda part: part.to_plotly_json(), ensure_ascii=False)
    numbers = {each.value: each.error for each in key_numbers(found)}
    document = found.with_findings(())
    stream = io.StringIO()
    answers.write_csv([answers.table_of(found, "numbers")], stream)
    for name, miles in shown.items():
        assert f" {words.miles_error(miles.expected_error)}" in page
        assert numbers[miles.value] == miles.expected_error
        assert document[name] == {"value": miles.value, "expected_error": miles.expected_error}
        assert f"{name}_expected_error" in stream.getvalue()
    assert "under 100 miles" in page
    pair: Any = served_answers.with_errors(
        served, settled(served, Question(areas=(counties[0],), others=(counties[0],), analysis="paired"))
    )
    assert pair.median_mi.expected_error > 0


def test_without_workers_there_is_no_distance(release: Release, counties: list[str]) -> None:
    found: Any = release.with_errors(release.paired(counties[0], f"{counties[0]} -{counties[0]}"))
    assert found.median_mi.value is None
    assert found.median_mi.expected_error is None


def test_half_of_an_even_number_is_between_the_two_in_the_middle(release: Release, real: Any) -> None:
    found = release.distance_direction(filters=Filters(age=(1,)))
    low, high = release.flows.quantiles_mi(Pick(filters=Filters(age=(1,))), [0.5, 0.5000001])
    assert found.median_mi.value is not None
    assert low - 0.01 <= found.median_mi.value <= high + 0.01


def test_what_every_worker_adds_alike_has_no_error_and_errors_scale(release: Release) -> None:
    store = release.store
    tracts = store.table("tracts")
    formula = ExpectedErrors(release.certificate, tracts, store.table("prior"))
    workers = twin.workers_of(store)
    sizes = workers.groupby(["work_tract_index", "work_block", "age", "earnings", "industry"]).size()
    table = sizes.reset_index(name="n")
    tract, n = table["work_tract_index"].to_numpy(), table["n"].to_numpy()
    by_tract = numpy.bincount(workers["work_tract_index"], minlength=len(tracts)).astype(float)
    near = (workers["distance_mi"] < 5).to_numpy()
    n_near = numpy.bincount(workers["work_tract_index"][near], minlength=len(tracts)).astype(float)

    row, home = (each.reshape(1, -1) for each in numpy.indices((4, len(tracts))))

    def values(works: Any) -> HomeValues:
        lon, lat = (tracts[name].to_numpy() for name in ("lon_deg", "lat_deg"))
        away = distance_mi(lon[works][:, None], lat[works][:, None], lon, lat)
        sums = [numpy.full(away.shape, 3.0), away < 5, 2.0 * (away < 5), (away < 5) + 3.0]
        value = numpy.concatenate(sums, axis=1)
        return HomeValues(row, home, value, value**2)

    totals = numpy.stack([3 * by_tract, n_near, 2 * n_near, n_near + 3 * by_tract])
    squares = numpy.stack([9 * by_tract, n_near, 4 * n_near, n_near + 6 * n_near + 9 * by_tract])
    every = ValuesOfTracts(values, numpy.arange(4), home.size)
    alike, count, twice, moved = formula.of_sums(every, totals, squares, tract, n, numpy.ones(n.size))
    assert alike == pytest.approx(0, abs=1e-6 * by_tract.sum())
    assert count > 1
    assert twice == pytest.approx(2 * count, rel=1e-9)
    assert moved == pytest.approx(count, rel=1e-6)


def test_people_of_a_tract_live_as_far_apart_as_in_a_disc() -> None:
    turn = numpy.random.default_rng(3)
    angle, reach = turn.random(4_000) * 2 * numpy.pi, numpy.sqrt(turn.random(4_000)) / 69.0
    lon, lat = reach * numpy.cos(angle), reach * numpy.sin(angle)
    apart = distance_mi(lon[:2_000], lat[:2_000], lon[2_000:], lat[2_000:]).mean()
    (found,) = miles_within(numpy.zeros(4_000, dtype=int), (lon, lat), numpy.ones(4_000))
    assert found == pytest.approx(apart, rel=0.05)
