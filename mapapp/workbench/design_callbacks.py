"""The callbacks of choosing a setting from public data; what is found moves the controls."""

from __future__ import annotations

from dash import Dash, Input, Output, State, html, no_update

from mapapp.errors import UsageError
from mapapp.progress import Report
from mapapp.publishing.chosen_setting import DESIGNED_MECHANISMS, Choice, choose_setting, expected_line
from mapapp.publishing.public_part import (
    read_public_part,
)
from mapapp.workbench.dash_types import Answers
from mapapp.workbench.job_progress import add_cancel, ask, ended, more, row_outputs, row_state
from mapapp.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.workbench.session import Design, Session
from mapapp.workbench.setting import CONTROLS, ControlValue, Setting, read_setting, values_of
from mapapp.workbench.tune_callbacks import PROPERTIES, control_inputs


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("design-more", "data"),
        Output("design-progress", "children"),
        *row_outputs("design"),
        Input("design", "n_clicks"),
        State("tab", "data"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def start(clicks: int, tab: str, *controls: ControlValue) -> Answers:
        if not clicks:
            return (no_update,) * 5
        given = dict(zip(CONTROLS, controls, strict=True))
        try:
            setting = read_setting(given)
            require_designable(setting)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal", role="status"), *row_state(None)
        job = session.start_design(tab, lambda report: design(session, setting, report))
        return ask(), None, *row_state(job)

    @app.callback(
        Output("design-more", "data", allow_duplicate=True),
        Output("design-progress", "children", allow_duplicate=True),
        *[Output(name, PROPERTIES.get(name, "value"), allow_duplicate=True) for name in CONTROLS],
        *row_outputs("design"),
        Input("design-pulse", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str) -> Answers:
        still = [no_update] * len(CONTROLS)
        state = session.tab(tab)
        job = state.design
        if job is None:
            return None, None, *still, *row_state(None)
        if job.result is None:
            line = None if job.state == "running" else ended(job, "The search")
            return more(job), line, *still, *row_state(job)
        setting, facts = job.result
        values = values_of(setting)
        line = html.P(
            f"Chosen from public data out of {facts['settings_tried']} settings; {expected_line(facts)}.",
            className="quiet small",
            role="status",
        )
        return None, line, *[values[name] for name in CONTROLS], *row_state(job)

    add_cancel(app, session, "design")


def require_designable(setting: Setting) -> None:
    """Refuse what no setting is chosen for.

    Raises
    ------
    UsageError
        Another mechanism or accountant than the search is for.
    """
    if setting.privacy.accountant != "sound" or setting.parameters.mechanism not in DESIGNED_MECHANISMS:
        raise UsageError(
            "Design chooses for the exponential mechanism, or for the Dirichlet-multinomial and the sound accountant; "
            "choose these first"
        )


def design(session: Session, setting: Setting, report: Report) -> Design:
    """Find the setting of least expected divergence at the same promise, and how it was found."""
    privacy, parameters, facts = choose_setting(
        read_public_part(session.store),
        setting.privacy,
        setting.parameters,
        Choice(units=(setting.parameters.unit,)),
        report=report,
    )
    return Setting(privacy, parameters), facts
