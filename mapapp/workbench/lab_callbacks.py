"""The callbacks of the method lab."""

from __future__ import annotations

from collections.abc import Mapping

from dash import ALL, Dash, Input, Output, State, ctx, no_update

from mapapp.workbench import lab
from mapapp.workbench.dash_types import Answers
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
    def write_out(*values: object) -> Answers:
        given = lab.example_arguments(dict(zip(lab.CONTROLS, values, strict=True)))
        follows = given["mechanism"] == "laplace" and given["reading"] == "printed"
        return (
            lab.answer(given),
            follows,
            *[shown(number) for number in (given["n"], given["m"], given["alpha"], given["epsilon"])],
        )

    @app.callback(
        *[Output(f"lab-{name}", "value") for name in lab.CONTROLS],
        Input({"type": "preset", "name": ALL}, "n_clicks"),
        *[State(f"lab-{name}", "value") for name in lab.CONTROLS],
        prevent_initial_call=True,
    )
    def start_from(clicks: list[int], *now: object) -> Answers:
        if not any(clicks) or not isinstance(ctx.triggered_id, dict):
            return [no_update] * len(lab.CONTROLS)
        wanted: Mapping[str, object] = {**START, **lab.PRESETS[ctx.triggered_id["name"]][1]}
        return [
            no_update if wanted[name] == old else wanted[name]
            for name, old in zip(lab.CONTROLS, now, strict=True)
        ]
