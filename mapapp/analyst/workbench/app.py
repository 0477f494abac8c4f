"""The workbench as a web application of its own; `serve` knows nothing of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, dcc, html, set_props
from dash.development.base_component import Component

from mapapp.analyst.workbench import (
    audits,
    design_callbacks,
    job_progress,
    kept_callbacks,
    lab,
    publish,
    sweeps,
    tradeoffs,
    tune_callbacks,
    tune_page,
)
from mapapp.analyst.workbench.guard import Access, add_guard, require_loopback
from mapapp.analyst.workbench.job_progress import refusal_line
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, Job
from mapapp.analyst.workbench.panels import counts_card
from mapapp.analyst.workbench.session import Session, new_tab
from mapapp.analyst.workbench.setting import read_setting
from mapapp.analyst.workbench.tune_map import PublicGeography, base_map_figure, serve_layers
from mapapp.answers.words import aria
from mapapp.base.paths import assets_dir
from mapapp.base.progress import Report, silent
from mapapp.explore import web_app
from mapapp.explore.listener.server import AnyServer
from mapapp.explore.pages.explore import notes
from mapapp.explore.pages.frame import THEME
from mapapp.kinds.base.count_exposure import count_exposure
from mapapp.kinds.base.residents_only import open_dataset
from mapapp.kinds.records.measure.workers import RecordWorkers
from mapapp.kinds.records.tune import callbacks
from mapapp.kinds.records.tune.expected import RecordsExpectation
from mapapp.kinds.records.tune.panel import records_panel
from mapapp.kinds.release.make.margin_options import ALL_MARGINS, ShownMargins
from mapapp.kinds.tables.tune import callbacks as tables_callbacks
from mapapp.kinds.tables.tune.panel import tables_panel
from mapapp.kinds.tables.tune.plans import TablePlans
from mapapp.show.content import map_layers

# The frame around the workbench's pages, and the warning on each of them.

PAGES: Final = {"/": "Tune", "/lab": "Method lab"}


def frame(title: str, tab: str) -> Component:
    """What stays while the pages change.

    Parameters
    ----------
    title : str
        Of the dataset.
    tab : str
        Name of this browser tab; only its page knows it.
    """
    page: Component = dmc.MantineProvider(
        html.Div(
            [
                dcc.Location(id="url", refresh=False),
                dcc.Store(id="tab", data=tab),
                html.Header(
                    [
                        dcc.Link([html.Span(className="mark"), "CommuteMap"], href="./", className="brand"),
                        html.Span(f"Workbench: {title}", className="release-title"),
                        html.Nav(
                            [
                                dcc.Link(name, href="." + page, id={"type": "nav", "page": page})
                                for page, name in PAGES.items()
                            ],
                            **aria(label="Pages"),
                        ),
                    ],
                    className="top workbench",
                ),
                html.Section(
                    [
                        html.Strong("Confidential. Not for publication. "),
                        "The workbench reads where real workers live, and no promise covers what it shows.",
                    ],
                    className="banner confidential",
                    **aria(label="Confidential"),
                ),
                html.Div(id="page", className="page"),
            ],
            className="app",
        ),
        theme=THEME,
        forceColorScheme="light",
    )
    return page


def not_found_page() -> Component:
    """An address without a page."""
    return html.Main(
        html.Article([html.H1("Page not found"), dcc.Link("To the workbench", href="./")], className="prose"),
        className="text-page",
    )


LOG = logging.getLogger("commutemap.tune")
_SESSION: Final = "workbench"
_ACCESS: Final = "workbench access"


def create_app(
    dataset: Path,
    *,
    host: str = "127.0.0.1",
    exposed: bool = False,
    access: Access | None = None,
    margins: ShownMargins = ALL_MARGINS,
    report: Report = silent,
) -> Dash:
    """Make the workbench of a dataset.

    Parameters
    ----------
    dataset : Path
    host : str
        Where it will listen; requests must name it.
    exposed : bool
        Whether other machines may connect.
    access : Access, optional
        Secrets of this run; fresh ones by default.
    margins : ShownMargins
        Which numbers of workers the releases show that it measures and makes.
    report : callable
        Called with (stage, done, total) while the first setting is chosen.

    Raises
    ------
    UsageError
        The host is not this machine's own, and that was not asked for.
    StoreError
        When there is no whole, unaltered dataset; a release is refused.
    """
    require_loopback(host, exposed=exposed)
    store = open_dataset(Path(dataset))
    access = Access() if access is None else access
    app = web_app.App(
        __name__,
        assets_folder=str(assets_dir()),
        assets_ignore=r"^(take|share|drawing|phone)\.",  # for the public map only
        url_base_pathname=access.path,
        title="CommuteMap workbench",
        update_title="",
        index_string=web_app.index_page(access.path),
        suppress_callback_exceptions=True,  # pages come and go
        on_error=_excuse,
    )
    session, geography = Session(store, margins, report), PublicGeography(store, access.path)
    app.layout = lambda: frame(geography.title, new_tab())  # every load of the page is a tab of its own
    plans = TablePlans(store, geography.areas)
    data = session.data
    panels = {
        "counts": counts_card(margins, count_exposure(data.store, data.geography, data.workplaces)),
        "tables": tables_panel(plans.layers, plans.usual_rows),
        "records": _records_panel(app, session, RecordWorkers(store)),
    }
    _route(app, session, geography, panels)
    lab.register(app)
    job_progress.register(app)
    tune_callbacks.register(app, session, geography)
    sweeps.register(app, session)
    audits.register(app, session)
    tables_callbacks.register(app, session, plans)
    tradeoffs.register(app, session)
    design_callbacks.register(app, session)
    kept_callbacks.register(app, session, geography.title)
    publish.register(app, session)
    serve_layers(app.server, geography)
    app.server.extensions[_SESSION] = (session, geography)
    app.server.extensions[_ACCESS] = access
    web_app.add_refusals(app.server, _log)
    web_app.add_headers(app.server, app.csp_hashes())
    add_guard(app.server, access, host=host, exposed=exposed)
    return app


def listen(app: Dash, host: str = "127.0.0.1", port: int = 8051) -> tuple[AnyServer, str]:
    """Start to listen as :func:`mapapp.explore.web_app.listen` does, and measure the first setting meanwhile.

    Returns
    -------
    server
        To `run`.
    address : str
        With the token: for the analyst alone.

    Raises
    ------
    OSError
        When the place is taken or not allowed.
    """
    server, address = web_app.listen(app, host, port)
    session, geography = app.server.extensions[_SESSION]
    Job(lambda report: _make_ready(session, geography, report))
    access: Access = app.server.extensions[_ACCESS]
    return server, access.address(address)


def _make_ready(session: Session, geography: PublicGeography, report: Report) -> None:
    """Compile and measure before the first request."""
    try:
        session.measure(read_setting(session.start), "sample", report)
        for name in map_layers.LAYERS:
            report("drawing the base map", 0, 0)
            map_layers.base_layer(geography, name)
    except EXPECTED_ERRORS:  # the page shows the error when the analyst opens it
        LOG.warning("the first setting could not be measured")


def _records_panel(app: Dash, session: Session, workers: RecordWorkers) -> Component:
    """The Records panel with its callbacks, or one line that says why there is none."""
    try:
        panel = records_panel(workers)
    except EXPECTED_ERRORS as error:
        return html.Div(refusal_line(error), className="answer")
    callbacks.register(app, session, RecordsExpectation(workers))
    return panel


def _route(app: Dash, session: Session, geography: PublicGeography, panels: dict[str, Component]) -> None:
    @app.callback(
        Output("page", "children"),
        Output({"type": "nav", "page": ALL}, "className"),
        Input("url", "pathname"),
        State("tab", "data"),
    )
    def route(pathname: str | None, tab: str | None) -> tuple[Component, list[str]]:
        path = "/" + (pathname or "/").removeprefix(app.config.routes_pathname_prefix).strip("/")
        marks = ["here" if name == path else "" for name in PAGES]
        if path == "/" and tab:
            values = session.tab(tab).values
            figure, name = base_map_figure(geography), session.kept.next_name()
            page = tune_page.page(values, figure, next_name=name, has_flows=session.has_flows, **panels)
            return page, marks
        return lab.page() if path == "/lab" else not_found_page(), marks


def _excuse(error: Exception) -> None:
    """Show the analyst one line; the page stays as it was."""
    _log(error)
    text = "This could not be answered. The page still works; try another setting."
    set_props("notes", {"children": notes((text,))})


def _log(error: Exception) -> None:
    """Name the error. Its text could hold a confidential value, so it is shown only on request."""
    details = error if os.environ.get("COMMUTEMAP_DEBUG") else None
    LOG.error(
        "internal error (%s); COMMUTEMAP_DEBUG=1 shows the details", type(error).__name__, exc_info=details
    )
