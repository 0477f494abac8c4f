"""The callbacks of Tune: a moved control is measured on the sample at once, then on all tracts behind the page.

Nothing of it goes into an address. A tab's state lives in the program's memory, under a name that only its page knows.
"""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, no_update

from mapapp.explore.pages.explore import notes
from mapapp.measuring.validity_tract import measure_tract
from mapapp.workbench import map as tune_map
from mapapp.workbench import panels, tract_panel
from mapapp.workbench.bench import Bench, Look, Superseded
from mapapp.workbench.ground import Ground
from mapapp.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.workbench.setting import CONTROLS, NUMBERS, read_setting
from mapapp.workbench.work import more

PROPERTIES = {"replication": "checked"}
_OF_WEIGHTS = ("min_retention", "retention_scale", "strength")
UNHEEDED = ("accountant", *_OF_WEIGHTS, *(f"{name}-slider" for name in _OF_WEIGHTS))
"""Controls that say something about prior weights and pruning alone."""


def register(app: Dash, bench: Bench, ground: Ground) -> None:
    """Attach the callbacks of the page to an app."""
    _pairing(app)
    _measuring(app, bench)
    _showing(app, bench, ground)
    _choosing(app, bench, ground)


def control_inputs(kind: Any) -> list[Any]:
    """Every control as Input or State."""
    return [kind(name, PROPERTIES.get(name, "value")) for name in CONTROLS]


def _pairing(app: Dash) -> None:
    """Keep each number's text and slider together, in the browser."""
    in_browser: Any = app.clientside_callback
    for name in NUMBERS:
        in_browser(
            ClientsideFunction("workbench", "pair"),
            Output(name, "value"),
            Output(f"{name}-slider", "value"),
            Input(name, "value"),
            Input(f"{name}-slider", "value"),
            State(f"{name}-stops", "data"),
            prevent_initial_call=True,
        )
    # What a mechanism with a proof of its own does not go by cannot be moved.
    in_browser(
        ClientsideFunction("workbench", "heeded"),
        *[Output(name, "disabled") for name in UNHEEDED],
        Input("mechanism", "value"),
        State("own-proofs", "data"),
    )


def _measuring(app: Dash, bench: Bench) -> None:
    @app.callback(
        Output("job", "data"),
        Output("notes", "children"),
        Output("measure-more", "data", allow_duplicate=True),
        Input("tab", "data"),
        *control_inputs(Input),
        running=[(Output("busy", "className"), "busy on", "busy")],
        prevent_initial_call="initial_duplicate",
    )
    def ask(tab: str, *values: Any) -> tuple[Any, Any, Any]:
        given = dict(zip(CONTROLS, values, strict=True))
        try:
            look = bench.look(tab, read_setting(given))
        except Superseded:
            return no_update, no_update, no_update
        except EXPECTED_ERRORS as error:
            return no_update, notes((one_line(error),)), no_update
        bench.tab(tab).values = given
        return _mark(bench, look), None, more(look.job)

    @app.callback(
        Output("progress", "value"),
        Output("progress-row", "hidden"),
        Output("measure-more", "data"),
        Output("job", "data", allow_duplicate=True),
        Output("notes", "children", allow_duplicate=True),
        Input("measure-pulse", "data"),
        State("tab", "data"),
        State("job", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: Any, tab: str, shown: Any) -> tuple[Any, ...]:
        look = bench.now(tab)
        if look is None or look.job is None:
            return no_update, True, None, no_update, no_update
        running = look.job.state == "running"
        line = notes((look.job.error,)) if look.job.state == "failed" else no_update
        mark = _mark(bench, look)
        news = mark if mark != shown else no_update
        return f"{look.job.percent or 0:.0f}", not running, more(look.job), news, line

    @app.callback(
        Output("cancel", "n_clicks"),
        Input("cancel", "n_clicks"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def cancel(_clicks: int, tab: str) -> Any:
        look = bench.now(tab)
        if look is not None and look.job is not None:
            look.job.cancel()
        return no_update


def _mark(bench: Bench, look: Look) -> list[Any]:
    """What tells one picture from the next; no number that was counted."""
    state = "all" if look.job is None else look.job.state
    return [look.number, look.extent, state, bench.whole_follows(look)]


def _showing(app: Dash, bench: Bench, ground: Ground) -> None:
    @app.callback(
        Output("scope", "children"),
        Output("setting-panel", "children"),
        Output("weights-card", "hidden"),
        Output("alpha-chart", "figure"),
        Output("weights", "children"),
        Output("tune-glance", "children"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_setting(_job: Any, tab: str) -> tuple[Any, ...]:
        look = bench.now(tab)
        if look is None:
            return (no_update,) * 6
        cards = [panels.promise_card(look), panels.validity_card(look)]
        chart = panels.weights_chart(look)
        if chart is None:
            return panels.scope_lines(look), cards, True, no_update, None, panels.glance(look)
        return panels.scope_lines(look), cards, False, chart, panels.weights(look), panels.glance(look)

    @app.callback(
        Output("commutes-panel", "children"),
        Output("tract-data", "data"),
        Input("job", "data"),
        Input("tabs", "value"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_commutes(_job: Any, shown: str, tab: str) -> tuple[Any, Any]:
        look = bench.now(tab)
        if look is None or shown != "commutes":  # long tables are made for whoever looks at them
            return no_update, no_update
        names = ground.areas.tracts.set_index("tract_id")["name"]
        cards = [panels.ranges_card(look), panels.support_card(look), panels.distance_card(look)]
        return cards, tract_panel.tract_rows(look.found.tables["tracts"], names)

    in_browser: Any = app.clientside_callback
    in_browser(
        ClientsideFunction("workbench", "tracts"), Output("tract-card", "hidden"), Input("tract-data", "data")
    )

    @app.callback(
        Output("map", "figure"),
        Output("tract-panel", "children"),
        Input("job", "data"),
        Input("chosen-tract", "data"),
        Input("map-shows", "value"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_map(_job: Any, tract_id: str | None, shows: str, tab: str) -> tuple[Any, Any]:
        look = bench.now(tab)
        if look is None or (ctx.triggered_id == "job" and bench.whole_follows(look)):
            return no_update, no_update
        position = _position(bench, ground, tract_id)
        if tract_id is None or position is None:
            trace = tune_map.kl_trace(ground, look)
            return tune_map.changes(trace, None, tune_map.kl_caption(look)), no_update
        setting = look.setting
        try:
            found = measure_tract(bench.data, setting.privacy, setting.parameters, position)
        except EXPECTED_ERRORS as error:
            trace = tune_map.kl_trace(ground, look)
            return tune_map.changes(trace, None, tune_map.kl_caption(look)), one_line(error)
        tract = ground.areas.tracts.iloc[found.tract_index]
        panel = tract_panel.tract_panel(tract["name"], str(tract["county"]), found)
        outline = ground.outline(tract_id)
        if shows == "kl":
            return tune_map.changes(
                tune_map.kl_trace(ground, look), outline, tune_map.kl_caption(look)
            ), panel
        trace = tune_map.points_trace(ground, found, shows)
        return tune_map.changes(trace, outline, tune_map.points_caption(ground, found, shows)), panel


def _choosing(app: Dash, bench: Bench, ground: Ground) -> None:
    @app.callback(
        Output("chosen-tract", "data"),
        Output("tabs", "value"),
        Output("map-shows", "value"),
        Output("map", "clickData"),
        Output("notes", "children", allow_duplicate=True),
        Input("map", "clickData"),
        Input("asked-tract", "data"),
        State("map-shows", "value"),
        prevent_initial_call=True,
    )
    def choose(click: Any, asked: Any, shows: str) -> tuple[Any, ...]:
        tract_id = asked[0] if ctx.triggered_id == "asked-tract" else tune_map.clicked_tract(click)
        if tract_id is None:
            return (no_update,) * 5
        if _position(bench, ground, tract_id) is None:
            line = "Nobody works in this tract: only workplace tracts have support points."
            return no_update, no_update, no_update, None, notes((line,))
        return tract_id, "tract", "level" if shows == "kl" else no_update, None, None


def _position(bench: Bench, ground: Ground, tract_id: str | None) -> int | None:
    """Where a tract stands among the workplace tracts; None where nobody works in it."""
    if tract_id is None:
        return None
    tracts = ground.areas.tracts["tract_id"]
    rows = tracts.index[tracts == tract_id]
    if not len(rows):
        return None
    found = (bench.data.tract == int(rows[0])).nonzero()[0]
    return int(found[0]) if found.size else None
