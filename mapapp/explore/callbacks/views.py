"""The publications that callbacks work with, and how they read an address."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, Protocol

from dash import Dash
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from geodata.errors import GeodataError, GeometryError
from mapapp.answers import served_answers
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.areas.levels import level_label
from mapapp.answers.opened_publication import OpenedPublication, free_slug
from mapapp.answers.release import Release
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.result_cache import ResultCache
from mapapp.explore.admission import Admission
from mapapp.explore.uploads import Uploads
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.view import TableView, table_view
from mapapp.question.address import Address, from_query
from mapapp.question.area_text import DRAWN, Corridor, Unit, Units, parse_area
from mapapp.question.question import Question, SettledQuestion
from mapapp.question.setup_file import has_layer, has_step
from mapapp.question.view import View
from mapapp.show.content import map_layers
from mapapp.show.content.map_content import MapContent

# A log that visitors cannot fill: a few lines a minute about requests that fail, and how many were left out.

MOST_LINES: Final = 20
"""Lines in a minute; who forges requests without end would otherwise fill the disk."""
_WINDOW_S: Final = 60.0


class LimitedLog:
    """The lines that one app logs about failed requests; safe to use from several threads.

    Parameters
    ----------
    clock : callable
        Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._began = clock()
        self._n_lines = 0

    def error(self, line: str, *, details: Exception | None = None) -> None:
        """Log a line, with the traceback of `details`, unless there were too many within the minute."""
        with self._lock:
            now, left_out = self._clock(), 0
            if now - self._began >= _WINDOW_S:
                left_out = max(self._n_lines - MOST_LINES, 0)
                self._began, self._n_lines = now, 0
            self._n_lines += 1
            is_shown = self._n_lines <= MOST_LINES
        log = logging.getLogger("commutemap")
        if left_out:
            log.error("%s more lines about failed requests were left out", f"{left_out:,}")
        if is_shown:
            log.error("%s", line, exc_info=details)


MAP_PAGE, METHOD_PAGE = "/", "/method"
_USUAL_LEVELS: Final = ("ctycsub", "stplc", "county", "zcta", "tract", "bgrp")


class KindPage(Protocol):
    """The page of one kind of publication; `mapapp.kinds.pages` lists them all.

    Attributes
    ----------
    path, title : str
        Where it is, and its name in the menu.
    shapes, files : tuple of str
        How the addresses begin of the shapes that it draws, which need work, and of the files that it offers.
    """

    @property
    def path(self) -> str: ...  # noqa: D102  # see the attributes

    @property
    def title(self) -> str: ...  # noqa: D102

    @property
    def shapes(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def files(self) -> tuple[str, ...]: ...  # noqa: D102

    def is_offered(self, views: Views) -> bool:
        """Whether the app has a publication for it."""
        ...

    def show(self, views: Views, query: str | None) -> Component:
        """Return the page for an address."""
        ...

    def query(self, address: Address) -> str:
        """Return the query of a link to it from a view."""
        ...

    def register(self, app: Dash, views: Views, places: Admission) -> None:
        """Attach its callbacks and the addresses of its files to an app."""
        ...


@dataclass(slots=True, eq=False)
class Views:
    """The releases and tables of an app by their names in addresses, where it is mounted, its log, and its uploads.

    `awaited` has a few words for each release that is still being made; `embed_from` has the origins of sites that may
    embed the map; `kind_pages` are the pages beside those of the map and of the method.
    """

    releases: dict[str, Release]
    tables: Mapping[str, ServedTable] = field(default_factory=dict)
    prefix: str = "/"
    awaited: tuple[str, ...] = ()
    embed_from: tuple[str, ...] = ()
    kind_pages: tuple[KindPage, ...] = ()
    log: LimitedLog = field(default_factory=LimitedLog, repr=False, compare=False)
    uploads: Uploads = field(default_factory=Uploads, repr=False, compare=False)
    _parsed: ResultCache[tuple[Address, tuple[str, ...]]] = field(
        default_factory=lambda: ResultCache(max_entries=memory_limits.ADDRESSES),
        init=False,
        repr=False,
        compare=False,
    )

    def parse(self, query: object) -> tuple[Address, tuple[str, ...]]:
        """The view in an address, and notes on the parts left out; cached, as all callbacks read the same address."""
        text = query if isinstance(query, str) else ""  # a forged request may contain anything
        return self._parsed.get_or_make(
            (text, tuple(self.releases)),
            lambda: from_query(
                text,
                releases=self.releases,
                is_area=self.has_area,
                is_layer=self._is_layer,
                is_attribute=self.has_attribute,
            ),
        )

    def add(self, path: Path, prepare: Callable[[Release], object]) -> Release:
        """Open and prepare one more release; questions being answered keep the releases that they began with."""
        slug = free_slug(path, {*self.releases, *self.tables})
        release = Release.open(path, slug)
        prepare(release)
        self.releases = {**self.releases, slug: release}
        return release

    @property
    def pages(self) -> dict[str, str]:
        """Names of the pages by path: the map needs a release, and the page of a kind a publication of it."""
        offered = {page.path: page.title for page in self.kind_pages if page.is_offered(self)}
        return ({MAP_PAGE: "Explore"} if self.releases else {}) | offered | {METHOD_PAGE: "Method"}

    def page(self, pathname: object) -> str:
        """The page that a path names, such as `/method`, wherever the app is mounted; `/` is the first page."""
        path = pathname if isinstance(pathname, str) else "/"  # a forged request may contain anything
        page = "/" + path.removeprefix(self.prefix).strip("/")
        return next(iter(self.pages)) if page == "/" else page

    def publication(self, slug: str) -> OpenedPublication | None:
        """The release or table with a name in addresses."""
        return self.releases.get(slug) or self.tables.get(slug)

    def table_view(self, query: object) -> tuple[TableView, tuple[str, ...]]:
        """The view of a table in an address, and notes on the parts left out."""
        return table_view(query, self.tables)

    def table(self, view: TableView) -> ServedTable:
        """The table of a view; a server without tables does not answer a forged request for one."""
        if not self.tables:
            raise PreventUpdate
        return self.tables[view.table] if view.table else next(iter(self.tables.values()))

    def release(self, address: Address) -> Release:
        """The release of an address; a server without releases does not answer a forged request for one."""
        if not self.releases:
            raise PreventUpdate
        return self.releases[address.release] if address.release else next(iter(self.releases.values()))

    def before(self, address: Address) -> Release | None:
        """The earlier release to compare with the shown one, or None."""
        release = self.release(address)
        earlier = self.releases.get(address.against)
        if earlier is None or earlier is release or not address.question.is_complete:
            return None
        try:
            served_answers.compare_releases(earlier, release, self.settle(address))
        except (UsageError, GeodataError):  # the page says why
            return None
        return earlier

    def settle(self, address: Address) -> SettledQuestion:
        """The question of an address, with the usual layer in place of each layer that it leaves open.

        If the release refuses it, because it lacks published files, a comparison of its areas without filters.
        """
        return self._settle_address(address)[0]

    def refusal(self, address: Address) -> str:
        """Why the release does not answer the question of an address; empty if it does."""
        return self._settle_address(address)[1]

    def _settle_address(self, address: Address) -> tuple[SettledQuestion, str]:
        release, question = self.release(address), address.question
        settled = release.areas.usual.settle(question)
        if not ENTRIES[question.analysis].is_published:
            return settled, ""
        try:
            served_answers.result(release, settled)
        except UsageError as error:
            plain = Question(
                analysis="comparison", areas=question.areas, side=question.side, layer=question.layer
            )
            return release.areas.usual.settle(plain), str(error)
        return settled, ""

    def map_content(self, address: Address, view: View) -> MapContent:
        """What the map of an address shows in a view."""
        return MapContent(self.release(address), self.settle(address), view, self.before(address))

    def layers(self, address: Address) -> dict[str, str]:
        """Labels of the levels that can be rows and be clicked: common ones first, empty ones left out."""
        release = self.release(address)
        levels = [level for level in map_layers.unit_levels(release) if release.areas.has_units(level)]
        usual = [level for level in _USUAL_LEVELS if level in levels]
        rest = [level for level in levels if level not in usual]
        return {level: level_label(level).split(" (")[0] for level in (*usual, *rest)}

    def has_area(self, release: str, area: str) -> bool:
        """Whether a text is one step of an area in a release; this does not look up its blocks."""
        opened = self.release(Address(release=release))
        bare = area[1:] if area[:1] in ("+", "-", "&") else area
        if bare.partition(":")[0] not in DRAWN:
            return bare in opened.areas or has_step(opened, area)
        if " " in area:
            return False
        try:
            near = [step.part.of for step in parse_area(area) if isinstance(step.part, Corridor)]
        except (UsageError, GeometryError):
            return False
        units = [unit for of in near if isinstance(of, Unit | Units) for unit in of.units]
        return all(map(opened.areas.has_outline, units))

    def has_attribute(self, release: str, text: str) -> bool:
        """Whether a release has an attribute, given by its name, and the values after it, if there are some."""
        return self.release(Address(release=release)).attributes.has(text)

    def _is_layer(self, release: str, layer: str) -> bool:
        return has_layer(self.release(Address(release=release)), layer)
