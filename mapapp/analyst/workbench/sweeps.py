"""The callbacks of the sweeps: they run behind the page, and each value shows as soon as it is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from engine.errors import EngineError
from mapapp.analyst.workbench.fields import Answer, table
from mapapp.analyst.workbench.figures import GRAPH_CONFIG, sweep_chart
from mapapp.analyst.workbench.job_progress import JobKind, attach
from mapapp.analyst.workbench.jobs import Work
from mapapp.analyst.workbench.results import SWEEPS, Extent, Sweep, SweepResults, sweeps_of
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, ControlValue, Values, read_setting
from mapapp.analyst.workbench.tune_callbacks import control_inputs
from mapapp.answers.words import aria
from mapapp.base.progress import Report, part_of

# The sweeps as pictures and as tables.


def sweep_charts(results: SweepResults) -> list[Component]:
    """One card for each sweep, as far as it is measured, and a line for each value that failed."""
    parts: list[Component] = []
    if results.scope:
        scope = results.scope
        parts.append(
            html.P(
                f"{'A sample: ' if scope['is_sample'] else ''}{scope['tracts_measured']:,} of {scope['tracts']:,} "
                "workplace tracts.",
                className="quiet small",
                id="sweep-scope",
            )
        )
    for sweep in results.sweeps:
        frame = results.frame(sweep.name)
        if frame.empty:
            continue
        current = results.current.get(sweep.name)
        figure = sweep_chart(
            frame,
            x=sweep.axis,
            title=sweep.title,
            marked=(float(sweep.marked), "V3"),
            papers=results.papers,
            shows_epsilon_final=sweep.shows_epsilon_final,
            log_x=sweep.log_x,
            current=None if current is None else (current[0], current[1], current[2]),
        )
        rows = [_row(f"{row[0]:g}", row) for row in frame.itertuples(index=False, name=None)]
        if current is not None:
            rows.append(_row(f"this setting: {current[0]:.4g}", current))
        parts.append(
            html.Section(
                [
                    dcc.Graph(
                        figure=figure, config=GRAPH_CONFIG, className="chart", id=f"sweep-{sweep.name}"
                    ),
                    html.Details(
                        [
                            html.Summary("As a table"),
                            table(
                                sweep.title, [sweep.axis, "KL all", "KL small", "ε′"], rows, "numbers small"
                            ),
                        ]
                    ),
                ],
                className="card",
                **aria(label=sweep.title),
            )
        )
    parts += [html.P(line, className="refusal") for line in results.failed]
    return parts


def _row(name: str, measured: tuple[float, ...]) -> tuple[str, list[str]]:
    """A row of the table: KL of all and of small destinations, and ε′."""
    _, kl_all, kl_small, epsilon_final = measured
    return name, [f"{kl_all:.4f}", f"{kl_small:.4f}", f"{epsilon_final:.3f}"]


# Sweeps of one parameter at a time around a setting, measured in this process.


def run_sweeps(
    session: Session,
    values: Values,
    extent: Extent,
    show: Callable[[SweepResults], None],
    report: Report,
) -> SweepResults:
    """Change one parameter at a time; ε is counted before pruning, and as a whole where nothing is pruned.

    Parameters
    ----------
    session : Session
    values : mapping
        Of the controls.
    extent : {"sample", "whole"}
    show : callable
        Called with the results so far, after every value.
    report : callable
        Progress; an exception from it cancels.

    Raises
    ------
    ParameterError, UsageError
        The controls hold no valid setting.
    """
    base = _base(values)
    results = SweepResults(extent, sweeps_of(str(values["mechanism"])))
    results.current = _current(session, values, results.sweeps, extent, report)
    steps = [(sweep, value) for sweep in results.sweeps for value in sweep.values]

    for done, (sweep, value) in enumerate(steps):
        within = part_of(report, done, len(steps) + 1, stage="sweeping")
        try:
            measured = session.measure(read_setting({**base, sweep.name: value}), extent, within)
        except EngineError as error:
            results.failed.append(f"{sweep.axis} {value}: {' '.join(str(error).split())}")
        else:
            results.scope = measured.facts["scope"]
            final = measured.facts["certificate"]["epsilon_final"]
            row = (float(value), measured.kl_all, measured.kl_small, final)
            results.rows[sweep.name].append(row)
        within("", 1, 1)  # a known result reports nothing, and the sweep may have been cancelled
        show(results)
    within = part_of(report, len(steps), len(steps) + 1, stage="sweeping")
    results.papers = _papers(session, base, extent, within)
    within("", 1, 1)
    show(results)
    return results


def _current(
    session: Session, values: Values, sweeps: Sequence[Sweep], extent: Extent, report: Report
) -> dict[str, tuple[float, ...]]:
    """What is measured of the setting of the controls, at its value of each swept parameter."""
    setting = read_setting(values)

    def heed_cancel(_stage: str, _done: int, _total: int) -> None:
        report("sweeping", 0, 1)

    try:
        measured = session.measure(setting, extent, heed_cancel)
    except EngineError:
        return {}
    certificate = measured.facts["certificate"]
    final = certificate["epsilon_final"]
    # The sweep of ε is before pruning, except for the mechanism that prunes nothing.
    drawn = final if values["mechanism"] == "exponential" else certificate["parts"][0]["value"]
    own = {
        "epsilon": drawn,
        "delta": certificate["delta"],
        "min_retention": float(Fraction(str(values["min_retention"]))),
    }
    return {sweep.name: (own[sweep.name], measured.kl_all, measured.kl_small, final) for sweep in sweeps}


def _base(values: Values) -> Values:
    """The same with ε as the sweeps count it."""
    if values["mechanism"] == "exponential":
        return values if values["means"] == "whole" else {**values, "means": "whole", "epsilon": "6.5"}
    return values if values["means"] == "before" else _count_before_pruning(values)


def _count_before_pruning(values: Values) -> Values:
    """The same with the papers' ε before pruning in place of the whole ε′."""
    return {**values, "means": "before", "epsilon": SWEEPS[0].marked}


def _papers(session: Session, base: Values, extent: Extent, report: Report) -> tuple[float, float] | None:
    """KL of the papers' V3 under their own accountant, with the prior and the coarsening of the controls."""
    v3 = {sweep.name: sweep.marked for sweep in SWEEPS}
    v3 |= {"accountant": "paper", "mechanism": "dirichlet-multinomial"}
    try:
        measured = session.measure(read_setting(_count_before_pruning({**base, **v3})), extent, report)
    except EngineError:
        return None
    return measured.kl_all, measured.kl_small


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    kind = JobKind(
        name="sweep",
        what="The sweep",
        states=[State("sweep-extent", "value"), *control_inputs(State)],
        begin=partial(_begin, session),
        mark=lambda tab: tab.sweeps.n_complete if tab.sweeps else 0,
    )
    attach(app, session, kind)

    @app.callback(
        Output("sweep-charts", "children"),
        Input("sweep-shown", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_mark: list[object] | None, tab: str) -> Answer:
        swept = session.tab(tab).sweeps
        return sweep_charts(swept) if swept else None


def _begin(session: Session, tab: str, extent: Extent, *controls: ControlValue) -> Work[SweepResults]:
    given = dict(zip(CONTROLS, controls, strict=True))
    read_setting(given)
    state = session.tab(tab)
    state.sweeps = None

    def keep(results: SweepResults) -> None:
        state.sweeps = results

    return lambda report: run_sweeps(session, given, extent, keep, report)
