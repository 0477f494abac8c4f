"""Nothing that was counted leaves the workbench: not by `serve`, an address, a log, or a file."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import mapapp.explore.server
from mapapp.analyst.workbench.app import create_app
from mapapp.analyst.workbench.setting import CONTROLS, preset_values
from mapapp.kinds.records.measure.workers import RecordWorkers
from mapapp.kinds.records.tune.setting import KIND, start_values
from mapapp.kinds.tables.tune.plans import spec_of
from tests.analyst.workbench.browser_requests import OWN_PAGE, ask, entered, get
from tests.tables import write_prior

PATIENCE_S = 120
START = preset_values("onthemap-v3", has_flows=True)
TABLE = {
    "rows": "county",
    "columns": "industry,earnings",
    "counts": "same-unit",
    "miles": 25,
    "epsilon": 0.5,
    "delta": 6,
}
PUBLIC_RULES = {
    "/",
    "/<path:path>",
    "/assets/<path:filename>",
    "/_dash-component-suites/<string:package_name>/<path:fingerprinted_path>",
    "/_dash-dependencies",
    "/_dash-layout",
    "/_dash-update-component",
    "/_favicon.ico",
    "/_reload-hash",
    "/static/<path:filename>",
    "/geo/<slug>/<version>/<name>.geojson",
    "/density/<slug>/<version>.png",
    "/dots/<slug>/<version>/<int:z>/<int:x>/<int:y>.png",
    "/dots/<slug>/<version>/<int:z>/<int:x>/<int:y>@2x.png",
    "/morning/<slug>/<version>.json",
    "/flows/<slug>/<version>.json",
    "/cells/<slug>/<version>.json",
    "/setup.json",
    "/take/<slug>/<version>/<name>",
    "/starred/<slug>/<version>.geojson",
    "/table-files/<slug>/<version>/<name>",
    "/upload/area",
    "/upload/area/<token>",
}
PUBLIC_OUTPUTS = {
    "answer", "area-data", "banner", "busy", "certificate", "chips", "glance", "look", "map", "moved-by", "nav",
    "notes", "on-map", "page", "release", "release-title", "search", "show-label", "table-card", "url",
    "side", "show", "age", "earnings", "industry", "analysis", "layer", "home_layer", "work_layer", "theme", "edges",
    "against", "pick", "target", "center", "area-said", "area-size", "other-chips", "setup-said", "csv", "app",
    "answered", "take-files", "opened-view", "prompt",
    "chart", "chart-card", "chart-text", "chart-title", "theme-provider", "field-side", "field-show", "field-layer",
    "field-matrix", "field-edges", "field-target", "asked", "choices", "chosen", "controls", "followed", "placed",
    "field-per", "matrix-card", "matrix-data", "matrix-csv", "filters-label", "field-attributes", "attributes",
    "field-by", "by", "field-characteristic", "characteristic", "field-color",
    "counts-about", "counts-color", "counts-field-color", "counts-field-of", "counts-field-table", "counts-foot",
    "counts-head", "counts-look", "counts-map", "counts-notes", "counts-of", "counts-on-map", "counts-placed",
    "counts-sheet", "counts-table", "counts-theme",
    "found", "found-centers", "offered",
    "show-said", "shown", "releases", "awaited", "look-for-releases", "page-title", "release-choice",
}  # fmt: skip


def outputs_of(key: str) -> set[str]:
    """Component identifiers of a callback's outputs; of many of a type, the type."""
    found = set()
    for part in key.strip(".").split("..."):
        name = part.rsplit(".", 1)[0]
        found.add(json.loads(name)["type"] if name.startswith("{") else name)
    return found


@pytest.fixture
def served(demo_release: Path) -> Any:
    return mapapp.explore.server.create_app([demo_release])


@pytest.fixture
def app(demo_dataset: Path, tmp_path: Path) -> Any:
    write_prior(tmp_path / "prior.csv", demo_dataset, spec_of(TABLE))
    return create_app(Path(shutil.copytree(demo_dataset, tmp_path / "secret.dataset")))


def test_every_route_of_serve_is_a_public_one(served: Any) -> None:
    assert {rule.rule for rule in served.server.url_map.iter_rules()} <= PUBLIC_RULES


def test_every_callback_of_serve_is_a_public_one(served: Any, app: Any) -> None:
    public = set(served.callback_map)
    for key in public:
        if "." in key:
            assert outputs_of(key) <= PUBLIC_OUTPUTS, key
        else:  # without outputs, so it has a digest for a name: it runs in the browser and asks the server nothing
            assert "callback" not in served.callback_map[key], key
    confidential = {key for key in app.callback_map if not outputs_of(key) <= {"page", "nav"}}
    assert len(confidential) > 20
    assert not public & confidential


def test_serve_answers_nothing_that_the_workbench_is_asked(served: Any, app: Any) -> None:
    served.server.config["PROPAGATE_EXCEPTIONS"] = False
    client = served.server.test_client()
    asked = 0
    for key, entry in app.callback_map.items():
        if not outputs_of(key) <= {"page", "nav"}:
            body = {"output": key, "outputs": [], "inputs": entry["inputs"], "state": entry["state"]}
            answer = client.post("/_dash-update-component", json=body | {"changedPropIds": []})
            assert answer.status_code >= 400, key
            asked += 1
    assert asked > 20
    (geography,) = [rule.rule for rule in app.server.url_map.iter_rules() if "/geo/" in rule.rule]
    assert client.get(geography.replace("<name>", "tracts")).status_code == 404


def test_no_callback_of_the_workbench_writes_the_address(app: Any) -> None:
    for key in app.callback_map:
        assert "url" not in outputs_of(key), key


def values(**more: Any) -> dict[str, Any]:
    return {
        **{name.replace("__", "."): value for name, value in more.items()},
        **{f"{name}.{'checked' if name == 'replication' else 'value'}": START[name] for name in CONTROLS},
        "tab.data": "a tab",
    }


def drive(app: Any) -> str:
    """Use everything that shows numbers, also the wrong way; all answers as one text."""
    client, session = entered(app), app.server.extensions["workbench"][0]
    tract_id = session.store.table("tracts", ["tract_id"])["tract_id"].iloc[int(session.data.tract[0])]
    said = [
        get(client, address).get_data(as_text=True)
        for address in ("/", "/lab", "/lab-stars", "/_dash-layout")
    ]

    def say(output: str, **more: Any) -> None:
        answer = ask(client, app, output, values(**more))
        assert answer.status_code in (200, 204), output
        said.append(answer.get_data(as_text=True))

    prior = str(session.path.with_name("prior.csv"))
    tables = {f"tables-{name}__value": value for name, value in {**TABLE, "prior": prior}.items()}
    say("page.children", url__pathname="/")
    say("job.data...notes")
    say("job.data...notes", tab__data="a tab", mechanism__value="exponential")
    ask(client, app, "job.data...notes", values() | {"epsilon.value": "none at all"})
    measured = session.shown_measures("a tab")
    assert measured is not None
    if measured.job is not None:
        assert measured.job.wait(PATIENCE_S)
    say("progress.value", **{"measure-pulse__data": 1})
    say("weights-drawn.data", job__data=[1])
    say("commutes-drawn.data", tabs__value="commutes")
    for shows in ("kl", "level", "prior", "likelihood", "posterior"):
        say("map.figure", **{"chosen-tract__data": tract_id, "map-shows__value": shows})
    say("chosen-tract.data", map__clickData={"points": [{"location": tract_id}]})
    say("sweep-progress.children", sweep__n_clicks=1, **{"sweep-extent__value": "sample"})
    assert session.tab("a tab").jobs["sweep"].wait(PATIENCE_S)
    say("sweep-shown.data", **{"sweep-pulse__data": 1})
    say("sweep-charts.children", **{"sweep-shown__data": 1})
    say("audit-live.children", job__data=[1])
    audited = {
        "audit-extent__value": "sample",
        "audit-settings__value": "now",
        "audit-target__value": "home tract",
    }
    say("audit-progress.children", audit__n_clicks=1, **audited)
    assert session.tab("a tab").jobs["audit"].wait(PATIENCE_S)
    say("audit-shown.data", **{"audit-pulse__data": 1})
    say("audit-results.children", **audited)
    compared = {
        "tradeoff-extent__value": "sample",
        "tradeoff-question__value": "earnings",
        "tradeoff-schemes__value": "k=2,50",
    }
    say("tradeoff-progress.children", tradeoff__n_clicks=1, **compared)
    assert session.tab("a tab").jobs["tradeoff"].wait(PATIENCE_S)
    say("tradeoff-shown.data", **{"tradeoff-pulse__data": 1})
    say("tradeoff-results.children", **compared)
    say("tables-miles.disabled...", **{"tables-counts__value": "beyond"})
    say("tables-expected.children", **tables)
    say("tables-shares.children", **tables)
    say("tables-progress.children", **{"tables-count__n_clicks": 1}, **tables)
    assert session.tab("a tab").jobs["tables"].wait(PATIENCE_S)
    say("tables-shown.data", **{"tables-pulse__data": 1})
    say("tables-actual.children", **tables)
    records = {
        f"{KIND}-{name}__value": value for name, value in start_values(RecordWorkers(session.store)).items()
    }
    say(f"{KIND}-said.children", **records, tabs__value="records")
    say(f"{KIND}-pass-chart.figure", **records, tabs__value="records")
    say(f"{KIND}-groups-chart.figure", **records, tabs__value="records")
    say(f"{KIND}-said.children", **{**records, f"{KIND}-forced__value": "0"}, tabs__value="records")
    say(f"{KIND}-progress.children", **records, **{f"{KIND}-draw__n_clicks": 1})
    assert session.tab("a tab").jobs[KIND].wait(PATIENCE_S)
    say(f"{KIND}-shown.data", **{f"{KIND}-pulse__data": 1})
    say(f"{KIND}-results.children", **records)
    say("publish-dialog.opened...", publish__n_clicks=1)
    say("kept-said.children", keep__n_clicks=1)
    say("kept-table.children", **{"compare-dialog__opened": True})
    say("justify-said.children", justify__n_clicks=1)
    assert session.tab("a tab").jobs["justify"].wait(PATIENCE_S)
    say("justification.data", **{"justify-pulse__data": 1})
    return "\n".join(said)


def test_nothing_is_written_but_what_is_published(
    app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    watching = True

    def watch(event: str, arguments: Any) -> None:
        if watching and event == "open" and isinstance(arguments[0], str | bytes):
            path, mode, flags = arguments[0], arguments[1], arguments[2]
            writes = (mode and set("wax+") & set(mode)) or (flags or 0) & 0o3
            if writes:
                written.append(str(path))
        if watching and event in ("os.mkdir", "os.rename", "tempfile.mkstemp", "tempfile.mkdtemp"):
            written.append(f"{event} {arguments[0]}")

    monkeypatch.chdir(tmp_path)
    before = sorted(path for path in tmp_path.rglob("*"))
    drive(app)  # compiles what is not compiled yet: kernels are kept in files, and hold no data
    sys.addaudithook(watch)
    said = drive(app)
    watching = False
    assert "kl-all" in said
    assert "keep their true home area" in said
    assert "tables-breach" in said
    assert "Named right at the error of each setting" in said
    assert "Distance from the real workers" in said
    assert said.index("plain-measures") < said.index("kl-all")
    assert [path for path in written if not path.startswith("/dev/")] == []
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_nothing_counted_is_logged(
    app: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        drive(app)
    ours = [
        record
        for record in caplog.records
        if record.name.startswith(("commutemap", "mapapp", "waitress", "werkzeug"))
    ]
    assert ours == []
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_an_unforeseen_error_is_named_and_its_text_kept_back(
    app: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = app.server.extensions["workbench"][0]

    def breaks(*_: Any) -> Any:
        raise RuntimeError("block 17 has 4711 workers")

    monkeypatch.delenv("COMMUTEMAP_DEBUG", raising=False)
    monkeypatch.setattr(type(session), "show", breaks)
    client = entered(app)
    with caplog.at_level(logging.DEBUG):
        answer = ask(client, app, "job.data...notes", values())
    assert "4711" not in answer.get_data(as_text=True) + caplog.text
    assert "RuntimeError" in caplog.text


def test_addresses_hold_nothing_of_the_data(app: Any, demo_dataset: Path) -> None:
    """Every address of the app is fixed but for words drawn anew for each run."""
    rules = [rule.rule for rule in app.server.url_map.iter_rules()]
    (geography,) = [rule for rule in rules if "/geo/" in rule]
    again = create_app(Path(app.server.extensions["workbench"][0].path))
    assert geography not in [rule.rule for rule in again.server.url_map.iter_rules()]
    manifest = (demo_dataset / "manifest.json").read_text(encoding="utf-8")
    assert geography.split("/")[-2] not in manifest
    client = entered(app)
    answer = client.get(geography.replace("<name>", "jobs"), headers=OWN_PAGE)
    assert answer.status_code == 404


def test_a_sweep_that_has_ended_before_the_page_asks_is_shown(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of values that are all known does."""
    session = app.server.extensions["workbench"][0]
    start = session.start_job

    def start_and_wait(name: str, kind: str, work: Any) -> Any:
        job = start(name, kind, work)
        assert job.wait(PATIENCE_S)
        return job

    monkeypatch.setattr("mapapp.analyst.workbench.sweeps.run_sweeps", lambda *_: None)
    monkeypatch.setattr(session, "start_job", start_and_wait)
    answer = ask(
        entered(app), app, "sweep-more.data", values(sweep__n_clicks=1, **{"sweep-extent__value": "sample"})
    )
    assert answer.get_json()["response"]["sweep-more"]["data"]
