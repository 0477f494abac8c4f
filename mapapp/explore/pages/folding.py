"""Cards that fold. The browser remembers which ones a visitor has folded (`assets/folding.js`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import Attributes

Part = Component | str | None


def folding_card(
    name: str,
    title: str | Sequence[Part] | Component,
    parts: Sequence[Part],
    *,
    links: Sequence[Component] = (),
    className: str = "",
    **more: Any,
) -> Component:
    """A card below a heading that folds it.

    Parameters
    ----------
    name : str
        By which the browser remembers it: the same for all answers.
    title : str, sequence, or Component
        Of the heading; a component is the heading itself.
    parts : sequence
        What folds away.
    links : sequence of Component
        Shown at the right of the heading. They fold away, too: a heading that is a button cannot have links.
    className : str
        Further classes.
    """
    heading = title if isinstance(title, Component) else html.H2(title)
    remembered: Attributes = {"data-fold": name}
    return html.Details(
        [
            html.Summary(heading),
            *([html.Div(list(links), className="card-links")] if links else []),
            *parts,
        ],
        open=True,
        className=f"card {className}".strip(),
        **remembered,
        **more,
    )
