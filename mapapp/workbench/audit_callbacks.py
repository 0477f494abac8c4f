"""The callbacks of the audit: the lone worker's risk at once, the attackers on demand behind the page."""

from __future__ import annotations

from functools import partial
from typing import Final

from dash import Dash, Input, Output, State, no_update

from mapapp.base.errors import UsageError
from mapapp.measuring.audit.questions import Target
from mapapp.workbench.audit_panel import audit_cards, live_card
from mapapp.workbench.audits import THIS_SETTING, AuditedSettings, run_audits
from mapapp.workbench.dash_types import Answer, Answers
from mapapp.workbench.job_progress import JobKind, attach
from mapapp.workbench.jobs import Work
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS, ControlValue, Setting, read_setting
from mapapp.workbench.tune_callbacks import control_inputs

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
        measured = session.shown(tab)
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
        found, measured = session.result(tab, _KIND, AuditedSettings), session.shown(tab)
        if found is None:
            return no_update, no_update
        return audit_cards(found, target, None if measured is None else measured.setting), False


def _kept(session: Session) -> dict[str, Setting]:
    """The kept settings by name.

    Raises
    ------
    UsageError
        None is kept.
    """
    kept = {one.name: one.setting for one in session.kept.all()}
    if not kept:
        raise UsageError("no setting is kept yet: keep one under a name above, or audit this setting alone")
    return kept
