"""How longer work shows on the page: its progress, a way to end it, and how it ended."""

from __future__ import annotations

import time
from typing import Any, Final

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from mapapp.answers.words import aria
from mapapp.workbench.bench import Bench
from mapapp.workbench.jobs import Job

WORK: Final = ("measure", "sweep", "design", "publish")
"""Kinds of work that the page asks after."""


def stores() -> list[Any]:
    """What asking after work needs on the page."""
    return [dcc.Store(id=f"{kind}-{part}") for kind in WORK for part in ("pulse", "more")]


def register(app: Dash) -> None:
    """Let the browser ask again after work that goes on, and only when it has the answer before.

    A callback that shows work takes `{kind}-pulse` as its input and puts :func:`more` into `{kind}-more`. An interval
    would go on asking while answers are late, and Dash drops every answer that a newer question has overtaken.
    """
    in_browser: Any = app.clientside_callback
    for kind in WORK:
        in_browser(ClientsideFunction("workbench", "again"), Input(f"{kind}-more", "data"))


def more(job: Job | None) -> int | None:
    """Whether to ask again: a new number each time, or None."""
    return time.time_ns() // 1_000_000 if job is not None and job.state == "running" else None


def cancel_row(kind: str) -> Any:
    """Where a kind of work shows how far it is, with a button to end it.

    It stays on the page: a button that is drawn anew with every answer loses the focus, and clicks.
    """
    return html.Div(
        [
            html.Progress(id=f"{kind}-bar", max="100", **aria(label="Progress")),
            html.Span(id=f"{kind}-stage", className="quiet small"),
            html.Button("Cancel", id=f"{kind}-cancel", n_clicks=0, className="link-button"),
        ],
        id=f"{kind}-row",
        className="row-between",
        hidden=True,
    )


def row_outputs(kind: str) -> list[Output]:
    """What of :func:`cancel_row` changes, as :func:`row_state` has it."""
    places = ((f"{kind}-row", "hidden"), (f"{kind}-bar", "value"), (f"{kind}-stage", "children"))
    return [Output(*place, allow_duplicate=True) for place in places]


def row_state(job: Job | None) -> tuple[bool, str | None, str]:
    """How the row of a job stands; hidden unless it runs."""
    if job is None or job.state != "running":
        return True, None, ""
    return False, _value(job), job.stage


def add_cancel(app: Dash, bench: Bench, kind: str) -> None:
    """Let the button of :func:`cancel_row` end a tab's work."""

    @app.callback(
        Output(f"{kind}-cancel", "n_clicks"),
        Input(f"{kind}-cancel", "n_clicks"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def cancel(clicks: int, tab: str) -> Any:
        job = bench.tab(tab).jobs.get(kind)
        if clicks and job is not None:
            job.cancel()
        return no_update


def progress_row(job: Job) -> Any:
    """How far a job is that cannot be ended."""
    value = _value(job)
    bar: dict[str, Any] = {} if value is None else {"value": value}
    return html.Div(
        [
            html.Progress(max="100", **bar, **aria(label="Progress")),
            html.Span(job.stage, className="quiet small"),
        ],
        className="row-between",
    )


def _value(job: Job) -> str | None:
    return None if job.percent is None else f"{job.percent:.0f}"


def ended(job: Job, what: str) -> Any:
    """What to say of a job that ended without a result."""
    if job.state == "cancelled":
        return html.P(f"{what} was cancelled.", className="quiet small")
    return html.P(job.error, className="refusal", role="status")
