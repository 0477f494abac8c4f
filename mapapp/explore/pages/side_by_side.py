"""The card that shows the parts of an area side by side."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.show.content.side_by_side import Cell, SideBySide, SideRow


def side_card(sides: SideBySide | None) -> Component | None:
    """A table with a column for each part and a row for each number; None without parts."""
    if sides is None:
        return None
    heads = [html.Th("", scope="col"), *(html.Th(name, scope="col") for name in sides.names)]
    table = html.Table(
        [html.Thead(html.Tr(heads)), html.Tbody([_row(row, len(sides.names)) for row in sides.rows])],
        className="areas sides",
    )
    scroll = html.Div(
        table, className="scroll", tabIndex="0", role="region", **aria(labelledby="sides-title")
    )
    return html.Section([html.H2("Side by side", id="sides-title"), scroll], className="card", id="sides")


def _row(row: SideRow, n_parts: int) -> Component:
    if not row.cells:
        head = html.Th(row.label, scope="rowgroup", colSpan=n_parts + 1)
        return html.Tr(head, className="group")
    return html.Tr([html.Th(row.label, scope="row"), *map(_cell, row.cells)])


def _cell(cell: Cell) -> Component:
    error = html.Span(f" {cell.error}", className="error") if cell.error else None
    share = html.Span(cell.share, className="quiet sub") if cell.share else None
    return html.Td([cell.text, error, share], className="number")
