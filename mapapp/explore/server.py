"""The public map as a web application. It opens only publications: releases, and tables with suppressed cells.

Pages load nothing from other machines: styles, scripts, fonts and shapes come from this server, and the headers tell
the browser to refuse anything else.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, Unpack
from urllib.parse import urlencode

import flask
from dash import Dash
from werkzeug.exceptions import HTTPException, InternalServerError

from geodata.store.manifest import read_manifest
from mapapp.answers import served_answers
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.promise.overlapping_releases import beside_sentences
from mapapp.answers.records import words as record_words
from mapapp.answers.release import Release, open_releases
from mapapp.base import watch
from mapapp.base.errors import UsageError
from mapapp.base.paths import assets_dir
from mapapp.base.watch import Refused, Watch
from mapapp.explore import answer_routes, heavy_requests, response_cache, upload_routes, web_app
from mapapp.explore import answer_routes as flow_routes
from mapapp.explore.background import run_in_background
from mapapp.explore.callbacks import choices, draw, explore, routing
from mapapp.explore.callbacks.views import Views
from mapapp.explore.color_scheme import preferred_theme
from mapapp.explore.downloads import files as downloads
from mapapp.explore.downloads.bounds import MAX_AT_ONCE, file_places
from mapapp.explore.listener.server import AnyServer
from mapapp.explore.page_heads import page_head
from mapapp.explore.pages.frame import frame
from mapapp.explore.processes import forwarding
from mapapp.explore.processes.file_process import FileProcess
from mapapp.explore.processes.messages import Setup
from mapapp.explore.processes.pool import Pool
from mapapp.explore.uploads import Uploads
from mapapp.explore.web_app import ListenOptions
from mapapp.kinds.pages import PAGES
from mapapp.kinds.tables.read.served_table import ServedTable, open_tables
from mapapp.question.cost import TooCostly, check_cost
from mapapp.question.question import Question
from mapapp.show.content import area_outlines, chosen_areas, map_layers

_VIEWS: Final = "commutemap"
_POOL: Final = "commutemap processes"
_FILES: Final = "commutemap file process"
_MOST_OUTLINED: Final = 1_000_000
"""Blocks of a release whose first layers are dissolved before the server answers: a second or two for as many."""


def create_app(
    publications: list[Path],
    prefix: str = "/",
    *,
    awaited: Sequence[str] = (),
    embed_from: Sequence[str] = (),
    processes: int = 1,
    uploads: Uploads | None = None,
) -> Dash:
    """Make the app that serves these releases and tables; pages start with the first one.

    Parameters
    ----------
    publications : list of Path
        Directories of releases, and of tables with suppressed cells.
    prefix : str
        URL path of the app, with a slash at both ends.
    awaited : sequence of str
        A few words for each release that :func:`add_release` will add; pages say that it is being made.
    embed_from : sequence of str
        Origins of the sites that may show the map in a frame, such as `https://www.example.org`.
    processes : int
        How many processes compute answers; if more than one, :func:`listen` starts them.
    uploads : Uploads, optional
        Given to an app that is one of these processes: the uploaded files that come with its requests. It keeps no
        responses, because the process that listens does.

    Raises
    ------
    UsageError
        If there is no publication.
    StoreError
        If one is not a complete, unaltered release or table; a dataset is refused.
    """
    views = Views(*_open_publications(publications), prefix, tuple(awaited), tuple(embed_from), PAGES)
    is_worker = uploads is not None
    if uploads is not None:
        views.uploads = uploads
        for publication in (*views.releases.values(), *views.tables.values()):
            publication.share_memory(processes)
    app = web_app.App(
        __name__,
        assets_folder=str(assets_dir()),
        assets_ignore=r"^tune\.",  # the workbench is another app
        url_base_pathname=prefix,
        title="CommuteMap",
        update_title="",
        index_string=web_app.index_page(prefix),
        head=lambda: _head(views),
        suppress_callback_exceptions=True,  # pages come and go
        on_error=partial(_fail, views),
    )
    app.server.config["MAX_CONTENT_LENGTH"] = web_app.MAX_UPLOAD_BYTES
    app.layout = lambda: frame(preferred_theme(), views.pages)
    routing.register(app, views)
    choices.register(app, views)
    explore.register(app, views)
    app.server.extensions[_VIEWS] = views
    _add_files(app.server, views)
    flow_routes.register_flows(app.server, views)
    answer_routes.register_dots(app.server, views)
    answer_routes.register_morning(app.server, views)
    answer_routes.register_cells(app.server, views)
    _add_not_found(app.server, views)
    web_app.add_refusals(app.server, partial(_log, views))
    places = file_places()
    if not is_worker:
        response_cache.register(app.server, app.callback_map, views)
    shares = processes > 1 and not is_worker
    if shares:
        forwarding.keep_shapes(app.server, views)
    admission = heavy_requests.answers(processes)
    heavy_requests.register(app.server, admission, lambda request: _is_heavy(views, request))
    if shares:
        setup = Setup(
            publications=tuple(Path(path).resolve() for path in publications),
            prefix=prefix,
            embed_from=tuple(embed_from),
            n_processes=processes,
        )
        app.server.extensions[_POOL] = pool = Pool(setup, heavy_requests.n_places(processes) + MAX_AT_ONCE)
        forwarding.register(app.server, views, pool, places)
    downloads.register(app.server, views, places, partial(_fetch_drawn_file, views))
    for page in views.kind_pages:
        page.register(app, views, places)
    upload_routes.register(app.server, views)
    web_app.add_headers(app.server, app.csp_hashes(), embed_from)
    return app


def listen(
    app: Dash, host: str = "127.0.0.1", port: int = 8050, **options: Unpack[ListenOptions]
) -> tuple[AnyServer, str]:
    """Bind to a host and port, as :func:`mapapp.explore.web_app.listen` does, with the same options.

    From then on, another process draws and typesets files (:class:`FileProcess`).
    The outlines of the layers that maps begin with are there when this returns (:func:`outline_first_layers`).
    Base layers and other outlines are prepared in the background, so that even the first visitor does not wait for
    them. If several processes compute answers, they are started, and have opened the publications.

    Raises
    ------
    OSError
        If the port is taken or not allowed.
    UsageError
        If a trusted proxy is neither an address nor a network, or a process cannot open the publications.
    """
    server, address = web_app.listen(app, host, port, **options)
    app.server.extensions[_FILES] = FileProcess(partial(_setup_of, _views_of(app)))
    for release in _views_of(app).releases.values():
        outline_first_layers(release)
    pool = app.server.extensions.get(_POOL)
    if pool is None:
        prepare(app)
    else:
        assert isinstance(pool, Pool), "create_app has put it there"
        pool.start()
    return server, address


def prepare(app: Dash, *, has_outlines: bool = True) -> None:
    """Do in the background what the first visitors would otherwise wait for.

    Outlines that the disk keeps for later are left out if another process prepares them.
    """
    views = _views_of(app)
    _prepare(list(views.releases.values()), list(views.tables.values()), has_outlines=has_outlines)


def add_release(app: Dash, path: Path, *, awaited: str = "") -> None:
    """Serve one more release from now on; open pages that await it offer it within seconds.

    Raises
    ------
    StoreError
        If it is not a complete, unaltered release.
    """
    release = _views_of(app).add(path, outline_first_layers)
    await_no_more(app, awaited)
    _prepare([release])


def await_no_more(app: Dash, awaited: str) -> None:
    """Stop saying that a release is being made."""
    views = _views_of(app)
    views.awaited = tuple(words for words in views.awaited if words != awaited)


def _open_publications(paths: Sequence[Path]) -> tuple[dict[str, Release], dict[str, ServedTable]]:
    """Open releases and tables, each by its name in addresses."""
    if not paths:
        raise UsageError("no release to serve; give at least one")
    places = [Path(path) for path in paths]
    tables = [path for path in places if read_manifest(path).get("kind") == "table"]
    releases = open_releases([path for path in places if path not in tables])
    return releases, open_tables(tables, releases)


def beside_lines(app: Dash) -> list[str]:
    """Sentences on publications of the same jobs that the app serves, for its operator."""
    views = _views_of(app)
    served = views.releases.values()
    return [
        *(
            f"{table.title}: {said}"
            for table in views.tables.values()
            for said in beside_sentences(table, served)
        ),
        *(
            f"{release.title}: {said}"
            for release in served
            for said in record_words.beside_sentences(release, (*served, *views.tables.values()))
        ),
    ]


def _fetch_drawn_file(views: Views, name: str) -> flask.Response | None:
    """The requested file if another process makes it."""
    files = flask.current_app.extensions.get(_FILES)
    return forwarding.drawn_file(views, files, name) if isinstance(files, FileProcess) else None


def _setup_of(views: Views) -> Setup:
    opened = (*views.releases.values(), *views.tables.values())
    return Setup(
        publications=tuple(publication.store.path.resolve() for publication in opened),
        prefix=views.prefix,
        embed_from=views.embed_from,
    )


def _head(views: Views) -> str:
    """What the requested page is called and shows, for its HTML."""
    request = flask.request
    head = page_head(views, request.path, request.query_string.decode("ascii", "replace"))
    scheme = "light dark" if head.theme == "system" else head.theme
    return web_app.page_head(head.title, head.description, scheme)


def _views_of(app: Dash) -> Views:
    views = app.server.extensions[_VIEWS]
    assert isinstance(views, Views), "create_app has put them there"
    return views


def _prepare(
    releases: list[Release], tables: Sequence[ServedTable] = (), *, has_outlines: bool = True
) -> None:
    """Do in the background what the first visitors of some publications would otherwise wait for."""
    outlined = releases if has_outlines else []
    steps = chain(_steps_of_tables(tables), _steps_to_ready(releases), _steps_to_outlines(outlined))
    stopping = threading.Event()

    def make_ready() -> None:
        # A step may take minutes on a large release, so its loops also check whether the server is stopping.
        with suppress(Refused), watch.watch_work(Watch(stopping.is_set, math.inf)):
            for step in steps:
                watch.check()
                step()

    run_in_background(make_ready, stop=stopping.set)


def _steps_to_ready(releases: list[Release]) -> Iterator[Callable[[], object]]:
    """Work that the first visitors would otherwise wait for, in small steps; a release that fails gets no more."""
    for release in releases:
        steps: list[Callable[[], object]] = [
            partial(map_layers.base_layer, release, name) for name in map_layers.LAYERS
        ]
        steps += [
            partial(_first_view, release),
            partial(release.areas.search, ""),  # early, because many visitors type a name first
            partial(map_layers.unit_layer, release, "tract"),
            release.areas.outlines.warm,
        ]
        steps += [partial(release.warm, [layer]) for layer in release.areas.columns]
        steps += [release.errors.prepare]
        yield from _until_one_fails(steps, f"{release.slug} could not be prepared")


def outline_first_layers(release: Release) -> None:
    """Dissolve the outlines of the layers that maps begin with, if the disk has none.

    Of a large release this is left to the background: a server should not take minutes to start.
    """
    if len(release.areas.places) > _MOST_OUTLINED:
        return
    usual = release.areas.usual
    steps = [
        partial(release.areas.outlines.of_layer, level)
        for level in dict.fromkeys((usual.of("work"), usual.named))
    ]
    for step in _until_one_fails(steps, f"{release.slug} has no outlines yet"):
        step()


def _steps_to_outlines(releases: list[Release]) -> Iterator[Callable[[], object]]:
    """Work that is done once per machine: the outlines are cached on disk."""
    for release in releases:
        steps: list[Callable[[], object]] = [
            partial(map_layers.unit_shapes, release, level) for level in map_layers.unit_levels(release)
        ]
        yield from _until_one_fails(steps, f"{release.slug} has no outlines yet")


def _steps_of_tables(tables: Sequence[ServedTable]) -> Iterator[Callable[[], object]]:
    """The same for tables: their base map, and the shapes of the units that have numbers."""
    for table in tables:
        layers = {
            published_table.home_layer or published_table.row_layer
            for published_table in table.published.tables
        }
        steps: list[Callable[[], object]] = [
            partial(map_layers.base_layer, table, name) for name in map_layers.LAYERS
        ]
        steps += [partial(map_layers.unit_layer, table, layer) for layer in layers]
        yield from _until_one_fails(steps, f"{table.slug} could not be prepared")


def _first_view(release: Release) -> None:
    """Prepare the shapes and the numbers of the map before a choice, and of the suggestions."""
    usual = release.areas.usual
    question = usual.settle(Question())
    map_layers.unit_layer(release, question.layer)
    served_answers.units(release, question)
    served_answers.units(release, usual.settle(Question(layer=usual.named)))


def _until_one_fails(steps: Sequence[Callable[[], object]], warning: str) -> Iterator[Callable[[], object]]:
    failed = False

    def attempt(step: Callable[[], object]) -> None:
        nonlocal failed
        try:
            step()
        except Refused:
            raise
        except Exception:  # a visitor who needs this step will see the error
            failed = True
            logging.getLogger("commutemap").warning("%s", warning)

    for step in steps:
        if not failed:
            yield partial(attempt, step)


def _fail(views: Views, error: Exception) -> None:
    """Fail the request of a callback and log one line; the page marks the parts that are out of date.

    Raises
    ------
    HTTPException
        The error itself if it is an HTTPException, else 500.
    Refused
        The error itself if the work was ended: the page tries again, or the visitor has left.
    """
    if isinstance(error, HTTPException | Refused):
        raise error
    _log(views, error)
    raise InternalServerError from error


def _log(views: Views, error: Exception) -> None:
    views.log.error(f"a request could not be answered: {web_app.error_line(error)}")


_OF_KINDS: Final = tuple(path for page in PAGES for path in page.shapes)
_HEAVY: Final = (
    "density/",
    *draw.DOTS_PATHS,
    flow_routes.FLOW_PATH,
    answer_routes.CELL_PATH,
    *_OF_KINDS,
)


def _is_heavy(views: Views, request: flask.Request) -> bool:
    """Whether a request needs a place: callbacks, pictures of dots, flows, cells, and shapes that are not cached.

    Files have their own places (`mapapp.explore.downloads`).
    """
    path = request.path.removeprefix(views.prefix)
    if not path.startswith("geo/"):
        return path == "_dash-update-component" or path.startswith(_HEAVY)
    slug, _, name = path.removeprefix("geo/").partition("/")
    publication = views.publication(slug)
    return publication is not None and not map_layers.is_made(
        publication, name.rpartition("/")[2].removesuffix(".geojson")
    )


def _add_not_found(server: flask.Flask, views: Views) -> None:
    """Give an address without a page the status 404; its page says the same to people."""

    @server.after_request
    def mark(response: flask.Response) -> flask.Response:
        rule, path = flask.request.url_rule, flask.request.path
        is_page = rule is not None and rule.rule == f"{views.prefix}<path:path>"
        if is_page and views.page(path) not in views.pages:
            response.status_code = 404
        return response


def _add_files(server: flask.Flask, views: Views) -> None:
    """Serve shapes and pictures. Their addresses contain the release's version, so browsers may cache them forever."""

    @server.before_request
    def refuse_costly() -> flask.Response | None:
        asked = flask.request.args
        try:
            check_cost(dict.fromkeys((*asked.getlist("area"), *asked.getlist("other"))))
        except TooCostly as error:
            return flask.Response(f"{error}\n", status=413, mimetype="text/plain")
        return None

    @server.get(f"{views.prefix}geo/<slug>/<version>/<name>.geojson")
    def shapes(slug: str, version: str, name: str) -> flask.Response:
        if slug in views.tables:
            return web_app.geojson(_table_shapes(views.tables[slug], version, name))
        release = _release(views, slug, version)
        if name in ("areas", "blocks"):
            areas = tuple(dict.fromkeys(flask.request.args.getlist("area")))
            known = tuple(area for area in areas if views.has_area(slug, area))
            packed = chosen_areas.borders_file if name == "areas" else area_outlines.outlines
            return web_app.geojson(packed(release, known))
        if name in ("shown", "uncertain"):
            address, _ = views.parse(_view_query(slug))
            content = views.map_content(address, address.view)
            return web_app.geojson(content.shapes_file if name == "shown" else content.uncertain_file)
        return web_app.geojson(_shapes(release, name))

    @server.get(f"{views.prefix}density/<slug>/<version>.png")
    def density(slug: str, version: str) -> flask.Response:
        _release(views, slug, version)
        query = flask.request.query_string.decode("ascii", "replace")
        address, _ = views.parse(f"release={slug}&{query}")  # its areas are those of this release
        image = views.map_content(address, address.view).density
        response = flask.Response(image.png, mimetype="image/png")
        response.headers["Cache-Control"] = web_app.FOR_EVER
        return response


def _shapes(publication: OpenedPublication, name: str) -> bytes:
    """The shapes of a base layer, or of "unit-" and a level."""
    level = name.removeprefix("unit-")
    if level != name and level in map_layers.unit_levels(publication):
        return map_layers.unit_layer(publication, level)
    if name not in map_layers.LAYERS:
        flask.abort(404)
    return map_layers.base_layer(publication, name)


def _table_shapes(table: ServedTable, version: str, name: str) -> bytes:
    """The shapes of a table's map: of its base map, of its units, or of chosen ones."""
    if table.version != version:
        flask.abort(404)
    if name != "areas":
        return _shapes(table, name)
    areas = tuple(dict.fromkeys(flask.request.args.getlist("area")))
    return area_outlines.outlines(table, tuple(area for area in areas if area in table.areas))


def _view_query(slug: str) -> str:
    """The query of the request as that of a view of a release; its areas and layers are checked against it."""
    return f"{flask.request.query_string.decode('ascii', 'replace')}&{urlencode({'release': slug})}"


def _release(views: Views, slug: str, version: str) -> Release:
    release = views.releases.get(slug)
    if release is None or release.version != version:
        flask.abort(404)
    return release
