"""The Method page: what is synthetic, what is promised, and what is not, in plain language."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.promise.method import chapters
from mapapp.answers.publication import DIGEST_NOTE, is_of_records, is_published
from mapapp.answers.release import Release
from mapapp.answers.wording import nouns_of
from mapapp.explore.pages import certificate
from mapapp.explore.pages.certificate import digest_label
from mapapp.explore.pages.reader_words import in_reader_words
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.view import TableView, to_query
from mapapp.kinds.tables.read.words import table_chapters

_HEADING: Final = {
    False: "What you see and how privacy is protected",
    True: "What you see and where it is from",
}
_OF_THE_PAGE: Final = (
    "With more than 100,000 workers, the map shows their density in workers per square mile, smoothed over one or two "
    "pixels.",
    "The address of the page holds the whole view. Save or send it, and the same view opens again.",
)


def page(
    release: Release | None,
    served: Collection[Release] = (),
    tables: Collection[ServedTable] = (),
) -> Component:
    """The Method page of one release, and of the tables of the server; `served` are all its releases.

    Without a release, the page is about the tables alone.
    """
    subject = [html.P(f"{_kind(release)}: {release.title}.", className="quiet")] if release else []
    main = html.Main(
        html.Article(
            [
                html.H1(_HEADING[release is not None and is_published(release.certificate)]),
                *subject,
                *(_of_release(release, served, tables) if release else []),
                *(part for table in tables for part in _of_table(table, n_tables=len(tables))),
            ],
            className="prose",
        ),
        className="text-page",
    )
    return in_reader_words(main, None if release is None else nouns_of(release.facts))


def _kind(release: Release) -> str:
    if is_published(release.certificate):
        return "Published counts"
    return "Worker records" if is_of_records(release.certificate) else "Release"


def _of_release(
    release: Release, served: Collection[Release], tables: Collection[ServedTable]
) -> list[Component]:
    return [
        *(part for chapter in chapters(release, served, tables) for part in _chapter(chapter)),
        html.H2("How to use the map"),
        _list(_OF_THE_PAGE),
        html.P(dcc.Link("Back to the map", href=f"./?release={release.slug}")),
        html.H2("Certificate"),
        certificate.card(release, served, tables),
        html.P([f"{digest_label(release.certificate)}: ", html.Code(release.digest, className="digest")]),
        html.P(DIGEST_NOTE, className="quiet"),
        html.P(f"The complete certificate, as stored in the {_kind(release).lower()}:"),
        certificate.in_full(release),
    ]


def _of_table(table: ServedTable, *, n_tables: int) -> list[Component]:
    named = [html.P(f"Table: {table.title}.", className="quiet")] if n_tables > 1 else []
    return [
        *named,
        *(part for chapter in table_chapters(table) for part in _chapter(chapter)),
        html.P(dcc.Link("Back to the table", href=f"./tables{to_query(TableView(table=table.slug))}")),
        html.P(["Table digest: ", html.Code(table.published.digest, className="digest")]),
        html.P(DIGEST_NOTE, className="quiet"),
        html.P("The complete certificate, as stored in the table:"),
        certificate.in_full(table),
    ]


def _chapter(chapter: Chapter) -> list[Component]:
    parts = [html.P(part) if isinstance(part, str) else _list(part) for part in chapter.parts]
    return [html.H2(chapter.title), *parts]


def _list(texts: tuple[str, ...]) -> Component:
    return html.Ul([html.Li(text) for text in texts])
