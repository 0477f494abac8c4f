"""The callbacks of the audit: the lone worker's risk at once, the attackers on demand behind the page."""

from __future__ import annotations

from dash import Dash, Input, Output, State, no_update

from mapapp.base.errors import UsageError
from mapapp.measuring.audit.questions import Target
from mapapp.workbench.audit_panel import audit_cards, live_card
from mapapp.workbench.audit_results import THIS_SETTING
from mapapp.workbench.audits import run_audits
from mapapp.workbench.dash_types import Answer, Answers
from mapapp.workbench.job_progress import add_cancel, ask, followed, refused, row_outputs, row_state
from mapapp.workbench.jobs import EXPECTED_ERRORS
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS, ControlValue, Setting, read_setting
from mapapp.workbench.tune_callbacks import control_inputs


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    _show_live(app, session)
    _run(app, session)
    _show(app, session)
    add_cancel(app, session, "audit")


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


def _run(app: Dash, session: Session) -> None:
    @app.callback(
        Output("audit-more", "data"),
        Output("audit-progress", "children"),
        *row_outputs("audit"),
        Input("audit", "n_clicks"),
        State("tab", "data"),
        State("audit-extent", "value"),
        State("audit-settings", "value"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def start(clicks: int, tab: str, extent: Extent, whose: str, *controls: ControlValue) -> Answers:
        if not clicks:
            return (no_update,) * 5
        try:
            setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
            settings = {THIS_SETTING: setting} | (_kept(session) if whose == "kept" else {})
        except EXPECTED_ERRORS as error:
            return None, refused(error), *row_state(None)
        job = session.start_audit(tab, lambda report: run_audits(session, settings, extent, report))
        return ask(), None, *row_state(job)

    @app.callback(
        Output("audit-more", "data", allow_duplicate=True),
        Output("audit-progress", "children", allow_duplicate=True),
        Output("audit-shown", "data"),
        *row_outputs("audit"),
        Input("audit-pulse", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str) -> Answers:
        return followed(session.tab(tab).audit, "The audit")


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
        audit, measured = session.tab(tab).audit, session.shown(tab)
        if audit is None or audit.result is None:
            return no_update, no_update
        return audit_cards(audit.result, target, None if measured is None else measured.setting), False


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
