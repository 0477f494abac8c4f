"""The audit on Tune: what the command finds, for one setting or several, shown in words, bars and tables."""

from __future__ import annotations

import json

import pytest

from mapapp.analyst.audit.audited import audited_setting
from mapapp.analyst.audit.questions import QUESTIONS
from mapapp.analyst.audit.run import audited_workers, join_audits
from mapapp.analyst.workbench.audit_chart import BARS, audit_chart
from mapapp.analyst.workbench.audits import THIS_SETTING, AuditedSettings, audit_cards, live_card, run_audits
from mapapp.analyst.workbench.jobs import Cancelled
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import Setting, preset_values, read_setting

START = preset_values("onthemap-v3", has_flows=True)
RECOMMENDED = preset_values("recommended", has_flows=True)


@pytest.fixture
def settings() -> dict[str, Setting]:
    return {
        THIS_SETTING: read_setting(START),
        "A": read_setting(
            START | {"mechanism": "exponential", "unit": "tract", "means": "whole", "epsilon": "4"}
        ),
    }


@pytest.fixture
def found(session: Session, settings: dict[str, Setting]) -> AuditedSettings:
    return run_audits(session, settings, "sample", lambda *_: None)


def test_an_audit_is_what_the_command_finds_and_is_kept(
    session: Session, settings: dict[str, Setting]
) -> None:
    steps: list[tuple[int, int]] = []
    found = run_audits(session, settings, "sample", lambda _stage, done, total: steps.append((done, total)))
    first = settings[THIS_SETTING]
    audited = audited_setting(session.data, THIS_SETTING, first.privacy, first.parameters)
    expected = join_audits(session.data, [audited_workers(session.data, audited, QUESTIONS)])
    assert found.audits[0].sentences == expected.sentences
    assert steps == sorted(steps)
    assert {total for _, total in steps} == {200}
    again = run_audits(session, settings, "sample", lambda *_: None)
    assert again.audits[0] is found.audits[0]


def test_an_audit_is_cancelled_between_parts(session: Session, settings: dict[str, Setting]) -> None:
    def stop(*_: object) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        run_audits(session, settings, "whole", stop)


def test_bars_show_every_attacker_by_size(found: AuditedSettings) -> None:
    audit = found.audits[0]
    for target in ("home tract", "home point", "earnings"):
        figure = audit_chart(audit.tables["attackers"], target)
        for trace, (attacker, _) in zip(
            figure.data,
            [one for one in BARS.items() if audit.accuracy(THIS_SETTING, target, one[0]) is not None],
            strict=True,
        ):
            assert trace.name == BARS[attacker][0]
            assert list(trace.x) == ["all", "1", "2–9", "10+"]
            assert trace.y[0] == pytest.approx(100 * (audit.accuracy(THIS_SETTING, target, attacker) or 0.0))
    majority = audit_chart(audit.tables["attackers"], "home tract").data[0]
    assert majority.name == "most frequent value"


def test_cards_say_whose_numbers_they_are(found: AuditedSettings, settings: dict[str, Setting]) -> None:
    def said(shown: Setting | None) -> str:
        return _text(audit_cards(found, "home point", shown))

    current = said(settings[THIS_SETTING])
    assert "workers of all workplace tracts" in current
    assert "Side by side" in current
    assert "changed since" not in current
    assert "changed since" in said(settings["A"])
    assert found.audits[0].sentences[0] in current
    assert "dirichlet-multinomial, ε′ 8.98" in current
    # Units larger than a cell have no closed form, so one attacker is left out, and the page says so.
    assert found.audits[1].facts["releases"][0]["left_out"]
    assert "never replace it" in current


def test_blocks_of_a_source_without_joint_segments_are_compared_by_block(assigned_session: Session) -> None:
    setting = read_setting(RECOMMENDED | {"unit": "block"})
    found = run_audits(assigned_session, {THIS_SETTING: setting}, "sample", lambda *_: None)
    said = _text(audit_cards(found, "earnings", setting))
    assert "are alone in their block." in said
    assert "by workers in the block and band of earnings" in said
    assert "no attacker knows the other bands of a worker" in said


def _text(cards: object) -> str:
    return json.dumps(cards, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    to_json = getattr(value, "to_plotly_json", None)
    return to_json() if to_json is not None else str(value)


def test_what_a_lone_worker_risks_is_shown_at_once(session: Session) -> None:
    measured = session.show("tab", read_setting(START))
    card = _text(live_card(measured))
    assert "keeps the true home area with a chance of" in card
