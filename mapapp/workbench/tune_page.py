"""The Tune page: left what a release would be made of, the map, right what it promises and costs."""

from __future__ import annotations

from typing import cast

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.drawing.plotly.commute_map import CONFIG
from mapapp.drawing.plotly.plain_figures import Figure
from mapapp.explore.pages.controls import segments
from mapapp.workbench import drawn_parts, side_by_side
from mapapp.workbench.audit_panel import audit_panel
from mapapp.workbench.controls import controls
from mapapp.workbench.job_progress import start_row, stores
from mapapp.workbench.panels import weights_frame
from mapapp.workbench.publish_dialog import dialog
from mapapp.workbench.setting import UNUSED, Values
from mapapp.workbench.tract_panel import tract_list
from mapapp.workbench.tradeoff_panel import tradeoff_panel

MAP_SHOWS = {
    "kl": "KL",
    "level": "Levels",
    "prior": "Prior",
    "likelihood": "Real",
    "posterior": "Posterior",
}


def page(
    values: Values,
    figure: Figure,
    *,
    next_name: str,
    has_flows: bool,
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
                    html.Div(_tabs(tables, records), id="panels", tabIndex=-1, className="panels"),
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
            segments("map-shows", "kl", MAP_SHOWS, size="xs", label="The map shows"),
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


def _tabs(tables: Component, records: Component) -> Component:
    panels = {
        "setting": ("Setting", [html.Div(id="setting-panel", className="answer"), weights_frame()]),
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
                "Each sweep changes one parameter and keeps the others. The papers' setting (V3: ε 4.6 "
                "before pruning, retention 0.025, δ 10⁻⁶) is marked.",
                className="quiet",
            ),
            *start_row("sweep", action="Run the sweeps", label="Tracts to sweep over"),
            html.Div(id="sweep-charts", className="cards"),
        ],
        className="answer",
    )
