"""Bar charts built as tables: each row has a bar and its number, so that screen readers can read them, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import Attributes, aria
from mapapp.drawing.bar_groups import Bar

_LONG: Final = 36
"""Letters of a name that does not fit beside its bar: then all names are above their bars."""


def bar_chart(title: str, bars: Sequence[Bar], first: str, className: str = "") -> Component:
    """A card with one bar per row; `first` is the head of the first column."""
    return html.Section([html.H2(title), bar_table(bars, first)], className=f"card {className}".strip())


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
