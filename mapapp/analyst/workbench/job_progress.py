"""How longer work appears on the page: its progress, a button to cancel it, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from mapapp.analyst.workbench.fields import Answer, Answers, Dependency, clientside
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, Job, Work, one_line
from mapapp.analyst.workbench.session import Session, Tab
from mapapp.answers.words import aria
from mapapp.explore.pages.controls import segments

Result = TypeVar("Result")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind(Generic[Result]):
    """A kind of longer work that a tab can start, follow, and cancel.

    Attributes
    ----------
    name : str
        What the names of its components begin with.
    what : str
        Subject of a sentence about it.
    states : sequence of Dependency
        What the page holds when it starts.
    begin : callable
        Takes the name of the tab and the values of `states`, and returns the work. What it refuses, it raises.
    button : str
        The component that starts it; by default `name`.
    line : str
        The component for a line about how it ended; by default `{name}-progress`.
    outputs : sequence of Output
        What changes when it is done, as :meth:`show` says. By default `{name}-shown`, which gets the job's number.
    show : callable or None
        Takes the result; returns the line, and the values of `outputs`.
    mark : callable or None
        Takes the tab; what `{name}-shown` gets while the work goes on, whenever it is another value.
    """

    name: str
    what: str
    states: Sequence[Dependency]
    begin: Callable[..., Work[Result]]
    button: str = ""
    line: str = ""
    outputs: Sequence[Output] = ()
    show: Callable[[Result], tuple[Component | None, Answers]] | None = None
    mark: Callable[[Tab], Answer] | None = None


def attach(app: Dash, session: Session, kind: JobKind[Result]) -> None:
    """Attach the callbacks that start, follow, and cancel a kind of work."""
    line = kind.line or f"{kind.name}-progress"
    outputs = kind.outputs or [Output(f"{kind.name}-shown", "data")]

    @app.callback(
        Output(f"{kind.name}-more", "data"),
        Output(line, "children"),
        *_row_outputs(kind.name),
        Input(kind.button or kind.name, "n_clicks"),
        State("tab", "data"),
        *kind.states,
        prevent_initial_call=True,
    )
    def start(clicks: int, tab: str, *values: object) -> Answers:
        if not clicks:
            return (no_update,) * 5
        try:
            work = kind.begin(tab, *values)
        except EXPECTED_ERRORS as error:
            return None, refusal_line(error), *_row_state(None)
        return ask(), None, *_row_state(session.start_job(tab, kind.name, work))

    @app.callback(
        Output(f"{kind.name}-more", "data", allow_duplicate=True),
        Output(line, "children", allow_duplicate=True),
        *outputs,
        *_row_outputs(kind.name),
        Input(f"{kind.name}-pulse", "data"),
        State("tab", "data"),
        State(f"{kind.name}-shown", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str, shown: Answer) -> Answers:
        state = session.tab(tab)
        job = state.jobs.get(kind.name)
        again = ask_again(job)  # before the rest is read: what ends meanwhile is shown by the next answer
        said, news = _news(kind, state, job, shown, runs=again is not None)
        return again, said, *(news or (no_update,) * len(outputs)), *_row_state(job)

    @app.callback(
        Output(f"{kind.name}-cancel", "n_clicks"),
        Input(f"{kind.name}-cancel", "n_clicks"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def cancel(clicks: int, tab: str) -> Answer:
        job = session.tab(tab).jobs.get(kind.name)
        if clicks and job is not None:
            job.cancel()
        return no_update


def _news(
    kind: JobKind[Result], tab: Tab, job: Job[object] | None, shown: Answer, *, runs: bool
) -> tuple[Component | None, Answers | None]:
    """The line about a job, and the values of its kind's outputs; None if they stay."""
    if job is None:
        return None, None
    is_done = not runs and job.state == "done"
    if is_done and kind.show is not None:
        return kind.show(cast("Result", job.result))
    said = None if runs or is_done else ended_line(job, kind.what)
    if kind.mark is None:
        return said, (job.number,) if is_done else None
    mark = [job.number, kind.mark(tab), runs]
    return said, None if mark == shown else (mark,)


def stores() -> list[Component]:
    """What the page needs to ask for the progress of work, apart from dialogs, which come and go."""
    return [dcc.Store(id=f"{kind}-{part}") for kind in WORK for part in ("pulse", "more", "shown")]


def register(app: Dash) -> None:
    """Let the browser ask for progress again while work goes on, and only once it has the previous answer.

    A callback that shows work takes `{kind}-pulse` as its input and puts :func:`ask_again` into `{kind}-more`. An
    interval would go on asking while answers are late, and Dash drops an answer when a newer request has been sent.
    """
    for kind in WORK:
        clientside(app, ClientsideFunction("workbench", "again"), Input(f"{kind}-more", "data"))


def ask() -> int:
    """A new number each time to make the browser ask after a job that was just started; it may have ended already."""
    return time.time_ns() // 1_000_000


def ask_again(job: Job[object] | None) -> int | None:
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


def _row_outputs(kind: str) -> list[Output]:
    """The parts of :func:`cancel_row` that change; :func:`_row_state` returns their values."""
    places = ((f"{kind}-row", "hidden"), (f"{kind}-bar", "value"), (f"{kind}-stage", "children"))
    return [Output(*place, allow_duplicate=True) for place in places]


def _row_state(job: Job[object] | None) -> tuple[bool, str | None, str]:
    """State of the row of a job; it is hidden unless the job runs."""
    if job is None or job.state != "running":
        return True, None, ""
    return False, _value(job), job.stage


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


def refusal_line(error: Exception) -> Component:
    """What to say about work that could not start."""
    return html.P(one_line(error), className="refusal", role="status")


def outdated_line(remedy: str) -> Component:
    """A line above results that are not those of the controls."""
    return html.P(f"The controls have changed since. {remedy}", className="refusal", role="status")


def ended_line(job: Job[object], what: str) -> Component:
    """What to say about a job that ended without a result."""
    if job.state == "cancelled":
        return html.P(f"{what} was cancelled.", className="quiet small")
    return html.P(job.error, className="refusal", role="status")
