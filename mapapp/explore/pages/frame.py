"""The frame around every page: its header, and the theme of the controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import PART, aria
from mapapp.explore.pages.sharing import copy_button
from mapapp.question.fields import Theme

THEME: Final[dict[str, object]] = {
    "fontFamily": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "primaryColor": "blue",
    "primaryShade": 8,
    "defaultRadius": "sm",
    "autoContrast": True,
}


def frame(theme: Theme, pages: Mapping[str, str]) -> dmc.MantineProvider:
    """The parts that stay when the visitor changes pages, in the colors of the first of them.

    `pages` are the names of the pages by path. Links are relative, because the app may be mounted anywhere.
    """
    return dmc.MantineProvider(
        html.Div(
            [
                dcc.Location(id="url", refresh=False),
                html.Header(
                    [
                        dcc.Link(
                            [html.Span(className="mark"), html.Span("CommuteMap", className="brand-name")],
                            href="./",
                            className="brand",
                        ),
                        html.Div(id="release-choice", className="release-choice"),
                        html.Span(id="release-title", className="release-title", **PART),
                        html.Nav(
                            [
                                dcc.Link(name, href="." + page, id={"type": "nav", "page": page})
                                for page, name in pages.items()
                            ],
                            **aria(label="Pages"),
                        ),
                        copy_button("Copy link", "link", className="header-button"),
                    ],
                    className="top",
                ),
                html.Div(id="banner", **PART),
                dcc.Store(id="page-title"),
                html.Div(id="page", className="page"),
                html.Div(id="copy-said", className="copy-said", role="status"),
            ],
            className=f"app {theme}",
            id="app",
        ),
        id="theme-provider",
        theme=THEME,
        forceColorScheme=theme,
    )


def not_found() -> Component:
    """The page for an address that leads nowhere."""
    return html.Main(
        html.Article([html.H1("Page not found"), dcc.Link("Go to the map", href="./")], className="prose"),
        className="text-page",
    )
