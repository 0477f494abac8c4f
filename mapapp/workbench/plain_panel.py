"""The card of Tune that leads: how far a planner's numbers would be off, beside the setting before."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.workbench.measured_setting import MeasuredSetting


def plain_card(measured: MeasuredSetting) -> Component:
    """What a planner asks first, beside the setting before."""
    now, before = (
        {} if found is None or found.plain is None else found.plain.errors()
        for found in (measured.validity, measured.previous)
    )
    rows = [
        html.Tr(
            [
                html.Th(label, scope="row"),
                html.Td(value, className="number"),
                html.Td(before.get(label, ""), className="number quiet before"),
            ]
        )
        for label, value in now.items()
    ]
    head = html.Tr(
        [html.Th(name, scope="col") for name in ("How far synthetic workers are off", "now", "before")]
    )
    return html.Section(
        [
            html.H2("What a planner would see"),
            html.Table([html.Thead(head), html.Tbody(rows)], className="measures", id="plain-measures"),
            html.P(_plain_words(measured), className="quiet small"),
        ],
        className="card",
        **aria(label="What a planner would see"),
    )


def _plain_words(measured: MeasuredSetting) -> str:
    inflow = " Errors of inflow follow once all tracts are measured." if measured.extent == "sample" else ""
    return (
        "From one draw with the test key, compared with the real workers. Flows are by the count that a reader sees; ± "
        f"is the root mean squared error.{inflow}"
    )
