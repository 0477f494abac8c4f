"""What the workbench measures is what the pipeline measures; a new move takes the place of the old one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas
import pytest

import mapapp.analyst.workbench.session as session_module
from geodata.progress import Progress
from mapapp.analyst.validity.tract import measure_tract
from mapapp.analyst.validity.validity import measure_setting
from mapapp.analyst.workbench.figures import sweep_chart
from mapapp.analyst.workbench.jobs import Cancelled, Job
from mapapp.analyst.workbench.results import SWEEPS, SweepResults
from mapapp.analyst.workbench.session import Session, Superseded
from mapapp.analyst.workbench.setting import preset_values, read_setting
from mapapp.analyst.workbench.sweeps import run_sweeps
from mapapp.kinds.release.choose.public_part import read_public_part
from mapapp.kinds.release.choose.setting_choice import choose_setting
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.settings import designed_choice, parameters_of

START = preset_values("onthemap-v3", has_flows=True)
PATIENCE_S = 120


@pytest.fixture
def sampled(session: Session) -> Session:
    """As if the dataset had many more tracts than the sample."""
    session.sample = session.data.sample(3)
    assert not session.sample_is_all
    return session


def test_it_starts_as_the_command_does(session: Session) -> None:
    """The recommended preset, with the radii that `synthesize` chooses."""
    privacy, parameters = parameters_of(session.path, ReleaseOptions())
    choice = designed_choice(ReleaseOptions())
    assert choice is not None
    privacy, parameters, _ = choose_setting(read_public_part(session.store), privacy, parameters, choice)
    started = read_setting(session.start)
    assert started.parameters == parameters
    assert started.privacy.stated("exponential") == privacy.stated("exponential")
    assert session.tab("new").values == session.start


def test_the_sample_answers_and_the_whole_follows(sampled: Session) -> None:
    setting = read_setting(START)
    measured = sampled.show("tab", setting)
    assert (measured.extent, measured.validity.facts["scope"]["tracts_measured"]) == ("sample", 3)
    assert measured.job is not None
    assert measured.job.wait(PATIENCE_S)
    whole = sampled.shown_measures("tab")
    assert whole is not None
    assert whole.extent == "whole"
    assert not whole.validity.facts["scope"]["is_sample"]
    expected = measure_setting(sampled.data, setting.privacy, setting.parameters, draw=True)
    assert whole.validity.summary == pytest.approx(expected.summary, nan_ok=True)


def test_the_setting_before_stands_beside_on_the_same_tracts(sampled: Session) -> None:
    first, second = (read_setting(START | {"epsilon": epsilon}) for epsilon in ("4.6", "2"))
    looks = []
    for setting in (first, second):
        measured = sampled.show("tab", setting)
        assert measured.job is not None
        looks.append((measured, measured.job.wait(PATIENCE_S)))
    sample = looks[1][0]
    whole = sampled.shown_measures("tab")
    assert sample.previous is not None
    assert sample.previous.kl_all == looks[0][0].validity.kl_all
    assert whole is not None
    assert whole.previous is not None
    assert not whole.previous.facts["scope"]["is_sample"]
    assert whole.validity.kl_all > whole.previous.kl_all
    again = sampled.show("tab", first)
    assert again.extent == "whole"  # measured already
    assert again.previous is not None
    assert again.previous.kl_all == whole.validity.kl_all
    assert sampled.show("other", first).previous is None  # tabs do not mix


def test_a_new_move_cancels_the_old_one(sampled: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(data: Any, privacy: Any, parameters: Any, *, tracts: Any, draw: bool, report: Any) -> Any:
        if tracts is None:
            started.set()
            assert go_on.wait(PATIENCE_S)
        report("measuring", 0, 1)
        return measure_setting(data, privacy, parameters, tracts=tracts, draw=draw)

    monkeypatch.setattr(session_module, "measure_setting", slow)
    measured = sampled.show("tab", read_setting(START))
    assert started.wait(PATIENCE_S)
    sampled.show("tab", read_setting(START | {"epsilon": "3"}))
    go_on.set()
    assert measured.job is not None
    assert measured.job.wait(PATIENCE_S)
    assert measured.job.state == "cancelled"


def test_an_answer_that_comes_too_late_is_dropped(sampled: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(data: Any, privacy: Any, parameters: Any, *, tracts: Any, draw: bool, report: Any) -> Any:
        sampled.tab("tab").n_requests += 1
        report("measuring", 0, 1)

    monkeypatch.setattr(session_module, "measure_setting", interrupted)
    with pytest.raises(Superseded):
        sampled.show("tab", read_setting(START))


def test_tabs_are_forgotten_and_their_work_ended(session: Session) -> None:
    held = threading.Event()

    def work(report: Progress) -> SweepResults:
        while not held.wait(0.01):
            report("", 0, 0)
        raise AssertionError("the work was not cancelled")

    job = session.start_job("first", "sweep", work)
    for number in range(20):
        session.tab(f"tab {number}")
    assert job.wait(PATIENCE_S)
    assert job.state == "cancelled"


def test_a_job_tells_what_went_wrong_and_nothing_it_was_not_meant_to() -> None:
    def fails(report: Any) -> None:
        raise KeyError("4711 workers of block 17")

    job = Job(fails)
    assert job.wait(PATIENCE_S)
    assert job.state == "failed"
    assert "KeyError" in job.error
    assert "4711" not in job.error
    job.cancel()
    with pytest.raises(Cancelled):
        job.report("", 0, 0)


def test_sweeps_measure_each_value_once_and_the_papers_setting(session: Session) -> None:
    seen = []
    swept = run_sweeps(
        session, START, "sample", lambda so_far: seen.append(len(so_far.rows["epsilon"])), lambda *_: None
    )
    assert seen[:3] == [1, 2, 3]
    for sweep in SWEEPS:
        frame = swept.frame(sweep.name)
        assert frame["value"].tolist() == sorted(map(float, sweep.values))
        assert (frame[["kl_all", "kl_small"]] > 0).all(axis=None)
    assert swept.frame("epsilon")["kl_all"].is_monotonic_decreasing
    assert swept.frame("min_retention")["epsilon_final"].is_monotonic_decreasing
    assert swept.papers is not None
    assert not swept.failed


def test_sweeps_of_a_mechanism_that_prunes_nothing_are_over_the_whole_promise(session: Session) -> None:
    swept = run_sweeps(session, session.start, "sample", lambda _: None, lambda *_: None)
    (sweep,) = swept.sweeps
    frame = swept.frame("epsilon")
    assert sweep.axis == "ε, the whole promise"
    assert frame["epsilon_final"].tolist() == frame["value"].tolist() == sorted(map(float, sweep.values))
    assert frame["kl_all"].is_monotonic_decreasing
    assert swept.papers is not None
    assert not swept.failed


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.001, 0.025, 0.05, 0.1), ("<br>0.001", "0.025", "<br>0.05", "0.1")),
        ((1e-6, 1e-5), ("1e-06", "1e-05")),
    ],
)
def test_labels_of_near_values_stand_upright_on_two_lines(
    values: tuple[float, ...], texts: tuple[str, ...]
) -> None:
    frame = pandas.DataFrame({"value": values}).assign(kl_all=0.1, kl_small=0.2, epsilon_final=9.0)
    chart = sweep_chart(
        frame, x="x", title="KL", marked=(values[0], "V3"), papers=None, shows_epsilon_final=True, log_x=True
    )
    assert (chart.layout.xaxis.ticktext, chart.layout.xaxis.tickangle) == (texts, 0)


def test_the_progress_of_sweeps_rises_to_its_end(session: Session) -> None:
    shares: list[float] = []
    for _ in range(2):  # anew, and out of what is measured already
        run_sweeps(
            session, START, "sample", lambda _: None, lambda _, done, total: shares.append(done / total)
        )
        assert shares == sorted(shares)
        assert shares[-1] == 1
        shares.clear()


def test_a_cancelled_sweep_tells_nothing_more(session: Session) -> None:
    reported: list[int] = []

    def cancelled(_stage: str, done: int, _total: int) -> None:
        if done >= 300:
            raise Cancelled

    for _ in range(2):
        with pytest.raises(Cancelled):
            run_sweeps(session, START, "sample", lambda so_far: reported.append(so_far.n_complete), cancelled)
    assert len(reported) == 4


def test_a_value_that_nothing_holds_for_is_said_and_the_others_are_drawn(session: Session) -> None:
    swept = run_sweeps(session, START | {"strength": "1e15"}, "sample", lambda _: None, lambda *_: None)
    assert len(swept.failed) == sum(len(sweep.values) for sweep in SWEEPS)
    assert all("\n" not in line for line in swept.failed)


@pytest.mark.parametrize("mechanism", ["dirichlet-multinomial", "exponential"])
@pytest.mark.parametrize(("prior", "far"), [("flows", "12500"), ("uniform", "100")])
def test_a_tract_point_by_point_adds_up(session: Session, mechanism: str, prior: str, far: str) -> None:
    setting = read_setting(START | {"mechanism": mechanism, "prior": prior, "far_state_miles": far})
    (panel,) = session.data.panels(np.array([2]))
    found = measure_tract(session.data, setting.privacy, setting.parameters, 2)
    points = found.points
    assert found.n_workers == panel.home_tract.size
    assert points[["prior", "likelihood", "posterior"]].sum().tolist() == pytest.approx([1, 1, 1])
    assert (points["posterior"] > 0).all() or mechanism == "exponential"
    assert set(found.point_of_tract.tolist()) == set(range(len(points)))  # no point without a tract
    real = np.bincount(found.point_of_tract[panel.home_tract], minlength=len(points)) / panel.home_tract.size
    assert points["likelihood"].tolist() == pytest.approx(real.tolist())
    assert points["unit_id"][points["level"] < 3].str.len().gt(0).all()
    assert points["name"].str.startswith("far states").any() == (far == "100")


def test_a_tract_s_posterior_is_the_measured_one(session: Session) -> None:
    """Its mean distance is that of the closed form over the tract's destinations."""
    setting = read_setting(START | {"editing": "none"})
    found = measure_tract(session.data, setting.privacy, setting.parameters, 1)
    whole = measure_setting(session.data, setting.privacy, setting.parameters, tracts=np.array([1]))
    destinations = whole.tables["destinations"]
    expected = np.average(destinations["expected_mi"], weights=destinations["n_workers"])
    tracts = session.data.geography.tracts
    (panel,) = session.data.panels(np.array([1]))
    people = np.maximum(tracts.population, 1).astype(float)
    inside = found.point_of_tract >= 0
    at = found.point_of_tract[inside]
    mean = np.bincount(at, (people * panel.distance_mi[0])[inside], len(found.points)) / np.maximum(
        np.bincount(at, people[inside], len(found.points)), 1e-300
    )
    assert (found.points["posterior"].to_numpy() * mean).sum() == pytest.approx(expected)


def test_a_map_of_the_sample_is_spared_only_while_the_whole_is_soon_there(
    sampled: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()

    def slow(data: Any, privacy: Any, parameters: Any, *, tracts: Any, draw: bool, report: Any) -> Any:
        if tracts is None:
            assert held.wait(PATIENCE_S)
        return measure_setting(data, privacy, parameters, tracts=tracts, draw=draw)

    monkeypatch.setattr(session_module, "measure_setting", slow)
    first = sampled.show("tab", read_setting(START))
    assert not sampled.whole_follows(first)  # nobody knows how long it takes
    held.set()
    assert first.job is not None
    assert first.job.wait(PATIENCE_S)
    held.clear()
    second = sampled.show("tab", read_setting(START | {"epsilon": "3"}))
    assert sampled.whole_follows(second)
    assert not sampled.whole_follows(
        sampled.show("other", read_setting(START | {"mechanism": "exponential"}))
    )
    monkeypatch.setattr(session_module, "_SOON_S", 0.0)
    assert not sampled.whole_follows(second)
    held.set()
    assert second.job is not None
    assert second.job.wait(PATIENCE_S)
    monkeypatch.setattr(session_module, "_SOON_S", 60.0)
    assert not sampled.whole_follows(second)
