"""Ways to share a view: a link, and the HTML that shows it on another site."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from mapapp.answers import words
from mapapp.answers.words import Attributes, aria


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
            *_embedding(embed_from),
        ],
        className="take-row",
        role="group",
        **aria(labelledby="take-share"),
    )


def _embedding(embed_from: Sequence[str]) -> list[Component]:
    if not embed_from:
        text = "No other site may embed this map. Its administrator can permit one with --embed-from."
        return [html.P(text, className="quiet small")]
    label = f"HTML that embeds this view on {words.listed(list(embed_from))}"
    return [
        html.Label(label, htmlFor="embed-snippet", className="quiet small"),
        html.Textarea(id="embed-snippet", readOnly="readOnly", rows=4, className="snippet"),
    ]
