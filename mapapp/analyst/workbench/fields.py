"""Controls of the workbench: a value typed exactly, with a slider over sensible ones, and choices of a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import dash_mantine_components as dmc
from dash import ClientsideFunction, Dash, Input, State, dcc, html
from dash.dependencies import DashDependency
from dash.development.base_component import Component

from mapapp.analyst.workbench.setting import ControlValue
from mapapp.answers.words import aria
from mapapp.kinds.base.option import Control

Option = TypeVar("Option", bound=str)
Content = Component | str | int | float | None
"""What a table's cell shows."""


def slider(
    name: str,
    label: str,
    value: float,
    bounds: tuple[float, float, float],
    hint: str = "",
    *,
    text: str | None = None,
) -> Component:
    """A number on a line of evenly spaced ones; `bounds` are the least, the most and the step.

    Its value, or `text` where the stops have names, is shown beside the label, as component `{name}-shown`.
    """
    least, most, step = bounds
    return html.Div(
        [
            html.Div(
                [
                    html.Span(label),
                    html.Output(text or format_number(value), id=f"{name}-shown", className="shown"),
                ],
                className="label row-between",
            ),
            dmc.Slider(
                id=name,
                value=value,
                min=least,
                max=most,
                step=step,
                size="sm",
                label=None,
                thumbLabel=label,
                color="blue.8",
            ),
            *([html.P(hint, className="hint")] if hint else []),
        ],
        className="field",
    )


def format_number(value: float) -> str:
    """A number as it is shown beside its label."""
    return f"{value:g}"


def number_field(name: str, control: Control, value: str, stops: Sequence[str]) -> Component:
    """A number as exact text, component `name`, and a slider over its stops; the browser keeps the two together.

    Parameters
    ----------
    name : str
    control : Control
    value : str
    stops : sequence of str
        What the slider, `{name}-slider`, can choose, rising. Any other number can be typed.
    """
    label = f"{control.label}, {control.unit}" if control.unit else control.label
    return html.Div(
        [
            html.Div(
                [
                    html.Label(label, htmlFor=name, className="label"),
                    dmc.TextInput(id=name, value=value, size="xs", debounce=True, className="exact"),
                ],
                className="row-between",
            ),
            dmc.Slider(
                id=f"{name}-slider",
                value=find_nearest_stop(value, stops),
                min=0,
                max=len(stops) - 1,
                step=1,
                size="sm",
                label=None,
                thumbLabel=f"{control.label}, by steps",
                color="blue.8",
            ),
            dcc.Store(id=f"{name}-stops", data=list(stops)),
            *([html.P(control.hint, className="hint")] if control.hint else []),
        ],
        className="field number-field",
    )


def typed_text(name: str, control: Control, value: str) -> Component:
    """A text, component `name`, with its label above it and a hint below, which screen readers read after the label."""
    field: Component = dmc.TextInput(
        id=name,
        value=value,
        label=control.label,
        description=control.hint,
        inputWrapperOrder=["label", "input", "description"],
        size="sm",
        debounce=True,
    )
    return field


def find_nearest_stop(value: str, stops: Sequence[str]) -> int:
    """Position of the stop nearest to a number; 0 if the text is not a number."""
    try:
        wanted = float(value)
    except ValueError:
        return 0
    return min(range(len(stops)), key=lambda at: abs(float(stops[at]) - wanted))


def choice(
    name: str, label: str, value: ControlValue, options: Mapping[Option, str], hint: str = ""
) -> Component:
    """One of a few that fit beside each other, with its label above."""
    above = f"{name}-label"
    data = [{"value": key, "label": text} for key, text in options.items()]
    return html.Div(
        [
            html.Div(label, className="label", id=above),
            dmc.SegmentedControl(
                id=name,
                data=data,
                value=value,
                size="sm",
                fullWidth=True,
                color="blue.8",
                **aria(labelledby=above),
            ),
            *([html.P(hint, className="hint")] if hint else []),
        ],
        className="field",
    )


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Content, Sequence[Content]]],
    class_name: str = "",
) -> Component:
    """A table with a caption; each row is its head and its cells, which may be `html.Td` or plain values."""
    head = html.Thead(html.Tr([html.Th(column, scope="col") for column in columns]))
    body = html.Tbody([html.Tr([html.Th(name, scope="row"), *map(_cell, cells)]) for name, cells in rows])
    return html.Div(
        html.Table(
            [html.Caption(caption), head, body] if caption else [head, body], className=f"grid {class_name}"
        ),
        className="wide",
        tabIndex=0,
        role="region",
        **aria(label=caption or "Table"),
    )


def percent(share: object) -> str:
    """A share in percent; a dash if it is not known."""
    return "–" if not isinstance(share, float) or math.isnan(share) else f"{100 * share:.1f}%"


def _cell(value: Content) -> Component:
    return value if isinstance(value, html.Td) else html.Td(value)


# Types of what the workbench's callbacks take and return, where Dash leaves them open.

Answer = object
"""The new value of one component's property, or `no_update`."""
Answers = Sequence[Answer]
"""New values of several, in the order of the callback's outputs."""
Click = Mapping[str, Sequence[Mapping[str, object]]]
"""What Plotly says of a click on the map: its `points`."""
Dependency = DashDependency
"""An input, state, or output of a callback."""
DependencyType = Callable[[str, str], Input | State]


def clientside(app: Dash, function: ClientsideFunction, *places: Dependency, **options: bool) -> None:
    """Attach a callback that runs in the browser."""
    app.clientside_callback(function, *places, **options)  # type: ignore[no-untyped-call]  # Dash has no types for it
