"""The left panel of Tune: every parameter of a release, typed exactly or moved along sensible values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.publishing.option import Control
from mapapp.workbench.fields import choice, number_field
from mapapp.workbench.job_progress import cancel_row
from mapapp.workbench.setting import CONTROLS, ControlValue, Values

_PRESETS: Final = {"recommended": "Recommended", "onthemap-v3": "OnTheMap V3"}
_GROUPS: Final = {
    "Promise": ("means", "epsilon", "delta", "accountant", "mechanism", "unit", "clean"),
    "Pruning": ("min_retention", "retention_scale"),
    "Coarsening": ("tract_radius_mi", "puma_radius_mi", "far_state_miles"),
    "Prior": ("prior", "strength"),
    "Domain editing": ("editing", "beyond_100", "beyond_200", "beyond_500"),
    "Commute distances": ("q50_mi", "q75_mi", "q90_mi"),
    "Replication": ("replication",),
}
_CLOSED: Final = ("Domain editing", "Commute distances", "Replication")
_NOTES: Final = {"Commute distances": "Public percentiles; the gravity prior is fitted to them."}


def controls(values: Values, *, has_flows: bool) -> Component:
    """Every control, with its value of `values`."""
    return html.Div(
        [
            html.Div(
                [
                    html.Button("Design", id="design", n_clicks=0, className="button"),
                    html.Button("Publish …", id="publish", n_clicks=0, className="button strong"),
                ],
                className="buttons",
            ),
            html.P(
                "Design finds radii, retention, strength, and prior for the promise from public data alone, and where "
                "asked:",
                className="hint",
            ),
            html.Div(
                [
                    dmc.Checkbox(id="design-mechanism", label="the mechanism", checked=False, size="sm"),
                    dmc.Checkbox(id="design-unit", label="who is drawn together", checked=False, size="sm"),
                ],
                className="buttons",
                role="group",
                **aria(label="What Design chooses besides numbers"),
            ),
            cancel_row("design"),
            html.Div(id="design-progress"),
            _presets(),
            *[
                _group(title, [_field(name, values[name], has_flows=has_flows) for name in names])
                for title, names in _GROUPS.items()
            ],
        ],
        className="controls",
    )


def _field(name: str, value: ControlValue, *, has_flows: bool) -> Component:
    """One control of a release."""
    control = CONTROLS[name]
    if control.stops:
        return number_field(name, control, str(value), control.stops.split())
    if name == "mechanism":
        return _mechanism(control, value)
    if control.choices:
        choices = {key: text for key, text in control.choices.items() if has_flows or key != "flows"}
        return choice(name, control.label, value, choices, control.hint)
    switch: Component = dmc.Switch(
        id=name, label=control.label, description=control.hint, checked=bool(value), size="sm"
    )
    return switch


def _presets() -> Component:
    """A button for each preset, which moves all controls."""
    buttons = [
        html.Button(label, id=f"preset-{preset}", n_clicks=0, className="button")
        for preset, label in _PRESETS.items()
    ]
    return html.Div(
        [
            html.Div("Start from a preset", className="label", id="presets-label"),
            html.Div(buttons, className="buttons", role="group", **aria(labelledby="presets-label")),
        ],
        className="field",
    )


def _mechanism(control: Control, value: ControlValue) -> Component:
    select: Component = dmc.Select(
        id="mechanism",
        label=control.label,
        data=[{"value": key, "label": text} for key, text in control.choices.items()],
        value=value,
        allowDeselect=False,
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,
        size="sm",
    )
    return select


def _group(title: str, parts: Sequence[Component]) -> Component:
    note = [html.P(_NOTES[title], className="hint")] if title in _NOTES else []
    return html.Details(
        [html.Summary(title), html.Div([*note, *parts], className="group")],
        open=title not in _CLOSED,
        className="filters",
        **aria(label=title),
    )
