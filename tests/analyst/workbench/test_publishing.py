"""Publishing from the workbench: what it spends is said before, and what is made is what was shown."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.errors import StoreError
from geodata.progress import Progress
from geodata.store.store import open_store
from mapapp.analyst.workbench.app import create_app
from mapapp.analyst.workbench.publish import release_path, spending
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import Setting, preset_values, read_setting
from mapapp.base.errors import UsageError
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.release.make.margin_options import ShownMargins
from mapapp.kinds.release.make.run import Outcome
from tests.analyst.workbench.browser_requests import ask, entered
from tests.releases import write_release

START = preset_values("onthemap-v3", has_flows=True)
PATIENCE_S = 120


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "demo.dataset"))


def given(change: dict[str, Any]) -> dict[str, Any]:
    """The controls as a browser sends them."""
    sent = {
        f"{name}.{'checked' if name == 'replication' else 'value'}": value
        for name, value in (START | change).items()
    }
    return sent | {"tab.data": "tab"}


def answer(response: Any) -> dict[str, Any]:
    assert response.status_code == 200
    found: dict[str, Any] = json.loads(response.get_data())["response"]
    return found


def publish(app: Any, change: dict[str, Any], path: str, *, test_key: bool) -> Any:
    """Open the dialog, type a path, confirm, and wait; what the dialog says at last."""
    client = entered(app)
    opened = answer(ask(client, app, "publish-dialog.opened...", {"publish.n_clicks": 1} | given(change)))
    assert opened["publish-dialog"]["opened"]
    values = {
        "publish-go.n_clicks": 1,
        "tab.data": "tab",
        "publish-path.value": path,
        "publish-test-key.checked": test_key,
    }
    answer(ask(client, app, "publish-more.data...publish-outcome", values))
    job = app.server.extensions["workbench"][0].tab("tab").jobs.get("publish")
    if job is not None:
        assert job.wait(PATIENCE_S)
    return job


def test_a_release_is_made_of_exactly_the_parameters_shown(dataset: Path, tmp_path: Path) -> None:
    app = create_app(dataset)
    change = {
        "epsilon": "3",
        "min_retention": "0.1",
        "strength": "0.3",
        "tract_radius_mi": "4",
        "beyond_100": "0.25",
    }
    job = publish(app, change, str(tmp_path / "made.release"), test_key=False)
    assert (job.state, job.error) == ("done", "")
    certificate = open_store(tmp_path / "made.release", "release").document("certificate.json")
    wanted = read_setting(START | change)
    assert PrivacyParameters.from_dict(certificate["parameters"]["privacy"]) == wanted.privacy
    assert SynthesisParameters.from_dict(certificate["parameters"]["synthesis"]) == wanted.parameters
    assert certificate["status"] == "for release"
    assert Ledger(dataset).spent() == (wanted.privacy.epsilon, wanted.privacy.delta)
    assert len(Ledger(dataset).entries()) == 1
    # One dialog, one release: a second click without opening it again makes nothing.
    client = entered(app)
    values = {
        "publish-go.n_clicks": 2,
        "tab.data": "tab",
        "publish-path.value": str(tmp_path / "again.release"),
    }
    ask(client, app, "publish-more.data...publish-outcome", values)
    assert app.server.extensions["workbench"][0].tab("tab").jobs["publish"] is job
    assert not (tmp_path / "again.release").exists()


def test_two_tabs_do_not_make_a_release_at_the_same_time(session: Session) -> None:
    go, made = threading.Event(), []
    outcome = Mock(spec=Outcome)

    def make(setting: Setting, _report: Progress) -> Outcome:
        made.append(setting)
        assert go.wait(PATIENCE_S)
        return outcome

    setting = read_setting(START)
    for name in ("one", "two"):
        session.tab(name).pending = setting
    with ThreadPoolExecutor(8) as clicks:
        jobs = list(clicks.map(lambda _: session.publish("one", make), range(8)))
    (job,) = [job for job in jobs if job is not None]
    with pytest.raises(UsageError, match="another tab"):
        session.publish("two", make)
    for number in range(20):
        session.tab(f"opened later {number}")
    assert session.tab("one").jobs["publish"] is job
    go.set()
    assert job.wait(PATIENCE_S)
    assert made == [setting]
    assert session.publish("two", make) is None  # its dialog has to be opened again


def test_the_test_key_spends_nothing(dataset: Path, tmp_path: Path) -> None:
    job = publish(create_app(dataset), {}, str(tmp_path / "tried.release"), test_key=True)
    assert job.state == "done"
    assert Ledger(dataset).spent() == (Fraction(0), Fraction(0))
    assert "not for release" in "\n".join(job.result.lines())


def test_a_budget_that_is_used_up_refuses_and_leaves_nothing(dataset: Path, tmp_path: Path) -> None:
    Ledger(dataset).set_budget(epsilon="9", delta="1e-5")
    app = create_app(dataset)
    assert publish(app, {}, str(tmp_path / "first.release"), test_key=False).state == "done"
    refused = publish(app, {}, str(tmp_path / "second.release"), test_key=False)
    assert refused.state == "failed"
    assert "of the dataset's 9 is spent" in refused.error
    assert not (tmp_path / "second.release").exists()
    session = Session(open_store(dataset, "dataset"))
    measured = session.show("tab", read_setting(START))
    assert not spending(dataset, measured).fits


@pytest.mark.parametrize("typed", [None, "", "  ", "nowhere/at/all.release", "\0"])
def test_an_invalid_place_is_refused_and_nothing_is_spent(dataset: Path, typed: str | None) -> None:
    with pytest.raises(UsageError) as refused:
        release_path(typed, dataset)
    assert "\n" not in str(refused.value)
    app = create_app(dataset)
    client = entered(app)
    answer(ask(client, app, "publish-dialog.opened...", {"publish.n_clicks": 1} | given({})))
    values = {"publish-go.n_clicks": 1, "tab.data": "tab", "publish-path.value": typed}
    found = answer(ask(client, app, "publish-more.data...publish-outcome", values))
    assert found["publish-outcome"]["children"]
    assert not found["publish-go"]["disabled"]
    assert Ledger(dataset).entries() == ()


def test_no_release_lies_within_the_dataset_or_over_something(dataset: Path, tmp_path: Path) -> None:
    for typed in (str(dataset / "x.release"), str(dataset), str(dataset / ".." / dataset.name / "y")):
        with pytest.raises((UsageError, StoreError)):
            release_path(typed, dataset)
    write_release(tmp_path / "last.release")
    with pytest.raises(StoreError, match="lies within a release"):
        release_path(str(tmp_path / "last.release" / "x"), dataset)
    (tmp_path / "taken").mkdir()
    with pytest.raises(StoreError, match="already exists"):
        release_path(str(tmp_path / "taken"), dataset)


def test_the_dialog_says_what_it_spends_and_why_not(dataset: Path) -> None:
    app = create_app(dataset)
    client = entered(app)

    def shown(change: dict[str, Any]) -> tuple[str, bool]:
        found = answer(ask(client, app, "publish-dialog.opened...", {"publish.n_clicks": 1} | given(change)))
        return json.dumps(found["publish-summary"], ensure_ascii=False), found["publish-go"]["disabled"]

    text, disabled = shown({})
    assert "8.98203" in text
    assert not disabled
    for words in ("beyond 500 mi", "0.5 beyond 100 mi", "median 6.23 mi", "tracts within 6.23 mi"):
        assert words in text
    text, disabled = shown({"replication": True})
    assert "not for release" in text
    text, disabled = shown({"epsilon": "-1"})
    assert disabled
    assert "epsilon is -1" in text


def test_a_red_line_warns_where_no_budget_is_set(dataset: Path) -> None:
    app = create_app(dataset)
    client = entered(app)

    def shown() -> str:
        found = answer(ask(client, app, "publish-dialog.opened...", {"publish.n_clicks": 1} | given({})))
        return json.dumps(found["publish-summary"])

    assert "No budget is set for this dataset" in shown()
    Ledger(dataset).set_budget(epsilon="9", delta="1e-5")
    assert "No budget" not in shown()


def test_the_workbench_shows_only_the_numbers_it_was_started_with(dataset: Path, tmp_path: Path) -> None:
    """Finds a workbench that measures, justifies, or publishes numbers of workers that were not to be shown."""
    margins = ShownMargins(segments=("age",), workplaces="tract")
    app = create_app(dataset, margins=margins)
    session = app.server.extensions["workbench"][0]
    jobs = session.data.store.table("jobs")
    assert set(jobs["earnings"]) == {1}
    assert jobs["destination_index"].nunique() == session.data.tract.size
    job = publish(app, {}, str(tmp_path / "fewer.release"), test_key=True)
    assert (job.state, job.error) == ("done", "")
    facts = open_store(tmp_path / "fewer.release", "release").manifest
    assert (facts["segments_by"], facts["workplaces_by"]) == (["age"], "tract")
    client = entered(app)
    values = {"publish.n_clicks": 1} | given({})
    opened = json.dumps(answer(ask(client, app, "publish-dialog.opened...", values)))
    assert "by tract and age" in opened
