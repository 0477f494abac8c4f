"""The sweeps as pictures and as tables."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.workbench.fields import table
from mapapp.workbench.figures import GRAPH_CONFIG, sweep_chart
from mapapp.workbench.sweep_results import SweepResults


def sweep_charts(results: SweepResults) -> list[Component]:
    """One card for each sweep, as far as it is measured, and a line for each value that failed."""
    parts: list[Component] = []
    if results.scope:
        scope = results.scope
        parts.append(
            html.P(
                f"{'A sample: ' if scope['is_sample'] else ''}{scope['tracts_measured']:,} of {scope['tracts']:,} "
                "workplace tracts.",
                className="quiet small",
                id="sweep-scope",
            )
        )
    for sweep in results.sweeps:
        frame = results.frame(sweep.name)
        if frame.empty:
            continue
        figure = sweep_chart(
            frame,
            x=sweep.axis,
            title=sweep.title,
            marked=(float(sweep.marked), "V3"),
            papers=results.papers,
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
    parts += [html.P(line, className="refusal") for line in results.failed]
    return parts
