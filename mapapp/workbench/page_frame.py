"""The frame around the workbench's pages, and the warning on each of them."""

from __future__ import annotations

from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.explore.pages.frame import THEME

PAGES: Final = {"/": "Tune", "/lab": "Method lab"}


def frame(title: str, tab: str) -> Component:
    """What stays while the pages change.

    Parameters
    ----------
    title : str
        Of the dataset.
    tab : str
        Name of this browser tab; only its page knows it.
    """
    page: Component = dmc.MantineProvider(
        html.Div(
            [
                dcc.Location(id="url", refresh=False),
                dcc.Store(id="tab", data=tab),
                html.Header(
                    [
                        dcc.Link([html.Span(className="mark"), "CommuteMap"], href="./", className="brand"),
                        html.Span(f"Workbench: {title}", className="release-title"),
                        html.Nav(
                            [
                                dcc.Link(name, href="." + page, id={"type": "nav", "page": page})
                                for page, name in PAGES.items()
                            ],
                            **aria(label="Pages"),
                        ),
                    ],
                    className="top workbench",
                ),
                html.Section(
                    [
                        html.Strong("Confidential. Not for publication. "),
                        "The workbench reads where real workers live, and no promise covers what it shows.",
                    ],
                    className="banner confidential",
                    **aria(label="Confidential"),
                ),
                html.Div(id="page", className="page"),
            ],
            className="app",
        ),
        theme=THEME,
        forceColorScheme="light",
    )
    return page


def not_found() -> Component:
    """An address without a page."""
    return html.Main(
        html.Article([html.H1("Page not found"), dcc.Link("To the workbench", href="./")], className="prose"),
        className="text-page",
    )
