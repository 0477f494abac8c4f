"""The lines of a map against every job of the release: the workers who leave an area, by unit, and who stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest

from mapapp.answers import served_answers
from mapapp.answers.commutes import lines
from mapapp.answers.findings.findings import findings
from mapapp.answers.release import Release
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content.map_captions import map_caption
from tests.addresses import settled, shown
from tests.map_contents import content_of
from tests.oracles import analyses as twin

LAYERS = {
    "county": "county_id",
    "tract": "tract_id",
    "puma": "puma_id",
    "stplc": "layer_stplc",
    "zcta": "layer_zcta",
}
AREAS = ("zcta", "stplc", "tract", "county", "circle", "elsewhere")


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


@pytest.fixture(scope="module")
def workers(release: Release) -> Any:
    return twin.workers_of(release.store)


def area_of(release: Release, kind: str) -> tuple[tuple[str, ...], set[int]]:
    """Steps of an area, and its blocks by looking at every block."""
    blocks = release.store.table("blocks").to_dict("records")
    mine = next(block for block in blocks if not block["elsewhere"] and block["layer_stplc"])
    if kind == "circle":
        lon, lat = round(mine["lon_deg"], 4), round(mine["lat_deg"], 4)
        return (f"circle:{lon},{lat},4",), twin.blocks_of(blocks, [("+", ("circle", lon, lat, 0.0, 4.0))])
    far = next(block for block in blocks if block["elsewhere"])
    zcta, state = f"zcta:{mine['layer_zcta']}", f"+state:{far['state_id']}"
    if kind == "elsewhere":  # a unit with a whole state outside the imported area
        found = twin.blocks_of(
            blocks,
            [("+", ("unit", "layer_zcta", mine["layer_zcta"])), ("+", ("unit", "state_id", far["state_id"]))],
        )
        return (zcta, state), found
    column = LAYERS[kind]
    return (f"{kind}:{mine[column]}",), twin.blocks_of(blocks, [("+", ("unit", column, mine[column]))])


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kind", AREAS)
@pytest.mark.parametrize("side", ["work", "home"])
def test_who_stays_and_who_leaves_is_counted_by_block(
    release: Release, workers: Any, side: Any, kind: str, layer: str
) -> None:
    steps, area = area_of(release, kind)
    state, view = shown(areas=steps, side=side, show="lines", layer=layer)
    mine = workers[twin.at(workers, side, area)]
    other = twin.OTHER[side]
    stays = twin.at(mine, other, area)
    found = lines.lines(release, settled(release, state), 1)
    assert (found.within, found.total) == (stays.sum(), len(mine))
    leaving = twin.by_unit(mine[~stays], other, LAYERS[layer])
    units = {unit: n for (of, unit), n in leaving.items() if of == "unit"}
    assert sorted(found.frame["workers"]) == sorted(units.values())[-len(found.frame) :]
    share = 100 * stays.sum() / max(len(mine), 1)
    assert f"; {share:.1f}% stay in the area" in map_caption(content_of(release, state, view))


def test_a_unit_that_the_area_cuts_has_a_line_for_its_other_part(release: Release) -> None:
    steps, area = area_of(release, "zcta")
    counties = release.store.table("blocks", ["county_id"])["county_id"].iloc[sorted(area)].nunique()
    found = lines.lines(release, settled(release, Question(areas=steps, layer="county")), 1)
    assert found.within
    assert found.frame["label"].str.startswith("the rest of ").sum() == counties
    assert not numpy.isnan(found.frame["to_lon_deg"]).any()


def test_homes_and_workplaces_by_different_layers_have_no_unit_in_common(release: Release) -> None:
    mixed = Question(analysis="flow-matrix", home_layer="county", work_layer="zcta")
    assert lines.lines(release, settled(release, mixed)).within is None
    assert "stay" not in map_caption(content_of(release, mixed, View()))
    same = Question(analysis="flow-matrix", home_layer="county", work_layer="county")
    assert "stay in the same county" in map_caption(content_of(release, same, View()))


def test_grouping_keeps_every_job_and_zooming_in_separates_places(release: Release) -> None:
    question = Question(analysis="flow-matrix", home_layer="tract", work_layer="tract")
    apart = lines.lines(release, settled(release, question), 1)
    assert apart.n_between_grouped == 0
    assert apart.within is not None
    n_lines = []
    for zoom in (4, 8, 10, lines.MAX_ZOOM):
        found = lines.lines(release, settled(release, question), 1, zoom)
        assert found.within == apart.within, "who stays in a unit does not depend on the camera"
        assert found.workers + found.within + found.between_grouped <= apart.total
        if not found.n_left_out and not apart.n_left_out:
            assert found.workers + found.within + found.between_grouped == apart.workers + apart.within
        assert found.total == apart.total
        assert found.n_left_out + found.n_between_grouped <= apart.n_flows, "counted over units"
        if not found.n_left_out:
            assert found.n_between_grouped == 0 or len(found.frame) < apart.n_flows
        n_lines.append(len(found.frame))
    assert n_lines == sorted(n_lines)
    assert n_lines[0] < n_lines[-1]
    text = map_caption(content_of(release, question, View(least=1)), zoom=4.5)
    assert "between places too close to draw" in text
    stays = re.search(r"([\d.]+)% stay in the same tract", text)
    assert stays is not None
    assert float(stays[1]) == pytest.approx(100 * apart.within / apart.total, abs=0.05)
    same = next(
        one
        for one in findings(served_answers.result(release, settled(release, question)))
        if "same tract" in one
    )
    assert abs(float(re.findall(r"(\d+)%", same)[0]) - float(stays[1])) <= 0.55
    assert "too close" not in map_caption(content_of(release, question, View()))


def test_the_third_largest_flow_sets_the_scale_of_widths_at_every_zoom(release: Release) -> None:
    question = Question(analysis="flow-matrix", home_layer="tract", work_layer="tract")
    apart = lines.lines(release, settled(release, question))
    assert apart.wide == apart.frame["workers"].iloc[2] <= apart.largest
    assert lines.lines(release, settled(release, question), zoom=4).wide == apart.wide


def test_flows_below_the_threshold_are_counted_but_not_drawn(release: Release) -> None:
    question = Question(analysis="flow-matrix")
    every = lines.lines(release, settled(release, question), 1)
    least = int(every.frame["workers"].median())
    fewer = lines.lines(release, settled(release, question), least)
    kept = every.frame["workers"] >= least
    assert fewer.frame["workers"].tolist() == every.frame["workers"][kept].tolist()
    assert fewer.n_left_out == (~kept).sum()
    text = map_caption(content_of(release, question, View(least=least)))
    assert f"{fewer.n_left_out:,} smaller flows not shown" in text


@pytest.mark.parametrize("side", ["work", "home"])
def test_flows_run_from_homes_to_workplaces(release: Release, side: Any) -> None:
    steps, _ = area_of(release, "county")
    found = lines.lines(release, settled(release, Question(areas=steps, side=side, layer="county")), 1).frame
    here, there = ("to", "from") if side == "work" else ("from", "to")
    assert found[f"{here}_lon_deg"].nunique() == 1
    assert found[f"{there}_lon_deg"].nunique() == len(found)


def test_the_error_of_a_line_is_that_of_the_same_count_in_the_table(release: Release) -> None:
    question = Question(analysis="flow-matrix")
    drawn = lines.lines(release, settled(release, question), 1).frame
    cells = release.with_errors(
        served_answers.result(release, settled(release, question)), 10_000, ("cells",)
    ).tables()["cells"]
    of_pair = {f"{row.home_name} → {row.work_name}": row.expected_error for row in cells.itertuples()}
    for line in (0, len(drawn) - 1):
        ends = drawn["label"].iloc[line].split("<br>")[0]
        error = lines.error_of_line(release, settled(release, question), 1, None, line)
        assert error == pytest.approx(of_pair[ends])
    with pytest.raises(IndexError):
        lines.error_of_line(release, settled(release, question), 1, None, len(drawn))


def test_a_first_picture_has_the_largest_flows_and_none_below_its_own_error(release: Release) -> None:
    question = settled(release, Question(analysis="flow-matrix", home_layer="tract", work_layer="tract"))
    every, first = lines.lines(release, question, 1), lines.lines(release, question)
    assert 0 < len(first.frame) <= lines.READABLE < len(every.frame)
    candidates = every.frame.head(lines.READABLE)
    errors = [lines.error_of_line(release, question, 1, None, line) for line in range(0, lines.READABLE, 20)]
    kept = [
        error is None or workers > error
        for workers, error in zip(candidates["workers"].iloc[::20], errors, strict=True)
    ]
    assert candidates["label"].iloc[::20].isin(first.frame["label"]).tolist() == kept
    assert (first.frame["workers"] > first.frame["expected_error"]).all()
    assert first.least == first.frame["workers"].min()
    assert first.n_left_out == first.n_flows - len(first.frame)


def test_the_totals_of_places_count_every_flow_at_every_zoom(release: Release) -> None:
    question = settled(release, Question(analysis="flow-matrix"))
    every = lines.lines(release, question, 1)
    for zoom in (None, 6):
        found = lines.lines(release, question, 0, zoom)
        crossing = found.total - (found.within or 0) - found.between_grouped
        assert found.places["come"].sum() == found.places["go"].sum() <= crossing
    assert every.places["come"].sum() == every.workers


def test_the_first_picture_frames_the_ends_that_hold_most_of_the_flow(release: Release) -> None:
    content = content_of(release, Question(analysis="flow-matrix", home_layer="tract", work_layer="tract"))
    lon, lat, workers = lines.flow_ends(release, content.question)
    west, south, east, north = content.bounds
    inside = (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
    assert workers[inside].sum() >= 0.8 * workers.sum()
