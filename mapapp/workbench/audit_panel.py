"""What an attacker would learn from a setting: in sentences, as bars, and side by side with the kept settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.lone_worker_words import lone_worker_sentence
from mapapp.answers.words import aria, plain
from mapapp.explore.pages.controls import segments
from mapapp.measuring.audit.questions import Target
from mapapp.measuring.audit.result import CLASSES, LIMITS, Attacker, Audit
from mapapp.measuring.audit.words import TARGET_WORDS, alarm_line, place_of
from mapapp.workbench.audit_chart import BARS, audit_chart
from mapapp.workbench.audits import THIS_SETTING, AuditedSettings
from mapapp.workbench.fields import percent, table
from mapapp.workbench.figures import GRAPH_CONFIG
from mapapp.workbench.job_progress import outdated, start_row
from mapapp.workbench.measured_setting import MeasuredSetting
from mapapp.workbench.setting import Setting

__all__ = ["audit_cards", "audit_panel", "live_card"]

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


def audit_cards(found: AuditedSettings, target: Target, shown: Setting | None) -> list[Component]:
    """The audits of one or several settings, with the bars of one target.

    Parameters
    ----------
    found : AuditedSettings
    target : str
    shown : Setting or None
        That of the controls now.
    """
    parts: list[Component] = [html.P(_scope(found), className="quiet small", id="audit-scope")]
    if shown is not None and shown != found.settings[THIS_SETTING]:
        parts.append(outdated("Run the attackers again to see this setting."))
    if len(found.audits) > 1:
        parts.append(_side_by_side(found.audits, target))
    cards = [_card(audit, target) for audit in found.audits]
    return [*parts, *cards, html.P(LIMITS, className="quiet small")]


def _scope(found: AuditedSettings) -> str:
    facts = found.audits[0].facts
    of = "all workplace tracts" if found.extent == "whole" else "a sample of workplace tracts"
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
    mine = attackers[attackers["target"] == target]
    rows = []
    for attacker, (words, _) in BARS.items():
        of_n = mine[mine["attacker"] == attacker].set_index("n")["accuracy"]
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
