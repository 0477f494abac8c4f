"""Every analysis against its plain twin, to the job, on areas that Hypothesis makes; and what must always add up."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commutemap import Filters, Release, caution, change, open_release, shortened
from geodata.demo import generate
from geodata.errors import GeometryError
from mapapp.answers.areas.levels import LEVEL_LABELS
from mapapp.answers.findings.findings import findings
from mapapp.base.errors import UsageError
from tests.oracles import analyses as twin
from tests.releases import write_release

SIDES = st.sampled_from(("work", "home"))
BANDS = st.sets(st.integers(1, 3), max_size=2).map(tuple)
FILTERS = st.builds(Filters, BANDS, BANDS, BANDS)
LAYERS = ("tract", "county", "state", "puma", "stplc", "zcta", "bgrp", "block")
COLUMNS = {
    "block": "block_id",
    "tract": "tract_id",
    "county": "county_id",
    "state": "state_id",
    "puma": "puma_id",
}
EDGES = st.lists(st.floats(0.01, 700), unique=True, max_size=5).map(lambda edges: tuple(sorted(edges)))
CHECKED = settings(max_examples=25, deadline=None)


BLOCKS: list[dict[Hashable, Any]] = generate("small", 1)[0]["blocks"].to_dict(
    "records"
)  # as in `demo_release`


def column_of(layer: str) -> str:
    return COLUMNS.get(layer, f"layer_{layer}")


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return open_release(demo_release)


@pytest.fixture(scope="module")
def workers(release: Release) -> Any:
    return twin.workers_of(release.store)


@st.composite
def steps(draw: Any) -> list[tuple[str, tuple[Any, ...], str]]:
    """One to three steps: sign, part for the twin, text."""
    made: list[tuple[str, tuple[Any, ...], str]] = []
    for place in range(draw(st.integers(1, 3))):
        sign = draw(st.sampled_from("+-&" if place else "+++-&"))
        block = BLOCKS[draw(st.integers(0, len(BLOCKS) - 1))]
        if draw(st.booleans()) or block["elsewhere"]:
            layer = draw(st.sampled_from(("tract", "county", "state", "puma", "stplc", "zcta")))
            unit_id = block[column_of(layer)]
            if unit_id and (layer == "state" or not block["elsewhere"]):
                made.append((sign, ("unit", column_of(layer), unit_id), f"{sign}{layer}:{unit_id}"))
                continue
            block = next(other for other in BLOCKS if not other["elsewhere"])
        lon, lat = round(block["lon_deg"], 3), round(block["lat_deg"], 3)
        inner, width = draw(st.sampled_from((0.0, 1.5, 6.0))), draw(st.sampled_from((0.5, 4.0, 60.0)))
        kind = f"ring:{lon},{lat},{inner},{inner + width}" if inner else f"circle:{lon},{lat},{width}"
        made.append((sign, ("circle", lon, lat, inner, inner + width), f"{sign}{kind}"))
    return made


def area_of(made: list[Any]) -> tuple[str, set[int]]:
    text = " ".join(token for _, _, token in made)
    return text, twin.blocks_of(BLOCKS, [(sign, part) for sign, part, _ in made])


@CHECKED
@given(made=steps(), side=SIDES, filters=FILTERS)
def test_profile(release: Release, workers: Any, made: Any, side: Any, filters: Filters) -> None:
    text, area = area_of(made)
    mine = twin.keeps(workers, filters)
    mine = mine[twin.at(mine, side, area)]
    found = release.profile(text, filters, side=side)
    assert found.workers.value == len(mine)
    assert found.about.n_blocks == len(area)
    assert found.bands["workers"].tolist() == twin.by_band(mine)
    assert found.segments["workers"].sum() == len(mine)
    for row in found.segments.itertuples():
        joint = (
            (mine["age"] == row.age) & (mine["earnings"] == row.earnings) & (mine["industry"] == row.industry)
        )
        assert row.workers == joint.sum()
    assert found.bands["share"].sum() == pytest.approx(3.0 if len(mine) else 0.0)


@CHECKED
@given(made=steps(), side=SIDES, filters=FILTERS, layer=st.sampled_from(LAYERS))
def test_comparison_and_destinations(
    release: Release, workers: Any, made: Any, side: Any, filters: Filters, layer: str
) -> None:
    text, area = area_of(made)
    mine = twin.keeps(workers, filters)
    mine = mine[twin.at(mine, side, area)]
    column = column_of(layer)
    beside = release.comparison(text, filters, side=side, layer=layer)
    rows = beside.units
    counts = twin.by_unit(mine, side, column)
    assert {(row.kind, row.unit_id): row.workers for row in rows.itertuples() if row.workers} == counts
    for row in rows.itertuples():
        unit = (
            mine[f"{side}_state_id"] if row.kind == "elsewhere" else mine[f"{side}_{column}"]
        ) == row.unit_id
        here = mine[unit & (mine[f"{side}_elsewhere"] == (row.kind == "elsewhere"))]
        assert [
            getattr(row, f"{name}_{band}") for name in ("age", "earnings", "industry") for band in (1, 2, 3)
        ] == (twin.by_band(here))
    blocks = release.store.table("blocks")
    inside = blocks.iloc[sorted(area)]
    assert len(rows) == len(
        inside.groupby([numpy.where(inside["elsewhere"], inside["state_id"], inside[column]), "elsewhere"])
    )
    whole = blocks[~blocks["elsewhere"]].groupby(column).size()
    chosen = inside[~inside["elsewhere"]].groupby(column).size()
    partly = {unit for unit, n in chosen.items() if n < whole[str(unit)]}
    assert set(rows.loc[rows["partly"], "unit_id"]) == partly
    found = release.destinations(text, filters, side=side, layer=layer)
    assert {(row.kind, row.unit_id): row.workers for row in found.units.itertuples()} == twin.by_unit(
        mine, twin.OTHER[side], column
    )
    assert twin.is_in_order(rows)
    assert twin.is_in_order(found.units)
    assert found.workers.value == beside.workers.value == len(mine)


@CHECKED
@given(made=steps(), side=SIDES, filters=FILTERS, edges=EDGES)
def test_distance_and_direction(
    release: Release, workers: Any, made: Any, side: Any, filters: Filters, edges: Any
) -> None:
    text, area = area_of(made)
    mine = twin.keeps(workers, filters)
    mine = mine[twin.at(mine, side, area)]
    found = release.distance_direction(text, filters, side=side, edges_mi=edges)
    counts = {(row.band, row.direction): row.workers for row in found.cells.itertuples() if row.workers}
    assert counts == twin.by_band_and_direction(mine, side, edges)
    assert len(found.cells) == 9 * (len(edges) + 1)
    for margin, key in ((found.bands, "band"), (found.directions, "direction")):
        sums = found.cells.groupby(key)["workers"].sum()
        assert margin.set_index(key)["workers"].to_dict() == sums.to_dict()
    if len(mine):
        assert found.median_mi.value == pytest.approx(mine["distance_mi"].median(), rel=1e-12)
    else:
        assert found.median_mi.value is None
    near = mine[mine["distance_mi"] < 100]
    if len(near):
        assert found.mean_under_100_mi.value == pytest.approx(near["distance_mi"].mean(), rel=1e-9)
    else:
        assert found.mean_under_100_mi.value is None


@CHECKED
@given(made=steps(), filters=FILTERS)
def test_inflow_and_outflow(release: Release, workers: Any, made: Any, filters: Filters) -> None:
    text, area = area_of(made)
    mine = twin.keeps(workers, filters)
    works, lives = twin.at(mine, "work", area), twin.at(mine, "home", area)
    groups = {"inflow": mine[works & ~lives], "outflow": mine[lives & ~works], "stay": mine[works & lives]}
    found = release.inflow_outflow(text, filters)
    assert dict(zip(found.groups["group"], found.groups["workers"], strict=True)) == {
        name: len(rows) for name, rows in groups.items()
    }
    assert found.inflow.value + found.stay.value == found.employed.value == works.sum()
    assert found.outflow.value + found.stay.value == found.living.value == lives.sum()
    assert found.net_inflow.value == found.employed.value - found.living.value
    for name, rows in groups.items():
        assert found.segments.loc[found.segments["group"] == name, "workers"].tolist() == twin.by_band(rows)
    if found.living.value:
        assert found.stay_of_living == found.stay.value / found.living.value
    assert found.employed.value == release.profile(text, filters).workers.value
    assert found.living.value == release.profile(text, filters, side="home").workers.value


@CHECKED
@given(homes=steps(), works=steps(), filters=FILTERS, edges=EDGES)
def test_paired_areas(
    release: Release, workers: Any, homes: Any, works: Any, filters: Filters, edges: Any
) -> None:
    (home_text, home_area), (work_text, work_area) = area_of(homes), area_of(works)
    mine = twin.keeps(workers, filters)
    lives, employed = twin.at(mine, "home", home_area), twin.at(mine, "work", work_area)
    pair = mine[lives & employed]
    found = release.paired(home_text, work_text, filters, edges_mi=edges)
    assert (found.workers.value, found.living.value, found.employed.value) == (
        len(pair),
        lives.sum(),
        employed.sum(),
    )
    assert found.bands["workers"].tolist() == twin.by_band(pair)
    counts = twin.by_band_and_direction(pair, "home", edges)
    assert found.distances["workers"].tolist() == [
        sum(n for (of, _), n in counts.items() if of == band) for band in range(len(edges) + 1)
    ]
    assert found.median_mi.value == (
        pytest.approx(pair["distance_mi"].median(), rel=1e-12) if len(pair) else None
    )


@CHECKED
@given(
    homes=steps(),
    works=steps(),
    filters=FILTERS,
    layers=st.tuples(st.sampled_from(LAYERS), st.sampled_from(LAYERS)),
)
def test_flow_matrix(
    release: Release, workers: Any, homes: Any, works: Any, filters: Filters, layers: tuple[str, str]
) -> None:
    (home_text, home_area), (work_text, work_area) = area_of(homes), area_of(works)
    mine = twin.keeps(workers, filters)
    mine = mine[twin.at(mine, "home", home_area) & twin.at(mine, "work", work_area)]
    found = release.flow_matrix(*layers, filters, home_area=home_text, work_area=work_text)
    keys = []
    for end, layer in zip(("home", "work"), layers, strict=True):
        outside = mine[f"{end}_elsewhere"]
        unit_id = numpy.where(outside, mine[f"{end}_state_id"], mine[f"{end}_{column_of(layer)}"])
        keys += [unit_id, numpy.where(outside, "elsewhere", numpy.where(unit_id == "", "none", "unit"))]
    cells = found.cells.set_index(["home_id", "home_kind", "work_id", "work_kind"])["workers"].to_dict()
    assert cells == (
        pandas.Series(1, index=keys).groupby(level=[0, 1, 2, 3]).size().to_dict() if len(mine) else {}
    )
    assert found.cells["workers"].is_monotonic_decreasing
    assert found.workers.value == found.homes["workers"].sum() == found.works["workers"].sum() == len(mine)
    parts = list(release.flow_matrix_parts(*layers, filters, home_area=home_text, work_area=work_text))
    if parts:
        pandas.testing.assert_frame_equal(pandas.concat(parts, ignore_index=True), found.cells)
    # Margins are the destinations of either end.
    if work_text.strip() == home_text.strip():
        return
    for margin, end, layer in ((found.homes, "home", layers[0]), (found.works, "work", layers[1])):
        assert {(row.kind, row.unit_id): row.workers for row in margin.itertuples()} == twin.by_unit(
            mine, end, column_of(layer)
        )


def test_children_sum_to_their_parent_and_home_is_work_transposed(release: Release) -> None:
    whole = release.profile().workers.value
    for layer in LAYERS:
        by_work = release.comparison(layer=layer).units
        assert by_work["workers"].sum() == whole
        matrix = release.flow_matrix(layer, layer)
        transposed = release.destinations(layer=layer, side="home").units  # workplaces of everybody
        assert dict(zip(matrix.works["unit_id"], matrix.works["workers"], strict=True)) == dict(
            zip(transposed["unit_id"], transposed["workers"], strict=True)
        )
    counties = release.comparison(layer="county").units
    for row in counties[counties["kind"] == "unit"].itertuples():
        tracts = release.comparison(f"county:{row.unit_id}", layer="tract").units
        assert tracts["workers"].sum() == row.workers
    cells = release.flow_matrix("county", "county").cells
    for work_id, part in cells[cells["work_kind"] == "unit"].groupby("work_id"):
        homes = release.destinations(f"county:{work_id}", layer="county").units
        assert dict(zip(part["home_id"], part["workers"], strict=True)) == dict(
            zip(homes["unit_id"], homes["workers"], strict=True)
        )
    for home_id, part in cells[cells["home_kind"] == "unit"].groupby("home_id"):
        works = release.destinations(f"county:{home_id}", side="home", layer="county").units
        assert dict(zip(part["work_id"], part["workers"], strict=True)) == dict(
            zip(works["unit_id"], works["workers"], strict=True)
        )
    wide = release.flow_matrix("county", "puma").wide()
    assert int(wide.to_numpy().sum()) == whole


def test_answers_are_plain_values(release: Release) -> None:
    county = release.comparison(layer="county").units["unit_id"].iloc[0]
    area = f"county:{county}"
    answers = [
        release.profile(area),
        release.comparison(area, layer="tract"),
        release.destinations(area),
        release.distance_direction(area),
        release.inflow_outflow(area),
        release.paired(area, "all"),
        release.flow_matrix(),
    ]
    for answer in answers:
        document = json.loads(json.dumps(answer.with_findings(findings(answer)), allow_nan=False))
        assert document["about"]["analysis"] == answer.about.analysis
        assert next(iter(answer.tables().values())) is not None
        for name, table in answer.tables().items():
            assert len(document[name]) == len(table)
            assert list(
                table.columns[table.columns.isin(["workers", "share", "expected_error", "caution"])]
            ) == [
                "workers",
                "share",
                "expected_error",
                "caution",
            ]
            assert [caution(n) for n in table["workers"]] == table["caution"].tolist()


def test_a_shortened_table_keeps_the_total(release: Release) -> None:
    full = release.destinations(layer="tract").units
    short = shortened(full, 5)
    kinds = full["kind"].value_counts()
    rest = [f"All other ({kinds['unit'] - 5})", f"Other states ({kinds['elsewhere']})"]
    assert short["kind"].tolist() == ["unit"] * 5 + ["other"] * 2
    assert short["name"].tolist()[5:] == rest
    assert short["workers"].sum() == full["workers"].sum()
    assert short["share"].sum() == pytest.approx(1.0)
    assert short["caution"].iloc[5] == caution(int(short["workers"].iloc[5]))
    assert shortened(full, len(full)) is full


def test_change_between_releases(tmp_path: Path) -> None:
    first, second = (
        open_release(write_release(tmp_path / f"{seed}.release", n_pairs=300, seed=seed)) for seed in (1, 2)
    )
    asks: list[Callable[[Release], Any]] = [
        lambda release: release.destinations("county:10001", layer="tract"),
        lambda release: release.profile("county:10003", side="home"),
        lambda release: release.comparison(layer="stplc"),
        lambda release: release.distance_direction("county:10001"),
        lambda release: release.inflow_outflow("county:10001"),
        lambda release: release.paired("county:10003", "county:10001"),
        lambda release: release.flow_matrix("puma", "tract"),
    ]
    for ask in asks:
        before, after = ask(first), ask(second)
        found = change(before, after)
        rows = found.rows
        main = [next(iter(answer.tables().values())) for answer in (before, after)]
        if not isinstance(before.to_dict().get("cells"), list):
            assert len(rows) >= max(map(len, main))
        assert rows["change"].tolist() == (rows["after"] - rows["before"]).tolist()
        name = (
            "bands" if "bands" in before.tables() and before.about.analysis in ("profile", "paired") else None
        )
        totals = [
            (answer.tables()[name] if name else part)["workers"].sum()
            for answer, part in zip((before, after), main, strict=True)
        ]
        assert [rows["before"].sum(), rows["after"].sum()] == totals
        json.dumps(found.to_dict(), allow_nan=False)
    with pytest.raises(UsageError, match="cannot compare"):
        change(first.profile("county:10001"), second.profile("county:10003"))
    with pytest.raises(UsageError, match="cannot compare"):
        change(first.profile(), second.destinations())


def test_the_area_is_described(release: Release) -> None:
    blocks = release.store.table("blocks")
    block = blocks[~blocks["elsewhere"]].iloc[0]
    about = release.profile(f"circle:{block.lon_deg:.5f},{block.lat_deg:.5f},3", side="home").about
    assert about.n_edge_blocks > 0
    assert any("internal point" in note.text for note in about.notes)
    assert any("Only workplaces in" in note.text for note in about.notes)
    assert about.has_note("coverage")
    assert about.promise["status"] == "not for release"
    assert about.year == int(release.facts["year"])


@pytest.mark.parametrize(
    "edges", [(0.0, 1.0), (5.0, 5.0), (5.0, 1.0), (-1.0,), (float("nan"),), tuple(range(1, 23))]
)
def test_edges_that_do_not_increase_are_refused(release: Release, edges: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match="increasing distances"):
        release.distance_direction(edges_mi=edges)


def test_unknown_areas_and_layers_are_refused_in_one_line(release: Release) -> None:
    with pytest.raises(UsageError, match="this release has no County 99999"):
        release.profile("county:99999")
    with pytest.raises(UsageError, match="this release has"):
        release.destinations(layer="nonsense")
    with pytest.raises(UsageError, match="this release has"):
        release.profile("nonsense:1")
    with pytest.raises(GeometryError, match="longitude must be"):
        release.profile("circle:200,10,5")
    assert "block" in LEVEL_LABELS
