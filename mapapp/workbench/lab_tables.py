"""The method lab's tables: probabilities, log ratios, and the cells where a promise fails."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from engine.two_categories import TwoCategories
from mapapp.answers.words import aria, plain
from mapapp.workbench.fields import table
from mapapp.workbench.lab_words import READINGS, Choices

_SHADE: Final = "rgba(42, 109, 181, {:.3f})"


def numbers(example: TwoCategories, given: Choices) -> Component:
    """The ε it needs, δ, and where δ is attained."""
    n = given["n"]
    worst = "none" if example.worst is None else f"({example.worst}, {n - example.worst})"
    rows = [
        (
            "lab-needed",
            digits(example.epsilon_needed),
            "the largest |ln ratio|: the ε at which nothing fails",
        ),
        (
            "lab-delta",
            digits(example.delta),
            f"δ at ε = {given['epsilon']:g}, {READINGS[given['reading']].lower()}",
        ),
        ("lab-worst", worst, "the table (n₁, n₂) that fails most often")
        if given["reading"] == "definition"
        else ("lab-worst", "averaged", "over all tables, by their prior probability"),
    ]
    tiles = [
        html.Div([html.Dt(text), html.Dd(value, id=name)], className="tile") for name, value, text in rows
    ]
    return html.Dl(tiles, className="tiles three", **aria(live="polite", label="The promise in numbers"))


def transition_table(example: TwoCategories, given: Choices) -> Component:
    """Probability of every output for every table."""
    rows = [
        (
            f"({row}, {given['n'] - row})",
            [_cell(value, shade=value, fails=False) for value in example.transition[row]],
        )
        for row in range(given["n"] + 1)
    ]
    return table("Probability of each release, by table", ["(n₁, n₂)", *_outputs(given)], rows, "numbers")


def ratio_table(example: TwoCategories, given: Choices) -> Component:
    """Log ratios of neighboring tables, those above ε marked."""
    n, epsilon = given["n"], given["epsilon"]
    rows = [
        (
            f"({row}, {n - row}) and ({row + 1}, {n - row - 1})",
            [
                _cell(value, shade=min(value / (2 * epsilon), 0.5), fails=value > epsilon + 1e-12)
                for value in example.log_ratio[row]
            ],
        )
        for row in range(n)
    ]
    return table("|ln ratio| of neighboring tables", ["Tables", *_outputs(given)], rows, "numbers")


def failure_table(example: TwoCategories, given: Choices) -> Component:
    """The failing outputs of every table and their probability."""
    n, weight = given["n"], example.table_weight
    shown = example.transition if weight is None else weight[:, None] * example.transition
    rows = []
    for row in range(n + 1):
        cells = [
            _cell(value, shade=0, fails=bool(fails))
            for value, fails in zip(shown[row], example.failing[row], strict=True)
        ]
        best = row == example.worst
        rows.append(
            (
                f"({row}, {n - row})",
                [
                    *cells,
                    html.Td(digits(float(example.failure[row])), className="number sum" + " worst" * best),
                ],
            )
        )
    caption = (
        "Probability of each release, failing ones marked"
        if weight is None
        else "Probability of table and release together, failing ones marked"
    )
    return table(caption, ["(n₁, n₂)", *_outputs(given), "fails"], rows, "numbers failures")


def _outputs(given: Choices) -> list[str]:
    return [f"({first}, {given['m'] - first})" for first in range(given["m"] + 1)]


def _cell(value: float, *, shade: float, fails: bool) -> Component:
    return html.Td(
        [html.Span("✗ ", title="fails") if fails else None, digits(float(value))],
        className="number fails" if fails else "number",
        style={"background": _SHADE.format(0.55 * float(shade))} if shade > 0 and not fails else {},
    )


def digits(value: float) -> str:
    """Six decimals as on the slides; what they cannot show, by its power of ten."""
    if value == 0 or value >= 1e-4:
        return f"{value:.6f}" if value else "0"
    return plain(value)
