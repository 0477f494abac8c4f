"""The callbacks of the sweeps: they run behind the page, and each value shows as soon as it is measured."""

from __future__ import annotations

from dash import Dash, Input, Output, State, no_update

from mapapp.workbench.dash_types import Answer, Answers
from mapapp.workbench.job_progress import add_cancel, ask, ended, more, refused, row_outputs, row_state
from mapapp.workbench.jobs import EXPECTED_ERRORS
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS, ControlValue, read_setting
from mapapp.workbench.sweep_panel import sweep_charts
from mapapp.workbench.sweep_results import SweepResults
from mapapp.workbench.sweeps import run_sweeps
from mapapp.workbench.tune_callbacks import control_inputs


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("sweep-more", "data"),
        Output("sweep-progress", "children"),
        *row_outputs("sweep"),
        Input("sweep", "n_clicks"),
        State("tab", "data"),
        State("sweep-extent", "value"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def start(clicks: int, tab: str, extent: Extent, *controls: ControlValue) -> Answers:
        if not clicks:
            return (no_update,) * 5
        given = dict(zip(CONTROLS, controls, strict=True))
        try:
            read_setting(given)
        except EXPECTED_ERRORS as error:
            return None, refused(error), *row_state(None)
        state = session.tab(tab)
        state.sweeps = None

        def show(results: SweepResults) -> None:
            state.sweeps = results

        job = session.start_sweep(tab, lambda report: run_sweeps(session, given, extent, show, report))
        return ask(), None, *row_state(job)

    @app.callback(
        Output("sweep-more", "data", allow_duplicate=True),
        Output("sweep-progress", "children", allow_duplicate=True),
        Output("sweep-charts", "children"),
        Output("sweep-shown", "data"),
        *row_outputs("sweep"),
        Input("sweep-pulse", "data"),
        State("tab", "data"),
        State("sweep-shown", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str, shown: list[object] | None) -> Answers:
        state = session.tab(tab)
        job = state.sweep
        if job is None:
            return None, None, no_update, no_update, *row_state(None)
        running = job.state == "running"
        there = [job.number, state.sweeps.n_complete if state.sweeps else 0, job.state]
        charts: Answer = no_update
        mark: Answer = no_update
        if there != shown:  # pictures are drawn again only if there is more to see
            charts, mark = sweep_charts(state.sweeps) if state.sweeps else None, there
        line = None if running or job.state == "done" else ended(job, "The sweep")
        return more(job), line, charts, mark, *row_state(job)

    add_cancel(app, session, "sweep")
