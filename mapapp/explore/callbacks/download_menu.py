"""The download menu that goes with the address of a page."""

from __future__ import annotations

from dash.development.base_component import Component

from mapapp.answers.release import Release
from mapapp.explore.callbacks.views import Views
from mapapp.explore.downloads.routes import file_address
from mapapp.explore.pages import download_menu
from mapapp.question.address import Address, to_query


def files_of(views: Views, release: Release, address: Address) -> tuple[list[Component], str]:
    """Return the files that are offered for a view, and the address of its table as CSV."""
    text = to_query(address)

    def place(name: str, **more: str) -> str:
        return file_address(views, release, name, text, **more)

    ready, changes = address.question.is_complete, views.before(address) is not None
    return download_menu.menu(place, ready=ready, changes=changes), place("table.csv")
