"""Settings kept under a name: bounded, for all tabs of a run, side by side, and justified by public numbers alone."""

from __future__ import annotations

import base64
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pypdf
import pytest

from mapapp.analyst.workbench.app import create_app
from mapapp.analyst.workbench.justification import justification_pdf
from mapapp.analyst.workbench.kept_settings import LONGEST_NAME, MOST_KEPT, KeptSettings
from mapapp.analyst.workbench.setting import CONTROLS, Setting, preset_values, read_setting
from mapapp.analyst.workbench.side_by_side import differ, join_columns
from mapapp.base.errors import UsageError
from tests.analyst.workbench import browser_requests
from tests.analyst.workbench.browser_requests import ask, entered
from tests.changed_datasets import with_other_homes

START = preset_values("onthemap-v3", has_flows=True)
PATIENCE_S = 120


def setting(**change: str) -> Setting:
    return read_setting(START | change)


def test_names_follow_the_alphabet_and_are_bounded() -> None:
    kept = KeptSettings(lambda _: None)
    assert [kept.keep("", setting(), START) for _ in range(MOST_KEPT)] == list("ABCDEF")
    with pytest.raises(UsageError, match=f"{MOST_KEPT} settings are kept"):
        kept.keep("more", setting(), START)
    kept.delete("B")
    kept.delete("nobody")
    assert kept.next_name() == "B"
    for name, words in (("A", "kept already"), ("x" * (LONGEST_NAME + 1), "at most"), ("a\0b", "printed")):
        with pytest.raises(UsageError, match=words) as refused:
            kept.keep(name, setting(), START)
        assert "\n" not in str(refused.value)
    assert kept.keep("  strict   one ", setting(), START) == "strict one"
    assert [one.name for one in kept.all()] == ["A", "C", "D", "E", "F", "strict one"]


def test_rows_of_different_settings_are_joined() -> None:
    rows = join_columns([{"one": "1", "two": "2"}, {"two": "2", "three": "3"}])
    assert rows == [("one", ["1", "–"]), ("two", ["2", "2"]), ("three", ["–", "3"])]
    assert [differ(texts) for _, texts in rows] == [True, False, True]


@pytest.fixture
def app(demo_dataset: Path, tmp_path: Path) -> Any:
    return create_app(Path(shutil.copytree(demo_dataset, tmp_path / "d.dataset")))


def given(change: dict[str, Any]) -> dict[str, Any]:
    """The controls of a tab as a browser sends them."""
    sent = {
        f"{name}.{'checked' if name == 'replication' else 'value'}": value
        for name, value in (START | change).items()
    }
    return sent | {"tab.data": "tab"}


def response(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.get_data(as_text=True)
    found: dict[str, Any] = answer.get_json()["response"]
    return found


def keep(client: Any, app: Any, name: str | None, **change: str) -> str:
    found = ask(
        client, app, "kept-said.children", {"keep.n_clicks": 1, "keep-name.value": name} | given(change)
    )
    return json.dumps(response(found), ensure_ascii=False)


def click(client: Any, app: Any, monkeypatch: pytest.MonkeyPatch, kind: str, name: str, output: str) -> Any:
    """Click a button of a kept setting."""
    button = {"name": name, "type": kind}
    monkeypatch.setitem(browser_requests.MANY, kind, [button])
    place = json.dumps(button, separators=(",", ":"))
    return ask(client, app, output, {f"{place}.n_clicks": 1, f"{button}.n_clicks": 1})


def test_settings_are_kept_compared_used_and_deleted(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, session = entered(app), app.server.extensions["workbench"][0]

    def table() -> str:
        found = ask(client, app, "kept-table.children", {"compare-dialog.opened": True})
        return json.dumps(response(found), ensure_ascii=False)

    assert "No setting is kept yet" in table()
    assert "Kept as A; 1 of at most 6" in keep(client, app, "A", epsilon="2")
    assert "not measured yet" in table()
    session.show("tab", setting(epsilon="2"))
    assert "Kept as mild" in keep(client, app, " mild ", mechanism="exponential")
    assert "kept already" in keep(client, app, "A")
    assert "epsilon is -1" in keep(client, app, "B", epsilon="-1")
    text = table()
    for words in (
        "mild",
        "590 times as likely",
        "Inflow of a town is off by",
        "KL, all",
        "confidential",
    ):
        assert words in text
    used = response(click(client, app, monkeypatch, "kept-use", "A", "compare-dialog.opened@"))
    assert used["epsilon"]["value"] == "2"
    assert {name for name in used if name in CONTROLS} == set(CONTROLS)
    assert used["compare-dialog"]["opened"] is False
    click(client, app, monkeypatch, "kept-delete", "A", "kept-mark.data")
    assert [one.name for one in session.kept.all()] == ["mild"]


@pytest.fixture(scope="module")
def other_homes(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_other_homes(demo_dataset, tmp_path_factory.mktemp("other") / "d.dataset", keep_facts=True)


SETTINGS = {
    "A": setting(),
    "B": setting(epsilon="6.5", means="whole", mechanism="exponential", clean="on", far_state_miles="300"),
    "C": setting(accountant="paper", epsilon="3"),
}


def test_the_justification_is_the_same_whatever_the_confidential_homes_are(
    demo_dataset: Path, other_homes: Path
) -> None:
    one, other = (justification_pdf(place, "Briarholm", SETTINGS) for place in (demo_dataset, other_homes))
    assert one == other
    pages = pypdf.PdfReader(io.BytesIO(one)).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    for words in (
        "Briarholm",
        "at most 8,000 times as likely with one home of a worker as with another",
        "at most 670 times as likely",
        "A lone worker keeps the true home area",
        "A lone worker is expected in the true home tract",
        "Inflow of a county is off by",
        "Of the ten largest home tracts, right",
        "tracts within 6.23 mi",
        "From public numbers only",
    ):
        assert words in text, words
    assert "average commute" not in text


def test_a_justification_names_the_setting_that_cannot_be_certified(demo_dataset: Path) -> None:
    with pytest.raises(UsageError, match="no setting is kept"):
        justification_pdf(demo_dataset, "Briarholm", {})
    bad = setting(epsilon="1e-18", means="whole")
    with pytest.raises(UsageError, match="setting bad: ") as refused:
        justification_pdf(demo_dataset, "Briarholm", {"bad": bad})
    assert "\n" not in str(refused.value)


def test_the_page_gets_the_justification_as_a_download(app: Any) -> None:
    client, session = entered(app), app.server.extensions["workbench"][0]
    keep(client, app, "A", mechanism="exponential")
    ask(client, app, "justify-said.children", {"justify.n_clicks": 1, "tab.data": "tab"})
    job = session.tab("tab").jobs["justify"]
    assert job.wait(PATIENCE_S)
    assert job.error == ""
    found = response(ask(client, app, "justification.data", {"justify-pulse.data": 1, "tab.data": "tab"}))
    file = found["justification"]["data"]
    assert file["filename"] == "justification.pdf"
    assert base64.b64decode(file["content"]).startswith(b"%PDF")
