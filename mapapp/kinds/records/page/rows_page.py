"""The page of single worker records: the rows that a question covers, a page at a time, and what a row means."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl

from dash import Dash, dcc, html
from dash.development.base_component import Component

from mapapp.answers import words
from mapapp.answers.records.rows import ROWS_PER_PAGE, RecordRows, record_rows
from mapapp.answers.records.words import NO_PERSON
from mapapp.answers.release import Release
from mapapp.answers.release_names import setting_words
from mapapp.answers.words import aria
from mapapp.explore.admission import Admission
from mapapp.explore.callbacks.views import Views
from mapapp.question.address import Address, to_query
from mapapp.question.filters import Filters

_PAGE = "page"
_MAX_DIGITS = 4


class RecordsPage:
    """The page of worker records; see `mapapp.explore.callbacks.views.KindPage`."""

    path = "/records"
    title = "Records"
    shapes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def is_offered(self, views: Views) -> bool:
        """Whether a publication has records with further attributes."""
        return any(release.attributes.further for release in views.releases.values())

    def show(self, views: Views, query: str | None) -> Component:
        """Return the page of an address."""
        address, _ = views.parse(query)
        return page(views.release(address), address, page_number(query), views.releases.values())

    def query(self, address: Address) -> str:
        """Return the query of a link to it, which keeps the view."""
        return to_query(address)

    def register(self, app: Dash, views: Views, places: Admission) -> None:
        """Nothing: the page has no callbacks and no files."""


def page_number(query: object) -> int:
    """The page of rows that an address asks for; 1 for anything that is not a number."""
    text = query.removeprefix("?") if isinstance(query, str) else ""
    digits = dict(parse_qsl(text, max_num_fields=None, errors="replace")).get(_PAGE, "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS else 1


def page(release: Release, address: Address, number: int, served: Iterable[Release] = ()) -> Component:
    """The page for the area and the filters of an address; `served` are all releases of the server."""
    if not release.attributes.further:
        others = [served_release for served_release in served if served_release.attributes.further]
        return _page(
            [
                html.P(
                    f"{release.title} has no single records. It has counts by workplace, home, and segment."
                ),
                *(html.P(_link_to(served_release)) for served_release in others),
                html.P(dcc.Link("Back to the map", href=f"./{to_query(address)}")),
            ]
        )
    records = record_rows(release, address.question, number)
    return _page(
        [
            html.P([html.Strong("No row is a person. "), NO_PERSON.removeprefix("No row is a person. ")]),
            html.P(_which(release, address, records)),
            *([_table(records), _pager(address, records)] if records.rows else _nothing(address)),
            html.P(
                [
                    "The order of the rows and their numbers mean nothing. Home and workplace are shown by area; their "
                    "exact places were drawn from public data. ",
                    dcc.Link("How records are made", href=f"./method?release={release.slug}"),
                    " · ",
                    dcc.Link("Back to the map", href=f"./{to_query(address)}"),
                ],
                className="quiet",
            ),
        ]
    )


def _link_to(release: Release) -> Component:
    name = setting_words(release.promise)
    return html.A(f"Rows of {release.title} ({name})", href=f"./records?release={release.slug}")


def _page(parts: list[Component]) -> Component:
    return html.Main([html.H1("Synthetic worker records"), *parts], className="records-page")


def _which(release: Release, address: Address, records: RecordRows) -> str:
    question = address.question
    where = (
        f"who {words.VERB[question.side]} in {words.place_name(release, question)}" if question.areas else ""
    )
    only = release.attributes.words(question.filters)
    filtered = f"({only})" if only else ""
    parts = " ".join(part for part in ("Synthetic workers", filtered, where) if part)
    first = (records.page - 1) * ROWS_PER_PAGE + 1
    last = first + len(records.rows) - 1
    shown = f"rows {first:,} to {last:,} of {records.n_rows:,}" if records.rows else "no rows"
    cut = records.n_rows > records.n_pages * ROWS_PER_PAGE
    more = (
        f" Only the first {records.n_pages * ROWS_PER_PAGE:,} can be shown; the export has all."
        if cut
        else ""
    )
    return f"{parts}: {shown}.{more}"


def _nothing(address: Address) -> list[Component]:
    """What to do where no row matches."""
    unfiltered = address.having(age=(), earnings=(), industry=(), attributes=())
    links = [dcc.Link("Clear the filters", href=f"./records{to_query(unfiltered)}")]
    return [
        html.P(
            "No synthetic worker matches. There may be real ones: groups of a few workers can vanish or appear by "
            "chance."
        ),
        *(html.P(link) for link in links if address.question.filters != Filters()),
    ]


def _table(records: RecordRows) -> Component:
    head = html.Tr([html.Th(text, scope="col") for text in records.heads])
    rows = [html.Tr([html.Td(text) for text in row]) for row in records.rows]
    return html.Div(
        html.Table([html.Thead(head), html.Tbody(rows)], className="records"),
        className="scroll",
        tabIndex=0,
        role="region",
        **aria(label="Synthetic worker records"),
    )


def _pager(address: Address, records: RecordRows) -> Component:
    def link(text: str, number: int, *, open_: bool) -> Component:
        query = to_query(address)
        href = f"./records{query}{'&' if query else '?'}{_PAGE}={number}"
        return html.A(text, href=href, className="button") if open_ else html.Span(text, className="quiet")

    return html.Nav(
        [
            link("Earlier rows", records.page - 1, open_=records.page > 1),
            html.Span(f"Page {records.page:,} of {records.n_pages:,}"),
            link("Later rows", records.page + 1, open_=records.page < records.n_pages),
        ],
        className="pager",
        **aria(label="Pages of rows"),
    )
