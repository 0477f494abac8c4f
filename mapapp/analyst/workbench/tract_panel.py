"""One workplace tract: its support points by level, and those that matter most."""

from __future__ import annotations

from typing import Final

import pandas
from dash import html
from dash.development.base_component import Component

from mapapp.analyst.validity.tract import LEVELS, TractPoints
from mapapp.analyst.workbench.fields import table
from mapapp.analyst.workbench.panels import percent
from mapapp.answers.words import aria

_SHARES: Final = ("likelihood", "posterior", "prior")
_TITLES: Final = ("real", "posterior", "prior")
_MOST_ROWS: Final = 25
_MOST_TRACTS: Final = 500


def tract_panel(name: str, county: str, tract_points: TractPoints) -> list[Component]:
    """The panel of a chosen tract.

    Parameters
    ----------
    name, county : str
        As people call them.
    tract_points : TractPoints
    """
    return [
        html.Section(
            [
                html.H2(name, id="tract-name"),
                html.P(
                    f"{county}. {tract_points.n_workers:,} real workers, {len(tract_points.points):,} support points.",
                    className="quiet",
                ),
                html.P(
                    "The map can show their levels, and where the prior, the real workers, and the "
                    "posterior put people.",
                    className="quiet small",
                ),
                _levels(tract_points),
            ],
            className="card",
            **aria(label="The chosen tract"),
        ),
        _largest(tract_points),
    ]


def _levels(tract_points: TractPoints) -> Component:
    grouped = tract_points.points.groupby("level")
    rows = [
        (
            LEVELS[int(str(level))],
            [
                html.Td(f"{len(part):,}", className="number"),
                *[html.Td(percent(part[share].sum()), className="number") for share in _SHARES],
            ],
        )
        for level, part in grouped
    ]
    return table(
        "By level: points, and share of workers", ["level", "points", *_TITLES], rows, "numbers small"
    )


def _largest(tract_points: TractPoints) -> Component:
    points = tract_points.points.assign(most=tract_points.points[list(_SHARES)].max(axis=1))
    shown = points.sort_values(["most", "unit_id"], ascending=[False, True]).head(_MOST_ROWS)
    rows = [
        (
            html.Span(
                [
                    row["name"],
                    html.Span(
                        f"{LEVELS[row['level']]}, {row['distance_mi']:.1f} mi", className="quiet county"
                    ),
                ]
            ),
            [html.Td(percent(row[share]), className="number") for share in _SHARES],
        )
        for row in shown.to_dict("records")
    ]
    more = len(points) - len(shown)
    return html.Section(
        [
            html.H2("Largest support points"),
            table("Share of the tract's workers", ["support point", *_TITLES], rows, "numbers small points"),
            *([html.P(f"And {more:,} smaller ones.", className="quiet small")] if more else []),
        ],
        className="card",
        **aria(label="Largest support points"),
    )


def tract_list() -> Component:
    """Every measured tract with its divergence, for those who do not use the map; the browser fills in the rows."""
    head = html.Tr([html.Th(text, scope="col") for text in ("workplace tract", "workers", "KL", "IMSE")])
    return html.Section(
        [
            html.H2("Workplace tracts, worst first"),
            html.Div(
                html.Table([html.Thead(head), html.Tbody(id="tract-rows")], className="areas"),
                className="scroll",
                tabIndex=0,
                role="region",
                **aria(label="Workplace tracts, worst first"),
            ),
        ],
        className="card",
        id="tract-card",
        hidden=True,
        **aria(label="Workplace tracts"),
    )


def tract_rows(tracts: pandas.DataFrame, names: pandas.Series) -> list[list[str]]:
    """Rows of :func:`tract_list`: identifier, name, workers, KL and IMSE as they are shown; the worst 500.

    Parameters
    ----------
    tracts : DataFrame
        `tract_id`, `n_workers`, `kl`, `imse`.
    names : Series
        Names by tract identifier.
    """
    order = tracts.sort_values(["kl", "tract_id"], ascending=[False, True]).head(_MOST_TRACTS)
    return [
        [
            row["tract_id"],
            names.get(row["tract_id"], row["tract_id"]),
            f"{row['n_workers']:,}",
            f"{row['kl']:.4f}",
            f"{row['imse']:.4f}",
        ]
        for row in order.to_dict("records")
    ]
