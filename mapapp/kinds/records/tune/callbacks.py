"""The callbacks of the Records panel: the promise follows the controls; drawing goes on behind the page."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import partial
from typing import Final

import pandas
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from mapapp.analyst.workbench.fields import (
    Answer,
    Answers,
    Dependency,
    DependencyType,
    clientside,
    percent,
    table,
)
from mapapp.analyst.workbench.figures import GRAPH_CONFIG
from mapapp.analyst.workbench.job_progress import JobKind, attach, outdated_line, refusal_line
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, Work
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS as FLOW_CONTROLS
from mapapp.analyst.workbench.setting import ControlValue, Setting, read_setting
from mapapp.analyst.workbench.tune_callbacks import control_inputs
from mapapp.answers.words import aria
from mapapp.base.progress import Report, part_of
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.measure.compared import ComparedRecords, compare_records
from mapapp.kinds.records.measure.drawn import draw_flows, draw_variants
from mapapp.kinds.records.tune import figures, panel
from mapapp.kinds.records.tune.expected import RecordsExpectation
from mapapp.kinds.records.tune.figures import VARIANT_TITLES, boxes_figure, lost_figure, pairs_figure
from mapapp.kinds.records.tune.setting import (
    CONTROLS,
    KIND,
    NUMBERS,
    SOMETIMES_UNUSED,
    choice_of,
    command_line,
    find_unused,
)

# What drawing a setting of records beside others has found, as cards. Confidential.

_MARGINS: Final = {
    "work_puma x home_puma": "work × home",
    "home_puma x earnings": "home × earnings",
    "distance_band x industry": "distance × industry",
    "work_tract": "work tract",
    "work_puma x home_puma x industry x earnings": "work × home × industry × earnings",
}
_SQUARES: Final = {"seeded": "Pairs of attributes, seeded", "seedless": "Pairs of attributes, seedless"}
_WORDS: Final = {
    "margins": "Work and home are PUMAs. Total variation distance: the share of workers who would have to change "
    "cells. Smaller is better; "
    "nothing "
    "can be expected to be nearer than the resample.",
    "lost": "Blue bars should be near 0. A red bar shows what would be lost without the top-up: long commutes are "
    "in small "
    "groups, and small groups fail. Below 0 there are too many. In brackets: share of the workers.",
    "pairs": "Records below the diagonal, the noise floor above it, single attributes on it. A square that is "
    "darker than "
    "its mirror image is a pair that the records get wrong.",
    "boxes": "All tables of one, two, and three attributes: half of them are in the box, and the whiskers reach the "
    "best "
    "and the worst. The nearer a box is to the resample's, the less the records have lost.",
}


def comparison_cards(compared: ComparedRecords, chosen: Choice | None) -> list[Component]:
    """Distances of margins, lost commutes, pairs of attributes, and boxes.

    Parameters
    ----------
    compared : ComparedRecords
    chosen : Choice or None
        The setting of the controls now; None if they hold none.
    """
    parts: list[Component] = []
    if chosen != compared.plan.choice:
        parts.append(outdated_line("Draw again to see this setting."))
    parts.append(_margins(compared))
    if compared.lost is not None:
        parts.append(_lost(compared, compared.lost))
    most = max(
        float(rows[["distance", "noise_floor"]].to_numpy().max())
        for square in compared.squares.values()
        for rows in square
    )
    parts += [
        _card(
            _SQUARES[name],
            dcc.Graph(
                figure=pairs_figure(*compared.squares[name], most), config=GRAPH_CONFIG, className="chart"
            ),
            _WORDS["pairs"],
            _pairs_table(_SQUARES[name], compared.squares[name][1]),
        )
        for name in _SQUARES
        if name in compared.squares
    ]
    return [*parts, _boxes(compared)]


def _card(title: str, picture: Component, words: str, rows: Component) -> Component:
    return html.Section(
        [
            html.H2(title),
            html.P("Confidential: counted from real workers.", className="refusal"),
            picture,
            html.P(words, className="quiet small"),
            html.Details([html.Summary("As a table"), rows]),
        ],
        className="card",
        **aria(label=title),
    )


def _margins(compared: ComparedRecords) -> Component:
    """A row for each variant, a column for each table."""
    title = "Distance from the real workers"
    named = [(row["attributes"], row) for row in compared.margins.to_dict("records")]
    rows = [
        (text.capitalize(), [_distance(float(row[variant])) for _, row in named])
        for variant, text in VARIANT_TITLES.items()
        if variant in compared.margins
    ]
    columns = ["", *(_MARGINS.get(str(name), str(name)) for name, _ in named)]
    return html.Section(
        [
            html.H2(title),
            html.P("Confidential: counted from real workers.", className="refusal"),
            table("", columns, rows, "numbers small margins"),
            html.P(f"{_WORDS['margins']} {_epsilons(compared)}", className="quiet small"),
        ],
        className="card",
        **aria(label=title),
    )


def _epsilons(compared: ComparedRecords) -> str:
    epsilon = float(compared.plan.add_remove.epsilon)
    return (
        f"Seeded, seedless, and marginals promise ε {epsilon:.4g} if one worker is added or removed. Flows are one "
        "draw of "
        "the setting on the left; their jobs are exact, and their promise is another one."
    )


def _distance(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _lost(compared: ComparedRecords, lost: pandas.DataFrame) -> Component:
    bands = lost[lost["by"] == "band"]
    rows = [
        (str(row["name"]), [percent(float(row[name])) for name in ("share", "passed", "topped_up")])
        for row in bands.to_dict("records")
    ]
    return _card(
        "Lost commutes",
        html.Div(
            [
                dcc.Graph(figure=lost_figure(bands), config=GRAPH_CONFIG, className="chart"),
                html.P(_pairs_words(compared, lost), id="lost-pairs"),
            ]
        ),
        _WORDS["lost"],
        table(
            "Missing workers of each band",
            ["distance", "workers", "without top-up", "with"],
            rows,
            "numbers small",
        ),
    )


def _pairs_words(compared: ComparedRecords, lost: pandas.DataFrame) -> str:
    pair = lost[lost["by"] == "pair"].set_index("name")
    absent, short = (
        [percent(float(share)) for share in pair.loc[name, ["passed", "topped_up"]].to_numpy(float)]
        for name in ("absent", "short")
    )
    return (
        f"{compared.n_passed:,} tries passed. Without the top-up, {absent[0]} of the workers commute between PUMAs "
        "that no "
        f"record shows, and {short[0]} are missing between PUMAs that have too few; with it, {absent[1]} and "
        f"{short[1]}."
    )


def _pairs_table(title: str, pairs: pandas.DataFrame) -> Component:
    worst = pairs.sort_values("distance", ascending=False)
    names = (worst["first"] + " × " + worst["second"]).str.replace("_", " ")
    distances = worst[["distance", "noise_floor"]].to_numpy(float)
    rows = [
        (str(name), [_distance(float(value)) for value in both])
        for name, both in zip(names, distances, strict=True)
    ]
    return table(title, ["pair", "distance", "noise floor"], rows, "numbers small")


def _boxes(compared: ComparedRecords) -> Component:
    medians = compared.tables.groupby(["variant", "n_attributes"])["distance"].median()
    rows = [
        (text.capitalize(), [_distance(float(medians.loc[variant, size])) for size in (1, 2, 3)])
        for variant, text in VARIANT_TITLES.items()
        if variant in medians.index
    ]
    has_flows = (compared.tables["variant"] == "flows").any()
    without = "" if has_flows else " Flows are not here: they lack the further attributes of the workers."
    return _card(
        "Tables of one, two, and three attributes",
        dcc.Graph(figure=boxes_figure(compared.tables), config=GRAPH_CONFIG, className="chart"),
        _WORDS["boxes"] + without,
        table("Median distance", ["", "one", "two", "three"], rows, "numbers small"),
    )


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
        without = find_unused({"kept": kept, "given": given, "structure": structure})
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
            expected = expectation.of(given)
        except EXPECTED_ERRORS as error:
            return refusal_line(error), *(no_update,) * 4
        command = command_line(given, expectation.workers, session.path)
        tiles = panel.promise_tiles(expected, command, expectation.workers.store.manifest)
        return None, str(expected.plan.kept), panel.kept_list(expected), False, tiles


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
        return figures.groups_figure(sizes, names, chosen), panel.groups_table(sizes, names)


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
            expected = expectation.of(_given(values))
            cost = expectation.cost(expected.plan)
        except EXPECTED_ERRORS:  # the numbers' callback says it
            return (no_update,) * 6
        plan = expected.plan
        passing = figures.pass_figure(expected.seed_sizes, expected.names, expected.test, plan.kept)
        rates = passing, panel.pass_table(expected)
        if cost is None or plan.seeds is None:
            return *rates, True, *(no_update,) * 3
        marked = plan.seeds.n_tries, float(plan.parts[0].add_remove.epsilon)
        tries = figures.tries_figure(cost.tries, cost.ours, cost.paper, marked)
        return *rates, False, tries, panel.tries_words(plan), panel.tries_table(cost)


def _begin(
    session: Session, expectation: RecordsExpectation, _tab: str, *values: object
) -> Work[ComparedRecords]:
    plan = expectation.workers.plan(choice_of(_given(values[: len(CONTROLS)]), expectation.workers))
    flows = _flows(dict(zip(FLOW_CONTROLS, values[len(CONTROLS) :], strict=True)))
    return lambda report: _compare_setting(session, expectation, plan, flows, report)


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
        compared = session.result(str(tab), KIND, ComparedRecords)
        if compared is None:
            return no_update
        return comparison_cards(compared, _choice(expectation, _given(tuple(controls))))


def _choice(expectation: RecordsExpectation, given: Mapping[str, object]) -> Choice | None:
    """The setting of the controls; None if they hold none."""
    try:
        return choice_of(given, expectation.workers)
    except EXPECTED_ERRORS:
        return None


def _flows(given: Mapping[str, object]) -> Setting:
    """The setting of the release of flows on the left."""
    return read_setting({name: value for name, value in given.items() if isinstance(value, ControlValue)})


def _compare_setting(
    session: Session, expectation: RecordsExpectation, plan: Plan, flows: Setting, report: Report
) -> ComparedRecords:
    """Draw and measure."""
    threads = os.cpu_count() or 1
    drawn = draw_variants(expectation.workers, plan, threads=threads, report=part_of(report, 0, 4))
    of_flows = draw_flows(session.data, flows.privacy, flows.parameters, part_of(report, 1, 4))
    return compare_records(expectation.workers, plan, drawn, of_flows, report=part_of(report, 2, 4, width=2))
