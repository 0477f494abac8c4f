"""What drawing a setting of records beside others has found, as cards. Confidential."""

from __future__ import annotations

import math
from typing import Final

import pandas
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.measuring.compared_records import ComparedRecords
from mapapp.publishing.records.choice import Choice
from mapapp.workbench.fields import percent, table
from mapapp.workbench.figures import GRAPH_CONFIG
from mapapp.workbench.job_progress import outdated
from mapapp.workbench.records_figures import VARIANT_TITLES, boxes_figure, lost_figure, pairs_figure

__all__ = ["comparison_cards"]

_MARGINS: Final = {
    "work_puma x home_puma": "work × home",
    "home_puma x earnings": "home × earnings",
    "distance_band x industry": "distance × industry",
    "work_tract": "work tract",
    "work_puma x home_puma x industry x earnings": "work × home × industry × earnings",
}
_SQUARES: Final = {"seeded": "Pairs of attributes, seeded", "seedless": "Pairs of attributes, seedless"}
_WORDS: Final = {
    "margins": "Work and home are PUMAs. Total variation distance: the share of workers who would have to change "
    "cells. Smaller is better; "
    "nothing "
    "can be expected to be nearer than the resample.",
    "lost": "Blue bars should be near 0. A red bar shows what would be lost without the top-up: long commutes are "
    "in small "
    "groups, and small groups fail. Below 0 there are too many. In brackets: share of the workers.",
    "pairs": "Records below the diagonal, the noise floor above it, single attributes on it. A square that is "
    "darker than "
    "its mirror image is a pair that the records get wrong.",
    "boxes": "All tables of one, two, and three attributes: half of them are in the box, and the whiskers reach the "
    "best "
    "and the worst. The nearer a box is to the resample's, the less the records have lost.",
}


def comparison_cards(found: ComparedRecords, chosen: Choice | None) -> list[Component]:
    """Distances of margins, lost commutes, pairs of attributes, and boxes.

    Parameters
    ----------
    found : ComparedRecords
    chosen : Choice or None
        The setting of the controls now; None if they hold none.
    """
    parts: list[Component] = []
    if chosen != found.plan.choice:
        parts.append(outdated("Draw again to see this setting."))
    parts.append(_margins(found))
    if found.lost is not None:
        parts.append(_lost(found, found.lost))
    most = max(
        float(rows[["distance", "noise_floor"]].to_numpy().max())
        for square in found.squares.values()
        for rows in square
    )
    parts += [
        _card(
            _SQUARES[name],
            dcc.Graph(
                figure=pairs_figure(*found.squares[name], most), config=GRAPH_CONFIG, className="chart"
            ),
            _WORDS["pairs"],
            _pairs_table(_SQUARES[name], found.squares[name][1]),
        )
        for name in _SQUARES
        if name in found.squares
    ]
    return [*parts, _boxes(found)]


def _card(title: str, picture: Component, words: str, rows: Component) -> Component:
    return html.Section(
        [
            html.H2(title),
            html.P("Confidential: counted from real workers.", className="refusal"),
            picture,
            html.P(words, className="quiet small"),
            html.Details([html.Summary("As a table"), rows]),
        ],
        className="card",
        **aria(label=title),
    )


def _margins(found: ComparedRecords) -> Component:
    """A row for each variant, a column for each table."""
    title = "Distance from the real workers"
    named = [(row["attributes"], row) for row in found.margins.to_dict("records")]
    rows = [
        (text.capitalize(), [_distance(float(row[variant])) for _, row in named])
        for variant, text in VARIANT_TITLES.items()
        if variant in found.margins
    ]
    columns = ["", *(_MARGINS.get(str(name), str(name)) for name, _ in named)]
    return html.Section(
        [
            html.H2(title),
            html.P("Confidential: counted from real workers.", className="refusal"),
            table("", columns, rows, "numbers small margins"),
            html.P(f"{_WORDS['margins']} {_epsilons(found)}", className="quiet small"),
        ],
        className="card",
        **aria(label=title),
    )


def _epsilons(found: ComparedRecords) -> str:
    epsilon = float(found.plan.add_remove.epsilon)
    return (
        f"Seeded, seedless, and marginals promise ε {epsilon:.4g} if one worker is added or removed. Flows are one "
        "draw of "
        "the setting on the left; their jobs are exact, and their promise is another one."
    )


def _distance(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _lost(found: ComparedRecords, lost: pandas.DataFrame) -> Component:
    bands = lost[lost["by"] == "band"]
    rows = [
        (str(row["name"]), [percent(float(row[name])) for name in ("share", "passed", "topped_up")])
        for row in bands.to_dict("records")
    ]
    return _card(
        "Lost commutes",
        html.Div(
            [
                dcc.Graph(figure=lost_figure(bands), config=GRAPH_CONFIG, className="chart"),
                html.P(_pairs_words(found, lost), id="lost-pairs"),
            ]
        ),
        _WORDS["lost"],
        table(
            "Missing workers of each band",
            ["distance", "workers", "without top-up", "with"],
            rows,
            "numbers small",
        ),
    )


def _pairs_words(found: ComparedRecords, lost: pandas.DataFrame) -> str:
    pair = lost[lost["by"] == "pair"].set_index("name")
    absent, short = (
        [percent(float(share)) for share in pair.loc[name, ["passed", "topped_up"]].to_numpy(float)]
        for name in ("absent", "short")
    )
    return (
        f"{found.n_passed:,} tries passed. Without the top-up, {absent[0]} of the workers commute between PUMAs "
        "that no "
        f"record shows, and {short[0]} are missing between PUMAs that have too few; with it, {absent[1]} and "
        f"{short[1]}."
    )


def _pairs_table(title: str, pairs: pandas.DataFrame) -> Component:
    worst = pairs.sort_values("distance", ascending=False)
    names = (worst["first"] + " × " + worst["second"]).str.replace("_", " ")
    distances = worst[["distance", "noise_floor"]].to_numpy(float)
    rows = [
        (str(name), [_distance(float(value)) for value in both])
        for name, both in zip(names, distances, strict=True)
    ]
    return table(title, ["pair", "distance", "noise floor"], rows, "numbers small")


def _boxes(found: ComparedRecords) -> Component:
    medians = found.tables.groupby(["variant", "n_attributes"])["distance"].median()
    rows = [
        (text.capitalize(), [_distance(float(medians.loc[variant, size])) for size in (1, 2, 3)])
        for variant, text in VARIANT_TITLES.items()
        if variant in medians.index
    ]
    has_flows = (found.tables["variant"] == "flows").any()
    without = "" if has_flows else " Flows are not here: they lack the further attributes of the workers."
    return _card(
        "Tables of one, two, and three attributes",
        dcc.Graph(figure=boxes_figure(found.tables), config=GRAPH_CONFIG, className="chart"),
        _WORDS["boxes"] + without,
        table("Median distance", ["", "one", "two", "three"], rows, "numbers small"),
    )
