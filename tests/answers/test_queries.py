"""Every number on the page against a plain pandas twin that starts from the jobs table instead of the points."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.errors import StoreError
from geodata.geography.distance import distance_mi
from mapapp.answers import served_answers
from mapapp.answers.analyses.measures import caution
from mapapp.answers.commutes import lines
from mapapp.answers.release import Release, open_releases
from mapapp.question.question import Question
from tests.addresses import settled
from tests.oracles.analyses import is_in_order
from tests.releases import ELSEWHERE, UNDRAWN_TRACT, write_release

BAND_EDGES_MI = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
AREAS = (
    "tract:10001000000",
    "tract:10003000002",
    "county:10003",
    "county:11001",
    "state:10",
    "puma:1000001",
    "stplc:4459",
)
BAND_SETS = st.sets(st.integers(1, 3), max_size=2).map(lambda kept: tuple(sorted(kept)))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


@pytest.fixture(scope="module")
def twin(release: Release) -> Any:
    """One row a worker, from `jobs` and `blocks` alone."""
    jobs, blocks = release.store.table("jobs"), release.store.table("blocks")
    rows = jobs.loc[jobs.index.repeat(jobs["count"])].reset_index(drop=True)
    home, work = (
        blocks.iloc[rows[name]].reset_index(drop=True) for name in ("origin_index", "destination_index")
    )
    far = distance_mi(work["lon_deg"], work["lat_deg"], home["lon_deg"], home["lat_deg"])
    rows["distance_mi"] = numpy.where(rows["origin_index"] == rows["destination_index"], 0.0, far)
    for name, end in (("home", home), ("work", work)):
        for column in (
            "tract_id",
            "county_id",
            "state_id",
            "puma_id",
            "layer_stplc",
            "elsewhere",
            "tract_index",
        ):
            rows[f"{name}_{column}"] = end[column].to_numpy()
    return rows


def chosen(twin: Any, side: str, areas: tuple[str, ...]) -> Any:
    mask = numpy.zeros(len(twin), dtype=bool)
    for area in areas:
        level, _, unit_id = area.partition(":")
        column = f"{side}_layer_{level}" if level == "stplc" else f"{side}_{level}_id"
        mask |= (twin[column] == unit_id).to_numpy()
    return mask


@settings(max_examples=60, deadline=None)
@given(
    side=st.sampled_from(("work", "home")),
    areas=st.lists(st.sampled_from(AREAS), unique=True, max_size=4).map(tuple),
    age=BAND_SETS,
    earnings=BAND_SETS,
    industry=BAND_SETS,
)
def test_summary_and_tables_equal_the_twin(
    release: Release, twin: Any, side: Any, areas: Any, age: Any, earnings: Any, industry: Any
) -> None:
    state = Question(side=side, areas=areas, age=age, earnings=earnings, industry=industry)
    other = {"work": "home", "home": "work"}[side] if areas else side
    keep = chosen(twin, side, areas) if areas else numpy.ones(len(twin), dtype=bool)
    for name, bands in (("age", age), ("earnings", earnings), ("industry", industry)):
        keep &= twin[name].isin(bands).to_numpy() if bands else True
    mine = twin[keep]
    units = served_answers.units(release, settled(release, state))
    assert units["workers"].sum() == len(mine)
    assert units.loc[units["kind"] == "elsewhere", "workers"].sum() == int(
        (mine[f"{other}_elsewhere"] if other == "home" else mine["home_elsewhere"].iloc[:0]).sum()
    )
    assert lines.lines(release, settled(release, state)).within == (
        int(chosen(mine, other, areas).sum()) if areas else len(mine)
    )
    picked, flows = served_answers.pick(release, state), release.flows
    if len(mine):
        assert flows.median_mi(picked) == pytest.approx(float(mine["distance_mi"].median()), rel=1e-12)
    else:
        assert flows.median_mi(picked) is None
    edges = [-numpy.inf, numpy.nextafter(0, 1), *BAND_EDGES_MI, numpy.inf]
    bands = range(len(edges) - 1)
    counted = pandas.cut(mine["distance_mi"], edges, right=False, labels=bands).value_counts()
    expected = counted.reindex(bands)
    found = flows.distances(picked, side, BAND_EDGES_MI, own_block=True).workers.sum(axis=1)
    assert found.tolist() == expected.tolist()
    for rows in ("tract", "county"):
        table = served_answers.units(release, settled(release, replace(state, layer=rows)))
        table = table[table["workers"] > 0]  # without an area, every unit has a row
        assert (
            dict(zip(table["unit_id"], table["workers"], strict=True))
            == mine[f"{other}_{rows}_id"].value_counts().to_dict()
        )
        assert is_in_order(table)
        assert table["share"].sum() == pytest.approx(1.0 if len(mine) else 0.0)


def test_points_are_the_drawn_ends_and_homes_elsewhere_have_none(release: Release, twin: Any) -> None:
    state = Question(areas=("county:10001",))
    points = served_answers.places(release, state, "home")
    mine = twin[chosen(twin, "work", state.areas) & ~twin["home_elsewhere"].to_numpy()]
    assert len(points["lon_deg"]) == len(mine)
    blocks = release.store.table("blocks")
    expected = numpy.sort(blocks["lon_deg"].to_numpy()[mine["origin_index"]].astype(numpy.float32))
    assert numpy.array_equal(numpy.sort(points["lon_deg"]), expected)
    assert not numpy.isnan(points["lat_deg"]).any()


def test_overlapping_areas_count_a_worker_once(release: Release) -> None:
    one = served_answers.n_places(release, settled(release, Question(areas=("county:10001",))))
    assert (
        served_answers.n_places(
            release, settled(release, Question(areas=("county:10001", "tract:10001000000")))
        )
        == one
    )


def test_search_finds_every_kind_of_area_by_name(release: Release) -> None:
    assert release.areas.search("old harbour")[0].key == "stplc:4459"
    assert release.areas.search("county 10003")[0].key == "county:10003"
    assert {area.level for area in release.areas.search("10", limit=99)} >= {
        "county",
        "state",
        "puma",
        "superpuma",
        "tract",
    }
    assert release.areas.search("far")[0].name == "Far Away (outside the area)"
    assert release.areas.search("no such place") == []
    assert release.areas.search("old habrour") == []
    assert release.areas.search("old habrour", near=True)[0].key == "stplc:4459"
    assert release.areas.search("old 99999", near=True) == []
    assert len(release.areas.search("")) == 12


def test_areas_know_their_blocks(release: Release) -> None:
    blocks = release.store.table("blocks")
    for area in ("tract:10001000000", "puma:1000002", "stplc:4460", f"state:{ELSEWHERE}"):
        level, _, unit_id = area.partition(":")
        column = "layer_stplc" if level == "stplc" else f"{level}_id"
        held = release.areas.blocks([area])
        assert held is not None
        assert held.tolist() == numpy.flatnonzero(blocks[column] == unit_id).tolist()
    assert release.areas.blocks([]) is None
    assert f"tract:{UNDRAWN_TRACT}" in release.areas
    assert f"county:{ELSEWHERE}" not in release.areas


def test_like_names_of_releases_are_told_apart(tmp_path: Path) -> None:
    first = write_release(tmp_path / "a" / "ri 2019.release", n_pairs=20)
    second = write_release(tmp_path / "b" / "ri 2019.release", n_pairs=20)
    assert list(open_releases([first, second])) == ["ri-2019", "ri-2019-2"]


def test_a_dataset_is_refused(demo_dataset: Path) -> None:
    with pytest.raises(StoreError, match="this is a dataset"):
        Release.open(demo_dataset, "demo")


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        (0, ""),
        (1, "substantial variability"),
        (2, "substantial variability"),
        (3, "caution"),
        (9, "caution"),
        (10, ""),
    ],
)
def test_small_counts_carry_a_caution(workers: int, said: str) -> None:
    assert caution(workers) == said
