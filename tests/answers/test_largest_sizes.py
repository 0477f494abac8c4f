"""The longest allowed lists in a question are answered in every interface; one more item is refused."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
import shapely

from commutemap import Filters, open_release, ring_areas
from mapapp.answers import served_answers
from mapapp.answers.commutes.prepared import octant
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.commands.cli import run
from mapapp.explore.callbacks import draw
from mapapp.explore.pages import answer, answer_charts, answer_tables
from mapapp.question import setup_file
from mapapp.question.address import Address, from_query, to_query
from mapapp.question.area_text import MAX_RINGS, MAX_STEPS, MAX_TEXT, Shape
from mapapp.question.cost import MAX_PARTS
from mapapp.question.distance_bands import MAX_EDGE_MI, MAX_EDGES, check_edges
from mapapp.question.options import questions_from
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.reports import FORMS, build, write
from mapapp.show.reports.batch_file import read_batch
from mapapp.show.reports.part import Part, parts_of
from mapapp.show.reports.remake import remake
from tests.addresses import settled
from tests.commands.running import refused
from tests.map_contents import content_of
from tests.releases import rewrite_table, write_release

EDGES = (*(float(mile) for mile in range(1, MAX_EDGES)), MAX_EDGE_MI)
TOO_MANY = (*range(1, MAX_EDGES + 1), MAX_EDGE_MI)
TEXT = ",".join(f"{edge:g}" for edge in EDGES)


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return Release.open(demo_release, "demo")


@pytest.fixture(scope="module")
def county(release: Release) -> str:
    return f"county:{release.comparison(layer='county').units['unit_id'].iloc[0]}"


def read(query: str) -> tuple[Address, tuple[str, ...]]:
    return from_query(query, releases=["demo"], is_area=lambda *_: True, is_layer=lambda *_: True)


@pytest.mark.parametrize("side", ["work", "home"])
@pytest.mark.parametrize("n_edges", range(MAX_EDGES + 1))
def test_every_number_of_distance_bands_has_errors(
    release: Release, county: str, side: Any, n_edges: int
) -> None:
    answered = release.distance_direction(county, side=side, edges_mi=EDGES[:n_edges])
    found: Any = release.with_errors(answered)
    assert len(found.bands) == n_edges + 1
    assert found.bands["expected_error"].notna().all()
    assert found.bands["workers"].sum() == found.workers.value


def test_the_page_accepts_the_maximum_number_of_bands(release: Release, county: str) -> None:
    for analysis in ("distance-direction", "paired"):
        others = (county,) if analysis == "paired" else ()
        state = Question(analysis=analysis, areas=(county,), others=others, edges=EDGES)
        assert read(to_query(Address(question=state))) == (Address(question=state), ())
        found = served_answers.with_errors(release, settled(release, state))
        assert "workers" in str(answer.answer(release, Address(question=state), found, ""))
        assert answer_tables.table(found, every=True)["rows"]
        answer_charts.drawn_chart(found, "light")
        draw.map_figure(content_of(release, state, View()), "/")


def test_commands_accept_the_maximum_number_of_bands(
    demo_release: Path, release: Release, county: str, tmp_path: Path
) -> None:
    question = ("--analysis", "distance-direction", "--area", county, "--bands", TEXT)
    assert run(["analyze", str(demo_release), *question, "-q", "-o", str(tmp_path / "answer.json")]) == 0
    assert f"{MAX_EDGE_MI:g} miles or more" in (tmp_path / "answer.json").read_text()
    output = tmp_path / "report.html"
    assert run(["report", str(demo_release), *question, "-q", "-o", str(output)]) == 0


def test_reports_setups_and_batches_accept_the_maximum_number_of_bands(
    release: Release, county: str, tmp_path: Path
) -> None:
    asked = questions_from({"area": [county], "bands": EDGES}, "distance-direction")
    (part,) = parts_of(release, asked)
    report = build([release], [part])
    for form in FORMS:
        stream = BytesIO()
        write(report, form, stream)
        assert stream.tell()
    (embedded,) = remake([release], [part.settle(release)], date=None, error_rows=27).setups
    assert setup_file.load(embedded[1].encode(), release)[0].question.edges == EDGES
    batch = tmp_path / "batch.toml"
    batch.write_text(f'[[report]]\narea = "{county}"\nanalysis = "distance-direction"\nbands = [{TEXT}]\n')
    assert read_batch(batch, release)[0].parts[0].question.edges == EDGES


def test_one_band_too_many_is_refused_with_the_same_message(
    demo_release: Path, release: Release, county: str, tmp_path: Path
) -> None:
    allowed = f"up to {MAX_EDGES} increasing distances"
    text = ",".join(f"{edge:g}" for edge in TOO_MANY)
    with pytest.raises(UsageError, match=allowed):
        check_edges(TOO_MANY)
    with pytest.raises(UsageError, match=allowed):
        release.distance_direction(county, edges_mi=TOO_MANY)
    state = Question(areas=(county,), analysis="distance-direction", edges=TOO_MANY)
    with pytest.raises(UsageError, match=allowed):
        setup_file.read(setup_file.save(release, Address(question=state)))
    assert allowed in read(f"?edges={text}")[1][0]
    # Also for an analysis without distance bands: a setup holds them.
    for command, name in (("analyze", "x.json"), ("report", "x.html")):
        asking = (command, demo_release, "--analysis", "profile", "--bands", text)
        assert allowed in refused(*asking, "-q", "-o", tmp_path / name)
    batch = tmp_path / "batch.toml"
    batch.write_text(f'[[report]]\narea = "{county}"\nbands = [{text}]\n')
    assert allowed in refused("report", demo_release, "--batch", batch, "-q", "-o", tmp_path / "out")


def test_a_direction_can_be_combined_with_other_keys() -> None:
    way = octant(numpy.array([0.0, 359.0, 180.0, numpy.nan]))
    assert ((MAX_EDGES + 1) * 10 + way).tolist() == [210, 210, 214, 209]


def test_the_longest_area_has_an_answer_a_setup_and_a_report(release: Release) -> None:
    units = release.areas.units("block").rows["unit_id"]
    blocks = [f"block:{unit}" for unit in units[units.str.len() == 15]]
    text = " +".join((blocks * 2)[:MAX_STEPS])
    found = release.with_errors(release.profile(text, side="home"))
    assert found.about.n_blocks == min(len(blocks), MAX_STEPS)
    state = Question(areas=tuple(blocks[:MAX_PARTS]), side="home")
    assert read(to_query(Address(question=state))) == (Address(question=state), ())
    address = Address(question=state)
    assert setup_file.load(setup_file.save(release, address), release)[0] == address
    assert "stay" in str(release.with_errors(release.inflow_outflow(text)).numbers())


def test_a_setup_can_hold_the_largest_shape(release: Release) -> None:
    turn = numpy.linspace(0, 2 * numpy.pi, 49_000, endpoint=False)
    places = release.areas.places
    middle = float(places["lon_deg"].iloc[0]), float(places["lat_deg"].iloc[0])
    reach = 1 + 0.2 * numpy.sin(3_000 * turn)
    shape = shapely.Polygon(
        numpy.column_stack([middle[0] + reach * numpy.cos(turn) / 2, middle[1] + reach * numpy.sin(turn) / 2])
    )
    step = str(Shape.of(shape))
    assert 200_000 < len(step) <= MAX_TEXT
    state = Question(areas=(step,), others=(step,), analysis="paired", side="home")
    part = Part(state).settle(release)
    (embedded,) = remake([release], [part], date=None, error_rows=27).setups
    assert setup_file.load(embedded[1].encode(), release)[0].question == part.question


def test_the_most_rings_filters_and_layers_are_answered(release: Release, county: str) -> None:
    block = release.areas.places.iloc[0]
    rings = ring_areas(block["lon_deg"], block["lat_deg"], range(1, MAX_RINGS + 1))
    every = Filters((1, 2, 3), (1, 2, 3), (1, 2, 3))
    for ring in rings:
        release.with_errors(release.inflow_outflow(ring, every))
    finest = "block"
    found: Any = release.flow_matrix(finest, finest, every)
    assert found.cells["workers"].sum() == found.workers.value == release.profile().workers.value
    for layer in release.areas.columns:
        answered: Any = release.with_errors(release.comparison(filters=every, layer=layer))
        assert answered.units["workers"].sum() == found.workers.value


def test_counts_beyond_an_int32_add_up(tmp_path: Path) -> None:
    path = write_release(tmp_path / "large")
    rewrite_table(path, "jobs", lambda jobs: jobs.assign(count=numpy.int32(2**31 - 1)))
    jobs = pandas.read_parquet(path / "jobs.parquet")
    release = open_release(path)
    whole = int(jobs["count"].astype("int64").sum())
    assert release.profile().workers.value == whole
    assert release.comparison(layer="block").units["workers"].sum() == whole
    assert release.distance_direction().bands["workers"].sum() == whole
    assert release.flow_matrix().cells["workers"].sum() == whole
