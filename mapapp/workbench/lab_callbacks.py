"""The callbacks of the method lab."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, no_update

from mapapp.workbench import lab
from mapapp.workbench.fields import shown
from mapapp.workbench.lab_words import START

_SLIDERS = ("n", "m", "alpha", "epsilon")


def register(app: Dash) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("lab-answer", "children"),
        Output("lab-m", "disabled"),
        *[Output(f"lab-{name}-shown", "children") for name in _SLIDERS],
        *[Input(f"lab-{name}", "value") for name in lab.CONTROLS],
        prevent_initial_call=True,
    )
    def write_out(*values: Any) -> tuple[Any, ...]:
        given = lab.asked(dict(zip(lab.CONTROLS, values, strict=True)))
        follows = given["mechanism"] == "laplace" and given["reading"] == "printed"
        return lab.answer(given), follows, *[shown(given[name]) for name in _SLIDERS]

    @app.callback(
        *[Output(f"lab-{name}", "value") for name in lab.CONTROLS],
        Input({"type": "preset", "name": ALL}, "n_clicks"),
        *[State(f"lab-{name}", "value") for name in lab.CONTROLS],
        prevent_initial_call=True,
    )
    def start_from(clicks: list[int], *now: Any) -> list[Any]:
        if not any(clicks) or not isinstance(ctx.triggered_id, dict):
            return [no_update] * len(lab.CONTROLS)
        wanted = START | lab.PRESETS[ctx.triggered_id["name"]][1]
        return [
            no_update if wanted[name] == old else wanted[name]
            for name, old in zip(lab.CONTROLS, now, strict=True)
        ]
