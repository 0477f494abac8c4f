"""How longer work shows on the page: its progress, a way to end it, and how it ended."""

from __future__ import annotations

from typing import Any

from dash import html

from mapapp.pages.words import aria
from mapapp.tune.jobs import Job


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
