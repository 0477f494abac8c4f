"""The callbacks of the audit: the lone worker's risk at once, the attackers on demand behind the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pandas
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from mapapp.analyst.audit.questions import Target
from mapapp.analyst.audit.result import CLASSES, LIMITS, Attacker, Audit
from mapapp.analyst.audit.words import TARGET_WORDS, alarm_line, place_of
from mapapp.analyst.workbench.audit_chart import BARS, audit_chart
from mapapp.analyst.workbench.fields import Answer, Answers, percent, table
from mapapp.analyst.workbench.figures import GRAPH_CONFIG
from mapapp.analyst.workbench.job_progress import JobKind, attach, outdated_line, start_row
from mapapp.analyst.workbench.jobs import Work
from mapapp.analyst.workbench.results import Extent, MeasuredSetting
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, ControlValue, Setting, read_setting
from mapapp.analyst.workbench.tune_callbacks import control_inputs
from mapapp.answers.promise.lone_worker import lone_worker_sentence
from mapapp.answers.words import aria, plain
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, part_of
from mapapp.explore.pages.controls import segments

# Audits of settings one after another: attackers run on one draw of each, against the real workers. Confidential.

THIS_SETTING: Final = "This setting"
"""Name of the setting of the controls, beside those that are kept under a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedSettings:
    """What attackers would learn from some settings, side by side.

    Attributes
    ----------
    extent : {"sample", "whole"}
        Whose workers were attacked.
    settings : mapping of str to Setting
        By name.
    audits : tuple of Audit
        One for each setting, in the same order.
    """

    extent: Extent
    settings: Mapping[str, Setting]
    audits: tuple[Audit, ...]


def run_audits(
    session: Session, settings: Mapping[str, Setting], extent: Extent, report: Report
) -> AuditedSettings:
    """Audit settings; what was audited before is taken from memory.

    Parameters
    ----------
    session : Session
    settings : mapping of str to Setting
        By the names that the tables give them.
    extent : {"sample", "whole"}
    report : callable
        Progress; an exception from it cancels.

    Raises
    ------
    EngineError
        A setting cannot be certified.
    """
    audits = []
    for done, (name, setting) in enumerate(settings.items()):
        within = part_of(report, done, len(settings))
        within(f"auditing {name}", 0, 1)
        audits.append(session.audit(name, setting, extent, within))
    return AuditedSettings(extent=session.extent(extent), settings=settings, audits=tuple(audits))


# What an attacker would learn from a setting: in sentences, as bars, and side by side with the kept settings.

_SHOWN_TARGET: Final[Target] = "home tract"
"""The first target: home areas differ with the radii, and tracts can be compared."""
_COMPARED: Final[tuple[Attacker, ...]] = ("lookup", "informed")


def audit_panel() -> Component:
    """What the audit needs before it has run."""
    return html.Div(
        [
            html.Div(id="audit-live"),
            html.P(
                "The attackers below see one draw with the published test key, and are judged by the real workers. "
                "Nothing is released, so nothing is spent.",
                className="quiet",
            ),
            segments(
                "audit-settings",
                "now",
                {"now": "This setting", "kept": "Beside the kept ones"},
                size="xs",
                label="Settings to audit",
            ),
            *start_row("audit", action="Run the attackers", label="Tracts to audit"),
            html.Div(
                segments(
                    "audit-target",
                    _SHOWN_TARGET,
                    {target: _title(words) for target, words in TARGET_WORDS.items()},
                    size="xs",
                    label="What the attacker asks for",
                ),
                id="audit-choice",
                hidden=True,
                className="spaced",
            ),
            html.Div(id="audit-results", className="cards"),
        ],
        className="answer",
    )


def _title(words: str) -> str:
    return words[:1].upper() + words[1:]


def live_card(measured: MeasuredSetting) -> Component:
    """What a lone worker risks, which follows from public inputs and so is known at once."""
    said = lone_worker_sentence(measured.validity.facts["certificate"]["lone_worker"])
    return html.Section(
        [
            html.H2("What would an attacker learn?"),
            html.P(
                said or "This setting promises nothing: each home on the map is a real one.", id="audit-lone"
            ),
            html.P("From public inputs alone; it changes with the controls.", className="quiet small"),
        ],
        className="card",
        **aria(label="What would an attacker learn?"),
    )


def audit_cards(audited: AuditedSettings, target: Target, shown: Setting | None) -> list[Component]:
    """The audits of one or several settings, with the bars of one target.

    Parameters
    ----------
    audited : AuditedSettings
    target : str
    shown : Setting or None
        That of the controls now.
    """
    parts: list[Component] = [html.P(_scope(audited), className="quiet small", id="audit-scope")]
    if shown is not None and shown != audited.settings[THIS_SETTING]:
        parts.append(outdated_line("Run the attackers again to see this setting."))
    if len(audited.audits) > 1:
        parts.append(_side_by_side(audited.audits, target))
    cards = [_card(audit, target) for audit in audited.audits]
    return [*parts, *cards, html.P(LIMITS, className="quiet small")]


def _scope(audited: AuditedSettings) -> str:
    facts = audited.audits[0].facts
    of = "all workplace tracts" if audited.extent == "whole" else "a sample of workplace tracts"
    place = place_of(facts["releases"][0], "home point")
    return f"{facts['workers']:,} workers of {of}; {facts['lone_workers']:,} are alone in their {place}."


def _card(audit: Audit, target: Target) -> Component:
    facts = audit.facts["releases"][0]
    name, epsilon = facts["name"], facts["epsilon_final"]
    promised = (
        "promises nothing" if epsilon is None else f"ε′ {epsilon:.3g}, δ {plain(facts['delta'] or 0.0)}"
    )
    alarms = [
        alarm_line(row)
        for row in audit.tables["spread"].to_dict("records")
        if row["pairs"] and row["is_broken"]
    ]
    attackers, place = audit.tables["attackers"], place_of(facts, target)
    return html.Section(
        [
            html.H2(f"{name}: {facts['mechanism']}, {promised}"),
            *[html.P(line, className="refusal", role="alert") for line in alarms],
            *[html.P(sentence) for sentence in audit.sentences],
            dcc.Graph(figure=audit_chart(attackers, target, place), config=GRAPH_CONFIG, className="chart"),
            html.Details([html.Summary("As a table"), _table(attackers, target, place)]),
            *[html.P(f"{_title(line)}.", className="quiet small") for line in facts["left_out"]],
        ],
        className="card",
        **aria(label=f"What an attacker would learn: {name}"),
    )


def _table(attackers: pandas.DataFrame, target: Target, place: str) -> Component:
    of_target = attackers[attackers["target"] == target]
    rows = []
    for attacker, (words, _) in BARS.items():
        of_n = of_target[of_target["attacker"] == attacker].set_index("n")["accuracy"]
        if len(of_n):
            rows.append((words, [percent(of_n.get(n)) for n in CLASSES]))
    caption = f"{_title(TARGET_WORDS[target])} named right, by workers in the {place}"
    return table(caption, ["", *map(_range, CLASSES)], rows, "numbers small")


def _side_by_side(audits: Sequence[Audit], target: Target) -> Component:
    """What the release gives away under each setting."""
    names = [audit.facts["releases"][0]["name"] for audit in audits]
    rows = []
    for attacker in _COMPARED:
        for n in CLASSES:
            cells = [
                audit.accuracy(name, target, attacker, n) for audit, name in zip(audits, names, strict=True)
            ]
            if any(cell is not None for cell in cells):
                rows.append((f"{BARS[attacker][0]}, {_range(n)}", [percent(cell) for cell in cells]))
    return html.Section(
        [
            html.H2("Side by side"),
            table(f"{_title(TARGET_WORDS[target])} named right", ["", *names], rows, "numbers small"),
        ],
        className="card",
        **aria(label="Side by side"),
    )


def _range(n: str) -> str:
    return "all" if n == "all" else n.replace("-", "–")


_KIND: Final = "audit"


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    _show_live(app, session)
    _show(app, session)
    kind = JobKind(
        name=_KIND,
        what="The audit",
        states=[
            State("audit-extent", "value"),
            State("audit-settings", "value"),
            *control_inputs(State),
        ],
        begin=partial(_begin, session),
    )
    attach(app, session, kind)


def _show_live(app: Dash, session: Session) -> None:
    @app.callback(
        Output("audit-live", "children"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_live(_job: list[object] | None, tab: str) -> Answer:
        measured = session.shown_measures(tab)
        return no_update if measured is None else live_card(measured)


def _begin(
    session: Session, _tab: str, extent: Extent, whose: str, *controls: ControlValue
) -> Work[AuditedSettings]:
    setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
    settings = {THIS_SETTING: setting} | (_kept(session) if whose == "kept" else {})
    return lambda report: run_audits(session, settings, extent, report)


def _show(app: Dash, session: Session) -> None:
    @app.callback(
        Output("audit-results", "children"),
        Output("audit-choice", "hidden"),
        Input("audit-shown", "data"),
        Input("audit-target", "value"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_number: int | None, target: Target, _job: list[object] | None, tab: str) -> Answers:
        audited, measured = session.result(tab, _KIND, AuditedSettings), session.shown_measures(tab)
        if audited is None:
            return no_update, no_update
        return audit_cards(audited, target, None if measured is None else measured.setting), False


def _kept(session: Session) -> dict[str, Setting]:
    """The kept settings by name.

    Raises
    ------
    UsageError
        None is kept.
    """
    kept = {kept_setting.name: kept_setting.setting for kept_setting in session.kept.all()}
    if not kept:
        raise UsageError("no setting is kept yet: keep one under a name above, or audit this setting alone")
    return kept
