"""Parts of the page that the browser builds itself, where numbers change with every move of a control.

Each Dash component in an answer is a step of its own for Dash's page, and each step asks every component of the page
whether it has changed. A panel of a few hundred components then takes longer to show than its numbers to measure. So
an answer sends what such a panel says as plain lists, and `assets/tune.js` makes the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from dash import ClientsideFunction, Dash, Input, Output, dcc
from dash.development.base_component import Component

from mapapp.analyst.workbench.fields import clientside

Drawn: TypeAlias = str | list[object]
"""Text, or an element as [tag, attributes, what is in it]."""

_ANSWERS: Final = ("numbers", "weights", "commutes", "tract")
_HTML: Final = "dash_html_components"
_AS_IN_HTML: Final = {"className": "class"}


def stores() -> list[Component]:
    """Where answers put what the browser draws."""
    return [dcc.Store(id=f"{name}-drawn") for name in _ANSWERS]


def output(answer: str, *, again: bool = False) -> Output:
    """The output of a callback with what to draw, by place; `again` if another callback has it as well."""
    return Output(f"{answer}-drawn", "data", allow_duplicate=again)


def register(app: Dash) -> None:
    """Let the browser draw each answer as soon as it is there."""
    for name in _ANSWERS:
        clientside(app, ClientsideFunction("workbench", "draw"), Input(f"{name}-drawn", "data"))


def describe_drawn(content: object) -> list[Drawn]:
    """What a part says, for the browser.

    Parameters
    ----------
    content : component, text, number, None, or a sequence of these
        Elements of HTML alone.

    Raises
    ------
    TypeError
        A component that is not an element of HTML.
    """
    if content is None:
        return []
    if isinstance(content, Component):
        return [_element(content)]
    if isinstance(content, str | int | float):
        return [str(content)]
    if isinstance(content, Sequence):
        return [piece for child in content for piece in describe_drawn(child)]
    raise TypeError(f"the browser cannot draw a {type(content).__name__}")


def _element(component: Component) -> list[object]:
    plain = component.to_plotly_json()  # type: ignore[no-untyped-call]  # Dash has no types for it
    if plain["namespace"] != _HTML:
        raise TypeError(f"the browser cannot draw a {plain['type']}")
    attributes = {
        _AS_IN_HTML.get(name, name): value
        for name, value in plain["props"].items()
        if name != "children" and value is not None and value is not False
    }
    return [plain["type"].lower(), attributes, describe_drawn(plain["props"].get("children"))]
