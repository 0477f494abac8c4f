"""Keeps the download menu in step with the address of the page."""

from __future__ import annotations

from dash import Dash, Input, Output

from mapapp.explore.callbacks.views import Views
from mapapp.explore.downloads.routes import file_address
from mapapp.explore.pages import download_menu
from mapapp.question.address import to_query


def register(app: Dash, views: Views) -> None:
    """Attach the callback of the menu to an app."""

    @app.callback(
        Output("take-files", "children"),
        Output("csv", "href"),
        Output("take-files", "data-drawn"),
        Output("csv", "data-drawn"),
        Input("url", "search"),
    )
    def show_menu(query: str | None) -> tuple[object, ...]:
        address, _ = views.parse(query)
        release, text = views.release(address), to_query(address)

        def place(name: str, **more: str) -> str:
            return file_address(views, release, name, text, **more)

        ready, changes = address.question.is_complete, views.before(address) is not None
        return download_menu.menu(place, ready=ready, changes=changes), place("table.csv"), query, query
