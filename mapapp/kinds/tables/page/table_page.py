"""The page of a published table: its counts and stars, a map of its row units, and what it promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.words import BAND_LABELS, PART, Attributes, aria, may_be_released
from mapapp.explore.pages.certificate import RELEASE_BADGES, summary_card
from mapapp.kinds.tables.page.addresses import file_url
from mapapp.kinds.tables.read import words
from mapapp.kinds.tables.read.published import Cell, OneTable
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.sheet import Sheet, SheetRow
from mapapp.kinds.tables.read.view import BY_NAME, BY_PEOPLE, SHADES, TableView, to_query
from mapapp.show.plotly.commute_map import CONFIG

CONTROLS: Final = ("table", "of", "find", "color", "shade", "theme")
"""Components whose values are parts of the address, with `counts-` in front of their names."""
_THEMES: Final = {"system": "As my system", "light": "Light", "dark": "Dark"}
_FILES: Final = {"CSV": "table.csv", "Excel": "tables.xlsx", "Certificate (JSON)": "certificate.json"}
"""Downloads of every table: the words of the link, and the last part of its address."""
_MOST_PLACES: Final = 60  # of a long menu at once; typing finds the others


def page() -> Component:
    """The page before its first answer; callbacks fill its parts."""
    return html.Main(
        [
            html.A("Skip to the table", href="#counts-sheet", className="skip"),
            html.Div(
                [
                    html.Div(id="counts-notes"),
                    html.Header(id="counts-head", className="table-head", **PART),
                    html.Div(
                        [
                            _select("table", "Table"),
                            _select("of", "Place of work", searchable=True),
                            dmc.TextInput(
                                id="counts-find",
                                label="Find a row",
                                placeholder="Part of a name",
                                debounce=300,
                                value="",
                            ),
                        ],
                        className="table-controls",
                    ),
                    html.Div(id="counts-sheet", className="sheet-part", tabIndex=-1, **PART),
                    html.Div(id="counts-foot", className="table-foot", **PART),
                ],
                className="table-main",
            ),
            html.Aside(
                [
                    html.Div(
                        [
                            _select("color", "Column on the map"),
                            html.Div(
                                [
                                    html.Span("The map shows", className="label", id="shade-label"),
                                    dmc.SegmentedControl(
                                        id="counts-shade",
                                        data=cast(
                                            "list[str]",
                                            [
                                                {"value": shade, "label": text}
                                                for shade, text in SHADES.items()
                                            ],
                                        ),
                                        value="share",
                                        size="xs",
                                        fullWidth=True,
                                        **aria(labelledby="shade-label"),
                                    ),
                                ],
                                className="field",
                            ),
                        ],
                        className="table-controls",
                    ),
                    html.Div(
                        html.Div(
                            dcc.Graph(
                                id="counts-map",
                                config=cast("dcc.Graph.Config", CONFIG),
                                responsive=True,
                                className="map",
                                clear_on_unhover=True,
                                figure={},
                            ),
                            id="map",
                            className="map-part",
                            **PART,
                        ),
                        className="stage",
                        role="region",
                        **aria(label="Map of the table"),
                    ),
                    html.Div(id="counts-about", className="table-about", **PART),
                    _select("theme", "Colors"),
                ],
                className="table-side",
                **aria(label="Map and promise"),
            ),
            *[dcc.Store(id=name) for name in ("counts-placed", "counts-on-map", "counts-look")],
        ],
        className="table-page",
    )


def _select(name: str, label: str, *, searchable: bool = False) -> Component:
    return html.Div(
        dmc.Select(
            id=f"counts-{name}",
            label=label,
            data=[],
            allowDeselect=False,
            searchable=searchable,
            limit=_MOST_PLACES if searchable else None,
            withScrollArea=False,
            comboboxProps={"zIndex": 400, "withinPortal": False},
        ),
        id=f"counts-field-{name}",
        className="field",
    )


def _options(names: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"value": value, "label": label} for value, label in names.items()]


def menus(tables: Mapping[str, ServedTable], sheet: Sheet) -> dict[str, list[dict[str, str]]]:
    """The options of every menu."""
    table = sheet.shown.table
    several = len(tables) > 1
    parts = {
        f"{slug} {part.position + 1}": f"{part.title} ({served.title})" if several else part.title
        for slug, served in tables.items()
        for part in served.published.tables
    }
    return {
        "table": _options(parts),
        "of": _options(table.rows if table.is_flows else {}),
        "color": _options(sheet.shown.columns),
        "theme": _options(_THEMES),
    }


def values(served: ServedTable, sheet: Sheet) -> dict[str, str]:
    """The value of every control."""
    view = sheet.view
    return {
        "table": f"{served.slug} {sheet.shown.table.position + 1}",
        "of": sheet.shown.of,
        "find": view.find,
        "color": sheet.color,
        "shade": view.shade,
        "theme": view.theme,
    }


def hidden_menus(offered: Mapping[str, Sequence[object]]) -> list[bool]:
    """Whether the menus `table`, `of` and `color` offer no choice."""
    return [len(offered[name]) < 2 for name in ("table", "of", "color")]


def head(served: ServedTable, sheet: Sheet, releases: Sequence[str]) -> list[Component]:
    """Title, what is counted, and the promise; `releases` are sentences on releases of the same jobs."""
    table, published = sheet.shown.table, served.published
    about = "" if words.says_itself(table) else f" {words.counted_sentence(table)}"
    breach = [html.P(published.breach, className="beside", role="alert")] if published.breach else []
    return [
        html.H1(table.title),
        html.P([html.Strong(f"{served.title}."), about], className="counted"),
        *breach,
        html.P(
            [
                html.Strong(f"{words.printed_sentence(table)} "),
                words.promise_sentence(published.promise, of_flows=table.is_flows),
            ]
        ),
        *[html.P(sentence, className="beside", role="note") for sentence in releases],
    ]


def sheet_part(sheet: Sheet) -> list[Component]:
    """The table itself, and the way to its other pages."""
    n = sheet.n_found
    total = len(sheet.shown.rows)
    text = f"{n:,} of {total:,} rows" if n < total else f"{total:,} row{'s' * (total != 1)}"
    return [
        html.Div(
            [
                html.H2("Counts", className="unseen"),
                html.Span(text, className="quiet small", role="status"),
                html.Span(
                    [html.Span(words.STAR, className="star"), " suppressed"],
                    className="small quiet key",
                ),
            ],
            className="row-between",
        ),
        html.Div(
            html.Table(
                [_table_head(sheet), _table_body(sheet), *_table_totals(sheet)],
                className="counts-table linked-rows",
            ),
            className="sheet-scroll",
            tabIndex=0,
            role="region",
            **aria(label="Table of counts"),
        ),
        *_pager(sheet),
    ]


def _table_head(sheet: Sheet) -> Component:
    """The heads of the columns: of several characteristics, the last one below, the others above as groups."""
    table = sheet.shown.table
    people = "Expected by the prior" if table.is_flows else "Workers"
    unit = "Home" if table.is_flows else table.row_label.split(" (")[0]
    labels = {name: _band_labels(table, name) or [label] for name, label in sheet.columns.items()}
    depth = len(next(iter(labels.values())))
    groups = [_group_row(labels, level, depth) for level in range(depth - 1)]
    first = [(BY_NAME, unit), (BY_PEOPLE, people)]
    own = [_head_cell(sheet, name, label, rows=depth) for name, label in first]
    heads = [_head_cell(sheet, name, parts[-1]) for name, parts in labels.items() if len(parts) == depth]
    sums = [
        html.Th(parts[0], scope="col", className="sum", rowSpan=depth)
        for name, parts in labels.items()
        if name not in sheet.shown.columns
    ]
    if not groups:
        return html.Thead(html.Tr([*own, *heads, *(sums if depth > 1 else [])]))
    groups[0] = [*own, *groups[0], *sums]
    return html.Thead([*map(html.Tr, groups), html.Tr(heads)])


def _band_labels(table: OneTable, column_id: str) -> list[str]:
    """The label of each characteristic of a column; empty for a sum or a home."""
    codes = column_id.split(".")
    known = len(codes) == len(table.columns) and all(code in ("1", "2", "3") for code in codes)
    if not known:
        return []
    return [BAND_LABELS[name][int(code) - 1] for name, code in zip(table.columns, codes, strict=True)]


def _group_row(labels: Mapping[str, list[str]], level: int, depth: int) -> list[Component]:
    """The heads of one characteristic above the last; columns with the same bands so far share one."""
    spans: list[tuple[list[str], int]] = []
    for parts in labels.values():
        if len(parts) < depth:
            continue
        so_far = parts[: level + 1]
        if spans and spans[-1][0] == so_far:
            spans[-1] = (so_far, spans[-1][1] + 1)
        else:
            spans.append((so_far, 1))
    return [html.Th(parts[-1], scope="colgroup", colSpan=span, className="group") for parts, span in spans]


def _head_cell(sheet: Sheet, name: str, label: str, rows: int = 1) -> Component:
    view, is_here = sheet.view, sheet.view.sorted_by == name
    first, second = (name, f"-{name}") if name == BY_NAME else (f"-{name}", name)
    target = view.having(sort=second if view.sort == first else first)
    state = ("descending" if view.is_descending else "ascending") if is_here else "none"
    mark = {"descending": "↓", "ascending": "↑", "none": ""}[state]
    marks = ["row-head"] * (name == BY_NAME) + ["on-map"] * (name == sheet.color)
    return html.Th(
        _step(target, [label, html.Span(mark, className="mark-sort", **aria(hidden="true"))], "sort"),
        scope="col",
        rowSpan=rows,
        className=" ".join(marks),
        **aria(sort=state),
    )


def _step(
    view: TableView, children: str | list[str | Component], className: str, more: Attributes | None = None
) -> Component:
    """A link to another view, which the page's script follows without a jump to the top (`assets/tables.js`)."""
    step: Attributes = {"data-step": "", **(more or {})}
    return html.A(children, href=f"./tables{to_query(view)}", className=className, **step)


def _table_body(sheet: Sheet) -> Component:
    return html.Tbody([_body_row(sheet, row) for row in sheet.rows])


def _body_row(sheet: Sheet, row: SheetRow) -> Component:
    unit: Attributes = {"data-unit": f"{sheet.shown.row_layer}:{row.row_id}"}
    is_chosen = sheet.view.row == row.row_id
    target = sheet.view.having(row="" if is_chosen else row.row_id)
    name = _step(target, row.name, "row-name", aria(current="true" if is_chosen else None))
    return html.Tr(
        [
            html.Th(name, scope="row", className="row-head"),
            html.Td(f"{row.people:,}", className="number people"),
            *[
                _cell(sheet, row, cell, column)
                for cell, column in zip(row.cells, sheet.columns.items(), strict=True)
            ],
        ],
        className="chosen-row" if is_chosen else "",
        **unit,
    )


def _cell(sheet: Sheet, row: SheetRow, cell: Cell | None, column: tuple[str, str]) -> Component:
    name, label = column
    kind = "number sum" if name not in sheet.shown.columns else "number"
    if cell is None or not cell.people:
        return html.Td("–", className=f"{kind} none")
    text = words.STAR if cell.value < 0 else f"{cell.value:,}"
    said = text if cell.value >= 0 else f"suppressed, {words.reason_words(cell.reason)}"
    lines = words.cell_lines(cell, sheet.promise)
    about: Attributes = {"data-cell": f"{row.name}: {label}", "data-lines": "\n".join(lines)}
    return html.Td(
        html.Button(
            text,
            className=f"cell {'star' if cell.value < 0 else ''}",
            n_clicks=0,
            **about,
            **aria(label=f"{label}: {said}"),
        ),
        className=f"{kind}{' on-map' if name == sheet.color else ''}",
    )


def _table_totals(sheet: Sheet) -> list[Component]:
    row = sheet.totals
    if row is None:
        return []
    cells = [
        _cell(sheet, row, cell, column) for cell, column in zip(row.cells, sheet.columns.items(), strict=True)
    ]
    people = html.Td(f"{row.people:,}" if row.people else "", className="number people")
    return [html.Tfoot(html.Tr([html.Th(row.name, scope="row", className="row-head"), people, *cells]))]


def _pager(sheet: Sheet) -> list[Component]:
    if sheet.n_pages < 2:
        return []
    view = sheet.view
    turns = [("Previous rows", view.page - 1), ("Next rows", view.page + 1)]
    links = [
        _step(view.having(page=page), text, "button") if 1 <= page <= sheet.n_pages else None
        for text, page in turns
    ]
    return [
        html.Nav(
            [
                links[0],
                html.Span(f"Page {view.page:,} of {sheet.n_pages:,}", className="quiet"),
                links[1],
            ],
            className="pager",
            **aria(label="Pages of the table"),
        )
    ]


def foot(served: ServedTable, sheet: Sheet, prefix: str) -> list[Component]:
    """Source line and downloads."""
    facts = served.facts
    part = sheet.shown.table.position + 1
    job_type = f", job type {facts['job_type']}" if facts.get("job_type") else ""
    files = [(text, file_url(prefix, served, name, part)) for text, name in _FILES.items()]
    return [
        html.P(
            f"Source: {served.title}{job_type}; table digest {served.version}…. "
            f"{words.prior_sentence(served.published.claims.prior)}",
            className="quiet small",
        ),
        html.Ul(
            [html.Li(html.A(text, href=href, className="button", download="")) for text, href in files],
            className="table-files",
            **aria(label="Download this table"),
        ),
    ]


def about(served: ServedTable) -> list[Component]:
    """How the stars were placed, what is not promised, and the certificate."""
    published = served.published
    return [
        html.Section(
            [
                html.H2("What the stars mean"),
                html.P(words.how_decided(published.promise)),
            ],
            className="card",
        ),
        html.Section(
            [
                html.H2("What is not promised"),
                html.Ul([html.Li(text) for text in words.limits(published)], className="remarks"),
            ],
            className="card",
        ),
        summary_card(
            "Certificate",
            words.facts_of(published),
            ("How such a table is made", "./method"),
            badge=RELEASE_BADGES[may_be_released(served.certificate)],
        ),
    ]
