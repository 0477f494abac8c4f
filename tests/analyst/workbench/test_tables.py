"""The Tables panel: what is expected reads no home, follows the sliders, and is what publishing decides."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodata.store.schema import TABLES
from geodata.store.store import Store, open_store, write_store
from mapapp.analyst.workbench.app import create_app
from mapapp.analyst.workbench.jobs import Cancelled
from mapapp.answers.areas.areas import Areas
from mapapp.base.errors import UsageError
from mapapp.kinds.tables.make import counts
from mapapp.kinds.tables.make.expected import expected_table
from mapapp.kinds.tables.make.run import Choice, make_table
from mapapp.kinds.tables.tune import plans as table_plans
from mapapp.kinds.tables.tune.figures import pattern_figure
from mapapp.kinds.tables.tune.panel import actual_cards, delta_at, expected_cards, tables_panel
from mapapp.kinds.tables.tune.plans import DELTAS, EPSILONS, TablePlans, actual_table, expected_shift, spec_of
from tests.analyst.workbench.browser_requests import ask, entered
from tests.analyst.workbench.test_lab import parts, texts
from tests.sharing import made_once
from tests.tables import write_later_jobs, write_prior

CONTROLS = {"rows": "county", "columns": "industry,earnings", "counts": "same-unit", "miles": 25}
SPEC = spec_of(CONTROLS)
PATIENCE_S = 60
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


@pytest.fixture(scope="module")
def later(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = made_once(
        tmp_path_factory, "tune later", lambda place: write_later_jobs(place / "later.dataset", demo_dataset)
    )
    return folder / "later.dataset"


@pytest.fixture(scope="module")
def prior(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_prior(tmp_path_factory.mktemp("prior") / "prior.csv", demo_dataset, SPEC))


def plans_of(store: Store) -> TablePlans:
    return TablePlans(store, Areas(store))


@pytest.fixture(scope="module")
def plans(later: Path) -> TablePlans:
    return plans_of(open_store(later, "dataset", verify=False))


def test_what_is_expected_depends_on_no_home(later: Path, prior: str, tmp_path: Path) -> None:
    """Two datasets that differ in the homes alone have the same expected pattern."""
    store = open_store(later, "dataset", verify=False)
    jobs = store.table("jobs")
    moved = jobs.assign(origin_index=np.roll(jobs["origin_index"].to_numpy(), 1))
    kept = {
        name: value
        for name, value in store.manifest.items()
        if name not in ("schema_version", "kind", "files")
    }
    with write_store(tmp_path / "moved.dataset", "dataset") as writer:
        for table in TABLES["dataset"]:
            if table.name == "jobs":
                keys = [name for name in moved.columns if name != "count"]
                writer.table(
                    "jobs", moved.groupby(keys, as_index=False).agg({"count": "sum"})[list(moved.columns)]
                )
            else:
                writer.copy_table(store, table.name)
        writer.facts(**kept)
    other = plans_of(open_store(tmp_path / "moved.dataset", "dataset", verify=False))
    one, two = (expected_table(each.nodes(SPEC, prior), HALF, TENTH) for each in (plans_of(store), other))
    assert np.array_equal(one.releasable, two.releasable)
    assert texts(expected_cards(one, HALF, TENTH)) == texts(expected_cards(two, HALF, TENTH))


def test_no_value_is_counted_until_it_is_asked_for(
    later: Path, prior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("homes were read")

    monkeypatch.setattr(table_plans, "count_values", refuse)
    plans = plans_of(open_store(later, "dataset", verify=False))
    nodes = plans.nodes(SPEC, prior)
    assert plans.shares(SPEC, prior).shape == (len(DELTAS), len(EPSILONS))
    with pytest.raises(AssertionError, match="homes were read"):
        actual_table(plans.store, nodes, HALF, TENTH)


def test_the_actual_pattern_is_what_publishing_would_release(
    plans: TablePlans, later: Path, prior: str, tmp_path: Path
) -> None:
    found = actual_table(plans.store, plans.nodes(SPEC, prior), HALF, TENTH)
    dataset = Path(shutil.copytree(later, tmp_path / "later.dataset"))
    choice = Choice(specs=(SPEC,), prior=Path(prior), epsilon=HALF, delta=TENTH)
    made = make_table(dataset, tmp_path / "x.table", choice)
    cells = open_store(made.table, "table", verify=False).table("table_cells")
    cells = cells[cells["kind"] == "cell"]
    assert found.released.tolist() == (cells["state"] == "released").tolist()
    shift = found.shift[found.released & ~found.outside]
    assert (shift <= 0.5).all()


def test_more_epsilon_and_more_delta_release_more(plans: TablePlans, prior: str) -> None:
    shares = plans.shares(SPEC, prior)
    assert (np.diff(shares, axis=0) >= 0).all()
    assert (np.diff(shares, axis=1) >= 0).all()
    at = EPSILONS.index("0.5"), DELTAS.index("0.1")
    expected = expected_table(plans.nodes(SPEC, prior), HALF, TENTH)
    assert shares[at[1], at[0]] == expected.share_of_people


def test_the_expected_shift_is_that_of_the_binomial(plans: TablePlans, prior: str) -> None:
    plan = plans.nodes(SPEC, prior).plan
    rate = plan.rates.numerator / plan.rates.denominator
    draws = np.random.default_rng(5).binomial(plan.people, rate, size=(2000, plan.people.size)) / plan.people
    rarer = np.minimum(rate, 1 - rate)
    simulated = np.sqrt((((draws - rate) / rarer) ** 2).mean(axis=0))
    assert np.allclose(simulated, expected_shift(plan), rtol=0.12)


def test_the_pattern_has_every_cell_and_no_two_columns_share_a_label(plans: TablePlans, prior: str) -> None:
    plan = plans.nodes(SPEC, prior).plan
    released = expected_table(plans.nodes(SPEC, prior), HALF, TENTH).releasable
    figure = pattern_figure(plan, released)
    drawn = np.asarray(figure.data[0].z, dtype=float)
    assert np.isfinite(drawn).sum() == plan.n_cells
    assert (drawn == 1).sum() == released.sum()
    labels = list(figure.layout.xaxis.ticktext)
    assert len(set(labels)) == len(labels) == drawn.shape[1]


def test_the_panel_says_that_looking_costs_nothing_and_counting_is_confidential(
    plans: TablePlans, prior: str
) -> None:
    said = " ".join(texts(tables_panel(plans.layers, plans.usual_rows)))
    assert "Looking costs nothing" in said
    assert "showing it to anybody else is a publication" in said
    expected = expected_table(plans.nodes(SPEC, prior), HALF, TENTH)
    actual = actual_table(plans.store, plans.nodes(SPEC, prior), HALF, TENTH)
    shown = actual_cards(expected, actual)
    assert "Confidential: counted from real homes." in texts(shown)
    assert len(parts(shown, "Graph")) == 2


def test_flows_have_a_pattern_too(plans: TablePlans, demo_dataset: Path, tmp_path: Path) -> None:
    spec = spec_of(CONTROLS | {"counts": "flows"})
    prior = str(write_prior(tmp_path / "flows.csv", demo_dataset, spec))
    expected = expected_table(plans.nodes(spec, prior), HALF, TENTH)
    assert len(parts(expected_cards(expected, HALF, TENTH), "Graph")) == 1
    actual = actual_table(plans.store, plans.nodes(spec, prior), HALF, TENTH)
    assert actual.released.any()
    assert np.isnan(actual.shift).all()


def test_a_prior_that_is_missing_or_made_of_these_jobs_is_refused(
    plans: TablePlans, later: Path, tmp_path: Path
) -> None:
    for path, words in (
        ("", "prior is missing"),
        (str(tmp_path / "no"), "not a release"),
        (str(later), "dataset"),
    ):
        with pytest.raises(UsageError, match=words):
            plans.nodes(SPEC, path)


def test_stops_of_delta_stay_within_their_range() -> None:
    assert (delta_at(-1), delta_at(99)) == (DELTAS[0], DELTAS[-1])


def test_a_count_reports_its_progress_and_ends_when_it_is_cancelled(plans: TablePlans, prior: str) -> None:
    said: list[str] = []

    def report(stage: str, _done: int, total: int) -> None:
        said.append(stage)
        if stage == "counting workers":
            assert total > 0
            raise Cancelled

    with pytest.raises(Cancelled):
        actual_table(plans.store, plans.nodes(SPEC, prior), HALF, TENTH, report)
    assert said == ["counting workers"]


def test_areas_are_opened_once(later: Path, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = plans_of(open_store(later, "dataset", verify=False))

    def refuse(*_: Any) -> Any:
        raise AssertionError("areas were opened again")

    monkeypatch.setattr(counts, "Areas", refuse)
    assert plans.nodes(SPEC, prior).plan.n_cells > 0


def test_count_runs_behind_the_page_and_shows_what_the_controls_still_say(
    later: Path, prior: str, tmp_path: Path
) -> None:
    app = create_app(Path(shutil.copytree(later, tmp_path / "later.dataset")))
    client, session = entered(app), app.server.extensions["workbench"][0]
    given = {f"tables-{name}.value": value for name, value in CONTROLS.items()}
    given |= {
        "tables-prior.value": prior,
        "tables-epsilon.value": 0.5,
        "tables-delta.value": 6,
        "tab.data": "a tab",
    }
    started = ask(client, app, "tables-progress.children", {"tables-count.n_clicks": 1} | given)
    assert started.get_json()["response"]["tables-row"] == {"hidden": False}
    job = session.tab("a tab").jobs["tables"]
    assert job.wait(PATIENCE_S)
    followed = ask(client, app, "tables-shown.data", {"tables-pulse.data": 1} | given).get_json()["response"]
    assert followed["tables-shown"] == {"data": job.number}
    shown = ask(client, app, "tables-actual.children", {"tables-shown.data": job.number} | given)
    assert "Confidential: counted from real homes." in shown.get_data(as_text=True)
    other = ask(
        client,
        app,
        "tables-actual.children",
        {"tables-epsilon.value": 0.6} | given | {"tables-epsilon.value": 0.6},
    )
    assert other.get_json()["response"]["tables-actual"] == {"children": None}
    ask(
        client,
        app,
        "tables-progress.children",
        {"tables-count.n_clicks": 2} | given | {"tables-prior.value": ""},
    )
    assert session.tab("a tab").jobs["tables"].wait(PATIENCE_S)
    refused = ask(client, app, "tables-shown.data", {"tables-pulse.data": 2} | given)
    assert "the prior is missing" in refused.get_data(as_text=True)
