"""The callbacks of Tune: a moved control is measured on the sample at once, then on all tracts in the background.

Nothing of it goes into an address. A tab's state lives in the program's memory, under a name that only its page knows.
"""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
from dash import ClientsideFunction, Dash, Input, Output, Patch, State, ctx, html, no_update
from dash.development.base_component import Component

from mapapp.analyst.validity.tract import TractPoints, measure_tract
from mapapp.analyst.workbench import drawn_parts, panels, tract_panel, tune_map
from mapapp.analyst.workbench.drawn_parts import Drawn, describe_drawn
from mapapp.analyst.workbench.fields import Answer, Answers, Click, Dependency, DependencyType, clientside
from mapapp.analyst.workbench.figures import Feature
from mapapp.analyst.workbench.job_progress import ask_again
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.analyst.workbench.results import MeasuredSetting
from mapapp.analyst.workbench.session import Session, Superseded
from mapapp.analyst.workbench.setting import CONTROLS, NUMBERS, UNUSED, ControlValue, Values, read_setting
from mapapp.analyst.workbench.tune_map import PublicGeography, map_choices
from mapapp.answers.words import aria
from mapapp.explore.pages.explore import notes
from mapapp.kinds.release.make.options import PRESETS

# The card of Tune that leads: how far a planner's numbers would be off, beside the setting before.


def plain_card(measured: MeasuredSetting) -> Component:
    """What a planner asks first, beside the setting before."""
    now, before = (
        {} if validity is None or validity.plain is None else validity.plain.errors()
        for validity in (measured.validity, measured.previous)
    )
    rows = [
        html.Tr(
            [
                html.Th(label, scope="row"),
                html.Td(value, className="number"),
                html.Td(before.get(label, ""), className="number quiet before"),
            ]
        )
        for label, value in now.items()
    ]
    head = html.Tr(
        [html.Th(name, scope="col") for name in ("How far synthetic workers are off", "now", "before")]
    )
    return html.Section(
        [
            html.H2("What a planner would see"),
            html.Table([html.Thead(head), html.Tbody(rows)], className="measures", id="plain-measures"),
            html.P(_plain_words(measured), className="quiet small"),
        ],
        className="card",
        **aria(label="What a planner would see"),
    )


def _plain_words(measured: MeasuredSetting) -> str:
    inflow = " Errors of inflow follow once all tracts are measured." if measured.extent == "sample" else ""
    return (
        "From one draw with the test key, compared with the real workers. Flows are by the count that a reader sees; ± "
        f"is the root mean squared error.{inflow}"
    )


PROPERTIES: Final = {"replication": "checked"}
_LONGEST_WAIT_S: Final = 0.5  # for all tracts, before the page hears how far they are


def register(app: Dash, session: Session, geography: PublicGeography) -> None:
    """Attach the callbacks of the page to an app."""
    drawn_parts.register(app)
    _pair_numbers_and_sliders(app)
    _move_to_preset(app, session)
    _measure_on_change(app, session)
    _follow_the_measuring(app, session)
    _show_weights(app, session)
    _show_commutes(app, session, geography)
    _show_map(app, session, geography)
    _choose_tract(app, session, geography)


def sometimes_unused() -> list[str]:
    """Ids of the controls, and of their sliders, that some mechanism ignores."""
    names = sorted({name for unused in UNUSED.values() for name in unused})
    return [*names, *(f"{name}-slider" for name in names if name in NUMBERS)]


def control_inputs(kind: DependencyType) -> list[Dependency]:
    """Every control as Input or State."""
    return [kind(name, PROPERTIES.get(name, "value")) for name in CONTROLS]


def control_outputs() -> list[Output]:
    """Every control as an output of a callback that moves them all."""
    return [Output(name, PROPERTIES.get(name, "value"), allow_duplicate=True) for name in CONTROLS]


def _pair_numbers_and_sliders(app: Dash) -> None:
    """Keep each number's text and slider together, in the browser."""
    for name in NUMBERS:
        clientside(
            app,
            ClientsideFunction("workbench", "pair"),
            Output(name, "value"),
            Output(f"{name}-slider", "value"),
            Input(name, "value"),
            Input(f"{name}-slider", "value"),
            State(f"{name}-stops", "data"),
            prevent_initial_call=True,
        )
    # Controls that the chosen mechanism does not use cannot be moved.
    clientside(
        app,
        ClientsideFunction("workbench", "heeded"),
        *[Output(name, "disabled") for name in sometimes_unused()],
        Input("mechanism", "value"),
        State("unused", "data"),
    )


def _move_to_preset(app: Dash, session: Session) -> None:
    """Let the button of a preset move all controls."""

    @app.callback(
        *control_outputs(),
        *[Input(f"preset-{preset}", "n_clicks") for preset in PRESETS],
        prevent_initial_call=True,
    )
    def move(*clicks: int | None) -> Answers:
        chosen = next((preset for preset in PRESETS if ctx.triggered_id == f"preset-{preset}"), None)
        if not any(clicks) or chosen is None:
            return (no_update,) * len(CONTROLS)
        values = session.preset_values(chosen)
        return tuple(values[name] for name in CONTROLS)


def _measure_on_change(app: Dash, session: Session) -> None:
    @app.callback(
        Output("job", "data"),
        Output("notes", "children"),
        Output("measure-more", "data", allow_duplicate=True),
        drawn_parts.output("numbers"),
        Input("tab", "data"),
        *control_inputs(Input),
        running=[(Output("busy", "className"), "busy on", "busy")],
        prevent_initial_call="initial_duplicate",
    )
    def measure(tab: str, *controls: ControlValue) -> Answers:
        values: Values = dict(zip(CONTROLS, controls, strict=True))
        try:
            measured = session.show(tab, read_setting(values))
        except Superseded:
            return (no_update,) * 4
        except EXPECTED_ERRORS as error:
            return no_update, notes((one_line(error),)), no_update, no_update
        session.tab(tab).values = values
        # Numbers come with this answer. Charts, tables, and the map wait for those of all tracts if these follow soon.
        mark = no_update if session.whole_follows(measured) else _mark(measured)
        return mark, None, ask_again(measured.job), _numbers(measured)


def _follow_the_measuring(app: Dash, session: Session) -> None:
    @app.callback(
        Output("progress", "value"),
        Output("progress-row", "hidden"),
        Output("measure-more", "data"),
        Output("job", "data", allow_duplicate=True),
        Output("notes", "children", allow_duplicate=True),
        drawn_parts.output("numbers", again=True),
        Input("measure-pulse", "data"),
        State("tab", "data"),
        State("job", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str, shown: list[object] | None) -> Answers:
        measured = session.shown_measures(tab)
        if measured is None or measured.job is None:
            return no_update, True, None, no_update, no_update, no_update
        measured.job.wait(_LONGEST_WAIT_S)
        measured = session.shown_measures(tab)
        if measured is None or measured.job is None or session.is_superseded(tab, measured):
            return no_update, True, None, no_update, no_update, no_update
        job, mark = measured.job, _mark(measured)
        line = notes((job.error,)) if job.state == "failed" else no_update
        is_news = mark != shown and not session.whole_follows(measured)
        news = (mark, line, _numbers(measured)) if is_news else (no_update, line, no_update)
        return f"{job.percent or 0:.0f}", job.state != "running", ask_again(job), *news

    @app.callback(
        Output("cancel", "n_clicks"),
        Input("cancel", "n_clicks"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def cancel(_clicks: int, tab: str) -> Answer:
        measured = session.shown_measures(tab)
        if measured is not None and measured.job is not None:
            measured.job.cancel()
        return no_update


def _mark(measured: MeasuredSetting) -> list[object]:
    """What distinguishes one picture from the next; it holds no number that was counted."""
    return [measured.number, measured.extent, "all" if measured.job is None else measured.job.state]


def _numbers(measured: MeasuredSetting) -> dict[str, list[Drawn]]:
    """What a setting promises and costs, by place on the page."""
    cards = [plain_card(measured), panels.promise_card(measured), panels.validity_card(measured)]
    return {
        "scope": describe_drawn(panels.scope_lines(measured)),
        "setting-panel": describe_drawn(cards),
        "tune-glance": describe_drawn(panels.glance(measured)),
    }


def _show_weights(app: Dash, session: Session) -> None:
    @app.callback(
        Output("weights-card", "hidden"),
        Output("alpha-chart", "figure"),
        drawn_parts.output("weights"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_weights(_job: list[object] | None, tab: str) -> Answers:
        measured = session.shown_measures(tab)
        if measured is None:
            return (no_update,) * 3
        chart = panels.weights_chart(measured)
        if chart is None:
            return True, no_update, {"weights": []}
        return False, chart, {"weights": describe_drawn(panels.weights(measured))}


def _show_commutes(app: Dash, session: Session, geography: PublicGeography) -> None:
    @app.callback(
        drawn_parts.output("commutes"),
        Output("tract-data", "data"),
        Input("job", "data"),
        Input("tabs", "value"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_commutes(_job: list[object] | None, shown: str, tab: str) -> Answers:
        measured = session.shown_measures(tab)
        if measured is None or shown != "commutes":  # long tables are made only when their tab is open
            return no_update, no_update
        names = geography.areas.tracts.set_index("tract_id")["name"]
        cards = [panels.ranges_card(measured), panels.support_card(measured), panels.distance_card(measured)]
        return {"commutes-panel": describe_drawn(cards)}, tract_panel.tract_rows(
            measured.validity.tables["tracts"], names
        )

    clientside(
        app,
        ClientsideFunction("workbench", "tracts"),
        Output("tract-card", "hidden"),
        Input("tract-data", "data"),
    )


def _show_map(app: Dash, session: Session, geography: PublicGeography) -> None:
    @app.callback(
        Output("map", "figure"),
        drawn_parts.output("tract"),
        Input("job", "data"),
        Input("chosen-tract", "data"),
        Input("map-shows", "value"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show_map(_job: list[object] | None, tract_id: str | None, shows: str, tab: str) -> Answers:
        measured = session.shown_measures(tab)
        if measured is None:
            return no_update, no_update
        position = _position(session, geography, tract_id)
        if tract_id is None or position is None:
            return _kl_map(geography, measured, None), no_update
        setting = measured.setting
        try:
            tract_points = measure_tract(session.data, setting.privacy, setting.parameters, position)
        except EXPECTED_ERRORS as error:
            return _kl_map(geography, measured, None), {"tract-panel": describe_drawn(one_line(error))}
        outline = geography.outline(tract_id)
        if shows == "kl":
            return _kl_map(geography, measured, outline), _panel(geography, tract_points)
        trace = tune_map.points_trace(geography, tract_points, shows)
        caption = tune_map.points_caption(geography, tract_points, shows)
        return tune_map.changes(trace, outline, caption), _panel(geography, tract_points)


def _kl_map(geography: PublicGeography, measured: MeasuredSetting, outline: Feature | None) -> Patch:
    trace: go.Choroplethmap = tune_map.kl_trace(geography, measured)
    return tune_map.changes(trace, outline, tune_map.kl_caption(measured))


def _panel(geography: PublicGeography, tract_points: TractPoints) -> dict[str, list[Drawn]]:
    tract = geography.areas.tracts.iloc[tract_points.tract_index]
    return {
        "tract-panel": describe_drawn(
            tract_panel.tract_panel(tract["name"], str(tract["county"]), tract_points)
        )
    }


def _choose_tract(app: Dash, session: Session, geography: PublicGeography) -> None:
    @app.callback(Output("map-shows", "data"), Input("chosen-tract", "data"), prevent_initial_call=True)
    def offer_layers(tract_id: str | None) -> Answer:
        return map_choices(has_tract=tract_id is not None)

    @app.callback(
        Output("chosen-tract", "data"),
        Output("tabs", "value"),
        Output("map-shows", "value"),
        Output("map", "clickData"),
        Output("notes", "children", allow_duplicate=True),
        Input("map", "clickData"),
        Input("requested-tract", "data"),
        State("map-shows", "value"),
        prevent_initial_call=True,
    )
    def choose(click: Click | None, requested: list[str], shows: str) -> Answers:
        in_list = ctx.triggered_id == "requested-tract"
        tract_id = requested[0] if in_list else tune_map.clicked_tract(click)
        if tract_id is None:
            return (no_update,) * 5
        if _position(session, geography, tract_id) is None:
            line = "Nobody works in this tract: only workplace tracts have support points."
            return no_update, no_update, no_update, None, notes((line,))
        return tract_id, "tract", "level" if shows == "kl" else no_update, None, None


def _position(session: Session, geography: PublicGeography, tract_id: str | None) -> int | None:
    """Position of a tract among the workplace tracts; None if it is not one of them."""
    if tract_id is None:
        return None
    tracts = geography.areas.tracts["tract_id"]
    rows = tracts.index[tracts == tract_id]
    if not len(rows):
        return None
    positions = (session.data.tract == int(rows[0])).nonzero()[0]
    return int(positions[0]) if positions.size else None
