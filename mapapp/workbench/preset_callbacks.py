"""The callback of the presets: a button moves all controls to one of them."""

from __future__ import annotations

from dash import Dash, Input, Output, ctx, no_update

from mapapp.publishing.release_options import PRESETS
from mapapp.workbench.dash_types import Answers
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS
from mapapp.workbench.tune_callbacks import PROPERTIES


def register(app: Dash, session: Session) -> None:
    """Attach it to an app."""

    @app.callback(
        *[Output(name, PROPERTIES.get(name, "value"), allow_duplicate=True) for name in CONTROLS],
        *[Input(f"preset-{preset}", "n_clicks") for preset in PRESETS],
        prevent_initial_call=True,
    )
    def move(*clicks: int | None) -> Answers:
        chosen = next((preset for preset in PRESETS if ctx.triggered_id == f"preset-{preset}"), None)
        if not any(clicks) or chosen is None:
            return (no_update,) * len(CONTROLS)
        values = session.preset_values(chosen)
        return tuple(values[name] for name in CONTROLS)
