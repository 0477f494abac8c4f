"""The page of published tables, as the public server asks for it."""

from __future__ import annotations

from dash import Dash
from dash.development.base_component import Component

from mapapp.explore.admission import Admission
from mapapp.explore.callbacks.views import Views
from mapapp.kinds.tables.page import callbacks, routes, table_page
from mapapp.kinds.tables.page.addresses import FILES_PATH, STARRED_PATH
from mapapp.kinds.tables.read.view import TABLES_PATH, TableView, to_query
from mapapp.question.address import Address


class TablesPage:
    """The page of tables with suppressed cells; see `mapapp.explore.callbacks.views.KindPage`."""

    path = TABLES_PATH
    title = "Tables"
    shapes = (STARRED_PATH,)
    files = (FILES_PATH,)

    def is_offered(self, views: Views) -> bool:
        """Whether the app has a table."""
        return bool(views.tables)

    def show(self, views: Views, query: str | None) -> Component:  # callbacks read both
        """Return the page before its first answer."""
        return table_page.page()

    def query(self, address: Address) -> str:
        """Return the query of a link to it, which keeps the colors."""
        return to_query(TableView(theme=address.view.theme))

    def register(self, app: Dash, views: Views, places: Admission) -> None:
        """Attach its callbacks and the addresses of its files to an app."""
        callbacks.register(app, views)
        routes.register(app.server, views, places)
