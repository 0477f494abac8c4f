"""The callbacks of the sweeps: they run behind the page, and each value shows as soon as it is measured."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, html, no_update

from mapapp.workbench.bench import Bench
from mapapp.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.workbench.setting import CONTROLS, read_setting
from mapapp.workbench.sweep_panel import sweep_charts
from mapapp.workbench.sweeping import Swept, run_sweeps
from mapapp.workbench.tune_callbacks import control_inputs
from mapapp.workbench.work import add_cancel, ended, more, row_outputs, row_state


def register(app: Dash, bench: Bench) -> None:
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
    def start(clicks: int, tab: str, extent: Any, *values: Any) -> tuple[Any, ...]:
        if not clicks:
            return (no_update,) * 5
        given = dict(zip(CONTROLS, values, strict=True))
        try:
            read_setting(given)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal", role="status"), *row_state(None)
        state = bench.tab(tab)
        state.swept = None

        def keep(swept: Swept) -> None:
            state.swept = swept

        job = bench.start(tab, "sweep", lambda report: run_sweeps(bench, given, extent, keep, report))
        return more(job), None, *row_state(job)

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
    def follow(_pulse: Any, tab: str, shown: Any) -> tuple[Any, ...]:
        state = bench.tab(tab)
        job = state.jobs.get("sweep")
        if job is None:
            return None, None, no_update, no_update, *row_state(None)
        running = job.state == "running"
        there = [job.number, state.swept.n_complete if state.swept else 0, job.state]
        charts: Any = no_update
        mark: Any = no_update
        if there != shown:  # pictures are drawn anew only where there is more to see
            charts, mark = sweep_charts(state.swept) if state.swept else None, there
        line = None if running or job.state == "done" else ended(job, "The sweep")
        return more(job), line, charts, mark, *row_state(job)

    add_cancel(app, bench, "sweep")
