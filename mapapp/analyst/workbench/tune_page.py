"""The Tune page: left what a release would be made of, the map, right what it promises and costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.analyst.workbench import drawn_parts, side_by_side
from mapapp.analyst.workbench.audits import audit_panel
from mapapp.analyst.workbench.fields import choice, number_field
from mapapp.analyst.workbench.job_progress import cancel_row, start_row, stores
from mapapp.analyst.workbench.panels import weights_frame
from mapapp.analyst.workbench.publish import dialog
from mapapp.analyst.workbench.setting import CONTROLS, UNUSED, ControlValue, Values
from mapapp.analyst.workbench.tract_panel import tract_list
from mapapp.analyst.workbench.tradeoffs import tradeoff_panel
from mapapp.analyst.workbench.tune_map import map_choices
from mapapp.answers.words import aria
from mapapp.explore.pages.controls import segments
from mapapp.kinds.base.option import Control
from mapapp.show.plotly.commute_map import CONFIG
from mapapp.show.plotly.plain_figures import Figure

# The left panel of Tune: every parameter of a release, typed exactly or moved along sensible values.

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


def page(
    values: Values,
    figure: Figure,
    *,
    next_name: str,
    has_flows: bool,
    counts: Component,
    tables: Component,
    records: Component,
) -> Component:
    """The page before its first answer.

    Parameters
    ----------
    values : mapping
        Of the controls.
    figure : Figure
        The map without numbers.
    next_name : str
        That of the next setting to keep.
    has_flows : bool
        Whether the dataset has public flows.
    counts : Component
        The card on exact numbers of workers.
    tables : Component
        The Tables panel.
    records : Component
        The Records panel.
    """
    return html.Main(
        [
            html.H1("Tune a release before it is published", className="unseen"),
            html.A("Skip the map, go to the numbers", href="#panels", className="skip"),
            html.Aside(
                controls(values, has_flows=has_flows),
                className="panel ask",
                **aria(label="What a release is made of"),
            ),
            html.Section(_stage(figure), className="stage", **aria(label="Map of divergence")),
            html.Aside(
                [
                    html.Div(id="notes"),
                    html.Div(_progress(), className="scope", id="scope-card"),
                    side_by_side.controls(next_name),
                    html.Div(_tabs(counts, tables, records), id="panels", tabIndex=-1, className="panels"),
                ],
                className="panel result",
                **aria(label="What it promises and costs"),
            ),
            html.Div(id="tune-glance", className="tune-glance", **aria(hidden="true")),
            dialog(),
            side_by_side.dialog(),
            dcc.Store(id="unused", data=UNUSED),
            *[dcc.Store(id=name) for name in ("job", "chosen-tract", "requested-tract", "tract-data")],
            *stores(),
            *drawn_parts.stores(),
        ],
        className="explore tune",
    )


def _stage(figure: Figure) -> list[Component]:
    graph = dcc.Graph(
        id="map",
        figure=figure,
        config=cast(dcc.Graph.Config, CONFIG),
        responsive=True,
        className="map",
        clear_on_unhover=True,
    )
    return [
        html.Div(id="busy", className="busy"),
        graph,
        html.Div(
            segments("map-shows", "kl", map_choices(has_tract=False), size="xs", label="The map shows"),
            className="map-switch",
        ),
    ]


def _progress() -> list[Component]:
    return [
        html.P(id="scope", className="scope-line", **aria(live="polite")),
        html.Div(
            [
                html.Progress(id="progress", max="100", **aria(label="Tracts measured")),
                html.Button("Cancel", id="cancel", n_clicks=0, className="link-button"),
            ],
            id="progress-row",
            className="row-between",
            hidden=True,
        ),
    ]


def _tabs(counts: Component, tables: Component, records: Component) -> Component:
    panels = {
        "setting": (
            "Setting",
            [
                html.Div(id="setting-panel", className="answer"),
                html.Div(counts, className="answer"),
                weights_frame(),
            ],
        ),
        "commutes": ("Commutes", [html.Div(id="commutes-panel", className="answer"), _tract_list()]),
        "sweeps": ("Sweeps", sweep_panel()),
        "audit": ("Audit", [audit_panel(), tradeoff_panel()]),
        "tables": ("Tables", tables),
        "records": ("Records", records),
        "tract": ("Tract", [html.Div(id="tract-panel", className="answer"), _no_tract()]),
    }
    tabs: Component = dmc.Tabs(
        [
            dmc.TabsList([dmc.TabsTab(title, value=name) for name, (title, _) in panels.items()]),
            *[dmc.TabsPanel(panel, value=name) for name, (_, panel) in panels.items()],
        ],
        id="tabs",
        value="setting",
        keepMounted=True,
        color="blue.8",
    )
    return tabs


def _tract_list() -> Component:
    return html.Div(tract_list(), className="answer")


def _no_tract() -> Component:
    line = html.P("Click a workplace tract on the map to see its support points.", className="quiet")
    return html.Div(line, className="answer")


def sweep_panel() -> Component:
    """What the sweeps need before they have run."""
    return html.Div(
        [
            html.P(
                "Each sweep changes one parameter and keeps the others. Two settings are marked in every one: "
                "that of the controls, and that of OnTheMap V3 (ε 4.6 before pruning, retention 0.025, δ 10⁻⁶).",
                className="quiet",
            ),
            *start_row("sweep", action="Run the sweeps", label="Tracts to sweep over"),
            html.Div(id="sweep-charts", className="cards"),
        ],
        className="answer",
    )
