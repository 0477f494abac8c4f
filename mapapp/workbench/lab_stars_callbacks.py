"""The callbacks of the game of six stars."""

from __future__ import annotations

from dash import Dash, Input, Output, State, ctx, no_update

from mapapp.workbench import lab_stars
from mapapp.workbench.dash_types import Answers
from mapapp.workbench.lab_stars_clues import CLUES


def register(app: Dash) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("stars-read", "data"),
        Output("stars-answer", "children"),
        Output("stars-clues", "children"),
        Output("stars-said", "children"),
        Output("stars-guess", "value"),
        Output("stars-next", "disabled"),
        Input("stars-next", "n_clicks"),
        Input("stars-again", "n_clicks"),
        State("stars-read", "data"),
        State("stars-guess", "value"),
        prevent_initial_call=True,
    )
    def read_clue(further: int, again: int, n_read: int, guess: int | str | None) -> Answers:
        if not (further or again):
            return (no_update,) * 6
        n_read = 0 if ctx.triggered_id == "stars-again" else min(n_read + 1, len(CLUES))
        said = lab_stars.guess_line(guess, n_read) if n_read else ""
        return n_read, lab_stars.answer(n_read), lab_stars.clue_list(n_read), said, "", n_read == len(CLUES)
