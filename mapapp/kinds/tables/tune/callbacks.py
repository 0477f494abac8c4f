"""The callbacks of the Tables panel: what is expected follows the controls; real homes are read on request alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from dash import Dash, Input, Output, State, ctx

from mapapp.analyst.workbench.fields import Answers, Dependency, DependencyType
from mapapp.analyst.workbench.job_progress import JobKind, attach, refusal_line
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, Work
from mapapp.analyst.workbench.session import Session
from mapapp.base.progress import Report
from mapapp.kinds.tables.make.expected import expected_table
from mapapp.kinds.tables.tune.panel import actual_cards, delta_at, expected_cards, share_card
from mapapp.kinds.tables.tune.plans import CountedTable, TablePlans, actual_table, spec_of

_KIND: Final = "tables"
_TABLE: Final = ("rows", "columns", "counts", "miles", "prior")
_PROMISE: Final = ("epsilon", "delta")


def register(app: Dash, session: Session, plans: TablePlans) -> None:
    """Attach them to an app."""
    _heed(app)
    _expect(app, plans)
    _draw_shares(app, plans)
    _show_count(app, session)
    kind = JobKind(
        name=_KIND,
        what="The count",
        button="tables-count",
        states=_values(State, (*_TABLE, *_PROMISE)),
        begin=partial(_begin, plans),
    )
    attach(app, session, kind)


def _values(kind: DependencyType, names: Sequence[str]) -> list[Dependency]:
    return [kind(f"tables-{name}", "value") for name in names]


def _heed(app: Dash) -> None:
    """Disable the controls that what is counted does not use."""

    @app.callback(
        Output("tables-miles", "disabled"),
        Output("tables-columns", "disabled"),
        Input("tables-counts", "value"),
        prevent_initial_call=True,
    )
    def heed(counts: str) -> Answers:
        return counts != "beyond", counts == "flows"


def _promise(given: Mapping[str, object]) -> tuple[Fraction, Fraction]:
    return Fraction(f"{float(str(given['epsilon'])):g}"), Fraction(delta_at(int(str(given["delta"]))))


def _expect(app: Dash, plans: TablePlans) -> None:
    @app.callback(
        Output("tables-said", "children"),
        Output("tables-expected", "children"),
        Output("tables-epsilon-shown", "children"),
        Output("tables-delta-shown", "children"),
        *_values(Input, (*_TABLE, *_PROMISE)),
        prevent_initial_call=True,
    )
    def expect(*values: object) -> Answers:
        given = dict(zip((*_TABLE, *_PROMISE), values, strict=True))
        epsilon, delta = _promise(given)
        texts = f"{float(epsilon):g}", f"{float(delta):g}"
        if not str(given["prior"] or "").strip():
            return None, None, *texts
        try:
            nodes = plans.nodes(spec_of(given), str(given["prior"]))
            expected = expected_table(nodes, epsilon, delta)
        except EXPECTED_ERRORS as error:
            return refusal_line(error), None, *texts
        return None, expected_cards(expected, epsilon, delta), *texts


def _draw_shares(app: Dash, plans: TablePlans) -> None:
    @app.callback(
        Output("tables-shares", "children"),
        *_values(Input, (*_TABLE, *_PROMISE)),
        prevent_initial_call=True,
    )
    def draw(*values: object) -> object:
        given = dict(zip((*_TABLE, *_PROMISE), values, strict=True))
        if not str(given["prior"] or "").strip():
            return None
        epsilon, delta = _promise(given)
        try:
            shares = plans.shares(spec_of(given), str(given["prior"]))
        except EXPECTED_ERRORS:  # the other callback says it
            return None
        return share_card(shares, (float(epsilon), float(delta)))


def _begin(plans: TablePlans, _tab: str, *values: object) -> Work[CountedTable]:
    return lambda report: _count_table(plans, values, report)


def _count_table(plans: TablePlans, values: tuple[object, ...], report: Report) -> CountedTable:
    """Count the table that the controls describe."""
    given = dict(zip((*_TABLE, *_PROMISE), values, strict=True))
    epsilon, delta = _promise(given)
    report("planning", 0, 0)
    nodes = plans.nodes(spec_of(given), str(given["prior"] or ""))
    expected = expected_table(nodes, epsilon, delta)
    actual = actual_table(plans.store, nodes, epsilon, delta, report)
    return CountedTable(asked=values, expected=expected, actual=actual)


def _show_count(app: Dash, session: Session) -> None:
    @app.callback(
        Output("tables-actual", "children"),
        Input("tables-shown", "data"),
        *_values(Input, (*_TABLE, *_PROMISE)),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_number: int | None, *values: object) -> object:
        *asked, tab = values
        job, counted = session.tab(str(tab)).jobs.get(_KIND), session.result(str(tab), _KIND, CountedTable)
        if counted is not None and counted.asked == tuple(asked):
            return actual_cards(counted.expected, counted.actual)
        if job is not None and ctx.triggered_id != "tables-shown":
            job.cancel()  # the controls describe another table now
        return None
