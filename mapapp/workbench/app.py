"""The workbench as a web application of its own; `serve` knows nothing of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any, Final

from dash import ALL, Dash, Input, Output, State, set_props

from geodata.store import open_store
from mapapp.drawing import map_layers
from mapapp.explore import web_app
from mapapp.explore.pages.explore import notes
from mapapp.paths import assets_dir
from mapapp.progress import Report
from mapapp.workbench import (
    design_callbacks,
    lab,
    lab_callbacks,
    page,
    publish_callbacks,
    sweep_callbacks,
    tune_callbacks,
    work,
)
from mapapp.workbench.bench import Bench, new_tab
from mapapp.workbench.frame import PAGES, frame, not_found
from mapapp.workbench.ground import Ground, add_layers
from mapapp.workbench.guard import Access, add_guard, require_loopback
from mapapp.workbench.jobs import EXPECTED_ERRORS, Job
from mapapp.workbench.map import ground_figure
from mapapp.workbench.setting import read_setting, start_values

LOG = logging.getLogger("commutemap.tune")
_BENCH: Final = "workbench"
_ACCESS: Final = "workbench access"


def create_app(
    dataset: Path, *, host: str = "127.0.0.1", exposed: bool = False, access: Access | None = None
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

    Raises
    ------
    UsageError
        The host is not this machine's own, and that was not asked for.
    StoreError
        When there is no whole, unaltered dataset; a release is refused.
    """
    require_loopback(host, exposed=exposed)
    store = open_store(Path(dataset), "dataset")
    access = Access() if access is None else access
    app = web_app.App(
        __name__,
        assets_folder=str(assets_dir()),
        assets_ignore=r"^take\.",  # downloads are for the public map
        url_base_pathname=access.path,
        title="CommuteMap workbench",
        update_title="",
        index_string=web_app.index_page(access.path),
        suppress_callback_exceptions=True,  # pages come and go
        on_error=_excuse,
    )
    bench, ground = Bench(store), Ground(store, access.path)
    app.layout = lambda: frame(ground.title, new_tab())  # every load of the page is a tab of its own
    _route(app, bench, ground)
    lab_callbacks.register(app)
    work.register(app)
    tune_callbacks.register(app, bench, ground)
    sweep_callbacks.register(app, bench)
    design_callbacks.register(app, bench)
    publish_callbacks.register(app, bench)
    add_layers(app.server, ground)
    app.server.extensions[_BENCH] = (bench, ground)
    app.server.extensions[_ACCESS] = access
    web_app.add_refusals(app.server, _log)
    web_app.add_headers(app.server, app.csp_hashes())
    add_guard(app.server, access, host=host, exposed=exposed)
    return app


def listen(app: Dash, host: str = "127.0.0.1", port: int = 8051) -> tuple[Any, str]:
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
    bench, ground = app.server.extensions[_BENCH]
    Job(lambda report: _make_ready(bench, ground, report))
    access: Access = app.server.extensions[_ACCESS]
    return server, access.address(address)


def _make_ready(bench: Bench, ground: Ground, report: Report) -> None:
    """Compile and measure before anybody asks."""
    try:
        setting = read_setting(start_values(has_flows=bench.has_flows))
        bench.measure(setting, "sample", report)
        for name in map_layers.BASE_LAYERS:
            report("drawing the base map", 0, 0)
            map_layers.base_layer(ground, name)
    except EXPECTED_ERRORS:  # an analyst who asks for it will see the error
        LOG.warning("the first setting could not be measured")


def _route(app: Dash, bench: Bench, ground: Ground) -> None:
    @app.callback(
        Output("page", "children"),
        Output({"type": "nav", "page": ALL}, "className"),
        Input("url", "pathname"),
        State("tab", "data"),
    )
    def route(pathname: str | None, tab: str | None) -> tuple[Any, list[str]]:
        path = "/" + (pathname or "/").removeprefix(app.config.routes_pathname_prefix).strip("/")
        marks = ["here" if name == path else "" for name in PAGES]
        if path == "/" and tab:
            values = bench.tab(tab).values
            return page.page(values, ground_figure(ground), has_flows=bench.has_flows), marks
        return lab.page() if path == "/lab" else not_found(), marks


def _excuse(error: Exception) -> None:
    """Tell the analyst in one line; the page stays as it was."""
    _log(error)
    text = "This could not be answered. The page still works; try another setting."
    set_props("notes", {"children": notes((text,))})


def _log(error: Exception) -> None:
    """Name the error. Its text could carry a confidential value, so that is for whoever asks for it."""
    details = error if os.environ.get("COMMUTEMAP_DEBUG") else None
    LOG.error(
        "internal error (%s); COMMUTEMAP_DEBUG=1 shows the details", type(error).__name__, exc_info=details
    )
