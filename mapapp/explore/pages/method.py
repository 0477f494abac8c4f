"""The Method page: what is synthetic, what is promised, and what is not, in plain language."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers.method_words import Chapter, chapters
from mapapp.answers.served_release import ServedRelease
from mapapp.explore.pages import certificate

_OF_THE_PAGE: Final = (
    "With more than 100,000 workers, the map shows their density in workers per square mile, smoothed over one or two "
    "pixels.",
    "The address of the page holds the whole view. Save or send it, and the same view opens again.",
)


def page(release: ServedRelease, served: Collection[ServedRelease] = ()) -> Component:
    """The Method page of one release; `served` are all releases of the server."""
    return html.Main(
        html.Article(
            [
                html.H1("What you see and how privacy is protected"),
                html.P(f"Release: {release.title}.", className="quiet"),
                *(part for chapter in chapters(release, served) for part in _chapter(chapter)),
                html.H2("How to use the map"),
                _list(_OF_THE_PAGE),
                html.P(dcc.Link("Back to the map", href=f"./?release={release.slug}")),
                html.H2("Certificate"),
                certificate.card(release, served),
                html.P(["Release digest: ", html.Code(release.analyses.digest, className="digest")]),
                html.P("The complete certificate, as stored in the release:"),
                certificate.in_full(release),
            ],
            className="prose",
        ),
        className="text-page",
    )


def _chapter(chapter: Chapter) -> list[Component]:
    parts = [html.P(part) if isinstance(part, str) else _list(part) for part in chapter.parts]
    return [html.H2(chapter.title), *parts]


def _list(texts: tuple[str, ...]) -> Component:
    return html.Ul([html.Li(text) for text in texts])
