"""The sweeps as pictures and as tables."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from mapapp.answers.words import aria
from mapapp.workbench.fields import table
from mapapp.workbench.figures import GRAPH_CONFIG, sweep_chart
from mapapp.workbench.sweeping import SWEEPS, Swept


def sweep_charts(swept: Swept) -> list[Any]:
    """One card a sweep, as far as it is measured, and what could not be."""
    parts: list[Any] = []
    if swept.scope:
        scope = swept.scope
        parts.append(
            html.P(
                f"{'A sample: ' if scope['is_sample'] else ''}{scope['tracts_measured']:,} of {scope['tracts']:,} "
                "workplace tracts.",
                className="quiet small",
                id="sweep-scope",
            )
        )
    for sweep in SWEEPS:
        frame = swept.frame(sweep.name)
        if frame.empty:
            continue
        figure = sweep_chart(
            frame,
            x=sweep.axis,
            title=sweep.title,
            marked=(float(sweep.marked), "V3"),
            papers=swept.papers,
            shows_epsilon_final=sweep.shows_epsilon_final,
            log_x=sweep.log_x,
        )
        rows = [
            (f"{row.value:g}", [f"{row.kl_all:.4f}", f"{row.kl_small:.4f}", f"{row.epsilon_final:.3f}"])
            for row in frame.itertuples()
        ]
        parts.append(
            html.Section(
                [
                    dcc.Graph(
                        figure=figure, config=GRAPH_CONFIG, className="chart", id=f"sweep-{sweep.name}"
                    ),
                    html.Details(
                        [
                            html.Summary("As a table"),
                            table(
                                sweep.title, [sweep.axis, "KL all", "KL small", "ε′"], rows, "numbers small"
                            ),
                        ]
                    ),
                ],
                className="card",
                **aria(label=sweep.title),
            )
        )
    parts += [html.P(line, className="refusal") for line in swept.failed]
    return parts
