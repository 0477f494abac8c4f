"""The callbacks of the Tables panel: what is expected follows the controls; real homes are read on request alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from dash import Dash, Input, Output, ctx

from mapapp.publishing.tables.expected import expected_table
from mapapp.workbench.dash_types import Answers, Dependency, DependencyType
from mapapp.workbench.job_progress import refused
from mapapp.workbench.jobs import EXPECTED_ERRORS
from mapapp.workbench.table_plans import TablePlans, actual_table, spec_of
from mapapp.workbench.tables_panel import actual_cards, delta_at, expected_cards, share_card

_TABLE: Final = ("rows", "columns", "counts", "miles", "prior")
_PROMISE: Final = ("epsilon", "delta")


def register(app: Dash, plans: TablePlans) -> None:
    """Attach them to an app."""
    _heed(app)
    _expect(app, plans)
    _draw_shares(app, plans)
    _count(app, plans)


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
            found = expected_table(nodes, epsilon, delta)
        except EXPECTED_ERRORS as error:
            return refused(error), None, *texts
        return None, expected_cards(found, epsilon, delta), *texts


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


def _count(app: Dash, plans: TablePlans) -> None:
    @app.callback(
        Output("tables-actual", "children"),
        Input("tables-count", "n_clicks"),
        *_values(Input, (*_TABLE, *_PROMISE)),
        running=[(Output("busy", "className"), "busy on", "busy")],
        prevent_initial_call=True,
    )
    def count(_clicks: int, *values: object) -> object:
        if ctx.triggered_id != "tables-count":
            return None  # what was counted is not what the controls say now
        given = dict(zip((*_TABLE, *_PROMISE), values, strict=True))
        epsilon, delta = _promise(given)
        try:
            nodes = plans.nodes(spec_of(given), str(given["prior"] or ""))
            expected = expected_table(nodes, epsilon, delta)
            return actual_cards(expected, actual_table(plans.store, nodes, epsilon, delta))
        except EXPECTED_ERRORS as error:
            return refused(error)
