"""The answer to a question: numbers, distance bands, and the table with the numbers of the map."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dash import dcc, html

from mapapp.pages import words
from mapapp.pages.controls import ROWS, segments
from mapapp.pages.words import aria
from mapapp.queries.commutes import Summary
from mapapp.queries.release import ServedRelease, caution
from mapapp.url_state import Side, ViewState, drawn_end, to_query


def answer(release: ServedRelease, state: ViewState) -> list[Any]:
    """What stands above the table."""
    summary = release.summary(state)
    return [
        headline(release, state, summary),
        promise(release),
        numbers(state, summary) if summary.workers else nobody(release, state),
        *([] if state.areas else [suggestions(release, state)]),
        *([distances(summary)] if summary.workers else []),
    ]


def headline(release: ServedRelease, state: ViewState, summary: Summary) -> Any:
    """How many workers, and who they are."""
    unit = "synthetic worker" if summary.workers == 1 else "synthetic workers"
    verb = words.VERB[state.side] + ("s" if summary.workers == 1 else "")
    filters = words.filter_words(state)
    return html.Section(
        [
            html.P(
                [html.Span(f"{summary.workers:,}", className="big", id="worker-count"), f" {unit}"],
                className="count",
            ),
            html.P(_where(release, state, verb)),
            html.P(f"Only: {filters}", className="quiet") if filters else None,
            html.P(_coverage(release, state), className="quiet") if state.areas else None,
        ],
        className="headline",
        **aria(live="polite", label="Number of workers"),
    )


def _where(release: ServedRelease, state: ViewState, verb: str) -> list[Any]:
    if state.areas:
        return [f"{verb} in ", html.Strong(words.place_name(release, state))]
    covered = html.Strong(words.listed(words.covered_states(release)) or "all covered states")
    return ["work in ", covered, ", wherever they live" if state.side == "home" else ""]


def promise(release: ServedRelease) -> Any:
    """The certificate in one line, with the way to what it means."""
    certificate = release.certificate
    said = (
        "Nobody here is a real person. "
        if words.is_private(certificate)
        else "Dots lie where real workers live. "
    )
    return html.Section(
        [
            html.P(
                [
                    html.Strong(said),
                    dcc.Link("What is promised", href=f"./method?release={release.slug}"),
                ]
            ),
            html.P(f"{words.promise(certificate)} · {words.grounds(certificate)}"),
        ],
        className="promise",
        **aria(label="Privacy in short"),
    )


def glance(summary: Summary) -> str:
    """The answer in one line, for the picture on a small screen."""
    return f"{summary.workers:,} workers · median {_miles(summary.median_mi)}"


def suggestions(release: ServedRelease, state: ViewState) -> Any:
    """A way in: the largest workplaces, or the tracts with most homes."""
    rows = release.table(ViewState(side=state.side), "tract")
    known = rows[[f"tract:{unit_id}" in release.areas for unit_id in rows["unit_id"]]].head(3)
    largest = release.table(ViewState(side=state.side), "county")
    county = largest[[f"county:{unit_id}" in release.areas for unit_id in largest["unit_id"]]].head(1)
    start, other = (
        ("one of the largest workplaces", "homes of its workers")
        if state.side == "work"
        else ("where most workers live", "workplaces of its residents")
    )
    choices = [("tract", row) for row in known.itertuples()] + [
        ("county", row) for row in county.itertuples()
    ]
    return html.Section(
        [
            html.H2("Choose an area"),
            html.P(
                f"Click a tract on the map, search for a place, or start with {start}. "
                f"The {other} then show as points.",
                className="quiet",
            ),
            html.Ul([html.Li(_suggestion(level, row)) for level, row in choices], className="suggestions"),
        ],
        className="card start",
    )


def _suggestion(level: str, row: Any) -> Any:
    return html.Button(
        [
            html.Span([html.Strong(row.name), html.Span(f" {row.county}", className="quiet")]),
            html.Span(f"{row.workers:,}", className="number"),
        ],
        id={"type": "suggest", "area": f"{level}:{row.unit_id}"},
        className="suggestion",
        n_clicks=0,
    )


def numbers(state: ViewState, summary: Summary) -> Any:
    """Median distance and three shares."""
    tiles = [
        (_miles(summary.median_mi), "median distance, home to work"),
        (_percent(summary.within_10_mi, summary.workers), "commute under 10 miles"),
    ]
    if state.areas:
        tiles.append((_percent(summary.inside, summary.workers), "both live and work in the chosen areas"))
    tiles.append((_percent(summary.elsewhere, summary.workers), "live outside the mapped area"))
    return html.Dl(
        [html.Div([html.Dt(text), html.Dd(value)], className="tile") for value, text in tiles],
        className="tiles" if state.areas else "tiles three",
    )


def distances(summary: Summary) -> Any:
    """Histogram of distances, as a table whose cells carry the bars."""
    top = max(int(summary.bands["workers"].max()), 1)
    body = [
        html.Tr(
            [
                html.Th(row.band, scope="row"),
                html.Td(html.Span(style={"width": f"{100 * row.workers / top:.1f}%"}), className="bar"),
                html.Td(f"{row.workers:,}", className="number"),
                html.Td(_percent(row.workers, summary.workers), className="number quiet"),
            ]
        )
        for row in summary.bands.itertuples()
    ]
    head = html.Tr(
        [html.Th(text, scope="col") for text in ("Distance", "Workers, as a bar", "Workers", "Share")]
    )
    return html.Section(
        [
            html.H2("Distance from home to work"),
            html.Table(
                [html.Thead(head, className="unseen"), html.Tbody(body)],
                className="histogram",
                id="histogram",
            ),
            html.P(
                "Great-circle miles between block centres; zero in the same block. "
                "A home outside the mapped area counts from the middle of its state.",
                className="quiet small",
            ),
        ],
        className="card",
    )


def table_frame(state: ViewState) -> Any:
    """The place of the map's table, which stays while its rows change."""
    head = html.Tr(
        [
            html.Th(id="table-unit", scope="col"),
            html.Th("Workers", scope="col"),
            html.Th("Share", scope="col"),
        ]
    )
    rows = html.Table([html.Thead(head), html.Tbody(id="area-rows")], className="areas")
    marks = [
        ("caution", " 3–9 workers: read with caution. "),
        ("substantial", " 1–2: substantial variability."),
    ]
    return html.Section(
        [
            html.Div(
                [
                    html.H2(id="table-title"),
                    segments("rows", state.rows, ROWS, size="xs", label="Rows of the table"),
                ],
                className="row-between",
            ),
            html.Div(rows, className="scroll", tabIndex=0, role="region", **aria(labelledby="table-title")),
            html.P(
                [
                    part
                    for name, text in marks
                    for part in (html.Span("●", className=f"dot {name}", **aria(hidden="true")), text)
                ]
                + [" All ", html.Span(id="table-size"), "."],
                className="quiet small",
            ),
            dcc.Store(id="area-data"),
        ],
        className="card",
        id="table-card",
    )


def table(release: ServedRelease, state: ViewState) -> dict[str, Any]:
    """All rows of the map's table, most workers first, and its title; the browser puts them in place."""
    frame = release.table(state, state.rows)
    return {
        "title": "Where they live" if drawn_end(state) == "home" else "Where they work",
        "unit": "Tract" if state.rows == "tract" else "County",
        "size": f"{len(frame):,} row{'s' * (len(frame) != 1)}",
        "rows": table_cells(frame),
    }


def table_cells(frame: Any) -> list[tuple[str, ...]]:
    """Texts of the rows: name, county, workers, share, caution."""
    return [
        (row.name, row.county, f"{row.workers:,}", f"{100 * row.share:.1f} %", caution(row.workers))
        for row in frame.itertuples()
    ]


def nobody(release: ServedRelease, state: ViewState) -> Any:
    """Why the question picks no one, as far as that is known, and what to ask instead."""
    other: Side = "home" if state.side == "work" else "work"
    turned = ViewState(release=state.release, areas=state.areas, side=other)
    links = [(f"Show who {'lives' if other == 'home' else 'works'} here instead", turned)] * bool(state.areas)
    if state.side == "work" and not release.covers(state.areas):
        title = "Workplaces in this area are not in the release"
        text = "That says nothing about how many people work there."
    elif words.filter_words(state):
        title, text = "No synthetic worker fits", "There is nobody here with these filters."
        everybody = replace(state, age=(), earnings=(), industry=())
        links.insert(0, ("Take the filters away", everybody))
    else:
        title = f"No synthetic worker {'works' if state.side == 'work' else 'lives'} in this area"
        text = "Add another area, or ask for the other side."
    choices = [html.Li(dcc.Link(name, href=f"./{to_query(to)}")) for name, to in links]
    return html.Section([html.H2(title), html.P(text), html.Ul(choices)], className="card")


def _coverage(release: ServedRelease, state: ViewState) -> str:
    states = words.covered_states(release)
    covered = f"Workplaces in {words.listed(states)} are covered" if states else "Coverage is not stated"
    tail = "; other workplaces of these residents are not in the release." if state.side == "home" else "."
    return covered + tail


def _miles(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f} mi" if value >= 100 else f"{value:.1f} mi"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"
