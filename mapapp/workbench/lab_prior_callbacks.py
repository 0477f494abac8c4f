"""The callbacks of the page on a careless prior."""

from __future__ import annotations

from dash import Dash, Input, Output

from mapapp.workbench import lab_prior
from mapapp.workbench.dash_types import Answers
from mapapp.workbench.fields import shown


def register(app: Dash) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("prior-answer", "children"),
        *[Output(f"prior-{name}-shown", "children") for name in lab_prior.SLIDERS],
        *[Input(f"prior-{name}", "value") for name in lab_prior.CONTROLS],
        prevent_initial_call=True,
    )
    def decide(spread: float, epsilon: float, delta: str) -> Answers:
        return lab_prior.answer(spread, epsilon, delta), shown(spread), shown(epsilon)
