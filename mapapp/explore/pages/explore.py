"""The Explore page: the question on the left, the map, and the answer on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import plotly.graph_objects as go
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.served_release import ServedRelease
from mapapp.answers.words import PART, aria
from mapapp.drawing.plotly.charts import CONFIG as CHART_CONFIG
from mapapp.drawing.plotly.commute_map import DRAWING
from mapapp.explore.color_scheme import shown_theme
from mapapp.explore.pages import area_controls, download_menu
from mapapp.explore.pages.controls import controls
from mapapp.question.address import Address

MAX_NOTES: Final = 8


def page(
    releases: dict[str, ServedRelease],
    address: Address,
    figure: go.Figure,
    layers: dict[str, str],
    awaited: Sequence[str] = (),
) -> Component:
    """The page before its first answer; `figure` is the map without workers, `awaited` names releases to come."""
    graph = dcc.Graph(
        id="map",
        figure=figure,
        config=cast("dcc.Graph.Config", DRAWING),
        responsive=True,
        className="map",
        clear_on_unhover=True,
    )
    return html.Main(
        [
            html.H1("Where people live and work", className="unseen"),
            html.A("Skip to the numbers", href="#answer", className="skip"),
            html.Aside(
                controls(releases, address, layers, awaited),
                className="panel ask",
                **aria(label="Question"),
            ),
            html.Section(
                [
                    html.Div(id="busy", className="busy"),
                    html.Div(graph, id="map-part", className="map-part", **PART),
                    html.Div(id="glance", className="glance", **aria(hidden="true"), **PART),
                ],
                className="stage",
                **aria(label="Map of commutes"),
            ),
            html.Aside(
                [
                    html.Div(id="notes"),
                    html.Div(id="answer", className="answer", tabIndex=-1, **PART),
                    html.Div(
                        [_chart_card(), table_card(), html.Div(id="certificate", **PART)], className="answer"
                    ),
                    download_menu.dock(),
                ],
                className="panel result",
                **aria(label="Answer"),
            ),
            *[dcc.Store(id=name) for name in ("look", "choices", "followed", "answered")],
            dcc.Store(
                id="on-map",
                data={
                    "release": address.release or next(iter(releases)),
                    "theme": shown_theme(address.view),
                    "view": "",
                },
            ),
        ],
        className="explore",
    )


def _chart_card() -> Component:
    return html.Section(
        [
            html.H2(id="chart-title"),
            dcc.Graph(
                id="chart", config=cast("dcc.Graph.Config", CHART_CONFIG), className="chart", figure={}
            ),
            html.P(id="chart-text", className="quiet small"),
        ],
        className="card",
        id="chart-card",
        hidden=True,
        **PART,
    )


def table_card() -> Component:
    """The card of the table, which stays while its rows change."""
    marks = [
        ("caution", " 3–9 workers: use with caution. "),
        ("substantial", " 1–2 workers: substantial variability."),
    ]
    return html.Section(
        [
            html.Div(
                [
                    html.H2(id="table-title"),
                    html.A(
                        "CSV",
                        id="csv",
                        href="",
                        className="take",
                        **aria(label="Download table as CSV"),
                        **PART,
                    ),
                ],
                className="row-between",
            ),
            html.Div(
                html.Table([html.Thead(id="table-head"), html.Tbody(id="area-rows")], className="areas"),
                className="scroll",
                tabIndex=0,
                role="region",
                **aria(labelledby="table-title"),
            ),
            html.Button(id="every", className="clear", **area_controls.choice("every")),
            html.P(
                [
                    part
                    for name, text in marks
                    for part in (html.Span("●", className=f"dot {name}", **aria(hidden="true")), text)
                ],
                className="quiet small",
            ),
            dcc.Store(id="area-data"),
        ],
        className="card",
        id="table-card",
        **PART,
    )


def notes(texts: tuple[str, ...]) -> Component | None:
    """Notes on the parts of the address that the page could not use."""
    return (
        html.Div(html.Ul([html.Li(text) for text in _few(texts)]), className="notes", role="status")
        if texts
        else None
    )


def _few(texts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(texts) - MAX_NOTES
    return texts if more <= 0 else (*texts[:MAX_NOTES], f"And {more} more.")
