"""What the frame and the HTML of a page say about it: its publication, its title, and its description."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mapapp.answers import words as answer_words
from mapapp.answers.areas.unit_names import base_name, name_parts, unplaced_name
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.publication import is_published
from mapapp.answers.release import Release, names_of
from mapapp.explore.callbacks.views import METHOD_PAGE, Views
from mapapp.kinds.tables.read import words
from mapapp.kinds.tables.read.view import TABLES_PATH
from mapapp.question.address import Address
from mapapp.question.fields import ThemeChoice

# What a view is called: in the title and description of its page, and in the names of its pictures.
#
# A name is made for every request of a page, before any limit on work applies. So it uses only the names of units, and
# never computes the blocks of a drawn area.

_OF_STATE: Final = re.compile(r"[ ,]([A-Z]{2}(?:-[A-Z]{2})*)\)?$")
_GOVERNED: Final = ("stplc", "ctycsub")
"""Layers whose units people name without their legal description: `Newport`, not `Newport city`."""
_DRAWN: Final = {
    "all": "everywhere",
    "circle": "a circle",
    "ring": "a ring",
    "box": "a box",
    "shape": "a drawn area",
    "line": "a corridor",
    "near": "a corridor",
}
OTHER_PAGES: Final = {"/method": "How the numbers are made", "/records": "Synthetic worker records"}
_FILE_WORDS: Final = {"inflow-outflow": "inflow", "distance-direction": "distance"}
"""Analyses with a shorter name in the names of files."""


def page_title(release: Release, address: Address, before: Release | None = None, path: str = "/") -> str:
    """Return the title of a page, such as `Inflow and outflow: Newport, RI, 2019`.

    Parameters
    ----------
    release : Release
    address : Address
    before : Release, optional
        The earlier release that the view compares with.
    path : str
        The page; `/` is the map.
    """
    question = address.question
    if path != "/":
        return f"{OTHER_PAGES.get(path, 'Page not found')}: {release.title}"
    if not question.areas:
        subject = question.entry.title if question.is_complete else "Where people live and work"
        return f"{subject}: {release.title}"
    return f"{question.entry.title}: {_where_and_when(release, address, before)}"


def page_description(release: Release, address: Address, before: Release | None = None) -> str:
    """Return a sentence or two on what a page shows, for search engines and for previews of links."""
    question = address.question
    where = _where_and_when(release, address, before) if question.areas else release.title
    if is_published(release.certificate):
        published = answer_words.promise(release.certificate)
        return f"{question.entry.words} {where}: a map, key numbers, and tables of jobs {published}."
    kind = "synthetic workers; no record is a real person"
    return f"{question.entry.words} {where}: a map, key numbers with their expected errors, and tables of {kind}."


def picture_stem(release: Release, address: Address, before: Release | None = None) -> str:
    """Return the words of a picture's file name, such as `inflow Newport, RI, 2019`."""
    question = address.question
    where = _where_and_when(release, address, before) if question.areas else release.title
    return f"{_FILE_WORDS.get(question.analysis, question.analysis)} {where}"


def _where_and_when(release: Release, address: Address, before: Release | None) -> str:
    question = address.question
    ends = [question.areas] if not question.shown_others else [question.areas, question.others]
    places = " and ".join(dict.fromkeys(_place(release, steps) for steps in ends))
    years = [
        str(dated_release.year) for dated_release in (before, release) if dated_release and dated_release.year
    ]
    when = " to ".join(dict.fromkeys(years)) or release.title
    return f"{places}, {when}"


def _place(release: Release, steps: Sequence[str]) -> str:
    first = _step(release, steps[0])
    return first if len(steps) == 1 else f"{first} and {len(steps) - 1} more"


def _step(release: Release, step: str) -> str:
    bare = step.lstrip("+-&")
    if bare not in release.areas:
        return _DRAWN.get(bare.partition(":")[0], "a drawn area")
    area = release.areas[bare]
    if area.level not in _GOVERNED:
        return area.name
    own, state = base_name(area.name), _OF_STATE.search(area.name, len(unplaced_name(area.name)))
    return f"{own}, {state[1] if state else name_parts(area.name)[1]}".removesuffix(", ")


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
    if path == TABLES_PATH or not views.releases:
        return _of_table(views, path, query)
    address, _ = views.parse(query)
    release, before = views.release(address), views.releases.get(address.against)
    return PageHead(
        publication=release,
        name=names_of(list(views.releases.values()))[release.slug],
        title=page_title(release, address, before, path),
        description=page_description(release, address, before),
        theme=address.view.theme,
    )


def _of_table(views: Views, path: str, query: object) -> PageHead:
    view, _ = views.table_view(query)
    served = views.table(view)
    tables = served.published.tables
    table = tables[view.part - 1] if view.part <= len(tables) else tables[0]
    what = table.title if path != METHOD_PAGE else OTHER_PAGES[METHOD_PAGE]
    return PageHead(
        publication=served,
        name=served.title,
        title=f"{what}: {served.title}",
        description=f"{words.counted_sentence(table)} A table with suppressed cells, a map, and its promise.",
        theme=view.theme,
    )
