"""The Records panel: its figures against plain counts, its command line, its callbacks, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

from engine.records.acceptance import Acceptance
from geodata.errors import StoreError
from geodata.store.store import open_store
from mapapp.analyst.workbench.app import create_app
from mapapp.analyst.workbench.setting import CONTROLS as FLOW_CONTROLS
from mapapp.analyst.workbench.setting import preset_values
from mapapp.base.errors import UsageError
from mapapp.commands.cli import commutemap
from mapapp.commands.records import records
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.option import bind_options
from mapapp.kinds.records.make.choice import RECORD_OPTIONS, Choice
from mapapp.kinds.records.measure.workers import RecordWorkers
from mapapp.kinds.records.tune import figures
from mapapp.kinds.records.tune.expected import RecordsExpectation
from mapapp.kinds.records.tune.panel import groups_table, promise_tiles, records_panel, tries_words
from mapapp.kinds.records.tune.setting import (
    CONTROLS,
    KIND,
    NUMBERS,
    choice_of,
    command_line,
    find_unused,
    start_values,
    stops,
)
from tests.analyst.workbench.browser_requests import ask, entered
from tests.analyst.workbench.test_lab import parts, texts

PATIENCE_S = 120
FLOWS = preset_values("onthemap-v3", has_flows=True)


@pytest.fixture(scope="module")
def workers(demo_dataset: Path) -> RecordWorkers:
    return RecordWorkers(open_store(demo_dataset, "dataset", verify=False))


@pytest.fixture(scope="module")
def start(workers: RecordWorkers) -> dict[str, object]:
    return start_values(workers) | {"kept": 4, "given": "test"}


@pytest.fixture(scope="module")
def expectation(workers: RecordWorkers) -> RecordsExpectation:
    return RecordsExpectation(workers)


def given(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Values as a browser sends them."""
    own = {f"{KIND}-{name}.value": values[name] for name in CONTROLS}
    flows = {
        f"{name}.{'checked' if name == 'replication' else 'value'}": FLOWS[name] for name in FLOW_CONTROLS
    }
    return own | flows | {"tab.data": "a tab", "tabs.value": "records"} | more


def refusal_of(workers: RecordWorkers, choice: Choice) -> str:
    try:
        workers.plan(choice)
    except UsageError as error:
        return str(error)
    return ""


def test_it_starts_from_a_setting_that_the_workers_allow(workers: RecordWorkers) -> None:
    start = start_values(workers)
    choice = choice_of(start, workers)
    assert choice.kept == workers.attributes.names[:1]  # few workers: already pairs of PUMAs are small
    assert workers.plan(choice).seeds is not None
    assert set(start) == set(CONTROLS)
    for name in NUMBERS:
        assert list(map(Fraction, stops(name, 1500))) == sorted(map(Fraction, stops(name, 1500)))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"kept": 0, "epsilon": "0.5"},
        {"kept": 2, "given": "epsilon", "epsilon": "12", "delta": "1e-5"},
        {"kept": 1, "n_tries": "400", "forced_fail": "1/20", "threshold_epsilon": "0.3"},
        {"kept": 3, "delta": "1e-4"},
        {"kept": 2, "given": "k", "min_seeds": "300"},
        {"kept": 2, "split": "1/2, 1/2"},
        {"kept": 2, "given": "k", "min_seeds": "1,00", "seed_floor": "20", "n_min": "1,500"},
        {"kept": 1, "similarity": "1.25", "accountant": "paper"},
        {
            "kept": 1,
            "min_seeds": "1,214",
            "threshold_epsilon": "1/10",
            "accountant": "paper",
            "n_records": "2,500",
            "similarity": "1.25",
        },
        {
            "kept": 0,
            "n_records": "2000",
            "split": "0,1",
            "seed_floor": "5",
            "accountant": "paper",
            "similarity": "x",
        },
        {"kept": 0, "epsilon": "20", "structure": "learned", "anyway": "anyway", "delta": "1e-4"},
        {
            "kept": 1,
            "structure": "learned",
            "anyway": "anyway",
            "split": "0.5,0.2,0.3",
            "min_seeds": "40",
            "threshold_epsilon": "9",
        },
        {"kept": 1, "anyway": "anyway"},
    ],
    ids=lambda changed: "-".join(changed) or "start",
)
def test_the_command_line_is_read_back_as_the_setting(
    workers: RecordWorkers, start: dict[str, object], changed: dict[str, object], demo_dataset: Path
) -> None:
    values = start | changed
    words = shlex.split(command_line(values, workers, demo_dataset))
    assert words[:2] == ["commutemap", "records"]
    # The names of help, too: click keeps the help option that a command was first asked for.
    context = records.make_context("records", words[2:], **commutemap.context_settings)
    assert context.params["dataset"] == demo_dataset
    choice = choice_of(values, workers)
    assert bind_options(Choice, context.params)() == choice
    found = CliRunner().invoke(commutemap, [*words[1:], "--dry-run", "--json", "--quiet"])
    if says := refusal_of(workers, choice):
        assert str(found.exception) == says
        return
    assert found.exit_code == 0, found.output
    plan = workers.plan(choice)
    stated = json.loads(found.output)
    for reading, amounts in (("add_remove", plan.add_remove), ("replace_one", plan.replace_one)):
        assert Fraction(stated["promise"][reading]["epsilon"]["exact"]) == amounts.epsilon
        assert Fraction(stated["promise"][reading]["delta"]["exact"]) == amounts.delta
    if plan.seeds is not None:
        assert stated["seeds"]["min_plausible_seeds"] == plan.seeds.acceptance.min_plausible_seeds
        assert stated["seeds"]["seed_floor"] == plan.seeds.acceptance.seed_floor
        assert stated["seeds"]["tries"] == plan.seeds.n_tries


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"min_seeds": "many"}, "--min-seeds 'many': give a whole number"),
        ({"min_seeds": "1"}, "protect nobody"),
        ({"threshold_epsilon": "0"}, "--threshold-epsilon 0"),
        ({"threshold_epsilon": "x"}, "finite number"),
        ({"forced_fail": "0"}, "--forced-fail 0"),
        ({"n_tries": "-3"}, "give a whole number"),
        ({"delta": "1e-60"}, "use up"),
        ({"kept": 0, "epsilon": "-1"}, "--epsilon -1"),
        ({"given": "epsilon", "epsilon": "1e-9"}, "no number of plausible seeds"),
        ({"kept": 0, "structure": "learned"}, "below 100,000 workers the noise decides"),
        ({"kept": 12}, "the table of group sizes would have"),
        ({"split": "0.6,0.5"}, "shares add up to 1.1"),
        ({"split": "0.6"}, "give two or three shares"),
        ({"split": "0,1"}, "--split gives no workers to the seeds"),
        ({"kept": 0, "split": "0.6,0.4"}, "but --kept none uses none"),
        ({"split": "0.5,0.3,0.2"}, "but --structure public uses none"),
        ({"seed_floor": "0"}, "--seed-floor 0: give 1 to"),
        ({"seed_floor": "few"}, "--seed-floor 'few': give a whole number"),
        ({"given": "k", "min_seeds": "20", "seed_floor": "21"}, "--seed-floor 21: give 1 to 20"),
        ({"similarity": "0.5"}, "--similarity 0.5"),
        ({"n_min": "1"}, "--n-min 1: give 2"),
        ({"n_min": "2900"}, "are sure to be seeds"),
        ({"n_records": "3001"}, "--records 3,001 is more than the dataset has workers"),
        ({"n_records": "1000"}, "more might pass than there is room for"),
        ({"given": "epsilon", "accountant": "paper"}, "--epsilon with --accountant paper"),
    ],
)
def test_what_is_not_allowed_is_one_line(
    expectation: RecordsExpectation, start: dict[str, object], changed: dict[str, object], says: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(says)) as refused:
        expectation.of(start | changed)
    assert "\n" not in str(refused.value)


def test_controls_without_effect_are_disabled(start: dict[str, object]) -> None:
    assert find_unused(start) == {"epsilon", "anyway"}
    assert find_unused(start | {"structure": "learned"}) == {"epsilon"}
    assert find_unused(start | {"given": "k"}) == {"epsilon", "threshold_epsilon", "anyway"}
    assert find_unused(start | {"given": "epsilon"}) == {"min_seeds", "threshold_epsilon", "anyway"}
    of_seeds = {"given", "min_seeds", "threshold_epsilon", "forced_fail", "n_tries", "n_min"}
    of_seeds |= {"seed_floor", "similarity", "accountant"}
    assert find_unused(start | {"kept": 0}) == {*of_seeds, "delta", "anyway"}
    assert find_unused(start | {"kept": 0, "structure": "learned"}) == of_seeds


def test_curves_are_the_rates_and_the_shares_of_each_prefix(
    expectation: RecordsExpectation, start: dict[str, object]
) -> None:
    found = expectation.of(start)
    figure = figures.pass_figure(found.seed_sizes, found.names, found.test, 4)
    by_name = {trace.name: trace for trace in figure.data}
    for sizes, name in zip(found.seed_sizes, found.names, strict=True):
        trace = by_name[name]
        for k, y in list(zip(trace.x, trace.y, strict=True))[::20]:
            test = Acceptance(
                min_plausible_seeds=int(k),
                threshold_epsilon=found.test.threshold_epsilon,
                forced_fail=found.test.forced_fail,
            )
            assert y == pytest.approx(100 * sizes.pass_rate(test))
    marked = by_name["this setting"]
    assert list(marked.x) == [found.test.min_plausible_seeds]
    assert list(marked.y) == [pytest.approx(100 * found.pass_rate)]
    workers = pandas.DataFrame(expectation.workers.codes, columns=list(expectation.workers.attributes.names))
    size = workers.groupby(list(workers.columns[:2]))["age"].transform("size")
    drawn = figures.groups_figure(expectation.workers.sizes, found.names, 4)
    trace = next(trace for trace in drawn.data if trace.name == found.names[2])
    for least, y in list(zip(trace.x, trace.y, strict=True))[::10]:
        assert y == pytest.approx(100 * (size >= least).mean())
    assert f"{100 * (size >= 500).mean():.1f}%" in texts(groups_table(expectation.workers.sizes, found.names))


def test_tries_and_both_readings_are_those_of_the_plan(
    expectation: RecordsExpectation, start: dict[str, object]
) -> None:
    found = expectation.of(start)
    cost = expectation.cost(found.plan)
    assert cost is not None
    seeds = found.plan.parts[0]
    assert f"{float(seeds.add_remove.epsilon):.4g}" in tries_words(found.plan)
    assert f"{float(seeds.replace_one.epsilon):.4g}" in tries_words(found.plan)
    marked = (found.plan.seeds.n_tries, 1.5) if found.plan.seeds is not None else (1, 1.5)
    figure = figures.tries_figure(cost.tries, cost.ours, cost.paper, marked)
    ours, paper, setting = figure.data
    assert (ours.name, paper.name, list(setting.x)) == (
        "all tries together (this program)",
        "the paper",
        [marked[0]],
    )
    both = [(one, other) for one, other in zip(ours.y, paper.y, strict=True) if None not in (one, other)]
    assert both
    assert all(one < other for one, other in both)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


def test_boxes_reach_from_quartile_to_quartile_and_squares_share_a_scale() -> None:
    distances = np.linspace(0.01, 0.2, 21)
    tables = pandas.DataFrame({"variant": "seedless", "n_attributes": 2, "distance": distances})
    one = pandas.DataFrame({"variant": "seedless", "n_attributes": [1, 3], "distance": [0.0, 0.5]})
    (box,) = figures.boxes_figure(pandas.concat([tables, one])).data
    quartiles = np.quantile(distances, [0, 0.25, 0.5, 0.75, 1])
    drawn = [getattr(box, name)[1] for name in ("lowerfence", "q1", "median", "q3", "upperfence")]
    assert drawn == pytest.approx(quartiles.tolist())
    attributes = pandas.DataFrame(
        {"attribute": ["a", "b"], "title": ["A", "B"], "distance": [0.1, 0.2], "noise_floor": 0.01}
    )
    pairs = pandas.DataFrame({"first": ["a"], "second": ["b"], "distance": [0.3], "noise_floor": [0.02]})
    (square,) = figures.pairs_figure(attributes, pairs, 0.4).data
    assert np.asarray(square.z).tolist() == [[0.1, 0.02], [0.3, 0.2]]
    assert square.zmax == 0.4


def test_every_option_of_a_choice_has_a_control_or_a_reason() -> None:
    """`--no-top-up` has none: the comparison shows records with and without the top-up; nothing is published there.

    `--jobs-per-person` has none: few datasets know persons, and the default is shown with the promise.
    """
    assert {*CONTROLS, "top_up", "given_segments", "jobs_per_person"} == {*RECORD_OPTIONS, "given"}


def test_rates_heed_the_seed_floor_as_far_as_k_allows(
    expectation: RecordsExpectation, start: dict[str, object]
) -> None:
    found = expectation.of(start | {"kept": 2, "given": "k", "seed_floor": "150", "min_seeds": "200"})
    sizes = found.seed_sizes[2]
    with_floor = figures.pass_rates(sizes, found.test, [200, 100])
    assert with_floor[0] == pytest.approx(sizes.pass_rate(found.test))
    lower = replace(found.test, min_plausible_seeds=100, seed_floor=100)
    assert with_floor[1] == pytest.approx(sizes.pass_rate(lower))
    assert found.pass_rate < sizes.pass_rate(replace(found.test, seed_floor=None))


def test_the_paper_accountant_is_marked(expectation: RecordsExpectation, start: dict[str, object]) -> None:
    allowed = start | {"kept": 1, "min_seeds": "1000", "threshold_epsilon": "0.5"}
    sound, paper = (
        " ".join(
            texts(
                promise_tiles(
                    expectation.of(allowed | {"accountant": name}),
                    "a command",
                    {},
                )
            )
        )
        for name in ("sound", "paper")
    )
    assert "Not for release: paper accountant" in paper
    assert "Not for release" not in sound


def test_the_panel_says_where_records_come_from_and_that_nothing_is_charged(
    workers: RecordWorkers, expectation: RecordsExpectation, start: dict[str, object]
) -> None:
    said = " ".join(texts(records_panel(workers)))
    assert "Nothing is charged here." in said
    assert f"the dataset's {workers.n_workers:,} worker records, with 12 attributes each" in said
    assert said.count("Confidential: counted from real workers.") == 2
    found = expectation.of(start)
    tiles = " ".join(texts(promise_tiles(found, "commutemap records x.dataset x.records", {})))
    assert f"{float(found.plan.replace_one.epsilon):.4g}" in tiles
    (copy,) = parts(promise_tiles(found, "commutemap records x.dataset x.records --kept none", {}), "Button")
    assert copy.value == "commutemap records x.dataset x.records --kept none"
    assert "commutemap records x.dataset x.records" in tiles


def test_a_dataset_of_jobs_says_that_records_would_have_seven_attributes(demo_dataset: Path) -> None:
    store = open_store(demo_dataset, "dataset", verify=False)
    files = {name: facts for name, facts in store.manifest["files"].items() if name != "workers.parquet"}
    facts = {
        name: value for name, value in store.manifest.items() if name not in ("files", "worker_attributes")
    }
    jobs_only = RecordWorkers(replace(store, manifest={**facts, "files": files}))
    said = " ".join(texts(records_panel(jobs_only)))
    assert "no worker records of its own" in said
    assert "3,000 jobs, with 7 attributes each" in said


def test_a_dataset_whose_workers_cannot_be_used_has_one_line_in_place_of_the_panel(
    workers: RecordWorkers, demo_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_workers: RecordWorkers) -> Any:
        raise StoreError("x.dataset: no workers in it, so there is nothing to synthesize; import some")

    monkeypatch.setattr("mapapp.analyst.workbench.app.records_panel", refuse)
    app = create_app(Path(shutil.copytree(demo_dataset, tmp_path / "demo.dataset")))
    page = ask(entered(app), app, "page.children", {"url.pathname": "/", "tab.data": "a tab"})
    assert "no workers in it, so there is nothing to synthesize" in page.get_data(as_text=True)
    assert not any(f"{KIND}-said" in key for key in app.callback_map)


def test_the_page_follows_its_controls_and_draws_on_request(
    demo_dataset: Path, tmp_path: Path, start: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Path(shutil.copytree(demo_dataset, tmp_path / "demo.dataset"))
    app = create_app(dataset)
    client, session = entered(app), app.server.extensions["workbench"][0]
    expect = f"{KIND}-said.children"
    closed = ask(client, app, expect, given(start, **{"tabs.value": "setting"}))
    assert "children" not in closed.get_data(as_text=True)  # nothing is read until the panel is open
    opened = ask(client, app, expect, given(start)).get_json()["response"]
    assert opened[f"{KIND}-answer"] == {"hidden": False}
    rates = f"{KIND}-pass-chart.figure"
    assert ask(client, app, rates, given(start)).get_json()["response"][f"{KIND}-tries-card"] == {
        "hidden": False
    }
    groups = ask(client, app, f"{KIND}-groups-chart.figure", given(start)).get_json()["response"]
    assert len(groups[f"{KIND}-groups-chart"]["figure"]["data"]) == 13
    seedless = ask(client, app, rates, given(start | {"kept": 0})).get_json()["response"]
    assert seedless[f"{KIND}-tries-card"] == {"hidden": True}
    wrong = ask(client, app, expect, given(start | {"forced_fail": "0"})).get_data(as_text=True)
    assert "--forced-fail 0" in wrong
    assert f"{KIND}-promise" not in wrong  # the page keeps what it has
    assert "figure" not in ask(client, app, rates, given(start | {"forced_fail": "0"})).get_data(as_text=True)
    disabled = ask(client, app, f"{KIND}-min_seeds-slider.disabled", given(start | {"kept": 0})).get_json()[
        "response"
    ]
    assert disabled[f"{KIND}-min_seeds-slider"] == {"disabled": True}

    draw = f"{KIND}-progress.children"
    refused = ask(client, app, draw, given(start | {"min_seeds": "x"}, **{f"{KIND}-draw.n_clicks": 1}))
    assert "give a whole number" in refused.get_data(as_text=True)
    ask(client, app, draw, given(start | {"kept": 2}, **{f"{KIND}-draw.n_clicks": 1}))
    job = session.tab("a tab").jobs[KIND]
    assert job.wait(PATIENCE_S)
    assert job.state == "done", job.error
    followed = ask(client, app, f"{KIND}-shown.data", given(start, **{f"{KIND}-pulse.data": 1}))
    assert followed.get_json()["response"][f"{KIND}-shown"] == {"data": job.number}
    same = ask(client, app, f"{KIND}-results.children", given(start | {"kept": 2})).get_data(as_text=True)
    assert "Distance from the real workers" in same
    assert "Lost commutes" in same
    assert "The controls have changed since" not in same
    other = ask(client, app, f"{KIND}-results.children", given(start)).get_data(as_text=True)
    assert "The controls have changed since" in other
    assert not Ledger(dataset).entries()

    def endless(*_: Any, report: Any, **__: Any) -> Any:
        while True:
            report("drawing", 1, 2)

    monkeypatch.setattr("mapapp.kinds.records.tune.callbacks.draw_variants", endless)
    ask(client, app, draw, given(start, **{f"{KIND}-draw.n_clicks": 2}))
    ask(client, app, f"{KIND}-cancel.n_clicks", given(start, **{f"{KIND}-cancel.n_clicks": 1}))
    job = session.tab("a tab").jobs[KIND]
    assert job.wait(PATIENCE_S)
    assert job.state == "cancelled"
    ended = ask(client, app, f"{KIND}-shown.data", given(start, **{f"{KIND}-pulse.data": 2}))
    assert "The comparison was cancelled." in ended.get_data(as_text=True)


def test_charts_have_tables_and_words(expectation: RecordsExpectation, workers: RecordWorkers) -> None:
    panel = records_panel(workers)
    assert len(parts(panel, "Graph")) == 3
    assert len(parts(panel, "Details")) == 1 + 3  # more settings, and a table of each chart
