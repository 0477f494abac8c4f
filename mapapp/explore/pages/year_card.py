"""The card that shows an answer over the years, if several years of a place are served."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from dash import html
from dash.development.base_component import Component

from mapapp.answers.over_years import OverYears, YearValue
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.year_lines import HEIGHT_PX, WIDTH_PX, year_lines
from mapapp.question.fields import Theme

_N_PICTURES: Final = 3


def year_card(over: OverYears | None, theme: Theme) -> Component | None:
    """Lines of the key numbers over the years, each with a table of the same numbers."""
    if over is None:
        return None
    lines = over.lines()
    return html.Section(
        [
            html.H2(f"Over the years, {over.years[0]} to {over.years[-1]}"),
            *[html.P(sentence) for sentence in over.findings()],
            *[_picture(label, values, theme) for label, values in lines[:_N_PICTURES]],
            html.Details([html.Summary("All years as a table"), _table(lines)]),
            html.P(" ".join(map(str, over.about.notes)), className="quiet small"),
        ],
        className="card years",
    )


def _picture(label: str, values: list[YearValue], theme: Theme) -> Component:
    svg = year_lines(values, label, COLOR_SCHEMES[theme])
    described = "; ".join(f"{each.year}: {each.text}" for each in values)
    return html.Figure(
        [
            html.Figcaption(label),
            html.Img(
                src=f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}",
                alt=f"{label} over the years. {described}",
                width=WIDTH_PX,
                height=HEIGHT_PX,
            ),
        ]
    )


def _table(lines: list[tuple[str, list[YearValue]]]) -> Component:
    head = html.Tr([html.Th("Year", scope="col"), *[html.Th(label, scope="col") for label, _ in lines]])
    by_year = [
        html.Tr([html.Th(row[0].year, scope="row"), *[html.Td(each.text) for each in row]])
        for row in zip(*(values for _, values in lines), strict=True)
    ]
    return html.Div(html.Table([html.Thead(head), html.Tbody(by_year)]), className="scroll", tabIndex="0")
