"""The Explore page: the question on the left, the map, and the answer on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers import words
from mapapp.answers.release import Release
from mapapp.answers.wording import nouns_of
from mapapp.answers.words import PART, Attributes, aria
from mapapp.explore.color_scheme import shown_theme
from mapapp.explore.pages import area_controls, download_menu
from mapapp.explore.pages.answer_matrix import matrix_card
from mapapp.explore.pages.controls import controls
from mapapp.explore.pages.folding import folding_card
from mapapp.explore.pages.reader_words import in_reader_words
from mapapp.question.address import Address
from mapapp.show.plotly.charts import CONFIG as CHART_CONFIG
from mapapp.show.plotly.commute_map import DOWNLOADABLE
from mapapp.show.plotly.plain_figures import Figure

MAX_NOTES: Final = 8


def page(
    releases: dict[str, Release],
    address: Address,
    figure: Figure,
    layers: dict[str, str],
    awaited: Sequence[str] = (),
    embed_from: Sequence[str] = (),
) -> Component:
    """The page before its first answer.

    `figure` is the map without workers, `awaited` names releases to come, `embed_from` sites that may embed the map.
    """
    graph = dcc.Graph(
        id="map",
        figure=figure,
        config=cast("dcc.Graph.Config", DOWNLOADABLE),
        responsive=True,
        className="map",
        clear_on_unhover=True,
    )
    shown = releases[address.release or next(iter(releases))]
    main = html.Main(
        [
            html.H1("Where people live and work", className="unseen"),
            html.A("Skip to the numbers", href="#answer", className="skip"),
            _shown_head(shown),
            html.Aside(
                [
                    area_controls.find(),
                    html.Div(id="area-said", className="said-small", role="status"),
                    _question(controls(releases, address, layers, awaited)),
                ],
                className="panel ask",
                **aria(label="Question"),
            ),
            html.Section(
                [
                    html.Div(id="busy", className="busy"),
                    html.Div(graph, id="map-part", className="map-part", **PART),
                    _map_tools(),
                    html.P(id="prompt", className="prompt", role="status"),
                ],
                className="stage",
                **aria(label="Map of commutes"),
            ),
            html.Aside(
                [
                    _sheet_bar(),
                    html.Div(id="notes"),
                    html.Div(id="answer", className="answer", tabIndex=-1, **PART),
                    html.Div(
                        [_chart_card(), matrix_card(), table_card(), html.Div(id="certificate", **PART)],
                        className="answer",
                    ),
                    download_menu.dock(embed_from),
                    html.A(
                        "Open the full map", href="", target="_blank", rel="noopener", className="full-view"
                    ),
                ],
                className="panel result",
                id="result",
                **aria(label="Answer"),
            ),
            *[dcc.Store(id=name) for name in ("look", "choices", "followed", "answered")],
            *[dcc.Store(id=name) for name in ("offered", "found", "found-centers")],
            dcc.Store(
                id="on-map",
                data={
                    "release": address.release or next(iter(releases)),
                    "theme": shown_theme(address.view),
                    "view": "",
                },
            ),
        ],
        className="explore explorer",
    )
    return in_reader_words(main, nouns_of(shown.facts))


def _shown_head(release: Release) -> Component:
    """The title, source, and promise of the view, on paper and within another page, which both lack the header.

    The page's script writes the title, which has place and year (`assets/share.js`).
    """
    source = words.caption(release, "")
    return html.Div(
        [
            html.P(className="shown-title"),
            html.P(" · ".join(part for part in source if part), className="quiet small"),
        ],
        className="shown-head",
    )


def _question(controls: Component) -> Component:
    """The controls; on a small screen, a dialog that the page's script opens (`assets/phone.js`)."""
    return html.Div(
        [
            html.Div(
                [
                    html.H2("Change question", id="question-title"),
                    html.Button(
                        "Show the answer", id="close-question", className="button strong", n_clicks=0
                    ),
                ],
                className="question-bar",
            ),
            controls,
        ],
        className="question",
        id="question",
        tabIndex=-1,
    )


def _sheet_bar() -> Component:
    """The top of the answer on a small screen: the main number, and buttons that open the question and the answer."""
    return html.Div(
        [
            html.Div(id="glance", className="glance", **aria(hidden="true"), **PART),
            html.Button(
                "Change question",
                id="change-question",
                className="button",
                n_clicks=0,
                **aria(haspopup="dialog"),
            ),
            html.Button(
                html.Span("Whole answer", className="unseen"),
                id="open-sheet",
                className="button open-sheet",
                n_clicks=0,
                **aria(expanded="false", controls="result"),
            ),
        ],
        className="sheet-bar",
    )


_TOOLS: Final = {
    "polygon": "Draw a polygon",
    "circle": "Draw a circle",
    "box": "Draw a box",
    "lasso": "Draw freehand",
    "line": "Draw a line",
}
"""The tools that draw an area, with a mouse, a finger, or the arrow keys (`assets/drawing.js`)."""


def _map_tools() -> Component:
    """Buttons on the map: one for each tool that draws, and one that takes the last choice back."""
    return html.Div(
        [
            html.Div(
                [_drawing_tool(kind, text) for kind, text in _TOOLS.items()],
                className="drawing-tools",
                role="group",
                **aria(label="Draw an area"),
            ),
            html.Button(
                html.Span("Undo"), id="undo", className="tool undo", n_clicks=0, title="Undo the last choice"
            ),
        ],
        className="map-tools",
    )


def _drawing_tool(kind: str, text: str) -> Component:
    kinds: Attributes = {"data-draw": kind}
    return html.Button(html.Span(text), className="tool", n_clicks=0, title=text, **kinds)


def _chart_card() -> Component:
    return folding_card(
        "chart",
        html.H2(id="chart-title"),
        [
            dcc.Graph(
                id="chart", config=cast("dcc.Graph.Config", CHART_CONFIG), className="chart", figure={}
            ),
            html.P(id="chart-text", className="quiet small"),
        ],
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
    find: Component = dmc.TextInput(
        id="find-rows", placeholder="Find a row", size="xs", className="find-rows", **aria(label="Find a row")
    )
    return folding_card(
        "table",
        html.H2(id="table-title"),
        [
            html.Div(
                [find, html.Span(id="table-said", className="quiet small", role="status")],
                id="table-tools",
                className="table-tools",
                hidden=True,
            ),
            html.Div(
                html.Table(
                    [html.Thead(id="table-head"), html.Tbody(id="area-rows", className="linked-rows")],
                    className="areas",
                ),
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
        links=[
            html.Span(id="table-no-error"),
            html.A("CSV", id="csv", href="", className="take", **aria(label="Download table as CSV"), **PART),
        ],
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
