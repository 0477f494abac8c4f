"""The callbacks of the trade-off: settings and other schemes are measured behind the page."""

from __future__ import annotations

from dash import Dash, Input, Output, State, no_update

from mapapp.measuring.audit.questions import Question
from mapapp.workbench.dash_types import Answer, Answers
from mapapp.workbench.job_progress import add_cancel, ask, followed, refused, row_outputs, row_state
from mapapp.workbench.jobs import EXPECTED_ERRORS
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS, ControlValue, read_setting
from mapapp.workbench.tradeoff_panel import tradeoff_cards
from mapapp.workbench.tradeoffs import marked_settings, run_tradeoff, schemes_of
from mapapp.workbench.tune_callbacks import control_inputs


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    _run(app, session)
    _show(app, session)
    add_cancel(app, session, "tradeoff")


def _run(app: Dash, session: Session) -> None:
    @app.callback(
        Output("tradeoff-more", "data"),
        Output("tradeoff-progress", "children"),
        *row_outputs("tradeoff"),
        Input("tradeoff", "n_clicks"),
        State("tab", "data"),
        State("tradeoff-extent", "value"),
        State("tradeoff-question", "value"),
        State("tradeoff-schemes", "value"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def start(
        clicks: int, tab: str, extent: Extent, question: Question, text: str | None, *controls: ControlValue
    ) -> Answers:
        if not clicks:
            return (no_update,) * 5
        try:
            setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
            schemes = schemes_of(session, text or "", question)
        except EXPECTED_ERRORS as error:
            return None, refused(error), *row_state(None)
        settings = marked_settings(session, setting)
        job = session.start_tradeoff(
            tab, lambda report: run_tradeoff(session, settings, schemes, question, extent, report)
        )
        return ask(), None, *row_state(job)

    @app.callback(
        Output("tradeoff-more", "data", allow_duplicate=True),
        Output("tradeoff-progress", "children", allow_duplicate=True),
        Output("tradeoff-shown", "data"),
        *row_outputs("tradeoff"),
        Input("tradeoff-pulse", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str) -> Answers:
        return followed(session.tab(tab).tradeoff, "The comparison")


def _show(app: Dash, session: Session) -> None:
    @app.callback(
        Output("tradeoff-results", "children"),
        Input("tradeoff-shown", "data"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_number: int | None, _job: list[object] | None, tab: str) -> Answer:
        tradeoff, measured = session.tab(tab).tradeoff, session.shown(tab)
        if tradeoff is None or tradeoff.result is None:
            return no_update
        return tradeoff_cards(tradeoff.result, None if measured is None else measured.setting)
