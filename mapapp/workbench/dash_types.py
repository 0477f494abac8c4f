"""Types of what the workbench's callbacks take and return, where Dash leaves them open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dash import ClientsideFunction, Dash, Input, State
from dash.dependencies import DashDependency as Dependency

__all__ = ["Answer", "Answers", "Click", "Dependency", "DependencyType", "clientside"]

Answer = object
"""The new value of one component's property, or `no_update`."""
Answers = Sequence[Answer]
"""New values of several, in the order of the callback's outputs."""
Click = Mapping[str, Sequence[Mapping[str, object]]]
"""What Plotly says of a click on the map: its `points`."""
DependencyType = Callable[[str, str], Input | State]


def clientside(app: Dash, function: ClientsideFunction, *places: Dependency, **options: bool) -> None:
    """Attach a callback that runs in the browser."""
    app.clientside_callback(function, *places, **options)  # type: ignore[no-untyped-call]  # Dash has no types for it
