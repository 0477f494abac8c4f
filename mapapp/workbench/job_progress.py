"""How longer work appears on the page: its progress, a button to cancel it, and how it ended."""

from __future__ import annotations

import time
from typing import Final, Literal

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.explore.pages.controls import segments
from mapapp.workbench.dash_types import Answer, Answers, clientside
from mapapp.workbench.jobs import Job, one_line
from mapapp.workbench.session import Session

WORK: Final = (
    "measure",
    "sweep",
    "audit",
    "tradeoff",
    "tables",
    "worker-records",
    "design",
    "justify",
    "publish",
)
"""Kinds of work whose progress the page asks for."""


def stores() -> list[Component]:
    """What the page needs to ask for the progress of work."""
    return [dcc.Store(id=f"{kind}-{part}") for kind in WORK for part in ("pulse", "more")]


def register(app: Dash) -> None:
    """Let the browser ask for progress again while work goes on, and only once it has the previous answer.

    A callback that shows work takes `{kind}-pulse` as its input and puts :func:`more` into `{kind}-more`. An interval
    would go on asking while answers are late, and Dash drops an answer when a newer request has been sent.
    """
    for kind in WORK:
        clientside(app, ClientsideFunction("workbench", "again"), Input(f"{kind}-more", "data"))


def ask() -> int:
    """A new number each time to make the browser ask after a job that was just started; it may have ended already."""
    return time.time_ns() // 1_000_000


def more(job: Job[object] | None) -> int | None:
    """A new number each time to make the browser ask again; None if the job has ended."""
    return ask() if job is not None and job.state == "running" else None


def cancel_row(kind: str) -> Component:
    """The row that shows the progress of a kind of work, with a button to cancel it.

    It stays on the page: a button that is drawn again with every answer loses the focus, and misses clicks.
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


def start_row(kind: str, *, action: str, label: str) -> list[Component]:
    """What starts a kind of work on a sample or on all tracts and follows it.

    The choice is `{kind}-extent`, the button `{kind}`; the row of :func:`cancel_row` follows, and `{kind}-progress`
    for a line about how the work ended.

    Parameters
    ----------
    kind : str
        One of `WORK`.
    action : str
        Text of the button.
    label : str
        Of the choice, for screen readers.
    """
    extents = {"sample": "On the sample", "whole": "On all tracts"}
    return [
        html.Div(
            [
                segments(f"{kind}-extent", "sample", extents, size="xs", label=label),
                html.Button(action, id=kind, n_clicks=0, className="button"),
            ],
            className="row-between",
        ),
        cancel_row(kind),
        html.Div(id=f"{kind}-progress"),
    ]


def row_outputs(kind: str) -> list[Output]:
    """The parts of :func:`cancel_row` that change; :func:`row_state` returns their values."""
    places = ((f"{kind}-row", "hidden"), (f"{kind}-bar", "value"), (f"{kind}-stage", "children"))
    return [Output(*place, allow_duplicate=True) for place in places]


def row_state(job: Job[object] | None) -> tuple[bool, str | None, str]:
    """State of the row of a job; it is hidden unless the job runs."""
    if job is None or job.state != "running":
        return True, None, ""
    return False, _value(job), job.stage


def add_cancel(
    app: Dash,
    session: Session,
    kind: Literal["design", "sweep", "audit", "tradeoff", "tables", "worker-records", "justify"],
) -> None:
    """Let the button of :func:`cancel_row` cancel a tab's work."""

    @app.callback(
        Output(f"{kind}-cancel", "n_clicks"),
        Input(f"{kind}-cancel", "n_clicks"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def cancel(clicks: int, tab: str) -> Answer:
        state = session.tab(tab)
        job: Job[object] | None = {
            "design": state.design,
            "sweep": state.sweep,
            "audit": state.audit,
            "tradeoff": state.tradeoff,
            "tables": state.tables,
            "worker-records": state.records,
            "justify": state.justify,
        }[kind]
        if clicks and job is not None:
            job.cancel()
        return no_update


def progress_row(job: Job[object]) -> Component:
    """Progress of a job that cannot be cancelled."""
    label = aria(label="Progress")
    value = _value(job)
    bar = html.Progress(max="100", **label)
    if value is not None:  # without a value the bar only moves
        bar = html.Progress(max="100", value=value, **label)
    return html.Div(
        [
            bar,
            html.Span(job.stage, className="quiet small"),
        ],
        className="row-between",
    )


def _value(job: Job[object]) -> str | None:
    return None if job.percent is None else f"{job.percent:.0f}"


def followed(job: Job[object] | None, what: str) -> Answers:
    """How a job gets on: whether to ask again, a line, the number of a job that is done, and :func:`row_state`."""
    state = None if job is None else job.state
    if job is None or state == "running":
        return None if job is None else ask(), None, no_update, *row_state(job)
    if state == "done":
        return None, None, job.number, *row_state(job)
    return None, ended(job, what), no_update, *row_state(job)


def refused(error: Exception) -> Component:
    """What to say about work that could not start."""
    return html.P(one_line(error), className="refusal", role="status")


def outdated(remedy: str) -> Component:
    """A line above results that are not those of the controls."""
    return html.P(f"The controls have changed since. {remedy}", className="refusal", role="status")


def ended(job: Job[object], what: str) -> Component:
    """What to say about a job that ended without a result."""
    if job.state == "cancelled":
        return html.P(f"{what} was cancelled.", className="quiet small")
    return html.P(job.error, className="refusal", role="status")
