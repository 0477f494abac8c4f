"""The Tables panel: what a table with suppressed cells would release, expected from public inputs, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import dash_mantine_components as dmc
import numpy as np
import numpy.typing as npt
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.analyst.workbench.fields import Content, percent, slider, table
from mapapp.analyst.workbench.figures import GRAPH_CONFIG
from mapapp.analyst.workbench.job_progress import cancel_row
from mapapp.answers.areas.levels import level_label
from mapapp.answers.words import aria
from mapapp.explore.pages.controls import segments
from mapapp.kinds.tables.make.expected import ExpectedTable
from mapapp.kinds.tables.make.prior import Planned
from mapapp.kinds.tables.tune.figures import pattern_figure, shares_figure, shift_figure
from mapapp.kinds.tables.tune.plans import DELTAS, ActualTable, expected_shift

__all__ = ["actual_cards", "delta_at", "expected_cards", "share_card", "tables_panel"]

_COLUMNS: Final = {
    "industry,earnings": "Industry × earnings",
    "industry": "Industry",
    "earnings": "Earnings",
    "age": "Age",
    "age,industry": "Age × industry",
    "age,earnings,industry": "All three",
}
_COUNTS: Final = {
    "same-unit": "Same unit",
    "outside-state": "Other state",
    "beyond": "Far away",
    "flows": "Each unit",
}
_START_DELTA: Final = DELTAS.index("0.1")


def tables_panel(layers: Sequence[str], usual: str) -> Component:
    """What the panel has before a prior is given.

    Parameters
    ----------
    layers : sequence of str
        Layers that rows can be.
    usual : str
        The layer to start from.
    """
    return html.Div(
        [
            html.H2("Tables with suppressed cells"),
            html.P(
                [
                    html.Strong("Looking costs nothing. "),
                    "What is expected here follows from the numbers of workers and the prior, which are public. No "
                    "home is read until you press Count.",
                ],
                className="quiet",
            ),
            dmc.Select(
                id="tables-rows",
                label="Rows: where people work",
                data=[{"value": name, "label": level_label(name)} for name in layers],
                value=usual,
                allowDeselect=False,
                size="xs",
            ),
            dmc.Select(
                id="tables-columns",
                label="Columns",
                data=[{"value": name, "label": text} for name, text in _COLUMNS.items()],
                value="industry,earnings",
                allowDeselect=False,
                size="xs",
            ),
            html.Div("Counted: workers by where they live", className="label"),
            segments("tables-counts", "same-unit", _COUNTS, size="xs", label="What is counted"),
            dmc.NumberInput(
                id="tables-miles",
                label="Far away: more than this many miles from work",
                value=25,
                min=0,
                max=3000,
                disabled=True,
                size="xs",
            ),
            dmc.TextInput(
                id="tables-prior",
                label="Prior: path of an earlier release, or of a CSV file",
                description="A file has a rate for each cell: see docs/tables.md. A release of these jobs is refused.",
                value="",
                debounce=True,
                size="xs",
            ),
            slider("tables-epsilon", "Promise ε", 0.5, (0.05, 0.95, 0.05)),
            slider(
                "tables-delta",
                "Promise δ",
                _START_DELTA,
                (0, len(DELTAS) - 1, 1),
                text=DELTAS[_START_DELTA],
            ),
            html.Div(id="tables-said"),
            html.Div(id="tables-expected", className="cards"),
            html.Div(id="tables-shares"),
            html.Section(
                [
                    html.H2("Expected, and then actual"),
                    html.P(
                        "Counting reads real homes. What it shows is confidential: showing it to anybody else is a "
                        "publication, and no promise covers it.",
                        className="caution",
                    ),
                    html.Button("Count", id="tables-count", n_clicks=0, className="button"),
                    cancel_row("tables"),
                    html.Div(id="tables-progress"),
                ],
                className="card",
                **aria(label="Expected, and then actual"),
            ),
            html.Div(id="tables-actual", className="cards"),
        ],
        className="answer",
    )


def delta_at(stop: int) -> str:
    """Delta at a stop of its slider."""
    return DELTAS[min(max(int(stop), 0), len(DELTAS) - 1)]


def expected_cards(expected: ExpectedTable, epsilon: Fraction, delta: Fraction) -> list[Component]:
    """What a table can be expected to release, from public inputs alone."""
    plan = expected.plan
    tiles = [
        ("tables-cells", percent(expected.share_of_cells), f"of {plan.n_cells:,} cells"),
        ("tables-people", percent(expected.share_of_people), _people_words(plan)),
        ("tables-decisions", f"{expected.n_decisions:,}", "decisions that share δ"),
    ]
    parts: list[Component] = [
        html.Dl(
            [
                html.Div([html.Dt(text), html.Dd(value, id=name)], className="tile")
                for name, value, text in tiles
            ],
            className="tiles three",
            **aria(live="polite", label="Expected to be released"),
        ),
        _pattern(
            "Expected: released (blue) and suppressed (gray)",
            plan,
            expected.releasable,
            np.zeros(plan.n_cells, bool),
        ),
    ]
    if not plan.spec.flows:
        parts.append(
            _card(
                "Expected shift of every person in a released cell",
                dcc.Graph(
                    figure=shift_figure(
                        plan, float(epsilon), [("expected", expected_shift(plan), expected.releasable)]
                    ),
                    config=GRAPH_CONFIG,
                    className="chart",
                ),
                "A mark is a cell, larger with more people: the root mean square of its people's shift by the prior. "
                f"The promise: none beyond the line, but with a probability of at most {float(delta):g}.",
            )
        )
    return parts


def share_card(shares: npt.NDArray[np.float64], marked: tuple[float, float]) -> Component:
    """The map of the released share over epsilon and delta."""
    return _card(
        "Share of people expected in released cells, by promise",
        dcc.Graph(figure=shares_figure(shares, marked), config=GRAPH_CONFIG, className="chart"),
        "The circle marks the sliders. From public inputs alone.",
    )


def actual_cards(expected: ExpectedTable, actual: ActualTable) -> list[Component]:
    """What publishing would release, counted from real homes, beside what was expected."""
    plan = expected.plan
    n_outside = int(actual.outside.sum())
    people = plan.people
    rows: list[tuple[str, list[Content]]] = [
        ("Cells released", [f"{int(expected.releasable.sum()):,}", f"{int(actual.released.sum()):,}"]),
        (
            "People in them",
            [f"{int(people[expected.releasable].sum()):,}", f"{int(people[actual.released].sum()):,}"],
        ),
        ("Outside their safe interval", ["0", f"{n_outside:,}"]),
    ]
    if plan.spec.flows:
        rows.pop(1)
    parts: list[Component] = [
        html.Section(
            [
                html.H2("Expected and actual"),
                html.P("Confidential: counted from real homes.", className="refusal"),
                table("", ["", "expected", "actual"], rows, "numbers small"),
                html.P(_breach_words(actual, plan), id="tables-breach"),
            ],
            className="card",
            **aria(label="Expected and actual"),
        ),
        _pattern(
            "Actual: released (blue), suppressed (gray), outside its interval (red)",
            plan,
            actual.released,
            actual.outside,
        ),
    ]
    if not plan.spec.flows:
        strips = [
            ("expected", expected_shift(plan), expected.releasable),
            ("actual", actual.shift, actual.released),
        ]
        parts.append(
            _card(
                "Every person's shift against its bound",
                dcc.Graph(
                    figure=shift_figure(plan, float(actual.epsilon), strips),
                    config=GRAPH_CONFIG,
                    className="chart",
                ),
                "A mark is a cell, larger with more people. Marks beyond the line break the promise.",
            )
        )
    return parts


def _breach_words(actual: ActualTable, plan: Planned) -> str:
    if actual.stop == plan.n_cells:
        return "No released count is outside its safe interval, so the table does not stop."
    place = f"{plan.ground.row_names[plan.row[actual.stop]]}, {plan.ground.column_names[plan.column[actual.stop]]}"
    return (
        f"The table stops at its decision {actual.stop + 1:,} of {plan.n_cells:,} ({place}): the count is outside its "
        "safe interval. The prior is wrong there; take a better one."
    )


def _people_words(plan: Planned) -> str:
    return "of the workers, in released flows" if plan.spec.flows else "of the people, in released cells"


def _pattern(
    title: str, plan: Planned, released: npt.NDArray[np.bool_], outside: npt.NDArray[np.bool_]
) -> Component:
    figure = pattern_figure(plan, released, outside)
    rows: list[tuple[str, list[Content]]] = [
        (
            plan.ground.row_names[row],
            [int((plan.row == row).sum()), int(released[plan.row == row].sum())],
        )
        for row in plan.rows_present
    ]
    return _card(
        title,
        dcc.Graph(figure=figure, config=GRAPH_CONFIG, className="chart"),
        html.Details(
            [html.Summary("As a table"), table(title, ["", "cells", "released"], rows, "numbers small")]
        ),
    )


def _card(title: str, picture: Component, words: Component | str) -> Component:
    below = html.P(words, className="quiet small") if isinstance(words, str) else words
    return html.Section([html.H2(title), picture, below], className="card", **aria(label=title))
