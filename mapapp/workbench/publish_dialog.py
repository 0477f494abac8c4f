"""The dialog of publishing: what a release would be made of and spend, where to, and how it went."""

from __future__ import annotations

from typing import Final

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import plain
from mapapp.workbench.setting import Setting, described
from mapapp.workbench.spending import Spending

_NO_BUDGET: Final = (
    "No budget is set for this dataset. Every release adds to what its workers risk, and nothing stops the sum from "
    "growing. To set a budget, import the dataset with --budget-epsilon and --budget-delta."
)


def dialog() -> Component:
    """The dialog, closed."""
    modal: Component = dmc.Modal(
        [
            html.Div(id="publish-summary"),
            dmc.TextInput(
                id="publish-path",
                label="Write the release to",
                placeholder="for example ri.release",
                description="A new folder, outside the dataset.",
                value="",
            ),
            dmc.Switch(
                id="publish-test-key",
                label="Test key: reproducible, marked not for release, spends nothing",
                checked=False,
                size="sm",
                className="spaced",
            ),
            html.Div(id="publish-outcome", className="outcome", role="status"),
            html.Div(
                [
                    html.Button("Close", id="publish-close", n_clicks=0, className="button"),
                    html.Button("Spend and publish", id="publish-go", n_clicks=0, className="button strong"),
                ],
                className="buttons spaced",
            ),
        ],
        id="publish-dialog",
        title="Publish a release",
        opened=False,
        size="lg",
        zIndex=500,
        closeButtonProps={"aria-label": "Close the dialog"},
    )
    return modal


def summary(setting: Setting, spends: Spending) -> list[Component]:
    """What the release would be and what it would spend."""
    return [
        html.P("The release will have exactly these parameters:"),
        _facts(described(setting)),
        html.H2("What it spends"),
        _facts(_rows(spends)),
        *([] if spends.budget is not None else [html.P(_NO_BUDGET, className="refusal", id="no-budget")]),
        *(
            [
                html.P(
                    f"Marked not for release ({'; '.join(spends.reasons)}), so it spends nothing.",
                    className="refusal",
                )
            ]
            if spends.reasons
            else []
        ),
        *(
            []
            if spends.fits
            else [
                html.P("The budget does not allow this release, so it will be refused.", className="refusal")
            ]
        ),
        html.P(
            [
                html.Strong("Consider how you chose the setting. "),
                "The promise holds for settings chosen without looking at the homes. Choosing the best of many "
                "settings by looking at confidential results leaks information about homes, and no ledger counts "
                "that. Design reads public data only.",
            ],
            className="caution",
        ),
        html.P(
            "The ledger is written before anything is drawn. A release that fails later has still spent its part of "
            "the budget.",
            className="quiet small",
        ),
    ]


def _rows(spends: Spending) -> list[tuple[str, str]]:
    epsilon = "no bound" if spends.epsilon is None else f"{spends.epsilon:.6g}"
    delta = "no bound" if spends.delta is None else plain(spends.delta)
    rows = [("This release: ε′", epsilon), ("This release: δ", delta)]
    spent_epsilon, spent_delta = (float(value) for value in spends.spent)
    rows.append(("Spent so far", f"ε {spent_epsilon:.6g}, δ {plain(spent_delta)}"))
    if spends.epsilon is not None and spends.delta is not None and spends.counts:
        rows.append(
            (
                "Spent after this release",
                f"ε {spent_epsilon + spends.epsilon:.6g}, δ {plain(spent_delta + spends.delta)}",
            )
        )
    if spends.budget is None:
        rows.append(("Budget", "not set for this dataset"))
    else:
        rows.append(("Budget", f"ε {float(spends.budget[0]):.6g}, δ {plain(float(spends.budget[1]))}"))
    return rows


def _facts(rows: list[tuple[str, str]]) -> Component:
    return html.Dl(
        [part for term, value in rows for part in (html.Dt(term), html.Dd(value))], className="facts"
    )
