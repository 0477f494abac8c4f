"""What the frame and the HTML of a page say about it: its publication, its title, and its description."""

from __future__ import annotations

from dataclasses import dataclass

from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.release import names_of
from mapapp.answers.tables import table_words
from mapapp.explore import view_names
from mapapp.explore.callbacks.views import METHOD_PAGE, TABLES_PAGE, Views
from mapapp.question.fields import ThemeChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHead:
    """A page by its address.

    Attributes
    ----------
    publication : OpenedPublication
        The release or table that it is about.
    name : str
        Name of the publication, distinct from the others of the server.
    title, description : str
        Of the page.
    theme : {"system", "light", "dark"}
        As the address says.
    """

    publication: OpenedPublication
    name: str
    title: str
    description: str
    theme: ThemeChoice


def page_head(views: Views, pathname: object, query: object) -> PageHead:
    """Return what to say about the page of an address."""
    path = views.page(pathname)
    if path == TABLES_PAGE or not views.releases:
        return _of_table(views, path, query)
    address, _ = views.parse(query)
    release, before = views.release(address), views.releases.get(address.against)
    return PageHead(
        publication=release,
        name=names_of(list(views.releases.values()))[release.slug],
        title=view_names.page_title(release, address, before, path),
        description=view_names.page_description(release, address, before),
        theme=address.view.theme,
    )


def _of_table(views: Views, path: str, query: object) -> PageHead:
    view, _ = views.table_view(query)
    served = views.table(view)
    tables = served.published.tables
    table = tables[view.part - 1] if view.part <= len(tables) else tables[0]
    what = table.title if path != METHOD_PAGE else view_names.OTHER_PAGES[METHOD_PAGE]
    return PageHead(
        publication=served,
        name=served.title,
        title=f"{what}: {served.title}",
        description=f"{table_words.counted_sentence(table)} A table with suppressed cells, a map, and its promise.",
        theme=view.theme,
    )
