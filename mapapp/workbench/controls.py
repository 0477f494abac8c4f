"""The left panel of Tune: every parameter of a release, typed exactly or moved along sensible values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.workbench.fields import choice, exact_number
from mapapp.workbench.job_progress import cancel_row
from mapapp.workbench.setting import CLEANING, MEANS, NUMBERS, UNITS, ControlValue, Values

STOPS: Final[dict[str, tuple[str, ...]]] = {
    "epsilon": (
        "0.5",
        "1",
        "1.5",
        "2",
        "3",
        "4",
        "4.6",
        "5",
        "6",
        "6.5",
        "7",
        "8",
        "9",
        "10",
        "12",
        "15",
        "20",
        "25",
    ),
    "delta": ("1e-12", "1e-11", "1e-10", "1e-9", "1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3"),
    "min_retention": ("0.001", "0.005", "0.01", "0.025", "0.05", "0.1", "0.2", "0.3", "0.5", "1"),
    "retention_scale": ("0", "1", "3", "10", "30", "100"),
    "tract_radius": (
        "0",
        "1",
        "2",
        "4",
        "6.23",
        "8",
        "10",
        "15",
        "20",
        "25",
        "30",
        "40",
        "60",
        "100",
        "12500",
    ),
    "puma_radius": ("4", "10", "15", "21.54", "25", "30", "40", "50", "60", "80", "100", "150", "12500"),
    "far_states": ("50", "100", "150", "200", "300", "400", "500", "750", "1000", "2000", "12500"),
    "q50": ("2", "3", "4", "5", "6.23", "8", "10", "15"),
    "q75": ("6", "8", "10", "13.1", "15", "20", "25", "30"),
    "q90": ("10", "15", "21.54", "25", "30", "40", "50", "60"),
    "beyond_100": ("0", "0.1", "0.25", "0.5", "0.75", "0.9", "1"),
    "beyond_200": ("0", "0.25", "0.5", "0.75", "0.9", "0.98", "1"),
    "beyond_500": ("0", "0.25", "0.5", "0.75", "0.9", "0.98", "1"),
    "strength": ("0", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30"),
}
"""The values that a number's slider can take; any other value can be typed."""

_PRESETS: Final = {"recommended": "Recommended", "onthemap-v3": "OnTheMap V3"}
_MECHANISMS: Final = {
    "exponential": "Exponential",
    "dirichlet-multinomial": "Dirichlet-multinomial",
}
_HINTS: Final = {
    "min_retention": "Probability of keeping a support point where nobody lives. Costs ln(1/this).",
    "strength": "Number of prior workers, spread by prior share. Every point gets at least its certified weight.",
    "tract_radius": "Origins nearer than this stay tracts.",
    "puma_radius": "Origins farther than this become SuperPUMAs.",
    "far_states": "States outside the area that are farther away are pooled by census division. 12,500 mi pools none.",
}
_UNITS: Final = dict.fromkeys(("tract_radius", "puma_radius", "far_states", "q50", "q75", "q90"), "mi")


def controls(values: Values, *, has_flows: bool) -> Component:
    """Every control, with its value of `values`."""

    def number(name: str) -> Component:
        return number_field(name, str(values[name]))

    priors = {"gravity": "Gravity", **({"flows": "Flows"} if has_flows else {}), "uniform": "Uniform"}
    return html.Div(
        [
            html.Div(
                [
                    html.Button("Design", id="design", n_clicks=0, className="button"),
                    html.Button("Publish …", id="publish", n_clicks=0, className="button strong"),
                ],
                className="buttons",
            ),
            html.P(
                "Design finds radii, retention, strength, and prior for the promise from public data alone, and where "
                "asked:",
                className="hint",
            ),
            html.Div(
                [
                    dmc.Checkbox(id="design-mechanism", label="the mechanism", checked=False, size="sm"),
                    dmc.Checkbox(id="design-unit", label="who is drawn together", checked=False, size="sm"),
                ],
                className="buttons",
                role="group",
                **aria(label="What Design chooses besides numbers"),
            ),
            cancel_row("design"),
            html.Div(id="design-progress"),
            _presets(),
            _group(
                "Promise",
                [
                    choice("means", "ε is the bound", values["means"], MEANS),
                    number("epsilon"),
                    number("delta"),
                    choice(
                        "accountant", "Accountant", values["accountant"], {"sound": "Sound", "paper": "Paper"}
                    ),
                    _mechanism(values["mechanism"]),
                    choice("unit", "Draw workers together by", values["unit"], UNITS),
                    choice("cleaning", "Exponential's commute ranges", values["cleaning"], CLEANING),
                ],
            ),
            _group("Pruning", [number("min_retention"), number("retention_scale")]),
            _group("Coarsening", [number("tract_radius"), number("puma_radius"), number("far_states")]),
            _group(
                "Prior", [choice("prior", "Prior shares from", values["prior"], priors), number("strength")]
            ),
            _group(
                "Domain editing",
                [
                    choice(
                        "editing",
                        "Points without prior mass are",
                        values["editing"],
                        {"pool": "Pooled", "none": "Kept", "drop": "Dropped"},
                    ),
                    number("beyond_100"),
                    number("beyond_200"),
                    number("beyond_500"),
                ],
                open_=False,
            ),
            _group(
                "Commute distances",
                [
                    html.P("Public percentiles; the gravity prior is fitted to them.", className="hint"),
                    number("q50"),
                    number("q75"),
                    number("q90"),
                ],
                open_=False,
            ),
            _group(
                "Replication",
                [
                    dmc.Switch(
                        id="replication",
                        label="Allow what the 2010 release did without proof",
                        description="The release is marked not for release. To drop points, turn this on and use the "
                        "paper accountant.",
                        checked=bool(values["replication"]),
                        size="sm",
                    ),
                ],
                open_=False,
            ),
        ],
        className="controls",
    )


def number_field(name: str, value: str) -> Component:
    """One of the numbers of a release."""
    label, unit = NUMBERS[name], _UNITS.get(name)
    return exact_number(
        name, f"{label}, {unit}" if unit else label, value, STOPS[name], _HINTS.get(name, ""), thumb=label
    )


def _presets() -> Component:
    """A button for each preset, which moves all controls."""
    buttons = [
        html.Button(label, id=f"preset-{preset}", n_clicks=0, className="button")
        for preset, label in _PRESETS.items()
    ]
    return html.Div(
        [
            html.Div("Start from a preset", className="label", id="presets-label"),
            html.Div(buttons, className="buttons", role="group", **aria(labelledby="presets-label")),
        ],
        className="field",
    )


def _mechanism(value: ControlValue) -> Component:
    select: Component = dmc.Select(
        id="mechanism",
        label="Mechanism",
        data=[{"value": key, "label": text} for key, text in _MECHANISMS.items()],
        value=value,
        allowDeselect=False,
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,
        size="sm",
    )
    return select


def _group(title: str, parts: Sequence[Component], *, open_: bool = True) -> Component:
    return html.Details(
        [html.Summary(title), html.Div(parts, className="group")],
        open=open_,
        className="filters",
        **aria(label=title),
    )
