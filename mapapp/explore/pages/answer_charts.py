"""The charts of each analysis. A chart that Plotly draws goes to its own card (`#chart`)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Final, cast

from dash import html
from dash.development.base_component import Component

from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.results import DistanceDirection, InflowOutflow, Result
from mapapp.answers.words import Attributes, aria
from mapapp.explore.pages.folding import folding_card
from mapapp.question.fields import Theme
from mapapp.show.content.bar_groups import Bar, BarChart, bar_charts
from mapapp.show.content.inflow_diagram import HEIGHT_PX, WIDTH_PX, inflow_diagram, inflow_words
from mapapp.show.content.palette import COLOR_SCHEMES, ColorScheme
from mapapp.show.plotly import charts as figures
from mapapp.show.plotly.plain_figures import Figure

# Bar charts built as tables: each row has a bar and its number, so that screen readers can read them, too.

_LONG: Final = 26
"""Letters of a name that does not fit beside its bar: then all names are above their bars."""


def bar_chart(title: str, bars: Sequence[Bar], first: str, className: str = "") -> Component:
    """A card with one bar per row; `first` is the head of the first column."""
    return folding_card("charts", title, [bar_table(bars, first)], className=className)


def bar_table(bars: Sequence[Bar], first: str) -> Component:
    """The table without a card around it."""
    top = max([bar.workers for bar in bars], default=0) or 1
    longest = max([len(bar.name) for bar in bars], default=0)
    head = html.Tr([html.Th(text, scope="col") for text in (first, "Workers, as a bar", "Workers", "Share")])
    return html.Table(
        [html.Thead(head, className="unseen"), html.Tbody([_row(bar, top) for bar in bars])],
        className="histogram" if longest <= _LONG else "histogram stacked",
    )


def _row(bar: Bar, top: int) -> Component:
    error = bar.error_text
    return html.Tr(
        [
            html.Th(bar.name, scope="row"),
            html.Td(
                html.Span(style={"width": f"{100 * bar.workers / top:.1f}%"}) if bar.workers else None,
                className="bar",
            ),
            html.Td(
                [
                    mark(bar.caution if bar.workers else ""),
                    f"{bar.workers:,}",
                    html.Span(f" {error}", className="error", **_meaning(bar)) if error else None,
                ],
                className="number",
            ),
            html.Td(f"{100 * bar.share:.1f}%", className="number quiet"),
        ]
    )


def _meaning(bar: Bar) -> Attributes:
    """What the mark of a missing error means, for screen readers."""
    return (
        Attributes(role="img", **aria(label=f"no ±, note {bar.no_error}")) if bar.no_error else Attributes()
    )


def mark(caution: str) -> Component | None:
    """The mark of a small count, with its meaning in words."""
    if not caution:
        return None
    return html.Span(
        "●",
        className=f"dot {caution.split(' ')[0]}",
        title=caution,
        role="img",
        **aria(label=caution),
    )


_FIRST = {"Distance from home to work": "Distance"}
"""Head of the first column, for charts whose titles do not name their rows."""


def charts(result: Result) -> list[Component]:
    """Bar charts of an answer."""
    components: list[Component] = []
    for chart in bar_charts(result):
        if chart.groups[0].heading:
            components.append(_chart_card(chart))
        else:
            first = _FIRST.get(chart.title, chart.title)
            components.append(bar_chart(chart.heading, chart.groups[0].bars, first))
    return components


def inflow_card(result: Result, theme: Theme) -> Component | None:
    """The diagram of who comes in, stays, and goes out; None for other analyses."""
    if entry_of(result).chart != "inflow":
        return None
    answer, scheme = cast(InflowOutflow, result), COLOR_SCHEMES[theme]
    svg = inflow_diagram(answer, scheme)
    return html.Section(
        [
            html.H2("Who comes, goes, and stays"),
            html.Img(
                src=f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}",
                alt=inflow_words(answer, scheme),
                width=WIDTH_PX,
                height=HEIGHT_PX,
            ),
            html.P(f"The box is {answer.about.area}; heights are to scale.", className="quiet small"),
        ],
        className="card inflow-diagram",
    )


def _chart_card(chart: BarChart) -> Component:
    parts: list[Component] = []
    for group in chart.groups:
        parts += [html.H3(group.heading), bar_table(group.bars, group.heading)]
    return folding_card("charts", chart.heading, parts)


def drawn_chart(result: Result, theme: Theme) -> tuple[str, str, Figure]:
    """Title, description and figure of a chart that is not made of bars; an empty title if there is no such chart."""
    chart = entry_of(result).chart
    return _CHARTS[chart](result, COLOR_SCHEMES[theme]) if chart in _CHARTS else _NO_CHART


def _rose(result: DistanceDirection, scheme: ColorScheme) -> tuple[str, str, Figure]:
    text = "Workers by direction and distance. The table below has the same numbers."
    route = "workplace to home" if result.about.side == "work" else "home to workplace"
    return f"Direction, from {route}", text, figures.rose(result.cells, scheme)


_NO_CHART: Final[tuple[str, str, Figure]] = ("", "", {})
_CHARTS: Final[dict[str, Callable[..., tuple[str, str, Figure]]]] = {
    "rose": _rose,
}
"""By the name in an analysis's entry. A flow matrix is a table on the page (`answer_matrix`)."""
