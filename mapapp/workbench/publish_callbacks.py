"""The callbacks of publishing: what it will spend is shown before anything is spent."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, html, no_update

from mapapp.progress import Report
from mapapp.publishing.run import Outcome
from mapapp.workbench import publishing, publishing_page
from mapapp.workbench.bench import Bench
from mapapp.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.workbench.setting import CONTROLS, Setting, read_setting
from mapapp.workbench.tune_callbacks import control_inputs
from mapapp.workbench.work import ended, more, progress_row


def register(app: Dash, bench: Bench) -> None:
    """Attach them to an app."""
    _opening(app, bench)
    _making(app, bench)


def _opening(app: Dash, bench: Bench) -> None:
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
    def open_dialog(clicks: int, tab: str, *values: Any) -> tuple[Any, ...]:
        if not clicks:
            return (no_update,) * 4
        state = bench.tab(tab)
        if state.is_publishing:
            return True, no_update, no_update, True
        state.pending = None
        try:
            bench.require_nobody_publishes()
            setting = read_setting(dict(zip(CONTROLS, values, strict=True)))
            look = bench.now(tab)
            if look is None or look.setting != setting:
                look = bench.look(tab, setting)
            spends = publishing.spending(bench.path, look)
        except EXPECTED_ERRORS as error:
            return True, html.P(one_line(error), className="refusal"), None, True
        state.pending = setting
        return True, publishing_page.summary(setting, spends), None, False

    @app.callback(
        Output("publish-dialog", "opened", allow_duplicate=True),
        Input("publish-close", "n_clicks"),
        prevent_initial_call=True,
    )
    def close(clicks: int) -> Any:
        return False if clicks else no_update


def _making(app: Dash, bench: Bench) -> None:
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
    def go(clicks: int, tab: str, typed: str | None, test_key: bool) -> tuple[Any, Any, Any]:
        if not clicks or bench.tab(tab).pending is None:
            return no_update, no_update, no_update
        try:
            release = publishing.release_path(typed, bench.path)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal"), False

        def make(setting: Setting, report: Report) -> Outcome:
            return publishing.publish(bench.path, release, setting, test_key=bool(test_key), report=report)

        try:
            job = bench.publish(tab, make)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal"), True
        if job is None:
            return no_update, no_update, no_update
        return more(job), progress_row(job), True

    @app.callback(
        Output("publish-more", "data", allow_duplicate=True),
        Output("publish-outcome", "children", allow_duplicate=True),
        Input("publish-pulse", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: Any, tab: str) -> tuple[Any, Any]:
        job = bench.tab(tab).jobs.get("publish")
        if job is None:
            return None, no_update
        if job.state == "running":
            return more(job), progress_row(job)
        return None, _told(job.result) if job.state == "done" else ended(job, "Publishing")


def _told(outcome: Outcome) -> Any:
    """How it went, in the words of the command line."""
    first, *others = outcome.lines()
    return html.Div(
        [
            html.P(html.Strong(first)),
            html.Pre("\n".join(line.strip() for line in others), className="told"),
            html.P(["Look at it with ", html.Code(f"commutemap serve {outcome.release}"), "."]),
        ]
    )
