"""Shows the page that belongs to an address."""

from __future__ import annotations

from dash import ALL, Dash, Input, Output, State
from dash.development.base_component import Component

from mapapp.explore import color_scheme
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.views import Views
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
        marks = ["here" if page == path else "" for page in frame.PAGES]
        if path == "/":
            figure = draw.base_figure(
                views.release(address), color_scheme.shown_theme(address.view), views.prefix
            )
            layers = views.layers(address)
            page = explore.page(views.releases, address, figure, layers, views.awaited, views.embed_from)
            return page, controls.release_choice(views.releases, address), marks
        if path == "/method":
            return method.page(views.release(address), views.releases.values()), None, marks
        return frame.not_found(), None, marks

    @app.callback(Output({"type": "nav", "page": ALL}, "href"), Input("url", "search"))
    def keep_view(query: str | None) -> list[str]:
        address, _ = views.parse(query)
        return [f".{page}{to_query(address)}" for page in frame.PAGES]
