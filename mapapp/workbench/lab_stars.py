"""The method lab's game of six stars: Figure 1 of the paper, clue by clue, until a secret is out."""

from __future__ import annotations

import math
from typing import Final

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html
from dash.development.base_component import Component
from numpy.typing import NDArray

from mapapp.answers.words import aria
from mapapp.workbench.fields import Content, table
from mapapp.workbench.lab_pages import lab_page
from mapapp.workbench.lab_stars_clues import CLUES, COLUMNS, ROWS, TOTALS, intervals, tables_after

__all__ = ["answer", "clue_list", "guess_line", "page"]

_SEE_ALL: Final = 12
"""So few tables are listed."""


def page() -> Component:
    """The page before the first clue."""
    return lab_page("/lab-stars", _controls(), _text())


def _controls() -> Component:
    return html.Div(
        [
            html.Section([html.H2("Clues"), html.Div(clue_list(0), id="stars-clues")], **aria(label="Clues")),
            dmc.NumberInput(
                id="stars-guess",
                label="Your guess: tables left after the next clue",
                min=0,
                max=len(tables_after(0)),
                allowDecimal=False,
                size="sm",
            ),
            html.Div(
                [
                    html.Button("Read the next clue", id="stars-next", n_clicks=0, className="button strong"),
                    html.Button("Start again", id="stars-again", n_clicks=0, className="button"),
                ],
                className="buttons",
            ),
            html.P(id="stars-said", role="status"),
            dcc.Store(id="stars-read", data=0),
        ],
        className="controls",
    )


def _text() -> list[Component]:
    return [
        html.H1("Six stars"),
        html.P(
            "A study counts how many people have a certain gene, by the color of their eyes and hair. Who has the gene "
            "is secret. The agency does what agencies have done for decades: it replaces small numbers with stars, and "
            "some others as well, so that no star can be computed. In this table every number is a star. Can anything "
            "be more private? Read the clues one by one, and guess how many tables are still possible after each."
        ),
        html.Div(answer(0), id="stars-answer"),
        html.H2("What went wrong"),
        html.P(
            [
                "The agency looked at the values to decide what to star. So each star says something about a value, "
                "and together the stars, the totals, and the rule say much more than the agency meant to say. A rule "
                "that protects must decide without looking: from the number of people in a cell, from what is known "
                "in advance, and from the numbers already printed. Then anybody can compute in advance which cells "
                "will be stars, and a star says nothing. ",
                html.Code("commutemap table"),
                " makes such tables, and ",
                html.Code("commutemap attack"),
                " reads any published table in the way shown here.",
            ]
        ),
        html.P(
            "The number of tables is not a probability. A reader who thinks that each person has the gene with the "
            "same probability finds some of the tables far more likely than others."
        ),
        html.P(
            "Source: Nabar and Mishra, “Releasing Private Contingency Tables”, Figure 1.", className="quiet"
        ),
    ]


def clue_list(n_read: int) -> Component:
    """The clues in order; those not yet read have no title."""
    items = []
    for number, clue in enumerate(CLUES, start=1):
        left = len(tables_after(number))
        text = f"{clue.title}: {left:,} left" if number <= n_read else "Not read yet"
        items.append(html.Li(text, className="" if number <= n_read else "quiet"))
    return html.Ol(items, className="clues")


def answer(n_read: int) -> list[Component]:
    """Everything that follows from the clues read so far."""
    if n_read == 0:
        return [_stars(), html.P("Without the totals, each star can be any number.", className="said")]
    tables, clue = tables_after(n_read), CLUES[n_read - 1]
    return [
        html.H2(f"Clue {n_read}: {clue.title.lower()}"),
        html.P(clue.text),
        _tiles(tables, n_read),
        _possible(tables),
        html.P(clue.follows, className="said"),
        *([_listed(tables)] if len(tables) <= _SEE_ALL else []),
        _shrinking(n_read),
    ]


def guess_line(guess: int | str | None, n_read: int) -> str:
    """What became of a guess, once a clue has been read; empty without one."""
    if not isinstance(guess, int):
        return ""
    left = len(tables_after(n_read))
    return f"You guessed {guess:,}. {_tables_are(left)} left." if guess != left else f"Right: {left:,}."


def _tables_are(number: int) -> str:
    return f"{number:,} tables are" if number != 1 else "1 table is"


def _stars() -> Component:
    rows: list[tuple[str, list[Content]]] = [
        (name, [*("*" for _ in COLUMNS), html.Td("", className="sum")]) for name in ROWS
    ]
    return table("People who have the gene", ["", *COLUMNS, "Total"], rows, "stars")


def _tiles(tables: NDArray[np.int64], n_read: int) -> Component:
    widest = max(int(column.max() - column.min()) for column in tables.T)
    known = sum(np.unique(column).size == 1 for column in tables.T)
    first = len(tables_after(1))
    facts = [
        ("stars-left", f"{len(tables):,}", f"tables still possible, of {first:,} with these totals"),
        (
            "stars-range",
            f"{widest:,}",
            "from the least to the most of the widest cell: what a usual check sees",
        ),
        ("stars-known", str(known), "of six starred cells whose value is certain"),
    ]
    return html.Dl(
        [html.Div([html.Dt(text), html.Dd(value, id=name)], className="tile") for name, value, text in facts],
        className="tiles three",
        **aria(live="polite", label=f"After {n_read} clues"),
    )


def _possible(tables: NDArray[np.int64]) -> Component:
    (row_totals, column_totals), width = TOTALS, len(COLUMNS)
    rows: list[tuple[str, list[Content]]] = []
    for row, name in enumerate(ROWS):
        cells = [_cell(tables[:, row * width + column], column_totals[column]) for column in range(width)]
        rows.append((name, [*cells, html.Td(row_totals[row], className="number sum")]))
    sums: list[Content] = [
        html.Td(total, className="number sum") for total in (*column_totals, sum(row_totals))
    ]
    rows.append(("Total", sums))
    return table("What each star can still be", ["", *COLUMNS, "Total"], rows, "stars")


def _cell(values: NDArray[np.int64], most: int) -> Component:
    found = intervals(values)
    text = " or ".join(str(low) if low == high else f"{low}–{high}" for low, high in found)
    bars = [
        html.Span(
            style={
                "left": f"{100 * low / (most + 1):.2f}%",
                "width": f"{100 * (high - low + 1) / (most + 1):.2f}%",
            }
        )
        for low, high in found
    ]
    certain = len(found) == 1 and found[0][0] == found[0][1]
    return html.Td(
        [html.Strong(text) if certain else text, html.Div(bars, className="possible", **aria(hidden="true"))],
        className="known" if certain else "",
    )


def _listed(tables: NDArray[np.int64]) -> Component:
    shown = [(f"Table {number}", [int(value) for value in row]) for number, row in enumerate(tables, start=1)]
    columns = [f"{row.lower()}, {column.lower()}" for row in ROWS for column in COLUMNS]
    return table("All tables that are left", ["", *columns], shown, "numbers small")


def _shrinking(n_read: int) -> Component:
    """A bar for each clue; lengths follow the logarithm of the number of tables."""
    all_tables = math.log(len(tables_after(1)))
    rows = []
    for number in range(1, n_read + 1):
        left = len(tables_after(number))
        bar = html.Div(style={"width": f"{100 * math.log(left) / all_tables:.1f}%"}, className="shrinking")
        rows.append((CLUES[number - 1].title, [html.Td(f"{left:,}", className="number"), html.Td(bar)]))
    return table("Tables left after each clue (logarithmic bars)", ["Clue", "Tables", ""], rows, "shrink")
