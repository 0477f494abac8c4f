"""Shows the page that belongs to an address."""

from __future__ import annotations

from dash import ALL, Dash, Input, Output, State
from dash.development.base_component import Component

from mapapp.explore import color_scheme
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.views import MAP_PAGE, Views
from mapapp.explore.pages import controls, explore, frame, method
from mapapp.question.address import to_query


def register(app: Dash, views: Views) -> None:
    """Attach the router to an app."""

    @app.callback(
        Output("page", "children"),
        Output("release-choice", "children"),
        Output({"type": "nav", "page": ALL}, "className"),
        Input("url", "pathname"),
        State("url", "search"),
    )
    def route(pathname: str | None, query: str | None) -> tuple[Component, Component | None, list[str]]:
        address, _ = views.parse(query)
        path = views.page(pathname)
        marks = ["here" if page == path else "" for page in views.pages]
        if path not in views.pages:
            return frame.not_found(), None, marks
        if path == MAP_PAGE:
            figure = draw.base_figure(
                views.release(address), color_scheme.shown_theme(address.view), views.prefix
            )
            layers = views.layers(address)
            page = explore.page(views.releases, address, figure, layers, views.awaited, views.embed_from)
            return page, controls.release_choice(views.releases, address), marks
        for of_kind in views.kind_pages:
            if of_kind.path == path:
                return of_kind.show(views, query), None, marks
        release = views.release(address) if views.releases else None
        return method.page(release, views.releases.values(), views.tables.values()), None, marks


def page_links(views: Views, query: str | None) -> list[str]:
    """Links to the pages, in their order, that keep the view of an address."""
    address, _ = views.parse(query)
    queries = {page.path: page.query(address) for page in views.kind_pages}
    return [f".{page}{queries.get(page, to_query(address))}" for page in views.pages]
