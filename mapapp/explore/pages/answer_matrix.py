"""A flow matrix as a square table with values, shading and totals, which the browser fills in and sorts."""

from __future__ import annotations

from typing import Final, TypedDict, cast

import pandas
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers import words
from mapapp.answers.analyses import grids
from mapapp.answers.analyses.entries import entry_of, n_about
from mapapp.answers.analyses.results import FlowMatrix, Result
from mapapp.answers.wording import reader_text
from mapapp.answers.words import PART, aria
from mapapp.explore.pages.folding import folding_card

MOST_UNITS: Final = 100
"""Largest number of rows and of columns. More cells would slow the page down; files have all of them."""


class Matrix(TypedDict):
    """A matrix for the browser; the last row and column of `counts` are totals."""

    title: str
    rows: list[str]
    columns: list[str]
    counts: list[list[int]]
    same: list[int]
    rest: list[bool]
    text: str


def matrix(result: Result) -> Matrix | None:
    """Return the matrix of an answer; None if its rows are not pairs, or it has no workers.

    `same` has the column of each row's own unit (-1 if it lacks one), and `rest` says whether the last row and the
    last column count all other units.
    """
    if not entry_of(result).pairs or not n_about(result):
        return None
    answer = cast(FlowMatrix, result)
    counts, homes, works = grids.matrix(answer, grids.Limit(MOST_UNITS, MOST_UNITS))
    column_of = {unit_id: place for place, unit_id in enumerate(works["unit_id"]) if unit_id}
    one_layer = answer.home_layer == answer.work_layer
    return {
        "title": "Homes (down) by workplaces (across)",
        "rows": homes["name"].tolist(),
        "columns": works["name"].tolist(),
        "counts": counts.tolist(),
        "same": [column_of.get(unit_id, -1) if one_layer else -1 for unit_id in homes["unit_id"]],
        "rest": [bool((units["kind"] == "other").any()) for units in (homes, works)],
        "text": reader_text(_about(answer, homes, works), result.about.nouns),
    }


def _about(answer: FlowMatrix, homes: pandas.DataFrame, works: pandas.DataFrame) -> str:
    parts = ["Shading grows with the number of workers."]
    if answer.home_layer == answer.work_layer:
        unit = words.level_word(answer.home_layer)
        parts.append(f"Outlined cells: live and work in the same {unit}.")
    if len(homes) < len(answer.homes) or len(works) < len(answer.works):
        parts.append(
            f"At most {MOST_UNITS} rows and columns are shown here, and all others are counted together; "
            "the files have every unit."
        )
    parts.append("Select a heading to sort by it, and again to undo.")
    return " ".join(parts)


def matrix_card() -> Component:
    """The card of the matrix, which stays while its cells change."""
    enlarge = html.Button(
        "Enlarge", id="matrix-size", className="clear", type="button", **aria(expanded="false")
    )
    file = html.A(
        "CSV, wide",
        id="matrix-csv",
        href="",
        className="take",
        **aria(label="Download matrix as wide CSV"),
        **PART,
    )
    return folding_card(
        "matrix",
        html.H2(id="matrix-title"),
        [
            html.Div(
                html.Table(id="matrix", className="matrix"),
                className="scroll",
                tabIndex=0,
                role="region",
                **aria(labelledby="matrix-title"),
            ),
            html.P(id="matrix-cell", className="small", role="status"),
            html.P(id="matrix-text", className="quiet small"),
            dcc.Store(id="matrix-data"),
        ],
        links=[enlarge, file],
        id="matrix-card",
        hidden=True,
        **PART,
    )
