"""The pages of the method lab, and what they have in common."""

from __future__ import annotations

from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import aria

__all__ = ["LABS", "lab_page"]

LABS: Final = {
    "/lab": "Two categories",
    "/lab-stars": "Six stars",
    "/lab-prior": "A careless prior",
    "/lab-records": "Worker records",
}
"""The title of each page, by its address."""


def lab_page(path: str, controls: Component, text: list[Component]) -> Component:
    """A page of the lab: choices on the left, text on the right, and links to the other pages above it."""
    return html.Main(
        [
            html.Aside(controls, className="panel ask", **aria(label="Choices")),
            html.Div(
                html.Article([_links(path), *text], className="lab-text"),
                className="text-page",
            ),
        ],
        className="lab",
    )


def _links(here: str) -> Component:
    links = [
        dcc.Link(title, href="." + path, className="here" if path == here else "")
        for path, title in LABS.items()
    ]
    return html.Nav(links, className="lab-pages", **aria(label="Pages of the method lab"))
