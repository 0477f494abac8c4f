"""The Explore page: left what is asked, the map, right the answer."""

from __future__ import annotations

from typing import Any, Final, cast

from dash import dcc, html

from mapapp.figures.commute_map import CONFIG
from mapapp.pages.answer import table_frame
from mapapp.pages.controls import controls
from mapapp.pages.words import aria
from mapapp.queries.release import ServedRelease
from mapapp.url_state import ViewState

MAX_NOTES: Final = 8


def page(releases: dict[str, ServedRelease], state: ViewState, figure: Any) -> Any:
    """The page before its first answer; `figure` is the map without workers."""
    graph = dcc.Graph(
        id="map",
        figure=figure,
        config=cast(Any, CONFIG),
        responsive=True,
        className="map",
        clear_on_unhover=True,
    )
    return html.Main(
        [
            html.H1("Where people live and work", className="unseen"),
            html.A("Skip the map, go to the numbers", href="#answer", className="skip"),
            html.Aside(controls(releases, state), className="panel ask", **aria(label="What is asked")),
            html.Section(
                [
                    html.Div(id="busy", className="busy"),
                    graph,
                    html.Div(id="glance", className="glance", **aria(hidden="true")),
                ],
                className="stage",
                **aria(label="Map of commutes"),
            ),
            html.Aside(
                [
                    html.Div(id="notes"),
                    html.Div(id="answer", className="answer", tabIndex=-1),
                    html.Div([table_frame(state), html.Div(id="certificate")], className="answer"),
                ],
                className="panel result",
                **aria(label="The answer"),
            ),
            dcc.Store(id="look"),
            dcc.Store(id="moved-by"),
            dcc.Store(id="on-map", data=state.release or next(iter(releases))),
        ],
        className="explore",
    )


def notes(texts: tuple[str, ...]) -> Any:
    """What of the address could not be followed."""
    return (
        html.Div(html.Ul([html.Li(text) for text in _few(texts)]), className="notes", role="status")
        if texts
        else None
    )


def _few(texts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(texts) - MAX_NOTES
    return texts if more <= 0 else (*texts[:MAX_NOTES], f"And {more} more of the kind.")
