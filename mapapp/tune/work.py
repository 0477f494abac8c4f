"""How longer work shows on the page: its progress, a way to end it, and how it ended."""

from __future__ import annotations

import time
from typing import Any, Final

from dash import ClientsideFunction, Dash, Input, dcc, html

from mapapp.pages.words import aria
from mapapp.tune.jobs import Job

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


def progress_row(job: Job, cancel_id: str | None) -> Any:
    """How far a job is, and a way to end it."""
    percent = job.percent
    bar: dict[str, Any] = {} if percent is None else {"value": f"{percent:.0f}"}
    return html.Div(
        [
            html.Progress(max="100", **bar, **aria(label="Progress")),
            html.Span(job.stage, className="quiet small"),
            *(
                [html.Button("Cancel", id=cancel_id, n_clicks=0, className="link-button")]
                if cancel_id
                else []
            ),
        ],
        className="row-between",
    )


def ended(job: Job, what: str) -> Any:
    """What to say of a job that ended without a result."""
    if job.state == "cancelled":
        return html.P(f"{what} was cancelled.", className="quiet small")
    return html.P(job.error, className="refusal", role="status")
