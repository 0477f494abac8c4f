"""The callbacks of the Records panel: the promise follows the controls; drawing goes on behind the page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from dash import ClientsideFunction, Dash, Input, Output, State, no_update

from mapapp.base.progress import Report, part_of
from mapapp.measuring.compared_records import ComparedRecords, compare_records
from mapapp.measuring.drawn_records import draw_flows, draw_variants
from mapapp.publishing.records.choice import Choice
from mapapp.publishing.records.plan import Plan
from mapapp.workbench import records_figures, records_panel
from mapapp.workbench.dash_types import Answer, Answers, Dependency, DependencyType, clientside
from mapapp.workbench.job_progress import JobKind, attach, refused
from mapapp.workbench.jobs import EXPECTED_ERRORS, Work
from mapapp.workbench.records_expected import RecordsExpectation
from mapapp.workbench.records_results import comparison_cards
from mapapp.workbench.records_setting import (
    CONTROLS,
    KIND,
    NUMBERS,
    SOMETIMES_UNUSED,
    choice_of,
    command_line,
    unused,
)
from mapapp.workbench.session import Session
from mapapp.workbench.setting import CONTROLS as FLOW_CONTROLS
from mapapp.workbench.setting import ControlValue, Setting, read_setting
from mapapp.workbench.tune_callbacks import control_inputs


def register(app: Dash, session: Session, expectation: RecordsExpectation) -> None:
    """Attach them to an app."""
    _pair_numbers_and_sliders(app)
    _heed(app)
    _copy(app)
    _expect(app, session, expectation)
    _chart_groups(app, expectation)
    _chart_rates(app, expectation)
    _show(app, session, expectation)
    kind = JobKind(
        name=KIND,
        what="The comparison",
        button=f"{KIND}-draw",
        states=[*_values(State), *control_inputs(State)],
        begin=partial(_begin, session, expectation),
    )
    attach(app, session, kind)


def _values(kind: DependencyType) -> list[Dependency]:
    return [kind(f"{KIND}-{name}", "value") for name in CONTROLS]


def _given(values: tuple[object, ...]) -> dict[str, object]:
    return dict(zip(CONTROLS, values, strict=True))


def _pair_numbers_and_sliders(app: Dash) -> None:
    """Keep each number's text and slider together, in the browser."""
    for name in NUMBERS:
        place = f"{KIND}-{name}"
        clientside(
            app,
            ClientsideFunction("workbench", "pair"),
            Output(place, "value"),
            Output(f"{place}-slider", "value"),
            Input(place, "value"),
            Input(f"{place}-slider", "value"),
            State(f"{place}-stops", "data"),
            prevent_initial_call=True,
        )


def _heed(app: Dash) -> None:
    """Disable the controls that the others leave without effect."""
    places = [
        *((name, f"{KIND}-{name}") for name in ("given", *NUMBERS, *SOMETIMES_UNUSED)),
        *((name, f"{KIND}-{name}-slider") for name in NUMBERS),
    ]

    @app.callback(
        *[Output(place, "disabled") for _, place in places],
        Input(f"{KIND}-kept", "value"),
        Input(f"{KIND}-given", "value"),
        Input(f"{KIND}-structure", "value"),
    )
    def heed(kept: int, given: str, structure: str) -> Answers:
        without = unused({"kept": kept, "given": given, "structure": structure})
        return [name in without for name, _ in places]


def _copy(app: Dash) -> None:
    clientside(
        app,
        ClientsideFunction("workbench", "copy"),
        Output(f"{KIND}-copied", "children"),
        Input(f"{KIND}-copy", "n_clicks"),
        State(f"{KIND}-copy", "value"),
        prevent_initial_call=True,
    )


def _expect(app: Dash, session: Session, expectation: RecordsExpectation) -> None:
    """The numbers; charts come after them. Workers are read only once the panel is open."""

    @app.callback(
        Output(f"{KIND}-said", "children"),
        Output(f"{KIND}-kept-shown", "children"),
        Output(f"{KIND}-kept-list", "children"),
        Output(f"{KIND}-answer", "hidden"),
        Output(f"{KIND}-promise", "children"),
        Input("tabs", "value"),
        *_values(Input),
        prevent_initial_call=True,
    )
    def expect(shown: str, *values: object) -> Answers:
        if shown != "records":
            return (no_update,) * 5
        given = _given(values)
        try:
            found = expectation.of(given)
        except EXPECTED_ERRORS as error:
            return refused(error), *(no_update,) * 4
        command = command_line(given, expectation.workers, session.path)
        tiles = records_panel.promise_tiles(found, command, expectation.workers.store.manifest)
        return None, str(found.plan.kept), records_panel.kept_list(found), False, tiles


def _chart_groups(app: Dash, expectation: RecordsExpectation) -> None:
    @app.callback(
        Output(f"{KIND}-groups-chart", "figure"),
        Output(f"{KIND}-groups-table", "children"),
        Input("tabs", "value"),
        Input(f"{KIND}-kept", "value"),
        prevent_initial_call=True,
    )
    def chart_groups(shown: str, kept: int) -> Answers:
        if shown != "records":
            return (no_update,) * 2
        try:
            sizes = expectation.workers.sizes
        except EXPECTED_ERRORS:  # the numbers' callback says it
            return (no_update,) * 2
        chosen = min(max(kept, 0), len(sizes) - 1)
        names = expectation.names
        return records_figures.groups_figure(sizes, names, chosen), records_panel.groups_table(sizes, names)


def _chart_rates(app: Dash, expectation: RecordsExpectation) -> None:
    @app.callback(
        Output(f"{KIND}-pass-chart", "figure"),
        Output(f"{KIND}-pass-table", "children"),
        Output(f"{KIND}-tries-card", "hidden"),
        Output(f"{KIND}-tries-chart", "figure"),
        Output(f"{KIND}-tries-words", "children"),
        Output(f"{KIND}-tries-table", "children"),
        Input("tabs", "value"),
        *_values(Input),
        prevent_initial_call=True,
    )
    def chart_rates(shown: str, *values: object) -> Answers:
        if shown != "records":
            return (no_update,) * 6
        try:
            found = expectation.of(_given(values))
            cost = expectation.cost(found.plan)
        except EXPECTED_ERRORS:  # the numbers' callback says it
            return (no_update,) * 6
        plan = found.plan
        passing = records_figures.pass_figure(found.seed_sizes, found.names, found.test, plan.kept)
        rates = passing, records_panel.pass_table(found)
        if cost is None or plan.seeds is None:
            return *rates, True, *(no_update,) * 3
        marked = plan.seeds.n_tries, float(plan.parts[0].add_remove.epsilon)
        tries = records_figures.tries_figure(cost.tries, cost.ours, cost.paper, marked)
        return *rates, False, tries, records_panel.tries_words(plan), records_panel.tries_table(cost)


def _begin(
    session: Session, expectation: RecordsExpectation, _tab: str, *values: object
) -> Work[ComparedRecords]:
    plan = expectation.workers.plan(choice_of(_given(values[: len(CONTROLS)]), expectation.workers))
    flows = _flows(dict(zip(FLOW_CONTROLS, values[len(CONTROLS) :], strict=True)))
    return lambda report: _compared(session, expectation, plan, flows, report)


def _show(app: Dash, session: Session, expectation: RecordsExpectation) -> None:
    @app.callback(
        Output(f"{KIND}-results", "children"),
        Input(f"{KIND}-shown", "data"),
        *_values(Input),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_number: int | None, *values: object) -> Answer:
        *controls, tab = values
        found = session.result(str(tab), KIND, ComparedRecords)
        if found is None:
            return no_update
        return comparison_cards(found, _choice(expectation, _given(tuple(controls))))


def _choice(expectation: RecordsExpectation, given: Mapping[str, object]) -> Choice | None:
    """The setting of the controls; None if they hold none."""
    try:
        return choice_of(given, expectation.workers)
    except EXPECTED_ERRORS:
        return None


def _flows(given: Mapping[str, object]) -> Setting:
    """The setting of the release of flows on the left."""
    return read_setting({name: value for name, value in given.items() if isinstance(value, ControlValue)})


def _compared(
    session: Session, expectation: RecordsExpectation, plan: Plan, flows: Setting, report: Report
) -> ComparedRecords:
    """Draw and measure."""
    threads = os.cpu_count() or 1
    drawn = draw_variants(expectation.workers, plan, threads=threads, report=part_of(report, 0, 4))
    of_flows = draw_flows(session.data, flows.privacy, flows.parameters, part_of(report, 1, 4))
    return compare_records(expectation.workers, plan, drawn, of_flows, report=part_of(report, 2, 4, width=2))
