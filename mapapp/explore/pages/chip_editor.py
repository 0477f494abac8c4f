"""The part of a chip that changes a chosen part: its radius or distance in miles, and the name of a drawn part."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import Attributes, aria
from mapapp.question.area_text import MAX_LABEL, Circle, Corridor, Everything, Step, Unit, parse_area


def chip_editor(step: str, apply: Component, name: str) -> Component | None:
    """Fields for one step of an area, and the button that applies them; None if nothing of it can be changed.

    The page's script sends the fields with the button's choice, by the names in `data-edit`.
    """
    drawn = parse_area(step)[0]
    if isinstance(drawn.part, Everything):
        return None
    fields = [_field("miles", _miles_label(drawn), miles_of(drawn), 24)]
    if not isinstance(drawn.part, Unit):
        fields.insert(0, _field("name", "Name", drawn.label, MAX_LABEL))
    summary = html.Summary("Edit", **aria(label=f"Edit {name}"))
    return html.Details([summary, html.Div([*fields, apply], className="edit-fields")], className="edit")


def miles_of(step: Step) -> str:
    """The miles of a circle, a ring, or a corridor as a visitor types them; empty for other parts."""
    if isinstance(step.part, Circle):
        inner = f"{step.part.inner_mi:g}, " if step.part.inner_mi else ""
        return f"{inner}{step.part.outer_mi:g}"
    return f"{step.part.miles:g}" if isinstance(step.part, Corridor) else ""


def _miles_label(step: Step) -> str:
    if isinstance(step.part, Circle):
        return "Radii in miles" if step.part.inner_mi else "Radius in miles"
    return "Within this many miles"


def _field(name: str, label: str, value: str, most: int) -> Component:
    attributes: Attributes = {"data-edit": name}
    box = dcc.Input(type="text", value=value, maxLength=most, autoComplete="off")
    return html.Label([label, box], **attributes)
