"""The callbacks of the trade-off: settings and other schemes are measured behind the page."""

from __future__ import annotations

from functools import partial
from typing import Final

from dash import Dash, Input, Output, State, no_update

from mapapp.measuring.audit.questions import Question
from mapapp.workbench.dash_types import Answer
from mapapp.workbench.job_progress import JobKind, attach
from mapapp.workbench.jobs import Work
from mapapp.workbench.measured_setting import Extent
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS, ControlValue, read_setting
from mapapp.workbench.tradeoff_panel import tradeoff_cards
from mapapp.workbench.tradeoffs import TradeOff, marked_settings, run_tradeoff, schemes_of
from mapapp.workbench.tune_callbacks import control_inputs

_KIND: Final = "tradeoff"


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    _show(app, session)
    kind = JobKind(
        name=_KIND,
        what="The comparison",
        states=[
            State("tradeoff-extent", "value"),
            State("tradeoff-question", "value"),
            State("tradeoff-schemes", "value"),
            *control_inputs(State),
        ],
        begin=partial(_begin, session),
    )
    attach(app, session, kind)


def _begin(
    session: Session, _tab: str, extent: Extent, question: Question, text: str | None, *controls: ControlValue
) -> Work[TradeOff]:
    setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
    schemes = schemes_of(session, text or "", question)
    settings = marked_settings(session, setting)
    return lambda report: run_tradeoff(session, settings, schemes, question, extent, report)


def _show(app: Dash, session: Session) -> None:
    @app.callback(
        Output("tradeoff-results", "children"),
        Input("tradeoff-shown", "data"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_number: int | None, _job: list[object] | None, tab: str) -> Answer:
        found, measured = session.result(tab, _KIND, TradeOff), session.shown(tab)
        if found is None:
            return no_update
        return tradeoff_cards(found, None if measured is None else measured.setting)
