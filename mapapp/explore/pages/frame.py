"""The frame around every page: its header, and the theme of the controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from geodata.text import list_names
from mapapp.answers.words import PART, Attributes, aria
from mapapp.question.fields import Theme

# Ways to share a view: a link, and the HTML that shows it on another site.


def copy_button(text: str, copies: str, className: str = "button") -> Component:
    """A button that copies a text to the clipboard (`assets/share.js`).

    `copies` is `link`, the address of the page, or `snippet`, the HTML that embeds it.
    """
    what: Attributes = {"data-copy": copies}
    return html.Button(html.Span(text), className=f"copy {className}", n_clicks=0, **what, **aria(label=text))


def share(embed_from: Sequence[str]) -> Component:
    """The link to this view, and its HTML for the sites that may embed it."""
    buttons = [copy_button("Copy link", "link")] + [copy_button("Copy HTML", "snippet")] * bool(embed_from)
    return html.Div(
        [
            html.Div("Share", className="take-title", id="take-share"),
            html.Div(buttons, className="buttons"),
            *_embed_controls(embed_from),
        ],
        className="take-row",
        role="group",
        **aria(labelledby="take-share"),
    )


def _embed_controls(embed_from: Sequence[str]) -> list[Component]:
    if not embed_from:
        text = "No other site may embed this map. Its administrator can permit one with --embed-from."
        return [html.P(text, className="quiet small")]
    label = f"HTML that embeds this view on {list_names(list(embed_from))}"
    return [
        html.Label(label, htmlFor="embed-snippet", className="quiet small"),
        html.Textarea(id="embed-snippet", readOnly="readOnly", rows=4, className="snippet"),
    ]


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
