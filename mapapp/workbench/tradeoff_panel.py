"""What other schemes would leak at the error of a setting: as curves, and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas
from dash import dcc, html
from dash.development.base_component import Component
from dash_mantine_components import Textarea

from mapapp.answers.words import aria
from mapapp.explore.pages.controls import segments
from mapapp.measuring.audit.questions import QUESTIONS
from mapapp.measuring.audit.result import LIMITS
from mapapp.measuring.audit.tradeoff import ABOUT
from mapapp.measuring.audit.words import TARGET_WORDS
from mapapp.workbench.audit_chart import tradeoff_chart
from mapapp.workbench.fields import percent, table
from mapapp.workbench.figures import GRAPH_CONFIG
from mapapp.workbench.job_progress import outdated, start_row
from mapapp.workbench.setting import Setting
from mapapp.workbench.tradeoffs import TradeOff

__all__ = ["DEFAULT_SCHEMES", "tradeoff_cards", "tradeoff_panel"]

DEFAULT_SCHEMES: Final = (
    "exponential=1,2,3,4,6,8 k=2,4,8,32,128 l-entropy=1.5,2,2.5 t=0.2,0.3,0.5 kd=0.1,0.5,1,4,8"
)
"""Schemes that the page offers first, for every question."""
_WORKERS: Final = {"all": "all workers", "1": "lone workers"}


def tradeoff_panel() -> Component:
    """What the comparison needs before it has run."""
    return html.Section(
        [
            html.H2("What would other schemes leak at the same error?"),
            html.P(
                "Each scheme is run over its parameter on the same workers. This setting, the kept ones, and both "
                "presets are marked.",
                className="quiet",
            ),
            Textarea(
                id="tradeoff-schemes",
                label="Schemes",
                description="As for commutemap audit --against, separated by spaces.",
                value=DEFAULT_SCHEMES,
                autosize=True,
                size="xs",
            ),
            segments(
                "tradeoff-question",
                "home",
                {question: question.capitalize() for question in QUESTIONS},
                size="xs",
                label="What the attacker asks for",
            ),
            *start_row("tradeoff", action="Draw the trade-off", label="Tracts to compare on"),
            html.Div(id="tradeoff-results", className="cards"),
        ],
        className="answer",
        **aria(label="Other schemes at the same error"),
    )


def tradeoff_cards(found: TradeOff, shown: Setting | None) -> list[Component]:
    """Two cards for each target of the question: all workers, and lone workers.

    Parameters
    ----------
    found : TradeOff
    shown : Setting or None
        That of the controls now.
    """
    of = "all workplace tracts" if found.extent == "whole" else "a sample of workplace tracts"
    parts: list[Component] = [html.P(f"Workers of {of}.", className="quiet small", id="tradeoff-scope")]
    if shown is not None and shown != found.setting:
        parts.append(outdated("Draw the trade-off again to see this setting."))
    targets = found.schemes["target"].drop_duplicates()
    parts += [_card(found, str(target), n) for target in targets for n in ABOUT]
    return [*parts, html.P(LIMITS, className="quiet small")]


def _card(found: TradeOff, target: str, n: str) -> Component:
    schemes = _rows(found.schemes, target, n)
    title = f"{TARGET_WORDS[target].capitalize()}, {_WORKERS[n]}: named right by lookup"
    return html.Section(
        [
            html.H2(title),
            dcc.Graph(figure=tradeoff_chart(schemes, found.names), config=GRAPH_CONFIG, className="chart"),
            _at_equal_error(_rows(found.tradeoff, target, n), found.names),
            html.Details([html.Summary("Every point as a table"), _points(schemes, title)]),
        ],
        className="card",
        **aria(label=title),
    )


def _rows(frame: pandas.DataFrame, target: str, n: str) -> pandas.DataFrame:
    return frame[(frame["target"] == target) & (frame["n"] == n)]


def _at_equal_error(tradeoff: pandas.DataFrame, names: Sequence[str]) -> Component:
    """What each scheme leaks at the error of each setting."""
    columns = [tradeoff[tradeoff["release"] == name].set_index("scheme") for name in names]
    own = {
        title: [percent(float(column[name].iloc[0])) for column in columns]
        for title, name in (("error of counts", "median_relative_error"), ("the setting itself", "leakage"))
    }
    schemes = {scheme: [_leakage(column.loc[scheme]) for column in columns] for scheme in columns[0].index}
    rows = list((own | schemes).items())
    return table("Named right at the error of each setting", ["", *names], rows, "numbers small")


def _leakage(row: pandas.Series) -> str:
    return percent(float(row["scheme_leakage"])) if row["reached"] else "not reached"


def _points(schemes: pandas.DataFrame, title: str) -> Component:
    rows = [
        (
            row["label"] if row["meets_rule"] else f"{row['label']} (not met even by all workers together)",
            [percent(row["median_relative_error"]), percent(row["lookup"])],
        )
        for row in schemes.to_dict("records")
    ]
    return table(title, ["", "error", "named right"], rows, "numbers small")
