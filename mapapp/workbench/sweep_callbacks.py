"""The callbacks of the sweeps: they run behind the page, and each value shows as soon as it is measured."""

from __future__ import annotations

from functools import partial

from dash import Dash, Input, Output, State

from mapapp.workbench.dash_types import Answer
from mapapp.workbench.job_progress import JobKind, attach
from mapapp.workbench.jobs import Work
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS, ControlValue, read_setting
from mapapp.workbench.sweep_panel import sweep_charts
from mapapp.workbench.sweep_results import SweepResults
from mapapp.workbench.sweeps import run_sweeps
from mapapp.workbench.tune_callbacks import control_inputs


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    kind = JobKind(
        name="sweep",
        what="The sweep",
        states=[State("sweep-extent", "value"), *control_inputs(State)],
        begin=partial(_begin, session),
        mark=lambda tab: tab.sweeps.n_complete if tab.sweeps else 0,
    )
    attach(app, session, kind)

    @app.callback(
        Output("sweep-charts", "children"),
        Input("sweep-shown", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_mark: list[object] | None, tab: str) -> Answer:
        found = session.tab(tab).sweeps
        return sweep_charts(found) if found else None


def _begin(session: Session, tab: str, extent: Extent, *controls: ControlValue) -> Work[SweepResults]:
    given = dict(zip(CONTROLS, controls, strict=True))
    read_setting(given)
    state = session.tab(tab)
    state.sweeps = None

    def keep(results: SweepResults) -> None:
        state.sweeps = results

    return lambda report: run_sweeps(session, given, extent, keep, report)
