"""The callbacks of choosing a setting from public data; what is found moves the controls."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import get_args

from dash import Dash, State, html
from dash.development.base_component import Component

from engine.parameters import Mechanism, PrivacyParameters, Unit
from geodata.json_objects import JsonMapping
from mapapp.analyst.workbench.fields import Answers
from mapapp.analyst.workbench.job_progress import JobKind, attach
from mapapp.analyst.workbench.jobs import Work
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, ControlValue, Setting, read_setting, values_of
from mapapp.analyst.workbench.tune_callbacks import control_inputs, control_outputs
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.kinds.release.choose.cascade_choice import CascadeFacts
from mapapp.kinds.release.choose.design_by_reader_errors import COMPARED_MECHANISMS, DrawnDesignFacts
from mapapp.kinds.release.choose.design_by_validity import DesignFacts
from mapapp.kinds.release.choose.public_part import read_public_part
from mapapp.kinds.release.choose.setting_choice import Choice, choose_setting, expected_line, exposure_line
from mapapp.kinds.release.make.options import DEFAULT_PRESET
from mapapp.kinds.release.make.settings import preset_ceiling

Design = tuple[Setting, DesignFacts | DrawnDesignFacts | CascadeFacts]
"""A setting chosen from public data, and how it was chosen."""


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    kind = JobKind(
        name="design",
        what="The search",
        states=[
            State("design-mechanism", "checked"),
            State("design-unit", "checked"),
            *control_inputs(State),
        ],
        begin=partial(_begin, session),
        outputs=control_outputs(),
        show=_show,
    )
    attach(app, session, kind)


def _begin(
    session: Session, _tab: str, any_mechanism: bool, any_unit: bool, *controls: ControlValue
) -> Work[Design]:
    given = dict(zip(CONTROLS, controls, strict=True))
    search = search_for(
        read_setting(given),
        any_mechanism=any_mechanism,
        any_unit=any_unit,
        cleans=given["clean"] == "on",
    )
    return lambda report: design(session, search, report)


def _show(chosen_design: Design) -> tuple[Component, Answers]:
    """How the setting was chosen, and the controls that make it."""
    setting, facts = chosen_design
    values = values_of(setting)
    line = html.P(chosen_line({**facts}), className="quiet small", role="status")
    return line, [values[name] for name in CONTROLS]


def search_for(
    setting: Setting, *, any_mechanism: bool, any_unit: bool, cleans: bool
) -> tuple[Setting, Choice]:
    """Return where a search starts, and what it may choose, with the ceiling on exposure of the default preset.

    Parameters
    ----------
    setting : Setting
        What the controls show. If mechanisms are compared, the Dirichlet-multinomial takes part only if it is shown,
        since it needs a delta.
    any_mechanism, any_unit : bool
        Whether mechanisms are compared, and the workers whom they draw together, as by `--mechanism auto` and
        `--unit auto` of the command.
    cleans : bool
        Whether the exponential mechanism is cleaned.

    Raises
    ------
    UsageError
        No setting is chosen for the accountant, or not all mechanisms take what is set.
    """
    privacy, parameters = setting.privacy, setting.parameters
    if privacy.accountant != "sound":
        raise UsageError("Design chooses weights that the sound accountant certifies; choose that one first")
    units = get_args(Unit) if any_unit else (parameters.unit,)
    has_ceiling = any_mechanism or parameters.mechanism == "exponential"  # as options that name no ceiling
    most_exposed = preset_ceiling(DEFAULT_PRESET) if has_ceiling else None
    if not any_mechanism:
        return setting, Choice(units=units, most_exposed=most_exposed)
    if parameters.replication or parameters.editing == "drop":
        raise UsageError(
            "Design compares mechanisms, and not all of them allow what the 2010 release did or drop points; turn "
            "replication off and keep the points"
        )
    start = Setting(
        PrivacyParameters(epsilon=privacy.epsilon, delta=privacy.delta, accountant="sound"),
        replace(parameters, mechanism="exponential", clean=cleans),
    )
    is_pure = parameters.mechanism == "exponential"
    mechanisms: tuple[Mechanism, ...] = ("exponential",) if is_pure else COMPARED_MECHANISMS
    return start, Choice(units=units, mechanisms=mechanisms, most_exposed=most_exposed)


def design(session: Session, search: tuple[Setting, Choice], report: Report) -> Design:
    """Find the setting of least expected error at the same promise, and how it was found."""
    start, choice = search
    privacy, parameters, facts = choose_setting(
        read_public_part(session.store, choice.units), start.privacy, start.parameters, choice, report=report
    )
    return Setting(privacy, parameters), facts


def chosen_line(facts: JsonMapping) -> str:
    """Return what was chosen from, what to expect of it, and of the next best."""
    line = f"Chosen from public data out of {facts['settings_tried']} settings; {expected_line(facts)}."
    if facts.get("most_exposed") is not None:
        line += f" Exposure: {exposure_line(facts)}."
    if not facts.get("runner_up"):
        return line
    return (
        f"{line} Runner-up: {facts['runner_up']}, {facts['expected_misplaced_of_runner_up']:.1%} misplaced."
    )
