"""The callbacks of publishing: what it will spend is shown before anything is spent."""

from __future__ import annotations

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from mapapp.base.progress import Report
from mapapp.publishing.run import Outcome
from mapapp.workbench.dash_types import Answer, Answers
from mapapp.workbench.job_progress import ask, ended, more, progress_row
from mapapp.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.workbench.publish_dialog import summary
from mapapp.workbench.session import PUBLISH, Session
from mapapp.workbench.setting import CONTROLS, ControlValue, Setting, read_setting
from mapapp.workbench.spending import publish, release_path, spending
from mapapp.workbench.tune_callbacks import control_inputs


def register(app: Dash, session: Session) -> None:
    """Attach them to an app. Making a release is not cancelled, and one dialog makes one release."""
    _opening(app, session)
    _making(app, session)


def _opening(app: Dash, session: Session) -> None:
    @app.callback(
        Output("publish-dialog", "opened"),
        Output("publish-summary", "children"),
        Output("publish-outcome", "children"),
        Output("publish-go", "disabled"),
        Input("publish", "n_clicks"),
        State("tab", "data"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def open_dialog(clicks: int, tab: str, *controls: ControlValue) -> Answers:
        if not clicks:
            return (no_update,) * 4
        state = session.tab(tab)
        if state.is_publishing:
            return True, no_update, no_update, True
        state.pending = None
        try:
            session.require_no_release_in_progress()
            setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
            measured = session.shown(tab)
            if measured is None or measured.setting != setting:
                measured = session.show(tab, setting)
            spends = spending(session.path, measured)
        except EXPECTED_ERRORS as error:
            return True, html.P(one_line(error), className="refusal"), None, True
        state.pending = setting
        return True, summary(setting, spends), None, False

    @app.callback(
        Output("publish-dialog", "opened", allow_duplicate=True),
        Input("publish-close", "n_clicks"),
        prevent_initial_call=True,
    )
    def close(clicks: int) -> Answer:
        return False if clicks else no_update


def _making(app: Dash, session: Session) -> None:
    @app.callback(
        Output("publish-more", "data"),
        Output("publish-outcome", "children", allow_duplicate=True),
        Output("publish-go", "disabled", allow_duplicate=True),
        Input("publish-go", "n_clicks"),
        State("tab", "data"),
        State("publish-path", "value"),
        State("publish-test-key", "checked"),
        prevent_initial_call=True,
    )
    def go(clicks: int, tab: str, typed: str | None, test_key: bool) -> Answers:
        if not clicks or session.tab(tab).pending is None:
            return no_update, no_update, no_update
        try:
            release = release_path(typed, session.path)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal"), False

        def make(setting: Setting, report: Report) -> Outcome:
            return publish(session.path, release, setting, test_key=bool(test_key), report=report)

        try:
            job = session.publish(tab, make)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal"), True
        if job is None:
            return no_update, no_update, no_update
        return ask(), progress_row(job), True

    @app.callback(
        Output("publish-more", "data", allow_duplicate=True),
        Output("publish-outcome", "children", allow_duplicate=True),
        Input("publish-pulse", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str) -> Answers:
        job, found = session.tab(tab).jobs.get(PUBLISH), session.result(tab, PUBLISH, Outcome)
        if job is None:
            return None, no_update
        if job.state == "running":
            return more(job), progress_row(job)
        return None, ended(job, "Publishing") if found is None else _outcome_lines(found)


def _outcome_lines(outcome: Outcome) -> Component:
    """How it went, in the words that the command line prints."""
    first, *others = outcome.lines()
    return html.Div(
        [
            html.P(html.Strong(first)),
            html.Pre("\n".join(line.strip() for line in others), className="command-output"),
            html.P(["Look at it with ", html.Code(f"commutemap serve {outcome.release}"), "."]),
        ]
    )
