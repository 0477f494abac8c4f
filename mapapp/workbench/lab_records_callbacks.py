"""The callbacks of the page on worker records."""

from __future__ import annotations

from collections.abc import Sequence

from dash import ALL, Dash, Input, Output, State, ctx, no_update

from mapapp.workbench import lab_records, lab_records_tables
from mapapp.workbench.dash_types import Answers
from mapapp.workbench.fields import shown
from mapapp.workbench.lab_records_example import ATTRIBUTES, MOST, Record

_VALUES = {"type": "records-value", "row": ALL, "attribute": ALL}
_CONTROLS = [f"records-{name}" for name in lab_records.CONTROLS]


def register(app: Dash) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("records-answer", "children"),
        Output({"type": "records-row", "row": ALL}, "style"),
        *[Output(f"records-{name}-shown", "children") for name in lab_records.SLIDERS],
        Input(_VALUES, "value"),
        *[Input(name, "value") for name in _CONTROLS],
        prevent_initial_call=True,
    )
    def write_out(codes: Sequence[str], *values: object) -> Answers:
        given = dict(zip(lab_records.CONTROLS, values, strict=True))
        used = lab_records.shown_values(given)
        return (
            lab_records.answer(given, records_of(codes)),
            lab_records_tables.row_styles(MOST + 1, int(used["n"])),
            *[shown(used[name]) for name in lab_records.SLIDERS],
        )

    @app.callback(
        Output(_VALUES, "value"),
        *[Output(name, "value") for name in _CONTROLS],
        Input({"type": "records-preset", "name": ALL}, "n_clicks"),
        State(_VALUES, "value"),
        *[State(name, "value") for name in _CONTROLS],
        prevent_initial_call=True,
    )
    def start_from(clicks: list[int], codes: Sequence[str], *now: object) -> Answers:
        if not any(clicks) or not isinstance(ctx.triggered_id, dict):
            return [[no_update] * len(codes), *[no_update] * len(now)]
        values, records = lab_records.start(ctx.triggered_id["name"])
        wanted = [values[name] for name in lab_records.CONTROLS]
        return [
            [str(code) for record in records for code in record],
            *[no_update if new == old else new for new, old in zip(wanted, now, strict=True)],
        ]


def records_of(codes: Sequence[str]) -> list[Record]:
    """The records that the editor shows, from the values of its fields in order; at most as many as it has."""
    width = len(ATTRIBUTES)
    numbers = [int(code) for code in codes[: (MOST + 1) * width]]
    return [tuple(numbers[at : at + width]) for at in range(0, len(numbers), width)]
