"""The method lab's page on a careless prior: one rate per column, and what becomes of the promise."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.workbench.fields import Content, choice, slider, table
from mapapp.workbench.lab_pages import lab_page
from mapapp.workbench.lab_prior_example import COLUMNS, TOWNS, DecidedTable, decided_tables

__all__ = ["CONTROLS", "SLIDERS", "answer", "page"]

SLIDERS: Final = ("spread", "epsilon")
CONTROLS: Final = (*SLIDERS, "delta")
_SPREAD: Final = 0.8
_EPSILON: Final = 0.5
_DELTA: Final = "0.1"
_DELTAS: Final = {"0.2": "0.2", "0.1": "0.1", "0.01": "0.01", "0.001": "0.001"}


def page() -> Component:
    """The page with the values that it starts from."""
    return lab_page("/lab-prior", _controls(), _text())


def _controls() -> Component:
    return html.Div(
        [
            slider(
                "prior-spread",
                "How much towns differ",
                _SPREAD,
                (0, 1.5, 0.1),
                "Spread of the log odds that a worker lives in the town; at 0, all towns are alike.",
            ),
            slider("prior-epsilon", "Promise ε", _EPSILON, (0.1, 0.9, 0.1)),
            choice("prior-delta", "Promise δ", _DELTA, _DELTAS),
        ],
        className="controls",
    )


def _text() -> list[Component]:
    return [
        html.H1("A careless prior"),
        html.P(
            "A table that keeps the promise decides each star from the number of workers and a prior: the share of "
            "them who are expected to live in the town where they work. Its promise holds if the prior is right. Here "
            "are the same counts of a made-up state twice: on the left, the prior has the rates that the counts were "
            "drawn from. On the right, somebody took a shortcut and used one rate per column for the whole state."
        ),
        html.Div(answer(_SPREAD, _EPSILON, _DELTA), id="prior-answer"),
        html.H2("What went wrong"),
        html.P(
            "One rate per column says that all towns are alike, and it is sure of it: a cell of 2,000 workers is "
            "expected to be within a few dozen of the state's share. So the rule releases the cell as safe. The town "
            "is not like the state, and its count lies outside the interval that was safe. Everybody's belief about "
            "each of its workers then moves by more than ε. More workers make it worse, not better."
        ),
        html.P(
            "The algorithm as written stops at the first such count, because every later decision would build on a "
            "broken promise. It ends after a few cells. A careless prior does not give a smaller guarantee. It gives "
            "none. Moreover, these rates were computed from the confidential counts themselves, so they are not prior "
            "knowledge at all. Take the prior from an earlier year or from another source."
        ),
        html.P(
            "The promise is that of Nabar and Mishra, “Releasing Private Contingency Tables”; see docs/tables.md.",
            className="quiet",
        ),
    ]


def answer(spread: object, epsilon: object, delta: object) -> list[Component]:
    """Both tables and what they add up to.

    Raises
    ------
    ParameterError
        Epsilon or delta is out of range.
    """
    right, careless = decided_tables(float(str(spread)), Fraction(str(epsilon)), Fraction(str(delta)))
    return [
        _sums(right, careless),
        html.P(_said(careless), className="said", role="status"),
        html.Div(
            [_grid("The right prior", right), _grid("One rate per column", careless)], className="two-tables"
        ),
        html.P(
            "✗: released although the count is outside its own safe interval, which is in parentheses. Gray: never "
            "printed, because the table has stopped. *: suppressed.",
            className="quiet small",
        ),
    ]


def _sums(right: DecidedTable, careless: DecidedTable) -> Component:
    n = right.people.size
    rows: list[tuple[str, list[Content]]] = [
        (
            f"Cells released, of {n}, if it did not stop",
            [int(one.released.sum()) for one in (right, careless)],
        ),
        ("Of these, outside their own interval", [int(one.outside.sum()) for one in (right, careless)]),
        ("Cells printed by the algorithm, which stops", [one.n_printed for one in (right, careless)]),
    ]
    return table("", ["", "The right prior", "One rate per column"], rows, "numbers prior-sums")


def _said(careless: DecidedTable) -> str:
    broken, released = int(careless.outside.sum()), int(careless.released.sum())
    if not broken:
        return (
            "With these choices no released count is outside its interval. Let the towns differ more, or lower ε, to "
            "see the shortcut fail."
        )
    printed = careless.n_printed
    return (
        f"With one rate per column, {broken} of {released} released counts break the promise, and the algorithm stops "
        f"after {printed} {'cell' if printed == 1 else 'cells'}."
    )


def _grid(title: str, decided: DecidedTable) -> Component:
    width = len(COLUMNS)
    rows: list[tuple[str, list[Content]]] = [
        (town, [_cell(decided, row * width + column) for column in range(width)])
        for row, town in enumerate(TOWNS)
    ]
    return table(title, ["Town", *COLUMNS], rows, "numbers small")


def _cell(decided: DecidedTable, at: int) -> Component:
    value, people = int(decided.values[at]), int(decided.people[at])
    classes = ["number"] + ["after"] * bool(at > decided.stop)
    if not decided.released[at]:
        return html.Td("*", className=" ".join(classes), title=f"suppressed; {people:,} workers")
    if not decided.outside[at]:
        return html.Td(f"{value:,}", className=" ".join(classes), title=f"of {people:,} workers")
    interval = f" ({int(decided.low[at]):,}–{int(decided.high[at]):,})"
    return html.Td(
        [html.Span("✗ ", title="outside its interval"), f"{value:,}", html.Small(interval.strip())],
        className=" ".join([*classes, "fails"]),
        title=f"of {people:,} workers",
        **aria(label=f"{value:,}, outside{interval}"),
    )
